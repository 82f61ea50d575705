package topics

import (
	"context"
	"strings"
	"sync"
	"time"
)

// safetyPoll is how long a pop waits at most before it polls, in case a hint is lost.
const safetyPoll = time.Second

// A waiter is a waiting pop. It keeps the earliest due time of the hints that it has not handled.
type waiter struct {
	poke chan struct{} // one slot

	mu     sync.Mutex
	hinted bool
	due    time.Time
}

func (w *waiter) hint(due time.Time) {
	w.mu.Lock()
	if !w.hinted || due.Before(w.due) {
		w.due = due
	}
	w.hinted = true
	w.mu.Unlock()
	select {
	case w.poke <- struct{}{}:
	default:
	}
}

func (w *waiter) take() (due time.Time, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	due, ok, w.hinted = w.due, w.hinted, false
	return due, ok
}

// waiters are all waiting pops of this process. They share one subscription.
type waiters struct {
	mu  sync.Mutex
	all map[*waiter]struct{}
}

func (ws *waiters) enter() *waiter {
	w := &waiter{poke: make(chan struct{}, 1)}
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.all == nil {
		ws.all = map[*waiter]struct{}{}
	}
	ws.all[w] = struct{}{}
	return w
}

func (ws *waiters) leave(w *waiter) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	delete(ws.all, w)
}

func (ws *waiters) hint(due time.Time) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for w := range ws.all {
		w.hint(due)
	}
}

func (s *Service) listen(ctx context.Context) {
	for failures := 0; ctx.Err() == nil; {
		hints, err := s.queue.Wake(ctx)
		if err != nil {
			if failures++; ctx.Err() == nil && failures == 1 {
				s.log.Warn("wake-up hints for pops unavailable, polling", "error", err)
			}
			rest(ctx, time.Second)
			continue
		}
		failures = 0
		for h := range hints {
			s.waiters.hint(h.Due)
		}
	}
}

// wait returns true when there may be something to claim: at next, at an earlier time from a hint,
// or after the safety poll. next is a time of the engine's clock and may be zero. wait returns
// false when the wait is over.
func (s *Service) wait(ctx context.Context, w *waiter, next time.Time) bool {
	at := safetyPoll
	if s.outage.on() {
		at = outagePoll
	}
	if !next.IsZero() {
		at = min(at, next.Sub(s.queue.Now()))
	}
	t := time.NewTimer(at)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-s.stopped:
			return false
		case <-t.C:
			return true
		case <-w.poke:
			due, ok := w.take()
			if !ok {
				continue
			}
			in := due.Sub(s.queue.Now())
			if due.IsZero() || in <= 0 {
				return true
			}
			if next.IsZero() || due.Before(next) {
				next = due
				t.Reset(min(in, safetyPoll))
			}
		}
	}
}

func rest(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// batons let one pop for the same topics wait for the queue at a time. The others wait for its
// baton. So a thousand waiting pops cost the queue as much as one.
type batons struct {
	mu sync.Mutex
	by map[string]*baton
}

type baton struct {
	slot  chan struct{}
	users int
}

// acquire waits for the baton of topics. It returns false if the wait is over. Otherwise the caller
// must call release.
func (s *Service) acquire(ctx context.Context, topics []string) (release func(), ok bool) {
	key := strings.Join(topics, " ")
	bs := &s.batons
	bs.mu.Lock()
	b := bs.by[key]
	if b == nil {
		b = &baton{slot: make(chan struct{}, 1)}
		if bs.by == nil {
			bs.by = map[string]*baton{}
		}
		bs.by[key] = b
	}
	b.users++
	bs.mu.Unlock()
	leave := func() {
		bs.mu.Lock()
		defer bs.mu.Unlock()
		if b.users--; b.users == 0 {
			delete(bs.by, key)
		}
	}
	select {
	case b.slot <- struct{}{}:
		return func() { <-b.slot; leave() }, true
	case <-ctx.Done():
	case <-s.stopped:
	}
	leave()
	return nil, false
}
