package app

import (
	"context"
	"time"
)

const lookForApprovers = 10 * time.Second

// followApprovers notifies new approvers of pending requests. Rooms, accounts and absences change,
// and absences begin and end by themselves.
func (a *Application) followApprovers(ctx context.Context) error {
	asked := "" // the approvers when all of them had been asked
	for failing := false; ; {
		now, err := a.approval.Approvers(ctx)
		if err == nil && now != asked {
			if err = a.approval.NotifyNewApprovers(ctx); err == nil {
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
