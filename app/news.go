package app

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"punctual/delayjob"
	"punctual/meeting"
)

// news carry between processes that share a Redis that something happened of which they would
// otherwise learn a little later: to a meeting, or to a webhook of a topic. They are best effort:
// who waits for them looks by itself from time to time.
type news struct {
	redis redis.UniversalClient
	log   *slog.Logger
	items []*newsItem
}

// A newsItem is one kind of news.
type newsItem struct {
	channel string
	heard   func()        // must not block
	listens bool          // whether this process wants to hear of it
	pending chan struct{} // one slot: there is something to tell
}

func newNews(client redis.UniversalClient, log *slog.Logger) *news {
	return &news{redis: client, log: log}
}

// item adds a kind of news, before run. heard is called for those of other processes, if this
// one listens, and when some may have been missed. It must not block.
func (n *news) item(channel string, listens bool, heard func()) *newsItem {
	i := &newsItem{channel: channel, heard: heard, listens: listens, pending: make(chan struct{}, 1)}
	n.items = append(n.items, i)
	return i
}

// tell the other processes. It never blocks.
func (i *newsItem) tell() {
	select {
	case i.pending <- struct{}{}:
	default:
	}
}

// run passes news on until ctx ends.
func (n *news) run(ctx context.Context) error {
	if n.redis == nil {
		return nil
	}
	var running sync.WaitGroup
	defer running.Wait()
	for _, i := range n.items {
		running.Go(func() { n.pass(ctx, i) })
	}
	heard := map[string]func(){}
	var channels []string
	for _, i := range n.items {
		if i.listens {
			heard[i.channel] = i.heard
			channels = append(channels, i.channel)
		}
	}
	if len(channels) > 0 {
		sub := n.redis.Subscribe(ctx, channels...) // connects again by itself
		running.Go(func() { hear(sub, heard) })
		defer sub.Close()
	}
	<-ctx.Done()
	return nil
}

// newsPing is how often a silent subscription is asked whether it lives.
const newsPing = 30 * time.Second

// hear until the subscription is closed. What was told while it was broken is lost, so that it is
// in force again is news of any kind.
func hear(sub *redis.PubSub, heard map[string]func()) {
	for m := range sub.ChannelWithSubscriptions(redis.WithChannelHealthCheckInterval(newsPing)) {
		var channel string
		switch m := m.(type) {
		case *redis.Message:
			channel = m.Channel
		case *redis.Subscription:
			channel = m.Channel
		}
		if f := heard[channel]; f != nil {
			f()
		}
	}
}

// pass tells of one kind until ctx ends.
func (n *news) pass(ctx context.Context, i *newsItem) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-i.pending:
			if err := n.redis.Publish(ctx, i.channel, "").Err(); err != nil && ctx.Err() == nil {
				n.log.Debug("other processes are told late", "channel", i.channel, "error", err)
			}
		}
		select { // one is enough for what happens at the same moment
		case <-ctx.Done():
			return
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
