package gormstore

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"time"

	"gorm.io/gorm"

	"punctual/meeting"
)

var (
	followers = write(`SELECT id FROM meetings
		WHERE default_reminders AND status IN ('pending', 'confirmed', 'in_progress') AND ends_at > $1 AND id > $2
		ORDER BY id LIMIT $3`)
	lockFollowers = write(`SELECT id FROM meetings
		WHERE id ` + amongIDs + ` AND default_reminders AND status IN ('pending', 'confirmed', 'in_progress') AND ends_at > $2
		ORDER BY id {postgres: FOR NO KEY UPDATE}`)
	// Only one process at a time writes the reminders, so that several that read the same file do
	// not double the load.
	lockDefaults   = write(`SELECT pg_advisory_xact_lock(120394875201)`)
	dropReminders  = load("drop_reminders")
	changeChannels = load("change_channels")
	fillReminders  = load("fill_reminders")
	getChosen      = write(`SELECT r.meeting_id, {array}({object}('before', r.before, 'offset', r.offset_seconds, 'channels', {json}(r.channels)))
		FROM (SELECT * FROM meeting_reminders WHERE meeting_id ` + amongIDs + ` ORDER BY meeting_id, before DESC, offset_seconds DESC) AS r GROUP BY r.meeting_id`)
	raiseVersions = write(`UPDATE meetings SET version = version + 1, updated_at = $2 WHERE id ` + amongIDs)
)

// FollowReminders sets these reminders, in one short transaction, in at most limit meetings with
// higher IDs than after that follow the installation's defaults and have not ended. It returns how
// many changed, and the last ID that it read; 0: none is left.
//
// It does not change schedules and their versions: a reminder has its own message, and the message
// of a removed one has no effect. A reminder whose time has passed is not sent (again),
// however often it is removed and added. Meetings that have the reminders already are read, but
// neither locked nor written.
func (s *Store) FollowReminders(ctx context.Context, rs []meeting.Reminder, at time.Time, after meeting.ID, limit int) (changed int, last meeting.ID, err error) {
	tx := s.db.WithContext(ctx)
	page, err := s.numbers(tx, followers, micro(at), after, limit)
	if err != nil || len(page) == 0 {
		return 0, 0, wrapFollow(err)
	}
	differ, err := s.differing(tx, page, rs)
	if err == nil && len(differ) > 0 {
		err = s.transaction(ctx, func(tx *gorm.DB) (err error) {
			changed, err = s.setReminders(tx, differ, rs, micro(at))
			return err
		})
	}
	return changed, page[len(page)-1], wrapFollow(err)
}

func wrapFollow(err error) error {
	if err != nil {
		return fmt.Errorf("follow the default reminders: %w", err)
	}
	return nil
}

// differing returns the meetings that have other reminders.
func (s *Store) differing(tx *gorm.DB, ids []int64, rs []meeting.Reminder) ([]int64, error) {
	now, err := s.chosen(tx, ids)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(ids), func(id int64) bool { return meeting.SameReminders(now[id], rs) }), nil
}

func (s *Store) setReminders(tx *gorm.DB, ids []int64, rs []meeting.Reminder, at time.Time) (changed int, err error) {
	if s.dialect == postgres {
		if err := s.query(tx, func(*sql.Rows) error { return nil }, lockDefaults); err != nil {
			return 0, err
		}
	}
	if ids, err = s.numbers(tx, lockFollowers, s.ids(ids...), at); err != nil || len(ids) == 0 {
		return 0, err
	}
	before, err := s.chosen(tx, ids)
	if err != nil {
		return 0, err
	}
	rows := make([]row, len(rs))
	for i, r := range rs {
		rows[i] = row{"before": r.Before, "offset_seconds": int64(r.Offset / time.Second), "channels": r.Channels}
	}
	reminders := table(rows)
	touched := map[int64]bool{}
	for _, q := range []statement{dropReminders, changeChannels} {
		some, err := s.numbers(tx, q, s.ids(ids...), reminders)
		if err != nil {
			return 0, err
		}
		for _, id := range some {
			touched[id] = true
		}
	}
	some, err := s.numbers(tx, fillReminders, s.ids(ids...), reminders, at)
	if err != nil {
		return 0, err
	}
	for _, id := range some {
		touched[id] = true
	}
	if len(touched) == 0 {
		return 0, nil
	}
	sorted := slices.Sorted(maps.Keys(touched))
	if _, err = s.exec(tx, raiseVersions, s.ids(sorted...), at); err != nil {
		return 0, err
	}
	entries := map[meeting.ID]meeting.Entry{}
	for _, id := range sorted {
		entries[id] = meeting.RemindersChanged(before[id], rs, at)
	}
	return len(touched), s.recordAll(tx, entries)
}

// chosen selects the current reminders of meetings.
func (s *Store) chosen(tx *gorm.DB, ids []int64) (map[meeting.ID][]meeting.Reminder, error) {
	found := map[meeting.ID][]meeting.Reminder{}
	err := s.query(tx, func(rows *sql.Rows) error {
		var id meeting.ID
		var parts []byte
		if err := rows.Scan(&id, &parts); err != nil {
			return err
		}
		return readParts(parts, func(p reminderPart) { found[id] = append(found[id], p.reminder()) })
	}, getChosen, s.ids(ids...))
	return found, err
}
