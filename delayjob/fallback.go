package delayjob

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A Lock lets one of several processes work. It calls hold if the lock is free, keeps the lock
// until hold returns, and then reports true. It ends hold's context when ctx ends or the lock is
// lost. It reports false if another process has the lock.
type Lock func(ctx context.Context, hold func(context.Context)) (held bool, err error)

// FallbackOptions tune a Fallback. A zero field means the default given here.
type FallbackOptions struct {
	NewQueue func() Queue  // creates the queue that replaces the unavailable one; required
	Health   *Health       // of the replaced queue, see [Consumer.Health]; required
	Lock     Lock          // lets one process at a time work; nil: there is only one process
	Loader   LoaderOptions // with Incremental "@every 1s" and Full "@every 15s" by default
	Consumer ConsumerOptions
	// Before runs before each full pass of the loader; its error fails the pass. q is the queue to
	// be filled. nil: nothing.
	Before func(ctx context.Context, q Queue) error
	// Beside returns jobs that the loader loads but the consumer does not run, and a function that
	// runs them from q. run returns after ctx has ended and all of them have stopped. nil: nothing.
	Beside func(q Queue) (loaded []DelayJob, run func(ctx context.Context))
	// Back is called when the queue answers again and the fallback stops. Use Loader.Trigger.
	Back   func()
	Logger *slog.Logger
}

// A Fallback runs jobs while their queue does not answer. One process works from a queue in memory
// with a loader and a consumer of its own. When the queue answers again, it finishes running work
// and stops.
//
// Around both changes, a message may run on both sides. Jobs are idempotent, so this is harmless.
type Fallback struct {
	jobs []DelayJob
	opts FallbackOptions

	work      atomic.Pointer[fallbackWork] // nil: idle
	ready     chan struct{}
	markReady func()
}

type fallbackWork struct {
	queue  Queue
	loader *Loader
}

const (
	// fallbackPoll is the time between health checks, which cost nothing.
	fallbackPoll = 200 * time.Millisecond

	fallbackAfter = 3 * time.Second        // how long the queue must be unavailable
	fallbackRetry = 500 * time.Millisecond // time between attempts to get the lock
	// fallbackLinger is how long the lock is kept afterward, until waiting processes have noticed
	// that the queue is available.
	fallbackLinger = 3 * time.Second
)

// NewFallback returns a Fallback for jobs. Call Run to start it.
func NewFallback(jobs []DelayJob, o FallbackOptions) *Fallback {
	o.Loader.Incremental = cmp.Or(o.Loader.Incremental, "@every 1s")
	o.Loader.Full = cmp.Or(o.Loader.Full, "@every 15s")
	if o.Lock == nil {
		o.Lock = func(ctx context.Context, hold func(context.Context)) (bool, error) { hold(ctx); return true, nil }
	}
	if o.Before == nil {
		o.Before = func(context.Context, Queue) error { return nil }
	}
	if o.Beside == nil {
		o.Beside = func(Queue) ([]DelayJob, func(context.Context)) { return nil, func(context.Context) {} }
	}
	if o.Back == nil {
		o.Back = func() {}
	}
	_, o.Logger = orDefaults(nil, o.Logger)
	f := &Fallback{jobs: jobs, opts: o, ready: make(chan struct{})}
	f.markReady = sync.OnceFunc(func() { close(f.ready) })
	return f
}

// Run waits until the queue is unavailable, works in its place, and repeats this until ctx ends. It
// returns once nothing runs. The error is always nil.
func (f *Fallback) Run(ctx context.Context) error {
	warned := false
	for ctx.Err() == nil {
		if away := f.opts.Health.Away(); away < fallbackAfter {
			sleep(ctx, f.rest(away))
			continue
		}
		held, err := f.opts.Lock(ctx, func(held context.Context) { f.standIn(ctx, held) })
		switch {
		case err != nil && ctx.Err() == nil:
			if !warned {
				f.opts.Logger.Error("queue unavailable, fallback lock failed, retrying", "error", err)
			}
			warned = true
		case !held:
			f.markReady() // another process does the work
			warned = false
		default:
			warned = false
		}
		if !held {
			sleep(ctx, fallbackRetry)
		}
	}
	return nil
}

// rest returns the time until the next health check. An idle process wakes only once per After,
// because the wake-ups would be most of its cost.
func (f *Fallback) rest(away time.Duration) time.Duration {
	if away == 0 {
		return max(fallbackPoll, fallbackAfter)
	}
	return fallbackPoll
}

// Queue returns the queue that this process works from; nil unless it works as a fallback.
func (f *Fallback) Queue() Queue {
	if w := f.working(); w != nil {
		return w.queue
	}
	return nil
}

// LastPass returns when the last complete pass of the loader ended; zero unless this process works
// as a fallback.
func (f *Fallback) LastPass() time.Time {
	if w := f.working(); w != nil {
		return w.loader.LastPass()
	}
	return time.Time{}
}

// Ready is closed when the work of an unavailable queue is first covered: this process has loaded
// all pending messages, or another process has the lock.
func (f *Fallback) Ready() <-chan struct{} {
	if f == nil {
		return nil
	}
	return f.ready
}

func (f *Fallback) working() *fallbackWork {
	if f == nil {
		return nil
	}
	return f.work.Load()
}

// standIn works until the queue answers again, the lock is lost (held ends) or the process stops
// (both contexts end).
func (f *Fallback) standIn(ctx, held context.Context) {
	queue := f.opts.NewQueue()
	defer queue.Close()
	load := f.opts.Loader
	load.Before = func(ctx context.Context) error { return f.opts.Before(ctx, queue) }
	loaded, beside := f.opts.Beside(queue)
	loader := NewLoader(queue, slices.Concat(f.jobs, loaded), load)
	consumer := NewConsumer(queue, f.jobs, f.opts.Consumer)

	begin := time.Now()
	f.opts.Logger.Warn("queue unavailable, working from memory", "for", f.opts.Health.Away().Round(time.Millisecond))
	run, stop := context.WithCancel(held)
	defer stop()
	var running sync.WaitGroup
	failed := make(chan error, 1)
	running.Go(func() { _ = consumer.Run(run) })
	running.Go(func() { beside(run) })
	running.Go(func() {
		if err := loader.Run(run); err != nil {
			failed <- err
		}
	})
	f.work.Store(&fallbackWork{queue, loader})
	err := f.watch(held, loader, failed)
	f.work.Store(nil) // later messages are not for this queue
	stop()
	if err == nil {
		f.opts.Back()
	}
	running.Wait()
	consumer.closeBreakers()

	took := time.Since(begin).Round(time.Millisecond)
	switch {
	case err == nil:
		f.opts.Logger.Info("queue available again, fallback stopped", "after", took)
		sleep(held, fallbackLinger)
	case ctx.Err() != nil:
		f.opts.Logger.Info("fallback stopped, process shutting down", "after", took)
	default:
		f.opts.Logger.Warn("fallback ended early, retrying", "after", took, "error", err)
	}
}

var errLockLost = errors.New("delayjob: fallback lock lost")

// watch returns nil when the queue answers again.
func (f *Fallback) watch(held context.Context, loader *Loader, failed <-chan error) error {
	poll := time.NewTicker(fallbackPoll)
	defer poll.Stop()
	loaded := loader.Ready()
	for {
		select {
		case <-held.Done():
			return errLockLost
		case err := <-failed:
			return err
		case <-loaded:
			loaded = nil
			f.markReady()
		case <-poll.C:
			if f.opts.Health.Away() < fallbackPoll {
				return nil
			}
		}
	}
}
