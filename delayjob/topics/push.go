package topics

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"time"

	"punctual/delayjob"
	"punctual/delayjob/gather"
	"punctual/delayjob/webhook"
)

// A Pusher posts the jobs of topics that have a webhook. Every worker process runs one, and they
// need not know about each other. The set of topics may change at any time. The consumer of the old
// set then claims no more messages and finishes its current ones, while the consumer of the new set
// already works. So for a moment a topic may have twice its number of concurrent posts.
type Pusher struct {
	s     *Service
	opts  delayjob.ConsumerOptions
	every time.Duration // how often it reads the webhooks if it gets no hint
}

// NewPusher returns a pusher for the topics of the service. It uses SafetyPoll, Grace, OnEmpty,
// Observer and Logger from o.
func NewPusher(s *Service, o delayjob.ConsumerOptions) *Pusher {
	o.Jobs, o.Failures = nil, nil // the rows keep dead jobs
	o.Logger = cmp.Or(o.Logger, slog.Default())
	return &Pusher{s, o, hooksEvery}
}

// StandIn returns a loading job and a pusher that post from q while the service's own queue is
// down. The loading job fills q with the jobs of topics that have a webhook. The rows decide as
// usual: if one queue has handed out a job, the other does not until the lease of the post ends.
// The pusher uses the same options of o as [NewPusher].
func (s *Service) StandIn(q Queue, o delayjob.ConsumerOptions) (*Loading, *Pusher) {
	on := New(s.store, q, s.scheduler, s.sender, func() {}, s.log)
	p := NewPusher(on, o)
	p.every = standInEvery
	return &Loading{s: on, pushed: true}, p
}

const (
	hooksEvery   = 15 * time.Second // changes arrive as hints, see [Service.TellOthers]
	standInEvery = time.Second      // without hints from other processes
)

// Run posts jobs until ctx ends and its current jobs are finished or released.
func (p *Pusher) Run(ctx context.Context) error {
	var consumers sync.WaitGroup
	defer consumers.Wait()
	stop := func() {}
	defer func() { stop() }()
	tick := time.NewTicker(p.every)
	defer tick.Stop()
	var at []target
	for failing := false; ; {
		hooks, err := p.s.store.Webhooks(ctx)
		switch {
		case err == nil:
			failing = false
			if want := targets(hooks); !slices.Equal(want, at) {
				stop()
				at, stop = want, p.consume(ctx, want, &consumers)
			}
		case ctx.Err() == nil && !failing:
			failing = true
			p.opts.Logger.Warn("reading topic webhooks failed, using the known ones", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-p.s.changed:
		}
	}
}

// consume starts a consumer of these topics. stop lets it finish its current jobs.
func (p *Pusher) consume(ctx context.Context, topics []target, running *sync.WaitGroup) (stop func()) {
	if len(topics) == 0 {
		return func() {}
	}
	jobs := make([]delayjob.DelayJob, len(topics))
	for i, l := range topics {
		jobs[i] = newPush(p.s, l)
	}
	ctx, stop = context.WithCancel(ctx)
	c := delayjob.NewConsumer(p.s.queue, jobs, p.opts)
	running.Go(func() { _ = c.Run(ctx) }) // it returns no error
	return stop
}

// target holds the settings that a consumer needs of a webhook. Each post reads the others, so
// changes apply at once.
type target struct {
	topic       string
	concurrency int
	timeout     time.Duration
}

func targets(hooks []*Webhook) []target {
	var all []target
	for _, w := range hooks {
		all = append(all, target{w.Topic, w.Concurrency, w.Timeout})
	}
	return all
}

// push is the job type that posts the jobs of one topic. The row decides: it counts the attempts
// and holds the lease of a post. If a process dies during a post, that attempt is used up, and
// another process makes the next one when the lease ends. Concurrent posts share transactions.
type push struct {
	s *Service
	target
	slots chan struct{} // one for each concurrent post
	takes gather.Gatherer[delayjob.Message, begun]
	ends  gather.Gatherer[change, outcome]
}

func newPush(s *Service, t target) *push {
	p := &push{s: s, target: t, slots: make(chan struct{}, t.concurrency)}
	p.takes.Do, p.ends.Do = p.take, p.end
	return p
}

const (
	pushLease  = 5 * time.Second // of the queue, which a consumer renews
	pushMargin = 2 * time.Second // of the row's lease, over the timeout of a post
	aside      = time.Second     // delay before a job that may not be posted now is tried again
	noteTime   = 5 * time.Second // for the database calls before and after a post
)

func (p *push) Name() string { return JobName(p.topic) }

// Options implements [delayjob.Configurer]. There are twice as many handlers as concurrent posts,
// so that storing the results of some does not delay others.
func (p *push) Options() delayjob.Options {
	return delayjob.Options{
		Concurrency: 2 * p.concurrency, Batch: 1, Lease: pushLease, MaxRuntime: 2*MaxTimeout + 4*noteTime, MaxAttempts: -1,
	}
}

// Load implements [delayjob.DelayJob]. It does nothing, because [Loading] loads the jobs.
func (*push) Load(context.Context, delayjob.Window) iter.Seq2[delayjob.Message, error] {
	return func(func(delayjob.Message, error) bool) {}
}

func (p *push) Execute(ctx context.Context, m delayjob.Message) error {
	select {
	case p.slots <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	leave := sync.OnceFunc(func() { <-p.slots })
	defer leave()
	b := p.takes.Ask(m)
	if b.webhook == nil {
		return b.err
	}
	answer, err := p.post(ctx, b.webhook, b.Delivery)
	leave()
	return p.note(ctx, Ending{b.Key, b.Lease}, answer, err)
}

type begun struct {
	Delivery
	webhook *Webhook // nil: it may not be posted now
	err     error    // then: the result for the message
}

func (p *push) take(ms []delayjob.Message) []begun {
	ctx, cancel := context.WithTimeout(context.Background(), noteTime)
	defer cancel()
	all := func(err error) []begun { return slices.Repeat([]begun{{err: err}}, len(ms)) }
	controls, err := p.s.store.Controls(ctx, p.topic)
	control := controls[p.topic]
	switch {
	case err != nil:
		return all(delayjob.Unavailable(err))
	case control.Paused:
		p.s.pauseQueue(ctx, p.topic)
		return all(delayjob.Snooze(aside))
	case control.Webhook == nil: // the settings in this process are out of date
		p.s.WebhooksChanged()
		return all(delayjob.Snooze(aside))
	}
	t := p.s.takeAll(ctx, claim{ms, control.Webhook.Timeout + pushMargin, p.s.Now()})[0]
	if t.err != nil {
		return all(delayjob.Unavailable(t.err))
	}
	p.s.scheduler.Schedule(ctx, t.newer...)
	bs := make([]begun, len(ms)) // the job is over
	at := make(map[string]int, len(ms))
	for i, m := range ms {
		at[m.ID()] = i
	}
	for _, d := range t.taken {
		bs[at[delayjob.MessageID(p.Name(), d.ID)]] = begun{Delivery: d, webhook: control.Webhook}
	}
	for _, r := range t.back {
		b := &bs[at[r.Lease.ID]]
		if b.err = delayjob.Snooze(r.Delay); r.How == delayjob.Bury {
			b.err = delayjob.Dead(errors.New(ErrorTimeOver))
		}
	}
	return bs
}

// postKey returns the Idempotency-Key of a job's posts. It contains the topic, because a receiver
// may serve several. It contains the time of the add, because a deleted job's ID may be used again.
func (j *Job) postKey() string {
	return fmt.Sprintf("%s:%s:%d:%d", j.Topic, j.ID, j.Version, j.CreatedAt.UnixMicro())
}

func (p *push) post(ctx context.Context, w *Webhook, d Delivery) (webhook.Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, w.Timeout)
	defer cancel()
	return p.s.sender.Send(ctx, webhook.Post{
		URL: w.URL, Secret: w.Secret, Topic: d.Topic, ID: d.ID, Key: d.postKey(), Attempt: d.Attempts, Body: d.Body,
	})
}

// note stores the result of a post. ctx is the context of the post.
func (p *push) note(ctx context.Context, e Ending, a webhook.Answer, err error) error {
	switch {
	case err != nil && ctx.Err() != nil: // this process is stopping, or it lost the job
		o := p.ends.Ask(change{e, func(j *Job, _ time.Time) {
			j.Attempts--
			j.let()
		}})
		return cmp.Or(unlessLost(o.err), err)
	case err != nil:
		return p.failed(e, Failure{Error: err.Error()})
	case a.Status >= 200 && a.Status < 300:
		return p.ended(e, "")
	case a.Status == http.StatusGone:
		return p.ended(e, "dropped: "+refusal(a))
	default:
		f := Failure{Error: refusal(a)}
		if a.RetryAfter > 0 {
			f.Delay = new(a.RetryAfter)
		}
		return p.failed(e, f)
	}
}

func (p *push) ended(e Ending, note string) error {
	return unlessLost(p.ends.Ask(change{e, func(j *Job, _ time.Time) {
		j.Status = Done
		if note != "" {
			j.LastError = errorText(note)
		}
		j.let()
	}}).err)
}

func (p *push) failed(e Ending, f Failure) error {
	o := p.ends.Ask(change{e, f.apply})
	switch {
	case o.err != nil:
		return unlessLost(o.err)
	case o.job.Status == Dead:
		return delayjob.Dead(errors.New(f.Error))
	case o.job.far(p.s.Now()):
		return nil // the loader adds it in time
	default:
		return delayjob.After(max(0, o.job.Due.Sub(p.s.queue.Now())), errors.New(f.Error))
	}
}

func (p *push) end(cs []change) []outcome {
	ctx, cancel := context.WithTimeout(context.Background(), noteTime)
	defer cancel()
	return p.s.changeHeld(ctx, cs)
}

// unlessLost returns nil if another holder has the job now, or the job was deleted or rescheduled:
// then no work is left. Any other error means that the database does not answer.
func unlessLost(err error) error {
	if err == nil || errors.Is(err, delayjob.ErrLeaseLost) {
		return nil
	}
	return delayjob.Unavailable(err)
}

func refusal(a webhook.Answer) string { return "the receiver answered " + a.String() }
