package gormstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"gorm.io/gorm"

	"punctual/meeting"
)

var overlapping = write(`
	SELECT o.room_id, o.starts_at, o.ends_at, o.lapses_at
	FROM {rows $1: room_id bigint, starts_at timestamptz, ends_at timestamptz}
	JOIN occupancies o ON ` + ofRoom("x.room_id", "x.starts_at", "x.ends_at") + `
	WHERE o.meeting_id IS DISTINCT FROM $2 -- NULL: an offer
	ORDER BY o.room_id, o.starts_at`)

// orConflict runs f, which saves a meeting and returns it as it should be. If the database rejects
// an occupancy, the error lists the conflicting intervals and when they lapse. If these are gone
// when orConflict reads them, it retries.
func (s *Store) orConflict(ctx context.Context, f func() (*meeting.Meeting, error)) error {
	for try := 1; ; try++ {
		m, err := f()
		if !errors.Is(taken(err), errTaken) {
			return err
		}
		found, err := s.conflicts(ctx, m)
		if err != nil {
			return err
		}
		if len(found) > 0 {
			return &meeting.ConflictError{Conflicts: found}
		}
		if try == attempts {
			return &meeting.ConflictError{Conflicts: m.Occupied}
		}
	}
}

func (s *Store) conflicts(ctx context.Context, m *meeting.Meeting) ([]meeting.Occupancy, error) {
	return s.overlaps(s.db.WithContext(ctx), m.ID, append(slices.Clip(m.Occupied), heldBy(m)...))
}

// overlaps returns the occupancies of other meetings and offers that overlap the requested ones.
func (s *Store) overlaps(tx *gorm.DB, except meeting.ID, requested []meeting.Occupancy) ([]meeting.Occupancy, error) {
	var found []meeting.Occupancy
	err := s.query(tx, func(rows *sql.Rows) error {
		var o meeting.Occupancy
		if err := rows.Scan(&o.RoomID, &o.Slot.Start, &o.Slot.End, nullTime{&o.Lapses}); err != nil {
			return err
		}
		found = append(found, o)
		return nil
	}, overlapping, table(s.dialect.placeRows(requested)), except)
	return found, err
}

// unlapsed is the condition on an occupancy o that it has not lapsed at the instant of a parameter;
// see [meeting.Meeting.Lapses].
func unlapsed(at string) string { return "(o.lapses_at IS NULL OR o.lapses_at > " + at + ")" }

var lapsedIn = write(`
	SELECT DISTINCT o.meeting_id, o.waitlist_id
	FROM {rows $1: room_id bigint, starts_at timestamptz, ends_at timestamptz}
	JOIN occupancies o ON ` + ofRoom("x.room_id", "x.starts_at", "x.ends_at") + `
	WHERE o.lapses_at <= $2
	ORDER BY 1, 2`)

func (s *Store) Lapsed(ctx context.Context, places []meeting.Occupancy, at time.Time) (meetings []meeting.ID, waits []int64, err error) {
	err = s.query(s.db.WithContext(ctx), func(rows *sql.Rows) error {
		var m, w sql.NullInt64
		err := rows.Scan(&m, &w)
		if m.Valid {
			meetings = append(meetings, m.Int64)
		} else if w.Valid {
			waits = append(waits, w.Int64)
		}
		return err
	}, lapsedIn, table(s.dialect.placeRows(places)), micro(at))
	if err != nil {
		return nil, nil, fmt.Errorf("what has lapsed in %d places: %w", len(places), err)
	}
	return meetings, waits, nil
}

// placeRows are the rooms and times of occupancies.
func (d dialect) placeRows(os []meeting.Occupancy) []row {
	rows := make([]row, len(os))
	for i, o := range os {
		rows[i] = row{"room_id": o.RoomID, "starts_at": d.instant(o.Slot.Start), "ends_at": d.instant(o.Slot.End)}
	}
	return rows
}

// nullTime scans NULL as the zero time.
type nullTime struct{ to *time.Time }

func (n nullTime) Scan(v any) error {
	var t sql.NullTime
	err := t.Scan(v)
	*n.to = t.Time
	return err
}

// nullID scans NULL as 0.
type nullID struct{ to *int64 }

func (n nullID) Scan(v any) error {
	var id sql.NullInt64
	err := id.Scan(v)
	*n.to = id.Int64
	return err
}
