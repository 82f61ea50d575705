package webhook

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

const (
	atOnce   = 8 // concurrent posts per webhook and process, so that a slow server does not block others
	maxWaits = 8 // posts that wait for a slot; further ones are retried later
	patient  = 250 * time.Millisecond
	soonest  = 5 * time.Millisecond
	restBase = 2 * time.Second // after the first failure
	restCap  = 5 * time.Minute
)

// paces keeps this process from overloading servers. A failing server gets only an occasional
// probe, so that maxWaits deliveries use up no attempts. The zero value is ready.
type paces struct {
	mu sync.Mutex
	of map[int64]*pace
}

type pace struct {
	busy     int
	waits    int           // number of maxWaits posts
	free     chan struct{} // one token for each slot released while posts waited
	failures int           // consecutive
	rests    time.Time     // no posts until then
	turn     time.Time     // when the next post without a slot may retry
	took     time.Duration
}

type ended int

const (
	unknown   ended = iota // the post was not made
	succeeded              // the server responded without failing
	failing
)

// enter takes a slot for a post to a webhook and returns leave, or how long to wait. Some posts
// wait here for a moment, so that a fast server never waits for posts.
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

// try takes a slot, or returns how long to wait, or, if mayWait, a channel to wait for.
func (p *paces) try(webhook int64, now time.Time, mayWait bool) (wait time.Duration, leave func(ended), free <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of == nil {
		p.of = map[int64]*pace{}
	}
	one := p.of[webhook]
	if one == nil {
		one = &pace{free: make(chan struct{}, maxWaits)}
		p.of[webhook] = one
	}
	probing := one.failures > 0
	switch {
	case now.Before(one.rests):
		return one.rests.Sub(now) + rand.N(time.Second), nil, nil
	case one.busy >= atOnce && !probing && mayWait && one.waits < maxWaits:
		one.waits++
		return 0, nil, one.free
	case one.busy >= atOnce || probing && one.busy > 0:
		// Deliveries without a slot are retried when one should be free, staggered, so that the
		// queue does not deliver a long backlog over and over.
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
	case succeeded:
		one.failures, one.rests, one.took = 0, time.Time{}, now.Sub(begun)
	case failing:
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

// forget drops the state of a server that works and has nothing maxWaits. The caller holds p.mu.
func (p *paces) forget(webhook int64, one *pace) {
	if one.busy == 0 && one.waits == 0 && one.failures == 0 && one.turn.Before(time.Now()) {
		delete(p.of, webhook)
	}
}
