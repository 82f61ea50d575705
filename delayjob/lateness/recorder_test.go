package lateness_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"punctual/app/database"
	"punctual/delayjob/gormstore"
	"punctual/delayjob/lateness"
	"punctual/tests/testenv/testdb"
)

// unreliable is a store that fails while it is down.
type unreliable struct {
	lateness.Store
	down bool
}

func (u *unreliable) Add(ctx context.Context, counts []lateness.Count) error {
	if u.down {
		return errors.New("the database is down")
	}
	return u.Store.Add(ctx, counts)
}

// TestLateness: what several processes count is added up, and kept for 180 days.
func TestLateness(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		store := gormstore.NewLateness(db.Gorm)
		recorded := &unreliable{Store: store}
		now := time.Date(2027, 2, 10, 9, 59, 0, 0, time.UTC)
		process := func() *lateness.Recorder {
			return lateness.NewRecorder(recorded, func() time.Time { return now }, slog.New(slog.DiscardHandler))
		}
		a, b := process(), process()
		a.Observe("meeting.start", 1500*time.Microsecond)
		a.Observe("meeting.start", -time.Second) // clocks differ
		a.Observe("notify.email", 10*time.Minute)
		b.Observe("meeting.start", 1600*time.Microsecond)
		now = now.Add(time.Minute)
		b.Observe("meeting.start", 2*time.Millisecond) // in the next hour
		for range 2 {
			a.Flush(t.Context())
			b.Flush(t.Context())
		}
		counts := func(from, to time.Time) map[string][]int64 {
			t.Helper()
			found, err := store.Between(t.Context(), from, to)
			if err != nil {
				t.Fatal(err)
			}
			m := map[string][]int64{}
			for _, c := range found {
				if m[c.Job] == nil {
					m[c.Job] = make([]int64, len(lateness.Bounds)+1)
				}
				i := len(lateness.Bounds)
				if c.Bound > 0 {
					i = slices.Index(lateness.Bounds, c.Bound)
				}
				m[c.Job][i] += c.Count
				if c.Job == "notify.email" && c.Max != 10*time.Minute {
					t.Errorf("the latest: %v", c.Max)
				}
			}
			for job, ns := range m {
				m[job] = append(ns[:3], ns[len(ns)-1])
			}
			return m
		}
		want := func(got, want map[string][]int64) {
			t.Helper()
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("counts by 1 ms, 2 ms, 5 ms and later than all:\n%s", d)
			}
		}
		hour := now.Truncate(time.Hour)
		want(counts(hour.Add(-time.Hour), hour.Add(time.Minute)), map[string][]int64{"meeting.start": {1, 3, 0, 0}, "notify.email": {0, 0, 0, 1}})
		want(counts(hour.Add(-time.Hour), hour), map[string][]int64{"meeting.start": {1, 2, 0, 0}, "notify.email": {0, 0, 0, 1}})

		now = hour.Add(lateness.Kept)
		a.Observe("meeting.end", 0)
		a.Flush(t.Context())
		want(counts(hour.Add(-time.Hour), now.Add(time.Hour)), map[string][]int64{"meeting.start": {0, 1, 0, 0}, "meeting.end": {1, 0, 0, 0}})

		recorded.down = true // nothing is lost while the database is down
		a.Observe("meeting.end", 0)
		a.Flush(t.Context())
		recorded.down = false
		a.Flush(t.Context())
		want(counts(now, now.Add(time.Hour)), map[string][]int64{"meeting.end": {2, 0, 0, 0}})
	})
}
