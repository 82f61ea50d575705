package admin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"punctual/delayjob"
)

// DeadLetter is the record of a dead letter.
type DeadLetter struct {
	Job      string
	Key      string
	Version  int64
	Attempts int
	Error    string
	DeadAt   time.Time

	DiscardedAt *time.Time // when an operator discarded it; nil: it is open
}

// ID of the message that died.
func (d DeadLetter) ID() string { return delayjob.MessageID(d.Job, d.Key) }

func (DeadLetter) TableName() string { return "job_failures" }

// Filter chooses dead letters; a zero field chooses all.
type Filter struct {
	Job           string
	ErrorContains string // in upper or lower case
}

// ErrCursor is returned for a cursor that no list has returned.
var ErrCursor = errors.New("malformed cursor")

// Records keep dead letters where a flush of the queue cannot lose them.
type Records interface {
	delayjob.FailureSink
	// Get returns the record of a message, discarded or not; [delayjob.ErrNotFound] if there is none.
	Get(ctx context.Context, id string) (DeadLetter, error)
	// List pages through the open records, the latest first. An empty cursor starts, an empty next ends.
	List(ctx context.Context, f Filter, cursor string, limit int) (ds []DeadLetter, next string, err error)
	// Count returns the number of open records of each job.
	Count(ctx context.Context) (map[string]int, error)
	// Discard closes the record of a message and reports whether there was an open one.
	Discard(ctx context.Context, id string, at time.Time) (bool, error)
	// Forget deletes records of messages that are requeued and returns how many there were.
	Forget(ctx context.Context, ds ...DeadLetter) (int, error)
	// NoteRequeued notes in the audit log that messages without a record were requeued.
	NoteRequeued(ctx context.Context, ids ...string) error
}

// Queue is a queue that operators may look into.
type Queue interface {
	delayjob.Queue
	delayjob.Inspector
}

// DeadLetters requeues and discards dead letters. The queue holds them, unless it was flushed since
// they died. The database has a record of each, unless it was unavailable when they died.
type DeadLetters struct {
	Records Records
	Queue   Queue
}

// Requeue tries a dead letter again, even a discarded one. It returns [delayjob.ErrNotFound] if there
// is none.
func (d *DeadLetters) Requeue(ctx context.Context, id string) error {
	record, err := d.Records.Get(ctx, id)
	if err == nil {
		_, err = d.revive(ctx, record)
		return err
	}
	if !errors.Is(err, delayjob.ErrNotFound) {
		return err
	}
	states, err := d.Queue.Requeue(ctx, id)
	switch {
	case err != nil:
		return QueueError(err)
	case states[0] != delayjob.StateDead:
		return delayjob.ErrNotFound
	}
	return d.Records.NoteRequeued(ctx, id)
}

// revive makes recorded messages due now and forgets their deaths, in this order: if the
// queue does not answer, nothing has changed. One that a flush took out of the queue is put
// in again, for the loader brings only what is pending.
func (d *DeadLetters) revive(ctx context.Context, records ...DeadLetter) (int, error) {
	ids := make([]string, len(records))
	for i, r := range records {
		ids[i] = r.ID()
	}
	states, err := d.Queue.Requeue(ctx, ids...)
	if err != nil {
		return 0, QueueError(err)
	}
	var absent []delayjob.Message
	for i, r := range records {
		if states[i] == delayjob.StateAbsent {
			absent = append(absent, delayjob.Message{Job: r.Job, Key: r.Key, Version: r.Version, Due: d.Queue.Now().Truncate(time.Millisecond)})
		}
	}
	if _, err := d.Queue.Add(ctx, absent...); err != nil {
		return 0, QueueError(err)
	}
	return d.Records.Forget(ctx, records...)
}

// RequeueAll tries again all dead letters that match the filter and returns their number. It also
// asks the queue for dead letters of jobs without a record, unless the filter is about the error,
// which only a record has.
func (d *DeadLetters) RequeueAll(ctx context.Context, f Filter, jobs []string) (int, error) {
	n := 0
	for cursor, more := "", true; more; more = cursor != "" {
		records, next, err := d.Records.List(ctx, f, cursor, PageSize) // messages that die in the meantime come before the cursor
		if err != nil {
			return n, err
		}
		revived, err := d.revive(ctx, records...)
		if n += revived; err != nil {
			return n, err
		}
		cursor = next
	}
	if f.ErrorContains != "" {
		return n, nil
	}
	for _, job := range jobs {
		unrecorded, err := d.requeueUnrecorded(ctx, job)
		if n += unrecorded; err != nil {
			return n, QueueError(err)
		}
	}
	return n, nil
}

// requeueUnrecorded tries again all that the queue holds of a job's dead letters. It looks
// first and acts then, or it would not end while they die again at once.
func (d *DeadLetters) requeueUnrecorded(ctx context.Context, job string) (int, error) {
	var ids []string
	for cursor, more := "", true; more; more = cursor != "" {
		items, next, err := d.Queue.List(ctx, job, delayjob.StateDead, cursor, PageSize)
		if err != nil {
			return 0, err
		}
		for _, i := range items {
			ids = append(ids, i.ID())
		}
		cursor = next
	}
	var revived []string
	states, err := d.Queue.Requeue(ctx, ids...)
	for i, s := range states {
		if s == delayjob.StateDead {
			revived = append(revived, ids[i])
		}
	}
	return len(revived), errors.Join(err, d.Records.NoteRequeued(ctx, revived...))
}

// PageSize is how many dead letters are listed at a time.
const PageSize = 500

// Discard gives up a dead letter. It returns [delayjob.ErrNotFound] if there is none. The record
// stays, closed: without it the loader would load the message again while its work is pending.
func (d *DeadLetters) Discard(ctx context.Context, id string) error {
	info, err := d.Queue.Get(ctx, id)
	if err != nil && !errors.Is(err, delayjob.ErrNotFound) {
		return QueueError(err)
	}
	found, err := d.Records.Discard(ctx, id, time.Now())
	if err != nil {
		return err
	}
	if info.State != delayjob.StateDead {
		if !found {
			return delayjob.ErrNotFound
		}
		return nil
	}
	if !found { // the database was away when it died
		f := delayjob.Failure{Message: info.Message, Error: "discarded; its error was not recorded", At: info.DiedAt}
		if err := d.Records.RecordFailures(ctx, f); err != nil {
			return err
		}
		if _, err := d.Records.Discard(ctx, id, time.Now()); err != nil {
			return err
		}
	}
	if _, err := d.Queue.Remove(ctx, id); err != nil {
		return QueueError(fmt.Errorf("remove %s: %w", id, err))
	}
	return nil
}

// DiscardAll discards all dead letters with a record that matches the filter, and returns their number.
func (d *DeadLetters) DiscardAll(ctx context.Context, f Filter) (int, error) {
	var ids []string
	for cursor, more := "", true; more; more = cursor != "" {
		records, next, err := d.Records.List(ctx, f, cursor, PageSize)
		if err != nil {
			return 0, err
		}
		for _, r := range records {
			ids = append(ids, r.ID())
		}
		cursor = next
	}
	return Each(ids, func(id string) error { return d.Discard(ctx, id) })
}

// Each calls do for each id and returns how many succeeded. It skips those for which do returns
// [delayjob.ErrNotFound] and stops at any other error.
func Each(ids []string, do func(id string) error) (n int, err error) {
	for _, id := range ids {
		switch err := do(id); {
		case err == nil:
			n++
		case !errors.Is(err, delayjob.ErrNotFound):
			return n, err
		}
	}
	return n, nil
}
