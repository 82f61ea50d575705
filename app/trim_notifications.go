package app

import (
	"context"
	"time"

	"punctual/notify/outbox"
)

const (
	notificationsTrim = 6 * time.Hour
	pastChangesTrim   = time.Minute
	trimPause         = 200 * time.Millisecond // between two statements, so that others come first
)

func (a *Application) trimNotifications(ctx context.Context) error {
	return every(ctx, notificationsTrim, func() {
		before := time.Now().Add(-a.latest.Load().Notifications.Keep)
		rows, err := a.ledger.Trim(ctx, before, trimPause)
		a.metrics.deleted.WithLabelValues("notifications").Add(float64(rows))
		if err != nil && ctx.Err() == nil {
			a.log.Warn("deleting old notifications failed, retrying later", "error", err)
		}
		files, err := outbox.At(outboxDir).Trim(before)
		a.metrics.deleted.WithLabelValues("outbox").Add(float64(files))
		if err != nil {
			a.log.Warn("deleting old outbox files failed, retrying later", "error", err)
		}
	})
}

// trimPastChanges deletes what changes replaced, once they can no longer be undone.
func (a *Application) trimPastChanges(ctx context.Context) error {
	return every(ctx, pastChangesTrim, func() {
		if err := a.meetingStore.TrimPastChanges(ctx, time.Now().Add(-pastChangesTrim)); err != nil && ctx.Err() == nil {
			a.log.Warn("deleting past changes failed, retrying later", "error", err)
		}
	})
}
