package gormstore

import (
	"cmp"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"gorm.io/gorm"

	"punctual/meeting"
	"punctual/meeting/clock"
)

// briefColumns are what a view of many meetings shows. Each column of a thousand meetings takes as long
// as one more query, so they are few, and rooms and requests are one column each.
const briefColumns = `m.id, m.title, m.starts_at, m.ends_at, m.organizer_id, u.name, m.status, m.visibility, m.approval_deadline,
	m.check_in_opens_at, m.no_show_at, m.checked_in_at, m.ended_at, m.series_id, m.type_id, m.version,
	{rooms},
	CASE WHEN m.visibility = 'private' THEN ` + attendeesOf + ` END,
	CASE WHEN q.number > 0 THEN q.on_timeout END,
	CASE WHEN q.waiting THEN {object}('number', q.number, 'deadline', q.deadline, 'change', {json}(q.change)) END`

// briefRooms are a meeting's rooms as text, see [addBriefRooms].
const briefRooms = `(SELECT {postgres: string_agg}{sqlite: group_concat}(mr.room_id || CASE WHEN o.room_id IS NULL THEN '-'
			WHEN o.starts_at = m.starts_at AND o.ends_at = m.ends_at THEN '' ELSE ' ' || {micros o.starts_at} || ' ' || {micros o.ends_at} END, ',' ORDER BY mr.position)
	   FROM meeting_rooms mr
	   LEFT JOIN occupancies o {sqlite: INDEXED BY occupancies_of_meeting} ON o.meeting_id = mr.meeting_id AND o.room_id{postgres:  + 0} = mr.room_id AND NOT o.held
	  WHERE mr.meeting_id = m.id)`

// selectBrief is a part of meetings, see [meeting.MeetingQuery], for those that [occupanciesIn] finds. With "" it
// reads all meetings on a condition. What a meeting with one room occupies was read to find it.
func selectBrief(found string) string {
	from, on, rooms := "meetings m", "true", briefRooms
	if found != "" {
		from, on = "("+found+") AS l CROSS JOIN meetings m", "m.id = l.id"
		rooms = "CASE WHEN l.n = 1 AND l.starts_at = m.starts_at AND l.ends_at = m.ends_at AND (SELECT count(*) FROM meeting_rooms mr WHERE mr.meeting_id = m.id) = 1\n" +
			"\tTHEN CAST(l.room_id AS text) ELSE " + briefRooms + " END"
	}
	return "SELECT " + strings.Replace(briefColumns, "{rooms}", rooms, 1) + "\nFROM " + from + " CROSS JOIN users u LEFT JOIN approvals q ON q.meeting_id = m.id\nWHERE u.id = m.organizer_id AND " + on
}

// readBrief runs a query that begins with selectBrief, for a viewer.
func (s *Store) readBrief(tx *gorm.DB, viewer *meeting.Actor, q statement, args ...any) ([]*meeting.Meeting, error) {
	ms, err := collect(s, tx, scanBrief, q, args...)
	if err != nil {
		return nil, err
	}
	if err := s.addLimits(tx, ms); err != nil {
		return nil, err
	}
	if err := s.addAttendees(tx, viewer, ms); err != nil {
		return nil, err
	}
	return ms, nil
}

// addAttendees reads the attendees of brief meetings whose rooms hide details from the viewer, because they may
// take part.
func (s *Store) addAttendees(tx *gorm.DB, viewer *meeting.Actor, ms []*meeting.Meeting) error {
	hidden := map[meeting.ID]*meeting.Meeting{}
	for _, m := range ms {
		if m.Visibility != meeting.Private && len(m.Limits) > 0 && (viewer == nil || !viewer.MaySee(m, nil)) {
			hidden[m.ID] = m
		}
	}
	if len(hidden) == 0 {
		return nil
	}
	var c conditions
	ids := c.param(s.ids(slices.Sorted(maps.Keys(hidden))...))
	text := forViewer(&c, viewer, "SELECT m.id, "+attendeesOf+" FROM meetings m WHERE m.id "+strings.ReplaceAll(amongIDs, "$1", ids))
	return s.query(tx, func(rows *sql.Rows) error {
		var id meeting.ID
		var invited []byte
		if err := rows.Scan(&id, &invited); err != nil {
			return err
		}
		return readParts(invited, func(a attendeePart) { a.addTo(hidden[id]) })
	}, write(text), c.args...)
}

func scanBrief(rows *sql.Rows) (*meeting.Meeting, error) {
	m := &meeting.Meeting{}
	var starts, ends, deadline, opens, until, checkedIn, ended micros
	var status, visibility string
	var series, kind sql.NullInt64
	var inRooms, onTimeout sql.NullString
	var invited, request []byte
	err := rows.Scan(&m.ID, &m.Title, &starts, &ends, &m.Organizer.UserID, &m.Organizer.Name, &status, &visibility, &deadline,
		&opens, &until, &checkedIn, &ended, &series, &kind, &m.Version, &inRooms, &invited, &onTimeout, &request)
	if err != nil {
		return nil, err
	}
	m.Slot = clock.Slot{Start: starts.time(), End: ends.time()}
	m.Status, m.Visibility = meeting.Status(status), meeting.Visibility(visibility)
	m.Approval.Deadline, m.Approval.OnTimeout = deadline.time(), meeting.Status(onTimeout.String)
	m.CheckIn.Opens, m.CheckIn.Until = opens.time(), until.time()
	m.CheckedInAt, m.EndedAt = checkedIn.time(), ended.time()
	m.SeriesID, m.TypeID = series.Int64, kind.Int64
	err = cmp.Or(
		addBriefRooms(m, inRooms.String),
		readParts(invited, func(a attendeePart) { a.addTo(m) }),
		addBriefRequest(m, request))
	if err != nil {
		return nil, fmt.Errorf("meeting %d: %w", m.ID, err)
	}
	return m, nil
}

// addBriefRooms reads rooms by position. Each is its ID, followed by - if the meeting does not occupy it, or
// by the time for which it does if that differs from its slot.
func addBriefRooms(m *meeting.Meeting, text string) error {
	for text != "" {
		var room string
		room, text, _ = strings.Cut(text, ",")
		room, slot, differs := strings.Cut(room, " ")
		room, free := strings.CutSuffix(room, "-")
		id, err := strconv.ParseInt(room, 10, 64)
		if err != nil {
			return err
		}
		m.RoomIDs = append(m.RoomIDs, id)
		if free {
			continue
		}
		o := meeting.Occupancy{RoomID: id, Slot: m.Slot}
		if differs {
			from, to, _ := strings.Cut(slot, " ")
			starts, err1 := strconv.ParseInt(from, 10, 64)
			ends, err2 := strconv.ParseInt(to, 10, 64)
			if err := cmp.Or(err1, err2); err != nil {
				return err
			}
			o.Slot = clock.Slot{Start: micros(starts).time(), End: micros(ends).time()}
		}
		m.Occupied = append(m.Occupied, o)
	}
	return nil
}

func addBriefRequest(m *meeting.Meeting, text []byte) error {
	if len(text) == 0 {
		return nil
	}
	var r struct {
		Number   int64                  `json:"number"`
		Deadline *readInstant           `json:"deadline"`
		Change   *meeting.PendingChange `json:"change"`
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return fmt.Errorf("approval: %w", err)
	}
	m.Request = &meeting.Request{Number: r.Number, Change: r.Change}
	if r.Deadline != nil {
		m.Request.Deadline = r.Deadline.Time
	}
	return nil
}

// time is the instant; the zero time if there is none.
func (m micros) time() time.Time {
	if m == 0 {
		return time.Time{}
	}
	return time.UnixMicro(int64(m)).UTC()
}
