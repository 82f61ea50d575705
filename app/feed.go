package app

import (
	"context"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"

	"punctual/delayjob"
	"punctual/meeting"
)

// feedHints carry the news that something happened to meetings between processes that share a
// Redis. They are best effort: a feed looks by itself once a second.
type feedHints struct {
	redis   redis.UniversalClient
	channel string
	feed    *meeting.Feed
	log     *slog.Logger
	pending chan struct{} // one slot: there is something to tell
}

func newFeedHints(client redis.UniversalClient, prefix string, feed *meeting.Feed, log *slog.Logger) *feedHints {
	return &feedHints{redis: client, channel: prefix + ":events", feed: feed, log: log, pending: make(chan struct{}, 1)}
}

// changed tells this process and the others. It never blocks.
func (h *feedHints) changed() {
	h.feed.Poke()
	select {
	case h.pending <- struct{}{}:
	default:
	}
}

// run passes hints on until ctx ends; listening is for processes that stream events.
func (h *feedHints) run(ctx context.Context, listening bool) error {
	if h.redis == nil {
		return nil
	}
	if listening {
		sub := h.redis.Subscribe(ctx, h.channel) // connects again by itself
		defer sub.Close()
		go func() {
			for range sub.Channel(redis.WithChannelHealthCheckInterval(30 * time.Second)) {
				h.feed.Poke()
			}
		}()
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-h.pending:
			if err := h.redis.Publish(ctx, h.channel, "").Err(); err != nil && ctx.Err() == nil {
				h.log.Debug("events are told late to other processes", "error", err)
			}
		}
		select { // one hint is enough for what happens at the same moment
		case <-ctx.Done():
			return nil
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// tellingScheduler passes on what a change of a meeting schedules, and tells of the change.
type tellingScheduler struct {
	meeting.Scheduler
	changed func()
}

func (s tellingScheduler) Schedule(ctx context.Context, ms ...delayjob.Message) {
	s.changed()
	s.Scheduler.Schedule(ctx, ms...)
}
