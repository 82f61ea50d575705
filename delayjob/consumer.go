package delayjob

import (
	"cmp"
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
	Jobs map[string]Options // by job name; override the job's own Options field by field
	// SafetyPoll is the time between checks of all shards for lost hints, +-20 %; 1s.
	SafetyPoll time.Duration
	Grace      time.Duration // how long running handlers may continue when Run's context ends; 20s
	Failures   FailureSink   // stores dead letters; nil: they stay in the queue and are logged
	// OnEmpty is called when a shard is not completely loaded or a subscription was restored. Use
	// Loader.Trigger.
	OnEmpty func()
	// Middleware wraps the executions of all jobs, the first one outermost; none.
	Middleware []Middleware
	// Paused returns the paused jobs. It is called when the queue may have forgotten them: while a
	// shard is not completely loaded, and for some seconds after it did not answer. Their claimed
	// messages are returned. nil: no job is paused.
	Paused   func(ctx context.Context) (map[string]bool, error)
	Observer Observer
	Logger   *slog.Logger // slog.Default()
}

// A FailureSink stores dead letters where a flush of the queue cannot lose them.
type FailureSink interface {
	// RecordFailures stores dead letters. After an error it is called again, so it must replace a
	// record of the same message.
	RecordFailures(ctx context.Context, fs ...Failure) error
}

// Failure is a message that died.
type Failure struct {
	Message
	Error string
	At    time.Time
}

// A Consumer claims due messages and runs the job of each. Per job, at most Concurrency handlers
// run at once, and only what they can take is claimed; a backlog stays in the queue. A slow job
// never delays another: a claim does not wait for handlers, and messages without room return to the
// queue at once, without a charge.
//
// A consumer takes short leases and extends those that it holds. If a process dies, another runs
// its messages within three seconds.
type Consumer struct {
	queue   Queue
	opts    ConsumerOptions
	runners []*jobRunner
	byJob   map[string]*jobRunner
	shards  []*shardClaimer
	leases  *leases
	acks    []*acks // by shard, so that one that does not answer delays no other
	health  Health

	background sync.WaitGroup // work for a claim that its claimer does not wait for
}

// NewConsumer returns a consumer for jobs. Call Run to start it.
func NewConsumer(q Queue, jobs []DelayJob, o ConsumerOptions) *Consumer {
	o.SafetyPoll = cmp.Or(o.SafetyPoll, time.Second)
	o.Grace = cmp.Or(o.Grace, 20*time.Second)
	if o.OnEmpty == nil {
		o.OnEmpty = func() {}
	}
	o.Observer, o.Logger = orDefaults(o.Observer, o.Logger)
	c := &Consumer{queue: q, opts: o, byJob: map[string]*jobRunner{}}
	c.leases = newLeases(q, o.Observer, o.Logger)
	for i := range q.Shards() {
		c.acks = append(c.acks, newAcks(q, o.Logger))
		c.shards = append(c.shards, &shardClaimer{c: c, shard: i, wake: make(chan struct{}, 1)})
	}
	for _, j := range jobs {
		jr := newJobRunner(c, j)
		c.runners = append(c.runners, jr)
		c.byJob[j.Name()] = jr
	}
	return c
}

// Health reports whether the queue answers the consumer's claims.
func (c *Consumer) Health() *Health { return &c.health }

// Run works until ctx ends. Then it claims nothing more and returns messages that have not started.
// Running handlers may finish within Grace and are then canceled; interrupted messages are not
// charged. Run returns when the queue has stored every result, or after some seconds if it does not
// answer. The error is always nil.
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
	for _, jr := range c.runners {
		for range jr.opts.handlers() {
			running.Go(func() { jr.work(ctx, handlers) })
		}
	}
	claiming.Go(func() { c.listen(ctx) })
	if p, ok := c.queue.(Poller); ok {
		claiming.Go(func() { c.poll(ctx, p) })
	}
	for _, s := range c.shards {
		claiming.Go(func() { s.run(ctx) })
	}

	<-ctx.Done()
	grace := time.AfterFunc(c.opts.Grace, func() { cancelHandlers(errShutdown) })
	claiming.Wait()
	c.background.Wait()
	for _, jr := range c.runners {
		close(jr.in)
		running.Go(jr.drain)
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

const recordTimeout = 10 * time.Second // how long a database may take to record dead letters

var errShutdown = errors.New("delayjob: consumer stopping")

func (c *Consumer) listen(ctx context.Context) {
	failures := 0
	for ctx.Err() == nil {
		hints, err := c.queue.Wake(ctx)
		if err != nil {
			if failures++; ctx.Err() == nil && failures == 1 {
				c.opts.Logger.Warn("no wake-up hints, polling", "error", err)
			}
			sleep(ctx, time.Second)
			continue
		}
		if failures > 0 {
			failures = 0
			c.opts.OnEmpty() // hints may have been lost
		}
		for _, s := range c.shards {
			s.hint(time.Time{}) // claims what was added before the subscription
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

// A shardClaimer claims what is due in one shard and waits for the next due time.
type shardClaimer struct {
	c          *Consumer
	shard      int
	doubtUntil time.Time     // until then the shard may have forgotten which jobs are paused
	wake       chan struct{} // one slot: check the fields below

	mu     sync.Mutex
	hinted bool
	due    time.Time // earliest hint not yet handled
	slot   bool      // a job that was refused room for this shard has some now
	// head is the local time that wait waits for. Zero: it waits for no message, or does not wait.
	head time.Time
}

// hint records that a message is due at t; zero: unknown.
func (s *shardClaimer) hint(t time.Time) {
	s.mu.Lock()
	if !s.hinted || t.Before(s.due) {
		s.due = t
	}
	s.hinted = true
	s.mu.Unlock()
	poke(s.wake)
}

func (s *shardClaimer) slotFree() {
	s.mu.Lock()
	s.slot = true
	s.mu.Unlock()
	poke(s.wake)
}

// run claims whenever messages may be due. After a failure it first claims nothing, as a probe: a
// server that does not answer must not reserve room that other shards need.
func (s *shardClaimer) run(ctx context.Context) {
	failures, answers := 0, true
	for ctx.Err() == nil {
		next, err := s.claim(ctx, answers)
		if err != nil {
			answers = false
			if failures++; ctx.Err() == nil && failures == 1 {
				s.c.opts.Logger.Warn("claiming failed, retrying", "shard", s.shard, "error", err)
			}
			sleep(ctx, min(time.Second, 50*time.Millisecond<<min(failures, 5)))
			continue
		}
		if !answers {
			answers = true
			continue
		}
		if failures > 0 {
			s.c.opts.Logger.Info("claiming works again", "shard", s.shard, "failures", failures)
			failures = 0
			s.doubtUntil = time.Now().Add(pauseDoubt)
			s.c.opts.OnEmpty() // messages may not have been added meanwhile
		}
		s.wait(ctx, next)
	}
}

// slowCall is how long a claim keeps the room that it reserved, and a result the room of its
// message. After that, other shards may use it. A claim that returns later takes what room is left.
const slowCall = 250 * time.Millisecond

// slowAnswer is the longest claim that may delay the next one of its shard by its own duration.
const slowAnswer = 20 * time.Millisecond

// claim leases what is due and what the runners have room for, or nothing unless some, and passes
// it to them. It never waits for a handler. It returns the local time when the next message is due;
// zero: none is left.
func (s *shardClaimer) claim(ctx context.Context, some bool) (next time.Time, err error) {
	want := make([]Want, len(s.c.runners))
	for i, jr := range s.c.runners {
		want[i] = Want{Job: jr.job.Name(), Lease: jr.lease, MaxAttempts: jr.claimedAttempts()}
		if some {
			want[i].Limit = jr.reserve(s.shard)
		}
	}
	slow := time.AfterFunc(slowCall, func() {
		for i, jr := range s.c.runners {
			jr.release(want[i].Limit)
		}
	})
	begin := time.Now()
	s.c.health.asked(s.shard)
	got, err := s.c.queue.Claim(ctx, s.shard, want)
	if err == nil {
		s.c.health.answered(s.shard)
	}
	end := time.Now()
	released := !slow.Stop()
	s.c.opts.Observer.Claimed(s.shard, len(got.Messages), end.Sub(begin), err)

	paused := s.paused(ctx, got)
	leased, ms := s.renewLate(ctx, got.Messages, begin)
	var suspects []*delivery
	for i, jr := range s.c.runners {
		n := 0
		for n < len(ms) && ms[n].Job == want[i].Job {
			n++
		}
		if n > 0 {
			failpoint.Reach("claim.after", want[i].Job)
		}
		ds := jr.deliveries(ms[:n], leased)
		ms = ms[n:]
		fit := n
		if paused[want[i].Job] {
			fit = 0
			jr.refuse(ds, spread)
			ds = nil
		} else if released {
			fit = jr.take(s.shard, n)
		}
		if !released {
			jr.release(want[i].Limit - fit)
		}
		suspects = append(suspects, jr.accept(ds, fit)...)
	}
	if len(suspects) > 0 {
		s.c.background.Go(func() { s.isolate(suspects) })
	}
	if err != nil {
		return time.Time{}, err
	}
	if !got.Epoch {
		s.c.opts.OnEmpty()
	}
	if len(got.Dead) > 0 {
		s.c.background.Go(func() { s.c.bury(ctx, got.Dead, got.Now) })
	}
	if !got.Next.IsZero() {
		read := end // when the queue read its clock
		if end.Sub(begin) > slowAnswer {
			read = begin // too early by the duration of the call is better than too late
		}
		next = read.Add(got.Next.Sub(got.Now))
	}
	return next, nil
}

// renewLate extends the leases of a claim that took most of one, before another claim could find
// them ended and count a crash. It returns when the leases began and the messages still held.
func (s *shardClaimer) renewLate(ctx context.Context, ms []Message, begin time.Time) (time.Time, []Message) {
	took := time.Since(begin)
	late := map[time.Duration][]int{}
	for i, m := range ms {
		if lease := s.c.byJob[m.Job].lease; took > lease/2 {
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
		for i, err := range s.c.queue.Extend(ctx, lease, ls...) {
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

// pauseDoubt is how long a shard that answers again may have forgotten which jobs are paused. The
// load that restores this takes less.
const pauseDoubt = 5 * time.Second

// paused returns the jobs that must not run although the shard handed out their messages. If
// Paused fails, nothing is held back: the jobs need the same database anyway.
func (s *shardClaimer) paused(ctx context.Context, got Claimed) map[string]bool {
	if s.c.opts.Paused == nil || len(got.Messages) == 0 || got.Epoch && time.Now().After(s.doubtUntil) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	jobs, err := s.c.opts.Paused(ctx)
	if err != nil {
		return nil
	}
	return jobs
}

// bury records messages whose last lease ended without an attempt left: their process died.
func (c *Consumer) bury(ctx context.Context, ms []Message, at time.Time) {
	fs := make([]Failure, len(ms))
	for i, m := range ms {
		fs[i] = Failure{Message: m, Error: errHolderDied.Error(), At: at}
		c.opts.Logger.Error("dead letter", "id", m.ID(), "attempts", m.Attempt, "error", fs[i].Error)
		c.opts.Observer.Finished(m.Job, ResultDead, at.Sub(m.Due), 0)
	}
	if c.opts.Failures == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	if err := c.opts.Failures.RecordFailures(ctx, fs...); err != nil {
		c.opts.Logger.Error("recording dead letters failed, kept in the queue", "messages", len(ms), "error", err)
	}
}

// closeBreakers reports the open breakers of a stopped consumer as closed.
func (c *Consumer) closeBreakers() {
	for _, jr := range c.runners {
		if !jr.breaker.closed() {
			c.opts.Observer.Breaker(jr.job.Name(), false)
		}
	}
}

func (c *Consumer) safety() time.Duration {
	p := c.opts.SafetyPoll
	return p*4/5 + rand.N(p*2/5+1)
}

// trust returns how long a shard relies on hints. If a poll checks all shards, it need not check
// itself.
func (s *shardClaimer) trust() time.Duration {
	if _, ok := s.c.queue.(Poller); ok {
		return time.Hour
	}
	return s.c.safety()
}

// wait returns when the head is due (zero: there is none), on a hint or a free handler, or after
// the safety poll interval.
func (s *shardClaimer) wait(ctx context.Context, head time.Time) {
	trust, cause := time.Now().Add(s.trust()), CauseTimer
	t := time.NewTimer(time.Until(earlier(head, trust)))
	defer t.Stop()
	s.waitFor(head)
	defer s.waitFor(time.Time{})
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			if earlier(head, trust).Equal(trust) {
				cause = CauseSafety
			}
			s.c.opts.Observer.Woken(cause)
			return
		case <-s.wake:
			s.mu.Lock()
			hinted, due, slot := s.hinted, s.due, s.slot
			s.hinted, s.due, s.slot = false, time.Time{}, false
			s.mu.Unlock()
			if slot {
				s.c.opts.Observer.Woken(CauseSlot)
				return
			}
			if !hinted {
				continue
			}
			now, at := time.Now(), s.local(due)
			if due.IsZero() || !at.After(now) {
				s.c.opts.Observer.Woken(CauseHint)
				return
			}
			if head.IsZero() || at.Before(head) {
				head, cause = at, CauseHint
				s.waitFor(head)
				t.Reset(time.Until(earlier(head, trust)))
			}
		}
	}
}

func (s *shardClaimer) waitFor(head time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.head = head
}

func (s *shardClaimer) local(due time.Time) time.Time {
	return time.Now().Add(due.Sub(s.c.queue.Now()))
}

func earlier(head, t time.Time) time.Time {
	if !head.IsZero() && head.Before(t) {
		return head
	}
	return t
}

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
