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
	unused time.Duration // for so long nobody may have used what is deleted
	log    *slog.Logger
}

// newGenerations returns nil for a queue that is not on Redis. After two horizons whatever an
// old process had added is past due: if it still ran, it would have said so many times.
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
