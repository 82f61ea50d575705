package bench

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"runtime"
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

// A kind of queue, and what it is to reach.
type kind struct {
	name, title        string
	bytes, burst, adds string
	server             func(b *testing.B) *server
}

var kinds = []kind{
	{"memory", "memory", "<= 300", "<= 0.25 s", ">= 500,000 per s", func(b *testing.B) *server {
		q := memqueue.New()
		return &server{open: func(*testing.B) delayjob.Queue { return q }}
	}},
	{"redis", "Redis", "<= 330", "<= 0.7 s", ">= 200,000 per s", redisServer},
}

// A server is where queues of one kind keep their messages.
type server struct {
	open  func(b *testing.B) delayjob.Queue
	redis *redis.Client // nil: this process
}

func redisServer(b *testing.B) *server {
	url := testenv.RedisServer(b).URL()
	o, err := redis.ParseURL(url)
	if err != nil {
		b.Fatal(err)
	}
	c := redis.NewClient(o)
	b.Cleanup(func() { c.Close() })
	return &server{redis: c, open: func(b *testing.B) delayjob.Queue {
		q, err := redisqueue.Open(b.Context(), url)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { q.Close() })
		return q
	}}
}

// memory that the server uses.
func (s *server) memory(b *testing.B) int64 {
	if s.redis == nil {
		return heap()
	}
	return infoInt(b, s.redis, "memory", "used_memory")
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

// fill adds n messages with bodies of 100 bytes, 1,000 at a time.
func fill(b *testing.B, q delayjob.Queue, prefix string, n int, due func(i int) time.Time) {
	for first := 0; first < n; first += 1000 {
		add(b, q, messages(prefix, first, min(1000, n-first), due))
	}
}

func messages(prefix string, first, n int, due func(i int) time.Time) []delayjob.Message {
	body := []byte(strings.Repeat("x", 100))
	ms := make([]delayjob.Message, n)
	for i := range ms {
		ms[i] = delayjob.Message{Job: "bench", Key: prefix + strconv.Itoa(first+i), Version: 1, Due: due(first + i), Body: body}
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

// spread is how late things came, in ms.
type spread struct{ p50, p99, max, min float64 }

func (s spread) String() string {
	return fmt.Sprintf("p50 %.2f, p99 %.2f, max %.1f ms", s.p50, s.p99, s.max)
}

// report tells the spread of how late things came.
func report(b *testing.B, prefix string, late []time.Duration) spread {
	b.Helper()
	late = slices.Sorted(slices.Values(late))
	ms := func(q float64) float64 { return float64(late[int(q*float64(len(late)-1))].Microseconds()) / 1000 }
	s := spread{ms(0.5), ms(0.99), ms(1), ms(0)}
	b.ReportMetric(s.p50, prefix+"p50-ms")
	b.ReportMetric(s.p99, prefix+"p99-ms")
	b.ReportMetric(s.max, prefix+"max-ms")
	b.ReportMetric(0, "ns/op")
	if late[0] < 0 {
		b.Errorf("ran %v early", -late[0])
	}
	return s
}

// BenchmarkLateness runs 2,000 no-op jobs at random microseconds, 200 a second, half of them
// added in advance and half through another connection, as another process would, 20 ms before
// they are due: with nothing else waiting and with a million. Floor: a Go timer set for such
// instants in the same process, alone.
func BenchmarkLateness(b *testing.B) {
	var floor spread
	b.Run("floor", func(b *testing.B) {
		late := make([]time.Duration, 1000)
		for i := range late {
			due := time.Now().Add(rand.N(10 * time.Millisecond))
			<-time.NewTimer(time.Until(due)).C
			late[i] = time.Since(due)
		}
		floor = report(b, "", late)
	})
	for _, k := range kinds {
		for _, pending := range []int{0, 1_000_000} {
			b.Run(k.name+"/"+strconv.Itoa(pending), func(b *testing.B) {
				s := k.server(b)
				consumer := s.open(b)
				before := s.memory(b)
				fill(b, consumer, "pending", pending, func(i int) time.Time { return time.Now().Add(time.Hour + time.Duration(i)*time.Microsecond) })
				size := float64(s.memory(b)-before) / float64(max(1, pending))
				claims := emptyClaims(b, consumer)
				late := report(b, "", lateness(b, consumer, s.open(b)))
				runtime.KeepAlive(consumer)
				what := fmt.Sprintf("lateness of 2,000 no-op jobs, %s waiting: %s", count(float64(pending)), k.title)
				tell(what, late.String()+", none early", "p50 <= 2, p99 <= 5 ms", "a Go timer: "+floor.String())
				tell(fmt.Sprintf("an empty claim, %s waiting: %s", count(float64(pending)), k.title), claims.String(), "equal with 0 and 1,000,000", "")
				if pending == 0 {
					value("late."+k.name, late.p99)
					return
				}
				b.ReportMetric(size, "B/message")
				value("bytes."+k.name, size)
				tell("size of a waiting message with a body of 100 bytes: "+k.title, fmt.Sprintf("%.0f bytes", size), k.bytes, "")
			})
		}
	}
}

// emptyClaims measures claims while nothing is due.
func emptyClaims(b *testing.B, q delayjob.Queue) spread {
	want := []delayjob.Want{{Job: "bench", Limit: 100, Lease: time.Minute}}
	took := make([]time.Duration, 2000)
	for i := range took {
		begin := time.Now()
		if _, err := q.Claim(b.Context(), i%q.Shards(), want); err != nil {
			b.Fatal(err)
		}
		took[i] = time.Since(begin)
	}
	return report(b, "claim-", took)
}

// lateness runs jobs at random instants and tells how late each came.
func lateness(b *testing.B, q, other delayjob.Queue) []time.Duration {
	const n, span = 2000, 10 * time.Second
	j := newNoop(n)
	stop := consume(b, q, j)
	defer stop()
	start := time.Now().Add(500 * time.Millisecond)
	ms := messages("", 0, n, func(int) time.Time { return start.Add(rand.N(span)) })
	add(b, other, ms[:n/2])
	late := slices.SortedFunc(slices.Values(ms[n/2:]), func(x, y delayjob.Message) int { return x.Due.Compare(y.Due) })
	for _, m := range late {
		time.Sleep(time.Until(m.Due.Add(-20 * time.Millisecond)))
		add(b, other, []delayjob.Message{m})
	}
	<-j.done
	return j.late
}

// BenchmarkBurst lets 100,000 no-op messages fall due at one instant: the time from then until
// the last was handled. Floor: claims of 500 and their acknowledgement one after the other,
// without consumer and handlers.
func BenchmarkBurst(b *testing.B) {
	for _, k := range kinds {
		b.Run(k.name, func(b *testing.B) {
			const n = 100_000
			s := k.server(b)
			q := s.open(b)
			j := newNoop(n)
			due := time.Now().Add(3 * time.Second)
			fill(b, q, "", n, func(int) time.Time { return due })
			if time.Now().After(due) {
				b.Fatal("adding took longer than the time until they were due")
			}
			stop := consume(b, q, j)
			<-j.done
			took := time.Since(due)
			stop()
			fill(b, q, "again", n, func(int) time.Time { return time.Now().Add(-time.Second) })
			floor := drain(b, q, n)
			b.ReportMetric(took.Seconds(), "s/100k")
			b.ReportMetric(floor.Seconds(), "floor-s/100k")
			b.ReportMetric(0, "ns/op")
			value("burst."+k.name, took.Seconds())
			tell("100,000 no-op messages due at one instant: "+k.title, fmt.Sprintf("%.2f s", took.Seconds()), k.burst,
				fmt.Sprintf("bare claims of 500 and acks: %.2f s (%s/s), %.2f times", floor.Seconds(), count(n/floor.Seconds()), took.Seconds()/floor.Seconds()))
		})
	}
}

// drain claims and acknowledges n messages as fast as one caller can.
func drain(b *testing.B, q delayjob.Queue, n int) time.Duration {
	want := []delayjob.Want{{Job: "bench", Limit: 500, Lease: time.Minute}}
	begin := time.Now()
	for shard := 0; n > 0; shard = (shard + 1) % q.Shards() {
		c, err := q.Claim(b.Context(), shard, want)
		if err != nil {
			b.Fatal(err)
		}
		ls := make([]delayjob.Lease, len(c.Messages))
		for i, m := range c.Messages {
			ls[i] = m.Lease
		}
		if errs := q.Ack(b.Context(), ls...); errs != nil {
			b.Fatal(errs)
		}
		n -= len(ls)
	}
	return time.Since(begin)
}

// BenchmarkAdd adds 200,000 messages with bodies of 100 bytes, 1,000 at a time. Floor on Redis:
// ZADD and HSET of the same ids and bodies, 500 a call, pipelined.
func BenchmarkAdd(b *testing.B) {
	for _, k := range kinds {
		b.Run(k.name, func(b *testing.B) {
			const n = 200_000
			s := k.server(b)
			q := s.open(b)
			far := time.Now().Add(time.Hour)
			ms := messages("", 0, n, func(i int) time.Time { return far.Add(time.Duration(i) * time.Millisecond) })
			begin := time.Now()
			add(b, q, ms)
			rate := n / time.Since(begin).Seconds()
			b.ReportMetric(rate, "adds/s")
			b.ReportMetric(0, "ns/op")
			value("add."+k.name, rate/1000)
			floor := ""
			if s.redis != nil {
				s.redis.FlushAll(b.Context())
				raw := n / rawAdd(b, s.redis, ms).Seconds()
				b.ReportMetric(rate/raw, "of-floor")
				floor = fmt.Sprintf("pipelined ZADD and HSET: %s per s; %.2f of it", count(raw), rate/raw)
			}
			tell("messages added, batches of 1,000: "+k.title, count(rate)+" per s", k.adds, floor)
		})
	}
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
