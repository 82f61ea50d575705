package delayjob_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"punctual/delayjob"
	"punctual/delayjob/memqueue"
)

// fakeJob calls do for each message and records when it ran.
type fakeJob struct {
	name string
	opts delayjob.Options
	do   func(ctx context.Context, m delayjob.Message) error
	rows []delayjob.Message // what Load finds

	mu    sync.Mutex
	runs  []delayjob.Message
	times []time.Time
}

func (j *fakeJob) Name() string              { return j.name }
func (j *fakeJob) Options() delayjob.Options { return j.opts }

func (j *fakeJob) Load(_ context.Context, w delayjob.Window) iter.Seq2[delayjob.Message, error] {
	return func(yield func(delayjob.Message, error) bool) {
		j.mu.Lock()
		rows := j.rows
		j.mu.Unlock()
		for _, m := range rows {
			if w.Contains(m.Due) && !yield(m, nil) {
				return
			}
		}
	}
}

func (j *fakeJob) Execute(ctx context.Context, m delayjob.Message) error {
	j.note(m)
	if j.do == nil {
		return nil
	}
	return j.do(ctx, m)
}

func (j *fakeJob) has(rows ...delayjob.Message) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.rows = rows
}

func (j *fakeJob) note(m delayjob.Message) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.runs = append(j.runs, m)
	j.times = append(j.times, time.Now())
}

func (j *fakeJob) ran() []delayjob.Message {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.runs)
}

// batchJob also records the sizes of its batches.
type batchJob struct {
	fakeJob
	doBatch func(ms []delayjob.Message) ([]error, error)
	sizes   []int
}

func (j *batchJob) ExecuteBatch(_ context.Context, ms []delayjob.Message) ([]error, error) {
	for _, m := range ms {
		j.note(m)
	}
	j.mu.Lock()
	j.sizes = append(j.sizes, len(ms))
	j.mu.Unlock()
	if j.doBatch == nil {
		return nil, nil
	}
	return j.doBatch(ms)
}

// sink stores dead letters in memory.
type sink struct {
	mu   sync.Mutex
	dead []delayjob.Failure
}

func (s *sink) RecordFailures(_ context.Context, fs ...delayjob.Failure) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dead = append(s.dead, fs...)
	return nil
}

func msg(job, key string, due time.Time) delayjob.Message {
	return delayjob.Message{Job: job, Key: key, Version: 1, Due: due}
}

// consume runs a consumer on a new memory queue in fake time, calls act, and stops the consumer.
func consume(t *testing.T, o delayjob.ConsumerOptions, jobs []delayjob.DelayJob, act func(q *memqueue.Queue)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		q := memqueue.New()
		defer q.Close()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- delayjob.NewConsumer(q, jobs, o).Run(ctx) }()
		act(q)
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

func add(t *testing.T, q delayjob.Queue, ms ...delayjob.Message) {
	t.Helper()
	if _, err := q.Add(t.Context(), ms...); err != nil {
		t.Fatal(err)
	}
}

func jobs(js ...delayjob.DelayJob) []delayjob.DelayJob { return js }

func left(t *testing.T, q delayjob.Inspector, job string) delayjob.Stats {
	t.Helper()
	s, err := q.Stats(t.Context(), job)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestConsumer_runsWhenDueAndNotBefore(t *testing.T) {
	j := &fakeJob{name: "j"}
	consume(t, delayjob.ConsumerOptions{}, jobs(j), func(q *memqueue.Queue) {
		start := time.Now()
		var want []time.Time
		for i, d := range []time.Duration{3 * time.Hour, 250 * time.Millisecond, time.Second, 0} {
			add(t, q, msg("j", strconv.Itoa(i), start.Add(d)))
		}
		for _, d := range []time.Duration{0, 250 * time.Millisecond, time.Second, 3 * time.Hour} {
			want = append(want, start.Add(d))
		}
		time.Sleep(4 * time.Hour)
		synctest.Wait()
		if !slices.EqualFunc(j.times, want, time.Time.Equal) {
			t.Errorf("ran at %v, want %v", j.times, want)
		}
		if s := left(t, q, "j"); s != (delayjob.Stats{}) {
			t.Errorf("the queue still holds %+v", s)
		}
	})
}

func TestConsumer_waitsThenRetries(t *testing.T) {
	j := &fakeJob{name: "flaky"}
	j.do = func(_ context.Context, m delayjob.Message) error {
		if m.Attempt < 3 {
			return errors.New("not yet")
		}
		return nil
	}
	consume(t, delayjob.ConsumerOptions{}, jobs(j), func(q *memqueue.Queue) {
		start := time.Now()
		add(t, q, msg("flaky", "1", start.Add(time.Hour)))
		time.Sleep(time.Hour + time.Minute)
		synctest.Wait()
		if n := len(j.ran()); n != 3 {
			t.Fatalf("ran %d times, want 2 failures and a success", n)
		}
		for i, least := range []time.Duration{500 * time.Millisecond, time.Second} {
			if gap := j.times[i+1].Sub(j.times[i]); gap < least || gap > 2*least+5*time.Millisecond {
				t.Errorf("pause %d is %v, want %v to %v", i+1, gap, least, 2*least)
			}
		}
	})
}

func TestConsumer_verdicts(t *testing.T) {
	boom := errors.New("boom")
	tests := []struct {
		name string
		err  error // of the first three deliveries
		runs int
		dead string
	}{
		{"success", nil, 1, ""},
		{"drop", delayjob.Drop("stale"), 1, ""},
		{"dead", delayjob.Dead(boom), 1, "boom"},
		{"wrapped dead", fmt.Errorf("sending: %w", delayjob.Dead(boom)), 1, "boom"},
		{"snooze is not charged", delayjob.Snooze(time.Minute), 4, ""},
		{"after a given pause, charged", delayjob.After(time.Minute, boom), 2, "boom"},
		{"plain errors use up attempts", boom, 2, "boom"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			j := &fakeJob{name: "j", opts: delayjob.Options{MaxAttempts: 2}}
			j.do = func(context.Context, delayjob.Message) error {
				if len(j.ran()) <= 3 {
					return tt.err
				}
				return nil
			}
			var s sink
			consume(t, delayjob.ConsumerOptions{Failures: &s}, jobs(j), func(q *memqueue.Queue) {
				add(t, q, msg("j", "1", time.Now()))
				time.Sleep(time.Hour)
				synctest.Wait()
				if n := len(j.ran()); n != tt.runs {
					t.Errorf("ran %d times, want %d", n, tt.runs)
				}
				var got string
				if len(s.dead) == 1 {
					got = s.dead[0].Error
				}
				if got != tt.dead {
					t.Errorf("recorded %q as dead letter, want %q", got, tt.dead)
				}
				if st := left(t, q, "j"); (st.Dead == 1) != (tt.dead != "") || st.Delayed+st.Ready+st.Reserved != 0 {
					t.Errorf("the queue holds %+v", st)
				}
			})
		})
	}
}

func TestConsumer_survivesPanics(t *testing.T) {
	j := &fakeJob{name: "j"}
	j.do = func(_ context.Context, m delayjob.Message) error {
		if m.Attempt == 1 {
			panic("oops")
		}
		return nil
	}
	consume(t, delayjob.ConsumerOptions{}, jobs(j), func(q *memqueue.Queue) {
		add(t, q, msg("j", "1", time.Now()))
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := len(j.ran()); n != 2 {
			t.Errorf("ran %d times, want a panic and a success", n)
		}
	})
}

func TestConsumer_splitsFailingBatches(t *testing.T) {
	j := &batchJob{fakeJob: fakeJob{name: "b", opts: delayjob.Options{MaxAttempts: 1, Batch: 64, Concurrency: 1}}}
	j.doBatch = func(ms []delayjob.Message) ([]error, error) {
		for _, m := range ms {
			if m.Key == "13" {
				return nil, errors.New("poison")
			}
		}
		return nil, nil
	}
	var s sink
	consume(t, delayjob.ConsumerOptions{Failures: &s}, jobs(j), func(q *memqueue.Queue) {
		due := time.Now().Add(time.Second)
		for i := range 64 {
			add(t, q, msg("b", strconv.Itoa(i), due))
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if j.sizes[0] != 64 || len(j.sizes) != 1+2*6 {
			t.Errorf("batches of %v, want 64 and then two halves six times", j.sizes)
		}
		if len(s.dead) != 1 || s.dead[0].Key != "13" {
			t.Errorf("dead: %v, want 13 alone", s.dead)
		}
	})
}

func TestConsumer_batchResultsArePerMessage(t *testing.T) {
	j := &batchJob{fakeJob: fakeJob{name: "b"}}
	j.doBatch = func(ms []delayjob.Message) ([]error, error) {
		errs := make([]error, len(ms))
		for i, m := range ms {
			if m.Key == "1" && m.Attempt == 1 {
				errs[i] = errors.New("again")
			}
		}
		return errs, nil
	}
	consume(t, delayjob.ConsumerOptions{}, jobs(j), func(q *memqueue.Queue) {
		now := time.Now()
		add(t, q, msg("b", "0", now), msg("b", "1", now), msg("b", "2", now))
		time.Sleep(time.Minute)
		synctest.Wait()
		if !slices.Equal(j.sizes, []int{3, 1}) {
			t.Errorf("batches of %v, want 3 and then the one that failed", j.sizes)
		}
	})
}

func TestConsumer_keepsLeasesOfLongHandlers(t *testing.T) {
	j := &fakeJob{name: "slow", opts: delayjob.Options{Lease: 3 * time.Second, MaxRuntime: time.Minute}}
	j.do = func(ctx context.Context, _ delayjob.Message) error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(40 * time.Second):
			return nil
		}
	}
	consume(t, delayjob.ConsumerOptions{}, jobs(j), func(q *memqueue.Queue) {
		add(t, q, msg("slow", "1", time.Now()))
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if n := len(j.ran()); n != 1 {
			t.Errorf("ran %d times, want once under a lease that was kept", n)
		}
	})
}

func TestConsumer_endsHandlersAtMaxRuntime(t *testing.T) {
	j := &fakeJob{name: "stuck", opts: delayjob.Options{Lease: 3 * time.Second, MaxRuntime: 10 * time.Second, MaxAttempts: 2}}
	j.do = func(ctx context.Context, _ delayjob.Message) error { <-ctx.Done(); return ctx.Err() }
	var s sink
	consume(t, delayjob.ConsumerOptions{Failures: &s}, jobs(j), func(q *memqueue.Queue) {
		add(t, q, msg("stuck", "1", time.Now()))
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(s.dead) != 1 || len(j.ran()) != 2 {
			t.Errorf("ran %d times, %d dead; want 2 attempts, then dead", len(j.ran()), len(s.dead))
		}
	})
}

// TestConsumer_letsGoOfWhatDoesNotEnd: a handler that ignores its context keeps its message until
// MaxRuntime and the lease are over, no longer.
func TestConsumer_letsGoOfWhatDoesNotEnd(t *testing.T) {
	j := &fakeJob{name: "stuck", opts: delayjob.Options{Lease: 3 * time.Second, MaxRuntime: 10 * time.Second}}
	var stuck chan struct{}
	var again time.Time
	j.do = func(_ context.Context, m delayjob.Message) error {
		if len(j.ran()) == 1 {
			<-stuck
			return nil
		}
		again = time.Now()
		return nil
	}
	consume(t, delayjob.ConsumerOptions{}, jobs(j), func(q *memqueue.Queue) {
		stuck = make(chan struct{})
		start := time.Now()
		add(t, q, msg("stuck", "1", start))
		time.Sleep(time.Minute)
		synctest.Wait()
		if d := again.Sub(start); d < 10*time.Second || d > 14*time.Second {
			t.Errorf("run again after %v", d)
		}
		close(stuck)
		synctest.Wait()
		if n := len(j.ran()); n != 2 {
			t.Errorf("ran %d times", n)
		}
	})
}

func TestConsumer_cancelsHandlerWhoseLeaseIsLost(t *testing.T) {
	j := &fakeJob{name: "j", opts: delayjob.Options{Lease: 3 * time.Second}}
	var ended chan time.Time
	j.do = func(ctx context.Context, m delayjob.Message) error {
		if m.Version == 2 {
			return nil
		}
		<-ctx.Done()
		if cause := context.Cause(ctx); !errors.Is(cause, delayjob.ErrLeaseLost) {
			t.Errorf("cancelled because of %v, want ErrLeaseLost", cause)
		}
		ended <- time.Now()
		return ctx.Err()
	}
	consume(t, delayjob.ConsumerOptions{}, jobs(j), func(q *memqueue.Queue) {
		ended = make(chan time.Time, 1)
		start := time.Now()
		add(t, q, msg("j", "1", start))
		time.Sleep(100 * time.Millisecond)
		m := msg("j", "1", start.Add(time.Second))
		m.Version = 2
		add(t, q, m) // replaces the message that the handler holds
		if d := (<-ended).Sub(start); d > 3*time.Second {
			t.Errorf("cancelled after %v, want within the lease", d)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := len(j.ran()); n != 2 {
			t.Errorf("ran %d times, want each version once", n)
		}
	})
}

func TestConsumer_slowJobDoesNotHoldUpAnother(t *testing.T) {
	slow := &fakeJob{name: "slow", opts: delayjob.Options{Concurrency: 2}}
	slow.do = func(context.Context, delayjob.Message) error { time.Sleep(10 * time.Second); return nil }
	quick := &fakeJob{name: "quick"}
	consume(t, delayjob.ConsumerOptions{}, jobs(slow, quick), func(q *memqueue.Queue) {
		start := time.Now()
		for i := range 1000 {
			add(t, q, msg("slow", strconv.Itoa(i), start))
		}
		for i := range 100 {
			add(t, q, msg("quick", strconv.Itoa(i), start.Add(time.Duration(i)*time.Second)))
		}
		time.Sleep(100 * time.Second)
		synctest.Wait()
		if n := len(quick.ran()); n != 100 {
			t.Fatalf("%d quick ones ran, want 100", n)
		}
		for i, at := range quick.times {
			if late := at.Sub(start.Add(time.Duration(i) * time.Second)); late != 0 {
				t.Errorf("quick %d ran %v late", i, late)
			}
		}
		if s := left(t, q, "slow"); s.Reserved > 4 {
			t.Errorf("%d slow ones are held, want the backlog to stay in the queue", s.Reserved)
		}
	})
}

func TestConsumer_rate(t *testing.T) {
	j := &fakeJob{name: "j", opts: delayjob.Options{Rate: 10, Concurrency: 50}}
	consume(t, delayjob.ConsumerOptions{}, jobs(j), func(q *memqueue.Queue) {
		for i := range 100 {
			add(t, q, msg("j", strconv.Itoa(i), time.Now()))
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if n := len(j.ran()); n < 49 || n > 52 {
			t.Errorf("%d ran in 5 s at 10 a second", n)
		}
		time.Sleep(6 * time.Second)
	})
}

func TestConsumer_gracefulStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &fakeJob{name: "j", opts: delayjob.Options{Concurrency: 1, Batch: 10}}
		j.do = func(ctx context.Context, m delayjob.Message) error {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(5 * time.Second):
				return nil
			}
		}
		q := memqueue.New()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- delayjob.NewConsumer(q, jobs(j), delayjob.ConsumerOptions{}).Run(ctx) }()
		now := time.Now()
		add(t, q, msg("j", "1", now), msg("j", "2", now), msg("j", "3", now))
		time.Sleep(time.Second) // the first runs, the others are claimed
		cancel()
		<-done
		if d := time.Since(now); d != 5*time.Second {
			t.Errorf("stopped after %v, want when the running handler was done", d)
		}
		if s := left(t, q, "j"); s.Ready != 2 || s.Reserved != 0 {
			t.Errorf("left behind %+v, want two ready", s)
		}
		in, err := q.Get(t.Context(), "j:2")
		if err != nil || in.Attempt != 0 {
			t.Errorf("Get = %+v, %v; want no attempt charged", in, err)
		}
	})
}

// TestConsumer_givesBackAtOnce: a stopping process returns the messages that wait for a busy
// handler at once, not when the handler is done.
func TestConsumer_givesBackAtOnce(t *testing.T) {
	j := &fakeJob{name: "j", opts: delayjob.Options{Concurrency: 1}}
	j.do = func(context.Context, delayjob.Message) error { time.Sleep(15 * time.Second); return nil }
	synctest.Test(t, func(t *testing.T) {
		q := memqueue.New()
		stop := start(t, q, jobs(j))
		add(t, q, msg("j", "1", time.Now()), msg("j", "2", time.Now()))
		time.Sleep(time.Second)
		if s := left(t, q, "j"); s.Reserved != 2 {
			t.Fatalf("%+v, want both claimed", s)
		}
		begin := time.Now()
		go func() {
			time.Sleep(100 * time.Millisecond)
			if s := left(t, q, "j"); s.Ready != 1 || s.Reserved != 1 {
				t.Errorf("right after the stop: %+v, want the second one ready", s)
			}
		}()
		stop()
		if d := time.Since(begin); d != 14*time.Second {
			t.Errorf("stopped after %v, want when the running handler was done", d)
		}
	})
}

func TestConsumer_cancelsAfterGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &fakeJob{name: "j"}
		j.do = func(ctx context.Context, m delayjob.Message) error { <-ctx.Done(); return ctx.Err() }
		q := memqueue.New()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			done <- delayjob.NewConsumer(q, jobs(j), delayjob.ConsumerOptions{Grace: 7 * time.Second}).Run(ctx)
		}()
		add(t, q, msg("j", "1", time.Now()))
		time.Sleep(time.Second)
		start := time.Now()
		cancel()
		<-done
		if d := time.Since(start); d != 7*time.Second {
			t.Errorf("stopped after %v, want the grace", d)
		}
		in, err := q.Get(t.Context(), "j:1")
		if err != nil || in.State != delayjob.StateReady || in.Attempt != 0 {
			t.Errorf("Get = %+v, %v; want it ready with no attempt charged", in, err)
		}
	})
}

func TestConsumer_outageChargesNoAttempts(t *testing.T) {
	var down atomic.Bool
	down.Store(true)
	j := &fakeJob{name: "j", opts: delayjob.Options{MaxAttempts: 3}}
	j.do = func(context.Context, delayjob.Message) error {
		if down.Load() {
			return delayjob.Unavailable(errors.New("database down"))
		}
		return nil
	}
	var s sink
	consume(t, delayjob.ConsumerOptions{Failures: &s}, jobs(j), func(q *memqueue.Queue) {
		for i := range 500 {
			add(t, q, msg("j", strconv.Itoa(i), time.Now()))
		}
		time.Sleep(10 * time.Minute)
		if n := len(j.ran()); n > 4+5+10*60/2 {
			t.Errorf("%d attempts during the outage, want a few probes", n)
		}
		down.Store(false)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if st := left(t, q, "j"); st != (delayjob.Stats{}) || len(s.dead) != 0 {
			t.Errorf("5 s after the outage %+v is left and %d are dead", st, len(s.dead))
		}
	})
}

func TestConsumer_chargesWhoAloneFindsItUnavailable(t *testing.T) {
	j := &fakeJob{name: "j", opts: delayjob.Options{MaxAttempts: 2}}
	j.do = func(_ context.Context, m delayjob.Message) error {
		if m.Key == "poison" {
			return delayjob.Unavailable(errors.New("connection reset"))
		}
		return nil
	}
	var s sink
	consume(t, delayjob.ConsumerOptions{Failures: &s}, jobs(j), func(q *memqueue.Queue) {
		now := time.Now()
		add(t, q, msg("j", "poison", now))
		for i := range 600 {
			add(t, q, msg("j", strconv.Itoa(i), now.Add(time.Duration(i)*time.Second)))
		}
		time.Sleep(11 * time.Minute)
		synctest.Wait()
		if len(s.dead) != 1 || s.dead[0].Key != "poison" {
			t.Errorf("dead: %v, want the poison", s.dead)
		}
		if st := left(t, q, "j"); st.Ready+st.Delayed+st.Reserved != 0 {
			t.Errorf("%+v is left", st)
		}
	})
}

func TestConsumer_takesOverWhatACrashedOneHeld(t *testing.T) {
	j := &fakeJob{name: "j", opts: delayjob.Options{MaxAttempts: 3, Lease: 3 * time.Second}}
	consume(t, delayjob.ConsumerOptions{}, jobs(j), func(q *memqueue.Queue) {
		start := time.Now()
		add(t, q, msg("j", "1", start.Add(time.Second)))
		time.Sleep(500 * time.Millisecond)
		got := claimElsewhere(t, q, start.Add(time.Second), 3*time.Second)
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(j.ran()) != 1 || j.ran()[0].Crashes != 1 {
			t.Fatalf("ran %v, want once after a crash", j.ran())
		}
		if late := j.times[0].Sub(got.Lease.Until); late < 0 || late > 10*time.Millisecond {
			t.Errorf("taken over %v after the end of the lease", late)
		}
	})
}

// claimElsewhere claims the message when it is due, like a process that dies afterward.
func claimElsewhere(t *testing.T, q *memqueue.Queue, due time.Time, lease time.Duration) delayjob.Message {
	t.Helper()
	if err := q.Pause(t.Context(), "j"); err != nil { // keep the consumer away
		t.Fatal(err)
	}
	time.Sleep(time.Until(due))
	if err := q.Resume(t.Context(), "j"); err != nil {
		t.Fatal(err)
	}
	c, err := q.Claim(t.Context(), 0, []delayjob.Want{{Job: "j", Limit: 1, Lease: lease, MaxAttempts: 3}})
	if err != nil || len(c.Messages) != 1 {
		t.Fatalf("Claim = %v, %v", c, err)
	}
	return c.Messages[0]
}

// slowWake is a queue whose hints begin late.
type slowWake struct{ *memqueue.Queue }

func (q slowWake) Wake(ctx context.Context) (<-chan delayjob.Hint, error) {
	time.Sleep(100 * time.Millisecond)
	return q.Queue.Wake(ctx)
}

// A message added between the first claim and the first hint does not wait for the safety poll.
func TestConsumer_addedBeforeTheHintsBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := slowWake{memqueue.New()}
		j := &fakeJob{name: "j"}
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { _ = delayjob.NewConsumer(q, jobs(j), delayjob.ConsumerOptions{SafetyPoll: time.Hour}).Run(ctx) })
		time.Sleep(50 * time.Millisecond)
		add(t, q, msg("j", "1", time.Now()))
		time.Sleep(time.Second)
		if n := len(j.ran()); n != 1 {
			t.Errorf("%d runs, want one", n)
		}
		cancel()
		running.Wait()
	})
}

// lateness records how late each attempt began.
type lateness struct {
	delayjob.NoObserver
	mu   sync.Mutex
	late []time.Duration
}

func (l *lateness) Started(_ string, late time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.late = append(l.late, late)
}

// A failed attempt does not make the next one late.
func TestConsumer_lateSinceItWasDueAgain(t *testing.T) {
	var seen lateness
	failed := false
	j := &fakeJob{name: "j", do: func(context.Context, delayjob.Message) error {
		if failed {
			return nil
		}
		failed = true
		return delayjob.After(time.Minute, errors.New("no"))
	}}
	consume(t, delayjob.ConsumerOptions{Observer: &seen}, jobs(j), func(q *memqueue.Queue) {
		add(t, q, msg("j", "1", time.Now().Add(-3*time.Second)))
		time.Sleep(2 * time.Minute)
	})
	if len(seen.late) != 2 || seen.late[0].Round(time.Second) != 3*time.Second || seen.late[1].Round(time.Second) != 0 {
		t.Errorf("%v late, want 3s and nothing", seen.late)
	}
}

// An emptied queue has forgotten which jobs are paused until it is loaded again.
func TestConsumer_keepsPauseThatQueueForgot(t *testing.T) {
	var paused atomic.Bool
	paused.Store(true)
	ran := map[string]int{}
	var mu sync.Mutex
	note := func(_ context.Context, m delayjob.Message) error {
		mu.Lock()
		defer mu.Unlock()
		ran[m.ID()]++
		return nil
	}
	held, other := &fakeJob{name: "held", do: note}, &fakeJob{name: "other", do: note}
	o := delayjob.ConsumerOptions{Paused: func(context.Context) (map[string]bool, error) {
		return map[string]bool{"held": paused.Load()}, nil
	}}
	consume(t, o, jobs(held, other), func(q *memqueue.Queue) {
		for i := range 20 {
			add(t, q, msg("held", strconv.Itoa(i), time.Now()), msg("other", strconv.Itoa(i), time.Now()))
		}
		time.Sleep(3 * time.Second)
		mu.Lock()
		if len(ran) != 20 || ran["other:0"] != 1 {
			t.Errorf("ran %v, want all of the other job and none of the paused one", ran)
		}
		mu.Unlock()
		if in, err := q.Get(t.Context(), "held:0"); err != nil || in.Attempt > 1 || in.Crashes > 0 {
			t.Errorf("%+v, %v; want no attempt charged", in, err)
		}
		paused.Store(false)
		time.Sleep(7 * time.Second)
		mu.Lock()
		defer mu.Unlock()
		if len(ran) != 40 {
			t.Errorf("%d ran after it goes on, want 40", len(ran))
		}
	})
}

// elastic is a job that blocks until released and chooses its number of handlers.
type elastic struct {
	handlers atomic.Int64
	running  atomic.Int64
	done     atomic.Int64
	letGo    chan struct{}
}

func (*elastic) Name() string { return "elastic" }
func (*elastic) Load(context.Context, delayjob.Window) iter.Seq2[delayjob.Message, error] {
	return func(func(delayjob.Message, error) bool) {}
}
func (e *elastic) Handlers() int { return int(e.handlers.Load()) }
func (*elastic) Options() delayjob.Options {
	return delayjob.Options{Concurrency: 1, Handlers: 8}
}
func (e *elastic) Execute(context.Context, delayjob.Message) error {
	e.running.Add(1)
	<-e.letGo
	e.running.Add(-1)
	e.done.Add(1)
	return nil
}

// An elastic job runs as many handlers as it requests. No more messages are claimed than those
// handlers take and one that waits.
func TestConsumer_elastic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := memqueue.New()
		for i := range 40 {
			if _, err := q.Add(t.Context(), delayjob.Message{Job: "elastic", Key: fmt.Sprint(i), Version: 1, Due: time.Now()}); err != nil {
				t.Fatal(err)
			}
		}
		job := &elastic{letGo: make(chan struct{})}
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		job.handlers.Store(2)
		running.Go(func() { _ = delayjob.NewConsumer(q, []delayjob.DelayJob{job}, delayjob.ConsumerOptions{}).Run(ctx) })
		for _, n := range []int64{2, 100, 1} {
			job.handlers.Store(n)
			for range 9 { // running handlers, and messages claimed for as many, end first
				job.letGo <- struct{}{}
				time.Sleep(10 * time.Millisecond)
			}
			synctest.Wait()
			s, err := q.Stats(t.Context(), "elastic")
			if want := min(n, 8); err != nil || job.running.Load() != want || s.Reserved > int(want)+1 {
				t.Errorf("%d run and %d are claimed, want %d handlers, %v", job.running.Load(), s.Reserved, want, err)
			}
		}
		close(job.letGo)
		time.Sleep(time.Minute)
		if job.done.Load() != 40 {
			t.Errorf("%d of 40 ran", job.done.Load())
		}
		stop()
		running.Wait()
	})
}
