package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"punctual/delayjob"
	failures "punctual/delayjob/gormstore"
)

// deadLetters are the messages that were given up. The queue holds them, unless it was
// flushed since, and the database has a record of each, unless it was away when they died.
type deadLetters struct {
	records *failures.Failures
	queue   queue
}

// requeue tries a dead letter again, a discarded one too; [delayjob.ErrNotFound] if there is none.
func (d *deadLetters) requeue(ctx context.Context, id string) error {
	record, err := d.records.Get(ctx, id)
	if err == nil {
		_, err = d.revive(ctx, record)
		return err
	}
	if !errors.Is(err, delayjob.ErrNotFound) {
		return err
	}
	states, err := d.queue.Requeue(ctx, id)
	switch {
	case err != nil:
		return queueError(err)
	case states[0] != delayjob.StateDead:
		return delayjob.ErrNotFound
	}
	return d.records.NoteRequeued(ctx, id)
}

// revive makes recorded messages due now and forgets their deaths, in this order: if the
// queue does not answer, nothing has changed. One that a flush took out of the queue is put
// in again, for the loader brings only what is pending.
func (d *deadLetters) revive(ctx context.Context, records ...failures.Failure) (int, error) {
	ids := make([]string, len(records))
	for i, r := range records {
		ids[i] = r.ID()
	}
	states, err := d.queue.Requeue(ctx, ids...)
	if err != nil {
		return 0, queueError(err)
	}
	var absent []delayjob.Message
	for i, r := range records {
		if states[i] == delayjob.StateAbsent {
			absent = append(absent, delayjob.Message{Job: r.Job, Key: r.Key, Version: r.Version, Due: d.queue.Now().Truncate(time.Millisecond)})
		}
	}
	if _, err := d.queue.Add(ctx, absent...); err != nil {
		return 0, queueError(err)
	}
	return d.records.Forget(ctx, records...)
}

// requeueAll tries again what fits the filter and tells how many those were. The queue is
// asked for those of jobs that have no record, unless an error is looked for, which only
// records have.
func (d *deadLetters) requeueAll(ctx context.Context, f failures.Filter, jobs []string) (int, error) {
	n := 0
	for cursor, more := "", true; more; more = cursor != "" {
		records, next, err := d.records.List(ctx, f, cursor, deadPage) // what dies meanwhile stands before the cursor
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
			return n, queueError(err)
		}
	}
	return n, nil
}

// requeueUnrecorded tries again all that the queue holds of a job's dead letters. It looks
// first and acts then, or it would not end while they die again at once.
func (d *deadLetters) requeueUnrecorded(ctx context.Context, job string) (int, error) {
	var ids []string
	for cursor, more := "", true; more; more = cursor != "" {
		items, next, err := d.queue.List(ctx, job, delayjob.StateDead, cursor, deadPage)
		if err != nil {
			return 0, err
		}
		for _, i := range items {
			ids = append(ids, i.ID())
		}
		cursor = next
	}
	var revived []string
	states, err := d.queue.Requeue(ctx, ids...)
	for i, s := range states {
		if s == delayjob.StateDead {
			revived = append(revived, ids[i])
		}
	}
	return len(revived), errors.Join(err, d.records.NoteRequeued(ctx, revived...))
}

const deadPage = 500

// discard gives a dead letter up for good; [delayjob.ErrNotFound] if there is none. The
// record stays, closed, or the loader would take up again what is still pending.
func (d *deadLetters) discard(ctx context.Context, id string) error {
	info, err := d.queue.Get(ctx, id)
	if err != nil && !errors.Is(err, delayjob.ErrNotFound) {
		return queueError(err)
	}
	found, err := d.records.Discard(ctx, id, time.Now())
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
		if err := d.records.RecordFailures(ctx, f); err != nil {
			return err
		}
		if _, err := d.records.Discard(ctx, id, time.Now()); err != nil {
			return err
		}
	}
	if _, err := d.queue.Remove(ctx, id); err != nil {
		return queueError(fmt.Errorf("remove %s: %w", id, err))
	}
	return nil
}
