package delayjob

import (
	"context"
	"fmt"
)

// A Handler runs one execution of a job: a single message, or the batch of a [BatchJob]. errs[i] is
// the result of ms[i] and means the same as in [DelayJob.Execute]; a nil slice means that all
// succeeded. A panic is an error of all.
type Handler func(ctx context.Context, ms []Message) (errs []error)

// A Middleware wraps the executions of every job of a [Consumer], for traces, logs and metrics. It
// may change the context, the results, or skip next. It is called once per consumer, and the
// Handler that it returns must be safe for concurrent use. All of ms belong to the job ms[0].Job.
//
// A middleware sees what runs. An [Observer] also sees what happens without an execution, such as
// claims, lost leases and returned messages.
type Middleware func(next Handler) Handler

// ResultOf returns what err, a result of one message, asks for. The engine may then decide otherwise:
// a retry without an attempt left is [ResultDead].
func ResultOf(err error) Result {
	switch outcomeOf(err).kind {
	case 0:
		return ResultOK
	case drop:
		return ResultDrop
	case snooze:
		return ResultSnooze
	case dead:
		return ResultDead
	case unavailable:
		return ResultUnavailable
	default:
		return ResultRetry
	}
}

type messageKey struct{}

// A messageContext carries a message. It is part of the delivery, so that it costs no allocation.
type messageContext struct {
	context.Context
	message *Message
}

func (c *messageContext) Value(key any) any {
	if key == (messageKey{}) {
		return c.message
	}
	return c.Context.Value(key)
}

// MessageFrom returns the message that ctx belongs to: in Execute, in the function of a [Task] or a
// [Recurring], and in their middleware. In a batch there is none, and ok is false.
func MessageFrom(ctx context.Context) (m Message, ok bool) {
	p, ok := ctx.Value(messageKey{}).(*Message)
	if !ok {
		return Message{}, false
	}
	return *p, true
}

// wrap returns the job's handler inside its middleware, the first one outermost; nil without
// middleware, because the plain call is cheaper.
func (jr *jobRunner) wrap(ms []Middleware) Handler {
	if len(ms) == 0 {
		return nil
	}
	h := func(ctx context.Context, ms []Message) []error {
		if jr.batch != nil {
			return jr.split(ctx, ms)
		}
		return []error{jr.execute(ctx, ms[0])}
	}
	for i := len(ms) - 1; i >= 0; i-- {
		h = ms[i](h)
	}
	return h
}

func (jr *jobRunner) execute(ctx context.Context, m Message) error {
	return protect(func() error { return jr.job.Execute(ctx, m) })
}

// handle runs messages through the middleware and returns one result for each.
func (jr *jobRunner) handle(ctx context.Context, ms []Message) []error {
	var errs []error
	err := protect(func() error { errs = jr.wrapped(ctx, ms); return nil })
	if err == nil && errs != nil && len(errs) != len(ms) {
		err = fmt.Errorf("delayjob: middleware of %s returned %d results for %d messages", jr.job.Name(), len(errs), len(ms))
	}
	if err == nil && errs != nil {
		return errs
	}
	errs = make([]error, len(ms))
	for i := range errs {
		errs[i] = err
	}
	return errs
}
