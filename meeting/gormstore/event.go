package gormstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"punctual/meeting"
	"punctual/meeting/events"
)

var (
	getEvents  = load("events")
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
	}, getEvents, after, limit)
	if err != nil {
		return nil, 0, fmt.Errorf("events: %w", err)
	}
	return found, ended, nil
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
