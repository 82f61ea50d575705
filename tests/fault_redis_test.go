package tests

import (
	"slices"
	"testing"
	"time"

	"punctual/tests/audit"
	"punctual/tests/testenv"
)

// redisFault is what happens to Redis while a crowd of meetings begins and ends.
type redisFault struct {
	name       string
	late       time.Duration // that a start or an end may be, at most
	rearranges bool          // meetings before they start
	happen     func(t *testing.T, w *world, start time.Time)
}

var redisFaults = []redisFault{
	{"scripts flushed", time.Second, false, func(t *testing.T, w *world, start time.Time) {
		for time.Now().Before(start.Add(4 * time.Second)) {
			w.on.redis.Do(t, "SCRIPT", "FLUSH")
			time.Sleep(100 * time.Millisecond)
		}
	}},
	{"paused", 6 * time.Second, false, func(t *testing.T, w *world, start time.Time) {
		time.Sleep(time.Until(start.Add(time.Second)))
		w.on.redis.Do(t, "CLIENT", "PAUSE", 2500, "ALL")
		time.Sleep(2500 * time.Millisecond)
	}},
	{"subscriptions killed", 1200 * time.Millisecond, false, func(t *testing.T, w *world, start time.Time) {
		for time.Now().Before(start.Add(5 * time.Second)) {
			w.on.redis.Do(t, "CLIENT", "KILL", "TYPE", "pubsub")
			time.Sleep(100 * time.Millisecond)
		}
	}},
	{"flushed", 3 * time.Second, false, func(t *testing.T, w *world, start time.Time) {
		for i := range 3 {
			time.Sleep(time.Until(start.Add(time.Duration(i) * 1300 * time.Millisecond)))
			w.on.redis.Do(t, "FLUSHALL")
		}
	}},
	{"restarted empty", 4 * time.Second, false, func(t *testing.T, w *world, start time.Time) {
		time.Sleep(time.Until(start.Add(time.Second)))
		w.on.redis.Kill()
		time.Sleep(time.Second)
		w.on.redis.Start(t)
	}},
	{"restarted with old data", 4 * time.Second, true, func(t *testing.T, w *world, start time.Time) {
		w.on.redis.Do(t, "SAVE") // what is moved, cancelled and done from now on comes back
		w.rearrange()
		time.Sleep(time.Until(start.Add(2 * time.Second)))
		w.on.redis.Kill()
		w.on.redis.Start(t)
	}},
	{"full", time.Second, false, func(t *testing.T, w *world, start time.Time) {
		time.Sleep(time.Until(start.Add(500 * time.Millisecond)))
		w.on.redis.Do(t, "CONFIG", "SET", "maxmemory", "1mb") // less than it has
		time.Sleep(2 * time.Second)
		w.on.redis.Do(t, "CONFIG", "SET", "maxmemory", "0")
	}},
}

// TestFault_redis: whatever happens to Redis for a moment, nothing is missed or done twice, and
// the delay is bounded.
func TestFault_redis(t *testing.T) {
	t.Parallel()
	for _, f := range redisFaults {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, onServers(t), 2, func(c *testenv.Config) { c.LoadEvery = time.Minute }) // so that nothing is on time by chance
			ahead := 10
			if f.rearranges {
				ahead = 20 // so that even a busy machine has moved them by then
			}
			start := w.crowd(36, ahead, 4*time.Second, 3*time.Second)
			f.happen(t, w, start)
			r := w.caughtUp(slack+f.late, 0)
			w.wantUncharged()
			w.wantSound()
			if late := max(audit.Percentile(r.Began, 1), audit.Percentile(r.Ended, 1)); late > f.late+machine {
				t.Errorf("something was %v late, want %v at most", late, f.late)
			}
		})
	}
}

// rearrange moves a third of the crowd's meetings a little and cancels another third.
func (w *world) rearrange() {
	w.t.Helper()
	ms := testenv.All[testenv.Meeting](w.t, w.admin, "/meetings?status=confirmed")
	slices.SortFunc(ms, func(a, b testenv.Meeting) int { return int(a.ID - b.ID) })
	for i, m := range ms {
		switch i % 3 {
		case 0:
			w.admin.Want(w.t, 200, "PATCH", at("/meetings/%d", m.ID), with{"start": m.Start.Add(700 * time.Millisecond), "end": m.End.Add(700 * time.Millisecond)}, nil)
		case 1:
			w.admin.Want(w.t, 200, "POST", at("/meetings/%d/cancel", m.ID), with{}, nil)
		}
	}
	w.last = w.last.Add(700 * time.Millisecond)
}
