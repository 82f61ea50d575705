package gormstore_test

import (
	"context"
	"log/slog"
	"strconv"
	"sync"
	"testing"
	"time"

	"punctual/app/database"
	"punctual/delayjob"
	"punctual/notify/webhook"
	"punctual/notify/webhook/gormstore"
	"punctual/tests/testenv/testdb"
)

// scheduled are the deliveries that a watcher gave the queue.
type scheduled struct {
	mu  sync.Mutex
	ids map[int]bool
}

func (s *scheduled) Schedule(_ context.Context, ms ...delayjob.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range ms {
		id, _ := strconv.Atoi(m.Key)
		s.ids[id] = true
	}
}

// has tells whether all from first to last were given.
func (s *scheduled) has(first, last int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := first; id <= last; id++ {
		if !s.ids[id] {
			return false
		}
	}
	return true
}

// TestWatcher: whenever it is poked the queue is given what is new, however much that is, and what was
// committed late with a lower ID.
func TestWatcher(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		s := gormstore.New(db.Gorm)
		w := hook(t, s, true)
		exists := func(first, last int) {
			t.Helper()
			err := db.Gorm.WithContext(t.Context()).Exec(`WITH RECURSIVE n (i) AS (SELECT CAST(? AS integer) UNION ALL SELECT i + 1 FROM n WHERE i < ?)
				INSERT INTO webhook_deliveries (id, webhook_id, event_id, event, due_at, expires_at, created_at, updated_at)
				SELECT i, CAST(? AS integer), i, 'meeting.changed', CAST(? AS timestamptz), CAST(? AS timestamptz), CAST(? AS timestamptz), CAST(? AS timestamptz) FROM n`,
				first, last, w.ID, at, at, at, at).Error
			if err != nil {
				t.Fatal(err)
			}
		}
		exists(1, 990)
		exists(1000, 1000)
		got := &scheduled{ids: map[int]bool{}}
		watcher := webhook.NewWatcher(s, got, slog.New(slog.DiscardHandler))
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { _ = watcher.Run(ctx) })
		defer running.Wait()
		defer stop()
		eventually := func(what string, ok func() bool) {
			t.Helper()
			for end := time.Now().Add(time.Minute); !ok(); time.Sleep(5 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatalf("not %s", what)
				}
			}
		}
		watcher.Poke()
		eventually("what is new at the start", func() bool { return got.has(1000, 1000) })
		if got.has(1, 1) {
			t.Error("all that is left over is read again")
		}
		exists(1001, 2200)
		watcher.Poke()
		eventually("many pages", func() bool { return got.has(1001, 2200) })
		exists(2202, 2202)
		watcher.Poke()
		eventually("the next", func() bool { return got.has(2202, 2202) })
		exists(2201, 2201)
		watcher.Poke()
		eventually("what came late", func() bool { return got.has(2201, 2201) })
	})
}
