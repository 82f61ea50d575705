package topics

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"punctual/delayjob"
)

// Pop asks for due jobs.
type Pop struct {
	Topics []string
	Max    int           // from 1
	Wait   time.Duration // how long to wait for the first one
	TTR    time.Duration // how long they are reserved; 0: as long as each says itself
}

// Delivery is a job that was popped.
type Delivery struct {
	*Job
	Lease Lease
}

// Pop reserves due jobs, of each topic the earliest first, and returns without any when the
// waiting is over or the service stops. Nothing is reserved for a caller that is gone before.
//
// A topic with a webhook is not popped: a [*HookedError].
func (s *Service) Pop(ctx context.Context, p Pop) ([]Delivery, error) {
	if hooks, err := s.store.Webhooks(ctx, p.Topics...); err != nil || len(hooks) > 0 {
		if err == nil {
			err = &HookedError{hooks[0].Topic}
		}
		return nil, err
	}
	ds, _, err := s.pop(ctx, p)
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

// gone is not nil if the caller is. A deadline of the request is only the end of its waiting.
func gone(ctx context.Context) error {
	if err := ctx.Err(); errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// pop reserves what is due; without anything it tells when to come again, zero: unknown.
func (s *Service) pop(ctx context.Context, p Pop) (ds []Delivery, next time.Time, err error) {
	shards, turn := s.queue.Shards(), int(s.turn.Add(1)%(1<<30))
	for i := range shards * len(p.Topics) {
		if err := gone(ctx); err != nil {
			return ds, next, err
		}
		shard, topic := (turn+i)%shards, p.Topics[(turn+i/shards)%len(p.Topics)]
		more, at, err := s.popShard(ctx, shard, topic, p.Max-len(ds), p.TTR)
		if ds = append(ds, more...); len(ds) > 0 && err != nil {
			s.log.Warn("a pop got less than there is", "error", err)
			break
		}
		if err != nil {
			return nil, next, err
		}
		if len(ds) >= p.Max {
			break
		}
		if !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	slices.SortStableFunc(ds, func(a, b Delivery) int { return a.Due.Compare(b.Due) })
	return ds, next, nil
}

// popShard claims messages and takes the rows that they stand for. From the claim on it does
// not look at whether the caller is still there, except once: what a caller who is gone would
// get goes back as if nothing had been.
func (s *Service) popShard(ctx context.Context, shard int, topic string, limit int, ttr time.Duration) ([]Delivery, time.Time, error) {
	act := context.WithoutCancel(ctx)
	lease := ttr
	if lease == 0 {
		lease = DefaultTTR
	}
	got, err := s.queue.Claim(act, shard, []delayjob.Want{{Job: JobName(topic), Limit: limit, Lease: lease, MaxAttempts: -1, ChargeExpired: true}})
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("%w: %w", ErrQueueDown, err)
	}
	if !got.Epoch {
		s.onEmpty()
	}
	if len(got.Messages) == 0 {
		return nil, got.Next, nil
	}
	if err := gone(ctx); err != nil {
		s.giveBack(act, got.Messages)
		return nil, time.Time{}, err
	}
	control, err := s.store.Control(act, topic)
	if err == nil && control.Webhook != nil { // since the pop began
		err = &HookedError{topic}
	}
	if err != nil || control.Paused {
		if control.Paused {
			s.pauseQueue(act, topic)
		}
		s.giveBack(act, got.Messages)
		return nil, time.Time{}, err
	}
	t, err := s.take(act, topic, got.Messages, ttr, micro(got.Now))
	if err != nil {
		s.giveBack(act, got.Messages)
		return nil, time.Time{}, err
	}
	s.answer(act, &t, lease)
	return t.taken, got.Next, nil
}

// pauseQueue tells the queue what it has forgotten.
func (s *Service) pauseQueue(ctx context.Context, topic string) {
	if err := s.queue.Pause(ctx, JobName(topic)); err != nil {
		s.tell([]error{err})
	}
}

// giveBack lets others claim messages of which nothing was taken.
func (s *Service) giveBack(ctx context.Context, ms []delayjob.Message) {
	rs := make([]delayjob.Return, len(ms))
	for i, m := range ms {
		rs[i] = delayjob.Return{Lease: m.Lease, How: delayjob.Release}
	}
	s.tell(s.queue.Nack(ctx, rs...))
}

// taking is what the rows say to the messages of one claim.
type taking struct {
	taken []Delivery
	over  []delayjob.Lease   // nothing is left to do for them
	back  []delayjob.Return  // not now, or dead
	newer []delayjob.Message // what should have been there instead
}

// take takes the rows of messages, those that may be delivered.
func (s *Service) take(ctx context.Context, topic string, ms []delayjob.Message, ttr time.Duration, now time.Time) (t taking, err error) {
	keys := make([]Key, len(ms))
	for i, m := range ms {
		keys[i] = Key{topic, m.Key}
	}
	err = s.store.Update(ctx, keys, func(js []*Job) (changed []*Job, err error) {
		t = taking{}
		jobs := make(map[Key]*Job, len(js))
		for _, j := range js {
			jobs[j.Key] = j
		}
		for i, m := range ms {
			j := jobs[keys[i]]
			if j != nil && j.settle(now) {
				j.UpdatedAt = now
				changed = append(changed, j)
			}
			if t.decide(j, m, ttr, now) {
				changed = append(changed, j)
			}
		}
		return changed, nil
	})
	return t, err
}

// decide tells what becomes of a message, and reports whether its job is taken.
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
		t.over = append(t.over, m.Lease) // unless the newer one, if it is due soon, takes its place
	case j.claimable().After(now): // the queue has forgotten a delivery, or that it was put off
		t.back = append(t.back, delayjob.Return{Lease: m.Lease, How: delayjob.Release, Delay: j.claimable().Sub(now)})
	default:
		j.take(m.Lease.Token, ttr, now)
		j.UpdatedAt = now
		t.taken = append(t.taken, Delivery{j, Lease{m.Lease.Shard, m.Lease.Token}})
		return true
	}
	return false
}

// answer tells the queue what the rows said. What it does not hear comes up again by itself.
func (s *Service) answer(ctx context.Context, t *taking, lease time.Duration) {
	if len(t.newer) > 0 {
		s.scheduler.Schedule(ctx, t.newer...)
	}
	if len(t.over) > 0 {
		s.tell(s.queue.Ack(ctx, t.over...))
	}
	if len(t.back) > 0 {
		s.tell(s.queue.Nack(ctx, t.back...))
	}
	byTTR := map[time.Duration][]delayjob.Lease{}
	for _, d := range t.taken {
		if until := d.LeaseUntil.Sub(d.UpdatedAt); until != lease {
			byTTR[until] = append(byTTR[until], Ending{d.Key, d.Lease}.lease())
		}
	}
	for ttr, ls := range byTTR {
		s.tell(s.queue.Extend(ctx, ttr, ls...))
	}
}
