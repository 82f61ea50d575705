package delayjob

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"punctual/delayjob/failpoint"
)

// acks sends the results of one shard to the queue. Results that arrive during a call go out with
// the next one, so batches grow with the load and a single result never waits.
type acks struct {
	queue  Queue
	log    *slog.Logger
	wake   chan struct{}
	ctx    context.Context // ends lastAcks after close
	giveUp context.CancelFunc

	mu sync.Mutex
	// stuck means that the current call fails or is slow. Queued results then occupy no room of
	// their job runner.
	stuck  bool
	done   []*delivery
	back   []*delivery
	how    []Return // of back
	over   []*delivery
	next   []Message // of over: successors
	closed bool
}

const (
	ackTries = 8
	ackPause = 250 * time.Millisecond
	lastAcks = 1500 * time.Millisecond // how long a stopping process tries to send its results
)

func newAcks(q Queue, l *slog.Logger) *acks {
	a := &acks{queue: q, log: l, wake: make(chan struct{}, 1)}
	a.ctx, a.giveUp = context.WithCancel(context.Background())
	return a
}

func (a *acks) ack(d *delivery) {
	a.mu.Lock()
	a.done = append(a.done, d)
	a.mu.Unlock()
	a.makeRoom()
	poke(a.wake)
}

func (a *acks) nack(d *delivery, r Return) {
	a.mu.Lock()
	a.back = append(a.back, d)
	a.how = append(a.how, r)
	a.mu.Unlock()
	a.makeRoom()
	poke(a.wake)
}

// replace makes next take the place of a message that is over, in one step, unless its lease is lost.
func (a *acks) replace(d *delivery, next Message) {
	a.mu.Lock()
	a.over = append(a.over, d)
	a.next = append(a.next, next)
	a.mu.Unlock()
	a.makeRoom()
	poke(a.wake)
}

// close makes run return once all results are sent or given up.
func (a *acks) close() {
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	poke(a.wake)
	time.AfterFunc(lastAcks, a.giveUp)
}

func (a *acks) run() {
	defer a.giveUp()
	for range a.wake {
		for {
			a.mu.Lock()
			done, back, how, over, next, closed := a.done, a.back, a.how, a.over, a.next, a.closed
			a.done, a.back, a.how, a.over, a.next = nil, nil, nil, nil, nil
			a.mu.Unlock()
			if len(done)+len(back)+len(over) == 0 {
				if closed {
					return
				}
				break
			}
			ls := make([]Lease, len(done))
			for i, d := range done {
				ls[i] = d.Lease
			}
			if len(done) > 0 {
				failpoint.Reach("ack.before", done[0].Job)
			}
			a.send(done, func(ctx context.Context, at []int) []error { return a.queue.Ack(ctx, pick(ls, at)...) })
			if len(done) > 0 {
				failpoint.Reach("ack.after", done[0].Job)
			}
			a.send(back, func(ctx context.Context, at []int) []error { return a.queue.Nack(ctx, pick(how, at)...) })
			a.send(over, func(ctx context.Context, at []int) []error { return a.succeed(ctx, pick(over, at), pick(next, at)) })
		}
	}
}

// succeed adds the successors of messages whose leases are still held. Another holder plans the
// successor itself: by then the one planned here may replace a run that has not been made.
//
// If the lease is lost in between, the later of the two successors remains, as it has the higher
// version. That skips at most runs that were missed before this call, as it does if no lease is lost.
func (a *acks) succeed(ctx context.Context, over []*delivery, next []Message) []error {
	errs := make([]error, len(over))
	var held []int
	for i, d := range over { // usually one
		if e := a.queue.Extend(ctx, d.runner.lease, d.Lease); e != nil && e[0] != nil {
			errs[i] = e[0]
		} else {
			held = append(held, i)
		}
	}
	if len(held) == 0 {
		return errs
	}
	res, err := a.queue.Add(ctx, pick(next, held)...)
	for j, i := range held {
		if err != nil && (j >= len(res) || res[j] == NotStored) {
			errs[i] = err
		}
	}
	return errs
}

// send makes one call for ds and repeats it for those that a broken connection left open. Results
// that still fail are given up: the lease ends, and the second run finds the work done. A lost
// lease after a repeat is expected, because the first call may have arrived.
func (a *acks) send(ds []*delivery, call func(ctx context.Context, at []int) []error) {
	if len(ds) == 0 {
		return
	}
	at := make([]int, len(ds))
	for i := range at {
		at[i] = i
	}
	for try := 1; ; try++ {
		ctx, cancel := context.WithTimeout(a.ctx, 5*time.Second)
		slow := time.AfterFunc(slowCall, func() { a.failing(ds) })
		errs := call(ctx, at)
		slow.Stop()
		cancel()
		var open []int
		var last error
		for i, err := range errs {
			switch {
			case err == nil:
			case errors.Is(err, ErrLeaseLost):
				if d := ds[at[i]]; try == 1 {
					d.runner.c.opts.Observer.Leases(d.Job, 0, 1)
				}
			default:
				open, last = append(open, at[i]), err
			}
		}
		if len(open) == 0 || try == ackTries || a.ctx.Err() != nil {
			if len(open) > 0 {
				a.log.Error("storing results failed, messages will run again", "messages", len(open), "error", last)
			}
			break
		}
		at = open
		a.failing(ds)
		sleep(a.ctx, ackPause)
	}
	a.finish(ds)
}

// failing releases the room of results that cannot be stored now, and of those that follow. Room is
// for messages that handlers have yet to run, perhaps from other shards. The leases are kept.
func (a *acks) failing(ds []*delivery) {
	a.mu.Lock()
	a.stuck = true
	a.mu.Unlock()
	release(ds)
	a.makeRoom()
}

func (a *acks) makeRoom() {
	a.mu.Lock()
	var waiting []*delivery
	if a.stuck {
		waiting = slices.Concat(a.done, a.back, a.over)
	}
	a.mu.Unlock()
	release(waiting)
}

func (a *acks) finish(ds []*delivery) {
	a.mu.Lock()
	a.stuck = false
	a.mu.Unlock()
	ds[0].runner.c.leases.drop(ds)
	release(ds)
}

func release(ds []*delivery) {
	by := map[*jobRunner]int{}
	for _, d := range ds {
		if d.freed.CompareAndSwap(false, true) {
			by[d.runner]++
		}
	}
	for jr, n := range by {
		jr.release(n)
	}
}

func pick[T any](all []T, at []int) []T {
	if len(at) == len(all) {
		return all
	}
	some := make([]T, len(at))
	for i, j := range at {
		some[i] = all[j]
	}
	return some
}
