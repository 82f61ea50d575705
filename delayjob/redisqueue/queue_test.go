package redisqueue

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"punctual/delayjob"
	"punctual/delayjob/queuetest"
	"punctual/tests/testenv"
)

func TestQueue(t *testing.T) {
	t.Parallel()
	url := testenv.Redis(t)
	for _, shards := range []int{4, 1} {
		t.Run(fmt.Sprintf("%d shards", shards), func(t *testing.T) {
			t.Parallel()
			queuetest.Run(t, func(t *testing.T) queuetest.Harness { return open(t, url, WithShards(shards)) })
		})
	}
}

func TestQueue_cluster(t *testing.T) {
	t.Parallel()
	url := "redis+cluster://" + strings.Join(testenv.Cluster(t), ",")
	queuetest.Run(t, func(t *testing.T) queuetest.Harness { return open(t, url) })
}

var opened atomic.Int64

// open returns a harness with its own keys and connections. It advances time by the clock offset,
// so that leases can be long and no test depends on a fast machine.
func open(t *testing.T, url string, opts ...Option) queuetest.Harness {
	name := fmt.Sprintf("test%d", opened.Add(1))
	sep := "?"
	if strings.Contains(url, "?") {
		sep = "&"
	}
	q := openQueue(t, url+sep+"client_name="+name, append(opts, WithPrefix(name))...)
	return queuetest.Harness{
		Queue:   q,
		Advance: func(d time.Duration) { q.SetClockOffset(q.clockOffset() + d) },
		Flush:   func() { flush(t, q) },
		Orphan: func(id string) {
			job, key := delayjob.SplitID(id)
			k := q.keys[delayjob.ShardOf(key, len(q.keys))]
			for _, set := range []string{k.waiting(job), k.leased(job), k.dead(job)} {
				if err := q.client().ZRem(t.Context(), set, id).Err(); err != nil {
					t.Fatal(err)
				}
			}
		},
		Disconnect: func() {
			for _, node := range q.masters(t) {
				killPubSub(t, node, name)
			}
		},
	}
}

func openQueue(t testing.TB, url string, opts ...Option) *Queue {
	t.Helper()
	q, err := Open(t.Context(), testenv.Patient(url), opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := q.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return q
}

func (q *Queue) client() redis.UniversalClient { return q.owned }

func (q *Queue) masters(t testing.TB) []*redis.Client {
	if q.cluster == nil {
		return []*redis.Client{q.single}
	}
	found := make(chan *redis.Client, 100)
	if err := q.cluster.ForEachMaster(t.Context(), func(_ context.Context, c *redis.Client) error { found <- c; return nil }); err != nil {
		t.Fatal(err)
	}
	close(found)
	var all []*redis.Client
	for c := range found {
		all = append(all, c)
	}
	return all
}

// flush deletes all keys of a queue.
func flush(t testing.TB, q *Queue) {
	t.Helper()
	for _, k := range q.keys {
		keys, err := q.nodeOf(t, k).Keys(t.Context(), globLiteral(k.tag)+"*").Result()
		if err != nil {
			t.Fatal(err)
		}
		if len(keys) > 0 {
			if err := q.nodeOf(t, k).Del(t.Context(), keys...).Err(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func (q *Queue) nodeOf(t testing.TB, k shardKeys) *redis.Client {
	if q.cluster == nil {
		return q.single
	}
	c, err := q.cluster.MasterForKey(t.Context(), k.c)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

var clientID = regexp.MustCompile(`(?m)^id=(\d+) .* name=(\S*) `)

// killPubSub ends the subscriptions of the clients with a name.
func killPubSub(t testing.TB, node *redis.Client, name string) {
	list, err := node.Do(t.Context(), "client", "list", "type", "pubsub").Text()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range clientID.FindAllStringSubmatch(list, -1) {
		if m[2] == name {
			if err := node.ClientKillByFilter(t.Context(), "id", m[1]).Err(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestMain(m *testing.M) {
	redis.SetLogger(silent{})                            // its messages are also returned as errors
	if server, err := testenv.StartRedis(); err == nil { // for the examples, which have no testing.TB
		os.Setenv("REDIS_URL", server.URL())
	}
	code := m.Run()
	if err := leaks(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// leaks returns which goroutines are left. Those of closed clients may take a while to end on a busy machine.
func leaks() (err error) {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		err = goleak.Find(goleak.IgnoreAnyFunction("punctual/tests/testenv.(*process).wait"),
			// belongs to a pool whose server was dead; it ends within a second
			goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
		if err == nil {
			break
		}
	}
	return err
}

type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}
