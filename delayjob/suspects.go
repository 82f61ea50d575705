package delayjob

import (
	"context"
	"errors"
	"time"
)

// suspected reports whether a message may be the cause of crashes. A message that was held in one
// crash runs alone, never in a batch. A message held in more crashes is a suspect: a process holds
// one suspect at a time, across all jobs and shards. So a harmless message shares at most two
// crashes with the cause, and those are free ([Want.FreeCrashes]).
func suspected(m Message) bool { return m.Crashes >= freeCrashes }

const (
	// Returned messages are due again after about suspectPause, spread out so that they do not all
	// come back at once.
	suspectPause = 250 * time.Millisecond
	suspectStep  = 20 * time.Millisecond
	suspectCap   = 5 * time.Second
)

func spread(i int) time.Duration {
	return min(suspectPause+time.Duration(i)*suspectStep, suspectCap)
}

// isolate runs one of the claimed suspects if the consumer holds no other, and returns the rest.
// The one starts only after the queue has confirmed the rest. Without that confirmation, all leases
// are left to end.
func (s *shardClaimer) isolate(ds []*delivery) {
	first, rest := ds[0], ds
	taken := s.c.leases.isolate(first)
	if taken {
		rest = ds[1:]
	}
	back := s.giveBack(rest)
	s.c.leases.drop(rest)
	release(rest)
	switch {
	case !taken:
	case back:
		first.runner.in <- []*delivery{first}
	default:
		s.c.leases.drop(ds[:1])
		release(ds[:1])
	}
}

// giveBack returns suspects to the queue, uncharged, and reports whether the queue has them all.
func (s *shardClaimer) giveBack(ds []*delivery) bool {
	if len(ds) == 0 {
		return true
	}
	rs := make([]Return, len(ds))
	for i, d := range ds {
		rs[i] = Return{Lease: d.Lease, How: Release, Delay: spread(i)}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	for _, err := range s.c.queue.Nack(ctx, rs...) {
		if err != nil && !errors.Is(err, ErrLeaseLost) {
			s.c.opts.Logger.Warn("suspects not returned to the queue, leases will expire", "shard", s.shard, "messages", len(ds), "error", err)
			return false
		}
	}
	return true
}
