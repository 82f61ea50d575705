package notify

import (
	"math/rand/v2"
	"sync"
	"time"
)

const (
	// crowded is how late a message comes when there is more to send than is being sent. From then
	// on an organizer with many has turns, so that the messages of others come up soon.
	crowded = 500 * time.Millisecond
	// crowdedFor is how long that is assumed to last: messages that wait for their turn are not late.
	crowdedFor = 5 * time.Second
	// nearestTurn and furthestTurn bound how far off a turn may be: the provider may become faster.
	nearestTurn  = 500 * time.Millisecond
	furthestTurn = 30 * time.Second
)

// turns keep an organizer with many notifications in line from delaying those of others. One
// organizer has at most three quarters of the handlers while others may wait; the rest of theirs
// goes back to the queue until it is their turn.
type turns struct {
	handlers func() int

	mu    sync.Mutex
	since time.Time // there has been a crowd
	until time.Time // there may be a crowd
	took  time.Duration
	of    map[string]*turn
}

// turn of an organizer.
type turn struct {
	busy int       // handlers
	next time.Time // when the next that found none may try again
}

func newTurns(handlers func() int) *turns {
	return &turns{handlers: handlers, of: map[string]*turn{}}
}

// begin takes a handler for a message of an organizer until end is called, or returns how long the
// message waits for its turn. late is how late the message is. Without an organizer it is always its turn.
func (t *turns) begin(organizer string, late time.Duration) (wait time.Duration, end func()) {
	if organizer == "" {
		return 0, func() {}
	}
	share := max(1, t.handlers()*3/4)
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if late >= crowded {
		t.crowd(now)
	}
	o := t.of[organizer]
	if o == nil {
		o = &turn{}
		t.of[organizer] = o
	}
	if o.busy >= share && now.Before(t.until) {
		t.crowd(now)
		return t.wait(o, share, now), nil
	}
	o.busy++
	return 0, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.took = (7*t.took + time.Since(now)) / 8
		if o.busy--; o.busy == 0 && o.next.Before(time.Now()) {
			delete(t.of, organizer)
		}
	}
}

// crowd notes that there is one now. t.mu is held.
func (t *turns) crowd(now time.Time) {
	if !now.Before(t.until) {
		t.since = now
	}
	t.until = now.Add(crowdedFor)
}

// wait is how long a message of an organizer with a share of the handlers waits. They try again one
// after another, at the pace at which the share becomes free now. Those for which that would be far
// off try earlier, for the pace may change: the longer it is known, the further off. t.mu is held.
func (t *turns) wait(o *turn, share int, now time.Time) time.Duration {
	if o.next.Before(now) {
		o.next = now.Add(10 * time.Millisecond)
	}
	horizon := min(max(now.Sub(t.since), nearestTurn), furthestTurn)
	if wait := o.next.Sub(now); wait < horizon {
		o.next = o.next.Add(t.took / time.Duration(share))
		return wait
	}
	return horizon/2 + rand.N(horizon/2)
}
