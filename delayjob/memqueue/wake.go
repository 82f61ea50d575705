package memqueue

import (
	"context"
	"errors"
	"time"

	"punctual/delayjob"
)

// A subscriber has a channel of one hint. A hint not yet taken is merged into the next.
type subscriber struct{ hints chan delayjob.Hint }

// Wake implements [delayjob.Queue].
func (q *Queue) Wake(ctx context.Context) (<-chan delayjob.Hint, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return nil, errors.New("memqueue: closed")
	}
	s := &subscriber{hints: make(chan delayjob.Hint, 1)}
	q.subs[s] = struct{}{}
	context.AfterFunc(ctx, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.unsubscribe(s)
	})
	return s.hints, nil
}

func (q *Queue) unsubscribe(s *subscriber) {
	if _, ok := q.subs[s]; ok {
		delete(q.subs, s)
		close(s.hints)
	}
}

// Close implements [delayjob.Queue]. It ends the subscriptions; the messages stay.
func (q *Queue) Close() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	for s := range q.subs {
		q.unsubscribe(s)
	}
	return nil
}

// announce sends a hint if a set got an earlier first message during the call.
func (q *Queue) announce() {
	if !q.hinted {
		return
	}
	h := delayjob.Hint{Due: fromMilli(q.earlier)}
	q.hinted, q.earlier = false, 0
	for s := range q.subs {
		s.send(h)
	}
}

// send never blocks: it runs under the queue's lock, so the channel has no other writer.
func (s *subscriber) send(h delayjob.Hint) {
	select {
	case old := <-s.hints:
		if old.Due.Before(h.Due) {
			h = old
		}
	default:
	}
	s.hints <- h
}

func (q *Queue) resumed(now time.Time) {
	for s := range q.subs {
		s.send(delayjob.Hint{Due: now})
	}
}
