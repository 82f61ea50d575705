package delayjob

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A Lock lets one process of all do something. It calls hold if it gets the lock at once,
// keeps the lock until hold returns and then reports true; it ends hold's context when ctx
// ends or the lock is lost. If somebody else has the lock it reports false.
type Lock func(ctx context.Context, hold func(context.Context)) (held bool, err error)

// FallbackOptions tune a Fallback. A zero field means the default given here.
type FallbackOptions struct {
	NewQueue func() Queue  // makes the queue that works in place of the absent one; required
	Health   *Health       // of the queue that is stood in for, see [Consumer.Health]; required
	Lock     Lock          // lets one process at a time work; nil: there is one process
	Loader   LoaderOptions // its Incremental is "@every 1s" and its Full "@every 15s" unless given
	Consumer ConsumerOptions
	After    time.Duration // how long the queue must not have answered; 3s
	Retry    time.Duration // how often the lock is tried while another process works; 500ms
	// Before runs before each full pass of the loader and fails it with its error. It is
	// given the queue that is to be filled. nil: nothing.
	Before func(ctx context.Context, q Queue) error
	// Beside makes what works beside the jobs from the queue that stands in: jobs that the loader
	// loads and the consumer does not run, and what runs those until ctx ends, and returns once
	// nothing runs any more. nil: nothing.
	Beside func(q Queue) (loaded []DelayJob, run func(ctx context.Context))
	Back   func() // called when the queue that answers again has the work back; Loader.Trigger
	Logger *slog.Logger
}

// A Fallback does the work of jobs while their queue does not answer: in one process, from a
// queue in memory that a loader and a consumer of its own serve. When the queue answers
// again it finishes what runs and stops.
//
// Around both changes a message may be run by both sides, as around any fault, which the
// idempotence of the jobs makes harmless.
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
	// fallbackPoll is how often the health is looked at, which costs nothing.
	fallbackPoll = 200 * time.Millisecond
	// fallbackLinger is how long the lock is kept after the work, until those that stand by
	// have noticed as well that the queue is back.
	fallbackLinger = 3 * time.Second
)

// NewFallback returns a Fallback for jobs. It does nothing until Run.
func NewFallback(jobs []DelayJob, o FallbackOptions) *Fallback {
	if o.After == 0 {
		o.After = 3 * time.Second
	}
	if o.Retry == 0 {
		o.Retry = 500 * time.Millisecond
	}
	if o.Loader.Incremental == "" {
		o.Loader.Incremental = "@every 1s"
	}
	if o.Loader.Full == "" {
		o.Loader.Full = "@every 15s"
	}
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

// Run stands by until ctx ends, works while the queue is away, and returns once nothing runs
// any more. The error is always nil.
func (f *Fallback) Run(ctx context.Context) error {
	told := false
	for ctx.Err() == nil {
		if away := f.opts.Health.Away(); away < f.opts.After {
			sleep(ctx, f.rest(away))
			continue
		}
		held, err := f.opts.Lock(ctx, func(held context.Context) { f.standIn(ctx, held) })
		switch {
		case err != nil && ctx.Err() == nil:
			if !told {
				f.opts.Logger.Error("the queue does not answer, and whether another process does its work cannot be seen; trying on", "error", err)
			}
			told = true
		case !held:
			f.markReady() // another process does it
			told = false
		default:
			told = false
		}
		if !held {
			sleep(ctx, f.opts.Retry)
		}
	}
	return nil
}

// rest is how long to leave the health alone: while all is well for After, as the queue must have
// been away for so long anyway. A wake-up every so often would be most of what idling costs.
func (f *Fallback) rest(away time.Duration) time.Duration {
	if away == 0 {
		return max(fallbackPoll, f.opts.After)
	}
	return fallbackPoll
}

// Queue is what this process works from; nil unless it stands in for the queue that is away.
func (f *Fallback) Queue() Queue {
	if w := f.working(); w != nil {
		return w.queue
	}
	return nil
}

// LastPass is when the last complete pass of the loader ended; zero unless this process
// stands in.
func (f *Fallback) LastPass() time.Time {
	if w := f.working(); w != nil {
		return w.loader.LastPass()
	}
	return time.Time{}
}

// Ready is closed when the work of an absent queue was first seen in good hands: everything
// pending is loaded here, or another process has the lock.
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

// standIn works until the queue answers again, the lock is lost (then held ends) or the
// process stops (then both contexts do).
func (f *Fallback) standIn(ctx, held context.Context) {
	queue := f.opts.NewQueue()
	defer queue.Close()
	load := f.opts.Loader
	load.Before = func(ctx context.Context) error { return f.opts.Before(ctx, queue) }
	loaded, beside := f.opts.Beside(queue)
	loader := NewLoader(queue, slices.Concat(f.jobs, loaded), load)
	consumer := NewConsumer(queue, f.jobs, f.opts.Consumer)

	begin := time.Now()
	f.opts.Logger.Warn("the queue does not answer; this process does its work from memory", "for", f.opts.Health.Away().Round(time.Millisecond))
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
	f.work.Store(nil) // what is scheduled from here on is not for this queue
	stop()
	if err == nil {
		f.opts.Back()
	}
	running.Wait()
	consumer.closeBreakers()

	took := time.Since(begin).Round(time.Millisecond)
	switch {
	case err == nil:
		f.opts.Logger.Info("the queue answers again and has its work back", "after", took)
		sleep(held, fallbackLinger)
	case ctx.Err() != nil:
		f.opts.Logger.Info("the process stops; what the queue does not do is left to others", "after", took)
	default:
		f.opts.Logger.Warn("the work from memory ends before its time", "after", took, "error", err)
	}
}

var errLockLost = errors.New("delayjob: the lock of the fall-back was lost")

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
