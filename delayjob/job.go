package delayjob

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"time"
)

// A DelayJob implements one kind of work. Implementations must be safe for concurrent use. Execute
// must be idempotent: a message may be delivered twice, late, or after its subject has changed.
type DelayJob interface {
	// Name returns the job's name: the topic and the first part of message IDs. It must not contain
	// ':'.
	Name() string
	// Load yields the pending messages with Due in w, ordered by Due. It stops at the first error.
	Load(ctx context.Context, w Window) iter.Seq2[Message, error]
	// Execute does the work. nil acknowledges the message; see [Snooze], [Drop], [Dead] and
	// [Unavailable] for other results. Any other error retries after the job's Backoff. The context
	// ends after MaxRuntime, when the process stops, and with the cause [ErrLeaseLost] when another
	// consumer may have claimed the message.
	Execute(ctx context.Context, m Message) error
}

// A BatchJob handles many messages at once.
type BatchJob interface {
	DelayJob
	// ExecuteBatch does the work of all ms. errs[i] belongs to ms[i] and means the same as in
	// Execute; a nil slice means that all succeeded. If err is not nil, the batch is split in
	// halves and tried again, down to single messages.
	ExecuteBatch(ctx context.Context, ms []Message) (errs []error, err error)
}

// A Configurer is a job with its own default [Options].
type Configurer interface{ Options() Options }

// An Elastic job can run more handlers when that helps. Handlers returns how many may run now, at
// most [Options.Handlers]. The job itself limits long-running work to Concurrency.
type Elastic interface{ Handlers() int }

// Options tune one job. A zero field means the default given here.
type Options struct {
	Concurrency int // handlers at once in this process; 4
	Handlers    int // most handlers at once for an [Elastic] job; Concurrency
	// PerEntity is how many messages of one [Entity] run at once in this process; 0: no limit.
	// Messages above it run when others of their entity end, in no particular order, and are not
	// charged. Each process counts for itself: with n processes, up to n times as many run at once.
	PerEntity int
	// Batch is how many messages a handler takes at once; a plain DelayJob runs them one after
	// another. 1, or 200 for a BatchJob.
	Batch int
	// Lease is the longest that a crashed process hides a message; 30s. A consumer takes leases of
	// at most 2.5s and renews them.
	Lease time.Duration
	// MaxRuntime is when the handler's context is canceled and its lease is no longer renewed; 5m.
	MaxRuntime  time.Duration
	MaxAttempts int     // deliveries until a message is dead; 8; negative: no limit
	Backoff     Backoff // between attempts
	Rate        float64 // executions per second in this process; 0: no limit
}

// WithDefaults returns o with its zero fields set to the defaults, those of a BatchJob if batch.
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

// Merge returns o with its fields replaced by the nonzero fields of over.
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
	pick(&o.PerEntity, over.PerEntity)
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

// Backoff is the delay between attempts: min(Cap, Base*2^(attempt-1)), then a random time in its
// upper half, so that messages that failed together are retried at different times.
type Backoff struct{ Base, Cap time.Duration }

// Delay returns the delay after the given attempt (from 1).
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

// Snooze returns a result for Execute: run the message again after d, without charging an attempt.
func Snooze(d time.Duration) error { return &outcome{kind: snooze, delay: d} }

// Drop returns a result for Execute: acknowledge the message without effect and log the reason.
func Drop(reason string) error { return &outcome{kind: drop, err: errors.New(reason)} }

// Dead returns a result for Execute: no further attempt can succeed, so the message becomes a dead
// letter.
func Dead(err error) error { return &outcome{kind: dead, err: err} }

// Unavailable returns a result for Execute: a dependency is down. No attempt is charged, and the
// whole job backs off until a probe succeeds. A message that keeps returning it while others
// succeed is charged.
func Unavailable(err error) error { return &outcome{kind: unavailable, err: err} }

// After returns a result for Execute: run the message again after d instead of the job's Backoff.
// The attempt stays charged.
func After(d time.Duration, err error) error { return &outcome{kind: after, delay: d, err: err} }

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

type outcome struct {
	kind  kind
	delay time.Duration
	err   error
}

func (o *outcome) Error() string {
	switch o.kind {
	case snooze:
		return fmt.Sprintf("snoozed for %v", o.delay)
	default:
		return o.err.Error()
	}
}

func (o *outcome) Unwrap() error { return o.err }

// outcomeOf classifies the result of Execute. The zero outcome means success.
func outcomeOf(err error) outcome {
	if err == nil {
		return outcome{}
	}
	if o, ok := errors.AsType[*outcome](err); ok {
		return *o
	}
	return outcome{kind: plain, err: err}
}
