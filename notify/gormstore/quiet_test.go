package gormstore_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"punctual/app/database"
	"punctual/delayjob"
	"punctual/notify"
	"punctual/notify/gormstore"
	"punctual/tests/testenv/testdb"
)

// The invitation to a series waits for the end of quiet hours. A change of one of its dates is urgent: the
// invitation is sent first, once, and then the change. What is not about the series goes on waiting.
func TestQuietHours_keepTheOrder(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		l, sender := gormstore.New(db.Gorm), &scripted{}
		now := time.Now()
		minute := func(in time.Duration) int { u := now.UTC().Add(in); return u.Hour()*60 + u.Minute() }
		asleep := notify.Wishes{Quiet: notify.QuietHours{From: minute(-2 * time.Hour), Until: minute(3 * time.Hour)}}
		screen := func(_ context.Context, ns []notify.Notification) (map[int64]notify.Objection, error) {
			os := map[int64]notify.Objection{}
			for _, n := range ns {
				if v := (notify.Policy{}).Decide(n, asleep, time.Now()); !v.Until.IsZero() {
					os[n.ID] = notify.Objection{State: notify.Pending, Until: v.Until, Reason: notify.QuietReason}
				}
			}
			return os, nil
		}
		d := notify.NewDelivery(notify.Email, l, sender, notify.DeliveryOptions{Screen: screen})
		record := func(key string, meeting int64, kind notify.Kind, start time.Time, series *notify.Series) notify.Notification {
			n := about(meeting, 1, kind, "ada@example.org")
			n.DedupeKey, n.Facts.Start, n.Facts.End, n.Facts.Series = key, start, start.Add(time.Hour), series
			if key != "other" {
				n.Facts.SeriesID = 7
			}
			n.ID, n.Version = one(t, db, n), 1
			return n
		}
		execute := func(n notify.Notification) { _ = d.Execute(t.Context(), n.Message()) }
		nextWeek := now.AddDate(0, 0, 7)
		series := record("series", 1, notify.Invitation, nextWeek, &notify.Series{ID: 7})
		other := record("other", 50, notify.Invitation, nextWeek, nil)
		execute(series)
		execute(other)
		execute(record("not urgent", 2, notify.Change, nextWeek, nil))
		if len(sender.sent) > 0 {
			t.Fatalf("sent in quiet hours: %v", sender.sent)
		}
		urgent := record("urgent", 3, notify.Change, now.Add(time.Hour), nil)
		execute(urgent)
		for range 2 { // as the loader does
			for m, err := range d.Load(t.Context(), delayjob.Window{To: time.Now()}) {
				if err != nil {
					t.Fatal(err)
				}
				_ = d.Execute(t.Context(), m)
			}
		}
		if want := []string{"series", "not urgent", "urgent"}; !slices.Equal(sender.sent, want) {
			t.Errorf("sent %v, want %v", sender.sent, want)
		}
		if n, err := l.Get(t.Context(), other.ID); err != nil || n.State != notify.Pending || !n.Due.After(now.Add(time.Hour)) {
			t.Errorf("the other invitation is %s, due %v (%v)", n.State, n.Due, err)
		}
	})
}

// A process that found a row in quiet hours does not stop another that sends it after their end.
func TestRecord_waitLeavesAttempts(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		l, now := gormstore.New(db.Gorm), time.Now()
		id := one(t, db, about(1, 1, notify.Invitation, "ada@example.org"))
		begin(t, l, notify.BeginRequest{ID: id, Version: 1}, now, time.Minute)
		wait := notify.Outcome{ID: id, Version: 1, State: notify.Pending, At: now, Error: notify.QuietReason, Due: now.Add(time.Millisecond)}
		if _, err := l.Record(t.Context(), []notify.Outcome{wait}); err != nil {
			t.Fatal(err)
		}
		if n, err := l.Get(t.Context(), id); err != nil || n.State != notify.Sending {
			t.Errorf("%s, %v", n.State, err)
		}
	})
}
