package delayjob

import (
	"context"
	"time"
)

// A Poller is a queue that can tell of all its shards at once whether they have something to
// do. A [Consumer] asks it in place of an empty claim of every shard, so that looking after
// hints that were lost costs a call a second instead of one for each shard.
type Poller interface {
	// Poll tells for each shard what a claim of these jobs would find. It takes nothing.
	Poll(ctx context.Context, jobs []string) ([]Head, error)
}

// A Head is what stands first in a shard.
type Head struct {
	Next  time.Time // earliest due time or end of a lease of the jobs that are not paused, perhaps past; zero: none
	Epoch bool      // as in [Claimed]
}

// pollTolerance is by how much two readings of the engine's clock may differ.
const pollTolerance = time.Millisecond

// poll looks at all shards every SafetyPoll until ctx ends. After a poll that fails the shards
// look for themselves, and say what is wrong.
func (c *Consumer) poll(ctx context.Context, p Poller) {
	jobs := make([]string, len(c.lanes))
	for i, l := range c.lanes {
		jobs[i] = l.job.Name()
	}
	for ctx.Err() == nil {
		sleep(ctx, c.safety())
		asked, cancel := context.WithTimeout(ctx, c.opts.SafetyPoll)
		c.health.asked(polling)
		heads, err := p.Poll(asked, jobs)
		cancel()
		if err != nil {
			for _, r := range c.shards {
				r.hint(time.Time{})
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

// polled notes what a poll found to be due at a time; zero: nothing. A runner that waits for it
// already is left alone: waking all of them each time would be most of what idling costs.
func (r *runner) polled(due time.Time) {
	if due.IsZero() {
		return
	}
	at := r.local(due).Add(pollTolerance)
	r.mu.Lock()
	known := !r.head.IsZero() && !at.Before(r.head)
	r.mu.Unlock()
	if !known {
		r.hint(due)
	}
}
