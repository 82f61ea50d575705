package delayjob

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"time"
)

// RecurringOptions tune a Recurring. A zero field means the default given here.
type RecurringOptions struct {
	Zone *time.Location // of the schedule; UTC
	// MaxLate skips a run that would begin later than this after its planned time, because no
	// process was running or all were busy. The next planned time that is not too late follows, at
	// once if it was missed too. 0: a missed run is made up for, however late. A retry is never
	// skipped.
	MaxLate time.Duration
	// Last returns the planned time of the last run that has been done, the zero time if there was
	// none, for example from the row that the run itself writes. It makes the database the truth: a
	// queue that lost its content loses no run, and a run that is done is not repeated. The first
	// time after it follows, even if it was missed. nil: only the queue knows.
	Last    func(ctx context.Context) (time.Time, error)
	Options Options // of the job; Batch and Concurrency do not matter
}

// A Recurring is a [DelayJob] that runs on a schedule. All processes on one queue share it: each
// run is made by one of them.
//
// The queue holds one message, the next run. When a run is done, or has failed for good, one step
// replaces it by its successor, if its process still holds the lease. So no run is planned twice or
// forgotten, however many processes start, stop or crash, and runs never overlap. A run that takes
// longer than the schedule's interval, or that is retried, delays its successor. If several runs are
// missed, one is made up for, with the planned time of the first that MaxLate allows.
//
// Planned times are compared with the queue's clock only. A process whose clock is ahead or behind
// plans the same times, and a clock that is set back repeats nothing. Like every message, a run is
// delivered at least once: again after a crash before its result was stored.
//
// Without [RecurringOptions.Last], a queue that lost its content begins with the next planned time.
// That includes every start of a process with a queue in memory.
//
// A changed schedule or zone begins anew. What the old one had planned is dropped a minute after it
// was due; until then, a process that still has the old schedule may run it. To stop a schedule for
// good, take it out of the program and remove its message, see [Recurring.ID].
type Recurring struct {
	name, key string
	schedule  schedule
	run       func(ctx context.Context, planned time.Time) error
	opts      RecurringOptions
}

// NewRecurring returns a job that calls run at the times of spec. planned is the time that the
// schedule gives, not the time of the call. The results and the context of run are those of
// [DelayJob.Execute].
//
// spec is a robfig/cron spec of five fields, a descriptor such as "@daily", or "@every 90m". Times of
// @every are the multiples of the interval, counted in UTC from the zero [time.Time]; it must be at
// least a second and has no zone. In a zone with daylight saving time:
//
//   - A time that is skipped runs once, as much later as the clock was advanced: "30 2 * * *" runs
//     at 03:30.
//   - A time that occurs twice runs once, the first time.
//   - If the hour field is "*", the schedule follows elapsed time instead: "0 * * * *" runs every
//     hour, also in the repeated one.
//
// NewRecurring returns an error if spec is malformed or has no time in the next five years.
func NewRecurring(name, spec string, run func(ctx context.Context, planned time.Time) error, o RecurringOptions) (*Recurring, error) {
	o.Zone = cmp.Or(o.Zone, time.UTC)
	s, err := parseSchedule(spec, o.Zone)
	if err != nil {
		return nil, fmt.Errorf("delayjob: schedule of %s: %w", name, err)
	}
	switch {
	case run == nil:
		return nil, fmt.Errorf("delayjob: recurring job %s: function: must not be nil", name)
	case o.MaxLate < 0:
		return nil, fmt.Errorf("delayjob: recurring job %s: MaxLate: must not be negative, is %v", name, o.MaxLate)
	}
	sum := sha256.Sum256([]byte(spec + "\n" + o.Zone.String()))
	return &Recurring{name: name, key: hex.EncodeToString(sum[:6]), schedule: s, run: run, opts: o}, nil
}

// Name implements [DelayJob].
func (r *Recurring) Name() string { return r.name }

// Options implements [Configurer].
func (r *Recurring) Options() Options {
	o := r.opts.Options
	o.Concurrency, o.Batch = 1, 1
	return o
}

// ID returns the ID of the message of the next run. [Inspector.Get] returns when it is due.
func (r *Recurring) ID() string { return MessageID(r.name, r.key) }

// Next returns the first planned time after t; zero: none.
func (r *Recurring) Next(t time.Time) time.Time { return r.schedule.next(t) }

// Load implements [DelayJob]. A full pass yields the message of the next run with version 0, so that
// a queue that has one, of any version, keeps it.
func (r *Recurring) Load(ctx context.Context, w Window) iter.Seq2[Message, error] {
	return func(yield func(Message, error) bool) {
		if !w.From.IsZero() {
			return
		}
		after := clockOf(ctx)()
		if r.opts.Last != nil {
			last, err := r.opts.Last(ctx)
			if err != nil {
				yield(Message{}, err)
				return
			}
			if !last.IsZero() {
				after = last
			}
		}
		if next := r.Next(after); !next.IsZero() {
			yield(Message{Job: r.name, Key: r.key, Due: next}, nil)
		}
	}
}

// foreignRun is how long a run of another schedule waits for a process that has it.
const foreignRun = time.Minute

// Execute implements [DelayJob].
func (r *Recurring) Execute(ctx context.Context, m Message) error {
	late := m.Claimed.Sub(m.Due)
	if m.Key != r.key {
		if late < foreignRun {
			return Snooze(5 * time.Second)
		}
		return Drop("planned by another schedule")
	}
	if r.opts.MaxLate > 0 && late > r.opts.MaxLate && m.Attempt <= 1 {
		return &skip{Drop("missed: more than MaxLate after its planned time"), m.Claimed.Add(-r.opts.MaxLate - 1)}
	}
	if r.opts.Last != nil {
		last, err := r.opts.Last(ctx)
		if err != nil {
			return Unavailable(err)
		}
		if !m.Due.After(last) {
			return &skip{Drop("done before"), last}
		}
	}
	return r.run(ctx, m.Due.In(r.opts.Zone))
}

// A skip is the result of a run that was not made. Its successor is the first one after a time that
// may be long past, so that later runs that were missed too are not lost.
type skip struct {
	error
	after time.Time
}

func (s *skip) Unwrap() error { return s.error }

// successor returns the message that replaces m, a run that is over with this result. now is of the
// queue's clock.
func (r *Recurring) successor(m Message, result error, now time.Time) (Message, bool) {
	if m.Key != r.key {
		return Message{}, false
	}
	after := now
	if s, ok := errors.AsType[*skip](result); ok {
		after = s.after
	}
	if after.Before(m.Due) {
		after = m.Due
	}
	next := r.Next(after)
	if next.IsZero() {
		return Message{}, false
	}
	return Message{Job: r.name, Key: r.key, Version: next.Unix(), Due: next}, true
}

// A chained job is one whose messages are replaced by successors when they are over.
type chained interface {
	successor(m Message, result error, now time.Time) (Message, bool)
}

// finish takes a message that is over out of the queue, or replaces it by its successor.
func (jr *jobRunner) finish(d *delivery, result error, now time.Time) {
	if jr.chained != nil {
		if next, ok := jr.chained.successor(d.Message, result, now); ok {
			jr.acks(d).replace(d, next)
			return
		}
	}
	jr.acks(d).ack(d)
}

// claimedAttempts is the MaxAttempts of a claim. A message with a successor must not die in the
// queue, so its attempts are counted before it runs.
func (jr *jobRunner) claimedAttempts() int {
	if jr.chained != nil {
		return 0
	}
	return jr.opts.MaxAttempts
}

// errHolderDied is the error of a message whose last lease ended without an attempt left.
var errHolderDied = errors.New("no attempt left: the process that ran it stopped responding")

type clockKey struct{}

// withClock makes the queue's clock known to Load.
func withClock(ctx context.Context, q Queue) context.Context {
	return context.WithValue(ctx, clockKey{}, q.Now)
}

func clockOf(ctx context.Context) func() time.Time {
	if now, ok := ctx.Value(clockKey{}).(func() time.Time); ok {
		return now
	}
	return time.Now
}
