package account

import (
	"context"
	"slices"
	"sync"
	"time"
)

// familiarity ranks where an attempt comes from. Attempts of strangers never crowd out the others.
type familiarity int

const (
	stranger     familiarity = iota
	knownNetwork             // a user signed in from this network before
	knownDevice              // this user signed in on this device before
	familiarities
)

// origin of an attempt. Attempts with the same source, an account, device or network, share a
// turn.
type origin struct {
	familiarity
	source string
}

const (
	maxWaiters   = 100 // per familiarity: more than can be served within a few seconds
	strangerTurn = 4   // every fourth turn goes to strangers, even while others wait
)

// fairQueue lets a limited number of attempts run at a time. Familiar origins go first, and
// sources of the same familiarity take turns. When the queue is full, the source with the most
// waiters gives up a place.
type fairQueue struct {
	mu    sync.Mutex
	free  int
	turns int
	tiers [familiarities]tier
}

// tier holds the waiters of one familiarity by source, in the order of their turns.
type tier struct {
	waiting int
	sources []*source
}

type source struct {
	name    string
	waiters []*waiter
}

// waiter receives true when it may run, false when it lost its place.
type waiter struct{ turn chan bool }

func newFairQueue(atOnce int) *fairQueue { return &fairQueue{free: atOnce} }

// enter waits for a turn. It returns a [*RateLimitError] if the queue is full.
func (q *fairQueue) enter(ctx context.Context, from origin) (leave func(), err error) {
	q.mu.Lock()
	if q.free > 0 {
		q.free--
		q.mu.Unlock()
		return q.leave, nil
	}
	t := &q.tiers[from.familiarity]
	if t.waiting >= maxWaiters && !t.makeRoom(from.source) {
		q.mu.Unlock()
		return nil, &RateLimitError{RetryAfter: time.Second}
	}
	w := &waiter{make(chan bool, 1)}
	t.add(from.source, w)
	q.mu.Unlock()

	select {
	case run := <-w.turn:
		if !run {
			return nil, &RateLimitError{RetryAfter: time.Second}
		}
		return q.leave, nil
	case <-ctx.Done():
	}
	q.mu.Lock()
	gone := t.remove(from.source, w)
	q.mu.Unlock()
	if !gone && <-w.turn { // the turn came at the same moment
		q.leave()
	}
	return nil, ctx.Err()
}

func (q *fairQueue) leave() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.turns++
	order := []familiarity{knownDevice, knownNetwork, stranger}
	if q.turns%strangerTurn == 0 {
		slices.Reverse(order)
	}
	for _, f := range order {
		if w := q.tiers[f].next(); w != nil {
			w.turn <- true
			return
		}
	}
	q.free++
}

func (t *tier) find(name string) int {
	return slices.IndexFunc(t.sources, func(s *source) bool { return s.name == name })
}

func (t *tier) add(name string, w *waiter) {
	i := t.find(name)
	if i < 0 {
		i = len(t.sources)
		t.sources = append(t.sources, &source{name: name})
	}
	t.sources[i].waiters = append(t.sources[i].waiters, w)
	t.waiting++
}

func (t *tier) next() *waiter {
	if len(t.sources) == 0 {
		return nil
	}
	s := t.sources[0]
	w := s.waiters[0]
	s.waiters = s.waiters[1:]
	t.sources = t.sources[1:]
	if len(s.waiters) > 0 {
		t.sources = append(t.sources, s)
	}
	t.waiting--
	return w
}

// remove reports whether the waiter still had its place.
func (t *tier) remove(name string, w *waiter) bool {
	i := t.find(name)
	if i < 0 {
		return false
	}
	s := t.sources[i]
	at := slices.Index(s.waiters, w)
	if at < 0 {
		return false
	}
	t.drop(i, at)
	return true
}

func (t *tier) drop(i, at int) {
	s := t.sources[i]
	s.waiters = slices.Delete(s.waiters, at, at+1)
	if len(s.waiters) == 0 {
		t.sources = slices.Delete(t.sources, i, i+1)
	}
	t.waiting--
}

// makeRoom takes the last place of the source with the most waiters, for one with fewer.
func (t *tier) makeRoom(name string) bool {
	mine, longest := 0, 0
	for i, s := range t.sources {
		if s.name == name {
			mine = len(s.waiters)
		}
		if len(s.waiters) > len(t.sources[longest].waiters) {
			longest = i
		}
	}
	waiters := t.sources[longest].waiters
	if len(waiters) <= mine+1 {
		return false
	}
	waiters[len(waiters)-1].turn <- false
	t.drop(longest, len(waiters)-1)
	return true
}
