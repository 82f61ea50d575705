package account

import (
	"context"
	"errors"
	"sync"
)

// attempts tracks the attempts of this process that are charged but not yet decided. An attempt
// that finds the limit used up waits for them: a successful one returns its charge.
type attempts struct {
	mu sync.Mutex
	of map[string]*pending
}

type pending struct {
	running int
	changed chan struct{} // closed when a charge is returned or no attempt runs
}

func newAttempts() *attempts { return &attempts{of: map[string]*pending{}} }

// begin registers a charged attempt. The caller reports at its end whether the charges were
// returned.
func (a *attempts) begin(charges []charge) (end func(returned bool)) {
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
	return func(returned bool) {
		a.mu.Lock()
		defer a.mu.Unlock()
		for _, c := range charges {
			p := a.of[c.key]
			p.running--
			if p.running == 0 {
				delete(a.of, c.key)
			}
			if p.running == 0 || returned {
				close(p.changed)
				p.changed = make(chan struct{})
			}
		}
	}
}

func (a *attempts) changes(key string) <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	if p := a.of[key]; p != nil {
		return p.changed
	}
	return nil
}

// limited runs attempt, charged to all charges. The charges remain only if it returns
// [ErrUnauthorized] or an [*InvalidError].
func (a *attempts) limited(ctx context.Context, charges []charge, attempt func() error) error {
	if err := a.charge(ctx, charges); err != nil {
		return err
	}
	end := a.begin(charges)
	failed := true // also if attempt panics: others must not wait for it
	defer func() {
		if !failed {
			forgive(ctx, charges)
		}
		end(!failed)
	}()
	err := attempt()
	failed = isFailure(err)
	return err
}

func (a *attempts) charge(ctx context.Context, charges []charge) error {
	for i := 0; i < len(charges); i++ {
		c := charges[i]
		changed := a.changes(c.key) // before Allow, so that no change is missed
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

func isFailure(err error) bool {
	_, invalid := errors.AsType[*InvalidError](err)
	return invalid || errors.Is(err, ErrUnauthorized)
}

type charge struct {
	limiter Limiter
	key     string
}

func forgive(ctx context.Context, charges []charge) {
	for _, c := range charges {
		c.limiter.Forgive(ctx, c.key)
	}
}
