package meeting

import (
	"cmp"
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
}

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
		s.notify(NoticeInvitation, confirmed, persons(s.Attendees), by, at, nil)
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

// notify records one notice about dates of the series for each of the people. The notice is
// filed under the first of them.
func (s *Series) notify(kind NoticeKind, dates []*Meeting, to []Person, by Actor, at time.Time, more func(*Facts)) {
	dates = slices.SortedFunc(slices.Values(dates), func(a, b *Meeting) int { return a.Slot.Start.Compare(b.Slot.Start) })
	first := dates[0]
	f := s.facts(dates, by)
	if more != nil {
		more(&f)
	}
	expires := dates[len(dates)-1].Slot.End
	for _, n := range addressed(Notice{Kind: kind, Channel: Email, Due: at, Expires: expires, Facts: f}, to, by) {
		n.about = first
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
	zone := mustZone(s.Timezone)
	sf := &SeriesFacts{
		Start: s.Start.Format(icalLocal), End: s.End.Format(icalLocal), Rule: s.calendarRule(zone),
		Count: int64(len(dates)), Last: dates[len(dates)-1].Slot.Start,
	}
	for _, m := range dates[:min(shownDates, len(dates))] {
		sf.Dates = append(sf.Dates, m.Slot.Start)
	}
	there := make(map[int64]*Meeting, len(dates))
	for _, m := range dates {
		there[m.OriginalStart.UnixMicro()] = m
	}
	all := s.clone()
	all.ExDates = nil
	for _, d := range all.Dates() {
		m := there[d.Slot.Start.UnixMicro()]
		wall := d.Wall.Format(icalLocal)
		switch {
		case m == nil && !d.extra:
			sf.ExDates = append(sf.ExDates, wall)
		case m != nil && d.extra:
			sf.RDates = append(sf.RDates, wall)
		}
		if m != nil {
			if o, differs := s.override(m, d); differs {
				sf.Overrides = append(sf.Overrides, o)
			}
		}
	}
	f.Series = sf
	return f
}

// override is how a date differs from what a calendar makes of the rule: by what was changed,
// or since clocks change in it, for a calendar takes all dates to be equally long.
func (s *Series) override(m *Meeting, d Date) (Occurrence, bool) {
	o := m.occurrence()
	o.Title, o.Rooms = "", nil
	differs := !m.Slot.Start.Equal(d.Slot.Start) || m.Slot.Duration() != s.sample().Slot.Duration()
	if m.Title != s.Title {
		o.Title, differs = m.Title, true
	}
	if !slices.Equal(m.RoomIDs, s.RoomIDs) {
		o.Rooms, differs = slices.Clone(m.RoomNames), true
	}
	return o, differs
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
