package chat

import (
	"math/rand/v2"
	"sync"
	"time"
)

const (
	soonest = 500 * time.Millisecond // when a message retries that found another under way
	spacing = 100 * time.Millisecond // between such messages, if the service answers faster
	latest  = 30 * time.Second       // of retries, because the service may become faster
)

// lines let one message at a time through to each chat of this process, so that a host that hangs delays only its own.
// The others return to the queue one after another. The zero value is ready.
type lines struct {
	mu sync.Mutex
	of map[string]*line
}

type line struct {
	busy  bool
	rests time.Time     // no messages until then
	turn  time.Time     // when the next message that has to wait retries
	took  time.Duration // by the last message
}

// enter begins a message to an address, which ends with end, or returns how long it has to wait. rest is how long the
// service wants no more messages.
func (l *lines) enter(address string, now time.Time) (wait time.Duration, end func(rest time.Duration)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of == nil {
		l.of = map[string]*line{}
	}
	one := l.of[address]
	if one == nil {
		one = &line{}
		l.of[address] = one
	}
	if one.busy || now.Before(one.rests) {
		for _, t := range []time.Time{now.Add(soonest), one.rests} {
			if one.turn.Before(t) {
				one.turn = t
			}
		}
		wait = one.turn.Sub(now)
		resting := max(0, one.rests.Sub(now))
		if next := one.turn.Add(min(max(one.took, spacing), latest/2)); next.Sub(now) < resting+latest {
			one.turn = next
		} else { // those beyond come at any time
			wait = max(soonest, resting) + rand.N(latest)
		}
		return wait, nil
	}
	one.busy = true
	begun := now
	return 0, func(rest time.Duration) {
		l.mu.Lock()
		defer l.mu.Unlock()
		now := time.Now()
		one.busy, one.took, one.rests = false, now.Sub(begun), now.Add(rest)
		for address, o := range l.of {
			if !o.busy && o.rests.Before(now) && o.turn.Before(now) {
				delete(l.of, address)
			}
		}
	}
}
