package delayjob_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"punctual/delayjob"
	"punctual/delayjob/memqueue"
)

// plan records the planned times of runs, in minutes after the start.
type plan struct {
	mu    sync.Mutex
	start time.Time
	runs  []int
	do    func(ctx context.Context, n int) error // n is the number of runs before
}

func (p *plan) run(ctx context.Context, planned time.Time) error {
	p.mu.Lock()
	n := len(p.runs)
	p.runs = append(p.runs, int(planned.Sub(p.start)/time.Minute))
	p.mu.Unlock()
	if p.do == nil {
		return nil
	}
	return p.do(ctx, n)
}

func (p *plan) expect(t *testing.T, want ...int) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if !slices.Equal(p.runs, want) {
		t.Errorf("ran for minutes %v, want %v", p.runs, want)
	}
}

// recurring returns a job that runs every ten minutes.
func (p *plan) recurring(t *testing.T, o delayjob.RecurringOptions) *delayjob.Recurring {
	t.Helper()
	r, err := delayjob.NewRecurring("r", "*/10 * * * *", p.run, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// begin runs jobs on q in a process of its own until stop.
func begin(t *testing.T, q delayjob.Queue, js ...delayjob.DelayJob) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- delayjob.Run(ctx, delayjob.RunOptions{Queue: q, Jobs: js}) }()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	}
}

func bubble(t *testing.T, f func(t *testing.T, p *plan)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(t, &plan{start: time.Now()}) }) // at midnight UTC
}

func TestRecurring_oneOfManyInstancesMakesEachRun(t *testing.T) {
	bubble(t, func(t *testing.T, p *plan) {
		q := memqueue.New()
		defer q.Close()
		stops := []func(){begin(t, q, p.recurring(t, delayjob.RecurringOptions{})), begin(t, q, p.recurring(t, delayjob.RecurringOptions{}))}
		time.Sleep(15 * time.Minute)
		stops = append(stops, begin(t, q, p.recurring(t, delayjob.RecurringOptions{}))) // joins
		time.Sleep(time.Minute)
		stops[0]() // leaves
		time.Sleep(30 * time.Minute)
		for _, stop := range stops[1:] {
			stop()
		}
		p.expect(t, 10, 20, 30, 40)
		if s := left(t, q, "r"); s.Delayed != 1 || s.Messages() != 1 {
			t.Errorf("the queue holds %+v, want the next run alone", s)
		}
	})
}

func TestRecurring_missedRuns(t *testing.T) {
	tests := []struct {
		name    string
		maxLate time.Duration
		want    []int
	}{
		{"one is made up for", 0, []int{10, 20, 60}},
		{"within MaxLate", 40 * time.Minute, []int{10, 20, 60}},
		{"the first within MaxLate", 20 * time.Minute, []int{10, 40, 60}},
		{"skipped", 4 * time.Minute, []int{10, 60}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, p *plan) {
				q := memqueue.New()
				defer q.Close()
				r := p.recurring(t, delayjob.RecurringOptions{MaxLate: test.maxLate})
				stop := begin(t, q, r)
				time.Sleep(15 * time.Minute)
				stop()
				time.Sleep(40 * time.Minute) // nothing runs at minutes 20 to 50
				stop = begin(t, q, r)
				time.Sleep(10 * time.Minute)
				stop()
				p.expect(t, test.want...)
			})
		})
	}
}

func TestRecurring_clocks(t *testing.T) {
	for _, test := range []struct {
		name   string
		offset time.Duration // of the queue's clock
	}{{"process ahead of the queue", -25 * time.Minute}, {"process behind the queue", 25 * time.Minute}} {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, p *plan) {
				p.start = p.start.Add(test.offset).Truncate(10 * time.Minute)
				q := memqueue.New(memqueue.WithClock(func() time.Time { return time.Now().Add(test.offset) }))
				defer q.Close()
				stop := begin(t, q, p.recurring(t, delayjob.RecurringOptions{}))
				time.Sleep(40 * time.Minute)
				stop()
				p.expect(t, 10, 20, 30, 40)
			})
		})
	}
	t.Run("set back and forward", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *plan) {
			var mu sync.Mutex
			var offset time.Duration
			set := func(d time.Duration) { mu.Lock(); offset = d; mu.Unlock() }
			q := memqueue.New(memqueue.WithClock(func() time.Time { mu.Lock(); defer mu.Unlock(); return time.Now().Add(offset) }))
			defer q.Close()
			stop := begin(t, q, p.recurring(t, delayjob.RecurringOptions{}))
			time.Sleep(15 * time.Minute)
			set(-15 * time.Minute) // minute 0 again
			time.Sleep(15 * time.Minute)
			p.expect(t, 10) // once, although its time came twice
			set(40 * time.Minute)
			time.Sleep(time.Minute) // minute 71: the run of minute 20 is made up for
			p.expect(t, 10, 20)
			time.Sleep(10 * time.Minute)
			stop()
			p.expect(t, 10, 20, 80)
		})
	})
	t.Run("set back during a run", func(t *testing.T) {
		bubble(t, func(t *testing.T, p *plan) {
			var offset atomic.Int64
			q := memqueue.New(memqueue.WithClock(func() time.Time { return time.Now().Add(time.Duration(offset.Load())) }))
			defer q.Close()
			p.do = func(_ context.Context, n int) error {
				if n == 0 {
					offset.Store(int64(-5 * time.Minute)) // before the planned time
				}
				return nil
			}
			stop := begin(t, q, p.recurring(t, delayjob.RecurringOptions{}))
			time.Sleep(26 * time.Minute)
			stop()
			p.expect(t, 10, 20)
		})
	})
}

func TestRecurring_failures(t *testing.T) {
	tests := []struct {
		name string
		do   func(n int) error
		want []int
		dead int
	}{
		{"retries have the same planned time", func(n int) error {
			if n < 2 {
				return errors.New("not yet")
			}
			return nil
		}, []int{10, 10, 10, 20, 30}, 0},
		{"what fails for good does not end the schedule", func(n int) error {
			if n < 3 {
				return errors.New("never")
			}
			return nil
		}, []int{10, 10, 10, 20, 30}, 1},
		{"dead at once", func(n int) error {
			if n == 0 {
				return delayjob.Dead(errors.New("no"))
			}
			return nil
		}, []int{10, 20, 30}, 1},
		{"panic", func(n int) error {
			if n == 0 {
				panic("oops")
			}
			return nil
		}, []int{10, 10, 20, 30}, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, p *plan) {
				q := memqueue.New()
				defer q.Close()
				p.do = func(_ context.Context, n int) error { return test.do(n) }
				r := p.recurring(t, delayjob.RecurringOptions{Options: delayjob.Options{MaxAttempts: 3}})
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan error, 1)
				failures := &sink{}
				go func() {
					done <- delayjob.Run(ctx, delayjob.RunOptions{Queue: q, Jobs: jobs(r), Failures: failures})
				}()
				time.Sleep(35 * time.Minute)
				cancel()
				<-done
				p.expect(t, test.want...)
				if len(failures.dead) != test.dead {
					t.Errorf("%d dead letters recorded, want %d", len(failures.dead), test.dead)
				}
				if s := left(t, q, "r"); s.Delayed != 1 || s.Messages() != 1 {
					t.Errorf("the queue holds %+v, want the next run alone", s)
				}
			})
		})
	}
}

func TestRecurring_aRetryIsNotSkipped(t *testing.T) {
	bubble(t, func(t *testing.T, p *plan) {
		q := memqueue.New()
		defer q.Close()
		p.do = func(_ context.Context, n int) error {
			if n == 0 {
				return delayjob.After(5*time.Minute, errors.New("not yet"))
			}
			return nil
		}
		stop := begin(t, q, p.recurring(t, delayjob.RecurringOptions{MaxLate: time.Minute}))
		time.Sleep(21 * time.Minute)
		stop()
		p.expect(t, 10, 10, 20)
	})
}

// A process that dies in every run must not end the schedule: its lease ends again and again.
func TestRecurring_processesThatDie(t *testing.T) {
	bubble(t, func(t *testing.T, p *plan) {
		q := memqueue.New()
		defer q.Close()
		r := p.recurring(t, delayjob.RecurringOptions{Options: delayjob.Options{MaxAttempts: 2}})
		add(t, q, delayjob.Message{Job: "r", Key: keyOf(r), Version: 1, Due: p.start.Add(10 * time.Minute)})
		time.Sleep(10 * time.Minute)
		for range 5 { // two crashes are free, and two attempts
			c, err := q.Claim(t.Context(), 0, []delayjob.Want{{Job: "r", Limit: 1, Lease: time.Second}})
			if err != nil || len(c.Messages) != 1 {
				t.Fatalf("claimed %d messages, %v", len(c.Messages), err)
			}
			time.Sleep(time.Second)
		}
		failures := &sink{}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- delayjob.Run(ctx, delayjob.RunOptions{Queue: q, Jobs: jobs(r), Failures: failures}) }()
		time.Sleep(10 * time.Minute)
		cancel()
		<-done
		p.expect(t, 20)
		if len(failures.dead) != 1 {
			t.Errorf("%d dead letters recorded, want 1", len(failures.dead))
		}
	})
}

func keyOf(r *delayjob.Recurring) string {
	_, key := delayjob.SplitID(r.ID())
	return key
}

func TestRecurring_longRunsDoNotOverlap(t *testing.T) {
	bubble(t, func(t *testing.T, p *plan) {
		q := memqueue.New()
		defer q.Close()
		running := 0
		p.do = func(context.Context, int) error {
			p.mu.Lock()
			running++
			if running > 1 {
				t.Error("two runs at once")
			}
			p.mu.Unlock()
			time.Sleep(15 * time.Minute)
			p.mu.Lock()
			running--
			p.mu.Unlock()
			return nil
		}
		o := delayjob.RecurringOptions{Options: delayjob.Options{MaxRuntime: time.Hour}}
		stops := []func(){begin(t, q, p.recurring(t, o)), begin(t, q, p.recurring(t, o))}
		time.Sleep(66 * time.Minute)
		for _, stop := range stops {
			stop()
		}
		p.expect(t, 10, 30, 50)
	})
}

// A process that lost its lease does not plan the next run: it would replace the run that the other
// process has planned since, and that may wait for a retry.
func TestRecurring_lostLease(t *testing.T) {
	bubble(t, func(t *testing.T, p *plan) {
		q := memqueue.New()
		defer q.Close()
		partitioned := &partition{Queue: q}
		p.do = func(_ context.Context, n int) error {
			switch n {
			case 0: // minute 10
				partitioned.cut.Store(true)
				time.Sleep(11 * time.Minute)
				partitioned.cut.Store(false)
			case 2: // minute 20, in the other process
				return delayjob.After(5*time.Minute, errors.New("not yet"))
			}
			return nil
		}
		o := delayjob.RecurringOptions{Options: delayjob.Options{MaxRuntime: time.Hour}}
		stops := []func(){begin(t, partitioned, p.recurring(t, o))}
		time.Sleep(11 * time.Minute)
		stops = append(stops, begin(t, q, p.recurring(t, o)))
		time.Sleep(24 * time.Minute)
		for _, stop := range stops {
			stop()
		}
		p.expect(t, 10, 10, 20, 20, 30)
	})
}

// partition is a queue that cannot be reached while cut is set.
type partition struct {
	delayjob.Queue
	cut atomic.Bool
}

var errCut = errors.New("no route to the queue")

func (q *partition) Claim(ctx context.Context, shard int, want []delayjob.Want) (delayjob.Claimed, error) {
	if q.cut.Load() {
		return delayjob.Claimed{}, errCut
	}
	return q.Queue.Claim(ctx, shard, want)
}

func (q *partition) Extend(ctx context.Context, d time.Duration, ls ...delayjob.Lease) []error {
	if q.cut.Load() {
		return slices.Repeat([]error{errCut}, len(ls))
	}
	return q.Queue.Extend(ctx, d, ls...)
}

// With Last, a queue that loses its content loses no run and repeats none.
func TestRecurring_last(t *testing.T) {
	bubble(t, func(t *testing.T, p *plan) {
		var mu sync.Mutex
		var last time.Time // stands for a row
		o := delayjob.RecurringOptions{Last: func(context.Context) (time.Time, error) {
			mu.Lock()
			defer mu.Unlock()
			return last, nil
		}}
		p.do = func(ctx context.Context, _ int) error {
			m, _ := delayjob.MessageFrom(ctx)
			mu.Lock()
			last = m.Due
			mu.Unlock()
			return nil
		}
		r := p.recurring(t, o)
		q := memqueue.New()
		stop := begin(t, q, r)
		time.Sleep(15 * time.Minute)
		stop()
		time.Sleep(10 * time.Minute)
		q = memqueue.New() // as after a crash: what followed the run of minute 10 was not stored
		add(t, q, delayjob.Message{Job: "r", Key: keyOf(r), Due: p.start.Add(10 * time.Minute)})
		stop = begin(t, q, r) // the run of minute 10 is delivered again, and the one of minute 20 made up for
		time.Sleep(10 * time.Minute)
		stop()
		p.expect(t, 10, 20, 30)

		q = memqueue.New()
		time.Sleep(10 * time.Minute) // minute 45
		stop = begin(t, q, r)
		time.Sleep(time.Minute)
		stop()
		p.expect(t, 10, 20, 30, 40)
	})
}

func TestRecurring_aChangedScheduleBeginsAnew(t *testing.T) {
	bubble(t, func(t *testing.T, p *plan) {
		q := memqueue.New()
		defer q.Close()
		old, err := delayjob.NewRecurring("r", "0 * * * *", p.run, delayjob.RecurringOptions{})
		if err != nil {
			t.Fatal(err)
		}
		stop := begin(t, q, old)
		time.Sleep(time.Minute)
		stop()
		stop = begin(t, q, p.recurring(t, delayjob.RecurringOptions{}))
		time.Sleep(74 * time.Minute)
		stop()
		p.expect(t, 10, 20, 30, 40, 50, 60, 70) // minute 60 once
		if s := left(t, q, "r"); s.Messages() != 1 {
			t.Errorf("the queue holds %+v, want the next run alone", s)
		}
	})
}
