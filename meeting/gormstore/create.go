package gormstore

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"

	"gorm.io/gorm"

	"punctual/meeting"
)

const meetingColumns = `title, description, starts_at, ends_at, timezone, organizer_id, status, visibility,
	approval_required, approval_deadline, decided_at, decided_by, decision_comment, decision_reason,
	default_reminders, checked_in_at, started_at, ended_at, created_at, updated_at`

// meetingValues are the values of meetingColumns.
func meetingValues(m *meeting.Meeting) []any {
	a := m.Approval
	return []any{
		m.Title, m.Description, micro(m.Slot.Start), micro(m.Slot.End), m.Timezone, m.Organizer.UserID, string(m.Status), string(m.Visibility),
		a.Required, timestamp(a.Deadline), timestamp(a.DecidedAt), reference(a.DecidedBy), a.Comment, a.Reason,
		m.DefaultReminders, timestamp(m.CheckedInAt), timestamp(m.StartedAt), timestamp(m.EndedAt), micro(m.CreatedAt), micro(m.UpdatedAt),
	}
}

const columnCount = 20 // of meetingColumns

// placeholders are "$from, ..., $to".
func placeholders(from, to int) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		if i > from {
			b.WriteString(", ")
		}
		b.WriteString("$" + strconv.Itoa(i))
	}
	return b.String()
}

// createMeeting writes a meeting with all that belongs to it as one statement, and returns
// its id: no row if a room is not there (any more). It fails with the constraint's error if
// a room is taken.
//
// The rooms' row locks exclude [Store.DeleteRoom], not other bookings.
var createMeeting = write(`
	WITH present AS (
		SELECT id FROM rooms WHERE deleted_at IS NULL
			AND id = ANY (ARRAY(SELECT (x ->> 'room_id')::bigint FROM jsonb_array_elements($21::jsonb) AS x)) -- an index scan, whatever the estimate
		ORDER BY id FOR KEY SHARE
	), new AS (
		INSERT INTO meetings (` + meetingColumns + `) SELECT ` + placeholders(1, columnCount) + `
		WHERE (SELECT count(*) FROM present) = jsonb_array_length($21::jsonb)
		RETURNING id
	), its_rooms AS (` + partOfNew(insertRooms, 21) + `
	), its_occupancies AS (` + partOfNew(insertOccupancies, 22) + ` RETURNING 1
	), its_attendees AS (` + partOfNew(insertAttendees, 23) + `
	), its_reminders AS (` + partOfNew(insertReminders, 24) + `
	), its_history AS (` + partOfNew(insertHistory, 25) + `
	)
	SELECT CASE WHEN (SELECT count(*) FROM its_occupancies) = jsonb_array_length($22::jsonb) THEN id ELSE occupancies_refuse() END
	FROM new`)

func partOfNew(insert string, param int) string {
	return strings.NewReplacer("{meeting}", "new", "$1", "$"+strconv.Itoa(param)).Replace(insert)
}

// SQLite has no inserts inside of queries, and no need to save a way to the server.
var (
	createRow    = write(`INSERT INTO meetings (` + meetingColumns + `) VALUES (` + placeholders(1, columnCount) + `) RETURNING id`)
	presentRooms = write(`SELECT id FROM rooms WHERE id IN (SELECT x.room_id FROM {rows $1: room_id bigint}) AND deleted_at IS NULL
		ORDER BY id {postgres: FOR KEY SHARE}`)
)

func (s *Store) CreateMeeting(ctx context.Context, m *meeting.Meeting) error {
	var created meeting.Meeting
	err := s.orConflict(ctx, func() (*meeting.Meeting, error) {
		created = *m // so that m keeps what there is to tell, for another try
		return m, s.create(ctx, &created)
	})
	if err != nil {
		return fmt.Errorf("create meeting: %w", err)
	}
	*m = created
	return nil
}

func (s *Store) create(ctx context.Context, m *meeting.Meeting) error {
	history, err := s.dialect.historyRows(m.TakeHistory())
	if err != nil {
		return err
	}
	quiet := *m // whose notices are only counted
	if s.dialect == postgres && len(quiet.TakeNotices()) == 0 {
		// One statement is a transaction of its own.
		return patiently(ctx, func() error { return s.insertMeeting(s.db.WithContext(ctx), m, history) })
	}
	draft := *m
	return s.transaction(ctx, func(tx *gorm.DB) error {
		*m = draft
		if err := s.insertMeeting(tx, m, history); err != nil {
			return err
		}
		if notices := m.TakeNotices(); len(notices) > 0 {
			return s.outbox.Insert(tx, notices)
		}
		return nil
	})
}

// insertMeeting gives m its ID and versions.
func (s *Store) insertMeeting(tx *gorm.DB, m *meeting.Meeting, history []row) (err error) {
	insert := s.insertAtOnce
	if s.dialect == sqlite {
		insert = s.insertInSteps
	}
	parts := []string{
		table(roomRows(m)), table(s.dialect.occupancyRows(m)), table(attendeeRows(m)), table(s.dialect.reminderRows(m)), table(history),
	}
	if m.ID, err = insert(tx, m, parts); err != nil {
		return err
	}
	m.Version, m.ScheduleVersion = 1, 1
	return nil
}

func (s *Store) insertAtOnce(tx *gorm.DB, m *meeting.Meeting, parts []string) (id meeting.ID, err error) {
	args := meetingValues(m)
	for _, rows := range parts {
		args = append(args, rows)
	}
	err = s.query(tx, func(rows *sql.Rows) error { return rows.Scan(&id) }, createMeeting, args...)
	if err == nil && id == 0 {
		err = errNoRoom
	}
	return id, err
}

func (s *Store) insertInSteps(tx *gorm.DB, m *meeting.Meeting, parts []string) (id meeting.ID, err error) {
	if err := s.checkPresent(tx, m.RoomIDs); err != nil {
		return 0, err
	}
	err = s.query(tx, func(rows *sql.Rows) error { return rows.Scan(&id) }, createRow, meetingValues(m)...)
	if err != nil {
		return 0, err
	}
	for i, insert := range []statement{addRooms, addOccupancies, addAttendees, addReminders, addHistory} {
		if parts[i] == table(nil) {
			continue
		}
		if _, err := s.exec(tx, insert, parts[i], id); err != nil {
			return 0, err
		}
	}
	return id, nil
}

// errNoRoom: the service has looked, but a room may be deleted in between.
var errNoRoom = &meeting.InvalidError{Faults: []meeting.Fault{
	{Location: "body.room_ids", Code: "unknown_room", Message: "names a room that is not there any more"},
}}

// checkPresent excludes [Store.DeleteRoom] until the end of the transaction.
func (s *Store) checkPresent(tx *gorm.DB, rooms []int64) error {
	if len(rooms) == 0 {
		return nil
	}
	rows := make([]row, len(rooms))
	for i, id := range rooms {
		rows[i] = row{"room_id": id}
	}
	found := 0
	count := func(*sql.Rows) error { found++; return nil }
	if err := s.query(tx, count, presentRooms, table(rows)); err != nil {
		return err
	}
	if found < len(rooms) {
		return errNoRoom
	}
	return nil
}
