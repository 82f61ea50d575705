package app

import (
	"context"
	"log/slog"
	"time"

	"punctual/delayjob/redisqueue"
)

// generations keeps the Redis keys of this process's number of shards alive, and deletes those that
// no process uses.
type generations struct {
	queue  *redisqueue.Queue
	every  time.Duration
	unused time.Duration // keys unused for this long are deleted
	log    *slog.Logger
}

// newGenerations returns nil for a queue that is not on Redis. After two horizons everything that
// an old process added is past due, and a running process would have renewed its record many times.
func newGenerations(q Queue, horizon time.Duration, log *slog.Logger) *generations {
	onRedis, ok := q.(*redisqueue.Queue)
	if !ok {
		return nil
	}
	return &generations{queue: onRedis, every: time.Minute, unused: max(5*time.Minute, 2*horizon), log: log}
}

func (g *generations) run(ctx context.Context) error {
	return every(ctx, g.every, func() {
		deleted, err := g.queue.RenewGeneration(ctx, g.unused)
		if err != nil {
			g.log.Debug("renewing the generation of keys failed", "error", err)
		}
		for _, name := range deleted {
			g.log.Info("deleted Redis keys of an earlier number of shards", "generation", name)
		}
	})
}
