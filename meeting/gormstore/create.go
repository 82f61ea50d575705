package gormstore

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"

	"gorm.io/gorm"

	"punctual/delayjob/failpoint"
	"punctual/meeting"
)

// createMeeting writes a meeting and its parts in one statement and returns its id. It returns
// no row if a room does not exist, if a room's blackouts have changed since the meeting was
// validated, or if the caller has lost rights (see [Guard]; a token of 0 is not checked). If a
// room is taken, it fails with the constraint's error.
//
// The rooms' row locks exclude [Store.DeleteRoom] and new blackouts, not other bookings. If a
// row changes while the statement waits for its lock, the statement sees the new row.
var createMeeting = write(parts.Replace(`
	WITH present AS (
		SELECT id FROM rooms WHERE deleted_at IS NULL
			AND id = ANY (ARRAY(SELECT (x ->> 'room_id')::bigint FROM jsonb_array_elements({part 1}::jsonb) AS x)) -- an index scan, whatever the estimate
			AND closures = COALESCE((SELECT (x ->> 'closures')::bigint FROM jsonb_array_elements({part 1}::jsonb) AS x WHERE (x ->> 'room_id')::bigint = rooms.id), closures)
		ORDER BY id FOR KEY SHARE
	), allowed AS (
		SELECT 1 FROM users u JOIN tokens t ON t.user_id = u.id
		WHERE t.id = {part 6} AND u.disabled_at IS NULL AND u.role = ANY (string_to_array({part 7}, ','))
		FOR SHARE OF u FOR KEY SHARE OF t
	), new AS (
		INSERT INTO meetings (` + meetingColumns + `) SELECT ` + placeholders(1, columnCount) + `
		WHERE (SELECT count(*) FROM present) = jsonb_array_length({part 1}::jsonb) AND ({part 6}::bigint = 0 OR EXISTS (SELECT 1 FROM allowed))
		RETURNING id
	), its_rooms AS (` + partOfNew(insertRooms, 1) + `
	), its_occupancies AS (` + partOfNew(insertOccupancies, 2) + ` RETURNING 1
	), its_attendees AS (` + partOfNew(insertAttendees, 3) + `
	), its_reminders AS (` + partOfNew(insertReminders, 4) + `
	), its_history AS (` + partOfNew(insertHistory, 5) + `
	)
	SELECT CASE WHEN (SELECT count(*) FROM its_occupancies) = jsonb_array_length({part 2}::jsonb) THEN id ELSE occupancies_refuse() END
	FROM new`))

// parts are the parameters after those of the columns: rooms, occupancies, attendees, reminders,
// history, and the token and roles that the caller must still have.
var parts = strings.NewReplacer("{part 1}", part(1), "{part 2}", part(2), "{part 6}", part(6), "{part 7}", part(7))

func part(n int) string { return "$" + strconv.Itoa(columnCount+n) }

func partOfNew(insert string, n int) string {
	return strings.NewReplacer("{meeting}", "new", "$1", part(n)).Replace(insert)
}

// SQLite has no inserts inside of queries, and no need to save a way to the server.
var (
	createRow    = write(`INSERT INTO meetings (` + meetingColumns + `) VALUES (` + placeholders(1, columnCount) + `) RETURNING id`)
	presentRooms = write(`SELECT id FROM rooms WHERE id IN (SELECT x.room_id FROM {rows $1: room_id bigint}) AND deleted_at IS NULL
		AND closures = COALESCE((SELECT x.closures FROM {rows $1: room_id bigint, closures bigint} WHERE x.room_id = rooms.id), closures)
		ORDER BY id {postgres: FOR KEY SHARE}`)
	thereRooms = write(`SELECT id FROM rooms WHERE id IN (SELECT x.room_id FROM {rows $1: room_id bigint}) AND deleted_at IS NULL`)
)

func (s *Store) CreateMeeting(ctx context.Context, m *meeting.Meeting) error {
	var created meeting.Meeting
	err := s.orConflict(ctx, func() (*meeting.Meeting, error) {
		created = *m // m keeps its notices for a retry
		return m, s.create(ctx, &created)
	})
	if err != nil {
		return fmt.Errorf("create meeting: %w", err)
	}
	failpoint.Reach("booking.after", "")
	*m = created
	return nil
}

func (s *Store) create(ctx context.Context, m *meeting.Meeting) error {
	quiet := *m // whose notices are only counted
	if s.dialect == postgres && len(quiet.TakeNotices()) == 0 && len(m.Claims()) == 0 && m.Request == nil && len(m.Approval.Agreed) == 0 {
		history, err := s.dialect.historyRows(ctx, m.TakeHistory())
		if err != nil {
			return err
		}
		// One statement is a transaction of its own.
		return patiently(ctx, func() error { return s.insertMeeting(s.db.WithContext(ctx), m, history) })
	}
	draft := *m
	return s.transaction(ctx, func(tx *gorm.DB) error {
		*m = draft
		_, err := s.insertAll(tx, m)
		return err
	})
}

// insertAll writes meetings with all that they bring about, and returns the notices.
func (s *Store) insertAll(tx *gorm.DB, ms ...*meeting.Meeting) ([]meeting.Notice, error) {
	var cs []change
	for _, m := range ms {
		history, err := s.dialect.historyRows(tx.Statement.Context, m.TakeHistory())
		if err != nil {
			return nil, err
		}
		if err := s.insertMeeting(tx, m, history); err != nil {
			return nil, err
		}
		cs = append(cs, change{m: m})
	}
	if err := s.saveApprovals(tx, cs); err != nil {
		return nil, err
	}
	failpoint.Reach("booking.middle", "")
	var notices []meeting.Notice
	taken := make([][]meeting.Notice, len(ms))
	for i, m := range ms {
		taken[i] = m.TakeNotices()
		notices = append(notices, taken[i]...)
	}
	if len(notices) > 0 {
		if err := s.outbox.Insert(tx, notices); err != nil {
			return nil, err
		}
	}
	rest := notices
	for _, ns := range taken { // callers that kept them find their IDs there
		rest = rest[copy(ns, rest):]
	}
	failpoint.Reach("booking.before", "")
	return notices, nil
}

// insertMeeting gives m its ID and versions. With claims it has to run in a transaction.
func (s *Store) insertMeeting(tx *gorm.DB, m *meeting.Meeting, history []row) (err error) {
	if err := s.claimQuotas(tx, m); err != nil {
		return err
	}
	if err := s.refuseTaken(tx, m); err != nil {
		return err
	}
	insert := s.insertAtOnce
	if s.dialect == sqlite {
		insert = s.insertInSteps
	}
	rows := []string{
		table(roomRows(m)), table(s.dialect.takenRows(m)), table(attendeeRows(m)), table(s.dialect.reminderRows(m)), table(history),
	}
	if m.ID, err = insert(tx, m, rows); err != nil {
		return err
	}
	m.Version, m.ScheduleVersion = 1, 1
	return nil
}

func (s *Store) insertAtOnce(tx *gorm.DB, m *meeting.Meeting, rows []string) (id meeting.ID, err error) {
	args := meetingValues(m)
	for _, r := range rows {
		args = append(args, r)
	}
	var token int64
	var roles []string
	if s.guard != nil {
		token, roles = s.guard.Credential(tx.Statement.Context)
	}
	args = append(args, token, strings.Join(roles, ","))
	err = s.query(tx, func(rows *sql.Rows) error { return rows.Scan(&id) }, createMeeting, args...)
	if err == nil && id == 0 {
		err = s.check(tx)
	}
	if err == nil && id == 0 {
		err = s.whyNot(tx, roomRows(m))
	}
	return id, err
}

func (s *Store) insertInSteps(tx *gorm.DB, m *meeting.Meeting, rows []string) (id meeting.ID, err error) {
	if err := s.checkPresent(tx, roomRows(m)); err != nil {
		return 0, err
	}
	err = s.query(tx, func(rows *sql.Rows) error { return rows.Scan(&id) }, createRow, meetingValues(m)...)
	if err != nil {
		return 0, err
	}
	for i, insert := range []statement{addRooms, addOccupancies, addAttendees, addReminders, addHistory} {
		if rows[i] == table(nil) {
			continue
		}
		if _, err := s.exec(tx, insert, rows[i], id); err != nil {
			return 0, err
		}
	}
	return id, nil
}

// errNoRoom: the service has looked, but a room may be deleted in between.
var errNoRoom = &meeting.InvalidError{Faults: []meeting.Fault{
	{Location: "room_ids", Code: "unknown_room", Message: "must not contain a deleted room"},
}}

// checkPresent excludes [Store.DeleteRoom] and new blackouts until the end of the transaction.
func (s *Store) checkPresent(tx *gorm.DB, rooms []row) error {
	if len(rooms) == 0 {
		return nil
	}
	found, err := s.countRooms(tx, presentRooms, rooms)
	if err != nil {
		return err
	}
	if found < len(rooms) {
		return s.whyNot(tx, rooms)
	}
	return nil
}

// whyNot returns errNoRoom if a room was deleted, and [meeting.ErrRoomsChanged] if its blackouts
// changed.
func (s *Store) whyNot(tx *gorm.DB, rooms []row) error {
	there, err := s.countRooms(tx, thereRooms, rooms)
	switch {
	case err != nil:
		return err
	case there < len(rooms):
		return errNoRoom
	default:
		return meeting.ErrRoomsChanged
	}
}

func (s *Store) countRooms(tx *gorm.DB, q statement, rooms []row) (found int, err error) {
	err = s.query(tx, func(*sql.Rows) error { found++; return nil }, q, table(rooms))
	return found, err
}
