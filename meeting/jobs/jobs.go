// Package jobs holds the delay jobs that drive meetings: they begin, end, remind and time
// out. A message is a hint to look, not an order: its effect is conditional on the version
// of the schedule and on the state, so a job may run twice, late or in vain.
//
// A crash before the transaction of a job costs the rest of the lease; one behind it, before
// the acknowledgement, the same, and the second run finds its work done. A crash between
// the transaction and the direct adding of what follows costs up to one pass of the loader.
package jobs

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"punctual/delayjob"
	"punctual/meeting"
)

// maxRuntime is how long the database may take over one batch, of which it does a thousand rows
// in a second. One that has vanished without a word would otherwise be waited for.
const maxRuntime = 30 * time.Second

// page is how many rows a job loads at once.
const page = 1000

// Deps are what the jobs work with.
type Deps struct {
	Service   *meeting.Service
	Store     meeting.Store
	Scheduler meeting.Scheduler
	Now       func() time.Time
	Changed   func() // called when meetings began or ended; nil: nobody wants to know
	// Down reports whether an error means that the database does not answer, which is not
	// the message's fault.
	Down func(error) bool
}

// New returns all jobs of meetings.
func New(d Deps) []delayjob.DelayJob {
	return append([]delayjob.DelayJob{
		&transition{Deps: d, name: meeting.JobStart, apply: d.Store.Start},
		&transition{Deps: d, name: meeting.JobEnd, apply: d.Store.End},
		&remind{d},
		&look{d},
	}, timers(d)...)
}

// load pages through what falls due for one job.
func (d *Deps) load(ctx context.Context, job string, w delayjob.Window) iter.Seq2[delayjob.Message, error] {
	return func(yield func(delayjob.Message, error) bool) {
		var after meeting.DueCursor
		for {
			due, err := d.Store.Due(ctx, job, w.From, w.To, after, page)
			if err != nil {
				yield(delayjob.Message{}, d.classify(err))
				return
			}
			for _, row := range due {
				if !yield(delayjob.Message{Job: job, Key: row.Key, Version: row.Version, Due: row.Due}, nil) {
					return
				}
				after = row.Cursor
			}
			if len(due) < page {
				return
			}
		}
	}
}

// classify tells an outage from a failure.
func (d *Deps) classify(err error) error {
	if err != nil && d.Down(err) {
		return delayjob.Unavailable(err)
	}
	return err
}

// at is the instant of an effect: now, but not before it was due. The engine's clock decided
// that it is due, and this machine's may be a little behind it.
func (d *Deps) at(ms []delayjob.Message) time.Time {
	at := d.Now().UTC().Truncate(time.Microsecond)
	for _, m := range ms {
		if m.Due.After(at) {
			at = m.Due.UTC()
		}
	}
	return at
}

// verdicts turns the outcomes of a batch into what the engine wants to know. Where the
// schedule has moved on, the queue is told once more what the meeting now waits for: this
// message should have been replaced, so the one that replaces it may be lost.
func (d *Deps) verdicts(ctx context.Context, ms []delayjob.Message, outcomes []meeting.Outcome) []error {
	errs := make([]error, len(ms))
	announced := map[meeting.ID]bool{}
	for i, outcome := range outcomes {
		if outcome != meeting.Stale {
			continue
		}
		errs[i] = delayjob.Drop("the meeting has another schedule or state")
		id, err := entity(ms[i])
		if err == nil && !announced[id] {
			announced[id] = true
			_ = d.Service.Announce(ctx, id) // the loader does it in a moment, if this fails
		}
	}
	return errs
}

// entity is the meeting that a message is about.
func entity(m delayjob.Message) (meeting.ID, error) {
	id, err := strconv.ParseInt(delayjob.Entity(m.Key), 10, 64)
	if err != nil {
		return 0, delayjob.Dead(fmt.Errorf("message %s: %w", m.ID(), err))
	}
	return id, nil
}

// only is the verdict of a batch of one message.
func only(errs []error, err error) error {
	if err != nil || len(errs) == 0 {
		return err
	}
	return errs[0]
}

// readable calls run with the messages whose keys can be read and buries the others.
func readable[R any](ms []delayjob.Message, read func(delayjob.Message) (R, error), run func([]delayjob.Message, []R) ([]error, error)) ([]error, error) {
	errs := make([]error, len(ms))
	var good []delayjob.Message
	var refs []R
	var places []int
	for i, m := range ms {
		ref, err := read(m)
		if err != nil {
			errs[i] = err
			continue
		}
		good, refs, places = append(good, m), append(refs, ref), append(places, i)
	}
	if len(good) == 0 {
		return errs, nil
	}
	results, err := run(good, refs)
	if err != nil {
		return nil, err
	}
	for i, result := range results {
		errs[places[i]] = result
	}
	return errs, nil
}

func readRef(m delayjob.Message) (meeting.Ref, error) {
	id, err := entity(m)
	return meeting.Ref{ID: id, Version: m.Version}, err
}

// readReminder reads a key like "42:start:900".
func readReminder(m delayjob.Message) (meeting.ReminderRef, error) {
	ref, err := readRef(m)
	if err != nil {
		return meeting.ReminderRef{}, err
	}
	parts := strings.Split(m.Key, ":")
	if len(parts) != 3 {
		return meeting.ReminderRef{}, delayjob.Dead(fmt.Errorf("message %s: not a reminder's key", m.ID()))
	}
	seconds, err := strconv.ParseInt(parts[2], 10, 64)
	if err != nil {
		return meeting.ReminderRef{}, delayjob.Dead(fmt.Errorf("message %s: %w", m.ID(), err))
	}
	return meeting.ReminderRef{
		Ref: ref, Before: meeting.Anchor(parts[1]), Offset: time.Duration(seconds) * time.Second, Due: m.Due,
	}, nil
}
