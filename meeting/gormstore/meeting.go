package gormstore

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"gorm.io/gorm"

	"punctual/meeting"
	"punctual/meeting/clock"
)

// selectMeetings reads meetings with all their parts, in one snapshot of the database.
var selectMeetings = selecting(attendeesOf, remindersOf, "(SELECT s.first_meeting_id FROM series s WHERE s.id = m.series_id)", "(SELECT b.name FROM users b WHERE b.id = m.booked_by)")

// selectOutlines reads them without people and reminders.
var selectOutlines = selecting("NULL", "NULL", "NULL", "NULL")

const (
	attendeesOf = `(SELECT {array}({object}('user_id', a.user_id, 'email', a.email, 'name', a.name, 'phone', a.phone,
				'locale', a.locale, 'timezone', a.timezone, 'response', a.response, 'comment', a.comment) ORDER BY a.position)
		   FROM attendees a WHERE a.meeting_id = m.id)`
	remindersOf = `(SELECT {array}({object}('before', r.before, 'offset', r.offset_seconds, 'channels', {json}(r.channels))
				ORDER BY r.before DESC, r.offset_seconds DESC)
		   FROM meeting_reminders r WHERE r.meeting_id = m.id)`
)

// selecting looks up occupancies by meeting. If a room has had some hundred meetings, Postgres would
// rather read all of its occupancies, from an index that has all columns, unless room_id is an expression.
func selecting(attendees, reminders, first, booker string) string {
	return `
	SELECT ` + meetingColumns + `, u.email, u.name, u.phone, u.locale, u.timezone, u.calendar_mails, ` + approvalColumns + `,
		(SELECT {array}({object}('id', r.id, 'name', r.name, 'starts_at', o.starts_at, 'ends_at', o.ends_at) ORDER BY mr.position)
		   FROM meeting_rooms mr JOIN rooms r ON r.id = mr.room_id
		   LEFT JOIN occupancies o {sqlite: INDEXED BY occupancies_of_meeting} ON o.meeting_id = mr.meeting_id AND o.room_id{postgres:  + 0} = mr.room_id AND NOT o.held
		  WHERE mr.meeting_id = m.id),
		` + attendees + `,
		` + reminders + `,
		` + first + `,
		` + booker + `
	FROM meetings m JOIN users u ON u.id = m.organizer_id LEFT JOIN approvals q ON q.meeting_id = m.id`
}

var meetingsByID = write(selectMeetings + `
	WHERE m.id ` + amongIDs + `
	ORDER BY m.id`)

func (s *Store) Meeting(ctx context.Context, id meeting.ID) (*meeting.Meeting, error) {
	m, err := s.readMeeting(s.db.WithContext(ctx), id)
	if err != nil {
		return nil, fmt.Errorf("meeting %d: %w", id, err)
	}
	return m, nil
}

func (s *Store) readMeeting(tx *gorm.DB, id meeting.ID) (*meeting.Meeting, error) {
	ms, err := s.readMeetings(tx, meetingsByID, s.ids(id))
	if err != nil {
		return nil, err
	}
	if len(ms) == 0 {
		return nil, meeting.ErrNotFound
	}
	return ms[0], nil
}

// amongIDs compares a column with the ids in $1; see [Store.ids].
const amongIDs = `{postgres: = ANY ($1::bigint[])}{sqlite: IN (SELECT value FROM json_each($1))}`

// ids is the parameter for amongIDs.
func (s *Store) ids(ids ...int64) any {
	if s.dialect == postgres {
		return ids
	}
	b, err := json.Marshal(ids)
	if err != nil {
		panic(err) // numbers
	}
	return string(b)
}

// readMeetings runs a query that begins with selectMeetings. It scans by itself: gorm takes a sixth
// longer for a page of so many columns.
func (s *Store) readMeetings(tx *gorm.DB, q statement, args ...any) ([]*meeting.Meeting, error) {
	ms, err := collect(s, tx, scanMeeting, q, args...)
	if err != nil {
		return nil, err
	}
	if err := s.addLimits(tx, ms); err != nil {
		return nil, err
	}
	return ms, nil
}

func scanMeeting(rows *sql.Rows) (*meeting.Meeting, error) {
	var row meetingRow
	var approval approvalRow
	var o meeting.Person
	var invited, reminders, inRooms []byte
	var first *int64
	var booker *string
	to := append(row.fields(), &o.Email, &o.Name, &o.Phone, &o.Locale, &o.Timezone, &o.CalendarMails)
	if err := rows.Scan(append(append(to, approval.fields()...), &inRooms, &invited, &reminders, &first, &booker)...); err != nil {
		return nil, err
	}
	m := row.meeting()
	o.UserID = row.OrganizerID
	m.Organizer, m.SeriesFirst = o, orZero(first)
	m.BookedBy = meeting.Person{UserID: orZero(row.BookedBy), Name: orZero(booker)}
	err := cmp.Or(
		approval.addTo(m),
		readParts(inRooms, func(r roomPart) { r.addTo(m) }),
		readParts(invited, func(a attendeePart) { a.addTo(m) }),
		readParts(reminders, func(r reminderPart) { r.addTo(m) }))
	if err != nil {
		return nil, fmt.Errorf("meeting %d: %w", m.ID, err)
	}
	return m, nil
}

// readParts reads a JSON array that a query made; nothing is an empty one.
func readParts[T any](b []byte, add func(T)) error {
	if len(b) == 0 {
		return nil
	}
	var parts []T
	if err := json.Unmarshal(b, &parts); err != nil {
		return err
	}
	for _, p := range parts {
		add(p)
	}
	return nil
}

type roomPart struct {
	ID       int64        `json:"id"`
	Name     string       `json:"name"`
	StartsAt *readInstant `json:"starts_at"`
	EndsAt   *readInstant `json:"ends_at"`
}

func (p roomPart) addTo(m *meeting.Meeting) {
	m.RoomIDs = append(m.RoomIDs, p.ID)
	m.RoomNames = append(m.RoomNames, p.Name)
	if p.StartsAt != nil && p.EndsAt != nil {
		m.Occupied = append(m.Occupied, meeting.Occupancy{
			RoomID: p.ID, Slot: clock.Slot{Start: p.StartsAt.Time, End: p.EndsAt.Time},
		})
	}
}

type attendeePart struct {
	UserID   int64            `json:"user_id"`
	Email    string           `json:"email"`
	Name     string           `json:"name"`
	Phone    string           `json:"phone"`
	Locale   string           `json:"locale"`
	Timezone string           `json:"timezone"`
	Response meeting.Response `json:"response"`
	Comment  string           `json:"comment,omitempty"`
}

func (p attendeePart) addTo(m *meeting.Meeting) { m.Attendees = append(m.Attendees, p.attendee()) }

func (p attendeePart) attendee() meeting.Attendee {
	return meeting.Attendee{
		Person:   meeting.Person{UserID: p.UserID, Email: p.Email, Name: p.Name, Phone: p.Phone, Locale: p.Locale, Timezone: p.Timezone},
		Response: p.Response, Comment: p.Comment,
	}
}

func partOfAttendee(a meeting.Attendee) attendeePart {
	return attendeePart{
		UserID: a.UserID, Email: a.Email, Name: a.Name, Phone: a.Phone, Locale: a.Locale, Timezone: a.Timezone, Response: a.Response,
		Comment: a.Comment,
	}
}

type reminderPart struct {
	Before   meeting.Anchor    `json:"before"`
	Offset   int64             `json:"offset"`
	Channels []meeting.Channel `json:"channels"`
}

func (p reminderPart) addTo(m *meeting.Meeting) { m.Reminders = append(m.Reminders, p.reminder()) }

func (p reminderPart) reminder() meeting.Reminder {
	return meeting.Reminder{Before: p.Before, Offset: time.Duration(p.Offset) * time.Second, Channels: p.Channels}
}

func partOfReminder(r meeting.Reminder) reminderPart {
	return reminderPart{Before: r.Before, Offset: int64(r.Offset / time.Second), Channels: r.Channels}
}
