package app

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"punctual/delayjob/redisqueue"
	"punctual/tests/testenv"
)

// TestBroadcasts: processes that listen receive what another one sends, also after a broken connection.
func TestBroadcasts(t *testing.T) {
	t.Parallel()
	proxy := testenv.NewProxy(t, testenv.RedisServer(t).Addr())
	process := func() (client redis.UniversalClient, n *broadcasts, heard func(channel string, listens bool) (*broadcast, chan string)) {
		client, err := redisqueue.Dial("redis://" + proxy.Addr())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { client.Close() })
		n = newBroadcasts(client, slog.New(slog.DiscardHandler))
		return client, n, func(channel string, listens bool) (*broadcast, chan string) {
			got := make(chan string, 100)
			return n.add(channel, listens, func() { got <- channel }), got
		}
	}
	run := func(n *broadcasts) {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- n.run(ctx) }()
		t.Cleanup(func() {
			cancel()
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
	_, a, itemA := process()
	_, b, itemB := process()
	meetings, _ := itemA("test:events", false)
	webhooks, _ := itemA("test:webhooks", false)
	_, toldMeetings := itemB("test:events", true)
	_, toldWebhooks := itemB("test:webhooks", false)
	run(a)
	run(b)

	hears := func(why string) {
		t.Helper()
		select {
		case <-toldMeetings:
		case <-time.After(2 * time.Minute):
			t.Fatal("nothing is heard ", why)
		}
	}
	hears("of the subscription")
	meetings.send()
	hears("of what another process tells")
	webhooks.send()
	proxy.Reset()
	hears("of a subscription that was lost and is back")
	select {
	case <-toldWebhooks:
		t.Error("heard what it does not listen to")
	default:
	}
}
