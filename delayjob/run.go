package delayjob

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"
)

// RunOptions are the options of [Run]. Queue and Jobs are required. A zero field means the default
// given here.
type RunOptions struct {
	Queue Queue      // the caller closes it after Run has returned
	Jobs  []DelayJob // names must differ

	// StopTimeout is how long running handlers may continue when the context of Run ends; 20s. Then
	// their contexts are canceled. Interrupted messages return to the queue, uncharged.
	StopTimeout time.Duration
	// Middleware wraps the executions of all jobs, the first one outermost; none.
	Middleware []Middleware
	// Failures stores dead letters; nil: they stay in the queue and are logged.
	Failures FailureSink
	Observer Observer     // nil: none
	Logger   *slog.Logger // slog.Default()

	// Loader and Consumer are for everything else. Their fields that are also listed above must be
	// zero.
	Loader   LoaderOptions
	Consumer ConsumerOptions
}

// Run starts a [Loader] and a [Consumer] for the jobs and works until ctx ends. Then it stops
// gracefully: it claims nothing more, returns messages that have not started, and waits for running
// handlers as long as StopTimeout allows. It returns when the queue has stored every result, or
// after some seconds if the queue does not answer. What is not stored then runs again elsewhere.
//
// Run returns nil after ctx has ended, and an error only for invalid options, before anything
// starts. The error names the fields. Failures of the queue, of Load and of handlers are logged and
// retried. Any number of processes may run the same jobs on one queue.
func Run(ctx context.Context, o RunOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	o.Logger = cmp.Or(o.Logger, slog.Default())
	l, c := o.Loader, o.Consumer
	l.Observer, l.Logger = o.Observer, o.Logger
	c.Observer, c.Logger = o.Observer, o.Logger
	c.Grace, c.Failures, c.Middleware = o.StopTimeout, o.Failures, o.Middleware

	loader := NewLoader(o.Queue, o.Jobs, l)
	onEmpty := c.OnEmpty
	c.OnEmpty = func() {
		loader.Trigger()
		if onEmpty != nil {
			onEmpty()
		}
	}
	consumer := NewConsumer(o.Queue, o.Jobs, c)

	loaded := make(chan error, 1)
	go func() { loaded <- loader.Run(ctx) }()
	reported := make(chan struct{})
	go func() {
		defer close(reported)
		select {
		case <-ctx.Done():
		case <-loader.Ready():
			o.reportUnknown(ctx)
		}
	}()
	err := consumer.Run(ctx)
	<-reported
	return errors.Join(err, <-loaded)
}

// reportUnknown logs the jobs that have messages in the queue, but no handler in this process. They
// wait until a process with a handler starts.
func (o RunOptions) reportUnknown(ctx context.Context) {
	in, ok := o.Queue.(Inspector)
	if !ok {
		return
	}
	names, err := in.Jobs(ctx)
	if err != nil {
		return // the queue's failures are logged by the consumer
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		return slices.ContainsFunc(o.Jobs, func(j DelayJob) bool { return j.Name() == name })
	})
	if len(names) > 0 {
		o.Logger.WarnContext(ctx, "messages wait for jobs without a handler in this process", "jobs", names)
	}
}

// check returns every fault of the options in one error.
func (o RunOptions) check() error {
	var errs []error
	fault := func(format string, args ...any) {
		errs = append(errs, fmt.Errorf("delayjob: Run: "+format, args...))
	}
	if o.Queue == nil {
		fault("Queue: must not be nil")
	}
	if len(o.Jobs) == 0 {
		fault("Jobs: must not be empty")
	}
	names := map[string]bool{}
	for i, j := range o.Jobs {
		if j == nil {
			fault("Jobs[%d]: must not be nil", i)
			continue
		}
		name := j.Name()
		if err := (Message{Job: name, Key: "any"}).Validate(); err != nil {
			fault("Jobs[%d]: name: must not be empty or contain ':', is %q", i, name)
		}
		if names[name] {
			fault("Jobs[%d]: name: must be unique, %q is used twice", i, name)
		}
		names[name] = true
		if v, ok := j.(interface{ check() error }); ok {
			if err := v.check(); err != nil {
				fault("Jobs[%d]: %w", i, err)
			}
		}
		if cf, ok := j.(Configurer); ok {
			if s := cf.Options().faults(); s != "" {
				fault("options of %s: %s", name, s)
			}
		}
	}
	for name, opts := range o.Consumer.Jobs {
		if !names[name] {
			fault("Consumer.Jobs: there is no job %q", name)
		}
		if s := opts.faults(); s != "" {
			fault("Consumer.Jobs: %s: %s", name, s)
		}
	}
	if o.StopTimeout < 0 {
		fault("StopTimeout: must not be negative, is %v", o.StopTimeout)
	}
	for i, m := range o.Middleware {
		if m == nil {
			fault("Middleware[%d]: must not be nil", i)
		}
	}
	for field, spec := range map[string]string{"Incremental": o.Loader.Incremental, "Full": o.Loader.Full} {
		if spec == "" {
			continue
		}
		if err := CheckSchedule(spec); err != nil {
			fault("Loader.%s: %w", field, err)
		}
	}
	if o.Loader.Observer != nil || o.Loader.Logger != nil {
		fault("Loader: set Observer and Logger of RunOptions instead")
	}
	if c := o.Consumer; c.Observer != nil || c.Logger != nil || c.Failures != nil || c.Middleware != nil || c.Grace != 0 {
		fault("Consumer: set Observer, Logger, Failures, Middleware and StopTimeout of RunOptions instead")
	}
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(errs...)
}

// faults lists the fields that have no meaning, or returns "".
func (o Options) faults() string {
	var fs []string
	negative := func(field string, is bool) {
		if is {
			fs = append(fs, field+" must not be negative")
		}
	}
	negative("Concurrency", o.Concurrency < 0)
	negative("Handlers", o.Handlers < 0)
	negative("PerEntity", o.PerEntity < 0)
	negative("Batch", o.Batch < 0)
	negative("Lease", o.Lease < 0)
	negative("MaxRuntime", o.MaxRuntime < 0)
	negative("Backoff.Base", o.Backoff.Base < 0)
	negative("Backoff.Cap", o.Backoff.Cap < 0)
	negative("Rate", o.Rate < 0)
	return strings.Join(fs, ", ")
}
