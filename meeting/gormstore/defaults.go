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
	lockFollowers = write(`SELECT id FROM meetings
		WHERE default_reminders AND status IN ('pending', 'confirmed', 'in_progress') AND ends_at > $1
		ORDER BY id {postgres: FOR NO KEY UPDATE}`)
	dropReminders = write(`DELETE FROM meeting_reminders
		WHERE meeting_id IN ` + idList + ` AND (before, offset_seconds) NOT IN (SELECT x.before, x.offset_seconds FROM {rows $2: before text, offset_seconds bigint})
		RETURNING meeting_id`)
	changeChannels = write(`UPDATE meeting_reminders AS r SET channels = x.channels
		FROM {rows $2: before text, offset_seconds bigint, channels jsonb}
		WHERE r.meeting_id IN ` + idList + ` AND r.before = x.before AND r.offset_seconds = x.offset_seconds AND r.channels <> x.channels
		RETURNING meeting_id`)
	fillReminders = write(`INSERT INTO meeting_reminders (meeting_id, before, offset_seconds, channels, due_at, handled_at)
		SELECT id, before, offset_seconds, channels, due_at, CASE WHEN due_at <= $3 THEN CAST($3 AS timestamptz) END
		FROM (SELECT m.id, x.before, x.offset_seconds, x.channels,
				CASE x.before WHEN 'start' THEN m.starts_at ELSE m.ends_at END - x.offset_seconds * {postgres: interval '1 second'}{sqlite: 1000000} AS due_at
			FROM meetings m, {rows $2: before text, offset_seconds bigint, channels jsonb} WHERE m.id IN ` + idList + `) AS wanted
		WHERE true
		ON CONFLICT (meeting_id, before, offset_seconds) DO NOTHING
		RETURNING meeting_id`)
	raiseVersions = write(`UPDATE meetings SET version = version + 1, updated_at = $2 WHERE id IN ` + idList)
)

// SetDefaultReminders leaves schedules and their versions alone: a reminder is a message of
// its own, and that of one which is gone finds nothing. One whose time has passed is not sent
// (again), however often it is taken out and put back.
func (s *Store) SetDefaultReminders(ctx context.Context, rs []meeting.Reminder, at time.Time) (changed int, err error) {
	rows := make([]row, len(rs))
	for i, r := range rs {
		rows[i] = row{"before": r.Before, "offset_seconds": int64(r.Offset / time.Second), "channels": r.Channels}
	}
	err = s.transaction(ctx, func(tx *gorm.DB) error {
		changed = 0
		followers, err := s.readIDs(tx, lockFollowers, micro(at))
		if err != nil {
			return err
		}
		for part := range slices.Chunk(followers, 5000) {
			n, err := s.setReminders(tx, part, table(rows), micro(at))
			if err != nil {
				return err
			}
			changed += n
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("set the default reminders: %w", err)
	}
	return changed, nil
}

func (s *Store) setReminders(tx *gorm.DB, ids []int64, reminders string, at time.Time) (changed int, err error) {
	touched := map[int64]bool{}
	for _, q := range []statement{dropReminders, changeChannels} {
		some, err := s.readIDs(tx, q, s.ids(ids...), reminders)
		if err != nil {
			return 0, err
		}
		for _, id := range some {
			touched[id] = true
		}
	}
	some, err := s.readIDs(tx, fillReminders, s.ids(ids...), reminders, at)
	if err != nil {
		return 0, err
	}
	for _, id := range some {
		touched[id] = true
	}
	if len(touched) == 0 {
		return 0, nil
	}
	_, err = s.exec(tx, raiseVersions, s.ids(slices.Sorted(maps.Keys(touched))...), at)
	return len(touched), err
}

func (s *Store) readIDs(tx *gorm.DB, q statement, args ...any) ([]int64, error) {
	var ids []int64
	err := s.query(tx, func(rows *sql.Rows) error {
		var id int64
		err := rows.Scan(&id)
		ids = append(ids, id)
		return err
	}, q, args...)
	return ids, err
}
