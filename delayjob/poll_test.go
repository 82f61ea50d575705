package delayjob_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"punctual/delayjob"
	"punctual/delayjob/memqueue"
)

// A polled queue counts claims and polls, sends no hints, and fails polls on demand.
type polled struct {
	*memqueue.Queue
	claims, polls atomic.Int32
	fails         atomic.Bool
}

func (q *polled) Claim(ctx context.Context, shard int, want []delayjob.Want) (delayjob.Claimed, error) {
	q.claims.Add(1)
	return q.Queue.Claim(ctx, shard, want)
}

func (q *polled) Wake(ctx context.Context) (<-chan delayjob.Hint, error) {
	none := make(chan delayjob.Hint)
	context.AfterFunc(ctx, func() { close(none) })
	return none, nil
}

func (q *polled) Poll(ctx context.Context, jobs []string) ([]delayjob.Head, error) {
	q.polls.Add(1)
	if q.fails.Load() {
		return nil, errors.New("no answer")
	}
	var h delayjob.Head
	got, err := q.Queue.Claim(ctx, 0, nil)
	h.Epoch = got.Epoch
	for _, j := range jobs {
		if s, err := q.Stats(ctx, j); err == nil && !s.Oldest.IsZero() && (h.Next.IsZero() || s.Oldest.Before(h.Next)) {
			h.Next = s.Oldest
		}
	}
	return []delayjob.Head{h}, err
}

func TestConsumer_aPollStandsForEmptyClaims(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &polled{Queue: memqueue.New()}
		defer q.Close()
		q.SetEpoch(t.Context(), "1")
		j := &fakeJob{name: "j"}
		var empty atomic.Int32
		c := delayjob.NewConsumer(q, jobs(j), delayjob.ConsumerOptions{OnEmpty: func() { empty.Add(1) }})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- c.Run(ctx) }()

		time.Sleep(time.Minute)
		if claims, polls := q.claims.Load(), q.polls.Load(); claims < 1 || claims > 2 || polls < 50 || polls > 75 {
			t.Errorf("in a minute %d claims and %d polls, want one claim before and one after the hints begin, and a poll a second", claims, polls)
		}

		due := time.Now().Add(10 * time.Second)
		q.Add(ctx, msg("j", "known", due)) // its hint is lost, but a poll finds it
		time.Sleep(time.Until(due.Add(50 * time.Millisecond)))
		synctest.Wait()
		if n := len(j.ran()); n != 1 {
			t.Errorf("%d ran 50 ms after it was due, want 1: polls told when", n)
		}

		q.Add(ctx, msg("j", "at once", time.Now()))
		time.Sleep(1300 * time.Millisecond)
		synctest.Wait()
		if n := len(j.ran()); n != 2 {
			t.Errorf("%d ran, want 2: a lost hint costs no more than the safety poll", n)
		}

		q.fails.Store(true)
		q.Add(ctx, msg("j", "without polls", time.Now()))
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if n := len(j.ran()); n != 3 {
			t.Errorf("%d ran, want 3: shards must claim for themselves when a poll fails", n)
		}
		q.fails.Store(false)

		if empty.Load() != 0 {
			t.Errorf("a load was asked for %d times", empty.Load())
		}
		q.SetEpoch(ctx, "")
		time.Sleep(1300 * time.Millisecond)
		if empty.Load() == 0 {
			t.Error("a poll saw that the epoch is gone, and no load was asked for")
		}
		cancel()
		<-done
	})
}
