package topics_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"punctual/app/database"
	"punctual/delayjob"
	"punctual/delayjob/gormstore"
	"punctual/delayjob/memqueue"
	"punctual/delayjob/topics"
	"punctual/tests/testenv/testdb"
)

var errSilent = errors.New("no answer")

// silent is a queue that can stop answering.
type silent struct {
	queue
	off atomic.Bool
}

func (q *silent) Claim(ctx context.Context, shard int, want []delayjob.Want) (delayjob.Claimed, error) {
	if q.off.Load() {
		return delayjob.Claimed{}, errSilent
	}
	return q.queue.Claim(ctx, shard, want)
}

func (q *silent) Add(ctx context.Context, ms ...delayjob.Message) ([]delayjob.AddResult, error) {
	if q.off.Load() {
		return make([]delayjob.AddResult, len(ms)), errSilent
	}
	return q.queue.Add(ctx, ms...)
}

func (q *silent) Ack(ctx context.Context, ls ...delayjob.Lease) []error {
	if q.off.Load() {
		return slices.Repeat([]error{errSilent}, len(ls))
	}
	return q.queue.Ack(ctx, ls...)
}

func (q *silent) Stats(ctx context.Context, job string) (delayjob.Stats, error) {
	if q.off.Load() {
		return delayjob.Stats{}, errSilent
	}
	return q.queue.Stats(ctx, job)
}

// Without the queue the rows are popped, each once however many pop at a time, and what became
// of them holds when the queue is back.
func TestPop_withoutTheQueue(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		q := &silent{queue: memqueue.New()}
		w := newWorld(t, db, q)
		w.add(topics.Added, w.job("before", 0))
		before := w.pop("before")[0]
		q.off.Store(true)
		if err := w.finish(before); err != nil {
			t.Error(err)
		}
		const n = 60
		js := make([]*topics.Job, n)
		for i := range js {
			js[i] = w.job(fmt.Sprintf("%02d", i), 0)
		}
		w.add(topics.Added, js...)
		w.add(topics.Added, w.job("later", 400*time.Millisecond))

		var mu sync.Mutex
		got := map[string]int{}
		var popping sync.WaitGroup
		for range 4 {
			popping.Go(func() {
				for {
					ds, err := w.Pop(t.Context(), topics.Pop{Topics: []string{"t"}, Max: 7, Wait: 50 * time.Millisecond})
					if err != nil {
						t.Error(err)
					}
					mu.Lock()
					for _, d := range ds {
						got[d.ID]++
						if err := w.finish(d); err != nil {
							t.Errorf("%s: %v", d.ID, err)
						}
					}
					all := len(got) >= n
					mu.Unlock()
					if err != nil || all {
						return
					}
				}
			})
		}
		popping.Wait()
		for id, times := range got {
			if times != 1 {
				t.Errorf("%s was popped %d times", id, times)
			}
		}
		if got["later"] == 0 {
			if err := w.Fail(t.Context(), ending(w.pop("later")[0]), topics.Failure{Error: "no", Delay: new(10 * time.Millisecond)}); err != nil {
				t.Fatal(err)
			}
			if d := w.pop("later")[0]; d.Attempts != 2 {
				t.Errorf("attempt %d, want 2", d.Attempts)
			}
		}

		q.off.Store(false)
		time.Sleep(time.Second)
		w.load()
		w.pop() // what the queue still has is over
		w.add(topics.Added, w.job("after", 0))
		w.pop("after")
	})
}

// unsaved is a store that is lost in the middle of a change.
type unsaved struct{ topics.Store }

func (s unsaved) UpdateDue(ctx context.Context, topic string, now time.Time, limit int, change func([]*topics.Job) ([]*topics.Job, error)) error {
	return s.Store.UpdateDue(ctx, topic, now, limit, func(js []*topics.Job) ([]*topics.Job, error) {
		if _, err := change(js); err != nil {
			return nil, err
		}
		return nil, errSilent
	})
}

// Nobody gets what the database did not save.
func TestPop_unsaved(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		q := &silent{queue: memqueue.New()}
		w := newWorld(t, db, q)
		w.add(topics.Added, w.job("a", 0))
		q.off.Store(true)
		lost := newService(unsaved{gormstore.NewTopics(db.Gorm)}, q)
		if ds, err := lost.Pop(t.Context(), topics.Pop{Topics: []string{"t"}, Max: 1}); !errors.Is(err, errSilent) {
			t.Errorf("popped %v, %v", ds, err)
		}
		if d := w.pop("a")[0]; d.Attempts != 1 {
			t.Errorf("attempt %d, want 1", d.Attempts)
		}
	})
}

// A pop of many topics gets of each, and all there is of one that has more than the others.
func TestPop_manyTopics(t *testing.T) {
	each(t, func(w *world) {
		t := w.t
		var names []string
		for i := range 20 {
			names = append(names, fmt.Sprintf("many-%d", i))
		}
		put := func(topic string, n int) {
			for i := range n {
				j := w.job(fmt.Sprintf("%d of %d", i, n), 0)
				j.Topic = topic
				w.add(topics.Added, j)
			}
		}
		pop := func(most int) map[string]int {
			ds, err := w.Pop(t.Context(), topics.Pop{Topics: names, Max: most})
			if err != nil {
				t.Fatal(err)
			}
			by := map[string]int{}
			for _, d := range ds {
				by[d.Topic]++
				if err := w.finish(d); err != nil {
					t.Error(err)
				}
			}
			return by
		}
		put(names[3], 40)
		if by := pop(30); by[names[3]] != 30 {
			t.Errorf("%v, want 30 of the only one", by)
		}
		for _, n := range names {
			put(n, 1)
		}
		one := pop(1)
		if len(one) != 1 {
			t.Errorf("%v, want one", one)
		}
		if err := w.SetPaused(t.Context(), names[3], true); err != nil {
			t.Fatal(err)
		}
		left := pop(100)
		total := one[names[3]]
		for _, n := range left {
			total += n
		}
		if left[names[3]] != 0 || len(left)+len(one) < 19 || total > 20 {
			t.Errorf("%v after %v, want one of each other", left, one)
		}
	})
}
