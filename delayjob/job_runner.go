package delayjob

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"punctual/delayjob/failpoint"
)

// A jobRunner runs the handlers of one job in a consumer and limits how many messages it holds.
type jobRunner struct {
	c       *Consumer
	job     DelayJob
	batch   BatchJob  // nil for a plain job
	elastic Elastic   // nil if the job is not Elastic
	chained chained   // nil if messages have no successors
	wrapped Handler   // with middleware; nil: none
	limit   *entities // nil: no limit per entity
	opts    Options
	lease   time.Duration    // taken at a time
	in      chan []*delivery // claimed, not started; a send never blocks, see take
	breaker breaker
	pace    pacer

	mu        sync.Mutex
	free      int        // messages that may still be claimed
	refused   []bool     // by shard: was refused room and may have more messages
	nextShard int        // first to check when room becomes free
	busy      int        // handlers of an elastic job that run or wait for a message
	slotFreed *sync.Cond // signals that busy fell
}

// A delivery is one claimed message on its way through a handler.
type delivery struct {
	Message
	runner *jobRunner
	freed  atomic.Bool // occupies no room
	ctx    messageContext

	// Guarded by leases.mu.
	renew   time.Time // when to extend the lease
	begun   time.Time // zero: waits for a handler
	abandon func()    // cancels the handler if the lease is lost; nil in a batch
	lost    bool
}

// overdue reports whether a handler is past its MaxRuntime, so that its lease is no longer renewed.
func (d *delivery) overdue(now time.Time) bool {
	return !d.begun.IsZero() && now.Sub(d.begun) > d.runner.opts.MaxRuntime
}

func newJobRunner(c *Consumer, j DelayJob) *jobRunner {
	jr := &jobRunner{c: c, job: j}
	jr.batch, _ = j.(BatchJob)
	jr.elastic, _ = j.(Elastic)
	jr.chained, _ = j.(chained)
	jr.wrapped = jr.wrap(c.opts.Middleware)
	if cf, ok := j.(Configurer); ok {
		jr.opts = cf.Options()
	}
	jr.opts = jr.opts.Merge(c.opts.Jobs[j.Name()]).WithDefaults(jr.batch != nil)
	if jr.opts.PerEntity > 0 {
		jr.limit = newEntities(jr.opts.PerEntity)
	}
	jr.lease = min(jr.opts.Lease, shortLease)
	jr.free = jr.room()
	jr.in = make(chan []*delivery, jr.free)
	jr.refused = make([]bool, c.queue.Shards())
	jr.pace = pacer{rate: jr.opts.Rate}
	jr.slotFreed = sync.NewCond(&jr.mu)
	return jr
}

// room returns how many messages a job runner holds at most: a batch per handler, and one that waits.
func (jr *jobRunner) room() int { return (jr.opts.handlers() + 1) * jr.opts.Batch }

func (jr *jobRunner) handlers() int {
	if jr.elastic == nil {
		return jr.opts.Concurrency
	}
	return min(jr.elastic.Handlers(), jr.opts.handlers())
}

// claimable returns how many messages may be claimed now: none while handlers hold nearly all they
// can, so that a backlog arrives in full batches. jr.mu is held.
func (jr *jobRunner) claimable() int {
	handlers := jr.handlers()
	n := jr.free - (jr.opts.handlers()-handlers)*jr.opts.Batch
	if 2*n < jr.opts.Batch || n < (handlers-jr.opts.Concurrency)/8 {
		return 0
	}
	return n
}

// reserve reserves room for a claim: what is claimable, or one message while the breaker probes.
func (jr *jobRunner) reserve(shard int) int {
	jr.mu.Lock()
	defer jr.mu.Unlock()
	n := min(jr.claimable(), max(jr.opts.Batch, 100))
	if n > 0 && !jr.breaker.closed() {
		n = 0
		if jr.free == jr.room() && jr.breaker.probing() {
			n = 1
		}
	}
	jr.refused[shard] = n == 0
	jr.free -= n
	return n
}

// take reserves room for up to n messages of a slow claim that lost its reservation, and returns
// how many fit. Room is never overdrawn, so every message fits into the channel.
func (jr *jobRunner) take(shard, n int) int {
	jr.mu.Lock()
	defer jr.mu.Unlock()
	fit := min(n, jr.free)
	jr.free -= fit
	jr.refused[shard] = jr.refused[shard] || fit < n
	return fit
}

func (jr *jobRunner) release(n int) {
	if n == 0 {
		return
	}
	jr.mu.Lock()
	jr.free += n
	shard := -1
	if jr.claimable() > 0 {
		for i := range jr.refused {
			if s := (jr.nextShard + i) % len(jr.refused); jr.refused[s] {
				shard, jr.refused[s], jr.nextShard = s, false, s+1
				break
			}
		}
	}
	jr.mu.Unlock()
	if shard >= 0 {
		jr.c.shards[shard].slotFree()
	}
}

// accept holds the leases of claimed messages and queues the first fit of them for the handlers in
// batches. Messages that crashed before are queued one by one. The others return to the message
// queue, uncharged. The caller must isolate the suspects that accept returns.
func (jr *jobRunner) accept(ds []*delivery, fit int) (suspects []*delivery) {
	jr.refuse(ds[fit:], func(int) time.Duration { return 0 })
	if fit == 0 {
		return nil
	}
	jr.c.leases.hold(ds[:fit])
	for ds = ds[:fit]; len(ds) > 0; {
		n := 1
		if ds[0].Crashes == 0 {
			for n < min(len(ds), jr.opts.Batch) && ds[n].Crashes == 0 {
				n++
			}
		}
		if suspected(ds[0].Message) {
			suspects = append(suspects, ds[0])
		} else {
			jr.in <- ds[:n:n]
		}
		ds = ds[n:]
	}
	return suspects
}

// refuse returns claimed messages without room to the queue, uncharged and due after delay by
// position. Their leases are held until the queue has them.
func (jr *jobRunner) refuse(ds []*delivery, delay func(i int) time.Duration) {
	if len(ds) == 0 {
		return
	}
	jr.c.leases.hold(ds)
	for i, d := range ds {
		d.freed.Store(true)
		jr.giveBackOne(d, delay(i))
	}
}

func (jr *jobRunner) deliveries(ms []Message, leased time.Time) []*delivery {
	ds := make([]*delivery, len(ms))
	all := make([]delivery, len(ms))
	for i, m := range ms {
		all[i] = delivery{Message: m, runner: jr, renew: leased.Add(jr.lease / 3)}
		ds[i] = &all[i]
	}
	return ds
}

// work is the loop of one handler. After ctx has ended it returns what has not started.
func (jr *jobRunner) work(ctx, handlers context.Context) {
	for {
		jr.begin()
		ds, ok := <-jr.in
		if !ok {
			jr.end()
			return
		}
		if jr.limit == nil {
			jr.run(ctx, handlers, ds)
		} else {
			jr.runLimited(ctx, handlers, ds)
		}
		jr.end()
	}
}

func (jr *jobRunner) run(ctx, handlers context.Context, ds []*delivery) {
	if jr.batch != nil {
		if jr.pace.wait(ctx, len(ds)) != nil {
			jr.giveBack(ds)
		} else {
			jr.runBatch(handlers, ds)
		}
		return
	}
	for i := range ds {
		if jr.pace.wait(ctx, 1) != nil {
			jr.giveBack(ds[i:])
			return
		}
		jr.runOne(handlers, ds[i])
	}
}

// begin waits until one more handler of an elastic job may run.
func (jr *jobRunner) begin() {
	if jr.elastic == nil {
		return
	}
	jr.mu.Lock()
	defer jr.mu.Unlock()
	for jr.busy >= jr.handlers() {
		jr.slotFreed.Wait()
	}
	if jr.busy++; jr.busy < jr.handlers() {
		jr.slotFreed.Signal()
	}
}

func (jr *jobRunner) end() {
	if jr.elastic == nil {
		return
	}
	jr.mu.Lock()
	defer jr.mu.Unlock()
	jr.busy--
	jr.slotFreed.Signal()
}

// drain returns the messages that wait for handlers of a stopping consumer: the handlers may be
// busy for long.
func (jr *jobRunner) drain() {
	for ds := range jr.in {
		jr.giveBack(ds)
	}
	if jr.limit != nil {
		jr.giveBack(jr.limit.unpark())
	}
}

// giveBack returns messages that have not started to the queue, uncharged and due at once.
func (jr *jobRunner) giveBack(ds []*delivery) {
	failpoint.Reach("release.before", jr.job.Name())
	for _, d := range ds {
		jr.giveBackOne(d, 0)
	}
}

func (jr *jobRunner) giveBackOne(d *delivery, delay time.Duration) {
	jr.c.opts.Observer.Finished(jr.job.Name(), ResultReleased, 0, 0)
	jr.acks(d).nack(d, Return{Lease: d.Lease, How: Release, Delay: delay})
}

func (jr *jobRunner) runOne(handlers context.Context, d *delivery) {
	ctx, cancel := context.WithTimeout(handlers, jr.opts.MaxRuntime)
	defer cancel()
	ctx, abandon := context.WithCancelCause(ctx)
	defer abandon(nil)
	if !jr.c.leases.begin(d, func() { abandon(ErrLeaseLost) }) {
		release([]*delivery{d})
		return
	}
	d.ctx = messageContext{ctx, &d.Message}
	ctx = &d.ctx
	begin := time.Now()
	jr.started(d)
	var errs []error
	switch {
	case jr.chained != nil && jr.opts.MaxAttempts > 0 && d.Attempt > jr.opts.MaxAttempts:
		errs = []error{Dead(errHolderDied)}
	case jr.wrapped != nil:
		errs = jr.handle(ctx, []Message{d.Message})
	default:
		errs = []error{jr.execute(ctx, d.Message)}
	}
	jr.settle(ctx, []*delivery{d}, errs, time.Since(begin))
}

func (jr *jobRunner) runBatch(handlers context.Context, ds []*delivery) {
	ctx, cancel := context.WithTimeout(handlers, jr.opts.MaxRuntime)
	defer cancel()
	held := make([]*delivery, 0, len(ds)) // ds belongs to the caller
	for _, d := range ds {
		if jr.c.leases.begin(d, nil) {
			held = append(held, d)
		} else {
			release([]*delivery{d})
		}
	}
	if len(held) == 0 {
		return
	}
	begin := time.Now()
	ms := make([]Message, len(held))
	for i, d := range held {
		ms[i] = d.Message
		jr.started(d)
	}
	var errs []error
	if jr.wrapped != nil {
		errs = jr.handle(ctx, ms)
	} else {
		errs = jr.split(ctx, ms)
	}
	jr.settle(ctx, held, errs, time.Since(begin))
}

func (jr *jobRunner) started(d *delivery) {
	jr.c.opts.Observer.Started(jr.job.Name(), jr.c.queue.Now().Sub(d.Ready))
}

// split runs a batch and, if it fails as a whole, its halves. One bad message costs log2(n) more
// runs and fails alone. If a dependency is down, the batch is not split.
func (jr *jobRunner) split(ctx context.Context, ms []Message) []error {
	var errs []error
	err := protect(func() (err error) { errs, err = jr.batch.ExecuteBatch(ctx, ms); return err })
	switch {
	case err == nil && errs == nil:
		return make([]error, len(ms))
	case err == nil && len(errs) == len(ms):
		return errs
	case err == nil:
		err = fmt.Errorf("delayjob: %s returned %d results for %d messages", jr.job.Name(), len(errs), len(ms))
	case len(ms) > 1 && ctx.Err() == nil && outcomeOf(err).kind != unavailable:
		half := len(ms) / 2
		return append(jr.split(ctx, ms[:half]), jr.split(ctx, ms[half:])...)
	}
	errs = make([]error, len(ms))
	for i := range errs {
		errs[i] = err
	}
	return errs
}

// settle stores the result of each message of one run.
func (jr *jobRunner) settle(ctx context.Context, ds []*delivery, errs []error, took time.Duration) {
	jr.c.leases.done(ds)
	obs, now := jr.c.opts.Observer, jr.c.queue.Now()
	var died []*delivery
	var fs []Failure
	for i, d := range ds {
		o := outcomeOf(errs[i])
		if o.kind != 0 && o.kind != drop && errors.Is(context.Cause(ctx), errShutdown) {
			o = outcome{kind: released}
		}
		if o.kind == unavailable && jr.breaker.charge(d.ID()) {
			o.kind = plain // others succeed, so the fault lies with the message
		}
		if exhausted := jr.opts.MaxAttempts > 0 && d.Attempt >= jr.opts.MaxAttempts; exhausted && (o.kind == plain || o.kind == after) {
			o.kind = dead
		}
		r := Return{Lease: d.Lease}
		result := ResultOK
		switch o.kind {
		case 0, drop:
			if o.kind == drop {
				result = ResultDrop
				jr.c.opts.Logger.Debug("message dropped", "id", d.ID(), "reason", o.Error())
			}
			if jr.breaker.succeeded(d.ID()) {
				jr.opened(false, nil)
			}
			jr.finish(d, errs[i], now)
		case snooze:
			result, r.How, r.Delay = ResultSnooze, Release, o.delay
			jr.acks(d).nack(d, r)
		case released:
			result, r.How = ResultReleased, Release
			jr.acks(d).nack(d, r)
		case unavailable:
			result, r.How = ResultUnavailable, Release
			if jr.breaker.failed() {
				jr.opened(true, o.err)
			}
			jr.acks(d).nack(d, r)
		case dead:
			result = ResultDead
			died = append(died, d)
			fs = append(fs, Failure{Message: d.Message, Error: o.Error(), At: now})
		default:
			result, r.How, r.Delay = ResultRetry, Retry, o.delay
			if o.kind == plain {
				r.Delay = jr.opts.Backoff.Delay(d.Attempt)
			}
			jr.c.opts.Logger.Warn("job failed, retrying", "id", d.ID(), "attempt", d.Attempt, "in", r.Delay, "error", o.Error())
			jr.acks(d).nack(d, r)
		}
		obs.Finished(jr.job.Name(), result, now.Sub(d.Due), took)
	}
	if len(died) > 0 {
		jr.bury(ctx, died, fs)
	}
}

func (jr *jobRunner) acks(d *delivery) *acks { return jr.c.acks[d.Lease.Shard] }

// bury records dead letters before it takes them out of the queue. If the record fails, they are
// retried.
func (jr *jobRunner) bury(ctx context.Context, ds []*delivery, fs []Failure) {
	how, delay := Bury, time.Duration(0)
	if jr.c.opts.Failures != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
		defer cancel()
		if err := jr.c.opts.Failures.RecordFailures(ctx, fs...); err != nil {
			jr.c.opts.Logger.Error("recording dead letters failed, retrying", "messages", len(fs), "error", err)
			how, delay = Release, 5*time.Second
		}
	}
	for i, d := range ds {
		if how == Bury {
			jr.c.opts.Logger.Error("dead letter", "id", d.ID(), "attempts", d.Attempt, "error", fs[i].Error)
			if jr.chained != nil {
				jr.finish(d, nil, jr.c.queue.Now())
				continue
			}
		}
		jr.acks(d).nack(d, Return{Lease: d.Lease, How: how, Delay: delay})
	}
}

func (jr *jobRunner) opened(open bool, cause error) {
	jr.c.opts.Observer.Breaker(jr.job.Name(), open)
	if open {
		jr.c.opts.Logger.Error("dependency unavailable, job backing off", "job", jr.job.Name(), "error", cause)
		return
	}
	jr.c.opts.Logger.Info("dependency available again", "job", jr.job.Name())
	for _, s := range jr.c.shards {
		s.slotFree()
	}
}

type pacer struct {
	rate float64 // per second; 0: no limit
	mu   sync.Mutex
	next time.Time
}

// wait returns when n executions may begin, or with the error of ctx when it ends.
func (p *pacer) wait(ctx context.Context, n int) error {
	if p.rate <= 0 {
		return ctx.Err()
	}
	p.mu.Lock()
	now := time.Now()
	if p.next.Before(now) {
		p.next = now
	}
	at := p.next
	p.next = p.next.Add(time.Duration(float64(n) / p.rate * float64(time.Second)))
	p.mu.Unlock()
	if d := at.Sub(now); d > 0 {
		sleep(ctx, d)
	}
	return ctx.Err()
}
