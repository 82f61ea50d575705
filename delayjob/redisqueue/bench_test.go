package redisqueue

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"punctual/delayjob"
	"punctual/tests/testenv"
)

// A waiting message with a body of 100 bytes takes about 330 bytes in all.
func TestMemory(t *testing.T) {
	t.Parallel()
	server := testenv.RedisServer(t)
	q := openQueue(t, server.URL())
	if per := memoryPerMessage(t, server, q, 100_000); per > 400 {
		t.Errorf("%.0f bytes for a waiting message", per)
	} else {
		t.Logf("%.0f bytes for a waiting message", per)
	}
}

func memoryPerMessage(t testing.TB, server *testenv.RedisInstance, q *Queue, n int) float64 {
	before := usedMemory(t, server)
	ms := messages(n, time.Time{})
	base := q.Now().Add(time.Hour)
	for i := range ms {
		ms[i].Due = base.Add(time.Duration(i%60000) * time.Millisecond)
	}
	for len(ms) > 0 {
		part := ms[:min(len(ms), 5000)]
		mustAdd(t, q, part...)
		ms = ms[len(part):]
	}
	return float64(usedMemory(t, server)-before) / float64(n)
}

func usedMemory(t testing.TB, server *testenv.RedisInstance) int {
	for line := range strings.Lines(server.Do(t, "INFO", "memory")) {
		if v, ok := strings.CutPrefix(line, "used_memory:"); ok {
			n, err := strconv.Atoi(strings.TrimSpace(v))
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatal("the server does not tell its memory")
	return 0
}

func BenchmarkMemory(b *testing.B) {
	for range b.N {
		server := testenv.RedisServer(b)
		b.ReportMetric(memoryPerMessage(b, server, openQueue(b, server.URL()), 1_000_000), "bytes/msg")
	}
}

// BenchmarkFloor is the least cost of storing a message: ZADD and HSET of 500 at once.
func BenchmarkFloor(b *testing.B) {
	q := openQueue(b, testenv.Redis(b))
	value := strings.Repeat("x", 118)
	for i := 0; i < b.N; i += 500 {
		members, fields := make([]redis.Z, 500), make([]any, 0, 1000)
		for j := range members {
			id := "meeting.start:" + strconv.Itoa(100_000+i+j)
			members[j] = redis.Z{Score: float64(i + j), Member: id}
			fields = append(fields, id, value)
		}
		pipe := q.single.Pipeline()
		pipe.ZAdd(b.Context(), "w", members...)
		pipe.HSet(b.Context(), "m", fields...)
		if _, err := pipe.Exec(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	perSecond(b)
}

func BenchmarkAdd(b *testing.B) {
	for _, size := range []int{1, 500, 2000} {
		b.Run(strconv.Itoa(size), func(b *testing.B) {
			q := openQueue(b, testenv.Redis(b))
			ms := messages(b.N+size, q.Now().Add(time.Hour))
			b.ResetTimer()
			for i := 0; i < b.N; i += size {
				if _, err := q.Add(b.Context(), ms[i:i+size]...); err != nil {
					b.Fatal(err)
				}
			}
			perSecond(b)
		})
	}
}

// BenchmarkAddAgain adds known messages, which is most of a loader's work.
func BenchmarkAddAgain(b *testing.B) {
	q := openQueue(b, testenv.Redis(b))
	ms := messages(10_000, q.Now().Add(time.Hour))
	mustAdd(b, q, ms...)
	b.ResetTimer()
	for i := 0; i < b.N; i += 500 {
		if _, err := q.Add(b.Context(), ms[i%10_000:i%10_000+500]...); err != nil {
			b.Fatal(err)
		}
	}
	perSecond(b)
}

func BenchmarkClaimAck(b *testing.B) {
	for _, size := range []int{1, 10, 200, 500} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			q := openQueue(b, testenv.Redis(b))
			ms := messages(b.N, q.Now().Add(-time.Second))
			for len(ms) > 0 {
				part := ms[:min(len(ms), 5000)]
				mustAdd(b, q, part...)
				ms = ms[len(part):]
			}
			b.ResetTimer()
			for shard := range q.Shards() {
				for {
					c, err := q.Claim(b.Context(), shard, want(size))
					if err != nil {
						b.Fatal(err)
					}
					if len(c.Messages) == 0 {
						break
					}
					ls := make([]delayjob.Lease, len(c.Messages))
					for i := range ls {
						ls[i] = c.Messages[i].Lease
					}
					if errs := q.Ack(b.Context(), ls...); errs != nil {
						b.Fatal(errs)
					}
				}
			}
			perSecond(b)
		})
	}
}

// BenchmarkClaimEmpty is a safety poll of one shard.
func BenchmarkClaimEmpty(b *testing.B) {
	q := openQueue(b, testenv.Redis(b))
	mustAdd(b, q, messages(10_000, q.Now().Add(time.Hour))...)
	b.ResetTimer()
	for range b.N {
		if _, err := q.Claim(b.Context(), 0, want(200)); err != nil {
			b.Fatal(err)
		}
	}
}

func perSecond(b *testing.B) { b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "msg/s") }
