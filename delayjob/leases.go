package delayjob

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"
)

// leases keeps what a consumer holds: every message from its claim until its result is in
// the queue. It extends each lease after a third of its time, so that a lease may be short
// (a crash costs little) and a handler long. It stops for a handler past its MaxRuntime.
type leases struct {
	queue Queue
	obs   Observer
	log   *slog.Logger

	mu   sync.Mutex
	held map[*delivery]struct{}
	tick time.Duration // a fifth of the shortest lease seen
}

func newLeases(q Queue, o Observer, l *slog.Logger) *leases {
	return &leases{queue: q, obs: o, log: l, held: map[*delivery]struct{}{}, tick: time.Second}
}

func (k *leases) hold(ds []*delivery) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, d := range ds {
		k.held[d] = struct{}{}
	}
	k.tick = max(10*time.Millisecond, min(k.tick, ds[0].lane.opts.Lease/5))
}

// begin marks a message as being run; false means that its lease is lost already, and it is
// no longer held. abandon, if not nil, is called when the lease is lost later.
func (k *leases) begin(d *delivery, abandon context.CancelFunc) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if d.lost {
		delete(k.held, d)
		return false
	}
	d.begun, d.abandon = time.Now(), abandon
	return true
}

func (k *leases) drop(ds []*delivery) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, d := range ds {
		delete(k.held, d)
	}
}

func (k *leases) run(ctx context.Context) {
	for ctx.Err() == nil {
		k.mu.Lock()
		tick := k.tick
		k.mu.Unlock()
		sleep(ctx, tick)
		for l, ds := range k.due(time.Now()) {
			k.extend(ctx, l, ds)
		}
	}
}

// due lists by lane what wants its lease extended.
func (k *leases) due(now time.Time) map[*lane][]*delivery {
	k.mu.Lock()
	defer k.mu.Unlock()
	var by map[*lane][]*delivery
	for d := range k.held {
		overdue := !d.begun.IsZero() && now.Sub(d.begun) > d.lane.opts.MaxRuntime
		if d.lost || overdue || now.Before(d.renew) {
			continue
		}
		if by == nil {
			by = map[*lane][]*delivery{}
		}
		by[d.lane] = append(by[d.lane], d)
	}
	return by
}

func (k *leases) extend(ctx context.Context, l *lane, ds []*delivery) {
	ctx, cancel := context.WithTimeout(ctx, l.opts.Lease/3)
	defer cancel()
	ls := make([]Lease, len(ds))
	for i, d := range ds {
		ls[i] = d.Lease
	}
	now := time.Now()
	errs := k.queue.Extend(ctx, l.opts.Lease, ls...)

	extended, lost := 0, 0
	k.mu.Lock()
	defer k.mu.Unlock()
	for i, d := range ds {
		switch {
		case errs == nil || errs[i] == nil:
			d.renew = now.Add(l.opts.Lease / 3)
			extended++
		case errors.Is(errs[i], ErrLeaseLost):
			if _, held := k.held[d]; !held {
				continue // finished in the meantime
			}
			d.lost = true
			lost++
			if d.abandon != nil {
				d.abandon()
			}
		}
	}
	k.obs.Leases(l.job.Name(), extended, lost)
	if lost > 0 {
		k.log.Warn("leases lost", "job", l.job.Name(), "messages", lost)
	}
}
