package meeting

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// agenda is what a calendar program makes of the mails that somebody gets: entries by UID, of
// a series each date by its RECURRENCE-ID.
type agenda map[string]map[time.Time]string

// read applies a notice as RFC 5546 has it.
func (c agenda) read(n Notice) error {
	f := n.Facts
	if n.Kind != NoticeInvitation && n.Kind != NoticeChange && n.Kind != NoticeCancellation {
		return nil
	}
	uid, date := "meeting-"+strconv.FormatInt(n.MeetingID, 10), time.Time{}
	if f.SeriesID != 0 {
		uid = "series-" + strconv.FormatInt(f.SeriesID, 10)
	}
	if f.OriginalStart != nil {
		date = *f.OriginalStart
	}
	if c[uid] == nil {
		c[uid] = map[time.Time]string{}
	}
	switch s := f.Series; {
	case n.Kind == NoticeCancellation && s != nil && len(s.Cancelled) > 0:
		for _, o := range s.Cancelled {
			delete(c[uid], o.OriginalStart)
		}
	case n.Kind == NoticeCancellation && s != nil:
		delete(c, uid)
	case n.Kind == NoticeCancellation:
		delete(c[uid], date)
	case s != nil:
		dates, err := expanded(f)
		if err != nil {
			return err
		}
		c[uid] = dates
	default:
		c[uid][date] = entry(f.Start, f.End, f.Title)
	}
	return nil
}

func entry(start, end time.Time, title string) string {
	return start.UTC().Format("01-02 15:04") + end.UTC().Format("-15:04 ") + title
}

// expanded are the dates of a recurring entry.
func expanded(f Facts) (map[time.Time]string, error) {
	s, zone := f.Series, mustZone(f.Timezone)
	instant := func(wall string) time.Time {
		t, err := time.Parse(icalLocal, wall)
		if err != nil {
			panic(err)
		}
		return occurs(t, zone)
	}
	rule, wrong := ParseRule("", s.Rule)
	if len(wrong) > 0 {
		return nil, &InvalidError{Faults: wrong}
	}
	start, _ := time.Parse(icalLocal, s.Start)
	end, _ := time.Parse(icalLocal, s.End)
	length := occurs(end, zone).Sub(occurs(start, zone))
	dates := map[time.Time]string{}
	add := func(at time.Time) { dates[at] = entry(at, at.Add(length), f.Title) }
	all, _ := (&Recurrence{Start: start, End: end, Zone: zone, Rule: rule}).Dates(everyDate)
	for _, d := range all {
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
		if _, there := dates[o.OriginalStart]; !there {
			return nil, fmt.Errorf("RECURRENCE-ID %v is no date of %s from %s", o.OriginalStart, s.Rule, s.Start)
		}
		title := f.Title
		if o.Title != "" {
			title = o.Title
		}
		dates[o.OriginalStart] = entry(o.Start, o.End, title)
	}
	return dates, nil
}

// shown is what the calendar shows, in order.
func (c agenda) shown() (all []string) {
	for _, dates := range c {
		all = slices.AppendSeq(all, maps.Values(dates))
	}
	slices.Sort(all)
	return all
}

// reader reads all mails to an address, and compares what they make of a calendar with what is
// so: the meetings to which they are invited, past ones too.
type reader struct {
	email    string
	calendar agenda
	sequence map[string]int64
}

func (g *reader) read(w *world) error {
	for _, n := range w.store.notices {
		if !strings.EqualFold(n.To.Email, g.email) {
			continue
		}
		if err := g.calendar.read(n); err != nil {
			return err
		}
		if n.Facts.Series != nil && n.Kind != NoticeDecision {
			uid := strconv.FormatInt(n.Facts.SeriesID, 10)
			if n.Facts.Sequence < g.sequence[uid] {
				return fmt.Errorf("%s of series %s has SEQUENCE %d after %d", n.Kind, uid, n.Facts.Sequence, g.sequence[uid])
			}
			g.sequence[uid] = n.Facts.Sequence
		}
	}
	return nil
}

func (g *reader) invited(w *world) (all []string) {
	for _, m := range w.store.meetings {
		if !m.gone() && m.Status != Pending && slices.ContainsFunc(m.Attendees, Attendee{Person: Person{Email: g.email}}.sameAddress) {
			all = append(all, entry(m.Slot.Start, m.Slot.End, m.Title))
		}
	}
	slices.Sort(all)
	return all
}

// Whatever is done to a series and its dates, the calendars of those who are invited show what
// is so.
func TestSeries_calendarsShowWhatIs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		w := newWorld(t)
		guests := []*reader{}
		for _, email := range []string{"guest@example.net", "bob@example.org"} {
			guests = append(guests, &reader{email, agenda{}, map[string]int64{}})
		}
		s := &story{w, rt, nil}
		s.make()
		var done []string
		for range rapid.IntRange(1, 6).Draw(rt, "steps") {
			for _, g := range guests {
				if err := g.read(w); err != nil {
					rt.Fatalf("%v: %v", done, err)
				}
				if d := cmp.Diff(g.invited(w), g.calendar.shown()); d != "" {
					rt.Fatalf("%v: calendar of %s (-what is +what it shows):\n%s", done, g.email, d)
				}
			}
			w.told()
			done = append(done, s.step())
		}
	})
}

// story is what somebody does with a series of theirs, and with those that are split off.
type story struct {
	*world
	*rapid.T
	ids []int64
}

func (s *story) make() {
	f := s.weekly(s.rule(), s.desk)
	f.OnConflict = SkipOnConflict
	if rapid.Bool().Draw(s.T, "night") {
		f.Start, f.End = new("2027-02-11T22:00:00"), new("2027-02-12T06:00:00")
	}
	if rapid.Bool().Draw(s.T, "asked") {
		f.RoomIDs = &[]int64{s.board.ID}
	}
	r, err := s.BookSeries(s.T.Context(), s.ann, f)
	if err != nil {
		s.Fatal(err)
	}
	s.ids = append(s.ids, r.Series.ID)
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
	what := rapid.SampledFrom([]string{"all", "following", "one", "cancel one", "cancel following", "add", "approve one", "approve", "later", "out of one"}).Draw(s.T, "what")
	var err error
	switch what {
	case "all", "following":
		f := s.change(series)
		if what == "following" {
			f.Scope, f.From = ScopeFollowing, m.place().Format(time.RFC3339)
			if f.Start != nil {
				f.Start, f.End = new(clock(m.place(), mustZone(series.Timezone)).Add(time.Hour).Format(wallLayout)), new(clock(m.place(), mustZone(series.Timezone)).Add(2*time.Hour).Format(wallLayout))
			}
		}
		what = fmt.Sprintf("%s of %d %s (start %v, rule %v, title %v, people %v, exdates %v, room %v)", what, id, f.From, f.Start != nil, f.Rule != nil, f.Title != nil, f.Attendees != nil, f.ExDates != nil, f.RoomIDs != nil)
		var r *SeriesResult
		if r, err = s.UpdateSeries(ctx, s.ann, id, nil, f); err == nil && r.Previous != nil {
			s.ids = append(s.ids, r.Series.ID)
		}
	case "one":
		start := m.Slot.Start.Add(90 * time.Minute)
		_, err = s.Update(ctx, s.ann, m.ID, nil, Fields{Start: new(start.Format(time.RFC3339)), End: new(start.Add(time.Hour).Format(time.RFC3339)), Title: new("One")})
	case "out of one":
		_, err = s.Update(ctx, s.ann, m.ID, nil, Fields{Attendees: &[]Person{{Email: "bob@example.org"}}})
	case "cancel one":
		_, err = s.Cancel(ctx, s.ann, m.ID, nil, "")
	case "cancel following":
		_, err = s.CancelSeries(ctx, s.ann, id, nil, ScopeFollowing, m.place().Format(time.RFC3339), "")
	case "add":
		_, err = s.AddDate(ctx, s.ann, id, nil, m.place().Format(time.RFC3339), "")
	case "approve one":
		_, err = s.Approve(ctx, s.mona, m.ID, nil, "")
	case "approve":
		_, err = s.ApproveSeries(ctx, s.mona, id, nil, "")
	case "later":
		s.at = s.at.AddDate(0, 0, 8)
	}
	return fmt.Sprintf("%s (%v)", what, err)
}

// change of some fields of a series.
func (s *story) change(series *Series) SeriesFields {
	f := SeriesFields{OnConflict: SkipOnConflict}
	is := func(name string) bool { return rapid.IntRange(1, 3).Draw(s.T, name) == 1 }
	if is("start") {
		f.Start, f.End = new(series.Start.Add(time.Hour).Format(wallLayout)), new(series.Start.Add(2*time.Hour).Format(wallLayout))
	}
	if is("rule?") {
		f.Rule = new(s.rule())
	}
	if is("title") {
		f.Title = new(rapid.SampledFrom([]string{"New", "Newer"}).Draw(s.T, "to"))
	}
	if is("people") {
		f.Attendees = new(rapid.SampledFrom([][]Person{{{Email: "bob@example.org"}}, {{Email: "bob@example.org"}, {Email: "guest@example.net"}}, {}}).Draw(s.T, "who"))
	}
	if is("exdates") {
		f.ExDates = &[]string{series.Start.AddDate(0, 0, 7).Format(dayLayout)}
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
	told := func(from string, f Fields) (parts []string) {
		t.Helper()
		id := r.Series.ID
		var err error
		if r, err = w.UpdateSeries(t.Context(), w.ann, id, nil, SeriesFields{Scope: ScopeFollowing, From: from, Fields: f}); err != nil {
			t.Fatal(err)
		}
		for _, n := range w.store.notices {
			if n.To.Email == "guest@example.net" {
				s := n.Facts.Series
				which := map[int64]string{id: "old", r.Series.ID: "new"}[n.Facts.SeriesID]
				parts = append(parts, fmt.Sprint(which, " ", n.Kind, " ", s.Part, " ", s.Count, " ", s.Split.Format("01-02")))
			}
		}
		w.told()
		return parts
	}
	same(t, "in the middle, nothing that people plan by", told("2027-02-25T10:00:00", Fields{Description: new("Notes")}),
		[]string{"old change ends 2 02-25", "new change goes_on 2 02-25"})
	if _, err := w.Cancel(t.Context(), w.ann, r.Meetings[0].ID, nil, ""); err != nil {
		t.Fatal(err)
	}
	w.told()
	same(t, "nothing is left in front", told("2027-03-04T10:00:00", Fields{Title: new("Other")}),
		[]string{"old cancellation ends 1 03-04", "new change goes_on 1 03-04"})
}

// Who leaves the dates from one on keeps those before, and is told of nothing that goes on.
func TestSeries_leavesTheSecondPart(t *testing.T) {
	w := newWorld(t)
	r := w.bookSeries(t, w.ann, w.weekly("FREQ=WEEKLY;COUNT=4", w.desk))
	w.patchSeries(t, r.Series.ID, SeriesFields{Scope: ScopeFollowing, From: "2027-02-25T10:00:00", Fields: Fields{Attendees: &[]Person{{Email: "bob@example.org"}}}})
	for _, n := range w.store.notices {
		if n.To.Email == "guest@example.net" && (n.Facts.SeriesID != r.Series.ID || len(n.Facts.Series.Cancelled) != 2) {
			t.Errorf("of series %d: %+v", n.Facts.SeriesID, n.Facts.Series)
		}
	}
	same(t, "told", w.told(), []string{"cancellation guest@example.net", "change bob@example.org", "change bob@example.org"})
}

// An admin who takes somebody off does not tell the organizer that it is cancelled.
func TestSeries_organizerStays(t *testing.T) {
	w := newWorld(t)
	r := w.bookSeries(t, w.ann, w.weekly("FREQ=WEEKLY;COUNT=2", w.desk))
	f := SeriesFields{Fields: Fields{Attendees: &[]Person{{Email: "bob@example.org"}}}}
	if _, err := w.UpdateSeries(t.Context(), w.root, r.Series.ID, nil, f); err != nil {
		t.Fatal(err)
	}
	same(t, "told", w.told(), []string{"cancellation guest@example.net"})
}

// What has begun stays in calendars as it was, also when the series moves away from it.
func TestSeries_calendarsKeepThePast(t *testing.T) {
	w := newWorld(t)
	r := w.bookSeries(t, w.ann, w.weekly("FREQ=WEEKLY;COUNT=4", w.desk))
	w.at = time.Date(2027, 2, 18, 9, 30, 0, 0, time.UTC) // in the midst of the second
	w.patchSeries(t, r.Series.ID, SeriesFields{Fields: Fields{Start: new("2027-02-12T15:00:00"), End: new("2027-02-12T16:00:00")}})
	seen := agenda{}
	for _, n := range w.store.notices {
		if n.To.Email == "guest@example.net" {
			if err := seen.read(n); err != nil {
				t.Fatal(err)
			}
			same(t, "speaks of the dates to come", n.Facts.Series.Count, 2)
		}
	}
	same(t, "shown", seen.shown(), []string{
		"02-11 09:00-10:00 Weekly", "02-18 09:00-10:00 Weekly", "02-26 14:00-15:00 Weekly", "03-05 14:00-15:00 Weekly",
	})
}
