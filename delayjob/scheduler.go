package delayjob

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"punctual/delayjob/failpoint"
)

// A Scheduler adds messages directly after the commit that made them, so that what is due
// within the horizon need not wait for the loader. It is best effort: a failure is counted,
// logged and left to the loader, never shown to the caller.
//
// While the queue does not answer only the first caller is held up. What it and others have
// is put aside and added in the background once the queue answers again.
type Scheduler struct {
	queue   Queue
	opts    SchedulerOptions
	closing context.Context
	close   context.CancelFunc

	mu     sync.Mutex
	away   bool      // the queue did not answer; until the next try it is not asked
	told   bool      // the log knows
	aside  []Message // to be added then
	closed bool
	trying sync.WaitGroup
}

// SchedulerOptions tune a Scheduler. A zero field means the default given here.
type SchedulerOptions struct {
	Horizon time.Duration // messages due later are the loader's; 2m
	Budget  time.Duration // how long a caller may be held up; 200ms
	Retry   time.Duration // how often a queue that did not answer is tried; 500ms
	// Fallback returns the queue that stands in for one that is away, nil if there is none in
	// this process, see [Fallback.Queue]. It gets the messages then: what is left of them when
	// the queue is back the loader brings. nil: there never is one.
	Fallback func() Queue
	Observer Observer
	Logger   *slog.Logger
}

const (
	asideMost   = 10_000          // so many messages are put aside; more are left to the loader
	asideBudget = 5 * time.Second // for adding them, which holds nobody up
)

// NewScheduler returns a Scheduler that adds to q. Close it.
func NewScheduler(q Queue, o SchedulerOptions) *Scheduler {
	if o.Horizon == 0 {
		o.Horizon = 2 * time.Minute
	}
	if o.Budget == 0 {
		o.Budget = 200 * time.Millisecond
	}
	if o.Retry == 0 {
		o.Retry = 500 * time.Millisecond
	}
	if o.Fallback == nil {
		o.Fallback = func() Queue { return nil }
	}
	o.Observer, o.Logger = orDefaults(o.Observer, o.Logger)
	s := &Scheduler{queue: q, opts: o}
	s.closing, s.close = context.WithCancel(context.Background())
	return s
}

// Schedule adds those of ms that are due within the horizon. It goes on when the caller's
// request was cancelled: the commit has happened.
func (s *Scheduler) Schedule(ctx context.Context, ms ...Message) {
	until := s.queue.Now().Add(s.opts.Horizon)
	soon := make([]Message, 0, len(ms))
	for _, m := range ms {
		if err := m.Validate(); err != nil {
			s.opts.Logger.Error("a message cannot be added", "error", err)
		} else if !m.Due.After(until) {
			soon = append(soon, m)
		}
	}
	if len(soon) == 0 {
		return
	}
	ctx = context.WithoutCancel(ctx)
	if q := s.opts.Fallback(); q != nil {
		res, _ := q.Add(ctx, soon...) // it lives in memory
		countAdded(s.opts.Observer, soon, res)
		return
	}
	if s.putAside(soon) {
		return
	}
	if err := s.add(ctx, s.opts.Budget, soon); err != nil {
		s.failed(err, soon)
	}
}

// Forget removes messages that have lost their reason. One that is missed is harmless: its
// job finds nothing to do.
func (s *Scheduler) Forget(ctx context.Context, ids ...string) {
	if len(ids) == 0 {
		return
	}
	ctx = context.WithoutCancel(ctx)
	if q := s.opts.Fallback(); q != nil {
		_, _ = q.Remove(ctx, ids...)
		return
	}
	s.mu.Lock()
	s.aside = slices.DeleteFunc(s.aside, func(m Message) bool { return slices.Contains(ids, m.ID()) })
	away := s.away
	s.mu.Unlock()
	if away {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, s.opts.Budget)
	defer cancel()
	if _, err := s.queue.Remove(ctx, ids...); err != nil {
		s.failed(err, nil)
	}
}

// Close ends the tries in the background. What was put aside is left to the loader.
func (s *Scheduler) Close() {
	s.close()
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.trying.Wait()
}

func (s *Scheduler) add(ctx context.Context, budget time.Duration, ms []Message) error {
	ctx, cancel := context.WithTimeout(ctx, budget)
	defer cancel()
	failpoint.Reach("add.before", ms[0].Job)
	res, err := s.queue.Add(ctx, ms...)
	failpoint.Reach("add.after", ms[0].Job)
	countAdded(s.opts.Observer, ms, res)
	return err
}

// putAside keeps ms for later if the queue is known not to answer.
func (s *Scheduler) putAside(ms []Message) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away {
		s.aside = append(s.aside, ms[:min(len(ms), max(0, asideMost-len(s.aside)))]...)
	}
	return s.away
}

// failed puts ms aside and has the queue tried again after a while.
func (s *Scheduler) failed(err error, ms []Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.told {
		s.told = true
		s.opts.Logger.Warn("the queue does not take what is booked; the loader finds it, and it is tried on", "error", err)
	}
	s.aside = append(s.aside, ms...)
	if !s.away {
		s.away = true
		s.later()
	}
}

// later has the queue tried again; s.mu is held.
func (s *Scheduler) later() {
	time.AfterFunc(s.opts.Retry, func() {
		s.mu.Lock()
		if s.closed {
			s.mu.Unlock()
			return
		}
		s.trying.Add(1)
		s.mu.Unlock()
		defer s.trying.Done()
		s.again()
	})
}

// again adds what was put aside, and what is put aside meanwhile. If there is nothing to try
// the queue with, the next caller does.
func (s *Scheduler) again() {
	worked := false
	for {
		s.mu.Lock()
		ms := s.aside
		s.aside = nil
		if len(ms) == 0 {
			s.away = false
			if worked {
				s.told = false
				s.opts.Logger.Info("the queue takes what is booked again")
			}
			s.mu.Unlock()
			return
		}
		s.mu.Unlock()
		if err := s.add(s.closing, asideBudget, ms); err != nil {
			s.mu.Lock()
			s.aside = append(ms, s.aside...)
			s.later()
			s.mu.Unlock()
			return
		}
		worked = true
	}
}

func orDefaults(o Observer, l *slog.Logger) (Observer, *slog.Logger) {
	if o == nil {
		o = NoObserver{}
	}
	if l == nil {
		l = slog.Default()
	}
	return o, l
}

// countAdded reports runs of equal job and result; res may be shorter than ms after an error.
func countAdded(o Observer, ms []Message, res []AddResult) {
	for i := 0; i < len(res); {
		j := i + 1
		for j < len(res) && res[j] == res[i] && ms[j].Job == ms[i].Job {
			j++
		}
		o.Added(ms[i].Job, res[i], j-i)
		i = j
	}
}
