package delayjob

import (
	"context"
	"time"
)

// A Poller is a queue that can report the next due time of all shards in one call. A [Consumer]
// uses it to find lost hints with one call per second instead of one claim per shard.
type Poller interface {
	// Poll returns for each shard what a claim of these jobs would find. It leases nothing.
	Poll(ctx context.Context, jobs []string) ([]Head, error)
}

// A Head describes the next message of a shard.
type Head struct {
	// Next is the earliest due time or lease end of the jobs that are not paused. It may be past.
	// Zero: none.
	Next  time.Time
	Epoch bool // as in [Claimed]
}

// pollTolerance is the largest difference between two readings of the engine's clock.
const pollTolerance = time.Millisecond

// poll checks all shards every SafetyPoll until ctx ends. If a poll fails, each shard claims for
// itself and logs the error.
func (c *Consumer) poll(ctx context.Context, p Poller) {
	jobs := make([]string, len(c.runners))
	for i, jr := range c.runners {
		jobs[i] = jr.job.Name()
	}
	for ctx.Err() == nil {
		sleep(ctx, c.safety())
		asked, cancel := context.WithTimeout(ctx, c.opts.SafetyPoll)
		c.health.asked(polling)
		heads, err := p.Poll(asked, jobs)
		cancel()
		if err != nil {
			for _, s := range c.shards {
				s.hint(time.Time{})
			}
			continue
		}
		c.health.answered(polling)
		for i, h := range heads[:min(len(heads), len(c.shards))] {
			if !h.Epoch && ctx.Err() == nil {
				c.opts.OnEmpty()
			}
			c.shards[i].polled(h.Next)
		}
	}
}

// polled wakes the claimer for a message that is due (zero: none), unless it already waits for it.
// Waking every claimer on each poll would be most of the cost of an idle process.
func (s *shardClaimer) polled(due time.Time) {
	if due.IsZero() {
		return
	}
	at := s.local(due).Add(pollTolerance)
	s.mu.Lock()
	known := !s.head.IsZero() && !at.Before(s.head)
	s.mu.Unlock()
	if !known {
		s.hint(due)
	}
}
