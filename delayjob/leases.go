package delayjob

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"punctual/delayjob/failpoint"
)

// shortLease is the longest lease that a consumer takes at a time: the delay that a crash costs. A
// process may stall for one and a half seconds between extensions and lose nothing.
const shortLease = 2500 * time.Millisecond

// leases holds every message from its claim until its result is in the queue. It extends each lease
// after a third of its time, so that leases can be short and handlers slow. Most messages finish
// sooner and need no extension. A handler past its MaxRuntime gets none.
type leases struct {
	queue Queue
	obs   Observer
	log   *slog.Logger
	wake  chan struct{} // a lease needs an extension before next

	mu       sync.Mutex
	held     map[*delivery]struct{}
	next     time.Time // when run checks again; zero: when woken
	isolated *delivery // the only suspect of crashes that may be held; nil: none
}

func newLeases(q Queue, o Observer, l *slog.Logger) *leases {
	return &leases{queue: q, obs: o, log: l, wake: make(chan struct{}, 1), held: map[*delivery]struct{}{}}
}

func (k *leases) hold(ds []*delivery) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, d := range ds {
		k.held[d] = struct{}{}
	}
	if k.next.IsZero() || ds[0].renew.Before(k.next) {
		poke(k.wake)
	}
}

// isolate makes a held message the only suspect of the consumer. It reports false if there is
// another.
func (k *leases) isolate(d *delivery) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	free := k.isolated == nil || k.isolated.lost || k.isolated.overdue(time.Now())
	if free {
		k.isolated = d
	}
	return free
}

// begin marks a message as running. It reports false, and drops the message, if its lease is
// already lost. If the lease is lost later, abandon is called unless nil.
func (k *leases) begin(d *delivery, abandon func()) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if d.lost {
		k.forget(d)
		return false
	}
	d.begun, d.abandon = time.Now(), abandon
	return true
}

// done postpones the extension of messages whose results are about to be sent.
func (k *leases) done(ds []*delivery) {
	k.mu.Lock()
	defer k.mu.Unlock()
	at := time.Now().Add(ds[0].runner.lease / 3)
	for _, d := range ds {
		d.renew = at
	}
}

func (k *leases) drop(ds []*delivery) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, d := range ds {
		k.forget(d)
	}
}

func (k *leases) forget(d *delivery) {
	delete(k.held, d)
	if k.isolated == d {
		k.isolated = nil
	}
}

func (k *leases) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		for lease, ds := range k.due(time.Now()) {
			k.extend(ctx, lease, ds)
		}
		if next := k.plan(); next.IsZero() {
			timer.Stop()
		} else {
			timer.Reset(time.Until(next))
		}
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-k.wake:
		}
	}
}

// plan returns when the first lease needs an extension; zero: none.
func (k *leases) plan() time.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.next = time.Time{}
	now := time.Now()
	for d := range k.held {
		if !d.lost && !d.overdue(now) && (k.next.IsZero() || d.renew.Before(k.next)) {
			k.next = d.renew
		}
	}
	return k.next
}

// due returns, by lease, the messages that need an extension now or soon, so that one call extends
// messages claimed one after another.
func (k *leases) due(now time.Time) map[time.Duration][]*delivery {
	k.mu.Lock()
	defer k.mu.Unlock()
	by := map[time.Duration][]*delivery{}
	urgent := false
	for d := range k.held {
		if lease := d.runner.lease; !d.lost && !d.overdue(now) && !now.Add(lease/10).Before(d.renew) {
			by[lease] = append(by[lease], d)
			urgent = urgent || !now.Before(d.renew)
		}
	}
	if !urgent {
		return nil
	}
	return by
}

func (k *leases) extend(ctx context.Context, lease time.Duration, ds []*delivery) {
	ctx, cancel := context.WithTimeout(ctx, lease/3)
	defer cancel()
	ls := make([]Lease, len(ds))
	for i, d := range ds {
		ls[i] = d.Lease
	}
	now := time.Now()
	failpoint.Reach("extend.before", ds[0].Job)
	errs := k.queue.Extend(ctx, lease, ls...)
	failpoint.Reach("extend.after", ds[0].Job)

	type count struct{ extended, lost int }
	counts := map[*jobRunner]*count{}
	k.mu.Lock()
	for i, d := range ds {
		n := counts[d.runner]
		if n == nil {
			n = &count{}
			counts[d.runner] = n
		}
		switch {
		case errs == nil || errs[i] == nil:
			d.renew = now.Add(lease / 3)
			n.extended++
		case !errors.Is(errs[i], ErrLeaseLost):
			d.renew = now.Add(lease / 10)
		default:
			if _, held := k.held[d]; !held {
				continue // finished in the meantime
			}
			d.lost = true
			n.lost++
			if d.abandon != nil {
				d.abandon()
			}
		}
	}
	k.mu.Unlock()
	for jr, n := range counts {
		k.obs.Leases(jr.job.Name(), n.extended, n.lost)
		if n.lost > 0 {
			k.log.Warn("leases lost", "job", jr.job.Name(), "messages", n.lost)
		}
	}
}
