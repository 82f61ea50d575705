package delayjob

import (
	"context"
	"sync"
	"time"
)

// entities limits how many messages of one entity a job runs at the same time in this process. A
// few messages above the limit are parked: they keep their lease, occupy no room, and run as soon
// as one of their entity ends. The others return to the queue, uncharged and spread out, so that a
// busy entity does not stop the others.
type entities struct {
	limit int

	mu   sync.Mutex
	busy map[string]*entity
}

type entity struct {
	running int
	parked  []*delivery // at most limit; only while some run
	refused int         // returned since the last one ended
}

func newEntities(limit int) *entities { return &entities{limit: limit, busy: map[string]*entity{}} }

// enter returns those of ds that may run now. The caller must pass them to leave. delays are those
// of the messages to return to the queue.
func (l *entities) enter(ds []*delivery) (run, parked, refused []*delivery, delays []time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, d := range ds {
		name := Entity(d.Key)
		e := l.busy[name]
		if e == nil {
			e = &entity{}
			l.busy[name] = e
		}
		switch {
		case e.running < l.limit:
			e.running++
			run = append(run, d)
		case len(e.parked) < l.limit:
			e.parked = append(e.parked, d)
			parked = append(parked, d)
		default:
			refused = append(refused, d)
			delays = append(delays, spread(e.refused))
			e.refused++
		}
	}
	return run, parked, refused, delays
}

// leave ends what enter or leave returned, and returns the parked messages that may run now.
func (l *entities) leave(ds []*delivery) (next []*delivery) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, d := range ds {
		name := Entity(d.Key)
		e := l.busy[name]
		e.running--
		e.refused = 0
		if len(e.parked) > 0 {
			e.running++
			next = append(next, e.parked[0])
			e.parked = e.parked[1:]
		}
		if e.running == 0 {
			delete(l.busy, name)
		}
	}
	return next
}

// unpark returns all parked messages; they will not run.
func (l *entities) unpark() (ds []*delivery) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.busy {
		ds = append(ds, e.parked...)
		e.parked = nil
	}
	return ds
}

// runLimited runs those of ds that the limit per entity allows, and then what was parked because of
// them.
func (jr *jobRunner) runLimited(ctx, handlers context.Context, ds []*delivery) {
	ds, parked, refused, delays := jr.limit.enter(ds)
	release(parked)
	for i, d := range refused {
		jr.giveBackOne(d, delays[i])
	}
	for ; len(ds) > 0; ds = jr.limit.leave(ds) {
		jr.run(ctx, handlers, ds)
	}
}
