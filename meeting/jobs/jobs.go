// Package jobs holds the delay jobs that drive meetings: starts, ends, reminders and timeouts.
// A message is a hint, not an order. Its effect depends on the version of the schedule and on the
// state of the meeting, so a job may run twice, late or without effect.
//
// If a process crashes before the job's transaction, the job is delayed by the rest of the lease.
// After the transaction but before the acknowledgment, the delay is the same, and the second run
// finds its work done. If it crashes before it has scheduled the follow-up messages, they are
// delayed until the loader's next pass.
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
	"punctual/meeting/approval"
	"punctual/meeting/booking"
	"punctual/meeting/waitlist"
)

// maxRuntime limits the time that the database may take for one batch. It handles a thousand rows
// per second. Without a limit, a job would wait for a database that silently disappeared.
const maxRuntime = 30 * time.Second

// page is how many rows a job loads at once.
const page = 1000

// Deps are what the jobs work with.
type Deps struct {
	Service   *booking.Service
	Approval  *approval.Service
	Waitlist  *waitlist.Service
	Store     booking.Store
	Scheduler booking.Scheduler
	Now       func() time.Time
	Changed   func() // called when meetings began or ended; may be nil
	// Down reports whether an error means that the database is down. Such an error does not
	// use up a retry.
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

// load yields the messages of one job that are due in w. It reads them page by page.
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

// classify marks err as [delayjob.Unavailable] if the database is down. It returns other errors
// unchanged.
func (d *Deps) classify(err error) error {
	if err != nil && d.Down(err) {
		return delayjob.Unavailable(err)
	}
	return err
}

// at returns the time of an effect: now, but not before it was due. The engine's clock decided
// that it is due, and this machine's clock may be slightly slow.
func (d *Deps) at(ms []delayjob.Message) time.Time {
	at := d.Now().UTC().Truncate(time.Microsecond)
	for _, m := range ms {
		if m.Due.After(at) {
			at = m.Due.UTC()
		}
	}
	return at
}

// verdicts converts the outcomes of a batch into results for the engine. If the schedule has
// changed since, it sends the meeting's current messages again. A newer message should have
// replaced this one, so it may be lost.
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
			_ = d.Service.Announce(ctx, id) // if this fails, the loader does it soon
		}
	}
	return errs
}

// entity returns the id of the meeting that a message is about.
func entity(m delayjob.Message) (meeting.ID, error) {
	id, err := strconv.ParseInt(delayjob.Entity(m.Key), 10, 64)
	if err != nil {
		return 0, delayjob.Dead(fmt.Errorf("message %s: %w", m.ID(), err))
	}
	return id, nil
}

// only returns the result of a batch of one message.
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
