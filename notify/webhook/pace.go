package webhook

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

const (
	// Concurrent posts per webhook and process, so that a slow server does not block others: atOnce
	// at first, up to atMost while the server answers quickly.
	atOnce   = 8
	atMost   = 32
	quick    = 100 * time.Millisecond
	maxWaits = atOnce // posts that wait for a slot; further ones are retried later
	patient  = 250 * time.Millisecond
	soonest  = 5 * time.Millisecond
	latest   = 5 * time.Second // posts without a slot are retried within twice this time
	restBase = 2 * time.Second // after the first failure
	restCap  = 5 * time.Minute
)

// paces keeps this process from overloading servers. A failing server gets only an occasional
// probe, so that the deliveries that wait use up no attempts. The zero value is ready.
type paces struct {
	mu sync.Mutex
	of map[int64]*pace
}

type pace struct {
	slots    int
	busy     int
	waits    int           // posts that wait for a slot, at most maxWaits
	free     chan struct{} // one token for each slot released while posts waited
	failures int           // consecutive; posts that fail together count once
	failed   time.Time     // when the last failure was counted
	rests    time.Time     // no posts until then
	turn     time.Time     // when the next post without a slot may retry
	held     time.Duration // how long the last slot was held
	moved    time.Time     // when the last post ended, or the first began
}

// A slot is the right to post to a webhook, one post after another. It must be released.
type slot struct {
	paces   *paces
	webhook int64
	pace    *pace
	begun   time.Time
}

type ended int

const (
	unknown   ended = iota // the server is not to blame
	succeeded              // the server responded without failing
	failing
)

// enter takes a slot for posts to a webhook, or returns how long to wait. Some posts wait here for a
// moment, so that a fast server never waits for posts.
func (p *paces) enter(ctx context.Context, webhook int64) (wait time.Duration, s *slot) {
	for end := time.Now().Add(patient); ; {
		wait, s, free := p.try(webhook, time.Now(), time.Now().Before(end) && ctx.Err() == nil)
		if free == nil {
			return wait, s
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
func (p *paces) try(webhook int64, now time.Time, mayWait bool) (wait time.Duration, s *slot, free <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of == nil {
		p.of = map[int64]*pace{}
	}
	one := p.of[webhook]
	if one == nil {
		one = &pace{slots: atOnce, free: make(chan struct{}, maxWaits)}
		p.of[webhook] = one
	}
	probing := one.failures > 0
	switch {
	case now.Before(one.rests):
		return one.rests.Sub(now) + rand.N(time.Second), nil, nil
	case probing && one.busy > 0:
		return spread(latest), nil, nil
	case one.busy >= one.slots && mayWait && one.waits < maxWaits && now.Sub(one.moved) < patient:
		one.waits++
		return 0, nil, one.free
	case one.busy >= one.slots:
		return one.next(now), nil, nil
	}
	if one.busy == 0 {
		one.moved = now
	}
	one.busy++
	return 0, &slot{p, webhook, one, now}, nil
}

// next returns when a post without a slot should retry: when a slot should be free, staggered, so that
// the queue does not deliver a long backlog over and over. While the server hangs, that is later and
// later.
func (one *pace) next(now time.Time) time.Duration {
	if one.turn.Before(now) {
		one.turn = now.Add(soonest)
	}
	turn := one.turn.Add(max(max(one.held, now.Sub(one.moved))/time.Duration(one.slots), 100*time.Microsecond))
	if turn.Sub(now) > latest {
		return spread(latest)
	}
	one.turn = turn
	return turn.Sub(now)
}

// line returns when a post that is not made yet may get a slot, as far as known; 0: at once.
func (p *paces) line(webhook int64) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	one := p.of[webhook]
	if one == nil {
		return 0
	}
	wait := max(0, time.Until(one.turn))
	if rest := time.Until(one.rests); rest > 0 {
		wait = max(wait, rest+rand.N(time.Second)) // not all at once
	}
	return wait
}

// spread returns a random time from d to twice that.
func spread(d time.Duration) time.Duration { return d + rand.N(d) }

// rest returns how long a server gets no posts after consecutive failures.
func rest(failures int) time.Duration { return min(restCap, restBase<<min(failures-1, 10)) }

// ended notes how a post ended and how long it took.
func (s *slot) ended(how ended, took time.Duration) {
	now := time.Now()
	s.paces.mu.Lock()
	defer s.paces.mu.Unlock()
	one := s.pace
	one.moved = now
	switch how {
	case succeeded:
		one.failures, one.rests = 0, time.Time{}
		if took > quick {
			one.slots = max(atOnce, one.slots/2)
		} else if one.busy >= one.slots && one.slots < atMost {
			one.slots++
			one.offer()
		}
	case failing:
		one.slots = atOnce
		if now.Add(-took).Before(one.failed) {
			return
		}
		one.failures++
		one.failed = now
		one.rests = now.Add(rest(one.failures))
	}
}

// wait returns how long the server gets no posts since another one failed.
func (s *slot) wait() time.Duration {
	s.paces.mu.Lock()
	defer s.paces.mu.Unlock()
	return max(0, time.Until(s.pace.rests))
}

// wanted reports whether posts wait for a slot.
func (s *slot) wanted() bool {
	s.paces.mu.Lock()
	defer s.paces.mu.Unlock()
	return s.pace.waits > 0
}

func (s *slot) release() {
	s.paces.mu.Lock()
	defer s.paces.mu.Unlock()
	s.pace.busy--
	s.pace.held = time.Since(s.begun)
	s.pace.offer()
	s.paces.forget(s.webhook, s.pace)
}

// offer wakes a post that waits for a slot.
func (one *pace) offer() {
	if one.waits > 0 {
		select {
		case one.free <- struct{}{}:
		default:
		}
	}
}

// forget drops the state of a server that works and has nothing to do. The caller holds p.mu.
func (p *paces) forget(webhook int64, one *pace) {
	if one.busy == 0 && one.waits == 0 && one.failures == 0 && one.turn.Before(time.Now()) {
		delete(p.of, webhook)
	}
}
