package gormstore

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"

	"punctual/meeting"
)

var (
	// The lock keeps the schedules as they are until the notices are recorded.
	lockSchedules = write(`SELECT id, schedule_version, status FROM meetings
		WHERE id IN {postgres: (SELECT unnest($1::bigint[])) ORDER BY id FOR SHARE}{sqlite: (SELECT value FROM json_each($1))}`)
	handleReminders = write(`UPDATE meeting_reminders AS r SET handled_at = $2
		FROM {rows $1: meeting_id bigint, before text, offset_seconds bigint}
		WHERE r.meeting_id = x.meeting_id AND r.before = x.before AND r.offset_seconds = x.offset_seconds AND r.handled_at IS NULL
		RETURNING {postgres: r.}meeting_id, {postgres: r.}before, {postgres: r.}offset_seconds`)
	getReminders = write(`SELECT r.meeting_id, r.before, r.offset_seconds FROM meeting_reminders AS r
		JOIN {rows $1: meeting_id bigint, before text, offset_seconds bigint}
		ON r.meeting_id = x.meeting_id AND r.before = x.before AND r.offset_seconds = x.offset_seconds`)
)

// reminderKey identifies a row of meeting_reminders.
type reminderKey struct {
	id     meeting.ID
	before meeting.Anchor
	offset int64 // seconds
}

func keyOf(r meeting.ReminderRef) reminderKey {
	return reminderKey{r.ID, r.Before, int64(r.Offset / time.Second)}
}

func compareKeys(a, b reminderKey) int {
	return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.before, b.before), cmp.Compare(a.offset, b.offset))
}

// Remind also takes reminders of meetings that have ended meanwhile: fn marks as late what
// is, so that the ledger tells what was missed.
func (s *Store) Remind(ctx context.Context, refs []meeting.ReminderRef, at time.Time, fn func(*meeting.Meeting, meeting.ReminderRef) []meeting.Notice) ([]meeting.Outcome, []meeting.Notice, error) {
	var outcomes []meeting.Outcome
	var notices []meeting.Notice
	err := s.transaction(ctx, func(tx *gorm.DB) error {
		outcomes, notices = make([]meeting.Outcome, len(refs)), nil
		current, err := s.currentReminders(tx, refs)
		if err != nil {
			return err
		}
		handled, err := s.reminders(tx, handleReminders, current, micro(at))
		if err != nil {
			return err
		}
		if err := s.judge(tx, refs, current, handled, outcomes); err != nil {
			return err
		}
		if notices, err = s.remindNotices(tx, refs, outcomes, fn); err != nil || len(notices) == 0 {
			return err
		}
		return s.outbox.Insert(tx, notices)
	})
	if err != nil {
		return nil, nil, fmt.Errorf("%s of %d reminders: %w", meeting.JobRemind, len(refs), err)
	}
	return outcomes, notices, nil
}

// currentReminders are the keys, in order, of those refs whose meetings have that schedule
// and may still tell somebody of it.
func (s *Store) currentReminders(tx *gorm.DB, refs []meeting.ReminderRef) ([]reminderKey, error) {
	ids := make([]int64, len(refs))
	for i, r := range refs {
		ids[i] = r.ID
	}
	slices.Sort(ids)
	meetings, err := s.schedules(tx, lockSchedules, slices.Compact(ids))
	if err != nil {
		return nil, err
	}
	var keys []reminderKey
	for _, r := range refs {
		m := meetings[r.ID]
		switch m.status {
		case meeting.Confirmed, meeting.InProgress, meeting.Ended:
			if m.version == r.Version {
				keys = append(keys, keyOf(r))
			}
		}
	}
	slices.SortFunc(keys, compareKeys)
	return slices.Compact(keys), nil
}

// reminders runs a query about rows of meeting_reminders and returns those it found.
func (s *Store) reminders(tx *gorm.DB, q statement, keys []reminderKey, args ...any) (map[reminderKey]bool, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	rows := make([]row, len(keys))
	for i, k := range keys {
		rows[i] = row{"meeting_id": k.id, "before": k.before, "offset_seconds": k.offset}
	}
	found := make(map[reminderKey]bool, len(keys))
	err := s.query(tx, func(rows *sql.Rows) error {
		var k reminderKey
		err := rows.Scan(&k.id, &k.before, &k.offset)
		found[k] = true
		return err
	}, q, append([]any{table(rows)}, args...)...)
	return found, err
}

// judge sets the outcomes: of equal refs the first is applied, and one that is there but was
// not handled now had been before.
func (s *Store) judge(tx *gorm.DB, refs []meeting.ReminderRef, current []reminderKey, handled map[reminderKey]bool, outcomes []meeting.Outcome) error {
	there := handled
	if len(handled) < len(current) {
		var err error
		if there, err = s.reminders(tx, getReminders, current); err != nil {
			return err
		}
	}
	applied := make(map[reminderKey]bool, len(handled))
	for i, r := range refs {
		k := keyOf(r)
		_, ok := slices.BinarySearchFunc(current, k, compareKeys)
		switch {
		case !ok || !there[k]:
			outcomes[i] = meeting.Stale
		case handled[k] && !applied[k]:
			outcomes[i] = meeting.Applied
			applied[k] = true
		default:
			outcomes[i] = meeting.Done
		}
	}
	return nil
}

// remindNotices asks fn for the notices of the reminders that were applied.
func (s *Store) remindNotices(tx *gorm.DB, refs []meeting.ReminderRef, outcomes []meeting.Outcome, fn func(*meeting.Meeting, meeting.ReminderRef) []meeting.Notice) ([]meeting.Notice, error) {
	var ids []int64
	for i, r := range refs {
		if outcomes[i] == meeting.Applied {
			ids = append(ids, r.ID)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	meetings, err := s.readMeetings(tx, meetingsByID, s.ids(ids...))
	if err != nil {
		return nil, err
	}
	byID := make(map[meeting.ID]*meeting.Meeting, len(meetings))
	for _, m := range meetings {
		byID[m.ID] = m
	}
	var notices []meeting.Notice
	for i, r := range refs {
		if m := byID[r.ID]; m != nil && outcomes[i] == meeting.Applied {
			notices = append(notices, fn(m, r)...)
		}
	}
	return notices, nil
}
