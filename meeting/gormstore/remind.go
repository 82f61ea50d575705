package gormstore

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"time"

	"gorm.io/gorm"

	"punctual/delayjob/failpoint"
	"punctual/meeting"
)

var (
	// The lock keeps the schedules as they are until the notices are recorded.
	lockSchedules = write(`SELECT id, schedule_version, status FROM meetings
		WHERE id ` + amongIDs + ` ORDER BY id {postgres: FOR SHARE}`)
	handleReminders = load("handle_reminders")
	getReminders    = load("find_reminders")
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

// Remind also accepts reminders of meetings that have ended since. fn marks late ones, so that the
// notification records show which were missed.
func (s *Store) Remind(ctx context.Context, refs []meeting.ReminderRef, at time.Time, fn func(*meeting.Meeting, meeting.ReminderRef) []meeting.Notice) ([]meeting.Outcome, []meeting.Notice, error) {
	var outcomes []meeting.Outcome
	var notices []meeting.Notice
	err := s.transaction(ctx, func(tx *gorm.DB) error {
		outcomes, notices = make([]meeting.Outcome, len(refs)), nil
		current, err := s.current(tx, refs)
		if err != nil {
			return err
		}
		if err := s.handle(tx, refs, current, micro(at), outcomes); err != nil {
			return err
		}
		if notices, err = s.remindNotices(tx, refs, outcomes, at, fn); err != nil || len(notices) == 0 {
			return err
		}
		failpoint.Reach("remind.middle", "")
		return s.outbox.Insert(tx, notices)
	})
	if err != nil {
		return nil, nil, fmt.Errorf("%s of %d reminders: %w", meeting.JobRemind, len(refs), err)
	}
	return outcomes, notices, nil
}

// current reports for each ref whether it belongs to its meeting's current schedule and the
// meeting may still send reminders.
func (s *Store) current(tx *gorm.DB, refs []meeting.ReminderRef) ([]bool, error) {
	ids := make([]int64, len(refs))
	for i, r := range refs {
		ids[i] = r.ID
	}
	slices.Sort(ids)
	meetings, err := s.schedules(tx, lockSchedules, slices.Compact(ids))
	if err != nil {
		return nil, err
	}
	current := make([]bool, len(refs))
	for i, r := range refs {
		m := meetings[r.ID]
		switch m.status {
		case meeting.Confirmed, meeting.InProgress, meeting.Ended:
			current[i] = m.version == r.Version
		}
	}
	return current, nil
}

// handle marks the reminders of current refs as handled and sets all outcomes. Of equal refs the
// first is applied. An existing reminder that was not marked now had been marked before.
func (s *Store) handle(tx *gorm.DB, refs []meeting.ReminderRef, current []bool, at time.Time, outcomes []meeting.Outcome) error {
	var keys []reminderKey
	for i, r := range refs {
		if current[i] {
			keys = append(keys, keyOf(r))
		}
	}
	slices.SortFunc(keys, compareKeys) // all callers lock the rows in the same order
	keys = slices.Compact(keys)
	handled, err := s.reminders(tx, handleReminders, keys, at)
	if err != nil {
		return err
	}
	there := maps.Clone(handled)
	if len(handled) < len(keys) {
		if there, err = s.reminders(tx, getReminders, keys); err != nil {
			return err
		}
	}
	for i, r := range refs {
		k := keyOf(r)
		switch {
		case !current[i] || !there[k]:
			outcomes[i] = meeting.Stale
		case handled[k]:
			outcomes[i] = meeting.Applied
			handled[k] = false
		default:
			outcomes[i] = meeting.Done
		}
	}
	return nil
}

func compareKeys(a, b reminderKey) int {
	return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.before, b.before), cmp.Compare(a.offset, b.offset))
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

// remindNotices asks fn for the notices of the reminders that were applied, and adds those for chat channels.
func (s *Store) remindNotices(tx *gorm.DB, refs []meeting.ReminderRef, outcomes []meeting.Outcome, at time.Time, fn func(*meeting.Meeting, meeting.ReminderRef) []meeting.Notice) ([]meeting.Notice, error) {
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
	var rooms []int64
	for _, m := range meetings {
		rooms = append(rooms, m.RoomIDs...)
	}
	channels, err := s.outbox.Channels(tx, rooms)
	if err != nil {
		return nil, err
	}
	var notices []meeting.Notice
	for i, r := range refs {
		m := byID[r.ID]
		if m == nil || outcomes[i] != meeting.Applied {
			continue
		}
		notices = append(notices, fn(m, r)...)
		if due, ok := m.Reminder(r.Before, r.Offset); ok {
			notices = append(notices, m.RemindChannels(due, channels, at)...)
		}
	}
	return notices, nil
}
