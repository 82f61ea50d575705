package delayjob

import (
	"context"
	"errors"
	"time"
)

// A message that was held in a crash may be what caused it, or may merely have been nearby. So
// that the culprit finds itself alone in the end, a message of one crash is never run in a batch
// with others, and one of more is a suspect: a process holds a single suspect at a time, of
// whatever job and shard. Who only was nearby is thus part of two crashes of a culprit at most,
// and those are free ([Want.FreeCrashes]).
func suspected(m Message) bool { return m.Crashes >= freeCrashes }

const (
	// A suspect for which there is no room comes again after about this time, many of them one
	// after the other.
	suspectPause = 250 * time.Millisecond
	suspectStep  = 20 * time.Millisecond
	suspectCap   = 5 * time.Second
)

// isolate takes one of the suspects of a claim if the consumer holds none, and gives back the
// others. The one does not begin before the others are known to be away; if that cannot be known
// all of them are left alone, and their leases end.
func (r *runner) isolate(ctx context.Context, ms []Message, begun time.Time) {
	first := r.c.byJob[ms[0].Job].deliver(ms[:1], begun)
	others := ms
	taken := r.c.leases.isolate(first[0])
	if taken {
		others = ms[1:]
	}
	away := r.giveBack(ctx, others)
	for _, m := range others {
		r.c.byJob[m.Job].release(1)
	}
	l := first[0].lane
	switch {
	case !taken:
	case away:
		l.in <- first
	default:
		r.c.leases.drop(first)
		l.release(1)
	}
}

// giveBack returns what was claimed to the queue, uncharged, and reports whether all are known to be gone.
func (r *runner) giveBack(ctx context.Context, ms []Message) bool {
	if len(ms) == 0 {
		return true
	}
	rs := make([]Return, len(ms))
	for i, m := range ms {
		rs[i] = Return{Lease: m.Lease, How: Release, Delay: min(suspectPause+time.Duration(i)*suspectStep, suspectCap)}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	for _, err := range r.c.queue.Nack(ctx, rs...) {
		if err != nil && !errors.Is(err, ErrLeaseLost) {
			r.c.opts.Logger.Warn("messages could not be given back; their leases end", "shard", r.shard, "messages", len(ms), "error", err)
			return false
		}
	}
	return true
}
