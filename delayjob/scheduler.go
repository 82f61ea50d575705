package delayjob

import (
	"context"
	"log/slog"
	"time"
)

// A Scheduler adds messages directly after the commit that made them, so that what is due
// within the horizon need not wait for the loader. It is best effort: a failure is counted,
// logged and left to the loader, never shown to the caller.
type Scheduler struct {
	queue Queue
	opts  SchedulerOptions
}

// SchedulerOptions tune a Scheduler. A zero field means the default given here.
type SchedulerOptions struct {
	Horizon  time.Duration // messages due later are the loader's; 2m
	Budget   time.Duration // how long a caller may be held up; 200ms
	Observer Observer
	Logger   *slog.Logger
}

// NewScheduler returns a Scheduler that adds to q.
func NewScheduler(q Queue, o SchedulerOptions) *Scheduler {
	if o.Horizon == 0 {
		o.Horizon = 2 * time.Minute
	}
	if o.Budget == 0 {
		o.Budget = 200 * time.Millisecond
	}
	o.Observer, o.Logger = orDefaults(o.Observer, o.Logger)
	return &Scheduler{queue: q, opts: o}
}

// Schedule adds those of ms that are due within the horizon. It goes on when the caller's
// request was cancelled: the commit has happened.
func (s *Scheduler) Schedule(ctx context.Context, ms ...Message) {
	until := s.queue.Now().Add(s.opts.Horizon)
	soon := make([]Message, 0, len(ms))
	for _, m := range ms {
		if !m.Due.After(until) {
			soon = append(soon, m)
		}
	}
	if len(soon) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.opts.Budget)
	defer cancel()
	res, err := s.queue.Add(ctx, soon...)
	countAdded(s.opts.Observer, soon, res)
	if err != nil {
		s.opts.Logger.Warn("direct add failed; the loader will do it", "messages", len(soon), "error", err)
	}
}

// Forget removes messages that have lost their reason. One that is missed is harmless: its
// job finds nothing to do.
func (s *Scheduler) Forget(ctx context.Context, ids ...string) {
	if len(ids) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.opts.Budget)
	defer cancel()
	if _, err := s.queue.Remove(ctx, ids...); err != nil {
		s.opts.Logger.Warn("removing messages failed; they will find nothing to do", "messages", len(ids), "error", err)
	}
}

func orDefaults(o Observer, l *slog.Logger) (Observer, *slog.Logger) {
	if o == nil {
		o = NoObserver{}
	}
	if l == nil {
		l = slog.New(slog.DiscardHandler)
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
