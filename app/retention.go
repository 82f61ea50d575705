package app

import (
	"context"
	"time"

	"gorm.io/gorm"

	"punctual/app/audit"
	"punctual/app/config"
	"punctual/delayjob/pause"
	"punctual/notify/outbox"
)

const (
	retentionEvery  = time.Hour
	pastChangesTrim = time.Minute
	trimAtOnce      = 500 // rows in one transaction
)

// A retention says how long one kind of data is kept. config.yaml and docs/admin.md list them.
type retention struct {
	what string
	keep func(*config.Config) time.Duration
	// delete removes at most limit of what is older than before, and returns how many it removed.
	delete func(ctx context.Context, before time.Time, limit int) (int64, error)
	oldest *gorm.DB // reads the instant of the oldest row by an index; nil: unknown
}

func (a *Application) retentions() []retention {
	oldest := func(table, column string) *gorm.DB {
		return a.db.Gorm.Table(table).Select(column).Order(column).Limit(1)
	}
	calendars := func(c *config.Config) time.Duration { return c.Meetings.Keep }
	return []retention{
		{"meetings", calendars, func(ctx context.Context, before time.Time, limit int) (int64, error) {
			return a.meetingStore.TrimMeetings(ctx, a.settings.Load().Timezone, time.Now(), before, limit)
		}, oldest("meetings", "starts_at")},
		{"events", calendars, a.meetingStore.TrimEvents,
			oldest("dav_objects", "ends_at").Where("meeting_id IS NULL AND series_id IS NULL AND ends_at IS NOT NULL")},
		{"waiting_list", func(c *config.Config) time.Duration { return c.Booking.WaitingList.Keep }, a.meetingStore.TrimWaits,
			oldest("waitlist", "updated_at").Where("state NOT IN ('waiting', 'offered')")},
		{"notifications", func(c *config.Config) time.Duration { return c.Notifications.Keep }, a.ledger.Trim, oldest("notifications", "created_at")},
		{"outbox", func(c *config.Config) time.Duration { return c.Notifications.Keep }, func(_ context.Context, before time.Time, _ int) (int64, error) {
			n, err := outbox.At(outboxDir).Trim(before)
			return int64(n), err
		}, nil},
		{"bounces", func(c *config.Config) time.Duration { return c.Notifications.BouncesKeep }, a.bounceStore.Trim, oldest("email_bounces", "bounced_at")},
		{"deliveries", func(c *config.Config) time.Duration { return c.Webhooks.Keep }, a.deliveries.Trim,
			oldest("webhook_deliveries", "updated_at").Where("state <> 'pending'")},
		{"mails", func(c *config.Config) time.Duration { return c.Mailroom.Keep }, a.mailroom.store.Trim, oldest("inbox", "received_at")},
		{"audit", func(c *config.Config) time.Duration { return c.Audit.Keep }, func(ctx context.Context, before time.Time, limit int) (int64, error) {
			return audit.Trim(ctx, a.db.Gorm, before, limit)
		}, oldest("audit", "at")},
		{"sessions", func(*config.Config) time.Duration { return 0 }, a.people.DeleteExpiredTokens, nil}, // each says when it expires
	}
}

// retain deletes what is older than the configuration allows, regularly until ctx ends. If several
// workers do it at once, each waits for the rows of the other and then finds none.
func (a *Application) retain(ctx context.Context) error {
	return every(ctx, retentionEvery, func() {
		for _, r := range a.retentions() {
			if err := a.trim(ctx, r); err != nil && ctx.Err() == nil {
				a.log.Warn("deleting old data failed, retrying later", "what", r.what, "error", err)
			}
		}
	})
}

func (a *Application) trim(ctx context.Context, r retention) error {
	before := time.Now().Add(-r.keep(a.latest.Load()))
	err := pause.Parts(ctx, func() (bool, error) {
		n, err := r.delete(ctx, before, trimAtOnce)
		a.metrics.deleted.WithLabelValues(r.what).Add(float64(n))
		return n > 0, err
	})
	if err != nil {
		return err
	}
	return a.noteOldest(ctx, r)
}

// noteOldest updates the metric of the oldest row, 0 if there is none.
func (a *Application) noteOldest(ctx context.Context, r retention) error {
	if r.oldest == nil {
		return nil
	}
	var at []time.Time
	if err := r.oldest.WithContext(ctx).Find(&at).Error; err != nil {
		return err
	}
	seconds := 0.0
	if len(at) > 0 {
		seconds = float64(at[0].UnixMilli()) / 1000
	}
	a.metrics.oldest.WithLabelValues(r.what).Set(seconds)
	return nil
}

// trimPastChanges deletes what changes replaced, once they can no longer be undone.
func (a *Application) trimPastChanges(ctx context.Context) error {
	return every(ctx, pastChangesTrim, func() {
		err := pause.Parts(ctx, func() (bool, error) {
			n, err := a.meetingStore.TrimPastChanges(ctx, time.Now().Add(-pastChangesTrim), trimAtOnce)
			return n == trimAtOnce, err
		})
		if err != nil && ctx.Err() == nil {
			a.log.Warn("deleting past changes failed, retrying later", "error", err)
		}
	})
}
