package app

import (
	"context"
	"testing"
	"time"

	"punctual/app/database"
	"punctual/delayjob"
	"punctual/delayjob/gormstore"
	"punctual/delayjob/memqueue"
	"punctual/tests/testenv/testdb"
)

// The database decides: a queue that forgot a pause, or never heard of its end, is told.
func TestPauses_outliveTheQueue(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		open := func() (*pauses, *memqueue.Queue) {
			q := memqueue.New()
			return &pauses{settings: gormstore.NewSettings(db.Gorm), queue: q, jobs: []string{"a", "b"}}, q
		}
		wants := func(q delayjob.Inspector, job string, want bool) {
			t.Helper()
			if s, err := q.Stats(t.Context(), job); err != nil || s.Paused != want {
				t.Errorf("%s: paused %v, %v", job, s.Paused, err)
			}
		}
		p, q := open()
		before := time.Now().UTC().Truncate(time.Microsecond)
		if err := p.pause(t.Context(), "a", "first"); err != nil {
			t.Fatal(err)
		}
		if err := p.pause(t.Context(), "a", "second"); err != nil {
			t.Fatal(err)
		}
		wants(q, "a", true)
		wants(q, "b", false)

		p, q = open() // as after a restart, or a flush
		wants(q, "a", false)
		if err := p.apply(t.Context()); err != nil {
			t.Fatal(err)
		}
		wants(q, "a", true)
		paused, err := p.settings.Paused(t.Context())
		if d := paused["a"]; err != nil || len(paused) != 1 || d.By != "first" || d.At.Before(before) || time.Since(d.At) > time.Minute {
			t.Errorf("%+v %v", paused, err)
		}

		other := &pauses{settings: p.settings, queue: memqueue.New(), jobs: p.jobs} // what q does not hear of
		if err := other.resume(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		wants(q, "a", true)
		if err := p.apply(t.Context()); err != nil {
			t.Fatal(err)
		}
		wants(q, "a", false)
		if err := p.pause(t.Context(), "a", "third"); err != nil {
			t.Fatal(err)
		}
		if paused, err := p.settings.Paused(t.Context()); err != nil || paused["a"].By != "third" {
			t.Errorf("%+v %v", paused, err)
		}
	})
}

// overtaken is a queue in whose first pausing somebody decides otherwise.
type overtaken struct {
	delayjob.Inspector
	meanwhile func()
}

func (q *overtaken) Pause(ctx context.Context, job string) error {
	if f := q.meanwhile; f != nil {
		q.meanwhile = nil
		f()
	}
	return q.Inspector.Pause(ctx, job)
}

func TestPauses_theLastDecisionHolds(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		settings, q := gormstore.NewSettings(db.Gorm), memqueue.New()
		other := &pauses{settings: settings, queue: q, jobs: []string{"a"}}
		p := &pauses{settings: settings, jobs: []string{"a"}, queue: &overtaken{q, func() {
			if err := other.resume(t.Context(), "a"); err != nil {
				t.Error(err)
			}
		}}}
		if err := p.pause(t.Context(), "a", "me"); err != nil {
			t.Fatal(err)
		}
		if s, err := q.Stats(t.Context(), "a"); err != nil || s.Paused {
			t.Errorf("the queue stays paused after the end of it: %+v %v", s, err)
		}
	})
}
