package gormstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"gorm.io/gorm"

	"punctual/meeting"
	"punctual/meeting/events"
)

// selectEvents selects entries of the history with the rooms that a meeting left, and those that a
// requested change is about, as a JSON array of three arrays.
const selectEvents = `SELECT id, action, at, meeting_id, CASE WHEN changes IS NOT NULL THEN {postgres: jsonb_build_array}{sqlite: json_array}(
		changes -> 'room_ids' -> 'from', changes -> 'pending_change' -> 'from' -> 'room_ids', changes -> 'pending_change' -> 'to' -> 'room_ids') END
	FROM history`

var (
	getEvents  = write(selectEvents + ` WHERE id > $1 ORDER BY id LIMIT $2`)
	eventsByID = write(selectEvents + ` WHERE id ` + amongIDs + ` ORDER BY id`)
	lastEvent  = write(`SELECT COALESCE(max(id), 0) FROM history`)
	getEnded   = write(`SELECT CAST(CAST(pg_snapshot_xmin(pg_current_snapshot()) AS text) AS bigint)`)
	takeNumber = write(`SELECT CAST(CAST(pg_current_xact_id() AS text) AS bigint)`) // the only way to know which numbers were issued
)

func (s *Store) Events(ctx context.Context, after int64, limit int) (found []events.Event, ended uint64, err error) {
	tx := s.db.WithContext(ctx)
	if s.dialect == postgres { // SQLite commits in the order of the IDs
		err = s.query(tx, func(rows *sql.Rows) error { return rows.Scan(&ended) }, getEnded)
		if err != nil {
			return nil, 0, fmt.Errorf("events: %w", err)
		}
	}
	found, err = s.events(tx, getEvents, after, limit)
	return found, ended, err
}

func (s *Store) EventsByID(ctx context.Context, ids []int64) ([]events.Event, error) {
	return s.events(s.db.WithContext(ctx), eventsByID, s.ids(ids...))
}

func (s *Store) events(tx *gorm.DB, q statement, args ...any) (found []events.Event, err error) {
	err = s.query(tx, func(rows *sql.Rows) error {
		var e events.Event
		var named []byte
		if err := rows.Scan(&e.ID, &e.Action, &e.At, &e.MeetingID, &named); err != nil {
			return err
		}
		if named != nil {
			var rooms [3][]int64
			if err := json.Unmarshal(named, &rooms); err != nil {
				return fmt.Errorf("rooms of entry %d: %w", e.ID, err)
			}
			e.Left, e.Requested = rooms[0], append(rooms[1], rooms[2]...)
		}
		found = append(found, e)
		return nil
	}, q, args...)
	if err != nil {
		return nil, fmt.Errorf("events: %w", err)
	}
	return found, nil
}

func (s *Store) Mark(ctx context.Context) (number uint64, err error) {
	if s.dialect == sqlite {
		return 0, nil
	}
	err = s.query(s.db.WithContext(ctx), func(rows *sql.Rows) error { return rows.Scan(&number) }, takeNumber)
	if err != nil {
		return 0, fmt.Errorf("number of a transaction: %w", err)
	}
	return number, nil
}

func (s *Store) LastEvent(ctx context.Context) (id int64, err error) {
	err = s.query(s.db.WithContext(ctx), func(rows *sql.Rows) error { return rows.Scan(&id) }, lastEvent)
	if err != nil {
		return 0, fmt.Errorf("last event: %w", err)
	}
	return id, nil
}

var outlinesByID = write(selectOutlines + `
	WHERE m.id ` + amongIDs + `
	ORDER BY m.id`)

func (s *Store) Outlines(ctx context.Context, ids []meeting.ID) ([]*meeting.Meeting, error) {
	ms, err := s.readMeetings(s.db.WithContext(ctx), outlinesByID, s.ids(ids...))
	if err != nil {
		return nil, fmt.Errorf("outlines of meetings: %w", err)
	}
	return ms, nil
}

func (s *Store) MeetingsByID(ctx context.Context, ids []meeting.ID) ([]*meeting.Meeting, error) {
	ms, err := s.readMeetings(s.db.WithContext(ctx), meetingsByID, s.ids(ids...))
	if err != nil {
		return nil, fmt.Errorf("meetings: %w", err)
	}
	return ms, nil
}
