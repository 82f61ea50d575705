package account

import (
	"context"
	"sync"
	"time"
)

// Limiter counts failed attempts per key. Safe for concurrent use.
type Limiter interface {
	// Allow charges one attempt to key. If none is left, it charges nothing and returns after
	// which time the next is possible.
	Allow(ctx context.Context, key string) (ok bool, retryAfter time.Duration)
	// Forgive returns the charge of an attempt that succeeded. Charging first and returning later
	// keeps concurrent attempts from slipping through between a check and its charge.
	Forgive(ctx context.Context, key string)
}

// Rate allows Count attempts at once and then Count more per Per, evenly spread. A Rate that is
// not positive allows everything.
type Rate struct {
	Count int
	Per   time.Duration
}

// Interval returns after which time one more attempt is allowed.
func (r Rate) Interval() time.Duration {
	if r.Count <= 0 || r.Per <= 0 {
		return 0
	}
	return max(1, r.Per/time.Duration(r.Count))
}

// MemoryLimiter is a [Limiter] for this process. It drops keys that have all their attempts again,
// so its size follows the number of failures within one Per.
//
// It implements the generic cell rate algorithm: per key it stores the instant at which all
// attempts are available again.
type MemoryLimiter struct {
	now func() time.Time

	mu      sync.Mutex
	rate    Rate
	full    map[string]time.Time // instant at which the key has all attempts again
	sweepAt int                  // size at which idle keys are dropped
}

const firstSweep = 1024

func NewMemoryLimiter(r Rate) *MemoryLimiter {
	return &MemoryLimiter{now: time.Now, rate: r, full: map[string]time.Time{}, sweepAt: firstSweep}
}

// SetRate changes the rate. Existing charges remain.
func (l *MemoryLimiter) SetRate(r Rate) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rate = r
}

// Allow implements [Limiter].
func (l *MemoryLimiter) Allow(ctx context.Context, key string) (ok bool, retryAfter time.Duration) {
	return l.AllowN(ctx, key, 1)
}

// AllowN charges n attempts to key, or none if fewer are left.
func (l *MemoryLimiter) AllowN(_ context.Context, key string, n int) (ok bool, retryAfter time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	interval := l.rate.Interval()
	if interval == 0 {
		return true, 0
	}
	now := l.now()
	full := l.full[key]
	if full.Before(now) {
		full = now
	}
	if limit := now.Add(interval * time.Duration(l.rate.Count)); full.After(limit) { // charged at a slower rate
		full = limit
		l.full[key] = full
	}
	full = full.Add(interval * time.Duration(n))
	if wait := full.Sub(now) - interval*time.Duration(l.rate.Count); wait > 0 {
		return false, wait
	}
	l.full[key] = full
	l.sweep(now)
	return true, 0
}

// Forgive implements [Limiter].
func (l *MemoryLimiter) Forgive(_ context.Context, key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if full, ok := l.full[key]; ok {
		l.full[key] = full.Add(-l.rate.Interval())
	}
	l.sweep(l.now())
}

// sweep drops idle keys each time the map has doubled, which keeps the cost per attempt constant.
func (l *MemoryLimiter) sweep(now time.Time) {
	if len(l.full) < l.sweepAt {
		return
	}
	for key, full := range l.full {
		if !full.After(now) {
			delete(l.full, key)
		}
	}
	l.sweepAt = max(firstSweep, 2*len(l.full))
}
