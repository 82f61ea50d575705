package topics_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"punctual/delayjob/topics"
)

// list is the ids of a state, by pages of two.
func (w *world) list(state topics.State) string {
	w.t.Helper()
	var ids []string
	var after *topics.Job
	for {
		js, next, now, err := w.List(w.t.Context(), "t", state, after, 2)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, j := range js {
			ids = append(ids, j.ID)
			if got := j.State(now); state != "" && got != state {
				w.t.Errorf("%s is listed as %s, and is %s", j.ID, state, got)
			}
		}
		if next == nil {
			return strings.Join(ids, " ")
		}
		after = next
	}
}

// A topic's jobs are listed by state, and deleted by state or all at once.
func TestListAndPurge(t *testing.T) {
	each(t, func(w *world) {
		ctx := t.Context()
		for i := range 5 { // later ids are due earlier
			w.add(topics.Added, w.job(fmt.Sprint("d", i), time.Hour-time.Duration(i)*time.Minute))
		}
		w.add(topics.Added, w.job("reserved", -3*time.Minute), w.job("done", -2*time.Minute), w.job("dead", -time.Minute))
		for _, d := range w.pop("reserved", "done", "dead") {
			switch d.ID {
			case "done":
				if err := w.finish(d); err != nil {
					t.Error(err)
				}
			case "dead":
				if err := w.Fail(ctx, ending(d), topics.Failure{Dead: true}); err != nil {
					t.Error(err)
				}
			}
		}
		expired := w.job("expired", -time.Hour)
		expired.TTL = time.Minute
		w.add(topics.Added, expired, w.job("r1", -time.Second), w.job("r2", -2*time.Second), w.job("gone", time.Hour))
		if _, err := w.Delete(ctx, key("gone")); err != nil {
			t.Fatal(err)
		}
		for state, want := range map[topics.State]string{
			topics.Delayed: "d4 d3 d2 d1 d0", topics.Ready: "r2 r1", topics.Reserved: "reserved",
			topics.IsDead: "dead", topics.IsDone: "done", topics.IsExpired: "expired",
			"": "d0 d1 d2 d3 d4 dead done expired r1 r2 reserved",
		} {
			if got := w.list(state); got != want {
				t.Errorf("%q: %s, want %s", state, got, want)
			}
		}

		purge := func(state topics.State, deleted, running int) {
			t.Helper()
			d, r, more, err := w.Purge(ctx, "t", state)
			if err != nil || d != deleted || r != running || more {
				t.Errorf("purge %q: %d deleted, %d running, more %v, %v; want %d and %d", state, d, r, more, err, deleted, running)
			}
		}
		purge(topics.IsDead, 1, 0)
		purge(topics.Ready, 2, 0)
		w.pop()
		purge("", 8, 1)
		purge("", 0, 0)
		if got := w.list(""); got != "" {
			t.Errorf("left after the purge: %s", got)
		}
		all, _, err := w.Stats(ctx)
		if err != nil || slices.ContainsFunc(all, func(s topics.Stats) bool { return s.Topic == "t" }) {
			t.Errorf("a topic of deleted jobs is listed: %+v, %v", all, err)
		}
		w.add(topics.Added, w.job("r1", 0))
		w.pop("r1")
	})
}
