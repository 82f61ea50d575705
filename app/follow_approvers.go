package app

import (
	"context"
	"time"
)

const lookForApprovers = 10 * time.Second

// followApprovers has those asked who become approvers of requests that wait: rooms, accounts and
// absences change, and absences begin and end by themselves.
func (a *Application) followApprovers(ctx context.Context) error {
	asked := "" // as the approvers were when all of them had been asked
	for failing := false; ; {
		now, err := a.meetings.Approvers(ctx)
		if err == nil && now != asked {
			if err = a.meetings.NotifyNewApprovers(ctx); err == nil {
				asked = now
			}
		}
		if err != nil && ctx.Err() == nil && !failing {
			a.log.Error("new approvers not asked, retrying", "error", err)
		}
		failing = err != nil
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(lookForApprovers):
		}
	}
}
