package webhook

import (
	"math/rand/v2"
	"sync"
	"time"
)

const (
	atOnce   = 8               // posts to one webhook at once in a process, so that a slow one leaves room for others
	restBase = 2 * time.Second // after the first failure
	restCap  = 5 * time.Minute
)

// paces keep this process from posting to a server more than it can take: to one that fails
// nothing but a probe now and then, so that what waits for it is charged no attempts. The zero
// value is ready.
type paces struct {
	mu sync.Mutex
	of map[int64]*pace
}

type pace struct {
	busy     int
	failures int       // in a row
	rests    time.Time // until then nothing is posted
	turn     time.Time // when the next may try that found all places taken
	took     time.Duration
}

// ended is how a post went.
type ended int

const (
	unknown ended = iota // it was not made
	well                 // the server answered, and not that it failed
	badly
)

// enter takes a place for a post to a webhook, which leave gives back; or tells how long to wait.
func (p *paces) enter(webhook int64, now time.Time) (wait time.Duration, leave func(ended)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of == nil {
		p.of = map[int64]*pace{}
	}
	one := p.of[webhook]
	if one == nil {
		one = &pace{}
		p.of[webhook] = one
	}
	probing := one.failures > 0
	switch {
	case now.Before(one.rests):
		return one.rests.Sub(now) + rand.N(time.Second), nil
	case one.busy >= atOnce || probing && one.busy > 0:
		// Who finds no place comes when one will be free, each at a time of its own: a long
		// backlog is not handed out again and again.
		if one.turn.Before(now) {
			one.turn = now
		}
		one.turn = one.turn.Add(max(one.took/atOnce, 10*time.Millisecond))
		return one.turn.Sub(now), nil
	}
	one.busy++
	return 0, func(how ended) { p.leave(webhook, one, how, now) }
}

func (p *paces) leave(webhook int64, one *pace, how ended, begun time.Time) {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	one.busy--
	switch how {
	case well:
		one.failures, one.rests, one.took = 0, time.Time{}, now.Sub(begun)
	case badly:
		one.failures++
		one.took = now.Sub(begun)
		one.rests = now.Add(min(restCap, restBase<<min(one.failures-1, 10)))
	}
	if one.busy == 0 && one.failures == 0 && one.turn.Before(now) {
		delete(p.of, webhook)
	}
}
