package memqueue_test

import (
	"context"
	"log/slog"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"punctual/delayjob"
	"punctual/delayjob/memqueue"
	"punctual/delayjob/queuetest"
)

// A fakeClock changes only in advance.
type fakeClock struct {
	mu sync.Mutex
	t  time.Time
}

func newFakeClock() *fakeClock {
	return &fakeClock{t: time.Date(2026, 3, 29, 0, 59, 59, 123000000, time.UTC)}
}

func (c *fakeClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *fakeClock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

func TestQueue(t *testing.T) {
	queuetest.Run(t, func(t *testing.T) queuetest.Harness {
		clock := newFakeClock()
		return queuetest.Harness{Queue: memqueue.New(memqueue.WithClock(clock.now)), Advance: clock.advance}
	})
}

func TestQueue_journal(t *testing.T) {
	queuetest.Run(t, func(t *testing.T) queuetest.Harness {
		journal, err := memqueue.OpenJournal(filepath.Join(t.TempDir(), "held"), slog.New(slog.NewTextHandler(t.Output(), nil)))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = journal.Close() })
		clock := newFakeClock()
		return queuetest.Harness{Queue: memqueue.New(memqueue.WithClock(clock.now), memqueue.WithJournal(journal)), Advance: clock.advance}
	})
}

// A bubble's clock, timers and goroutines work: nothing here needs real time.
func TestWake_inBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := memqueue.New()
		defer q.Close()
		ctx, cancel := context.WithCancel(t.Context())
		hints, err := q.Wake(ctx)
		if err != nil {
			t.Fatal(err)
		}
		due := time.Now().Add(time.Hour)
		go func() {
			time.Sleep(time.Minute)
			q.Add(ctx, delayjob.Message{Job: "job", Key: "1", Due: due})
		}()
		if h := <-hints; !h.Due.Equal(due) || time.Until(due) != 59*time.Minute {
			t.Errorf("hint %v at %v, want %v a minute after the start", h.Due, time.Now(), due)
		}
		time.Sleep(time.Until(due))
		c, err := q.Claim(ctx, 0, []delayjob.Want{{Job: "job", Limit: 1, Lease: time.Second}})
		if err != nil || len(c.Messages) != 1 || !c.Now.Equal(due) {
			t.Errorf("claimed %v at %v, %v", c.Messages, c.Now, err)
		}
		cancel()
		synctest.Wait()
		if _, ok := <-hints; ok {
			t.Error("the channel is open after its context ended")
		}
	})
}

// After a burst, neither the heaps nor the map keep their size.
func TestQueue_shrinks(t *testing.T) {
	q := memqueue.New()
	before := heapInUse()
	drain(t, q, fill(t, q, 100_000, time.Now().Add(-time.Second)))
	if after := heapInUse(); after > before+1<<20 {
		t.Errorf("%d bytes are in use after a burst, %d before it", after, before)
	}
	runtime.KeepAlive(q)
}

func BenchmarkAdd(b *testing.B) {
	ctx, q := b.Context(), memqueue.New()
	batch := make([]delayjob.Message, 500)
	due := time.Now().Add(time.Hour)
	body := make([]byte, 100)
	for i := 0; i < b.N; i += len(batch) {
		for j := range batch {
			batch[j] = delayjob.Message{Job: "meeting.start", Key: strconv.Itoa(i + j), Version: 1, Due: due.Add(time.Duration((i+j)*7919%60000) * time.Millisecond), Body: body}
		}
		if _, err := q.Add(ctx, batch...); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "msg/s")
}

func BenchmarkClaimAck(b *testing.B) {
	for _, batch := range []int{1, 200, 500} {
		b.Run(strconv.Itoa(batch), func(b *testing.B) {
			q := memqueue.New()
			n := fill(b, q, b.N, time.Now().Add(-time.Second))
			b.ResetTimer()
			drainIn(b, q, n, batch)
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "msg/s")
		})
	}
}

// BenchmarkBurst claims a hundred thousand messages that are due at the same time.
func BenchmarkBurst(b *testing.B) {
	for range b.N {
		b.StopTimer()
		q := memqueue.New()
		n := fill(b, q, 100_000, time.Now().Add(-time.Second))
		runtime.GC()
		b.StartTimer()
		drain(b, q, n)
	}
}

// BenchmarkMemory measures the memory of a waiting message with a body of 100 bytes.
func BenchmarkMemory(b *testing.B) {
	const n = 1_000_000
	for range b.N {
		before := heapInUse()
		q := memqueue.New()
		fill(b, q, n, time.Now().Add(time.Hour))
		b.ReportMetric(float64(heapInUse()-before)/n, "bytes/msg")
		runtime.KeepAlive(q)
	}
}

func fill(t testing.TB, q *memqueue.Queue, n int, due time.Time) int {
	body := make([]byte, 100)
	for i := range n {
		m := delayjob.Message{Job: "meeting.start", Key: strconv.Itoa(100_000 + i), Version: 1, Due: due, Body: body}
		if _, err := q.Add(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

func drain(t testing.TB, q *memqueue.Queue, n int) { drainIn(t, q, n, 500) }

func drainIn(t testing.TB, q *memqueue.Queue, n, batch int) {
	want := []delayjob.Want{{Job: "meeting.start", Limit: batch, Lease: time.Minute}}
	ls := make([]delayjob.Lease, 0, batch)
	for n > 0 {
		c, err := q.Claim(t.Context(), 0, want)
		if err != nil || len(c.Messages) == 0 {
			t.Fatalf("claimed nothing, %d to go: %v", n, err)
		}
		n -= len(c.Messages)
		ls = ls[:0]
		for i := range c.Messages {
			ls = append(ls, c.Messages[i].Lease)
		}
		if errs := q.Ack(t.Context(), ls...); errs != nil {
			t.Fatal(errs)
		}
	}
}

func heapInUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
