package delayjob

import (
	"context"
	"errors"
	"time"
)

// A message that was held in a crash may be its cause, or may have been held nearby by chance. To
// find the cause, a message of one crash never runs in a batch with others. A message of more
// crashes is a suspect: a process holds one suspect at a time, of all jobs and shards. So a
// bystander is part of two crashes of a culprit at most, and those are free ([Want.FreeCrashes]).
func suspected(m Message) bool { return m.Crashes >= freeCrashes }

const (
	// What is given back for a while is due again after about this time, many messages one
	// after the other.
	suspectPause = 250 * time.Millisecond
	suspectStep  = 20 * time.Millisecond
	suspectCap   = 5 * time.Second
)

// spread is the delay of the message at position i of those given back for a while.
func spread(i int) time.Duration {
	return min(suspectPause+time.Duration(i)*suspectStep, suspectCap)
}

// isolate hands over one of the suspects of a claim if the consumer holds no other, and gives back
// the rest. The one does not begin before the rest are known to be back in the queue. If that
// cannot be known, it lets go of all of them, and their leases end.
func (r *runner) isolate(ds []*delivery) {
	first, rest := ds[0], ds
	taken := r.c.leases.isolate(first)
	if taken {
		rest = ds[1:]
	}
	back := r.giveBack(rest)
	r.c.leases.drop(rest)
	release(rest)
	switch {
	case !taken:
	case back:
		first.lane.in <- []*delivery{first}
	default:
		r.c.leases.drop(ds[:1])
		release(ds[:1])
	}
}

// giveBack returns suspects to the queue, uncharged, and reports whether the queue has them all.
func (r *runner) giveBack(ds []*delivery) bool {
	if len(ds) == 0 {
		return true
	}
	rs := make([]Return, len(ds))
	for i, d := range ds {
		rs[i] = Return{Lease: d.Lease, How: Release, Delay: spread(i)}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	for _, err := range r.c.queue.Nack(ctx, rs...) {
		if err != nil && !errors.Is(err, ErrLeaseLost) {
			r.c.opts.Logger.Warn("suspects not returned to the queue, leases will expire", "shard", r.shard, "messages", len(ds), "error", err)
			return false
		}
	}
	return true
}
