package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/redis/go-redis/v9"

	"punctual/account"
	"punctual/account/redislimit"
	"punctual/delayjob"
	"punctual/delayjob/memqueue"
	"punctual/delayjob/redisqueue"
)

// queue is what both implementations offer.
type queue interface {
	delayjob.Queue
	delayjob.Inspector
}

// openQueue returns the queue and, unless it lives in memory, the connections to Redis under
// it, which are the caller's to close.
func openQueue(ctx context.Context, c QueueConfig, log *slog.Logger, opts ...redisqueue.Option) (queue, redis.UniversalClient, error) {
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

// redisLog puts what the Redis client has to say, which is much during an outage, behind the
// engine's own lines.
type redisLog struct{ log *slog.Logger }

func (l redisLog) Printf(ctx context.Context, format string, args ...any) {
	if l.log.Enabled(ctx, slog.LevelDebug) {
		l.log.DebugContext(ctx, "redis client", "text", fmt.Sprintf(format, args...))
	}
}

// limiter counts failed sign-ins, or requests; its rate may change.
type limiter interface {
	account.Limiter
	SetRate(account.Rate)
}

// newLimiter counts where all processes see it, if they share a Redis.
func newLimiter(client redis.UniversalClient, c *Config) limiter {
	if client == nil {
		return account.NewMemoryLimiter(account.Rate(c.Auth.LoginRate))
	}
	return redislimit.New(client, c.Queue.Prefix+":", account.Rate(c.Auth.LoginRate))
}

// newTopicsLimiter counts the requests of tokens about topics, where newLimiter counts sign-ins.
func newTopicsLimiter(client redis.UniversalClient, c *Config) limiter {
	if client == nil {
		return account.NewMemoryLimiter(account.Rate(c.Topics.Rate))
	}
	return redislimit.New(client, c.Queue.Prefix+":topics:", account.Rate(c.Topics.Rate))
}

// options of the strategies, as the configuration overrides them.
func (c QueueConfig) options() map[string]delayjob.Options {
	m := map[string]delayjob.Options{}
	for name, j := range c.Jobs {
		m[name] = delayjob.Options{Concurrency: j.Concurrency, Batch: j.Batch, Lease: j.Lease, MaxAttempts: j.MaxAttempts, Rate: j.Rate}
	}
	return m
}
