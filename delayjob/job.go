package delayjob

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"time"
)

// A DelayJob is the strategy for one kind of work. Implementations must be safe for
// concurrent use, and Execute must be idempotent: a message may be delivered twice, late,
// or after the thing it speaks of has changed.
type DelayJob interface {
	// Name identifies the job; it is the topic and the first part of message IDs. It holds no ':'.
	Name() string
	// Load yields the pending messages with Due in w, ordered by Due. It stops at the first error.
	Load(ctx context.Context, w Window) iter.Seq2[Message, error]
	// Execute does the work. nil acknowledges; see [Snooze], [Drop], [Dead] and [Unavailable].
	// Any other error means: again after the job's Backoff. The context ends with the job's
	// MaxRuntime, when the process stops, and with the cause [ErrLeaseLost] when somebody else
	// may have been given the message.
	Execute(ctx context.Context, m Message) error
}

// A BatchJob handles many messages at once.
type BatchJob interface {
	DelayJob
	// ExecuteBatch does the work of all ms. errs[i] belongs to ms[i] and means what it means
	// for Execute; a nil slice means that all succeeded. If err is not nil nothing is known
	// to be done, and the batch is split in halves and tried again, down to single messages.
	ExecuteBatch(ctx context.Context, ms []Message) (errs []error, err error)
}

// A Configurer is a job that brings its own default [Options].
type Configurer interface{ Options() Options }

// An Elastic job does more at once when that is of use: Handlers is how many handlers may run now,
// at most [Options.Handlers]. The job itself limits to Concurrency what takes long.
type Elastic interface{ Handlers() int }

// Options tune one job. A zero field means the default given here.
type Options struct {
	Concurrency int           // handlers at once in this process; 4
	Handlers    int           // at most so many at once instead, for an [Elastic] job
	Batch       int           // messages a handler takes at once (a plain DelayJob runs them one after another); 1, or 200 for a BatchJob
	Lease       time.Duration // the longest that a crashed process hides a message; a consumer takes at most 2.5s at a time and renews it while it holds the message; 30s
	MaxRuntime  time.Duration // after it the handler's context is cancelled and the lease no longer renewed; 5m
	MaxAttempts int           // deliveries until a message is dead; 8; negative: no limit
	Backoff     Backoff       // between attempts
	Rate        float64       // executions per second in this process; 0: no limit
}

// WithDefaults fills the zero fields of o.
func (o Options) WithDefaults(batch bool) Options {
	def := func(p *int, v int) {
		if *p == 0 {
			*p = v
		}
	}
	dur := func(p *time.Duration, v time.Duration) {
		if *p == 0 {
			*p = v
		}
	}
	def(&o.Concurrency, 4)
	if batch {
		def(&o.Batch, 200)
	} else {
		def(&o.Batch, 1)
	}
	def(&o.MaxAttempts, 8)
	dur(&o.Lease, 30*time.Second)
	dur(&o.MaxRuntime, 5*time.Minute)
	dur(&o.Backoff.Base, time.Second)
	dur(&o.Backoff.Cap, 5*time.Minute)
	return o
}

// Merge overrides o with the fields of over that are not zero.
func (o Options) Merge(over Options) Options {
	pick := func(p *int, v int) {
		if v != 0 {
			*p = v
		}
	}
	dur := func(p *time.Duration, v time.Duration) {
		if v != 0 {
			*p = v
		}
	}
	pick(&o.Concurrency, over.Concurrency)
	pick(&o.Handlers, over.Handlers)
	pick(&o.Batch, over.Batch)
	pick(&o.MaxAttempts, over.MaxAttempts)
	dur(&o.Lease, over.Lease)
	dur(&o.MaxRuntime, over.MaxRuntime)
	dur(&o.Backoff.Base, over.Backoff.Base)
	dur(&o.Backoff.Cap, over.Backoff.Cap)
	if over.Rate != 0 {
		o.Rate = over.Rate
	}
	return o
}

func (o Options) handlers() int { return max(o.Concurrency, o.Handlers) }

// Backoff spaces attempts: min(Cap, Base*2^(attempt-1)), then uniform in its upper half, so
// that a batch that failed together does not come back together.
type Backoff struct{ Base, Cap time.Duration }

// Delay before the attempt after the given one (from 1).
func (b Backoff) Delay(attempt int) time.Duration {
	d := b.Cap
	if shift := attempt - 1; shift < 32 && b.Base<<shift < b.Cap && b.Base<<shift > 0 {
		d = b.Base << shift
	}
	if d <= 1 {
		return d
	}
	return d/2 + rand.N(d/2+1)
}

// Snooze asks for the message again after d, with no attempt charged.
func Snooze(d time.Duration) error { return &verdict{kind: snooze, delay: d} }

// Drop acknowledges the message without effect and says why.
func Drop(reason string) error { return &verdict{kind: drop, err: errors.New(reason)} }

// Dead says that no further attempt can succeed: the message becomes a dead letter.
func Dead(err error) error { return &verdict{kind: dead, err: err} }

// Unavailable says that a dependency is down, which is not the message's fault: no attempt
// is charged and the whole job backs off until a probe succeeds.
func Unavailable(err error) error { return &verdict{kind: unavailable, err: err} }

// After asks for the message again after d instead of the job's Backoff; the attempt stays charged.
func After(d time.Duration, err error) error { return &verdict{kind: after, delay: d, err: err} }

type kind int

const (
	snooze kind = iota + 1
	drop
	dead
	unavailable
	after
	plain    // any other error
	released // interrupted by shutdown; never returned by a job
)

type verdict struct {
	kind  kind
	delay time.Duration
	err   error
}

func (v *verdict) Error() string {
	switch v.kind {
	case snooze:
		return fmt.Sprintf("again in %v", v.delay)
	default:
		return v.err.Error()
	}
}

func (v *verdict) Unwrap() error { return v.err }

// verdictOf sorts what Execute returned; the zero verdict means success.
func verdictOf(err error) verdict {
	if err == nil {
		return verdict{}
	}
	if v, ok := errors.AsType[*verdict](err); ok {
		return *v
	}
	return verdict{kind: plain, err: err}
}
