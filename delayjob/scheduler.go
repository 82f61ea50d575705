package delayjob

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"punctual/delayjob/failpoint"
)

// A Scheduler adds messages directly after the commit that created them, so that those due within
// the horizon need not wait for the loader. It is best effort: a failure is counted, logged and
// left to the loader, never returned to the caller.
//
// While the queue does not answer, only the first caller waits. Messages are kept and added in the
// background once the queue answers again.
type Scheduler struct {
	queue   Queue
	opts    SchedulerOptions
	closing context.Context
	close   context.CancelFunc

	mu      sync.Mutex
	down    bool      // the queue did not answer; only retries call it
	warned  bool      // the outage is logged
	pending []Message // to add once the queue answers
	closed  bool
	trying  sync.WaitGroup
}

// SchedulerOptions tune a Scheduler. A zero field means the default given here.
type SchedulerOptions struct {
	Horizon time.Duration // messages due later are left to the loader; 2m
	Budget  time.Duration // how long a call may block; 200ms
	// Fallback returns the queue that replaces an unavailable one in this process, or nil, see
	// [Fallback.Queue]. It then gets the messages; the loader adds those that remain when the queue
	// is available again. nil: there never is one.
	Fallback func() Queue
	// Headers returns what the messages of a call carry, unless they have headers of their own; nil: nothing.
	// It is for the trace of the context that schedules them. The loader adds messages without it.
	Headers  func(ctx context.Context) map[string]string
	Observer Observer
	Logger   *slog.Logger
}

const (
	scheduleRetry = 500 * time.Millisecond // time between retries while the queue does not answer
	maxPending    = 10_000                 // most messages kept; the rest is left to the loader
	pendingBudget = 5 * time.Second        // to add them in the background
)

// NewScheduler returns a Scheduler that adds to q. Call Close to stop it.
func NewScheduler(q Queue, o SchedulerOptions) *Scheduler {
	o.Horizon = cmp.Or(o.Horizon, 2*time.Minute)
	o.Budget = cmp.Or(o.Budget, 200*time.Millisecond)
	if o.Fallback == nil {
		o.Fallback = func() Queue { return nil }
	}
	o.Observer, o.Logger = orDefaults(o.Observer, o.Logger)
	s := &Scheduler{queue: q, opts: o}
	s.closing, s.close = context.WithCancel(context.Background())
	return s
}

// Schedule adds those of ms that are due within the horizon. Canceling ctx does not stop it: the
// messages are already committed.
func (s *Scheduler) Schedule(ctx context.Context, ms ...Message) {
	until := s.queue.Now().Add(s.opts.Horizon)
	soon := make([]Message, 0, len(ms))
	for _, m := range ms {
		if err := m.Validate(); err != nil {
			s.opts.Logger.Error("invalid message not added", "error", err)
		} else if !m.Due.After(until) {
			soon = append(soon, m)
		}
	}
	if len(soon) == 0 {
		return
	}
	if s.opts.Headers != nil {
		headers := s.opts.Headers(ctx)
		for i := range soon {
			if soon[i].Headers == nil {
				soon[i].Headers = headers
			}
		}
	}
	ctx = context.WithoutCancel(ctx)
	if q := s.opts.Fallback(); q != nil {
		res, _ := q.Add(ctx, soon...) // cannot fail: it is in memory
		countAdded(s.opts.Observer, soon, res)
		return
	}
	if s.keepIfDown(soon) {
		return
	}
	if err := s.add(ctx, s.opts.Budget, soon); err != nil {
		s.failed(err, soon)
	}
}

// Forget removes messages that are no longer needed. A missed one is harmless: its job finds
// nothing to do.
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
	s.pending = slices.DeleteFunc(s.pending, func(m Message) bool { return slices.Contains(ids, m.ID()) })
	down := s.down
	s.mu.Unlock()
	if down {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, s.opts.Budget)
	defer cancel()
	if _, err := s.queue.Remove(ctx, ids...); err != nil {
		s.failed(err, nil)
	}
}

// Close stops the retries in the background. The loader adds the messages kept.
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

// keepIfDown keeps ms for later if the queue is down, and reports whether it is.
func (s *Scheduler) keepIfDown(ms []Message) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down {
		s.pending = append(s.pending, ms[:min(len(ms), max(0, maxPending-len(s.pending)))]...)
	}
	return s.down
}

func (s *Scheduler) failed(err error, ms []Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.warned {
		s.warned = true
		s.opts.Logger.Warn("queue unavailable, messages kept, retrying", "error", err)
	}
	s.pending = append(s.pending, ms...)
	if !s.down {
		s.down = true
		s.later()
	}
}

// later schedules a retry; s.mu is held.
func (s *Scheduler) later() {
	time.AfterFunc(scheduleRetry, func() {
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

// again adds the messages kept, also those kept meanwhile. With nothing to add, it marks the queue
// as up, and the next caller tries it.
func (s *Scheduler) again() {
	worked := false
	for {
		s.mu.Lock()
		ms := s.pending
		s.pending = nil
		if len(ms) == 0 {
			s.down = false
			if worked {
				s.warned = false
				s.opts.Logger.Info("queue available again")
			}
			s.mu.Unlock()
			return
		}
		s.mu.Unlock()
		if err := s.add(s.closing, pendingBudget, ms); err != nil {
			s.mu.Lock()
			s.pending = append(ms, s.pending...)
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
	l = cmp.Or(l, slog.Default())
	return o, l
}

// countAdded reports runs of equal job and result. res may be shorter than ms after an error.
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
