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

// A lane is one job in a consumer: how much it may hold, what waits for its handlers, and
// how its handlers run.
type lane struct {
	c       *Consumer
	job     DelayJob
	batch   BatchJob // nil for a plain job
	elastic Elastic  // nil for a job that is none
	opts    Options
	lease   time.Duration    // taken at a time
	in      chan []*delivery // claimed, not begun; a send never blocks, see take
	brk     breaker
	pace    pacer

	mu     sync.Mutex
	free   int        // messages that may still be claimed
	hungry []bool     // by shard: it was refused room and may have more messages
	from   int        // shard to look at first when some becomes free
	busy   int        // handlers of an elastic job that run or wait for a message
	fewer  *sync.Cond // of them
}

// A delivery is one claimed message on its way through a handler.
type delivery struct {
	Message
	lane  *lane
	freed atomic.Bool // it takes no room any more

	// Guarded by leases.mu.
	renew   time.Time // when to extend the lease
	begun   time.Time // zero: waits for a handler
	abandon func()    // ends the handler if the lease is lost; nil in a batch
	lost    bool
}

// overdue tells whether a handler is past its MaxRuntime: the lease is let go.
func (d *delivery) overdue(now time.Time) bool {
	return !d.begun.IsZero() && now.Sub(d.begun) > d.lane.opts.MaxRuntime
}

func newLane(c *Consumer, j DelayJob) *lane {
	l := &lane{c: c, job: j}
	l.batch, _ = j.(BatchJob)
	l.elastic, _ = j.(Elastic)
	if cf, ok := j.(Configurer); ok {
		l.opts = cf.Options()
	}
	l.opts = l.opts.Merge(c.opts.Jobs[j.Name()]).WithDefaults(l.batch != nil)
	l.lease = min(l.opts.Lease, shortLease)
	l.free = l.room()
	l.in = make(chan []*delivery, l.free)
	l.hungry = make([]bool, c.queue.Shards())
	l.pace = pacer{rate: l.opts.Rate}
	l.fewer = sync.NewCond(&l.mu)
	return l
}

// room is how much a lane holds at most: a batch for each handler and one that waits.
func (l *lane) room() int { return (l.opts.handlers() + 1) * l.opts.Batch }

// handlers is how many may run now.
func (l *lane) handlers() int {
	if l.elastic == nil {
		return l.opts.Concurrency
	}
	return min(l.elastic.Handlers(), l.opts.handlers())
}

// claimable is how many messages may be claimed now: none while handlers are busy with nearly all
// they may hold, so that a backlog comes in full batches. l.mu is held.
func (l *lane) claimable() int {
	handlers := l.handlers()
	n := l.free - (l.opts.handlers()-handlers)*l.opts.Batch
	if 2*n < l.opts.Batch || n < (handlers-l.opts.Concurrency)/8 {
		return 0
	}
	return n
}

// reserve takes room for a claim: for what is claimable, and single messages while the breaker probes.
func (l *lane) reserve(shard int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := min(l.claimable(), max(l.opts.Batch, 100))
	if n > 0 && !l.brk.closed() {
		n = 0
		if l.free == l.room() && l.brk.probing() { // one at a time
			n = 1
		}
	}
	l.hungry[shard] = n == 0
	l.free -= n
	return n
}

// take reserves room for up to n messages of a claim that lost its reservation because it was
// slow, and returns for how many there is room. Room is never overdrawn, so whatever is handed
// over fits into the channel.
func (l *lane) take(shard, n int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	fit := min(n, l.free)
	l.free -= fit
	l.hungry[shard] = l.hungry[shard] || fit < n
	return fit
}

// release gives back room and wakes a shard that was refused.
func (l *lane) release(n int) {
	if n == 0 {
		return
	}
	l.mu.Lock()
	l.free += n
	shard := -1
	if l.claimable() > 0 {
		for i := range l.hungry {
			if s := (l.from + i) % len(l.hungry); l.hungry[s] {
				shard, l.hungry[s], l.from = s, false, s+1
				break
			}
		}
	}
	l.mu.Unlock()
	if shard >= 0 {
		l.c.shards[shard].slotFree()
	}
}

// accept holds the leases of claimed messages and queues the first fit of them for the handlers,
// a batch at a time and those that crashed before one by one. The others go back to the queue
// uncharged. It returns the suspects among the first, which the caller has to isolate.
func (l *lane) accept(ds []*delivery, fit int) (suspects []*delivery) {
	l.refuse(ds[fit:], func(int) time.Duration { return 0 })
	if fit == 0 {
		return nil
	}
	l.c.leases.hold(ds[:fit])
	for ds = ds[:fit]; len(ds) > 0; {
		n := 1
		if ds[0].Crashes == 0 {
			for n < min(len(ds), l.opts.Batch) && ds[n].Crashes == 0 {
				n++
			}
		}
		if suspected(ds[0].Message) {
			suspects = append(suspects, ds[0])
		} else {
			l.in <- ds[:n:n]
		}
		ds = ds[n:]
	}
	return suspects
}

// refuse gives claimed messages that take no room back to the queue, uncharged and due again after
// a delay by position. Their leases are held until the queue has them.
func (l *lane) refuse(ds []*delivery, delay func(i int) time.Duration) {
	if len(ds) == 0 {
		return
	}
	l.c.leases.hold(ds)
	for i, d := range ds {
		d.freed.Store(true)
		l.giveBackOne(d, delay(i))
	}
}

// deliver makes deliveries of messages whose leases began at a time.
func (l *lane) deliver(ms []Message, leased time.Time) []*delivery {
	ds := make([]*delivery, len(ms))
	all := make([]delivery, len(ms))
	for i, m := range ms {
		all[i] = delivery{Message: m, lane: l, renew: leased.Add(l.lease / 3)}
		ds[i] = &all[i]
	}
	return ds
}

// work is one handler's loop. After ctx has ended it gives back what has not begun.
func (l *lane) work(ctx, handlers context.Context) {
	for {
		l.begin()
		ds, ok := <-l.in
		if !ok {
			l.end()
			return
		}
		l.run(ctx, handlers, ds)
		l.end()
	}
}

// run handles messages that were claimed together.
func (l *lane) run(ctx, handlers context.Context, ds []*delivery) {
	if l.batch != nil {
		if l.pace.wait(ctx, len(ds)) != nil {
			l.giveBack(ds)
		} else {
			l.runBatch(handlers, ds)
		}
		return
	}
	for i := range ds {
		if l.pace.wait(ctx, 1) != nil {
			l.giveBack(ds[i:])
			return
		}
		l.runOne(handlers, ds[i])
	}
}

// begin waits until one more handler of an elastic job may run.
func (l *lane) begin() {
	if l.elastic == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.busy >= l.handlers() {
		l.fewer.Wait()
	}
	if l.busy++; l.busy < l.handlers() {
		l.fewer.Signal()
	}
}

func (l *lane) end() {
	if l.elastic == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.busy--
	l.fewer.Signal()
}

// drain gives back what waits for handlers when no more comes: they may be busy for long.
func (l *lane) drain() {
	for ds := range l.in {
		l.giveBack(ds)
	}
}

// giveBack returns messages that have not begun to the queue, uncharged and due at once.
func (l *lane) giveBack(ds []*delivery) {
	failpoint.Reach("release.before", l.job.Name())
	for _, d := range ds {
		l.giveBackOne(d, 0)
	}
}

func (l *lane) giveBackOne(d *delivery, delay time.Duration) {
	l.c.opts.Observer.Finished(l.job.Name(), ResultReleased, 0, 0)
	l.acks(d).nack(d, Return{Lease: d.Lease, How: Release, Delay: delay})
}

func (l *lane) runOne(handlers context.Context, d *delivery) {
	ctx, cancel := context.WithTimeout(handlers, l.opts.MaxRuntime)
	defer cancel()
	ctx, abandon := context.WithCancelCause(ctx)
	defer abandon(nil)
	if !l.c.leases.begin(d, func() { abandon(ErrLeaseLost) }) {
		l.release(1)
		return
	}
	begin := time.Now()
	l.started(d)
	err := protect(func() error { return l.job.Execute(ctx, d.Message) })
	l.settle(ctx, []*delivery{d}, []error{err}, time.Since(begin))
}

func (l *lane) runBatch(handlers context.Context, ds []*delivery) {
	ctx, cancel := context.WithTimeout(handlers, l.opts.MaxRuntime)
	defer cancel()
	held := ds[:0]
	for _, d := range ds {
		if l.c.leases.begin(d, nil) {
			held = append(held, d)
		}
	}
	l.release(len(ds) - len(held))
	if len(held) == 0 {
		return
	}
	begin := time.Now()
	ms := make([]Message, len(held))
	for i, d := range held {
		ms[i] = d.Message
		l.started(d)
	}
	errs := l.split(ctx, ms)
	l.settle(ctx, held, errs, time.Since(begin))
}

func (l *lane) started(d *delivery) {
	l.c.opts.Observer.Started(l.job.Name(), l.c.queue.Now().Sub(d.Ready))
}

// split runs a batch and, when it fails as a whole, its halves: one bad message costs
// log2(n) further runs and only itself. A dependency that is down is not searched for.
func (l *lane) split(ctx context.Context, ms []Message) []error {
	var errs []error
	err := protect(func() (err error) { errs, err = l.batch.ExecuteBatch(ctx, ms); return err })
	switch {
	case err == nil && errs == nil:
		return make([]error, len(ms))
	case err == nil && len(errs) == len(ms):
		return errs
	case err == nil:
		err = fmt.Errorf("delayjob: %s returned %d results for %d messages", l.job.Name(), len(errs), len(ms))
	case len(ms) > 1 && ctx.Err() == nil && verdictOf(err).kind != unavailable:
		half := len(ms) / 2
		return append(l.split(ctx, ms[:half]), l.split(ctx, ms[half:])...)
	}
	errs = make([]error, len(ms))
	for i := range errs {
		errs[i] = err
	}
	return errs
}

// settle decides what becomes of each message, all of which were run together.
func (l *lane) settle(ctx context.Context, ds []*delivery, errs []error, took time.Duration) {
	l.c.leases.done(ds)
	obs, now := l.c.opts.Observer, l.c.queue.Now()
	var died []*delivery
	var fs []Failure
	for i, d := range ds {
		v := verdictOf(errs[i])
		if v.kind != 0 && v.kind != drop && errors.Is(context.Cause(ctx), errShutdown) {
			v = verdict{kind: released}
		}
		if v.kind == unavailable && l.brk.charge(d.ID()) {
			v.kind = plain // others succeed: it is this message's fault
		}
		if exhausted := l.opts.MaxAttempts > 0 && d.Attempt >= l.opts.MaxAttempts; exhausted && (v.kind == plain || v.kind == after) {
			v.kind = dead
		}
		r := Return{Lease: d.Lease}
		result := ResultOK
		switch v.kind {
		case 0, drop:
			if v.kind == drop {
				result = ResultDrop
				l.c.opts.Logger.Debug("dropped", "id", d.ID(), "reason", v.Error())
			}
			if l.brk.succeeded(d.ID()) {
				l.opened(false, nil)
			}
			l.acks(d).ack(d)
		case snooze:
			result, r.How, r.Delay = ResultSnooze, Release, v.delay
			l.acks(d).nack(d, r)
		case released:
			result, r.How = ResultReleased, Release
			l.acks(d).nack(d, r)
		case unavailable:
			result, r.How = ResultUnavailable, Release
			if l.brk.failed() {
				l.opened(true, v.err)
			}
			l.acks(d).nack(d, r)
		case dead:
			result = ResultDead
			died = append(died, d)
			fs = append(fs, Failure{Message: d.Message, Error: v.Error(), At: now})
		default:
			result, r.How, r.Delay = ResultRetry, Retry, v.delay
			if v.kind == plain {
				r.Delay = l.opts.Backoff.Delay(d.Attempt)
			}
			l.c.opts.Logger.Warn("failed, trying again", "id", d.ID(), "attempt", d.Attempt, "in", r.Delay, "error", v.Error())
			l.acks(d).nack(d, r)
		}
		obs.Finished(l.job.Name(), result, now.Sub(d.Due), took)
	}
	if len(died) > 0 {
		l.bury(ctx, died, fs)
	}
}

// acks is where the result of a message goes.
func (l *lane) acks(d *delivery) *acks { return l.c.acks[d.Lease.Shard] }

// bury records dead letters first and only then takes them out of the queue: when the record
// cannot be written they come again.
func (l *lane) bury(ctx context.Context, ds []*delivery, fs []Failure) {
	how, delay := Bury, time.Duration(0)
	if l.c.opts.Failures != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), burial)
		defer cancel()
		if err := l.c.opts.Failures.RecordFailures(ctx, fs...); err != nil {
			l.c.opts.Logger.Error("recording dead letters failed; they will be tried again", "messages", len(fs), "error", err)
			how, delay = Release, 5*time.Second
		}
	}
	for i, d := range ds {
		if how == Bury {
			l.c.opts.Logger.Error("dead letter", "id", d.ID(), "attempts", d.Attempt, "error", fs[i].Error)
		}
		l.acks(d).nack(d, Return{Lease: d.Lease, How: how, Delay: delay})
	}
}

// opened tells that the breaker opened or closed.
func (l *lane) opened(open bool, cause error) {
	l.c.opts.Observer.Breaker(l.job.Name(), open)
	if open {
		l.c.opts.Logger.Error("a dependency is down; the job waits for it", "job", l.job.Name(), "error", cause)
		return
	}
	l.c.opts.Logger.Info("the dependency is back", "job", l.job.Name())
	for _, r := range l.c.shards {
		r.slotFree()
	}
}

// pacer spaces executions evenly at a rate.
type pacer struct {
	rate float64 // per second; 0: no limit
	mu   sync.Mutex
	next time.Time
}

// wait returns when n executions may begin, or the error of ctx when it ends before.
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
