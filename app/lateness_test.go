package app

import (
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"punctual/app/database"
	failures "punctual/delayjob/gormstore"
	"punctual/meeting"
	"punctual/tests/testenv/testdb"
)

// TestLateness: what several processes count is added up, and kept for 180 days.
func TestLateness(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		store := failures.NewLateness(db.Gorm)
		now := time.Date(2027, 2, 10, 9, 59, 0, 0, time.UTC)
		process := func() *lateness {
			l := newLateness(store, slog.New(slog.DiscardHandler))
			l.now = func() time.Time { return now }
			return l
		}
		a, b := process(), process()
		a.observe("meeting.start", 1500*time.Microsecond)
		a.observe("meeting.start", -time.Second) // clocks differ
		a.observe("notify.email", 10*time.Minute)
		b.observe("meeting.start", 1600*time.Microsecond)
		now = now.Add(time.Minute)
		b.observe("meeting.start", 2*time.Millisecond) // in the next hour
		for range 2 {
			a.flush(t.Context())
			b.flush(t.Context())
		}
		counts := func(from, to time.Time) map[string][]int64 {
			t.Helper()
			found, err := store.Between(t.Context(), from, to)
			if err != nil {
				t.Fatal(err)
			}
			m := map[string][]int64{}
			for _, i := range latenessOfJobs(found) {
				var ns []int64
				for _, h := range i.Histogram {
					ns = append(ns, h.Count)
				}
				m[i.Job] = append(ns[:3], ns[len(ns)-1])
				if i.Job == "notify.email" && *i.Max != 600 {
					t.Errorf("the latest: %v", *i.Max)
				}
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

		now = hour.Add(latenessKept)
		a.observe("meeting.end", 0)
		a.flush(t.Context())
		want(counts(hour.Add(-time.Hour), now.Add(time.Hour)), map[string][]int64{"meeting.start": {0, 1, 0, 0}, "meeting.end": {1, 0, 0, 0}})

		db.Close() // nothing is lost while the database is away
		a.observe("meeting.end", 0)
		a.flush(t.Context())
		if len(a.counts) != 1 {
			t.Errorf("kept for the next time: %v", a.counts)
		}
	})
}

func TestPercentile(t *testing.T) {
	t.Parallel()
	of := func(latest time.Duration, at map[time.Duration]int64) LatenessView {
		l := meeting.Lateness{Counts: make([]int64, len(lateBounds)+1), Max: latest}
		for i, b := range lateBounds {
			l.Counts[i] = at[b]
		}
		l.Counts[len(lateBounds)] = at[0]
		return viewLateness(l)
	}
	if v := of(0, nil); v.Count != 0 || v.P50 != nil || v.Max != nil {
		t.Errorf("of nothing: %+v", v)
	}
	v := of(18*time.Millisecond, map[time.Duration]int64{time.Millisecond: 90, 20 * time.Millisecond: 10})
	if v.Count != 100 || *v.P50 != 0.0006 || *v.P90 != 0.001 || *v.P99 != 0.0172 || *v.Max != 0.018 {
		t.Errorf("p50 %v, p90 %v, p99 %v, max %v", *v.P50, *v.P90, *v.P99, *v.Max)
	}
	v = of(time.Hour, map[time.Duration]int64{0: 4})
	if *v.P50 != 1950 || *v.Max != 3600 {
		t.Errorf("behind the last bound: p50 %v, max %v", *v.P50, *v.Max)
	}
}
