package topics

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"punctual/delayjob"
)

// An outage is a time in which the queue does not answer. Pops are then served from the rows, which
// decide anyway. The queue gets no updates; after the outage, each claim finds out from the rows
// what became of a job.
type outage struct {
	now   atomic.Bool
	begun chan struct{} // one slot

	mu   sync.Mutex
	told time.Time // when the last outage was logged
}

const (
	outagePoll  = 250 * time.Millisecond // how often the queue is tried, and how often a waiting pop reads the rows
	outageTry   = 2 * time.Second        // how long the queue may take to answer
	outageQuiet = 10 * time.Second       // between log lines
)

func (o *outage) on() bool { return o.now.Load() }

func (o *outage) begin(err error, log *slog.Logger) {
	if !o.now.CompareAndSwap(false, true) {
		return
	}
	select {
	case o.begun <- struct{}{}:
	default:
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if time.Since(o.told) > outageQuiet {
		o.told = time.Now()
		log.Warn("queue unavailable, serving pops from the database", "error", err)
	}
}

func (s *Service) watchOutage(ctx context.Context) {
	for ctx.Err() == nil {
		if !s.outage.on() {
			select {
			case <-ctx.Done():
			case <-s.outage.begun:
			}
			continue
		}
		rest(ctx, outagePoll)
		trying, cancel := context.WithTimeout(ctx, outageTry)
		_, err := s.queue.Stats(trying, jobPrefix)
		cancel()
		if err == nil {
			s.outage.now.Store(false)
			s.onEmpty() // for jobs whose adds failed
		}
	}
}

func (s *Service) popRows(ctx context.Context, p Pop) (ds []Delivery, err error) {
	if p.Allowed != nil {
		if err := p.Allowed(ctx); err != nil {
			return nil, err
		}
	}
	controls, err := s.store.Controls(ctx, p.Topics...)
	if err != nil {
		return nil, err
	}
	turn := int(s.turn.Add(1) % (1 << 30))
	for i := range p.Topics {
		topic := p.Topics[(turn+i)%len(p.Topics)]
		switch room := p.Max - len(ds); {
		case controls[topic].Webhook != nil:
			err = &HookedError{topic}
		case room > 0 && !controls[topic].Paused:
			var more []Delivery
			more, err = s.takeDue(context.WithoutCancel(ctx), topic, room, p.TTR)
			ds = append(ds, more...)
		}
		if err != nil && len(ds) > 0 {
			s.log.Warn("pop incomplete", "error", err)
			break
		}
		if err == nil {
			err = gone(ctx)
		}
		if err != nil {
			return nil, err
		}
	}
	return inOrder(ds), nil
}

func (s *Service) takeDue(ctx context.Context, topic string, most int, ttr time.Duration) (ds []Delivery, err error) {
	now := s.Now()
	err = s.store.UpdateDue(ctx, topic, now, most, func(js []*Job) ([]*Job, error) {
		ds = make([]Delivery, len(js))
		for i, j := range js {
			l := Lease{delayjob.ShardOf(j.ID, s.queue.Shards()), 1 + rand.Int64N(1<<62)} // no queue issues such a token
			j.take(l.token, ttr, now)
			j.UpdatedAt = now
			ds[i] = Delivery{j, l}
		}
		return js, nil
	})
	if err != nil {
		return nil, err // the taken rows are not saved
	}
	return ds, nil
}
