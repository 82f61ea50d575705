package app

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"punctual/app/database/transaction"
	"punctual/delayjob"
	"punctual/meeting/booking"
)

// broadcasts notify the other processes on the same Redis that something changed, such as a meeting
// or a webhook of a topic. They are best effort: each receiver also polls.
type broadcasts struct {
	redis redis.UniversalClient
	log   *slog.Logger
	all   []*broadcast
}

type broadcast struct {
	channel  string
	received func()        // must not block
	listens  bool          // whether this process receives it
	pending  chan struct{} // one slot: there is something to send
}

func newBroadcasts(client redis.UniversalClient, log *slog.Logger) *broadcasts {
	return &broadcasts{redis: client, log: log}
}

// add adds a broadcast, before run. If this process listens, received is called when another
// process sent one, and when one may have been missed. It must not block.
func (n *broadcasts) add(channel string, listens bool, received func()) *broadcast {
	i := &broadcast{channel: channel, received: received, listens: listens, pending: make(chan struct{}, 1)}
	n.all = append(n.all, i)
	return i
}

func (i *broadcast) send() {
	select {
	case i.pending <- struct{}{}:
	default:
	}
}

func (n *broadcasts) run(ctx context.Context) error {
	if n.redis == nil {
		return nil
	}
	var running sync.WaitGroup
	defer running.Wait()
	for _, i := range n.all {
		running.Go(func() { n.publish(ctx, i) })
	}
	received := map[string]func(){}
	var channels []string
	for _, i := range n.all {
		if i.listens {
			received[i.channel] = i.received
			channels = append(channels, i.channel)
		}
	}
	if len(channels) > 0 {
		sub := n.redis.Subscribe(ctx, channels...) // reconnects by itself
		running.Go(func() { receive(sub, received) })
		defer sub.Close()
	}
	<-ctx.Done()
	return nil
}

const broadcastPing = 30 * time.Second

// receive runs until the subscription is closed. Broadcasts are lost while it is broken, so a
// renewed subscription counts as one broadcast of every kind.
func receive(sub *redis.PubSub, received map[string]func()) {
	for m := range sub.ChannelWithSubscriptions(redis.WithChannelHealthCheckInterval(broadcastPing)) {
		var channel string
		switch m := m.(type) {
		case *redis.Message:
			channel = m.Channel
		case *redis.Subscription:
			channel = m.Channel
		}
		if f := received[channel]; f != nil {
			f()
		}
	}
}

func (n *broadcasts) publish(ctx context.Context, i *broadcast) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-i.pending:
			if err := n.redis.Publish(ctx, i.channel, "").Err(); err != nil && ctx.Err() == nil {
				n.log.Debug("notifying other processes failed, they poll", "channel", i.channel, "error", err)
			}
		}
		select { // changes at the same moment share one
		case <-ctx.Done():
			return
		case <-time.After(5 * time.Millisecond):
		}
	}
}

type notifyingScheduler struct {
	booking.Scheduler
	changed func()
}

// Schedule implements [booking.Scheduler]. Within a larger transaction it waits for its end.
func (s notifyingScheduler) Schedule(ctx context.Context, ms ...delayjob.Message) {
	transaction.AfterCommit(ctx, func() {
		s.changed()
		s.Scheduler.Schedule(ctx, ms...)
	})
}

// Forget implements [booking.Scheduler]. Within a larger transaction it waits for its end.
func (s notifyingScheduler) Forget(ctx context.Context, ids ...string) {
	transaction.AfterCommit(ctx, func() { s.Scheduler.Forget(ctx, ids...) })
}
