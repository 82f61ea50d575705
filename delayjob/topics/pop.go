package topics

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"punctual/delayjob"
)

// Pop is a request for due jobs.
type Pop struct {
	Topics []string
	Max    int           // from 1
	Wait   time.Duration // how long to wait for the first one
	TTR    time.Duration // how long they are reserved; 0: the TTR of each job

	// Allowed is called before jobs are reserved for a caller that has waited. If it fails, no jobs
	// are reserved and Pop returns the error. nil: always allowed.
	Allowed func(context.Context) error
}

// Delivery is a popped job.
type Delivery struct {
	*Job
	Lease Lease
}

// Pop reserves due jobs, the earliest of each topic first. It returns no jobs when the wait ends or
// the service stops. It reserves nothing for a caller that has already disconnected.
//
// If a topic has a webhook, Pop returns a [*HookedError].
func (s *Service) Pop(ctx context.Context, p Pop) ([]Delivery, error) {
	if len(p.Topics) == 0 {
		return nil, nil
	}
	if _, err := s.popControls(ctx, p.Topics); err != nil {
		return nil, err
	}
	atOnce := p
	atOnce.Allowed = nil
	ds, _, err := s.pop(ctx, atOnce)
	if err != nil || len(ds) > 0 || p.Wait <= 0 {
		return ds, err
	}
	waiting, cancel := context.WithTimeout(ctx, p.Wait)
	defer cancel()
	release, ok := s.acquire(waiting, p.Topics)
	if !ok {
		return nil, gone(ctx)
	}
	defer release()
	w := s.waiters.enter()
	defer s.waiters.leave(w)
	for {
		ds, next, err := s.pop(ctx, p)
		if err != nil || len(ds) > 0 {
			return ds, err
		}
		if !s.wait(waiting, w, next) {
			return nil, gone(ctx)
		}
	}
}

// gone returns an error if the caller has disconnected. A deadline of the request only ends its
// wait.
func gone(ctx context.Context) error {
	if err := ctx.Err(); errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// pop reserves due jobs. If there are none, it returns the time of the next try; zero: unknown.
func (s *Service) pop(ctx context.Context, p Pop) (ds []Delivery, next time.Time, err error) {
	if !s.outage.on() {
		ds, next, err = s.popQueue(ctx, p)
		if !errors.Is(err, ErrQueueDown) || gone(ctx) != nil {
			return ds, next, err
		}
		s.outage.begin(err, s.log)
	}
	ds, err = s.popRows(ctx, p)
	return ds, time.Time{}, err
}

// popQueue tries each shard, and again those where a topic reached its share of the limit.
func (s *Service) popQueue(ctx context.Context, p Pop) (ds []Delivery, next time.Time, err error) {
	shards, turn := s.queue.Shards(), int(s.turn.Add(1)%(1<<30))
	topics := slices.Concat(p.Topics[turn%len(p.Topics):], p.Topics[:turn%len(p.Topics)])
	for again := true; again && len(ds) < p.Max; {
		again = false
		for i := range shards {
			if err := gone(ctx); err != nil {
				return ds, next, err
			}
			got, err := s.popShard(ctx, (turn+i)%shards, topics, p.Max-len(ds), p)
			if ds = append(ds, got.taken...); len(ds) > 0 && err != nil {
				s.log.Warn("pop incomplete", "error", err)
				return inOrder(ds), next, nil
			}
			if err != nil {
				return nil, next, err
			}
			if len(ds) >= p.Max {
				break
			}
			again = again || got.more
			if !got.next.IsZero() && (next.IsZero() || got.next.Before(next)) {
				next = got.next
			}
		}
	}
	return inOrder(ds), next, nil
}

func inOrder(ds []Delivery) []Delivery {
	slices.SortStableFunc(ds, func(a, b Delivery) int { return a.Due.Compare(b.Due) })
	return ds
}

type popped struct {
	taken []Delivery
	next  time.Time // as in [delayjob.Claimed]
	more  bool      // a topic reached its share
}

// popShard claims messages and takes their rows. After the claim it checks only once whether the
// caller is still connected. If not, or if the caller is not allowed, it releases the messages
// unchanged.
func (s *Service) popShard(ctx context.Context, shard int, topics []string, room int, asked Pop) (popped, error) {
	act := context.WithoutCancel(ctx)
	lease := asked.TTR
	lease = cmp.Or(lease, DefaultTTR)
	share := max(1, room/len(topics))
	want := make([]delayjob.Want, len(topics))
	for i, t := range topics {
		want[i] = delayjob.Want{Job: JobName(t), Limit: share, Lease: lease, MaxAttempts: -1, ChargeExpired: true}
	}
	got, err := s.queue.Claim(act, shard, want)
	if err != nil {
		return popped{}, fmt.Errorf("%w: %w", ErrQueueDown, err)
	}
	if !got.Epoch {
		s.onEmpty()
	}
	p := popped{next: got.Next}
	if len(got.Messages) == 0 {
		return p, nil
	}
	if err = gone(ctx); err == nil && asked.Allowed != nil {
		err = asked.Allowed(ctx)
	}
	if err != nil {
		s.giveBack(act, got.Messages)
		return p, err
	}
	ms := got.Messages[:min(len(got.Messages), room)] // one of each topic may be too much
	s.giveBack(act, got.Messages[len(ms):])
	if ms, err = s.allowed(act, topics, ms); len(ms) == 0 || err != nil {
		return p, err
	}
	t, err := s.take(act, claim{ms, asked.TTR, micro(got.Now)})
	if err != nil {
		s.giveBack(act, ms)
		return p, err
	}
	s.answer(act, &t, lease)
	p.taken, p.more = t.taken, len(topics) > 1 && len(got.Messages) >= share
	return p, nil
}

// allowed returns the messages that may be popped now and releases the others. If a topic got a
// webhook since the pop began, it releases all of them and returns a [*HookedError].
func (s *Service) allowed(ctx context.Context, topics []string, ms []delayjob.Message) ([]delayjob.Message, error) {
	controls, err := s.popControls(ctx, topics)
	if err != nil {
		s.giveBack(ctx, ms)
		return nil, err
	}
	var may, not []delayjob.Message
	for _, m := range ms {
		if controls[topicOf(m)].Paused {
			not = append(not, m)
		} else {
			may = append(may, m)
		}
	}
	for _, t := range topics {
		if controls[t].Paused {
			s.pauseQueue(ctx, t)
		}
	}
	s.giveBack(ctx, not)
	return may, nil
}

// popControls returns how the jobs of topics are handed out, or a [*HookedError] if one has a
// webhook.
func (s *Service) popControls(ctx context.Context, topics []string) (map[string]Control, error) {
	if err := gone(ctx); err != nil {
		return nil, err
	}
	c := s.gathered.controls.Ask(topics)
	if c.err != nil {
		return nil, c.err
	}
	for _, t := range topics {
		if c.of[t].Webhook != nil {
			return nil, &HookedError{t}
		}
	}
	return c.of, nil
}

// pauseQueue pauses a topic again whose setting the queue has lost.
func (s *Service) pauseQueue(ctx context.Context, topic string) {
	if err := s.queue.Pause(ctx, JobName(topic)); err != nil {
		s.untold(err)
	}
}

func (s *Service) giveBack(ctx context.Context, ms []delayjob.Message) {
	if len(ms) == 0 {
		return
	}
	rs := make([]delayjob.Return, len(ms))
	for i, m := range ms {
		rs[i] = delayjob.Return{Lease: m.Lease, How: delayjob.Release}
	}
	s.tell(func() []error { return s.queue.Nack(ctx, rs...) })
}

type taking struct {
	taken []Delivery
	over  []delayjob.Lease   // no work is left for them
	back  []delayjob.Return  // not now, or dead
	newer []delayjob.Message // the messages that belong there instead
}

func (s *Service) takeAll(ctx context.Context, cs ...claim) []took {
	var keys []Key
	for _, c := range cs {
		for _, m := range c.ms {
			keys = append(keys, Key{topicOf(m), m.Key})
		}
	}
	var ts []took
	err := s.store.Update(ctx, keys, func(js []*Job) (changed []*Job, err error) {
		ts = make([]took, len(cs))
		jobs := make(map[Key]*Job, len(js))
		for _, j := range js {
			jobs[j.Key] = j
		}
		touched := map[*Job]bool{}
		for i, c := range cs {
			for _, m := range c.ms {
				j := jobs[Key{topicOf(m), m.Key}]
				if j != nil && j.settle(c.now) {
					j.UpdatedAt = c.now
					touched[j] = true
				}
				if ts[i].decide(j, m, c.ttr, c.now) {
					touched[j] = true
				}
			}
		}
		return slices.Collect(maps.Keys(touched)), nil
	})
	if err != nil {
		return slices.Repeat([]took{{err: err}}, len(cs))
	}
	return ts
}

// decide sorts a message by its row, and reports whether its job is taken.
func (t *taking) decide(j *Job, m delayjob.Message, ttr time.Duration, now time.Time) bool {
	switch {
	case j == nil || j.Revision < m.Version:
		t.over = append(t.over, m.Lease)
	case j.Status == Dead && j.Revision == m.Version:
		t.back = append(t.back, delayjob.Return{Lease: m.Lease, How: delayjob.Bury})
	case j.Status != Pending:
		t.over = append(t.over, m.Lease)
	case j.Revision > m.Version:
		t.newer = append(t.newer, j.message())
		t.over = append(t.over, m.Lease) // unless the newer one is due soon and replaces it
	case j.claimable().After(now): // the queue lost a delivery or a postponement
		t.back = append(t.back, delayjob.Return{Lease: m.Lease, How: delayjob.Release, Delay: j.claimable().Sub(now)})
	default:
		j.take(m.Lease.Token, ttr, now)
		j.UpdatedAt = now
		t.taken = append(t.taken, Delivery{j, Lease{m.Lease.Shard, m.Lease.Token}})
		return true
	}
	return false
}

// answer applies the decisions to the queue. If the queue misses one, the message comes up again.
func (s *Service) answer(ctx context.Context, t *taking, lease time.Duration) {
	if len(t.newer) > 0 {
		s.scheduler.Schedule(ctx, t.newer...)
	}
	if len(t.over) > 0 {
		s.tell(func() []error { return s.queue.Ack(ctx, t.over...) })
	}
	if len(t.back) > 0 {
		s.tell(func() []error { return s.queue.Nack(ctx, t.back...) })
	}
	s.extend(ctx, t.taken, lease)
}

// extend extends the leases of claimed messages to the leases of their rows.
func (s *Service) extend(ctx context.Context, ds []Delivery, lease time.Duration) {
	byTTR := map[time.Duration][]delayjob.Lease{}
	for _, d := range ds {
		if until := d.LeaseUntil.Sub(d.UpdatedAt); until != lease {
			byTTR[until] = append(byTTR[until], Ending{d.Key, d.Lease}.lease())
		}
	}
	for ttr, ls := range byTTR {
		s.tell(func() []error { return s.queue.Extend(ctx, ttr, ls...) })
	}
}
