package meeting

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"punctual/meeting/clock"
	"punctual/meeting/recurrence"
)

// SeriesPart is the part of a series' change that a notice covers. A calendar cannot represent a
// rule that changes at some date under one UID. So a split series is two entries, with a notice for
// each.
type SeriesPart string

const (
	// A calendar cannot represent a rule that changes at some date under one UID. So a split series
	// is two entries, with a notice for each.
	PartEnds   SeriesPart = "ends"    // the dates before a split
	PartGoesOn SeriesPart = "goes_on" // the dates from it on
	PartAdded  SeriesPart = "added"   // a date that was added again
)

// Occurrence is one date of a series in [SeriesFacts].
type Occurrence struct {
	OriginalStart time.Time `json:"original_start"`
	Start         time.Time `json:"start"`
	End           time.Time `json:"end"`
	Title         string    `json:"title,omitempty"`       // "": that of the series
	Description   *string   `json:"description,omitempty"` // nil: that of the series
	Rooms         []string  `json:"rooms,omitempty"`       // none: those of the series
	Attendees     []Contact `json:"attendees"`             // nil: those of the series
}

const (
	icalLocal  = "20060102T150405"
	shownDates = 6
)

// notifyBooked invites people to a new series, or requests its approval: one notice per person for
// all dates.
func (s *Series) notifyBooked(ms []*Meeting, by Actor, at time.Time) {
	confirmed, pending := byState(ms)
	if len(confirmed) > 0 {
		to := inviting(s.Organizer, s.Attendees)
		if s.bookedBy != "" {
			to = append(to, s.Organizer)
		}
		s.notify(seriesNotice{kind: NoticeInvitation, dates: confirmed, calendar: confirmed}, to, by, at)
	}
	s.askTogether(pending, by)
}

// askTogether makes the request notice for one of the meetings cover all that were requested with
// it.
func (s *Series) askTogether(ms []*Meeting, by Actor) {
	for _, one := range requestsOf(ms) {
		if len(one) < 2 {
			continue
		}
		dates := s.facts(one, by).Series
		for _, m := range one {
			m.askFor(dates)
		}
	}
}

// askFor makes the request notice for the meeting cover these dates of its series.
func (m *Meeting) askFor(dates *SeriesFacts) {
	for i := range m.notices {
		if n := &m.notices[i]; n.asks() {
			n.Facts.Series = dates
		}
	}
}

// asks reports whether the notice asks its reader for a decision.
func (n Notice) asks() bool {
	return n.Kind == NoticeApprovalRequest || n.Kind == NoticeApprovalReminder || n.Kind == NoticeEscalation
}

// byState separates confirmed from pending meetings.
func byState(ms []*Meeting) (confirmed, pending []*Meeting) {
	for _, m := range ms {
		switch m.Status {
		case Pending:
			pending = append(pending, m)
		case Confirmed:
			confirmed = append(confirmed, m)
		}
	}
	return confirmed, pending
}

// A seriesNotice is a notice about dates of a series.
type seriesNotice struct {
	kind     NoticeKind
	dates    []*Meeting // that the notice covers, at least one
	calendar []*Meeting // all dates that readers' calendars should show; empty: it changes no calendar
	expires  time.Time  // zero: when the last of the dates is over
	each     bool       // the calendar lists each date, even those that follow the rule
	more     func(*Facts)
}

// notify records a notice for each person who is invited to at least one of its dates. The notice
// covers the dates that the person is invited to, and is stored with the first. A change that leaves
// nothing in a person's calendar is a cancellation for them.
func (s *Series) notify(t seriesNotice, to []Person, by Actor, at time.Time) {
	if len(t.dates) == 0 || s.Foreign != "" { // the organizer's calendar program notifies people
		return
	}
	var all []Person
	for _, p := range to {
		mine := t.of(s, p)
		switch {
		case len(mine.dates) == len(t.dates) && len(mine.calendar) == len(t.calendar):
			all = append(all, p)
		case len(mine.dates) > 0:
			s.record(mine, []Person{p}, by, at)
		}
	}
	s.record(t, all, by, at)
}

// of returns the notice for a person, who may not be invited to every date.
func (t seriesNotice) of(s *Series, p Person) seriesNotice {
	comes := func(m *Meeting) bool {
		return strings.EqualFold(p.Email, s.Organizer.Email) || slices.ContainsFunc(m.Attendees, Attendee{Person: p}.sameAddress)
	}
	stays := func(m *Meeting) bool { return !comes(m) }
	t.dates, t.calendar = slices.DeleteFunc(slices.Clone(t.dates), stays), slices.DeleteFunc(slices.Clone(t.calendar), stays)
	return t
}

func (s *Series) record(t seriesNotice, to []Person, by Actor, at time.Time) {
	if len(to) == 0 {
		return
	}
	dates := slices.SortedFunc(slices.Values(t.dates), func(a, b *Meeting) int { return a.Slot.Start.Compare(b.Slot.Start) })
	f := s.facts(dates, by)
	switch {
	case len(t.calendar) > 0:
		s.fill(&f, t, at)
	case t.kind == NoticeChange:
		t.kind = NoticeCancellation
	}
	if t.more != nil {
		t.more(&f)
	}
	expires := clock.Later(t.expires, dates[len(dates)-1].Slot.End)
	crowded := f.Series.listed() > maxListed
	for _, n := range addressed(Notice{Kind: t.kind, Channel: Email, Due: at, Expires: expires, Facts: f}, to, by) {
		n.about = dates[0]
		if crowded {
			n.Facts = f.listing(n.To)
		}
		s.notices = append(s.notices, n)
	}
}

// maxListed limits the people listed at single dates of a notice. A notice is stored for each
// reader, and a date lists all its people as soon as one response differs.
const maxListed = 1000

// listed returns how many people are listed at single dates.
func (s *SeriesFacts) listed() (n int) {
	for _, os := range [][]Occurrence{s.Overrides, s.Cancelled} {
		for _, o := range os {
			n += len(o.Attendees)
		}
	}
	return n
}

// listing returns a copy in which single dates list only one person.
func (f Facts) listing(p Person) Facts {
	alone := func(os []Occurrence) []Occurrence {
		os = slices.Clone(os)
		for i, o := range os {
			if o.Attendees != nil {
				other := func(c Contact) bool { return !strings.EqualFold(c.Email, p.Email) }
				os[i].Attendees = append([]Contact{}, slices.DeleteFunc(slices.Clone(o.Attendees), other)...)
			}
		}
		return os
	}
	s := *f.Series
	s.Overrides, s.Cancelled = alone(s.Overrides), alone(s.Cancelled)
	f.Series = &s
	return f
}

// facts returns the facts about dates of the series. Their meeting is the first date.
func (s *Series) facts(dates []*Meeting, by Actor) Facts {
	sample := s.sample()
	sample.Attendees = responses(sample.Attendees, dates)
	f := sample.facts(by)
	first := dates[0]
	f.Start, f.End = first.Slot.Start, first.Slot.End
	f.Rooms = nil
	sameRooms := true
	for _, m := range dates {
		f.Rooms = union(f.Rooms, m.RoomNames)
		sameRooms = sameRooms && slices.Equal(m.RoomNames, first.RoomNames)
	}
	f.Series = &SeriesFacts{
		Rooms: slices.Clone(s.RoomNames), Start: s.Start.Format(icalLocal), End: s.End.Format(icalLocal), Rule: s.Rule.InUTC(clock.ZoneOrUTC(s.Timezone)),
		Count: int64(len(dates)), Last: dates[len(dates)-1].Slot.Start,
	}
	for _, m := range dates[:min(shownDates, len(dates))] {
		f.Series.Dates = append(f.Series.Dates, m.Slot.Start)
		if !sameRooms {
			f.Series.Places = append(f.Series.Places, slices.Clone(m.RoomNames))
		}
	}
	return f
}

// fill adds the dates that a calendar needs besides the rule to show exactly the meetings of t. A
// past meeting whose date the changed rule no longer has takes the place of an unused past date of
// the rule, or is added.
func (s *Series) fill(facts *Facts, t seriesNotice, at time.Time) {
	f := facts.Series
	s.nameWalls(t.calendar)
	zone := clock.ZoneOrUTC(s.Timezone)
	facts.Attendees = contacts(commonAnswers(s.Attendees, t.calendar))
	differ := func(m *Meeting, d recurrence.Date) { s.differ(facts, m, d, t.each && slices.Contains(t.dates, m)) }
	there := make(map[int64]*Meeting, len(t.calendar))
	for _, m := range t.calendar {
		there[m.wall(zone).Unix()] = m
	}
	all := s.clone()
	all.ExDates = nil
	var past []recurrence.Date // without a meeting
	for _, d := range all.Dates() {
		m := there[d.Wall.Unix()]
		delete(there, d.Wall.Unix())
		wall := d.Wall.Format(icalLocal)
		switch {
		case m != nil && d.Extra:
			f.RDates = append(f.RDates, clock.Wall(d.Slot.Start, clock.ZoneOrUTC(s.Timezone)).Format(icalLocal)) // clocks do not skip this time
		case m == nil && d.Extra:
		case m == nil && !d.Slot.Start.After(at):
			past = append(past, d)
		case m == nil:
			f.ExDates = append(f.ExDates, wall)
		}
		if m != nil {
			differ(m, d)
		}
	}
	for _, m := range slices.SortedFunc(maps.Values(there), func(a, b *Meeting) int { return a.Slot.Start.Compare(b.Slot.Start) }) {
		d := s.Recurrence().Date(m.wall(zone))
		if len(past) > 0 && !m.Slot.Start.After(at) {
			d, past = past[0], past[1:]
		} else {
			f.RDates = append(f.RDates, d.Wall.Format(icalLocal))
		}
		differ(m, d)
	}
	for _, d := range past {
		f.ExDates = append(f.ExDates, d.Wall.Format(icalLocal))
	}
	slices.Sort(f.ExDates)
	slices.Sort(f.RDates)
}

// differ adds an override if a meeting differs from its date of the rule in a calendar, because it
// was changed or answered, or because clocks change. A calendar assumes that all dates have the
// same length, and some drop a date that clocks skip.
func (s *Series) differ(f *Facts, m *Meeting, d recurrence.Date, differs bool) {
	o := Occurrence{OriginalStart: d.Slot.Start, Start: m.Slot.Start, End: m.Slot.End}
	skipped := !clock.Wall(d.Slot.Start, clock.ZoneOrUTC(s.Timezone)).Equal(d.Wall)
	differs = differs || skipped || !m.Slot.Start.Equal(d.Slot.Start) || m.Slot.Duration() != s.sample().Slot.Duration()
	if m.Title != s.Title {
		o.Title, differs = m.Title, true
	}
	if m.Description != s.Description {
		o.Description, differs = new(m.Description), true
	}
	if !slices.Equal(m.RoomIDs, s.RoomIDs) {
		o.Rooms, differs = slices.Clone(m.RoomNames), true
	}
	if cs := contacts(m.Attendees); !sameContacts(cs, f.Attendees) {
		o.Attendees, differs = append([]Contact{}, cs...), true // an empty list overrides the series' attendees
	}
	if differs {
		f.Series.Overrides = append(f.Series.Overrides, o)
	}
}

// sameContacts reports whether both lists have the same people with the same responses, in any
// order.
func sameContacts(a, b []Contact) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(c Contact) bool {
		return !slices.ContainsFunc(b, func(o Contact) bool {
			return strings.EqualFold(c.Email, o.Email) && (c.Email != "" || c.Name == o.Name) && c.Response == o.Response
		})
	})
}

// occurrence returns the meeting as a date of its series.
func (m *Meeting) occurrence() Occurrence {
	return Occurrence{
		OriginalStart: m.OriginalStart, Start: m.Slot.Start, End: m.Slot.End, Title: m.Title, Description: new(m.Description),
		Rooms: slices.Clone(m.RoomNames), Attendees: append([]Contact{}, contacts(m.Attendees)...),
	}
}

// of sets which date of a series the meeting is.
func (f *Facts) of(m *Meeting) {
	if m.SeriesID != 0 && !m.OriginalStart.IsZero() {
		f.SeriesID, f.SeriesFirst, f.OriginalStart = m.SeriesID, m.SeriesFirst, new(m.OriginalStart)
	}
	if f.Series != nil {
		f.Series.ID = m.SeriesID
	}
}

// FileNotices moves the notices to copies of the meetings that they are filed under, and copies the
// list of the series. A store calls it on a copy of the series.
func (s *Series) FileNotices(copies map[*Meeting]*Meeting) {
	s.notices = slices.Clone(s.notices)
	for i := range s.notices {
		if m := copies[s.notices[i].about]; m != nil {
			s.notices[i].about = m
		}
	}
}

// TakeNotices returns and clears the notices recorded since the last call. A store calls it once
// the series and its meetings have IDs. See [Meeting.TakeNotices].
func (s *Series) TakeNotices() []Notice {
	for i := range s.notices {
		n := &s.notices[i]
		n.MeetingID, n.Facts.MeetingID = n.about.ID, n.about.ID
		n.Facts.Series.ID, n.Facts.SeriesID, n.Facts.SeriesFirst, n.Facts.Sequence = s.ID, s.ID, s.FirstMeeting, s.Sequence
		n.Facts.ReplyDomain = s.ReplyDomain
		n.DedupeKey = strings.Join([]string{
			string(n.Kind), "series", strconv.FormatInt(s.ID, 10), strconv.FormatInt(n.Facts.Sequence, 10),
			string(n.Channel), strings.ToLower(cmp.Or(n.address(), "-")),
		}, ":")
	}
	ns := s.notices
	s.notices = nil
	return ns
}
