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

// NotifyBooked invites people to a new series, or requests its approval: one notice per person for
// all dates.
func (s *Series) NotifyBooked(ms []*Meeting, by Actor, at time.Time) {
	confirmed, pending := ConfirmedAndPending(ms)
	if len(confirmed) > 0 {
		to := InvitationRecipients(s.Organizer, s.Attendees)
		if s.BookedBy != "" {
			to = append(to, s.Organizer)
		}
		s.Notify(SeriesNotice{Kind: NoticeInvitation, Dates: confirmed, Calendar: confirmed}, to, by, at)
	}
	s.AskTogether(pending, by)
}

// AskTogether makes the request notice for one of the meetings cover all that were requested with
// it.
func (s *Series) AskTogether(ms []*Meeting, by Actor) {
	for _, one := range requestsOf(ms) {
		if len(one) < 2 {
			continue
		}
		dates := s.Facts(one, by).Series
		for _, m := range one {
			m.AskFor(dates)
		}
	}
}

// AskFor makes the request notice for the meeting cover these dates of its series.
func (m *Meeting) AskFor(dates *SeriesFacts) {
	for i := range m.Notices {
		if n := &m.Notices[i]; n.AsksForDecision() {
			n.Facts.Series = dates
		}
	}
}

// AsksForDecision reports whether the notice asks its reader for a decision.
func (n Notice) AsksForDecision() bool {
	return n.Kind == NoticeApprovalRequest || n.Kind == NoticeApprovalReminder || n.Kind == NoticeEscalation
}

// ConfirmedAndPending separates confirmed from pending meetings.
func ConfirmedAndPending(ms []*Meeting) (confirmed, pending []*Meeting) {
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

// A SeriesNotice is a notice about dates of a series.
type SeriesNotice struct {
	Kind     NoticeKind
	Dates    []*Meeting // that the notice covers, at least one
	Calendar []*Meeting // all dates that readers' calendars should show; empty: it changes no calendar
	Expires  time.Time  // zero: when the last of the dates is over
	Each     bool       // the calendar lists each date, even those that follow the rule
	More     func(*Facts)
}

// Notify records a notice for each person who is invited to at least one of its dates. The notice
// covers the dates that the person is invited to, and is stored with the first. A change that leaves
// nothing in a person's calendar is a cancellation for them.
func (s *Series) Notify(t SeriesNotice, to []Person, by Actor, at time.Time) {
	if len(t.Dates) == 0 || s.Foreign != "" { // the organizer's calendar program notifies people
		return
	}
	var all []Person
	for _, p := range to {
		mine := t.For(s, p)
		switch {
		case len(mine.Dates) == len(t.Dates) && len(mine.Calendar) == len(t.Calendar):
			all = append(all, p)
		case len(mine.Dates) > 0:
			s.Record(mine, []Person{p}, by, at)
		}
	}
	s.Record(t, all, by, at)
}

// For returns the notice for a person, who may not be invited to every date.
func (t SeriesNotice) For(s *Series, p Person) SeriesNotice {
	comes := func(m *Meeting) bool {
		return strings.EqualFold(p.Email, s.Organizer.Email) || slices.ContainsFunc(m.Attendees, Attendee{Person: p}.SameAddress)
	}
	stays := func(m *Meeting) bool { return !comes(m) }
	t.Dates, t.Calendar = slices.DeleteFunc(slices.Clone(t.Dates), stays), slices.DeleteFunc(slices.Clone(t.Calendar), stays)
	return t
}

func (s *Series) Record(t SeriesNotice, to []Person, by Actor, at time.Time) {
	if len(to) == 0 {
		return
	}
	dates := slices.SortedFunc(slices.Values(t.Dates), func(a, b *Meeting) int { return a.Slot.Start.Compare(b.Slot.Start) })
	f := s.Facts(dates, by)
	switch {
	case len(t.Calendar) > 0:
		s.Fill(&f, t, at)
	case t.Kind == NoticeChange:
		t.Kind = NoticeCancellation
	}
	if t.More != nil {
		t.More(&f)
	}
	expires := clock.Later(t.Expires, dates[len(dates)-1].Slot.End)
	crowded := f.Series.listed() > maxListed
	for _, n := range addressed(Notice{Kind: t.Kind, Channel: Email, Due: at, Expires: expires, Facts: f}, to, by) {
		n.about = dates[0]
		if crowded {
			n.Facts = f.listing(n.To)
		}
		s.Notices = append(s.Notices, n)
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

// Facts returns the facts about dates of the series. Their meeting is the first date.
func (s *Series) Facts(dates []*Meeting, by Actor) Facts {
	sample := s.Sample()
	sample.Attendees = WithResponses(sample.Attendees, dates)
	f := sample.Facts(by)
	first := dates[0]
	f.Start, f.End = first.Slot.Start, first.Slot.End
	f.Rooms = nil
	sameRooms := true
	for _, m := range dates {
		f.Rooms = Union(f.Rooms, m.RoomNames)
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

// Fill adds the dates that a calendar needs besides the rule to show exactly the meetings of t. A
// past meeting whose date the changed rule no longer has takes the place of an unused past date of
// the rule, or is added.
func (s *Series) Fill(facts *Facts, t SeriesNotice, at time.Time) {
	f := facts.Series
	s.NameWalls(t.Calendar)
	zone := clock.ZoneOrUTC(s.Timezone)
	facts.Attendees = contacts(commonAnswers(s.Attendees, t.Calendar))
	differ := func(m *Meeting, d recurrence.Date) { s.differ(facts, m, d, t.Each && slices.Contains(t.Dates, m)) }
	there := make(map[int64]*Meeting, len(t.Calendar))
	for _, m := range t.Calendar {
		there[m.Wall(zone).Unix()] = m
	}
	all := s.Clone()
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
		d := s.Recurrence().Date(m.Wall(zone))
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
	differs = differs || skipped || !m.Slot.Start.Equal(d.Slot.Start) || m.Slot.Duration() != s.Sample().Slot.Duration()
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

// Occurrence returns the meeting as a date of its series.
func (m *Meeting) Occurrence() Occurrence {
	return Occurrence{
		OriginalStart: m.OriginalStart, Start: m.Slot.Start, End: m.Slot.End, Title: m.Title, Description: new(m.Description),
		Rooms: slices.Clone(m.RoomNames), Attendees: append([]Contact{}, contacts(m.Attendees)...),
	}
}

// SetOccurrence sets which date of a series the meeting is.
func (f *Facts) SetOccurrence(m *Meeting) {
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
	s.Notices = slices.Clone(s.Notices)
	for i := range s.Notices {
		if m := copies[s.Notices[i].about]; m != nil {
			s.Notices[i].about = m
		}
	}
}

// TakeNotices returns and clears the notices recorded since the last call. A store calls it once
// the series and its meetings have IDs. See [Meeting.TakeNotices].
func (s *Series) TakeNotices() []Notice {
	for i := range s.Notices {
		n := &s.Notices[i]
		n.MeetingID, n.Facts.MeetingID = n.about.ID, n.about.ID
		n.Facts.Series.ID, n.Facts.SeriesID, n.Facts.SeriesFirst, n.Facts.Sequence = s.ID, s.ID, s.FirstMeeting, s.Sequence
		n.Facts.ReplyDomain = s.ReplyDomain
		n.DedupeKey = strings.Join([]string{
			string(n.Kind), "series", strconv.FormatInt(s.ID, 10), strconv.FormatInt(n.Facts.Sequence, 10),
			string(n.Channel), strings.ToLower(cmp.Or(n.address(), "-")),
		}, ":")
	}
	ns := s.Notices
	s.Notices = nil
	return ns
}

// NotifyDecisions notifies people once of what was decided on several dates. It notifies the organizer
// of each kind of decision, the attendees of all dates, and the approvers of one request. all are
// the series' meetings: its calendars also show dates that were approved before.
func (s *Series) NotifyDecisions(decided, all []*Meeting, by Actor, at time.Time) {
	s.decideTogether(decided, by)
	var confirmed, asked []*Meeting
	for _, m := range decided {
		switch {
		case m.Request != nil:
			asked = append(asked, m)
		case m.Status == Confirmed && m.Slot.Start.After(at):
			confirmed = append(confirmed, m)
		}
		m.Notices = slices.DeleteFunc(m.Notices, func(n Notice) bool {
			return (n.Kind == NoticeInvitation || n.Kind == NoticeChange) && s.Concerns(n.To)
		})
	}
	if len(confirmed) > 0 {
		on := slices.DeleteFunc(slices.Clone(all), func(m *Meeting) bool { return m.Gone() || m.Status == Pending })
		s.Notify(SeriesNotice{Kind: NoticeInvitation, Dates: confirmed, Calendar: on}, InvitationRecipients(s.Organizer, s.Attendees), by, at)
	}
	if len(asked) > 0 {
		JoinRequests(asked)
		s.AskTogether(asked, by)
	}
}

// decideTogether makes the notice of the first meeting's decision cover all meetings with the same
// decision.
func (s *Series) decideTogether(ms []*Meeting, by Actor) {
	type decision struct {
		status Status
		stays  bool // a rejected move
	}
	of := func(n Notice) decision { return decision{n.Facts.Decision, n.Facts.Move != nil} }
	alike := map[decision][]*Meeting{}
	for _, m := range ms {
		for _, n := range m.Notices {
			if n.Kind == NoticeDecision {
				alike[of(n)] = append(alike[of(n)], m)
			}
		}
	}
	for _, m := range ms {
		m.Notices = slices.DeleteFunc(m.Notices, func(n Notice) bool { return n.Kind == NoticeDecision && alike[of(n)][0] != m })
		for i := range m.Notices {
			if n := &m.Notices[i]; n.Kind == NoticeDecision && len(alike[of(*n)]) > 1 {
				n.Facts.Series = s.Facts(alike[of(*n)], by).Series
			}
		}
	}
}

// Concerns reports whether a person is notified of the series as a whole.
func (s *Series) Concerns(p Person) bool {
	return p.Email != "" && strings.EqualFold(p.Email, s.Organizer.Email) || slices.ContainsFunc(s.Attendees, Attendee{Person: p}.SameAddress)
}

// JoinRequests joins the requests for several dates in the same rooms: they share the first deadline
// and its timers, and approvers are notified once.
func JoinRequests(ms []*Meeting) {
	for _, one := range requestsOf(ms) {
		first := slices.MinFunc(one, func(a, b *Meeting) int { return a.Request.Deadline.Compare(b.Request.Deadline) })
		for _, m := range one {
			if m == first {
				continue
			}
			r := *m.Request
			r.Deadline, r.RemindAt, r.EscalateAt = first.Request.Deadline, first.Request.RemindAt, first.Request.EscalateAt
			m.Request = &r
			if r.Change == nil {
				m.Approval.Deadline = r.Deadline
			}
			m.Notices = slices.DeleteFunc(m.Notices, Notice.AsksForDecision)
		}
	}
}

// requestsOf groups dates by the requested rooms, because others may decide on other rooms.
func requestsOf(ms []*Meeting) [][]*Meeting {
	var parts [][]*Meeting
	for _, m := range ms {
		i := slices.IndexFunc(parts, func(p []*Meeting) bool { return slices.Equal(p[0].RequestedRooms(), m.RequestedRooms()) })
		if i < 0 {
			parts = append(parts, []*Meeting{m})
			continue
		}
		parts[i] = append(parts[i], m)
	}
	return parts
}

// ThroughSeries marks what was just recorded as part of a change of the series. People are notified
// of that change as a whole.
func (m *Meeting) ThroughSeries(reason string) {
	for i := range m.History {
		e := &m.History[i]
		said := reason
		if _, overridden := e.Changes["override"]; overridden {
			said = e.Reason
		}
		e.Reason = ReasonSeries
		if said != "" {
			e.Reason += ": " + said
		}
	}
	m.Notices = slices.DeleteFunc(m.Notices, func(n Notice) bool { return n.Kind != NoticeApprovalRequest })
}
