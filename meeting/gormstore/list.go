package gormstore

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

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

// ListMeetings is ordered by start.
func (s *Store) ListMeetings(ctx context.Context, q meeting.MeetingQuery, p meeting.Page) (ms []*meeting.Meeting, next string, err error) {
	after, err := readCursor("meetings", p.Cursor)
	if err != nil {
		return nil, "", err
	}
	var c conditions
	if after != nil {
		c.add("(m.starts_at, m.id) > (?, ?)", after.time(), after.ID)
	}
	within(&c, q.From, q.To)
	matching(&c, q)
	if len(q.RoomIDs) > 0 {
		c.all = append(c.all, "EXISTS (SELECT 1 FROM meeting_rooms mr WHERE mr.meeting_id = m.id AND mr.room_id "+
			strings.ReplaceAll(amongIDs, "$1", c.param(s.ids(q.RoomIDs...)))+")")
	}
	text := selectMeetings
	if q.Brief {
		text = selectBrief
	}
	text += "\nWHERE " + c.String() + "\nORDER BY m.starts_at, m.id LIMIT " + c.param(limit(p)+1)
	ms, err = s.readMeetings(s.db.WithContext(ctx), write(text), c.args...)
	if err != nil {
		return nil, "", fmt.Errorf("list meetings: %w", err)
	}
	ms, next = paged(ms, limit(p), func(m *meeting.Meeting) position {
		return position{List: "meetings", At: m.Slot.Start.UnixMicro(), ID: m.ID}
	})
	return ms, next, nil
}

// within asks for meetings that overlap [from, to). The bound by the longest meeting lets an
// index by start find those that began before.
func within(c *conditions, from, to time.Time) {
	if !to.IsZero() {
		c.add("m.starts_at < ?", micro(to))
	}
	if !from.IsZero() {
		c.add("m.ends_at > ?", micro(from))
		c.add("m.starts_at > CAST(? AS timestamptz) - (SELECT max(ends_at - starts_at) FROM meetings)", micro(from))
	}
}

func matching(c *conditions, q meeting.MeetingQuery) {
	if q.RoomID != 0 {
		c.add("EXISTS (SELECT 1 FROM meeting_rooms mr WHERE mr.meeting_id = m.id AND mr.room_id = ?)", q.RoomID)
	}
	if q.SiteID != 0 {
		c.add("EXISTS (SELECT 1 FROM meeting_rooms mr JOIN rooms r ON r.id = mr.room_id WHERE mr.meeting_id = m.id AND r.site_id = ?)", q.SiteID)
	}
	if q.OrganizerID != 0 {
		c.add("m.organizer_id = ?", q.OrganizerID)
	}
	if q.AttendeeEmail != "" {
		c.add("EXISTS (SELECT 1 FROM attendees a WHERE a.meeting_id = m.id AND lower(a.email) = lower(?))", q.AttendeeEmail)
	}
	if q.SeriesID != 0 {
		c.add("m.series_id = ?", q.SeriesID)
	}
	if len(q.Statuses) > 0 {
		c.effective(q)
	}
	if q.Awaiting {
		c.awaiting(q)
	}
	if q.Text != "" {
		c.add(`{fold}(m.title) LIKE {fold}(?) ESCAPE '\'`, containing(q.Text))
	}
	if v := q.Viewer; v != nil && q.Reveals() && (q.OrganizerID != v.ID || v.Blind) {
		c.visible(*v, q.Now)
	}
}

// effective asks for meetings whose [meeting.Meeting.EffectiveStatus] at q.Now is one of those wanted.
func (c *conditions) effective(q meeting.MeetingQuery) {
	now := sync.OnceValue(func() string { return c.param(micro(q.Now)) }) // a parameter must not be left unused
	undecided := func() string {
		return "(m.approval_deadline > " + now() + " OR COALESCE(q.on_timeout, 'rejected') = 'confirmed')"
	}
	expected := func() string { // somebody has come, still may, or need not
		return "(m.checked_in_at IS NOT NULL OR m.no_show_at IS NULL OR m.no_show_at > " + now() + ")"
	}
	var any []string
	for _, status := range q.Statuses {
		switch status {
		case meeting.Pending:
			any = append(any, "m.status = 'pending' AND "+undecided())
		case meeting.Confirmed:
			any = append(any, "m.status = 'confirmed' AND m.starts_at > "+now()+" AND m.ends_at > "+now()+" AND "+expected())
		case meeting.InProgress:
			any = append(any, "(m.status = 'in_progress' OR m.status = 'confirmed' AND m.starts_at <= "+now()+") AND m.ends_at > "+now()+" AND "+expected())
		case meeting.Ended:
			any = append(any, "m.status = 'ended'", "m.status IN ('confirmed', 'in_progress') AND m.ends_at <= "+now())
		case meeting.Released:
			any = append(any, "m.status = 'released'", "m.status IN ('confirmed', 'in_progress') AND m.ends_at > "+now()+" AND NOT "+expected())
		case meeting.Rejected:
			any = append(any, "m.status = 'rejected'", "m.status = 'pending' AND NOT ("+undecided()+")")
		default:
			any = append(any, "m.status = "+c.param(string(status)))
		}
	}
	c.all = append(c.all, "("+strings.Join(any, " OR ")+")")
}

// visible asks for meetings whose title the viewer may see at an instant: the rule of
// [meeting.Actor.MaySee] in SQL.
func (c *conditions) visible(v meeting.Actor, at time.Time) {
	if v.Blind {
		c.all = append(c.all, "m.visibility <> 'private'")
		return
	}
	if v.Kind != meeting.ActorUser || v.Role == meeting.Admin {
		return
	}
	who := c.param(v.ID)
	sees := []string{
		"m.visibility <> 'private'",
		"m.organizer_id = " + who,
		"EXISTS (SELECT 1 FROM attendees a WHERE a.meeting_id = m.id AND (a.user_id = " + who + " OR lower(a.email) = lower(" + c.param(v.Email) + ")))",
	}
	if v.Role == meeting.Manager {
		var names []string
		for _, id := range v.DecidesAs() {
			names = append(names, c.param(id))
		}
		approved := "SELECT ra.room_id FROM room_approvers ra JOIN rooms r ON r.id = ra.room_id AND r.deleted_at IS NULL WHERE ra.user_id IN (" + strings.Join(names, ", ") + ")"
		sees = append(sees,
			"EXISTS (SELECT 1 FROM meeting_rooms mr WHERE mr.meeting_id = m.id AND mr.room_id IN ("+approved+"))",
			waits(c.param(micro(at)))+" AND EXISTS ("+approved+" AND ra.room_id IN ("+changeRooms+"))")
	}
	c.all = append(c.all, "("+strings.Join(sees, " OR ")+")")
}
