package gormstore

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"punctual/notify"
)

// ErrSent says that a notification that was to be retracted was sent, or is being sent.
var ErrSent = errors.New("notification already sent")

// Retract marks notifications as superseded in the transaction tx, because what they are about was
// undone: those with some IDs, and all about some meetings except reminders. It changes nothing and
// returns [ErrSent] if an attempt to send one of them has begun. Retracted notifications leave their
// threads, so they supersede nothing. threads are those that they left.
func (l *Ledger) Retract(tx *gorm.DB, ids, meetingIDs []int64) (threads []string, err error) {
	found := map[int64]row{}
	for _, q := range []struct {
		column, among string
		ids           []int64
	}{{"id", "true", ids}, {"meeting_id", "kind <> 'reminder'", meetingIDs}} {
		for part := range slices.Chunk(slices.Clone(q.ids), 500) {
			var rows []row
			err := tx.Clauses(clause.Locking{Strength: clause.LockingStrengthUpdate}).Select("id", "thread", "state", "attempts").
				Where(q.column+" IN ? AND "+q.among, part).Order("id").Find(&rows).Error
			if err != nil {
				return nil, fmt.Errorf("lock notifications: %w", err)
			}
			for _, r := range rows {
				found[r.ID] = r
			}
		}
	}
	var all []int64
	for id, r := range found {
		switch notify.State(r.State) {
		case notify.Sending, notify.Sent, notify.Failed:
			return nil, ErrSent
		}
		if r.Attempts > 0 { // the outcome of one may be unknown
			return nil, ErrSent
		}
		all = append(all, id)
		if r.Thread != "" {
			threads = append(threads, r.Thread)
		}
	}
	slices.Sort(all)
	for part := range slices.Chunk(all, 500) {
		err := tx.Model(&row{}).Where("id IN ?", part).UpdateColumns(map[string]any{
			"state":      gorm.Expr("CASE WHEN state IN ('pending', 'cancelled') THEN 'superseded' ELSE state END"),
			"last_error": "the change was undone", "thread": "", "updated_at": micro(tx.NowFunc()),
			"dedupe_key": gorm.Expr("dedupe_key || ':undone:' || CAST(id AS text)"), // the next change may have the same
		}).Error
		if err != nil {
			return nil, fmt.Errorf("retract notifications: %w", err)
		}
	}
	slices.Sort(threads)
	return slices.Compact(threads), nil
}

// Waiting is a notification that waits to be sent.
type Waiting struct {
	notify.Point
	Channel notify.Channel
}

// Revive lets notifications wait again in the transaction tx that were superseded or cancelled since
// an instant, by a change that was undone: those about some meetings, and those of some threads.
func (l *Ledger) Revive(tx *gorm.DB, meetingIDs []int64, threads []string, since time.Time) ([]Waiting, error) {
	var waiting []Waiting
	revive := func(q *gorm.DB) error {
		var rows []row
		err := q.Model(&rows).Clauses(clause.Returning{}).
			Where("state IN ('superseded', 'cancelled') AND last_error <> 'the change was undone' AND updated_at >= ?", micro(since)).
			UpdateColumns(map[string]any{"state": notify.Pending, "last_error": "", "updated_at": micro(tx.NowFunc())}).Error
		for _, r := range rows {
			waiting = append(waiting, Waiting{notify.Point{Due: r.DueAt.UTC(), ID: r.ID, Version: r.Version}, notify.Channel(r.Channel)})
		}
		return err
	}
	for part := range slices.Chunk(slices.Clone(meetingIDs), 500) {
		if err := revive(tx.Where("meeting_id IN ?", part)); err != nil {
			return nil, fmt.Errorf("revive notifications: %w", err)
		}
	}
	for part := range slices.Chunk(threads, 500) {
		if err := revive(tx.Where("thread <> '' AND thread IN ?", part)); err != nil {
			return nil, fmt.Errorf("revive notifications: %w", err)
		}
	}
	return waiting, nil
}
