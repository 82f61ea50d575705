//go:build unix

package delayjob_test

import (
	"context"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"punctual/delayjob"
	"punctual/delayjob/memqueue"
)

// BenchmarkConsumer runs no-op messages that are due at one instant. Look at the allocations and
// the processor time of each: on a busy machine, elapsed time says little.
func BenchmarkConsumer(b *testing.B) {
	q := memqueue.New()
	defer q.Close()
	ms := make([]delayjob.Message, b.N)
	due := time.Now().Add(-time.Second)
	for i := range ms {
		ms[i] = delayjob.Message{Job: "noop", Key: strconv.Itoa(i), Due: due}
	}
	if _, err := q.Add(b.Context(), ms...); err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(b.Context())
	var left atomic.Int64
	left.Store(int64(b.N))
	j := &noop{done: func() {
		if left.Add(-1) == 0 {
			stop()
		}
	}}
	b.ReportAllocs()
	b.ResetTimer()
	begin := cpuTime()
	if err := delayjob.NewConsumer(q, jobs(j), delayjob.ConsumerOptions{}).Run(ctx); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(cpuTime()-begin)/float64(b.N), "cpu-ns/op")
}

type noop struct {
	fakeJob
	done func()
}

func (*noop) Name() string { return "noop" }

func (*noop) Options() delayjob.Options { return delayjob.Options{Batch: 200} }

func (j *noop) Execute(context.Context, delayjob.Message) error {
	j.done()
	return nil
}

// cpuTime returns the processor time that this process has used.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
