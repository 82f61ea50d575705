package admin_test

import (
	"context"
	"testing"
	"time"

	"punctual/app/database"
	"punctual/delayjob"
	"punctual/delayjob/admin"
	"punctual/delayjob/gormstore"
	"punctual/delayjob/memqueue"
	"punctual/tests/testenv/testdb"
)

// The database decides: a queue that forgot a pause, or never heard of its end, is told.
func TestPauses_outliveTheQueue(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		open := func() (*admin.Pauses, *memqueue.Queue) {
			q := memqueue.New()
			return &admin.Pauses{Decisions: gormstore.NewPauses(db.Gorm), Queue: q, Jobs: []string{"a", "b"}}, q
		}
		wants := func(q delayjob.Inspector, job string, want bool) {
			t.Helper()
			if s, err := q.Stats(t.Context(), job); err != nil || s.Paused != want {
				t.Errorf("%s: paused %v, %v", job, s.Paused, err)
			}
		}
		p, q := open()
		before := time.Now().UTC().Truncate(time.Microsecond)
		if err := p.Pause(t.Context(), "a", "first"); err != nil {
			t.Fatal(err)
		}
		if err := p.Pause(t.Context(), "a", "second"); err != nil {
			t.Fatal(err)
		}
		wants(q, "a", true)
		wants(q, "b", false)

		p, q = open() // as after a restart, or a flush
		wants(q, "a", false)
		if err := p.Apply(t.Context()); err != nil {
			t.Fatal(err)
		}
		wants(q, "a", true)
		paused, err := p.Decisions.Paused(t.Context())
		if d := paused["a"]; err != nil || len(paused) != 1 || d.By != "first" || d.At.Before(before) || time.Since(d.At) > time.Minute {
			t.Errorf("%+v %v", paused, err)
		}

		other := &admin.Pauses{Decisions: p.Decisions, Queue: memqueue.New(), Jobs: p.Jobs} // what q does not hear of
		if err := other.Resume(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		wants(q, "a", true)
		if err := p.Apply(t.Context()); err != nil {
			t.Fatal(err)
		}
		wants(q, "a", false)
		if err := p.Pause(t.Context(), "a", "third"); err != nil {
			t.Fatal(err)
		}
		if paused, err := p.Decisions.Paused(t.Context()); err != nil || paused["a"].By != "third" {
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
		settings, q := gormstore.NewPauses(db.Gorm), memqueue.New()
		other := &admin.Pauses{Decisions: settings, Queue: q, Jobs: []string{"a"}}
		p := &admin.Pauses{Decisions: settings, Jobs: []string{"a"}, Queue: &overtaken{q, func() {
			if err := other.Resume(t.Context(), "a"); err != nil {
				t.Error(err)
			}
		}}}
		if err := p.Pause(t.Context(), "a", "me"); err != nil {
			t.Fatal(err)
		}
		if s, err := q.Stats(t.Context(), "a"); err != nil || s.Paused {
			t.Errorf("the queue stays paused after the end of it: %+v %v", s, err)
		}
	})
}
