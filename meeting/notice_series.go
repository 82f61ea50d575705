package meeting

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// SeriesFacts are what the text and the calendar of a notice about a whole series need. Times
// without an offset are those of clocks in the zone of the facts, as iCalendar writes them.
type SeriesFacts struct {
	ID        int64        `json:"id"`
	Start     string       `json:"start"` // of the first date: 20270210T090000
	End       string       `json:"end"`
	Rule      string       `json:"rule"`              // its UNTIL in UTC, as iCalendar wants it
	ExDates   []string     `json:"exdates,omitempty"` // all dates that the series has not
	RDates    []string     `json:"rdates,omitempty"`
	Count     int64        `json:"count"`               // dates to come
	Dates     []time.Time  `json:"dates,omitempty"`     // the first of them, to show
	Last      time.Time    `json:"last"`                // the last of them
	Overrides []Occurrence `json:"overrides,omitempty"` // dates that are not as the series has them
	Cancelled []Occurrence `json:"cancelled,omitempty"` // of a cancellation of some dates; none: of all

	Part  SeriesPart `json:"part,omitempty"`  // which part of a change it tells of; empty: of all
	Split *time.Time `json:"split,omitempty"` // of a series that was split: the first date of the second part
}

// SeriesPart is what one of several notices about a change of a series tells of.
type SeriesPart string

const (
	// A calendar knows a series by one UID, and a rule that changes from some date on by none.
	// So a series that is split is two entries, of which two notices tell.
	PartEnds   SeriesPart = "ends"    // the dates in front of a split
	PartGoesOn SeriesPart = "goes_on" // the dates from it on
	PartAdded  SeriesPart = "added"   // a date that the series has again
)

// Occurrence is one date of a series in [SeriesFacts].
type Occurrence struct {
	OriginalStart time.Time `json:"original_start"`
	Start         time.Time `json:"start"`
	End           time.Time `json:"end"`
	Title         string    `json:"title,omitempty"` // empty: the series'
	Rooms         []string  `json:"rooms,omitempty"` // none: the series'
	Sequence      int64     `json:"sequence"`
}

const (
	icalLocal  = "20060102T150405"
	shownDates = 6
)

// notifyBooked invites to a new series, or asks for it: each person once for all its dates.
func (s *Series) notifyBooked(ms []*Meeting, by Actor, at time.Time) {
	confirmed, pending := byState(ms)
	if len(confirmed) > 0 {
		s.notify(telling{kind: NoticeInvitation, dates: confirmed, calendar: confirmed}, persons(s.Attendees), by, at)
	}
	s.askTogether(pending, by)
}

// askTogether lets what asks for one of the meetings speak of all that are asked for with it.
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

// askFor lets what asks for the meeting speak of these dates of its series.
func (m *Meeting) askFor(dates *SeriesFacts) {
	for i := range m.notices {
		if n := &m.notices[i]; n.asks() {
			n.Facts.Series = dates
		}
	}
}

// asks reports whether its reader is to decide.
func (n Notice) asks() bool {
	return n.Kind == NoticeApprovalRequest || n.Kind == NoticeApprovalReminder || n.Kind == NoticeEscalation
}

// byState parts the meetings that will take place from those that may.
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

// telling is a notice about dates of a series.
type telling struct {
	kind     NoticeKind
	dates    []*Meeting // that it speaks of, at least one
	calendar []*Meeting // all that the calendars of its readers are to show of the series; none: it is not about them
	expires  time.Time  // zero: when the last of the dates is over
	more     func(*Facts)
}

// notify records a notice for each of the people who come to one of its dates at least. It
// tells each of them of the dates that they come to, and is filed under the first. A change that
// leaves nothing in somebody's calendar is a cancellation for them.
func (s *Series) notify(t telling, to []Person, by Actor, at time.Time) {
	if len(t.dates) == 0 {
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

// of is what there is to tell a person, who may have been taken from single dates.
func (t telling) of(s *Series, p Person) telling {
	comes := func(m *Meeting) bool {
		return strings.EqualFold(p.Email, s.Organizer.Email) || slices.ContainsFunc(m.Attendees, Attendee{Person: p}.sameAddress)
	}
	stays := func(m *Meeting) bool { return !comes(m) }
	t.dates, t.calendar = slices.DeleteFunc(slices.Clone(t.dates), stays), slices.DeleteFunc(slices.Clone(t.calendar), stays)
	return t
}

func (s *Series) record(t telling, to []Person, by Actor, at time.Time) {
	if len(to) == 0 {
		return
	}
	dates := slices.SortedFunc(slices.Values(t.dates), func(a, b *Meeting) int { return a.Slot.Start.Compare(b.Slot.Start) })
	f := s.facts(dates, by)
	switch {
	case len(t.calendar) > 0:
		s.fill(f.Series, t.calendar, at)
	case t.kind == NoticeChange:
		t.kind = NoticeCancellation
	}
	if t.more != nil {
		t.more(&f)
	}
	expires := later(t.expires, dates[len(dates)-1].Slot.End)
	for _, n := range addressed(Notice{Kind: t.kind, Channel: Email, Due: at, Expires: expires, Facts: f}, to, by) {
		n.about = dates[0]
		s.notices = append(s.notices, n)
	}
}

// facts about dates of the series, with the first of them as the meeting they speak of.
func (s *Series) facts(dates []*Meeting, by Actor) Facts {
	sample := s.sample()
	sample.Attendees = responses(sample.Attendees, dates)
	f := sample.facts(by)
	first := dates[0]
	f.Start, f.End = first.Slot.Start, first.Slot.End
	f.Rooms = slices.Clone(s.RoomNames)
	if !slices.ContainsFunc(dates, func(m *Meeting) bool { return !slices.Equal(m.RoomNames, first.RoomNames) }) {
		f.Rooms = slices.Clone(first.RoomNames) // which are others while the series' move waits
	}
	f.Sequence = s.Version + 1
	f.Series = &SeriesFacts{
		Start: s.Start.Format(icalLocal), End: s.End.Format(icalLocal), Rule: s.calendarRule(mustZone(s.Timezone)),
		Count: int64(len(dates)), Last: dates[len(dates)-1].Slot.Start,
	}
	for _, m := range dates[:min(shownDates, len(dates))] {
		f.Series.Dates = append(f.Series.Dates, m.Slot.Start)
	}
	return f
}

// fill adds what a calendar needs beside the rule to show these meetings and no others. What
// has taken place on a date that the rule has no longer, since it was changed, stands for a
// past date of the rule that nothing else does, or else for one on top.
func (s *Series) fill(f *SeriesFacts, ms []*Meeting, at time.Time) {
	s.nameWalls(ms)
	zone := mustZone(s.Timezone)
	there := make(map[int64]*Meeting, len(ms))
	for _, m := range ms {
		there[m.wall(zone).Unix()] = m
	}
	all := s.clone()
	all.ExDates = nil
	var past []Date // without a meeting
	for _, d := range all.Dates() {
		m := there[d.Wall.Unix()]
		delete(there, d.Wall.Unix())
		wall := d.Wall.Format(icalLocal)
		switch {
		case m != nil && d.extra:
			f.RDates = append(f.RDates, wall)
		case m == nil && d.extra:
		case m == nil && !d.Slot.Start.After(at):
			past = append(past, d)
		case m == nil:
			f.ExDates = append(f.ExDates, wall)
		}
		if m != nil {
			s.differ(f, m, d)
		}
	}
	for _, m := range slices.SortedFunc(maps.Values(there), func(a, b *Meeting) int { return a.Slot.Start.Compare(b.Slot.Start) }) {
		d := s.Recurrence().date(m.wall(zone), "")
		if len(past) > 0 && !m.Slot.Start.After(at) {
			d, past = past[0], past[1:]
		} else {
			f.RDates = append(f.RDates, d.Wall.Format(icalLocal))
		}
		s.differ(f, m, d)
	}
	for _, d := range past {
		f.ExDates = append(f.ExDates, d.Wall.Format(icalLocal))
	}
	slices.Sort(f.ExDates)
	slices.Sort(f.RDates)
}

// differ adds how a meeting differs from what a calendar makes of its date of the rule: by what
// was changed, or since clocks change in it, for a calendar takes all dates to be equally long.
func (s *Series) differ(f *SeriesFacts, m *Meeting, d Date) {
	o := m.occurrence()
	o.OriginalStart, o.Title, o.Rooms = d.Slot.Start, "", nil
	differs := !m.Slot.Start.Equal(d.Slot.Start) || m.Slot.Duration() != s.sample().Slot.Duration()
	if m.Title != s.Title {
		o.Title, differs = m.Title, true
	}
	if !slices.Equal(m.RoomIDs, s.RoomIDs) {
		o.Rooms, differs = slices.Clone(m.RoomNames), true
	}
	if differs {
		f.Overrides = append(f.Overrides, o)
	}
}

func (m *Meeting) occurrence() Occurrence {
	return Occurrence{
		OriginalStart: m.OriginalStart, Start: m.Slot.Start, End: m.Slot.End, Title: m.Title,
		Rooms: slices.Clone(m.RoomNames), Sequence: m.revision() + m.SeriesVersion,
	}
}

// of says which date of a series the meeting is.
func (f *Facts) of(m *Meeting) {
	if m.SeriesID != 0 && !m.OriginalStart.IsZero() {
		f.SeriesID, f.OriginalStart = m.SeriesID, new(m.OriginalStart)
	}
	if f.Series != nil {
		f.Series.ID = m.SeriesID
	}
}

// calendarRule is the rule with its UNTIL in UTC.
func (s *Series) calendarRule(zone *time.Location) string {
	if wall := s.Rule.until.wall; !wall.IsZero() {
		return s.Rule.ending("UNTIL", occurs(wall, zone).Format("20060102T150405Z")).String()
	}
	return s.Rule.String()
}

// FileNotices lets the notices belong to copies of the meetings they are filed under, and the
// series have a list of its own: a store calls it on a copy of the series.
func (s *Series) FileNotices(copies map[*Meeting]*Meeting) {
	s.notices = slices.Clone(s.notices)
	for i := range s.notices {
		if m := copies[s.notices[i].about]; m != nil {
			s.notices[i].about = m
		}
	}
}

// TakeNotices hands over the notices recorded since the last call; a store calls it once the
// series and its meetings have their IDs. See [Meeting.TakeNotices].
func (s *Series) TakeNotices() []Notice {
	for i := range s.notices {
		n := &s.notices[i]
		n.MeetingID, n.Facts.MeetingID = n.about.ID, n.about.ID
		n.Facts.Series.ID, n.Facts.SeriesID = s.ID, s.ID
		n.DedupeKey = strings.Join([]string{
			string(n.Kind), "series", strconv.FormatInt(s.ID, 10), strconv.FormatInt(n.Facts.Sequence, 10),
			string(n.Channel), strings.ToLower(cmp.Or(n.address(), "-")),
		}, ":")
	}
	ns := s.notices
	s.notices = nil
	return ns
}
