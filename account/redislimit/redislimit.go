// Package redislimit counts attempts and concurrent operations in Redis, so that several processes
// share the counts.
package redislimit

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-redis/redis_rate/v10"
	"github.com/redis/go-redis/v9"

	"punctual/account"
)

const (
	defaultPatience = 250 * time.Millisecond
	pause           = time.Second // before the next command after a Redis that did not answer
)

// Limiter is an [account.Limiter] on Redis. While Redis does not answer it counts in memory: users
// can still sign in, and attempts remain limited per process.
type Limiter struct {
	Patience time.Duration // time limit of a Redis command; New sets 250 ms

	redis    *redis_rate.Limiter
	prefix   string
	fallback *account.MemoryLimiter

	silent silence

	mu   sync.RWMutex
	rate account.Rate
}

var _ account.Limiter = (*Limiter)(nil)

// New returns a Limiter whose keys begin with "rate:" and prefix. The caller keeps ownership of
// the client, which should respect the deadlines of contexts.
func New(client redis.UniversalClient, prefix string, r account.Rate) *Limiter {
	return &Limiter{
		Patience: defaultPatience, redis: redis_rate.NewLimiter(client), prefix: prefix,
		fallback: account.NewMemoryLimiter(r), rate: r,
	}
}

// SetRate changes the rate. Existing charges remain.
func (l *Limiter) SetRate(r account.Rate) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rate = r
	l.fallback.SetRate(r)
}

func (l *Limiter) limit() (redis_rate.Limit, bool) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return redis_rate.Limit{Rate: l.rate.Count, Burst: l.rate.Count, Period: l.rate.Per}, l.rate.Interval() > 0
}

// Allow implements [account.Limiter].
func (l *Limiter) Allow(ctx context.Context, key string) (ok bool, retryAfter time.Duration) {
	return l.AllowN(ctx, key, 1)
}

// AllowN charges n attempts to key, or none if fewer are left.
func (l *Limiter) AllowN(ctx context.Context, key string, n int) (ok bool, retryAfter time.Duration) {
	limit, limited := l.limit()
	if !limited {
		return true, 0
	}
	if l.silent.now() {
		return l.fallback.AllowN(ctx, key, n)
	}
	redisCtx, cancel := context.WithTimeout(ctx, l.Patience)
	defer cancel()
	res, err := l.redis.AllowN(redisCtx, l.prefix+key, limit, n)
	if err != nil {
		if ctx.Err() == nil { // the caller did not cancel
			l.silent.begin()
		}
		return l.fallback.AllowN(ctx, key, n)
	}
	return res.Allowed > 0, max(0, res.RetryAfter)
}

// Forgive implements [account.Limiter].
func (l *Limiter) Forgive(ctx context.Context, key string) {
	limit, limited := l.limit()
	if !limited {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.Patience) // return the charge even if the caller is gone
	defer cancel()
	l.fallback.Forgive(ctx, key)
	if l.silent.now() {
		return
	}
	// The script accepts a negative cost as a refund but does not store a count of zero, so delete
	// the key then.
	res, err := l.redis.AllowN(ctx, l.prefix+key, limit, -1)
	if err != nil {
		l.silent.begin()
		return
	}
	if res.ResetAfter <= 0 {
		_ = l.redis.Reset(ctx, l.prefix+key) // at worst one success stays counted
	}
}

// silence is the time during which Redis is not called because it did not answer. The zero value
// is ready.
type silence struct{ until atomic.Int64 }

func (s *silence) now() bool { return time.Now().UnixNano() < s.until.Load() }

func (s *silence) begin() { s.until.Store(time.Now().Add(pause).UnixNano()) }
