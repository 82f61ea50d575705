package bench

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"punctual/delayjob"
	"punctual/delayjob/memqueue"
	"punctual/delayjob/redisqueue"
	"punctual/tests/testenv"
)

// noop takes messages and notes how late each came.
type noop struct {
	late []time.Duration // by arrival; room is made before the run
	n    atomic.Int64
	want int64
	done chan struct{}
}

func newNoop(n int) *noop {
	return &noop{late: make([]time.Duration, n), want: int64(n), done: make(chan struct{})}
}

func (*noop) Name() string { return "bench" }

func (*noop) Load(context.Context, delayjob.Window) iter.Seq2[delayjob.Message, error] {
	return func(func(delayjob.Message, error) bool) {}
}

func (j *noop) Execute(_ context.Context, m delayjob.Message) error {
	_, err := j.ExecuteBatch(context.Background(), []delayjob.Message{m})
	return err
}

func (j *noop) ExecuteBatch(_ context.Context, ms []delayjob.Message) ([]error, error) {
	now := time.Now()
	for _, m := range ms {
		i := j.n.Add(1)
		if i <= j.want {
			j.late[i-1] = now.Sub(m.Due)
		}
		if i == j.want {
			close(j.done)
		}
	}
	return nil, nil
}

// queues opens one queue of each kind for a benchmark.
func queues(b *testing.B, run func(b *testing.B, open func() delayjob.Queue, server redis.UniversalClient)) {
	b.Run("memory", func(b *testing.B) {
		q := memqueue.New()
		run(b, func() delayjob.Queue { return q }, nil)
	})
	b.Run("redis", func(b *testing.B) {
		url := testenv.RedisServer(b).URL()
		o, err := redis.ParseURL(url)
		if err != nil {
			b.Fatal(err)
		}
		c := redis.NewClient(o)
		b.Cleanup(func() { c.Close() })
		run(b, func() delayjob.Queue {
			q, err := redisqueue.Open(b.Context(), url)
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { q.Close() })
			return q
		}, c)
	})
}

func consume(b *testing.B, q delayjob.Queue, j delayjob.DelayJob) (stop func()) {
	ctx, cancel := context.WithCancel(b.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := delayjob.NewConsumer(q, []delayjob.DelayJob{j}, delayjob.ConsumerOptions{}).Run(ctx); err != nil {
			b.Error(err)
		}
	})
	return func() { cancel(); wg.Wait() }
}

func messages(n int, due func(i int) time.Time) []delayjob.Message {
	body := []byte(strings.Repeat("x", 100))
	ms := make([]delayjob.Message, n)
	for i := range ms {
		ms[i] = delayjob.Message{Job: "bench", Key: strconv.Itoa(i), Version: 1, Due: due(i), Body: body}
	}
	return ms
}

func add(b *testing.B, q delayjob.Queue, ms []delayjob.Message) {
	for chunk := range slices.Chunk(ms, 1000) {
		if _, err := q.Add(b.Context(), chunk...); err != nil {
			b.Fatal(err)
		}
	}
}

// report tells the spread of how late things came.
func report(b *testing.B, prefix string, late []time.Duration) {
	late = slices.Sorted(slices.Values(late))
	ms := func(q float64) float64 { return float64(late[int(q*float64(len(late)-1))].Microseconds()) / 1000 }
	b.ReportMetric(ms(0.5), prefix+"p50-ms")
	b.ReportMetric(ms(0.99), prefix+"p99-ms")
	b.ReportMetric(ms(1), prefix+"max-ms")
	b.ReportMetric(ms(0), prefix+"min-ms")
	if late[0] < 0 {
		b.Errorf("ran %v early", -late[0])
	}
}

// BenchmarkLateness runs 5,000 no-op jobs at random microseconds over 25 s, half of them added in
// advance and half by another process's queue 20 ms before they are due. Floor: Go timers set
// for 1,000 such instants in the same process, alone.
func BenchmarkLateness(b *testing.B) {
	b.Run("floor", func(b *testing.B) {
		for range b.N {
			late := make([]time.Duration, 1000)
			for i := range late {
				due := time.Now().Add(time.Duration(rand.Int64N(int64(10 * time.Millisecond))))
				<-time.NewTimer(time.Until(due)).C
				late[i] = time.Since(due)
			}
			report(b, "", late)
		}
		b.ReportMetric(0, "ns/op")
	})
	queues(b, func(b *testing.B, open func() delayjob.Queue, _ redis.UniversalClient) {
		for range b.N {
			const n, span = 5000, 25 * time.Second
			consumer, other := open(), open()
			j := newNoop(n)
			stop := consume(b, consumer, j)
			start := time.Now().Add(500 * time.Millisecond)
			ms := messages(n, func(int) time.Time { return start.Add(time.Duration(rand.Int64N(int64(span)))) })
			add(b, other, ms[:n/2])
			late := slices.SortedFunc(slices.Values(ms[n/2:]), func(x, y delayjob.Message) int { return x.Due.Compare(y.Due) })
			for _, m := range late {
				time.Sleep(time.Until(m.Due.Add(-20 * time.Millisecond)))
				add(b, other, []delayjob.Message{m})
			}
			<-j.done
			stop()
			report(b, "", j.late)
		}
		b.ReportMetric(0, "ns/op")
	})
}

// BenchmarkBurst lets 100,000 no-op messages fall due at one instant; the metric is the time from
// that instant until the last was handled.
func BenchmarkBurst(b *testing.B) {
	queues(b, func(b *testing.B, open func() delayjob.Queue, _ redis.UniversalClient) {
		for range b.N {
			const n = 100_000
			q := open()
			j := newNoop(n)
			due := time.Now().Add(4 * time.Second)
			add(b, q, messages(n, func(int) time.Time { return due }))
			if time.Now().After(due) {
				b.Fatal("adding took longer than the time until they were due")
			}
			stop := consume(b, q, j)
			<-j.done
			b.ReportMetric(time.Since(due).Seconds(), "s/100k")
			stop()
		}
		b.ReportMetric(0, "ns/op")
	})
}

// BenchmarkAdd adds 100,000 messages with bodies of 100 bytes, 1,000 at a time. Floor on Redis:
// ZADD and HSET of the same ids and bodies, 500 a call, pipelined.
func BenchmarkAdd(b *testing.B) {
	const n = 100_000
	queues(b, func(b *testing.B, open func() delayjob.Queue, server redis.UniversalClient) {
		for range b.N {
			q := open()
			far := time.Now().Add(time.Hour)
			ms := messages(n, func(i int) time.Time { return far.Add(time.Duration(i) * time.Millisecond) })
			before := usedMemory(b, server)
			start := time.Now()
			add(b, q, ms)
			took := time.Since(start)
			b.ReportMetric(n/took.Seconds(), "adds/s")
			b.ReportMetric(float64(usedMemory(b, server)-before)/n, "B/message")
			if server == nil {
				continue
			}
			server.FlushAll(b.Context())
			floor := rawAdd(b, server, ms)
			b.ReportMetric(n/floor.Seconds(), "floor-adds/s")
			b.ReportMetric(floor.Seconds()/took.Seconds(), "of-floor")
			server.FlushAll(b.Context())
		}
		b.ReportMetric(0, "ns/op")
	})
}

func rawAdd(b *testing.B, c redis.UniversalClient, ms []delayjob.Message) time.Duration {
	start := time.Now()
	for chunk := range slices.Chunk(ms, 500) {
		zs := make([]redis.Z, len(chunk))
		fields := make([]any, 0, 2*len(chunk))
		for i, m := range chunk {
			zs[i] = redis.Z{Score: float64(m.Due.UnixMilli()), Member: m.ID()}
			fields = append(fields, m.ID(), m.Body)
		}
		_, err := c.Pipelined(b.Context(), func(p redis.Pipeliner) error {
			p.ZAdd(b.Context(), "floor:z", zs...)
			p.HSet(b.Context(), "floor:h", fields...)
			return nil
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	return time.Since(start)
}

// usedMemory of the Redis server, or of this process's heap if there is none.
func usedMemory(b *testing.B, c redis.UniversalClient) int64 {
	if c == nil {
		return heap()
	}
	return infoInt(b, c, "memory", "used_memory")
}

func infoInt(b *testing.B, c redis.UniversalClient, section, field string) int64 {
	info, err := c.Info(b.Context(), section).Result()
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(info) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), field+":"); ok {
			n, err := strconv.ParseInt(v, 10, 64)
			if err != nil {
				b.Fatal(fmt.Errorf("%s: %w", field, err))
			}
			return n
		}
	}
	b.Fatalf("no %s in INFO %s", field, section)
	return 0
}
