package caldav

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"punctual/meeting"
	"punctual/meeting/clock"
)

// Entry is what is rendered under one UID: a meeting, or a series with the dates that differ.
type Entry struct {
	UID    string                 // empty: the one that mails about it have
	Series *meeting.CalendarEntry // nil: single meetings
	Single []*meeting.Meeting     // a meeting, or the dates of a series that the user is invited to
	Dates  bool                   // Single are dates of a series
	All    []*meeting.Meeting     // all dates of Series
	Zone   string                 // of the series
	// Sequence is the least SEQUENCE of the events.
	Sequence int64
}

// Calendars renders entries as iCalendar.
type Calendars interface {
	// Render names the rooms as attendees with the address that address returns.
	Render(e Entry, address func(roomID int64) string) []byte
	// UID returns the UID of a meeting, or of its series.
	UID(meetingID, seriesID int64) string
}

// remembered is how long programs that were away learn what is gone.
const remembered = 180 * 24 * time.Hour

// listing is the present content of a calendar.
type listing struct {
	of     Collection
	number int64 // of the last change
	oldest int64
}

// list compares the content of a calendar with what was recorded, and records the differences.
func (s *Server) list(ctx context.Context, c Collection) (*listing, error) {
	now := s.Now().UTC()
	from := now.Add(-s.Settings().Past).Truncate(24 * time.Hour)
	for range 10 {
		known, err := s.Store.Known(ctx, c.key())
		if err != nil {
			return nil, err
		}
		state, err := s.Store.State(ctx, c, from)
		if err != nil {
			return nil, err
		}
		state += from.Format(time.DateOnly)
		if known.Number > 0 && known.State == state {
			return &listing{c, known.Number, known.Oldest}, nil
		}
		members, err := s.Store.Members(ctx, c, clock.Slot{Start: from})
		if err != nil {
			return nil, err
		}
		cs, err := s.differences(ctx, c, members, known.Number+1)
		if err != nil {
			return nil, err
		}
		next := Known{Number: known.Number, State: state}
		if known.Number == 0 || slices.ContainsFunc(cs, func(d Change) bool { return d.Number > known.Number }) {
			next.Number++
		}
		recorded, err := s.Store.Record(ctx, c.key(), known.Number, next, cs, now, now.Add(-remembered))
		if err != nil {
			return nil, err
		}
		if recorded {
			return &listing{c, next.Number, known.Oldest}, nil
		}
	}
	return nil, fmt.Errorf("calendar %s: %w", c.key(), ErrChanged)
}

// differences returns what to record of members; what calendar programs must learn has the number.
func (s *Server) differences(ctx context.Context, c Collection, members []Member, number int64) ([]Change, error) {
	recorded, err := s.Store.Changes(ctx, c.key(), 0)
	if err != nil {
		return nil, err
	}
	stored := map[string]*Stored{}
	if c.RoomID == 0 {
		if stored, err = s.storedBy(ctx, c.UserID); err != nil {
			return nil, err
		}
	}
	before := make(map[string]Change, len(recorded))
	for _, r := range recorded {
		before[r.Object] = r
	}
	var changed []Member
	names := map[string]Change{}
	var cs []Change
	for _, m := range members {
		d := Change{Object: m.key(), Name: m.key() + ".ics", Fingerprint: m.Fingerprint, Number: number}
		if o := stored[m.key()]; o != nil {
			d.Name = o.Name
			d.Fingerprint += fmt.Sprintf(" %d/%d", o.ID, o.Version)
		}
		was, known := before[m.key()]
		delete(before, m.key())
		if known && !was.Gone && was.Fingerprint == d.Fingerprint {
			continue
		}
		if known && !was.Gone && was.Name != d.Name { // the old address is gone
			was.Object, was.Gone, was.Number = was.Object+" "+was.Name, true, number
			cs = append(cs, was)
		}
		changed, names[m.key()] = append(changed, m), d
	}
	for part := range slices.Chunk(changed, 500) {
		err := s.render(ctx, c, part, nil, func(m Member, text string) error { // what is gone meanwhile has none
			d := names[m.key()]
			d.ETag = etag(text)
			cs = append(cs, d)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	was := make(map[string]Change, len(recorded))
	for _, r := range recorded {
		was[r.Object] = r
	}
	for i, d := range cs {
		if r, known := was[d.Object]; known && !r.Gone && !d.Gone && r.ETag == d.ETag && r.Name == d.Name {
			cs[i].Number = r.Number
		}
	}
	for _, r := range before {
		if !r.Gone {
			r.Gone, r.Number = true, number
			cs = append(cs, r)
		}
	}
	return cs, nil
}

// storedBy returns what a user stored, by the key of the member that it belongs to.
func (s *Server) storedBy(ctx context.Context, userID int64) (map[string]*Stored, error) {
	os, err := s.Store.Objects(ctx, userID)
	if err != nil {
		return nil, err
	}
	by := make(map[string]*Stored, len(os))
	for _, o := range os {
		by[o.member().key()] = o
	}
	return by, nil
}

func (o *Stored) member() Member {
	switch {
	case o.SeriesID != 0:
		return Member{SeriesID: o.SeriesID}
	case o.MeetingID != 0:
		return Member{MeetingID: o.MeetingID}
	}
	return Member{ObjectID: o.ID}
}

// etag of an object. What changes without a change of content is left out: when a meeting starts, its
// version rises.
func etag(text string) string {
	h := sha256.New()
	for l := range strings.SplitSeq(text, "\r\n") {
		if !strings.HasPrefix(l, "DTSTAMP:") && !strings.HasPrefix(l, "LAST-MODIFIED:") && !strings.HasPrefix(l, "SEQUENCE:") {
			h.Write([]byte(l + "\n"))
		}
	}
	return `"` + hex.EncodeToString(h.Sum(nil)[:16]) + `"`
}

// render passes the iCalendar of members to take, one by one, without those that are gone. shape, unless it
// is nil, changes what is rendered. The dates of one series at a time are in memory.
func (s *Server) render(ctx context.Context, c Collection, members []Member, shape func(*Entry), take func(m Member, text string) error) error {
	own := map[string]*Stored{}
	var objects []int64
	if c.RoomID == 0 {
		stored, err := s.storedBy(ctx, c.UserID)
		if err != nil {
			return err
		}
		for _, m := range members {
			if o := stored[m.key()]; o != nil {
				objects = append(objects, o.ID)
			}
		}
		os, err := s.Store.ObjectsByID(ctx, objects)
		if err != nil {
			return err
		}
		for _, o := range os {
			own[o.member().key()] = o
		}
	}
	entryOf, err := s.entries(ctx, c, members)
	if err != nil {
		return err
	}
	for _, m := range members {
		o := own[m.key()]
		if m.ObjectID != 0 {
			if o != nil {
				if err := take(m, o.ICS); err != nil {
					return err
				}
			}
			continue
		}
		e, err := entryOf(m)
		if err != nil {
			return err
		}
		if e == nil {
			continue
		}
		if o != nil {
			e.UID = o.UID
		}
		if shape != nil {
			shape(e)
		}
		text := string(s.Calendars.Render(*e, s.address))
		if o != nil {
			text = withExtras(text, o.ICS)
		}
		if err := take(m, text); err != nil {
			return err
		}
	}
	return nil
}

// entry returns a meeting or a series; nil: there is none any longer.
func (s *Server) entry(ctx context.Context, c Collection, m Member) (*Entry, error) {
	of, err := s.entries(ctx, c, []Member{m})
	if err != nil {
		return nil, err
	}
	return of(m)
}

// entries returns a function that returns the meetings and series among members; nil: there is none. It reads
// a series when it is called.
func (s *Server) entries(ctx context.Context, c Collection, members []Member) (of func(Member) (*Entry, error), err error) {
	var ids, series []int64
	for _, m := range members {
		switch {
		case m.SeriesID != 0:
			series = append(series, m.SeriesID)
		case m.MeetingID != 0:
			ids = append(ids, m.MeetingID)
		}
	}
	entries := make(map[string]*Entry, len(members))
	ms, err := s.Store.MeetingsByID(ctx, ids)
	if err != nil {
		return nil, err
	}
	ofMeetings, ofSeries, err := s.Store.Origins(ctx, ids, series)
	if err != nil {
		return nil, err
	}
	for _, m := range ms {
		e := &Entry{Single: []*meeting.Meeting{s.view(c, m)}}
		if o, ok := ofMeetings[m.ID]; ok && c.RoomID == 0 {
			e.UID, e.Sequence = o.UID, o.Sequence
		}
		entries[Member{MeetingID: m.ID}.key()] = e
	}
	return func(m Member) (*Entry, error) {
		if m.SeriesID == 0 {
			return entries[m.key()], nil
		}
		e, err := s.seriesEntry(ctx, c, m.SeriesID)
		if o, ok := ofSeries[m.SeriesID]; ok && e != nil {
			e.UID, e.Sequence = o.UID, max(e.Sequence, o.Sequence)
		}
		return e, err
	}, nil
}

// view returns a meeting as the reader of a calendar sees it. Every reader of a room's calendar sees
// the same: private meetings are only busy.
func (s *Server) view(c Collection, m *meeting.Meeting) *meeting.Meeting {
	if c.RoomID != 0 {
		return m.View(meeting.Actor{AtRoom: c.RoomID}, nil)
	}
	return m.View(c.actor(), nil)
}

func (c Collection) actor() meeting.Actor {
	return meeting.Actor{Kind: meeting.ActorUser, ID: c.UserID, Email: c.Email, Role: meeting.Member}
}

// seriesEntry returns a series with its live dates, or those that the user is invited to; nil: there
// are none.
func (s *Server) seriesEntry(ctx context.Context, c Collection, id int64) (*Entry, error) {
	series, err := s.Store.Series(ctx, id)
	if err != nil {
		return nil, err
	}
	all, err := s.Store.SeriesMeetings(ctx, id)
	if err != nil {
		return nil, err
	}
	var live, mine []*meeting.Meeting
	by := c.actor()
	for _, m := range all {
		if m.Status == meeting.Rejected || m.Status == meeting.Cancelled || m.Status == meeting.Released {
			continue
		}
		live = append(live, m)
		invited := slices.ContainsFunc(m.Attendees, func(a meeting.Attendee) bool { return strings.EqualFold(a.Email, c.Email) })
		if m.Organizer.UserID == c.UserID || invited && !m.DeclinedBy(by) {
			mine = append(mine, s.view(c, m))
		}
	}
	switch {
	case len(mine) == 0:
		return nil, nil
	case len(mine) < len(live) && !slices.ContainsFunc(mine, func(m *meeting.Meeting) bool { return m.OriginalStart.IsZero() }):
		return &Entry{UID: s.Calendars.UID(0, id), Single: mine, Dates: true, Zone: series.Timezone}, nil
	}
	if len(mine) == 1 && len(series.RDates) == 0 && series.Rule.Count() == 1 { // for programs a single event
		return &Entry{UID: s.Calendars.UID(0, id), Single: mine, Zone: series.Timezone, Sequence: max(series.Version, series.Sequence)}, nil
	}
	e := series.View(by, nil).Calendar(mine, s.Now())
	return &Entry{UID: s.Calendars.UID(0, id), Series: &e, All: mine, Zone: series.Timezone}, nil
}

// rendered are the properties that the server writes. The others of a stored event are the program's.
var rendered = map[string]bool{
	"UID": true, "DTSTAMP": true, "LAST-MODIFIED": true, "CREATED": true, "SEQUENCE": true, "STATUS": true, "SUMMARY": true,
	"DESCRIPTION": true, "LOCATION": true, "URL": true, "ORGANIZER": true, "ATTENDEE": true, "CLASS": true, "DTSTART": true,
	"DTEND": true, "DURATION": true, "RRULE": true, "RDATE": true, "EXDATE": true, "RECURRENCE-ID": true, "TRANSP": true,
}

// withExtras adds to a rendered calendar what a program stored beyond it, such as alarms.
func withExtras(text, ics string) string {
	now, err := parseICS(text)
	if err != nil {
		return text
	}
	was, err := parseICS(ics)
	if err != nil {
		return text
	}
	for _, ev := range now.kidsNamed("VEVENT") {
		at := recurrenceKey(ev)
		for _, old := range was.kidsNamed("VEVENT") {
			if recurrenceKey(old) != at {
				continue
			}
			for _, l := range old.lines {
				if !rendered[l.name] || declines(l) && !slices.ContainsFunc(ev.lines, func(o line) bool { return o.name == l.name && o.value == l.value }) {
					ev.lines = append(ev.lines, l)
				}
			}
			ev.kids = append(ev.kids, old.kids...)
			break
		}
	}
	keepDeclined(now, was)
	return now.String()
}

// recurrenceKey tells the events of a series apart, as the same program wrote them.
func recurrenceKey(c *component) string {
	l, _ := c.first("RECURRENCE-ID")
	return l.value
}
