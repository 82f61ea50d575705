package delayjob

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"punctual/delayjob/failpoint"
)

// shortLease is the longest lease that a consumer takes at a time. It is what a crash costs: two
// and a half seconds are soon over, and yet a process may stall for one and a half of them
// between two extensions and lose nothing.
const shortLease = 2500 * time.Millisecond

// leases keeps what a consumer holds: every message from its claim until its result is in the
// queue. It extends each lease after a third of its time, so that a lease may be short (a crash
// costs little) and a handler long; what is done sooner, as nearly all is, costs no call. It
// stops for a handler past its MaxRuntime.
type leases struct {
	queue Queue
	obs   Observer
	log   *slog.Logger
	wake  chan struct{} // something wants to be extended before next

	mu    sync.Mutex
	held  map[*delivery]struct{}
	next  time.Time // when run looks again; zero: when it is woken
	alone *delivery // the one suspect of many crashes that may be held; nil: none is
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

// isolate makes a held message the one suspect of the consumer, and reports whether it is: there
// may be another.
func (k *leases) isolate(d *delivery) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	free := k.alone == nil || k.alone.lost || k.alone.overdue(time.Now())
	if free {
		k.alone = d
	}
	return free
}

// begin marks a message as being run; false means that its lease is lost already, and it is
// no longer held. abandon, if not nil, is called when the lease is lost later.
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

// done puts off the extension of messages whose result is about to be sent to the queue.
func (k *leases) done(ds []*delivery) {
	k.mu.Lock()
	defer k.mu.Unlock()
	at := time.Now().Add(ds[0].lane.lease / 3)
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
	if k.alone == d {
		k.alone = nil
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

// plan tells when the first lease wants to be extended; zero: there is none.
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

// due lists by lease what wants it extended now or a little later, so that messages claimed one
// after the other do not take a call each.
func (k *leases) due(now time.Time) map[time.Duration][]*delivery {
	k.mu.Lock()
	defer k.mu.Unlock()
	by := map[time.Duration][]*delivery{}
	urgent := false
	for d := range k.held {
		if lease := d.lane.lease; !d.lost && !d.overdue(now) && !now.Add(lease/10).Before(d.renew) {
			by[lease] = append(by[lease], d)
			urgent = urgent || !now.Before(d.renew)
		}
	}
	if !urgent {
		return nil
	}
	return by
}

// extend makes one call for messages of any lanes.
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
	counts := map[*lane]*count{}
	k.mu.Lock()
	for i, d := range ds {
		n := counts[d.lane]
		if n == nil {
			n = &count{}
			counts[d.lane] = n
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
	for l, n := range counts {
		k.obs.Leases(l.job.Name(), n.extended, n.lost)
		if n.lost > 0 {
			k.log.Warn("leases lost", "job", l.job.Name(), "messages", n.lost)
		}
	}
}
