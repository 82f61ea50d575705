package notify

import (
	"math/rand/v2"
	"sync"
	"time"
)

const (
	// crowded is the delay at which messages compete for handlers. From then on an organizer with
	// many messages must take turns.
	crowded = 500 * time.Millisecond
	// crowdedFor is how long competition is assumed to last after a late message. Messages that
	// wait for their turn are not late.
	crowdedFor = 5 * time.Second
	// nearestTurn and furthestTurn limit the wait for a turn, because the provider may become
	// faster.
	nearestTurn  = 500 * time.Millisecond
	furthestTurn = 30 * time.Second
)

// turns keeps an organizer with many notifications from delaying those of others. While others may
// wait, one organizer gets at most three quarters of the handlers. The rest of their messages
// return to the queue.
type turns struct {
	handlers func() int

	mu    sync.Mutex
	since time.Time // start of the competition
	until time.Time // assumed end of the competition
	took  time.Duration
	of    map[string]*turn
}

type turn struct {
	busy int       // number of handlers in use
	next time.Time // when the next message without a handler may retry
}

func newTurns(handlers func() int) *turns {
	return &turns{handlers: handlers, of: map[string]*turn{}}
}

// begin takes a handler for a message of an organizer until end is called. If none is free for
// them it returns how long the message must wait. late is the delay of the message. Without an
// organizer it never waits.
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

// crowd extends the competition. The caller holds t.mu.
func (t *turns) crowd(now time.Time) {
	if !now.Before(t.until) {
		t.since = now
	}
	t.until = now.Add(crowdedFor)
}

// wait returns how long a message of an organizer must wait. Messages retry one after another, at
// the current pace of the organizer's handlers. A message far down retries earlier, because the
// pace may change. The longer the pace is known, the longer the waits. The caller holds t.mu.
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
