package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"

	"punctual/account"
	"punctual/account/redislimit"
	"punctual/app/config"
	"punctual/delayjob"
	"punctual/delayjob/memqueue"
	"punctual/delayjob/redisqueue"
)

// Queue lists the methods of both implementations.
type Queue interface {
	delayjob.Queue
	delayjob.Inspector
}

// OpenQueue returns the queue and the Redis connections that it uses; there are none for the
// in-memory queue. The caller must close them.
func OpenQueue(ctx context.Context, c config.Queue, log *slog.Logger, opts ...redisqueue.Option) (Queue, redis.UniversalClient, error) {
	if c.URL == "memory:" {
		return memqueue.New(), nil, nil
	}
	redis.SetLogger(redisLog{log})
	client, err := redisqueue.Dial(c.URL)
	if err != nil {
		return nil, nil, fmt.Errorf("queue.url: %w", err)
	}
	opts = append(opts, redisqueue.WithPrefix(c.Prefix), redisqueue.WithShards(c.Shards), redisqueue.WithLogger(log))
	q, err := redisqueue.New(ctx, client, opts...)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("queue.url: %w", err), client.Close())
	}
	return q, client, nil
}

// redisLog logs the Redis client's messages at debug level. During an outage there are many, and
// the engine logs its own.
type redisLog struct{ log *slog.Logger }

func (l redisLog) Printf(ctx context.Context, format string, args ...any) {
	if l.log.Enabled(ctx, slog.LevelDebug) {
		l.log.DebugContext(ctx, "redis client", "text", fmt.Sprintf(format, args...))
	}
}

type limiter interface {
	account.Limiter
	AllowN(ctx context.Context, key string, n int) (ok bool, retryAfter time.Duration)
	SetRate(account.Rate)
}

// newLimiter counts in Redis if processes share one, so that all of them see the counts. Prefix
// separates its keys from those of other limiters.
func (a *Application) newLimiter(prefix string, rate account.Rate) limiter {
	if a.redis == nil {
		return account.NewMemoryLimiter(rate)
	}
	return redislimit.New(a.redis, a.config.Queue.Prefix+":"+prefix, rate)
}

func wide(login config.Rate) account.Rate {
	return account.Rate{Count: account.WideFactor * login.Count, Per: login.Per}
}
