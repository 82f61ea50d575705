package delayjob_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"punctual/delayjob"
	"punctual/delayjob/memqueue"
)

// spied counts the calls of a consumer.
type spied struct {
	*memqueue.Queue
	mu      sync.Mutex
	leases  []time.Duration // of claims with messages
	extends [][]delayjob.Lease
}

func (s *spied) Claim(ctx context.Context, shard int, want []delayjob.Want) (delayjob.Claimed, error) {
	c, err := s.Queue.Claim(ctx, shard, want)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range c.Messages {
		s.leases = append(s.leases, m.Lease.Until.Sub(c.Now))
	}
	return c, err
}

func (s *spied) Extend(ctx context.Context, d time.Duration, ls ...delayjob.Lease) []error {
	s.mu.Lock()
	s.extends = append(s.extends, ls)
	s.mu.Unlock()
	return s.Queue.Extend(ctx, d, ls...)
}

func (s *spied) seen() (leases []time.Duration, extends [][]delayjob.Lease) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.leases), slices.Clone(s.extends)
}

// TestLeases_short: a job may allow long leases, but a crashed process hides messages for only two
// and a half seconds.
func TestLeases_short(t *testing.T) {
	for allowed, want := range map[time.Duration]time.Duration{time.Minute: 2500 * time.Millisecond, time.Second: time.Second} {
		synctest.Test(t, func(t *testing.T) {
			q := &spied{Queue: memqueue.New()}
			j := &fakeJob{name: "j", opts: delayjob.Options{Lease: allowed}}
			stop := start(t, q, jobs(j))
			defer stop()
			add(t, q.Queue, msg("j", "1", time.Now()))
			synctest.Wait()
			if leases, _ := q.seen(); !slices.Equal(leases, []time.Duration{want}) {
				t.Errorf("leased for %v, want %v", leases, want)
			}
		})
	}
}

// TestLeases_extended: one call extends the leases of all jobs, and quick handlers cost none.
func TestLeases_extended(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &spied{Queue: memqueue.New()}
		wait := func(d time.Duration) func(context.Context, delayjob.Message) error {
			return func(context.Context, delayjob.Message) error { time.Sleep(d); return nil }
		}
		quick := &fakeJob{name: "quick", do: wait(500 * time.Millisecond), opts: delayjob.Options{Concurrency: 50}}
		slow := &fakeJob{name: "slow", do: wait(6 * time.Second), opts: delayjob.Options{Concurrency: 3}}
		other := &fakeJob{name: "other", do: wait(6 * time.Second), opts: delayjob.Options{Concurrency: 2}}
		stop := start(t, q, jobs(quick, slow, other))
		defer stop()
		for i := range 50 {
			add(t, q.Queue, msg("quick", fmt.Sprint(i), time.Now()))
		}
		time.Sleep(10 * time.Second)
		if _, extends := q.seen(); len(extends) != 0 {
			t.Fatalf("%d calls for what was done after half a second", len(extends))
		}
		for i := range 3 {
			add(t, q.Queue, msg("slow", fmt.Sprint(i), time.Now()))
		}
		for i := range 2 {
			add(t, q.Queue, msg("other", fmt.Sprint(i), time.Now()))
		}
		time.Sleep(time.Minute)
		_, extends := q.seen()
		if n := len(extends); n < 4 || n > 8 {
			t.Errorf("%d calls in 6 seconds, want one for each third of a lease", n)
		}
		for _, ls := range extends {
			if len(ls) != 5 {
				t.Errorf("a call extended %d leases, want all 5", len(ls))
			}
		}
		if n := len(slow.ran()) + len(other.ran()); n != 5 {
			t.Errorf("%d runs, want 5", n)
		}
	})
}

// mortal is a queue as seen by a process that may be killed: after that, none of its calls arrive.
type mortal struct {
	*memqueue.Queue
	dead atomic.Bool
}

var errKilled = fmt.Errorf("killed")

func (m *mortal) Claim(ctx context.Context, shard int, want []delayjob.Want) (delayjob.Claimed, error) {
	if m.dead.Load() {
		return delayjob.Claimed{}, errKilled
	}
	return m.Queue.Claim(ctx, shard, want)
}

func (m *mortal) Ack(ctx context.Context, ls ...delayjob.Lease) []error {
	return m.say(len(ls), func() []error { return m.Queue.Ack(ctx, ls...) })
}

func (m *mortal) Nack(ctx context.Context, rs ...delayjob.Return) []error {
	return m.say(len(rs), func() []error { return m.Queue.Nack(ctx, rs...) })
}

func (m *mortal) Extend(ctx context.Context, d time.Duration, ls ...delayjob.Lease) []error {
	return m.say(len(ls), func() []error { return m.Queue.Extend(ctx, d, ls...) })
}

func (m *mortal) say(n int, call func() []error) []error {
	if !m.dead.Load() {
		return call()
	}
	errs := make([]error, n)
	for i := range errs {
		errs[i] = errKilled
	}
	return errs
}

// TestSuspects: a message that kills every process dies after a bounded number of crashes. Messages
// held along with it, in its batch or by another job, lose no attempt.
func TestSuspects(t *testing.T) {
	for _, poisonFirst := range []bool{true, false} {
		t.Run(fmt.Sprint("poison first ", poisonFirst), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { poisoned(t, poisonFirst) })
		})
	}
}

func poisoned(t *testing.T, poisonFirst bool) {
	const others, attempts, free = 60, 3, 2
	q := memqueue.New()
	var s sink
	var ends []func()
	var ran sync.Map // attempts of runs, by key
	var deaths atomic.Int64
	over := make(chan struct{})

	var boot func()
	boot = func() {
		m := &mortal{Queue: q}
		killed := make(chan struct{})
		var once sync.Once
		kill := func() {
			once.Do(func() { m.dead.Store(true); close(killed) })
		}
		execute := func(_ context.Context, msg delayjob.Message) error {
			if msg.Key == "poison" {
				kill()
			}
			if m.dead.Load() {
				<-over // killed
				return errKilled
			}
			ran.Store(msg.Job+msg.Key, msg.Attempt)
			return nil
		}
		batch := &batchJob{fakeJob: fakeJob{name: "batch", opts: delayjob.Options{Batch: 20, Concurrency: 2, MaxAttempts: attempts}}}
		batch.doBatch = func(ms []delayjob.Message) ([]error, error) {
			for _, msg := range ms {
				if err := execute(t.Context(), msg); err != nil {
					return nil, err
				}
			}
			return nil, nil
		}
		slow := &fakeJob{name: "slow", opts: delayjob.Options{Concurrency: 4, MaxAttempts: attempts}}
		slow.do = func(ctx context.Context, msg delayjob.Message) error {
			time.Sleep(time.Second)
			return execute(ctx, msg)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ends = append(ends, cancel)
		c := delayjob.NewConsumer(m, jobs(batch, slow), delayjob.ConsumerOptions{Failures: &s})
		go func() { _ = c.Run(ctx) }()
		go func() {
			select {
			case <-killed:
				deaths.Add(1)
				cancel()
				time.Sleep(100 * time.Millisecond)
				boot() // as a supervisor does
			case <-ctx.Done():
			}
		}()
	}

	due := time.Now().Add(time.Second)
	poisonDue := due.Add(time.Millisecond)
	if poisonFirst {
		poisonDue = due.Add(-time.Millisecond)
	}
	for i := range others {
		add(t, q, msg("batch", fmt.Sprint(i), due))
	}
	for i := range 5 {
		add(t, q, msg("slow", fmt.Sprint(i), due))
	}
	add(t, q, msg("batch", "poison", poisonDue))
	boot()
	time.Sleep(5 * time.Minute)
	synctest.Wait()
	for _, end := range ends {
		end()
	}
	close(over)
	time.Sleep(time.Minute)

	if len(s.dead) != 1 || s.dead[0].Key != "poison" || deaths.Load() != attempts+free {
		t.Errorf("%d processes died, then %d dead letters: %v; want %d and the poison", deaths.Load(), len(s.dead), s.dead, attempts+free)
	}
	runs := 0
	ran.Range(func(key, attempt any) bool {
		if runs++; attempt != 1 {
			t.Errorf("%s was run as attempt %d", key, attempt)
		}
		return true
	})
	if runs != others+5 {
		t.Errorf("%d other messages were run, want %d", runs, others+5)
	}
}

// start runs a consumer until the returned function is called.
func start(t *testing.T, q delayjob.Queue, js []delayjob.DelayJob) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	c := delayjob.NewConsumer(q, js, delayjob.ConsumerOptions{})
	go func() {
		defer close(done)
		_ = c.Run(ctx)
	}()
	synctest.Wait()
	return func() { cancel(); <-done }
}
