package delayjob

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime/debug"
	"sync"
	"time"

	"punctual/delayjob/failpoint"
)

// ConsumerOptions tune a Consumer. A zero field means the default given here.
type ConsumerOptions struct {
	Jobs       map[string]Options // by job name; override the job's own Options field by field
	SafetyPoll time.Duration      // how long hints are trusted, +-20 %, before all shards are looked at; 1s
	Grace      time.Duration      // how long running handlers may go on when Run's context ends; 20s
	Failures   FailureSink        // keeps dead letters; nil: they stay in the queue and are logged
	OnEmpty    func()             // called when a shard shows no complete load or a subscription was restored; Loader.Trigger
	// Paused tells which jobs are paused, for when the queue may have forgotten it: while a shard
	// shows no complete load, and for some seconds after it did not answer. What was claimed of
	// them is given back. nil: none is.
	Paused   func(ctx context.Context) (map[string]bool, error)
	Observer Observer
	Logger   *slog.Logger // slog.Default()
}

// A FailureSink keeps dead letters where a flush of the queue cannot lose them.
type FailureSink interface {
	RecordFailures(ctx context.Context, fs ...Failure) error
}

// Failure is a message that died.
type Failure struct {
	Message
	Error string
	At    time.Time
}

// A Consumer claims due messages and gives each to the job of its name. Per job at most
// Concurrency handlers run at once, and only what they can take is claimed: a backlog stays
// in the queue. A slow job never delays another: a claim does not wait for handlers, and messages
// for which there is no room after all go back to the queue at once, without a charge.
//
// It leases messages for a short time and extends the leases of what it holds, so that the
// messages of a process that dies are run by another within three seconds.
type Consumer struct {
	queue  Queue
	opts   ConsumerOptions
	lanes  []*lane
	byJob  map[string]*lane
	shards []*runner
	leases *leases
	acks   []*acks // by shard: one that does not answer holds up no other
	health Health

	background sync.WaitGroup // work for a claim that its runner does not wait for
}

// NewConsumer returns a consumer for jobs. It does nothing until Run.
func NewConsumer(q Queue, jobs []DelayJob, o ConsumerOptions) *Consumer {
	if o.SafetyPoll == 0 {
		o.SafetyPoll = time.Second
	}
	if o.Grace == 0 {
		o.Grace = 20 * time.Second
	}
	if o.OnEmpty == nil {
		o.OnEmpty = func() {}
	}
	o.Observer, o.Logger = orDefaults(o.Observer, o.Logger)
	c := &Consumer{queue: q, opts: o, byJob: map[string]*lane{}}
	c.leases = newLeases(q, o.Observer, o.Logger)
	for i := range q.Shards() {
		c.acks = append(c.acks, newAcks(q, o.Logger))
		c.shards = append(c.shards, &runner{c: c, shard: i, wake: make(chan struct{}, 1)})
	}
	for _, j := range jobs {
		l := newLane(c, j)
		c.lanes = append(c.lanes, l)
		c.byJob[j.Name()] = l
	}
	return c
}

// Health tells whether the queue answers the consumer's claims.
func (c *Consumer) Health() *Health { return &c.health }

// Run works until ctx ends. Then it claims nothing more, gives back at once what has not begun, lets
// running handlers finish within Grace, cancels those that do not, and returns when every
// result is in the queue, or after some seconds if that does not answer. No attempt is charged
// for what it interrupts.
func (c *Consumer) Run(ctx context.Context) error {
	handlers, cancelHandlers := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancelHandlers(nil)
	keep, stopKeeping := context.WithCancel(handlers)
	defer stopKeeping()

	var claiming, running, keeping sync.WaitGroup
	keeping.Go(func() { c.leases.run(keep) })
	for _, a := range c.acks {
		keeping.Go(a.run)
	}
	for _, l := range c.lanes {
		for range l.opts.handlers() {
			running.Go(func() { l.work(ctx, handlers) })
		}
	}
	claiming.Go(func() { c.listen(ctx) })
	if p, ok := c.queue.(Poller); ok {
		claiming.Go(func() { c.poll(ctx, p) })
	}
	for _, r := range c.shards {
		claiming.Go(func() { r.run(ctx) })
	}

	<-ctx.Done()
	grace := time.AfterFunc(c.opts.Grace, func() { cancelHandlers(errShutdown) })
	claiming.Wait()
	c.background.Wait()
	for _, l := range c.lanes {
		close(l.in)
		running.Go(l.drain)
	}
	running.Wait()
	grace.Stop()
	for _, a := range c.acks {
		a.close()
	}
	stopKeeping()
	keeping.Wait()
	return nil
}

const burial = 10 * time.Second // how long a database may take to record dead letters

var errShutdown = errors.New("delayjob: the consumer stops")

// listen hands the queue's hints to the runners and subscribes again when they end.
func (c *Consumer) listen(ctx context.Context) {
	failures := 0
	for ctx.Err() == nil {
		hints, err := c.queue.Wake(ctx)
		if err != nil {
			if failures++; ctx.Err() == nil && failures == 1 {
				c.opts.Logger.Warn("no wake-up hints; polling meanwhile", "error", err)
			}
			sleep(ctx, time.Second)
			continue
		}
		if failures > 0 {
			failures = 0
			c.opts.OnEmpty() // for hints of what nobody was told
		}
		for _, r := range c.shards {
			r.hint(time.Time{}) // what was added since the last claim, before the subscription
		}
		for h := range hints {
			if h.Due.IsZero() {
				c.opts.OnEmpty()
			}
			if h.Shard >= 0 && h.Shard < len(c.shards) {
				c.shards[h.Shard].hint(h.Due)
			}
		}
	}
}

// A runner claims what is due in one shard and waits for the next due time.
type runner struct {
	c     *Consumer
	shard int
	doubt time.Time     // until then the shard may not know what is paused
	wake  chan struct{} // one slot: look at the fields below

	mu     sync.Mutex
	hinted bool
	due    time.Time // earliest hint not yet looked at
	slot   bool      // a lane that this shard may have more for can take some
	head   time.Time // what wait waits for (local clock); zero: nothing, or it does not wait
}

// hint notes that the head became due at t; zero: unknown.
func (r *runner) hint(t time.Time) {
	r.mu.Lock()
	if !r.hinted || t.Before(r.due) {
		r.due = t
	}
	r.hinted = true
	r.mu.Unlock()
	poke(r.wake)
}

func (r *runner) slotFree() {
	r.mu.Lock()
	r.slot = true
	r.mu.Unlock()
	poke(r.wake)
}

// run claims whenever there may be something. After a failure it first asks for nothing: a server
// that does not answer must not keep room from the other shards, nor find, when it goes on,
// claims for whose messages nobody waits any more.
func (r *runner) run(ctx context.Context) {
	failures, answers := 0, true
	for ctx.Err() == nil {
		next, err := r.claim(ctx, answers)
		if err != nil {
			answers = false
			if failures++; ctx.Err() == nil && failures == 1 {
				r.c.opts.Logger.Warn("claiming failed; trying on", "shard", r.shard, "error", err)
			}
			sleep(ctx, min(time.Second, 50*time.Millisecond<<min(failures, 5)))
			continue
		}
		if !answers {
			answers = true
			continue
		}
		if failures > 0 {
			r.c.opts.Logger.Info("claiming works again", "shard", r.shard, "failures", failures)
			failures = 0
			r.doubt = time.Now().Add(doubtful)
			r.c.opts.OnEmpty() // for what was added in vain
		}
		r.wait(ctx, next)
	}
}

// slowCall is how long a claim keeps the room that it reserved, or a result the room of its
// message, from the other shards. A claim that returns later takes the room that is left then.
const slowCall = 250 * time.Millisecond

// slowAnswer is the longest claim that may make its runner come late for the next one by as much.
const slowAnswer = 20 * time.Millisecond

// claim leases what is due and what the lanes have room for, or nothing, and hands it over to
// the lanes. Nothing in it waits for a handler. It returns when the next message is due (local
// clock; zero: nothing is left).
func (r *runner) claim(ctx context.Context, some bool) (next time.Time, err error) {
	want := make([]Want, len(r.c.lanes))
	for i, l := range r.c.lanes {
		want[i] = Want{Job: l.job.Name(), Lease: l.lease, MaxAttempts: l.opts.MaxAttempts}
		if some {
			want[i].Limit = l.reserve(r.shard)
		}
	}
	slow := time.AfterFunc(slowCall, func() {
		for i, l := range r.c.lanes {
			l.release(want[i].Limit)
		}
	})
	begin := time.Now()
	r.c.health.asked(r.shard)
	got, err := r.c.queue.Claim(ctx, r.shard, want)
	if err == nil {
		r.c.health.answered(r.shard)
	}
	end := time.Now()
	released := !slow.Stop()
	r.c.opts.Observer.Claimed(r.shard, len(got.Messages), end.Sub(begin), err)

	paused := r.paused(ctx, got)
	leased, ms := r.renewLate(ctx, got.Messages, begin)
	var suspects []*delivery
	for i, l := range r.c.lanes {
		n := 0
		for n < len(ms) && ms[n].Job == want[i].Job {
			n++
		}
		if n > 0 {
			failpoint.Reach("claim.after", want[i].Job)
		}
		ds := l.deliver(ms[:n], leased)
		ms = ms[n:]
		fit := n
		if paused[want[i].Job] {
			fit = 0
			l.refuse(ds, spread)
			ds = nil
		} else if released {
			fit = l.take(r.shard, n)
		}
		if !released {
			l.release(want[i].Limit - fit)
		}
		suspects = append(suspects, l.accept(ds, fit)...)
	}
	if len(suspects) > 0 {
		r.c.background.Go(func() { r.isolate(suspects) })
	}
	if err != nil {
		return time.Time{}, err
	}
	if !got.Epoch {
		r.c.opts.OnEmpty()
	}
	if len(got.Dead) > 0 {
		r.c.background.Go(func() { r.c.bury(ctx, got.Dead, got.Now) })
	}
	if !got.Next.IsZero() {
		read := end // when the queue read its clock
		if end.Sub(begin) > slowAnswer {
			read = begin // better too early by the time the answer took than too late
		}
		next = read.Add(got.Next.Sub(got.Now))
	}
	return next, nil
}

// renewLate extends the leases of a claim that took most of one, before the next claim of this
// shard could find them ended and count a crash. It returns when the leases began and the
// messages without those that another process took over.
func (r *runner) renewLate(ctx context.Context, ms []Message, begin time.Time) (time.Time, []Message) {
	took := time.Since(begin)
	late := map[time.Duration][]int{}
	for i, m := range ms {
		if lease := r.c.byJob[m.Job].lease; took > lease/2 {
			late[lease] = append(late[lease], i)
		}
	}
	if len(late) == 0 {
		return begin, ms
	}
	begin = time.Now()
	lost := map[int]bool{}
	for lease, at := range late {
		ls := make([]Lease, len(at))
		for i, m := range at {
			ls[i] = ms[m].Lease
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lease/3)
		for i, err := range r.c.queue.Extend(ctx, lease, ls...) {
			lost[at[i]] = errors.Is(err, ErrLeaseLost)
		}
		cancel()
	}
	held := make([]Message, 0, len(ms))
	for i, m := range ms {
		if !lost[i] {
			held = append(held, m)
		}
	}
	return begin, held
}

// doubtful is how long after a shard answers again it may be wrong about what is paused: the
// load that tells it takes less.
const doubtful = 5 * time.Second

// paused are the jobs that may not be run although the shard, which may have forgotten it,
// handed them out. Whether it may be so is asked for seldom; without an answer nothing is
// held back, for what cannot be asked is what the jobs themselves need.
func (r *runner) paused(ctx context.Context, got Claimed) map[string]bool {
	if r.c.opts.Paused == nil || len(got.Messages) == 0 || got.Epoch && time.Now().After(r.doubt) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	jobs, err := r.c.opts.Paused(ctx)
	if err != nil {
		return nil
	}
	return jobs
}

// bury records messages whose last lease ended with no attempt left: the process that held them died.
func (c *Consumer) bury(ctx context.Context, ms []Message, at time.Time) {
	fs := make([]Failure, len(ms))
	for i, m := range ms {
		fs[i] = Failure{Message: m, Error: "no attempt left: the process that ran it stopped answering", At: at}
		c.opts.Logger.Error("dead letter", "id", m.ID(), "attempts", m.Attempt, "error", fs[i].Error)
		c.opts.Observer.Finished(m.Job, ResultDead, at.Sub(m.Due), 0)
	}
	if c.opts.Failures == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), burial)
	defer cancel()
	if err := c.opts.Failures.RecordFailures(ctx, fs...); err != nil {
		c.opts.Logger.Error("recording dead letters failed; they are in the queue", "messages", len(ms), "error", err)
	}
}

// closeBreakers tells that the jobs of a consumer that has stopped wait for no dependency.
func (c *Consumer) closeBreakers() {
	for _, l := range c.lanes {
		if !l.brk.closed() {
			c.opts.Observer.Breaker(l.job.Name(), false)
		}
	}
}

func (c *Consumer) safety() time.Duration {
	p := c.opts.SafetyPoll
	return p*4/5 + rand.N(p*2/5+1)
}

// trust is for how long a shard relies on hearing of what it has to do: where a poll looks at all
// shards it need not look for itself.
func (r *runner) trust() time.Duration {
	if _, ok := r.c.queue.(Poller); ok {
		return time.Hour
	}
	return r.c.safety()
}

// wait returns when the head is due (zero: there is none), or earlier when a hint or a free
// handler asks for it, or when nothing was heard for long.
func (r *runner) wait(ctx context.Context, head time.Time) {
	trust, cause := time.Now().Add(r.trust()), CauseTimer
	t := time.NewTimer(time.Until(earlier(head, trust)))
	defer t.Stop()
	r.waitFor(head)
	defer r.waitFor(time.Time{})
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			if earlier(head, trust).Equal(trust) {
				cause = CauseSafety
			}
			r.c.opts.Observer.Woken(cause)
			return
		case <-r.wake:
			r.mu.Lock()
			hinted, due, slot := r.hinted, r.due, r.slot
			r.hinted, r.due, r.slot = false, time.Time{}, false
			r.mu.Unlock()
			if slot {
				r.c.opts.Observer.Woken(CauseSlot)
				return
			}
			if !hinted {
				continue
			}
			now, at := time.Now(), r.local(due)
			if due.IsZero() || !at.After(now) {
				r.c.opts.Observer.Woken(CauseHint)
				return
			}
			if head.IsZero() || at.Before(head) {
				head, cause = at, CauseHint
				r.waitFor(head)
				t.Reset(time.Until(earlier(head, trust)))
			}
		}
	}
}

// waitFor notes what wait waits for.
func (r *runner) waitFor(head time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.head = head
}

// local is a time of the engine's clock by the local one.
func (r *runner) local(due time.Time) time.Time { return time.Now().Add(due.Sub(r.c.queue.Now())) }

// earlier of a head, zero if there is none, and another time.
func earlier(head, t time.Time) time.Time {
	if !head.IsZero() && head.Before(t) {
		return head
	}
	return t
}

// sleep waits for d or the end of ctx.
func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// protect turns a panic into an error with its stack.
func protect(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return f()
}
