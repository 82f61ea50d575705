package booking_test

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	diff "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/clock"
	"punctual/meeting/places"
	"punctual/meeting/recurrence"
	"punctual/meeting/series"
)

// agenda is what a calendar program makes of the mails that somebody gets: entries by UID, of
// a series each date by its RECURRENCE-ID.
type agenda map[string]map[time.Time]appointment

// appointment is one date in somebody's calendar.
type appointment struct {
	start, end         time.Time
	title, description string
	rooms              string
	answer             meeting.Response // of the calendar's owner; empty: they are not among the attendees
}

func (a appointment) String() string {
	text := a.start.UTC().Format("01-02 15:04") + a.end.UTC().Format("-15:04 ") + a.title
	if a.description != "" {
		text += " (" + a.description + ")"
	}
	return text + " in " + a.rooms + ", " + string(a.answer)
}

// reader reads all mails to an address as RFC 5546 has it.
type reader struct {
	email    string
	calendar agenda
	sequence map[string]int64 // of the last mail, by UID
	of       map[string]date  // its date: those of one change may have one number, each for another date
}

type date = time.Time

// icalTime is a local time in [SeriesFacts].
const icalTime = "20060102T150405"

func newReader(email string) *reader {
	return &reader{email, agenda{}, map[string]int64{}, map[string]date{}}
}

func (g *reader) appointment(start, end time.Time, title, description string, rooms []string, attendees []meeting.Contact) appointment {
	a := appointment{start: start, end: end, title: title, description: description, rooms: strings.Join(rooms, "+")}
	for _, c := range attendees {
		if strings.EqualFold(c.Email, g.email) {
			a.answer = c.Response
		}
	}
	return a
}

// uidOf is the UID of a meeting, or of its series, which may have that of a meeting.
func uidOf(id meeting.ID, series int64, first meeting.ID) string {
	switch {
	case first != 0:
		return "meeting-" + strconv.FormatInt(first, 10)
	case series != 0:
		return "series-" + strconv.FormatInt(series, 10)
	}
	return "meeting-" + strconv.FormatInt(id, 10)
}

func (g *reader) apply(n meeting.Notice) error {
	if n.Kind != meeting.NoticeInvitation && n.Kind != meeting.NoticeChange && n.Kind != meeting.NoticeCancellation {
		return nil
	}
	f, c := n.Facts, g.calendar
	uid, date := uidOf(n.MeetingID, f.SeriesID, f.SeriesFirst), time.Time{}
	if f.OriginalStart != nil {
		date = *f.OriginalStart
	}
	last := g.sequence[uid]
	if f.Sequence < last || f.Sequence == last && (date.Equal(g.of[uid]) || date.IsZero() || g.of[uid].IsZero()) {
		return fmt.Errorf("%s of %s has SEQUENCE %d after %d", n.Kind, uid, f.Sequence, g.sequence[uid])
	}
	g.sequence[uid], g.of[uid] = f.Sequence, date
	if c[uid] == nil {
		c[uid] = map[time.Time]appointment{}
	}
	switch s := f.Series; {
	case n.Kind == meeting.NoticeCancellation && s != nil && len(s.Cancelled) > 0:
		for _, o := range s.Cancelled {
			delete(c[uid], o.OriginalStart)
		}
	case n.Kind == meeting.NoticeCancellation && s != nil:
		delete(c, uid)
	case n.Kind == meeting.NoticeCancellation:
		delete(c[uid], date)
	case s != nil:
		dates, err := g.expanded(f)
		if err != nil {
			return err
		}
		c[uid] = dates
	default:
		c[uid][date] = g.appointment(f.Start, f.End, f.Title, f.Description, f.Rooms, f.Attendees)
	}
	return nil
}

// expanded are the dates of a recurring entry.
func (g *reader) expanded(f meeting.Facts) (map[time.Time]appointment, error) {
	s, zone := f.Series, clock.ZoneOrUTC(f.Timezone)
	instant := func(wall string) time.Time {
		t, err := time.Parse(icalTime, wall)
		if err != nil {
			panic(err)
		}
		return clock.InstantOrShift(t, zone)
	}
	rule, wrong := recurrence.ParseRule(s.Rule)
	if len(wrong) > 0 {
		return nil, &meeting.InvalidError{Faults: wrong}
	}
	start, _ := time.Parse(icalTime, s.Start)
	end, _ := time.Parse(icalTime, s.End)
	length := clock.InstantOrShift(end, zone).Sub(clock.InstantOrShift(start, zone))
	dates := map[time.Time]appointment{}
	add := func(at time.Time) {
		dates[at] = g.appointment(at, at.Add(length), f.Title, f.Description, s.Rooms, f.Attendees)
	}
	for _, d := range (&recurrence.Set{Start: start, End: end, Zone: zone, Rule: rule}).Dates(recurrence.AllDates) {
		add(d.Slot.Start)
	}
	for _, wall := range s.RDates {
		add(instant(wall))
	}
	for _, wall := range s.ExDates {
		if _, there := dates[instant(wall)]; !there {
			return nil, fmt.Errorf("EXDATE %s is no date of %s from %s", wall, s.Rule, s.Start)
		}
		delete(dates, instant(wall))
	}
	for _, o := range s.Overrides {
		was, there := dates[o.OriginalStart]
		if !there {
			return nil, fmt.Errorf("RECURRENCE-ID %v is no date of %s from %s", o.OriginalStart, s.Rule, s.Start)
		}
		a := g.appointment(o.Start, o.End, cmp.Or(o.Title, f.Title), f.Description, o.Rooms, o.Attendees)
		if o.Description != nil {
			a.description = *o.Description
		}
		if o.Rooms == nil {
			a.rooms = was.rooms
		}
		if o.Attendees == nil {
			a.answer = was.answer
		}
		dates[o.OriginalStart] = a
	}
	return dates, nil
}

// shown is what the calendar shows, in order.
func (g *reader) shown() (all []string) {
	for _, dates := range g.calendar {
		for _, a := range dates {
			all = append(all, a.String())
		}
	}
	slices.Sort(all)
	return all
}

// answers notes what the owner of the calendar has answered there.
func (g *reader) answers(m *meeting.Meeting, r meeting.Response) {
	of := uidOf(m.ID, m.SeriesID, m.SeriesFirst)
	for uid, dates := range g.calendar {
		for date, a := range dates {
			if uid == of && a.start.Equal(m.Slot.Start) {
				a.answer = r
				dates[date] = a
			}
		}
	}
}

func (g *reader) read(w *world) error {
	for _, n := range w.store.notices {
		if strings.EqualFold(n.To.Email, g.email) {
			if err := g.apply(n); err != nil {
				return fmt.Errorf("%w; all mails: %s", err, w.notified())
			}
		}
	}
	return nil
}

func contactsOf(m *meeting.Meeting) (cs []meeting.Contact) {
	for _, a := range m.Attendees {
		cs = append(cs, meeting.Contact{Name: a.Name, Email: a.Email, Response: a.Response})
	}
	return cs
}

// invited are the meetings to which the reader is invited, past ones too.
func (g *reader) invited(w *world) (all []string) {
	for _, m := range w.store.meetings {
		if !m.Gone() && m.Status != meeting.Pending && slices.ContainsFunc(m.Attendees, meeting.Attendee{Person: meeting.Person{Email: g.email}}.SameAddress) {
			all = append(all, g.appointment(m.Slot.Start, m.Slot.End, m.Title, m.Description, m.RoomNames, contactsOf(m)).String())
		}
	}
	slices.Sort(all)
	return all
}

// Whatever is done to a series and its dates, the calendars of those who are invited show what
// is so: which dates, when, where, with which title and text, and what they have answered.
func TestSeries_calendarsShowWhatIs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t)
		s := &story{world: w, T: rt}
		for _, email := range []string{"guest@example.net", "bob@example.org", "extra@example.net"} {
			s.readers = append(s.readers, newReader(email))
		}
		s.hall = w.room(t, places.RoomFields{Name: new("Hall"), ApprovalRequired: new(true), ApproverIDs: &[]int64{w.max.ID}})
		w.nook(t)
		s.make()
		var done []string
		for range rapid.IntRange(1, 8).Draw(rt, "steps") {
			for _, g := range s.readers {
				if err := g.read(w); err != nil {
					rt.Fatalf("%v: %v", done, err)
				}
				if d := diff.Diff(g.invited(w), g.shown()); d != "" {
					rt.Fatalf("%v: calendar of %s (-what is +what it shows):\n%s", done, g.email, d)
				}
			}
			w.notified()
			done = append(done, s.step())
		}
	})
}

// nook is another room that is as good as the desk.
func (w *world) nook(t *testing.T) {
	t.Helper()
	if _, err := w.places.UpdateRoom(t.Context(), w.root, w.desk.ID, nil, places.RoomFields{Capacity: new(8)}); err != nil {
		t.Fatal(err)
	}
	w.room(t, places.RoomFields{Name: new("Nook"), Capacity: new(8)})
}

// story is what somebody does with a series of theirs, and with those that are split off.
type story struct {
	*world
	*rapid.T
	readers []*reader
	hall    *meeting.Room // max decides about it
	ids     []int64
}

func (s *story) make() {
	f := s.weekly(s.rule(), s.desk)
	f.OnConflict = meeting.SkipOnConflict
	if rapid.Bool().Draw(s.T, "night") {
		f.Start, f.End = new(clock.Parse("2027-02-11T22:00:00")), new(clock.Parse("2027-02-12T06:00:00"))
	}
	if rapid.Bool().Draw(s.T, "asked") {
		f.RoomIDs = &[]int64{s.board.ID}
	}
	if rapid.Bool().Draw(s.T, "chosen") { // so that two approvers decide
		f.Choices = []series.Choice{{OriginalStart: f.Start, RoomIDs: []int64{s.hall.ID}}}
	}
	book := func() (*booking.SeriesResult, error) { return s.series.Book(s.T.Context(), s.ann, f) }
	if rapid.Bool().Draw(s.T, "single") {
		book = s.repeat
	}
	r, err := book()
	if err != nil {
		s.Fatal(err)
	}
	s.ids = append(s.ids, r.Series.ID)
}

// repeat books a meeting, and makes it a series, perhaps with changes.
func (s *story) repeat() (*booking.SeriesResult, error) {
	ctx := s.T.Context()
	f := s.weekly("", s.desk)
	if rapid.Bool().Draw(s.T, "asked at first") {
		f.RoomIDs = &[]int64{s.board.ID}
	}
	m, err := s.Book(ctx, s.ann, f.Fields)
	if err != nil {
		return nil, err
	}
	rule := rapid.SampledFrom([]string{"FREQ=WEEKLY;COUNT=4", "FREQ=DAILY;COUNT=3"}).Draw(s.T, "repeated")
	r := series.Fields{Rule: &rule, OnConflict: meeting.SkipOnConflict}
	if rapid.Bool().Draw(s.T, "with others") {
		r.Attendees = &[]meeting.Person{{Email: "extra@example.net"}, {Email: "guest@example.net"}}
	}
	if rapid.Bool().Draw(s.T, "later") {
		r.Start, r.End = new(clock.Parse("2027-02-11T13:00:00")), new(clock.Parse("2027-02-11T14:00:00"))
	}
	if rapid.Bool().Draw(s.T, "elsewhere") {
		r.RoomIDs = &[]int64{rapid.SampledFrom([]int64{s.desk.ID, s.board.ID, s.hall.ID}).Draw(s.T, "where")}
	}
	return s.series.Repeat(ctx, s.ann, m.ID, nil, r)
}

func (s *story) rule() string {
	return rapid.SampledFrom([]string{
		"FREQ=WEEKLY;COUNT=7", "FREQ=DAILY;INTERVAL=9;COUNT=6", "FREQ=WEEKLY;BYDAY=TH,FR;UNTIL=20270402", "FREQ=MONTHLY;BYMONTHDAY=11;COUNT=3",
	}).Draw(s.T, "rule")
}

func (s *story) step() string {
	ctx := s.T.Context()
	id := rapid.SampledFrom(s.ids).Draw(s.T, "series")
	series := s.store.series[id]
	ms, _ := s.store.SeriesMeetings(ctx, id)
	if len(ms) == 0 {
		return "nothing"
	}
	which := rapid.IntRange(0, len(ms)-1).Draw(s.T, "which")
	m := ms[which]
	what := rapid.SampledFrom([]string{"all", "following", "one", "cancel one", "cancel following", "add", "approve one", "approve", "approve others", "later", "out of one", "into one", "answer", "answer all", "room of one", "text of one", "other room"}).Draw(s.T, "what")
	var err error
	switch what {
	case "all", "following":
		f := s.change(series)
		if what == "following" {
			f.Scope, f.From = meeting.ScopeFollowing, new(clock.At(m.Place()))
			if f.Start != nil {
				f.Start, f.End = new(clock.Parse(clock.Wall(m.Place(), clock.ZoneOrUTC(series.Timezone)).Add(time.Hour).Format(clock.WallLayout))), new(clock.Parse(clock.Wall(m.Place(), clock.ZoneOrUTC(series.Timezone)).Add(2*time.Hour).Format(clock.WallLayout)))
			}
		}
		what = fmt.Sprintf("%s of %d %v (start %v, rule %v, title %v, people %v, exdates %v, room %v)", what, id, f.From, f.Start != nil, f.Rule != nil, f.Title != nil, f.Attendees != nil, f.ExDates != nil, f.RoomIDs != nil)
		var r *booking.SeriesResult
		if r, err = s.series.Update(ctx, s.ann, id, nil, f); err == nil && r.Previous != nil {
			s.ids = append(s.ids, r.Series.ID)
		}
	case "one":
		start := m.Slot.Start.Add(90 * time.Minute)
		_, err = s.Update(ctx, s.ann, m.ID, nil, booking.Fields{Start: new(clock.At(start)), End: new(clock.At(start.Add(time.Hour))), Title: new("One")})
	case "into one":
		_, err = s.Update(ctx, s.ann, m.ID, nil, booking.Fields{Attendees: &[]meeting.Person{{Email: "bob@example.org"}, {Email: "guest@example.net"}, {Email: "extra@example.net"}}})
	case "room of one":
		_, err = s.Update(ctx, s.ann, m.ID, nil, booking.Fields{RoomIDs: &[]int64{rapid.SampledFrom([]int64{s.desk.ID, s.board.ID}).Draw(s.T, "in")}})
	case "text of one":
		_, err = s.Update(ctx, s.ann, m.ID, nil, booking.Fields{Description: new("Bring a pen")})
	case "other room": // for a date that was cancelled, and taken meanwhile
		if _, err = s.Cancel(ctx, s.ann, m.ID, nil, ""); err == nil {
			place := clock.Slot{Start: m.Place(), End: m.Place().Add(time.Hour)}
			f := booking.Fields{Title: new("In the way"), RoomIDs: &series.RoomIDs, Start: new(clock.At(place.Start)), End: new(clock.At(place.End))}
			if _, err = s.Book(ctx, s.root, f); err == nil {
				_, err = s.series.AddDate(ctx, s.ann, id, nil, new(clock.At(m.Place())), meeting.OtherRoom)
			}
		}
	case "answer", "answer all":
		g := rapid.SampledFrom(s.readers).Draw(s.T, "whose")
		r := rapid.SampledFrom([]meeting.Response{meeting.Accepted, meeting.Declined, meeting.Tentative}).Draw(s.T, "answer with")
		by := meeting.Actor{Kind: meeting.ActorUser, Email: g.email, Name: g.email}
		what += " " + g.email + " " + string(r)
		if strings.HasPrefix(what, "answer all") {
			var res *booking.SeriesResult
			if res, err = s.RespondSeries(ctx, by, id, nil, r, ""); err == nil {
				for _, m := range res.Meetings {
					g.answers(m, r)
				}
			}
		} else if _, err = s.Respond(ctx, by, m.ID, nil, r, ""); err == nil {
			g.answers(m, r)
		}
	case "out of one":
		_, err = s.Update(ctx, s.ann, m.ID, nil, booking.Fields{Attendees: &[]meeting.Person{{Email: "bob@example.org"}}})
	case "cancel one":
		_, err = s.Cancel(ctx, s.ann, m.ID, nil, "")
	case "cancel following":
		_, err = s.series.Cancel(ctx, s.ann, id, nil, meeting.ScopeFollowing, new(clock.At(m.Place())), "")
	case "add":
		_, err = s.series.AddDate(ctx, s.ann, id, nil, new(clock.At(m.Place())), "")
	case "approve one":
		_, err = s.approval.Approve(ctx, s.mona, m.ID, nil, "")
	case "approve":
		_, err = s.approval.ApproveSeries(ctx, s.mona, id, nil, "")
	case "approve others":
		_, err = s.approval.ApproveSeries(ctx, s.max, id, nil, "")
	case "later":
		s.at = s.at.AddDate(0, 0, 8)
	}
	return fmt.Sprintf("%s (%v)", what, err)
}

// change of some fields of a series.
func (s *story) change(of *meeting.Series) series.Fields {
	f := series.Fields{OnConflict: meeting.SkipOnConflict}
	is := func(name string) bool { return rapid.IntRange(1, 3).Draw(s.T, name) == 1 }
	if is("start") {
		f.Start, f.End = new(clock.Parse(of.Start.Add(time.Hour).Format(clock.WallLayout))), new(clock.Parse(of.Start.Add(2*time.Hour).Format(clock.WallLayout)))
	}
	if is("rule?") {
		f.Rule = new(s.rule())
	}
	if is("title") {
		f.Title = new(rapid.SampledFrom([]string{"New", "Newer"}).Draw(s.T, "to"))
	}
	if is("text") {
		f.Description = new(rapid.SampledFrom([]string{"Dial 1", "Dial 2"}).Draw(s.T, "dial"))
	}
	if is("people") {
		f.Attendees = new(rapid.SampledFrom([][]meeting.Person{{{Email: "bob@example.org"}}, {{Email: "bob@example.org"}, {Email: "guest@example.net"}}, {{Email: "extra@example.net"}, {Email: "guest@example.net"}}, {}}).Draw(s.T, "who"))
	}
	if is("exdates") {
		f.ExDates = dates(of.Start.AddDate(0, 0, 7).Format(time.DateOnly))
	}
	if is("room") {
		f.RoomIDs = &[]int64{rapid.SampledFrom([]int64{s.desk.ID, s.board.ID}).Draw(s.T, "in")}
	}
	return f
}

// A series that is split is two entries of a calendar, of which two mails tell, each of its part.
func TestSeries_splitIsToldInTwoParts(t *testing.T) {
	w := newWorld(t)
	r := w.bookSeries(t, w.ann, w.weekly("FREQ=WEEKLY;COUNT=4", w.desk))
	notified := func(from string, f booking.Fields) (parts []string) {
		t.Helper()
		id := r.Series.ID
		var err error
		if r, err = w.series.Update(t.Context(), w.ann, id, nil, series.Fields{Scope: meeting.ScopeFollowing, From: new(clock.Parse(from)), Fields: f}); err != nil {
			t.Fatal(err)
		}
		for _, n := range w.store.notices {
			if n.To.Email == "guest@example.net" {
				s := n.Facts.Series
				which := map[int64]string{id: "old", r.Series.ID: "new"}[n.Facts.SeriesID]
				parts = append(parts, fmt.Sprint(which, " ", n.Kind, " ", s.Part, " ", s.Count, " ", s.Split.Format("01-02")))
			}
		}
		w.notified()
		return parts
	}
	same(t, "in the middle, nothing that people plan by", notified("2027-02-25T10:00:00", booking.Fields{Description: new("Notes")}),
		[]string{"old change ends 2 02-25", "new change goes_on 2 02-25"})
	if _, err := w.Cancel(t.Context(), w.ann, r.Meetings[0].ID, nil, ""); err != nil {
		t.Fatal(err)
	}
	w.notified()
	same(t, "nothing is left in front", notified("2027-03-04T10:00:00", booking.Fields{Title: new("Other")}),
		[]string{"old cancellation ends 1 03-04", "new change goes_on 1 03-04"})
}

// Who leaves the dates from one on keeps those before, and is told of nothing that goes on.
func TestSeries_leavesTheSecondPart(t *testing.T) {
	w := newWorld(t)
	r := w.bookSeries(t, w.ann, w.weekly("FREQ=WEEKLY;COUNT=4", w.desk))
	w.patchSeries(t, r.Series.ID, series.Fields{Scope: meeting.ScopeFollowing, From: new(clock.Parse("2027-02-25T10:00:00")), Fields: booking.Fields{Attendees: &[]meeting.Person{{Email: "bob@example.org"}}}})
	for _, n := range w.store.notices {
		if n.To.Email == "guest@example.net" && (n.Facts.SeriesID != r.Series.ID || len(n.Facts.Series.Cancelled) != 2) {
			t.Errorf("of series %d: %+v", n.Facts.SeriesID, n.Facts.Series)
		}
	}
	same(t, "told", w.notified(), []string{"cancellation guest@example.net", "change bob@example.org", "change bob@example.org"})
}

// An admin who takes somebody off does not tell the organizer that it is cancelled.
func TestSeries_organizerStays(t *testing.T) {
	w := newWorld(t)
	r := w.bookSeries(t, w.ann, w.weekly("FREQ=WEEKLY;COUNT=2", w.desk))
	f := series.Fields{Fields: booking.Fields{Attendees: &[]meeting.Person{{Email: "bob@example.org"}}}}
	if _, err := w.series.Update(t.Context(), w.root, r.Series.ID, nil, f); err != nil {
		t.Fatal(err)
	}
	same(t, "told", w.notified(), []string{"cancellation guest@example.net"})
}

// What has begun stays in calendars as it was, also when the series moves away from it.
func TestSeries_calendarsKeepThePast(t *testing.T) {
	w := newWorld(t)
	r := w.bookSeries(t, w.ann, w.weekly("FREQ=WEEKLY;COUNT=4", w.desk))
	w.at = time.Date(2027, 2, 18, 9, 30, 0, 0, time.UTC) // in the midst of the second
	w.patchSeries(t, r.Series.ID, series.Fields{Fields: booking.Fields{Start: new(clock.Parse("2027-02-12T15:00:00")), End: new(clock.Parse("2027-02-12T16:00:00"))}})
	seen := newReader("guest@example.net")
	for _, n := range w.store.notices {
		if n.To.Email == "guest@example.net" {
			if err := seen.apply(n); err != nil {
				t.Fatal(err)
			}
			same(t, "speaks of the dates to come", n.Facts.Series.Count, 2)
		}
	}
	same(t, "shown", seen.shown(), []string{
		"02-11 09:00-10:00 Weekly in Desk, needs_action", "02-18 09:00-10:00 Weekly in Desk, needs_action",
		"02-26 14:00-15:00 Weekly in Desk, needs_action", "03-05 14:00-15:00 Weekly in Desk, needs_action",
	})
}

// Strict readers drop a date of the rule that clocks skip, so an event of its own says when it is.
func TestSeries_skippedHourIsNamed(t *testing.T) {
	w := newWorld(t)
	f := w.weekly("FREQ=WEEKLY;COUNT=3", w.desk)
	f.Start, f.End = new(clock.Parse("2027-03-21T02:30:00")), new(clock.Parse("2027-03-21T03:45:00"))
	r, err := w.series.Book(t.Context(), w.ann, f)
	if err != nil {
		t.Fatal(err)
	}
	skipped := time.Date(2027, 3, 28, 1, 30, 0, 0, time.UTC)
	for _, n := range w.store.notices {
		os := n.Facts.Series.Overrides
		if len(os) != 1 || !os[0].OriginalStart.Equal(skipped) || !os[0].Start.Equal(skipped) || !os[0].End.Equal(r.Meetings[1].Slot.End) {
			t.Errorf("%s is told of %+v", n.To.Email, os)
		}
	}
}

// A mail about some dates leaves the others where they are, and says where each of its own is.
func TestSeries_roomsOfDates(t *testing.T) {
	w := newWorld(t)
	w.nook(t)
	r := w.bookSeries(t, w.ann, w.weekly("FREQ=WEEKLY;COUNT=3", w.desk))
	m := r.Meetings[1]
	if _, err := w.Cancel(t.Context(), w.ann, m.ID, nil, ""); err != nil {
		t.Fatal(err)
	}
	w.take(t, "2027-02-18", w.desk)
	w.notified()
	added, err := w.series.AddDate(t.Context(), w.ann, r.Series.ID, nil, new(clock.At(m.OriginalStart)), meeting.OtherRoom)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range w.store.notices {
		s := n.Facts.Series
		same(t, "the date's room in the text", n.Facts.Rooms, added.RoomNames)
		same(t, "the series' rooms in the calendar", s.Rooms, []string{"Desk"})
		if len(s.Overrides) != 1 || !s.Overrides[0].OriginalStart.Equal(m.OriginalStart) {
			t.Errorf("overrides %+v", s.Overrides)
		}
	}
	same(t, "told", w.notified(), []string{"invitation bob@example.org", "invitation guest@example.net"})
}

// What single dates list is bounded, since it is kept for each reader.
func TestSeries_crowdedDatesListTheReaderAlone(t *testing.T) {
	w := newWorld(t)
	f := w.weekly("FREQ=DAILY;COUNT=60", w.desk)
	people := []meeting.Person{{Email: "guest@example.net"}}
	for i := range 40 {
		people = append(people, meeting.Person{Email: fmt.Sprintf("p%d@example.net", i)})
	}
	f.Attendees = &people
	r := w.bookSeries(t, w.ann, f)
	for i, m := range r.Meetings {
		by := meeting.Actor{Kind: meeting.ActorUser, Email: "guest@example.net"}
		if _, err := w.Respond(t.Context(), by, m.ID, nil, []meeting.Response{meeting.Accepted, meeting.Declined}[i%2], ""); err != nil {
			t.Fatal(err)
		}
	}
	w.notified()
	w.patchSeries(t, r.Series.ID, series.Fields{Fields: booking.Fields{Title: new("Other")}})
	for _, n := range w.store.notices {
		s := n.Facts.Series
		if len(s.Overrides) != 30 {
			t.Fatalf("%d overrides", len(s.Overrides))
		}
		for _, o := range s.Overrides {
			if len(o.Attendees) != 1 || o.Attendees[0].Email != n.To.Email {
				t.Fatalf("%s reads of %+v", n.To.Email, o.Attendees)
			}
		}
	}
	if len(w.notified()) != len(people) {
		t.Error("not everybody is told")
	}
}
