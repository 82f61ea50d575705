package account

import (
	"context"
	"errors"
	"sync"
)

// attempts follows the attempts of this process that are charged and not decided yet. Others that
// find nothing left wait for them: right ones give their charge back.
type attempts struct {
	mu sync.Mutex
	of map[string]*pending
}

type pending struct {
	running int
	changed chan struct{} // closed when a charge was given back, or nothing runs
}

func newAttempts() *attempts { return &attempts{of: map[string]*pending{}} }

// begin notes an attempt that is charged to the keys. The caller says at its end whether the
// charges were given back.
func (a *attempts) begin(charges []charge) (end func(givenBack bool)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range charges {
		p := a.of[c.key]
		if p == nil {
			p = &pending{changed: make(chan struct{})}
			a.of[c.key] = p
		}
		p.running++
	}
	return func(givenBack bool) {
		a.mu.Lock()
		defer a.mu.Unlock()
		for _, c := range charges {
			p := a.of[c.key]
			p.running--
			if p.running == 0 {
				delete(a.of, c.key)
			}
			if p.running == 0 || givenBack {
				close(p.changed)
				p.changed = make(chan struct{})
			}
		}
	}
}

// changes of what is charged to key; nil: no attempt runs, so waiting is useless.
func (a *attempts) changes(key string) <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	if p := a.of[key]; p != nil {
		return p.changed
	}
	return nil
}

// limited runs an attempt that must not be repeated without end, charged to all charges. Only
// an attempt that ends with [ErrUnauthorized] or an [*InvalidError] stays charged.
func (a *attempts) limited(ctx context.Context, charges []charge, attempt func() error) error {
	if err := a.charge(ctx, charges); err != nil {
		return err
	}
	end := a.begin(charges)
	err := attempt()
	failed := isFailure(err)
	if !failed {
		forgive(ctx, charges)
	}
	end(!failed)
	return err
}

func (a *attempts) charge(ctx context.Context, charges []charge) error {
	for i := 0; i < len(charges); i++ {
		c := charges[i]
		changed := a.changes(c.key) // before the limiter is asked, so that no change is missed
		ok, retryAfter := c.limiter.Allow(ctx, c.key)
		if ok {
			continue
		}
		forgive(ctx, charges[:i])
		if changed == nil {
			return &RateLimitError{RetryAfter: retryAfter}
		}
		select {
		case <-changed:
			i = -1
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// isFailure reports whether an attempt failed because what was shown is wrong.
func isFailure(err error) bool {
	_, invalid := errors.AsType[*InvalidError](err)
	return invalid || errors.Is(err, ErrUnauthorized)
}

// A charge is what an attempt counts against.
type charge struct {
	limiter Limiter
	key     string
}

func forgive(ctx context.Context, charges []charge) {
	for _, c := range charges {
		c.limiter.Forgive(ctx, c.key)
	}
}
