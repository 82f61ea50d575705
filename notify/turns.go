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
	// furthestTurn bounds how long a message waits for its turn: the provider may become faster.
	furthestTurn = 30 * time.Second
)

// turns keep an organizer with many notifications in line from delaying those of others. One
// organizer has at most three quarters of what is sent at once, while others may wait; the rest
// of theirs goes back to the queue until it is their turn.
type turns struct {
	share int // of one organizer

	mu    sync.Mutex
	until time.Time // there may be a crowd
	took  time.Duration
	of    map[string]*turn
}

// turn of an organizer.
type turn struct {
	sending int
	next    time.Time // when the next that found no place may try again
}

func newTurns(atOnce int) *turns {
	return &turns{share: max(1, atOnce*3/4), of: map[string]*turn{}}
}

// crowd reports whether there may be more to send than is being sent; late is how late a message is.
func (t *turns) crowd(late time.Duration, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if late >= crowded {
		t.until = now.Add(crowdedFor)
	}
	return now.Before(t.until)
}

// wait is how long a message of an organizer waits for its turn; 0: it may be sent.
func (t *turns) wait(organizer string, now time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	o := t.of[organizer]
	if o == nil || o.sending < t.share {
		return 0
	}
	if o.next.Before(now) {
		o.next = now.Add(10 * time.Millisecond)
	}
	o.next = o.next.Add(t.took / time.Duration(t.share))
	t.until = now.Add(crowdedFor)
	if wait := o.next.Sub(now); wait < furthestTurn {
		return wait
	}
	return furthestTurn/2 + rand.N(furthestTurn/2)
}

// begin notes that a notification of an organizer is being sent, until end is called.
func (t *turns) begin(organizer string) (end func()) {
	begun := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	o := t.of[organizer]
	if o == nil {
		o = &turn{}
		t.of[organizer] = o
	}
	o.sending++
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.took = (7*t.took + time.Since(begun)) / 8
		if o.sending--; o.sending == 0 && o.next.Before(time.Now()) {
			delete(t.of, organizer)
		}
	}
}
