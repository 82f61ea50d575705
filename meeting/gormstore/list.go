package gormstore

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"gorm.io/gorm"

	"punctual/meeting"
)

// conditions collects what a row must satisfy, and the parameters.
type conditions struct {
	all  []string
	args []any
}

// param adds a parameter and returns its name.
func (c *conditions) param(v any) string {
	c.args = append(c.args, v)
	return "$" + strconv.Itoa(len(c.args))
}

// add takes a condition with a ? for each parameter.
func (c *conditions) add(condition string, params ...any) {
	for _, p := range params {
		condition = strings.Replace(condition, "?", c.param(p), 1)
	}
	c.all = append(c.all, condition)
}

func (c *conditions) String() string {
	if len(c.all) == 0 {
		return "true"
	}
	return strings.Join(c.all, "\n\tAND ")
}

// maxScanned is how many meetings one page compares, in the order of their starts, where no index
// finds those that match: about 10 ms of work.
var maxScanned = [...]int{postgres: 10_000, sqlite: 5_000}

// ListMeetings is ordered by start. Where no index finds what matches, a page ends after
// maxScanned meetings, with fewer items than its limit and a cursor from which to go on. A text that
// few of them have is looked up in its index.
func (s *Store) ListMeetings(ctx context.Context, q meeting.MeetingQuery, p meeting.Page) (ms []*meeting.Meeting, next string, err error) {
	after, err := readCursor("meetings", p.Cursor)
	if err != nil {
		return nil, "", err
	}
	tx := s.db.WithContext(ctx)
	var scanned *position
	if !indexed(q) {
		if scanned, err = s.scanEnd(tx, q, after); err != nil {
			return nil, "", fmt.Errorf("list meetings: %w", err)
		}
	}
	read := func(among []int64) error {
		text, args := s.listMeetings(q, among, after, scanned, limit(p)+1)
		var page statement
		page[s.dialect] = s.dialect.translate(text) // the other takes as long
		if q.Brief {
			ms, err = s.readBrief(tx, q.Viewer, page, args...)
		} else {
			ms, err = s.readMeetings(tx, page, args...)
		}
		return err
	}
	if err := read(nil); err != nil {
		return nil, "", fmt.Errorf("list meetings: %w", err)
	}
	if scanned != nil && q.Text != "" && len(ms) <= limit(p) {
		ids, all, err := s.candidates(ctx, q.Text)
		if err != nil {
			return nil, "", fmt.Errorf("search meetings: %w", err)
		}
		switch {
		case all && len(ids) == 0:
			return nil, "", nil
		case all:
			scanned = nil
			if err := read(ids); err != nil {
				return nil, "", fmt.Errorf("list meetings: %w", err)
			}
		}
	}
	ms, next = paged(ms, limit(p), meetingPosition)
	switch {
	case next != "":
	case listsPersons(q, limit(p)+1) && persons(ms) >= maxPersons:
		next = meetingPosition(ms[len(ms)-1]).cursor()
	case scanned != nil:
		next = scanned.cursor()
	}
	return ms, next, nil
}

func meetingPosition(m *meeting.Meeting) position {
	return position{List: "meetings", At: m.Slot.Start.UnixMicro(), ID: m.ID}
}

// A page ends with the meeting that brings it to maxPersons attendees, which is some 2 MB of an answer.
const (
	maxPersons = 10_000
	mostEach   = 500 // attendees of one meeting
)

// listsPersons reports whether n meetings can have more than maxPersons attendees.
func listsPersons(q meeting.MeetingQuery, n int) bool { return !q.Brief && n*mostEach > maxPersons }

func persons(ms []*meeting.Meeting) (n int) {
	for _, m := range ms {
		n += len(m.Attendees)
	}
	return n
}

// indexed reports whether an index finds what matches, or all in the span does.
func indexed(q meeting.MeetingQuery) bool {
	return q.OrganizerID != 0 || q.AttendeeEmail != "" || q.SeriesID != 0 || q.RoomID != 0 || len(q.RoomIDs) > 0 || q.Awaiting ||
		q.Text == "" && len(q.Statuses) == 0 && q.SiteID == 0 && len(q.SiteIDs) == 0
}

// scanned is how many meetings a page compares. Comparing texts takes longer, and where an index can
// follow, only common texts need to be found.
func (s *Store) scanned(q meeting.MeetingQuery) int {
	switch {
	case q.Text == "":
		return s.scan
	case searchable(q.Text):
		return min(s.scan, maxScanned[postgres]/5)
	}
	return min(s.scan, maxScanned[postgres]/2)
}

// scanEnd is where a scan from a position on ends; nil: it reaches the end of the list.
func (s *Store) scanEnd(tx *gorm.DB, q meeting.MeetingQuery, after *position) (*position, error) {
	var c conditions
	from := q.From
	if !from.IsZero() {
		c.add("m.starts_at > ?", micro(from.AddDate(0, 0, -lookBacks[0])))
	}
	if !q.To.IsZero() {
		c.add("m.starts_at < ?", micro(q.To))
	}
	if after != nil {
		c.add("(m.starts_at, m.id) > (?, ?)", after.time(), after.ID)
	}
	var end *position
	err := s.query(tx, func(rows *sql.Rows) error {
		var at time.Time
		end = &position{List: "meetings"}
		err := rows.Scan(&at, &end.ID)
		end.At = at.UnixMicro()
		return err
	}, write("SELECT m.starts_at, m.id FROM meetings m WHERE "+c.String()+" ORDER BY m.starts_at, m.id LIMIT 1 OFFSET "+strconv.Itoa(s.scanned(q))), c.args...)
	return end, err
}

// listMeetings is the statement for a page of n. A first part finds what overlaps the span and
// began at most a day before it, by start; a second one the few that began earlier. If among is not
// nil, only these meetings are read.
func (s *Store) listMeetings(q meeting.MeetingQuery, among []int64, after, end *position, n int) (string, []any) {
	var c conditions
	if after != nil {
		c.add("(m.starts_at, m.id) > (?, ?)", after.time(), after.ID)
	}
	if end != nil {
		c.add("(m.starts_at, m.id) <= (?, ?)", end.time(), end.ID)
		q.To = end.time().Add(time.Microsecond) // by which SQLite searches the index; the end of the span may be far away
	}
	ofRooms := among == nil && len(q.RoomIDs) > 0 && !q.From.IsZero() && !q.To.IsZero() && len(q.Statuses) > 0 && !slices.ContainsFunc(q.Statuses, vacates)
	rooms := ""
	if len(q.RoomIDs) > 0 {
		rooms = c.param(s.ids(q.RoomIDs...))
		if !ofRooms {
			c.all = append(c.all, inRooms(rooms))
		}
	}
	s.matching(&c, q)
	var from, to string
	if !q.To.IsZero() {
		to = c.param(micro(q.To))
	}
	if !q.From.IsZero() {
		from = c.param(micro(q.From))
	}
	first := "\n\tORDER BY m.starts_at, m.id LIMIT " + strconv.Itoa(n)
	if q.Brief && ofRooms { // nearly all that is found is read: twice would take longer
		text := strings.Join(append([]string{selectBrief(occupanciesIn(rooms, from, to)), touches("m", from, to)}, c.all...), "\n\tAND ") + first
		return forViewer(&c, q.Viewer, text), c.args
	}
	part := func(source, condition string) string {
		return "SELECT * FROM (SELECT m.starts_at, m.id FROM " + source + " LEFT JOIN approvals q ON q.meeting_id = m.id\n\tWHERE " +
			strings.Join(append([]string{condition}, c.all...), "\n\tAND ") + first + ") AS part"
	}
	var parts []string
	switch {
	case among != nil:
		ids, overlaps := c.param(s.ids(among...)), "true"
		if from != "" {
			overlaps = touches("m", from, to)
		} else if to != "" {
			overlaps = "m.starts_at < " + to
		}
		// By ID, not by start until enough are found.
		parts = append(parts, part("{postgres: (SELECT * FROM meetings WHERE id = ANY ("+ids+"::bigint[]) OFFSET 0) AS m}{sqlite: json_each("+ids+") AS l CROSS JOIN meetings m}",
			"{postgres: true}{sqlite: m.id = l.value} AND "+overlaps))
	case ofRooms:
		parts = append(parts, part("("+meetingsIn(rooms, from, to)+") AS l CROSS JOIN meetings m", "m.id = l.id AND "+touches("m", from, to)))
	case from != "":
		parts = append(parts, part("meetings m", recent("m", from, to)))
		if after == nil || !after.time().After(q.From.AddDate(0, 0, -lookBacks[0])) {
			parts = append(parts, part("("+longRowsWithin("meetings", "o.id", from, to)+") AS l CROSS JOIN meetings m", "m.id = l.id"))
		}
	case to != "":
		parts = append(parts, part("meetings m", "m.starts_at < "+to))
	default:
		parts = append(parts, part("meetings m", "true"))
	}
	page := "SELECT m.starts_at, m.id{persons} FROM (" + strings.Join(parts, "\n\tUNION ALL ") + ") AS m" + first
	if listsPersons(q, n) {
		page = strings.Replace(page, "{persons}", ", (SELECT count(*) FROM attendees a WHERE a.meeting_id = m.id) AS persons", 1)
		page = "SELECT m.id, sum(m.persons) OVER (ORDER BY m.starts_at, m.id ROWS UNBOUNDED PRECEDING) - m.persons AS before FROM (" + page + ") AS m"
		page = "SELECT m.id FROM (" + page + ") AS m WHERE m.before < " + strconv.Itoa(maxPersons)
	} else {
		page = "SELECT m.id FROM (" + strings.Replace(page, "{persons}", "", 1) + ") AS m"
	}
	if q.Brief {
		return forViewer(&c, q.Viewer, selectBrief("")+" AND m.id IN ("+page+")\nORDER BY m.starts_at, m.id"), c.args
	}
	return selectMeetings + "\nWHERE m.id IN (" + page + ")\nORDER BY m.starts_at, m.id", c.args
}

// forViewer makes a brief query read only the viewer of the attendees, if there is one: nobody else matters.
func forViewer(c *conditions, viewer *meeting.Actor, brief string) string {
	if viewer == nil {
		return brief
	}
	return strings.Replace(brief, "WHERE a.meeting_id = m.id)",
		"WHERE a.meeting_id = m.id AND ("+standsFor("a.user_id", *viewer, c)+" OR a.email <> '' AND lower(a.email) = lower("+c.param(viewer.Email)+")))", 1)
}

// inRooms is the condition on a meeting that it is in any of some rooms: by meeting, not by room, which has
// had thousands.
func inRooms(rooms string) string {
	return "EXISTS (SELECT 1 FROM meeting_rooms mr WHERE mr.meeting_id = m.id AND {sqlite: +}mr.room_id " +
		strings.ReplaceAll(amongIDs, "$1", rooms) + "{postgres: OFFSET 0})"
}

// vacates reports whether a meeting with the status no longer holds its rooms.
func vacates(status meeting.Status) bool {
	return status == meeting.Rejected || status == meeting.Cancelled || status == meeting.Released
}

// meetingsIn selects the ids of all meetings in rooms within a span that do not [vacates] them, each
// once. Who occupies a room is in it; others are compared with the list of rooms, which takes longer.
func meetingsIn(rooms, from, to string) string {
	return "SELECT m.id FROM (" + seldomHeld(from, to) + ") AS m WHERE " + inRooms(rooms) +
		"\n\tUNION " + occupants("", eachOf(rooms), "r.value", from, to) + " AND NOT o.held"
}

// occupanciesIn selects these ids with the number of times that each was found, and the last room and slot that it
// was found to occupy.
func occupanciesIn(rooms, from, to string) string {
	return "SELECT f.id, count(*) AS n, max(f.room_id) AS room_id, max(f.starts_at) AS starts_at, max(f.ends_at) AS ends_at FROM (" +
		occupants(", o.room_id, o.starts_at, o.ends_at", eachOf(rooms), "r.value", from, to) + " AND NOT o.held" +
		"\n\tUNION ALL SELECT m.id, NULL, NULL, NULL FROM (" + seldomHeld(from, to) + ") AS m WHERE " + inRooms(rooms) + ") AS f GROUP BY f.id"
}

// heldOrNot selects these ids for a table of rooms, with repetitions and some of other rooms.
func heldOrNot(rooms, room, from, to string) string {
	return seldomHeld(from, to) + "\n\tUNION ALL " + occupants("", rooms, room, from, to)
}

// seldomHeld selects the ids of meetings in any room that began long before the span, and of requests and
// meetings that ended early, which may occupy no room.
func seldomHeld(from, to string) string {
	return longRowsWithin("meetings", "o.id", from, to) +
		"\n\tUNION ALL SELECT m.id FROM meetings m WHERE (m.status = 'pending' OR m.ended_at < m.ends_at) AND " + recent("m", from, to) +
		"\n\tUNION ALL " + longRowsWithin("occupancies", "o.meeting_id", from, to)
}

// occupants selects the ids, and more columns of o, of meetings that occupy rooms, and began at most a day before the span. It looks
// each room up once: ofRoom does so twice, which takes longer than to read the occupancies of one more day.
func occupants(columns, rooms, room, from, to string) string {
	return "SELECT o.meeting_id AS id" + columns + " FROM " + rooms + " {sqlite: CROSS} JOIN occupancies AS o ON o.room_id = " + room + " AND " + recent("o", from, to) + " AND o.meeting_id IS NOT NULL"
}

func (s *Store) matching(c *conditions, q meeting.MeetingQuery) {
	hides := q.Viewer != nil && q.Viewer.Kind == meeting.ActorUser && !seesAll(*q.Viewer) && !q.InVisible
	// A meeting is not found by a room that the viewer may not see.
	inRoom := false
	in := func(rooms string) {
		if hides {
			inRoom = true
			s.inVisible(c, *q.Viewer, q.Now, rooms)
		}
	}
	if q.RoomID != 0 {
		room := c.param(q.RoomID)
		c.all = append(c.all, "m.id IN (SELECT mr.meeting_id FROM meeting_rooms mr WHERE mr.room_id = "+room+")")
		in("SELECT 1 FROM meeting_rooms mr WHERE mr.meeting_id = m.id AND mr.room_id = " + room)
	}
	if q.SiteID != 0 {
		rooms := "SELECT 1 FROM meeting_rooms mr JOIN rooms r ON r.id = mr.room_id WHERE mr.meeting_id = m.id AND r.site_id = " + c.param(q.SiteID)
		c.all = append(c.all, "EXISTS ("+rooms+")")
		in(rooms)
	}
	if len(q.SiteIDs) > 0 {
		rooms := "SELECT 1 FROM meeting_rooms mr JOIN rooms r ON r.id = mr.room_id WHERE mr.meeting_id = m.id AND r.site_id " +
			strings.ReplaceAll(amongIDs, "$1", c.param(s.ids(q.SiteIDs...)))
		c.all = append(c.all, "EXISTS ("+rooms+")")
		in(rooms)
	}
	if hides && len(q.RoomIDs) > 0 {
		in("SELECT 1 FROM meeting_rooms mr WHERE mr.meeting_id = m.id AND mr.room_id " + strings.ReplaceAll(amongIDs, "$1", c.param(s.ids(q.RoomIDs...))))
	}
	if q.OrganizerID != 0 {
		c.add("m.organizer_id = ?", q.OrganizerID)
	}
	if q.AttendeeEmail != "" {
		c.add("m.id IN (SELECT a.meeting_id FROM attendees a WHERE lower(a.email) = lower(?))", q.AttendeeEmail)
	}
	if q.SeriesID != 0 {
		c.add("m.series_id = ?", q.SeriesID)
	}
	if q.TypeID != 0 {
		c.add("m.type_id = ?", q.TypeID)
	}
	if len(q.Statuses) > 0 {
		c.effective(q)
	}
	if q.Awaiting {
		c.awaiting(q)
	}
	if q.Text != "" {
		c.mentions(q.Text, q.Viewer)
	}
	if v := q.Viewer; v != nil && q.Reveals() && (q.OrganizerID != v.ID || v.Blind) {
		s.visible(c, *v, q.Now)
	}
	if hides && !inRoom && (q.OrganizerID != q.Viewer.ID || q.Viewer.Blind) {
		s.known(c, *q.Viewer, q.Now)
	}
}

// effective selects meetings whose [meeting.Meeting.EffectiveStatus] at q.Now is one of the
// requested ones.
func (c *conditions) effective(q meeting.MeetingQuery) {
	now := sync.OnceValue(func() string { return c.param(micro(q.Now)) }) // a parameter must not be left unused
	const approves = "COALESCE(q.on_timeout, 'rejected') = 'confirmed'"
	overdue := func(then string) string {
		return "(m.status = 'pending' AND m.approval_deadline <= " + now() + " AND " + then + ")"
	}
	confirmed := func() string { return "(m.status = 'confirmed' OR " + overdue(approves+" AND "+holdsRooms) + ")" } // also by its time-out
	expected := func() string {                                                                                      // checked in, check-in still open, or not required
		return "(m.checked_in_at IS NOT NULL OR m.no_show_at IS NULL OR m.no_show_at > " + now() + " OR m.no_show_at >= m.ends_at)"
	}
	var any []string
	for _, status := range q.Statuses {
		switch status {
		case meeting.Pending:
			any = append(any, "m.status = 'pending' AND NOT "+overdue("NOT ("+approves+" AND NOT "+holdsRooms+")"))
		case meeting.Confirmed:
			any = append(any, confirmed()+" AND m.starts_at > "+now()+" AND m.ends_at > "+now()+" AND "+expected())
		case meeting.InProgress:
			any = append(any, "(m.status = 'in_progress' OR "+confirmed()+" AND m.starts_at <= "+now()+") AND m.ends_at > "+now()+" AND "+expected())
		case meeting.Ended:
			any = append(any, "m.status = 'ended'", "(m.status = 'in_progress' OR "+confirmed()+") AND m.ends_at <= "+now()+" AND "+expected())
		case meeting.Released:
			any = append(any, "m.status = 'released'", "(m.status = 'in_progress' OR "+confirmed()+") AND NOT "+expected())
		case meeting.Rejected:
			any = append(any, "m.status = 'rejected'", overdue("NOT "+approves))
		default:
			any = append(any, "m.status = "+c.param(string(status)))
		}
	}
	c.all = append(c.all, "("+strings.Join(any, " OR ")+")")
}
