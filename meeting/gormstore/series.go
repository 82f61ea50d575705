package gormstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"gorm.io/gorm"

	"punctual/meeting"
	"punctual/meeting/clock"
	"punctual/meeting/recurrence"
)

const seriesText = `
		SELECT s.id, COALESCE(s.previous_id, 0), s.title, s.description, s.timezone, s.starts, s.ends, s.rrule, s.exdates, s.rdates,
			s.room_ids, s.attendees, s.reminders, s.default_reminders, s.visibility, s.cancelled_at, s.version, s.sequence, s.created_at, s.updated_at,
			u.id, u.email, u.name, u.phone, u.locale, u.timezone
		FROM series s JOIN users u ON u.id = s.organizer_id
 		WHERE s.id = $1`

var (
	selectSeries     = write(seriesText)
	roomNames        = write(`SELECT id, name FROM rooms WHERE id ` + amongIDs)
	meetingsOfSeries = write(selectMeetings + `
		WHERE m.series_id = $1
		ORDER BY m.starts_at, m.id`)

	takenOfWanted = write(`
		SELECT x.position, o.room_id, o.starts_at, o.ends_at, o.lapses_at
		FROM {rows $1: position integer, room_id bigint, starts_at timestamptz, ends_at timestamptz}
		JOIN occupancies o ON ` + ofRoom("x.room_id", "x.starts_at", "x.ends_at") + `
		WHERE (o.meeting_id IS NULL OR {postgres: NOT (o.meeting_id = ANY ($2::bigint[]))}{sqlite: o.meeting_id NOT IN (SELECT value FROM json_each($2))})
		ORDER BY x.position, o.starts_at`)
)

// Series also returns the names of its rooms.
func (s *Store) Series(ctx context.Context, id int64) (*meeting.Series, error) {
	var found *meeting.Series
	tx := s.db.WithContext(ctx)
	err := s.query(tx, func(rows *sql.Rows) (err error) {
		found, err = scanSeries(rows)
		return err
	}, selectSeries, id)
	if err == nil && found == nil {
		err = meeting.ErrNotFound
	}
	if err == nil {
		err = s.nameRooms(tx, found)
	}
	if err != nil {
		return nil, fmt.Errorf("series %d: %w", id, err)
	}
	return found, nil
}

// nameRooms reads the names of the rooms of all the series at once.
func (s *Store) nameRooms(tx *gorm.DB, all ...*meeting.Series) error {
	var ids []int64
	for _, series := range all {
		ids = append(ids, series.RoomIDs...)
	}
	names := map[int64]string{}
	err := s.query(tx, func(rows *sql.Rows) error {
		var id int64
		var name string
		err := rows.Scan(&id, &name)
		names[id] = name
		return err
	}, roomNames, s.ids(ids...))
	for _, series := range all {
		for _, id := range series.RoomIDs {
			series.RoomNames = append(series.RoomNames, names[id])
		}
	}
	return err
}

func scanSeries(rows *sql.Rows) (*meeting.Series, error) {
	s := &meeting.Series{}
	var starts, ends, rule string
	var exdates, rdates, rooms, attendees, reminders []byte
	o := &s.Organizer
	err := rows.Scan(&s.ID, &s.PreviousID, &s.Title, &s.Description, &s.Timezone, &starts, &ends, &rule, &exdates, &rdates,
		&rooms, &attendees, &reminders, &s.DefaultReminders, &s.Visibility, nullTime{&s.CancelledAt}, &s.Version, &s.Sequence, &s.CreatedAt, &s.UpdatedAt,
		&o.UserID, &o.Email, &o.Name, &o.Phone, &o.Locale, &o.Timezone)
	if err != nil {
		return nil, err
	}
	var faults []meeting.Fault
	if s.Rule, faults = recurrence.ParseRule(rule); len(faults) > 0 {
		return nil, &meeting.InvalidError{Faults: faults}
	}
	if s.Start, err = time.Parse(clock.WallLayout, starts); err != nil {
		return nil, err
	}
	if s.End, err = time.Parse(clock.WallLayout, ends); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(rooms, &s.RoomIDs); err != nil {
		return nil, err
	}
	for part, add := range map[*[]byte]func([]byte) error{
		&exdates: func(b []byte) error { return readParts(b, wallTimes(&s.ExDates)) },
		&rdates:  func(b []byte) error { return readParts(b, wallTimes(&s.RDates)) },
		&attendees: func(b []byte) error {
			return readParts(b, func(a attendeePart) { s.Attendees = append(s.Attendees, a.attendee()) })
		},
		&reminders: func(b []byte) error {
			return readParts(b, func(r reminderPart) { s.Reminders = append(s.Reminders, r.reminder()) })
		},
	} {
		if err := add(*part); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func wallTimes(into *[]recurrence.WallTime) func(string) {
	return func(text string) {
		w, _ := recurrence.WallTimeOf(clock.ParseDate(text), time.UTC)
		*into = append(*into, w)
	}
}

func (s *Store) SeriesMeetings(ctx context.Context, id int64) ([]*meeting.Meeting, error) {
	ms, err := s.readMeetings(s.db.WithContext(ctx), meetingsOfSeries, id)
	if err != nil {
		return nil, fmt.Errorf("meetings of series %d: %w", id, err)
	}
	return ms, nil
}

var presenceOfSeries = write(`SELECT id, series_id, status, starts_at, ends_at, no_show_at, checked_in_at FROM meetings
	WHERE series_id ` + amongIDs + ` AND starts_at < $2 ORDER BY starts_at, id`)

func (s *Store) Presence(ctx context.Context, series []int64, before time.Time) (map[int64][]*meeting.Meeting, error) {
	found := map[int64][]*meeting.Meeting{}
	err := s.query(s.db.WithContext(ctx), func(rows *sql.Rows) error {
		m := &meeting.Meeting{}
		err := rows.Scan(&m.ID, &m.SeriesID, &m.Status, &m.Slot.Start, &m.Slot.End, nullTime{&m.CheckIn.Until}, nullTime{&m.CheckedInAt})
		found[m.SeriesID] = append(found[m.SeriesID], m)
		return err
	}, presenceOfSeries, s.ids(series...), micro(before))
	if err != nil {
		return nil, fmt.Errorf("presence of %d series: %w", len(series), err)
	}
	return found, nil
}

func (s *Store) Taken(ctx context.Context, wanted []meeting.Occupancy, except []meeting.ID) ([][]meeting.Occupancy, error) {
	rows := make([]row, len(wanted))
	for i, o := range wanted {
		rows[i] = row{"position": i, "room_id": o.RoomID, "starts_at": s.dialect.instant(o.Slot.Start), "ends_at": s.dialect.instant(o.Slot.End)}
	}
	if except == nil {
		except = []meeting.ID{}
	}
	taken := make([][]meeting.Occupancy, len(wanted))
	err := s.query(s.db.WithContext(ctx), func(rows *sql.Rows) error {
		var i int
		var o meeting.Occupancy
		err := rows.Scan(&i, &o.RoomID, &o.Slot.Start, &o.Slot.End, nullTime{&o.Lapses})
		if err == nil {
			taken[i] = append(taken[i], o)
		}
		return err
	}, takenOfWanted, table(rows), s.ids(except...))
	if err != nil {
		return nil, fmt.Errorf("what is taken of %d rooms: %w", len(wanted), err)
	}
	return taken, nil
}
