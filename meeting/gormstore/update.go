package gormstore

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gorm.io/gorm"

	"punctual/delayjob/failpoint"
	"punctual/meeting"
)

var (
	lockMeeting = write(`SELECT id FROM meetings WHERE id = $1 {postgres: FOR NO KEY UPDATE}`)
	saveMeeting = write(`UPDATE meetings SET ` + assignments(meetingColumns) + `, version = version + 1 WHERE id = $` + strconv.Itoa(columnCount+1))
	getVersions = write(`SELECT version, schedule_version FROM meetings WHERE id = $1`)

	removeRooms       = write(`DELETE FROM meeting_rooms WHERE meeting_id = $1`)
	removeOccupancies = write(`DELETE FROM occupancies WHERE meeting_id = $1`)
	removeAttendees   = write(`DELETE FROM attendees WHERE meeting_id = $1`)
	removeReminders   = write(`DELETE FROM meeting_reminders WHERE meeting_id = $2
		AND (before, offset_seconds) NOT IN (SELECT x.before, x.offset_seconds FROM {rows $1: before text, offset_seconds bigint})`)

	// One that stays keeps what became of it.
	putReminders = partOf(insertReminders + ` ON CONFLICT (meeting_id, before, offset_seconds) DO UPDATE SET channels = excluded.channels`)

	closePastReminders = write(`UPDATE meeting_reminders SET handled_at = $2
		WHERE meeting_id = $1 AND handled_at IS NULL AND due_at <= $2 AND before IN ($3, $4)`)
)

// assignments are "a = $1, b = $2" for a list of columns.
func assignments(columns string) string {
	list := strings.Split(columns, ",")
	for i, c := range list {
		list[i] = strings.TrimSpace(c) + " = $" + strconv.Itoa(i+1)
	}
	return strings.Join(list, ", ")
}

// UpdateMeeting writes only what the function changed.
func (s *Store) UpdateMeeting(ctx context.Context, id meeting.ID, fn func(*meeting.Meeting) error) (*meeting.Meeting, []meeting.Notice, error) {
	var m *meeting.Meeting
	var notices []meeting.Notice
	err := s.orConflict(ctx, func() (*meeting.Meeting, error) {
		err := s.transaction(ctx, func(tx *gorm.DB) (err error) {
			if m, err = s.lockedMeeting(tx, id); err != nil {
				return fmt.Errorf("update meeting %d: %w", id, err)
			}
			before := snapshot(m)
			if err := fn(m); err != nil {
				return err
			}
			if notices, err = s.save(tx, before, m); err != nil {
				return fmt.Errorf("update meeting %d: %w", id, err)
			}
			return nil
		})
		return m, err
	})
	if err != nil {
		return nil, nil, err
	}
	failpoint.Reach("change.after", "")
	return m, notices, nil
}

// lockedMeeting reads in a second statement, since a statement that waited for a lock sees
// the row as it is now but everything else as it was before.
func (s *Store) lockedMeeting(tx *gorm.DB, id meeting.ID) (*meeting.Meeting, error) {
	if s.dialect == postgres {
		if err := s.query(tx, func(*sql.Rows) error { return nil }, lockMeeting, id); err != nil {
			return nil, err
		}
	}
	return s.readMeeting(tx, id)
}

// snapshot is a copy of m that changes to m cannot reach.
func snapshot(m *meeting.Meeting) *meeting.Meeting {
	c := *m
	c.RoomIDs, c.Occupied = slices.Clone(m.RoomIDs), slices.Clone(m.Occupied)
	c.Attendees, c.Reminders = slices.Clone(m.Attendees), slices.Clone(m.Reminders)
	if m.Request != nil {
		c.Request = new(*m.Request)
	}
	for i, r := range c.Reminders {
		c.Reminders[i].Channels = slices.Clone(r.Channels)
	}
	return &c
}

// save writes what differs, and brings m's versions up to date. A timer of a request that went
// off is nothing a reader sees: it raises no version.
func (s *Store) save(tx *gorm.DB, before, m *meeting.Meeting) ([]meeting.Notice, error) {
	if err := s.claimQuotas(tx, m); err != nil {
		return nil, err
	}
	if err := s.refuseTaken(tx, m); err != nil {
		return nil, err
	}
	if err := s.saveApproval(tx, before, m); err != nil {
		return nil, err
	}
	if before.Request != nil && m.Request != nil && before.Request.Number == m.Request.Number && m.Untouched(before) {
		return s.saveNotices(tx, before, m)
	}
	if _, err := s.exec(tx, saveMeeting, append(meetingValues(m), m.ID)...); err != nil {
		return nil, err
	}
	if err := s.saveRooms(tx, before, m); err != nil {
		return nil, err
	}
	if !slices.Equal(before.Attendees, m.Attendees) {
		if err := s.replace(tx, m.ID, removeAttendees, addAttendees, attendeeRows(m)); err != nil {
			return nil, err
		}
	}
	if err := s.saveReminders(tx, before, m); err != nil {
		return nil, err
	}
	history, err := s.dialect.historyRows(tx.Statement.Context, m.TakeHistory())
	if err != nil {
		return nil, err
	}
	if len(history) > 0 {
		if _, err := s.exec(tx, addHistory, table(history), m.ID); err != nil {
			return nil, err
		}
	}
	readVersions := func(rows *sql.Rows) error { return rows.Scan(&m.Version, &m.ScheduleVersion) }
	if err := s.query(tx, readVersions, getVersions, m.ID); err != nil {
		return nil, err
	}
	return s.saveNotices(tx, before, m)
}

// replace writes the rows in place of those that are there.
func (s *Store) replace(tx *gorm.DB, id meeting.ID, remove, add statement, rows []row) error {
	if _, err := s.exec(tx, remove, id); err != nil || len(rows) == 0 {
		return err
	}
	n, err := s.exec(tx, add, table(rows), id)
	if err == nil && n < int64(len(rows)) {
		return errTaken // only occupancies are left out
	}
	return err
}

func (s *Store) saveRooms(tx *gorm.DB, before, m *meeting.Meeting) error {
	if err := s.checkPresent(tx, roomsToCheck(before, m)); err != nil {
		return err
	}
	if !slices.Equal(before.RoomIDs, m.RoomIDs) {
		if err := s.replace(tx, m.ID, removeRooms, addRooms, roomRows(m)); err != nil {
			return err
		}
	}
	if sameTaken(before, m) {
		return nil
	}
	return s.replace(tx, m.ID, removeOccupancies, addOccupancies, s.dialect.takenRows(m))
}

// roomsToCheck are those that are new, and all of them if the meeting was judged anew; and
// those that it asks to move to.
func roomsToCheck(before, m *meeting.Meeting) []row {
	return append(newRooms(before, m), askedRooms(before, m)...)
}

func newRooms(before, m *meeting.Meeting) []row {
	moved := !before.Slot.Start.Equal(m.Slot.Start) || !before.Slot.End.Equal(m.Slot.End)
	return slices.DeleteFunc(roomRows(m), func(r row) bool {
		id, _ := r["room_id"].(int64)
		return slices.Contains(before.RoomIDs, id) && (!moved || r["closures"] == nil)
	})
}

// askedRooms are those of a new request to move.
func askedRooms(before, m *meeting.Meeting) []row {
	if m.Request == nil || m.Request.Change == nil || before.Request != nil && before.Request.Number == m.Request.Number {
		return nil
	}
	rows := make([]row, len(m.Request.Change.RoomIDs))
	for i, id := range m.Request.Change.RoomIDs {
		rows[i] = row{"room_id": id, "closures": judgedBy(m, id)}
	}
	return rows
}

// sameTaken reports whether both take the same of rooms, what they hold for a move included.
func sameTaken(a, b *meeting.Meeting) bool {
	return slices.EqualFunc(a.Occupied, b.Occupied, sameOccupancy) && slices.EqualFunc(heldBy(a), heldBy(b), sameOccupancy)
}

func sameOccupancy(a, b meeting.Occupancy) bool {
	return a.RoomID == b.RoomID && a.Slot.Start.Equal(b.Slot.Start) && a.Slot.End.Equal(b.Slot.End)
}

// saveReminders leaves the moving of due times to the database. What is past when it comes
// into force, by a new time or by a confirmation, is closed without being sent. One that
// was in force and is just about to be sent stays open.
func (s *Store) saveReminders(tx *gorm.DB, before, m *meeting.Meeting) error {
	same := func(a, b meeting.Reminder) bool {
		return a.Before == b.Before && a.Offset == b.Offset && slices.Equal(a.Channels, b.Channels)
	}
	if !slices.EqualFunc(before.Reminders, m.Reminders, same) {
		rows := table(s.dialect.reminderRows(m))
		for _, q := range []statement{removeReminders, putReminders} {
			if _, err := s.exec(tx, q, rows, m.ID); err != nil {
				return err
			}
		}
	}
	var start, end meeting.Anchor // those that are in force anew
	confirmed := before.Status == meeting.Pending && m.Status != meeting.Pending
	if confirmed || !before.Slot.Start.Equal(m.Slot.Start) {
		start = meeting.BeforeStart
	}
	if confirmed || !before.Slot.End.Equal(m.Slot.End) {
		end = meeting.BeforeEnd
	}
	if start == "" && end == "" {
		return nil
	}
	_, err := s.exec(tx, closePastReminders, m.ID, micro(m.UpdatedAt), string(start), string(end))
	return err
}

// saveNotices withdraws reminders and requests that are recorded but not sent if what they say
// is not so any more. When only the end of a coming meeting moved, its start is as announced.
func (s *Store) saveNotices(tx *gorm.DB, before, m *meeting.Meeting) ([]meeting.Notice, error) {
	startsAsAnnounced := m.Status == before.Status && before.Slot.Start.Equal(m.Slot.Start) &&
		slices.Equal(before.RoomIDs, m.RoomIDs) && before.Slot.Start.After(m.UpdatedAt)
	if m.ScheduleVersion != before.ScheduleVersion && !startsAsAnnounced {
		if err := s.outbox.Withdraw(tx, []meeting.ID{m.ID}, meeting.NoticeReminder); err != nil {
			return nil, err
		}
	}
	if before.Request != nil && (m.Request == nil || m.Request.Number != before.Request.Number) { // nobody need decide on that any more
		err := s.outbox.Withdraw(tx, []meeting.ID{m.ID}, meeting.NoticeApprovalRequest, meeting.NoticeApprovalReminder, meeting.NoticeEscalation)
		if err != nil {
			return nil, err
		}
	}
	notices := m.TakeNotices()
	if len(notices) == 0 {
		return nil, nil
	}
	return notices, s.outbox.Insert(tx, notices)
}
