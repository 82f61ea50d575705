package account

import (
	"context"
	"slices"
	"sync"
	"time"
)

// familiarity of where an attempt comes from. A flood of strangers never crowds out the others.
type familiarity int

const (
	stranger     familiarity = iota
	knownNetwork             // somebody signed in from there before
	knownDevice              // the user signed in on it before
	familiarities
)

// origin of an attempt. Source names the account, device or network that shares a turn with others.
type origin struct {
	familiarity
	source string
}

const (
	maxWaiters   = 100 // of one familiarity: more than can be served within a few seconds
	strangerTurn = 4   // every fourth turn goes to strangers while others wait
)

// fairQueue lets a few run at a time. Familiar origins go first, sources of the same familiarity
// take turns, and a source with many waiters makes room for others when the queue is full.
type fairQueue struct {
	mu    sync.Mutex
	free  int
	turns int
	lanes [familiarities]lane
}

// lane holds what waits with one familiarity, by source, in the order of their turns.
type lane struct {
	waiting int
	sources []*source
}

type source struct {
	name    string
	waiters []*waiter
}

// waiter gets true when it may run, false when it lost its place.
type waiter struct{ turn chan bool }

func newFairQueue(atOnce int) *fairQueue { return &fairQueue{free: atOnce} }

// enter waits for its turn. It returns a [*RateLimitError] if there is no place to wait.
func (q *fairQueue) enter(ctx context.Context, from origin) (leave func(), err error) {
	q.mu.Lock()
	if q.free > 0 {
		q.free--
		q.mu.Unlock()
		return q.leave, nil
	}
	l := &q.lanes[from.familiarity]
	if l.waiting >= maxWaiters && !l.makeRoom(from.source) {
		q.mu.Unlock()
		return nil, &RateLimitError{RetryAfter: time.Second}
	}
	w := &waiter{make(chan bool, 1)}
	l.add(from.source, w)
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
	gone := l.remove(from.source, w)
	q.mu.Unlock()
	if !gone && <-w.turn { // its turn came at the same moment
		q.leave()
	}
	return nil, ctx.Err()
}

// leave hands the place to the next waiter.
func (q *fairQueue) leave() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.turns++
	order := []familiarity{knownDevice, knownNetwork, stranger}
	if q.turns%strangerTurn == 0 {
		slices.Reverse(order)
	}
	for _, f := range order {
		if w := q.lanes[f].next(); w != nil {
			w.turn <- true
			return
		}
	}
	q.free++
}

func (l *lane) find(name string) int {
	return slices.IndexFunc(l.sources, func(s *source) bool { return s.name == name })
}

func (l *lane) add(name string, w *waiter) {
	i := l.find(name)
	if i < 0 {
		i = len(l.sources)
		l.sources = append(l.sources, &source{name: name})
	}
	l.sources[i].waiters = append(l.sources[i].waiters, w)
	l.waiting++
}

// next takes the first waiter of the source whose turn it is.
func (l *lane) next() *waiter {
	if len(l.sources) == 0 {
		return nil
	}
	s := l.sources[0]
	w := s.waiters[0]
	s.waiters = s.waiters[1:]
	l.sources = l.sources[1:]
	if len(s.waiters) > 0 {
		l.sources = append(l.sources, s)
	}
	l.waiting--
	return w
}

// remove reports whether the waiter still had its place.
func (l *lane) remove(name string, w *waiter) bool {
	i := l.find(name)
	if i < 0 {
		return false
	}
	s := l.sources[i]
	at := slices.Index(s.waiters, w)
	if at < 0 {
		return false
	}
	l.drop(i, at)
	return true
}

func (l *lane) drop(i, at int) {
	s := l.sources[i]
	s.waiters = slices.Delete(s.waiters, at, at+1)
	if len(s.waiters) == 0 {
		l.sources = slices.Delete(l.sources, i, i+1)
	}
	l.waiting--
}

// makeRoom takes the latest place of the source that has the most, for one that has fewer.
func (l *lane) makeRoom(name string) bool {
	mine, longest := 0, 0
	for i, s := range l.sources {
		if s.name == name {
			mine = len(s.waiters)
		}
		if len(s.waiters) > len(l.sources[longest].waiters) {
			longest = i
		}
	}
	waiters := l.sources[longest].waiters
	if len(waiters) <= mine+1 {
		return false
	}
	waiters[len(waiters)-1].turn <- false
	l.drop(longest, len(waiters)-1)
	return true
}
