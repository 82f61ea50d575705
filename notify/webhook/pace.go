package webhook

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

const (
	atOnce   = 8 // posts to one webhook at once in a process, so that a slow one leaves room for others
	waiting  = 8 // that wait for a place at once; others come again later
	patient  = 250 * time.Millisecond
	soonest  = 5 * time.Millisecond
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
	waits    int           // for a place
	free     chan struct{} // holds a token for each place that was given back while some waited
	failures int           // in a row
	rests    time.Time     // until then nothing is posted
	turn     time.Time     // when the next may try that found all places taken
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
// Some wait here for a place, for a moment, so that a server that is fast never waits for posts.
func (p *paces) enter(ctx context.Context, webhook int64) (wait time.Duration, leave func(ended)) {
	for end := time.Now().Add(patient); ; {
		wait, leave, free := p.try(webhook, time.Now(), time.Now().Before(end) && ctx.Err() == nil)
		if free == nil {
			return wait, leave
		}
		t := time.NewTimer(time.Until(end))
		select {
		case <-free:
		case <-t.C:
		case <-ctx.Done():
		}
		t.Stop()
		p.waited(webhook)
	}
}

func (p *paces) waited(webhook int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.of[webhook].waits--
	p.forget(webhook, p.of[webhook])
}

// try takes a place, or tells how long to wait, or, if that may be, what to wait for.
func (p *paces) try(webhook int64, now time.Time, mayWait bool) (wait time.Duration, leave func(ended), free <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of == nil {
		p.of = map[int64]*pace{}
	}
	one := p.of[webhook]
	if one == nil {
		one = &pace{free: make(chan struct{}, waiting)}
		p.of[webhook] = one
	}
	probing := one.failures > 0
	switch {
	case now.Before(one.rests):
		return one.rests.Sub(now) + rand.N(time.Second), nil, nil
	case one.busy >= atOnce && !probing && mayWait && one.waits < waiting:
		one.waits++
		return 0, nil, one.free
	case one.busy >= atOnce || probing && one.busy > 0:
		// A delivery that finds no place comes when one will be free, each at a time of its own: a
		// long backlog is not handed out again and again.
		if one.turn.Before(now) {
			one.turn = now.Add(soonest)
		}
		one.turn = one.turn.Add(max(one.took/atOnce, 100*time.Microsecond))
		return one.turn.Sub(now), nil, nil
	}
	one.busy++
	return 0, func(how ended) { p.leave(webhook, one, how, now) }, nil
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
	if one.waits > 0 {
		select {
		case one.free <- struct{}{}:
		default:
		}
	}
	p.forget(webhook, one)
}

// forget what is known of a server that answers and that nothing waits for. p.mu is held.
func (p *paces) forget(webhook int64, one *pace) {
	if one.busy == 0 && one.waits == 0 && one.failures == 0 && one.turn.Before(time.Now()) {
		delete(p.of, webhook)
	}
}
