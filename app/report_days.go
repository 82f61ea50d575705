package app

import (
	"context"
	"time"
)

// How often days are added up for reports. A report of days that have changed since reads their meetings.
const (
	addUpDaysAfter = 10 * time.Second // at the start, others come first
	addUpDaysEvery = 5 * time.Second
)

// addUpDays keeps the sums that reports read, until ctx ends. It is the workers' task.
func (a *Application) addUpDays(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-time.After(addUpDaysAfter):
	}
	failing := false
	return every(ctx, addUpDaysEvery, func() {
		err := a.reports.AddUpDays(ctx)
		if err != nil && ctx.Err() == nil && !failing {
			a.log.Warn("adding up days for reports failed, retrying", "error", err)
		}
		failing = err != nil
	})
}
