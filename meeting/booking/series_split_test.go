package booking_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/clock"
	"punctual/meeting/recurrence"
	"punctual/meeting/series"
)

// inBerlin is the recurrence set of a meeting of an hour in Berlin.
func inBerlin(t *testing.T, start, rule string) *recurrence.Set {
	t.Helper()
	r, faults := recurrence.ParseRule(rule)
	w, ok := recurrence.WallTimeOf(clock.ParseDate(start), time.UTC)
	if len(faults) > 0 || !ok {
		t.Fatalf("%s from %s: %v", rule, start, faults)
	}
	return &recurrence.Set{Start: w.Time, End: w.Add(time.Hour), Zone: clock.ZoneOrUTC("Europe/Berlin"), Rule: r}
}

// split cuts the rule, and the dates on top and left out, in two: together they give what there
// was, whatever the rule takes from its first date.
func TestSeries_split(t *testing.T) {
	for _, c := range []struct {
		name, start, rule string
		ex, on            []string
		at                string // the first date of the second part
		first, second     string // rules
	}{
		{"by COUNT", "2027-02-11T10:00:00", "FREQ=WEEKLY;COUNT=5", nil, nil, "2027-02-25T10:00:00", "FREQ=WEEKLY;COUNT=2", "FREQ=WEEKLY;COUNT=3"},
		{"by UNTIL", "2027-02-11T10:00:00", "FREQ=WEEKLY;UNTIL=20270311", nil, nil, "2027-02-25T10:00:00", "FREQ=WEEKLY;UNTIL=20270218T100000", "FREQ=WEEKLY;UNTIL=20270311"},
		{"in the second week of two", "2027-02-11T10:00:00", "FREQ=WEEKLY;INTERVAL=2;BYDAY=TH,FR;COUNT=6", nil, nil, "2027-02-26T10:00:00",
			"FREQ=WEEKLY;INTERVAL=2;BYDAY=TH,FR;COUNT=3", "FREQ=WEEKLY;INTERVAL=2;BYDAY=TH,FR;COUNT=3"},
		{"thirty-firsts", "2027-01-31T10:00:00", "FREQ=MONTHLY;COUNT=4", nil, nil, "2027-05-31T10:00:00", "FREQ=MONTHLY;COUNT=2", "FREQ=MONTHLY;COUNT=2"},
		{"left out on both sides", "2027-02-11T10:00:00", "FREQ=WEEKLY;COUNT=6", []string{"2027-02-18", "2027-03-11T10:00:00"}, nil, "2027-03-04T10:00:00",
			"FREQ=WEEKLY;COUNT=3", "FREQ=WEEKLY;COUNT=3"},
		{"on top on both sides", "2027-02-11T10:00:00", "FREQ=WEEKLY;COUNT=4", nil, []string{"2027-02-12", "2027-03-06T15:00:00"}, "2027-02-25T10:00:00",
			"FREQ=WEEKLY;COUNT=2", "FREQ=WEEKLY;COUNT=2"},
		{"in front of one on top", "2027-02-11T10:00:00", "FREQ=WEEKLY;COUNT=4", nil, []string{"2027-02-20T15:00:00"}, "2027-02-20T15:00:00",
			"FREQ=WEEKLY;COUNT=2", "FREQ=WEEKLY;COUNT=2"},
		{"nothing but what is on top follows", "2027-02-11T10:00:00", "FREQ=WEEKLY;COUNT=2", nil, []string{"2027-03-06T15:00:00", "2027-03-07T15:00:00"}, "2027-03-06T15:00:00",
			"FREQ=WEEKLY;COUNT=2", "FREQ=DAILY;COUNT=1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := inBerlin(t, c.start, c.rule)
			s := &meeting.Series{ID: 7, Timezone: "Europe/Berlin", Start: r.Start, End: r.End, Rule: r.Rule}
			for _, text := range c.ex {
				w, _ := recurrence.WallTimeOf(clock.ParseDate(text), time.UTC)
				s.ExDates = append(s.ExDates, w)
			}
			for _, text := range c.on {
				w, _ := recurrence.WallTimeOf(clock.ParseDate(text), time.UTC)
				s.RDates = append(s.RDates, w)
			}
			starts := func(s *meeting.Series) (all []string) {
				for _, d := range s.Dates() {
					all = append(all, d.Wall.Format(clock.WallLayout))
				}
				return all
			}
			whole := starts(s)
			i := slices.Index(whole, c.at)
			first, second := s.Split(s.Dates()[i], r.Start)
			same(t, "first", starts(first), whole[:i])
			same(t, "second", starts(second), whole[i:])
			same(t, "rules", []string{first.Rule.String(), second.Rule.String()}, []string{c.first, c.second})
			if second.ID != 0 || second.PreviousID != 7 || first.ID != 7 {
				t.Errorf("%d, and %d after %d", first.ID, second.ID, second.PreviousID)
			}
			for _, part := range []*meeting.Series{first, second} { // dates of the other part are none of its business
				for _, w := range slices.Concat(part.ExDates, part.RDates) {
					if before := w.On(s.Start).Before(s.Dates()[i].Wall); before != (part == first) {
						t.Errorf("%v is in the wrong part", w)
					}
				}
			}
		})
	}
	s := &meeting.Series{Timezone: "Europe/Berlin"}
	r := inBerlin(t, "2027-02-11T10:00:00", "FREQ=WEEKLY;COUNT=5")
	s.Start, s.End, s.Rule = r.Start, r.End, r.Rule
	if first, second := s.Split(s.Dates()[0], r.Start); first != s || second != nil {
		t.Error("split with nothing in front")
	}
}

// A second part is split again; what has begun, or what somebody wants to change from a date in
// the past on, stays.
func TestSeries_splitOfASplit(t *testing.T) {
	w := newWorld(t)
	r := w.bookSeries(t, w.ann, w.weekly("FREQ=WEEKLY;COUNT=6", w.desk))
	from := func(id int64, day, title string) *booking.SeriesResult {
		return w.patchSeries(t, id, series.Fields{Scope: meeting.ScopeFollowing, From: new(clock.Parse(day + "T10:00:00")), Fields: booking.Fields{Title: &title}})
	}
	second := from(r.Series.ID, "2027-02-25", "B")
	third := from(second.Series.ID, "2027-03-11", "C")
	same(t, "the first", w.look(t, r.Series.ID), []string{"02-11 10:00 Weekly confirmed", "02-18 10:00 Weekly confirmed"})
	same(t, "the second", w.look(t, second.Series.ID), []string{"02-25 10:00 B confirmed", "03-04 10:00 B confirmed"})
	same(t, "the third", w.look(t, third.Series.ID), []string{"03-11 10:00 C confirmed", "03-18 10:00 C confirmed"})
	same(t, "comes after", third.Series.PreviousID, second.Series.ID)

	w.at = time.Date(2027, 2, 25, 9, 30, 0, 0, time.UTC) // in the midst of the second's first
	late := from(second.Series.ID, "2027-02-25", "D")
	same(t, "what runs", w.look(t, second.Series.ID), []string{"02-25 10:00 B confirmed"})
	same(t, "what comes", w.look(t, late.Series.ID), []string{"03-04 10:00 D confirmed"})
	_, err := w.series.Update(t.Context(), w.ann, r.Series.ID, nil, series.Fields{Scope: meeting.ScopeFollowing, From: new(clock.Parse("2027-02-18T10:00:00")), Fields: booking.Fields{Title: new("E")}})
	state(t, err, meeting.Ended)
}

// Dates that were skipped, cancelled or left out stay so when something else changes, and with
// another rule come those that it adds, none of them in the past.
func TestSeries_absentStays(t *testing.T) {
	w := newWorld(t)
	w.take(t, "2027-02-18", w.desk)
	f := w.weekly("FREQ=WEEKLY;COUNT=5", w.desk)
	f.OnConflict, f.ExDates = meeting.SkipOnConflict, dates("2027-03-04")
	r := w.bookSeries(t, w.ann, f)
	if _, err := w.Cancel(t.Context(), w.ann, r.Meetings[1].ID, nil, ""); err != nil {
		t.Fatal(err)
	}
	w.patchSeries(t, r.Series.ID, series.Fields{Fields: booking.Fields{Start: new(clock.Parse("2027-02-11T12:00:00")), End: new(clock.Parse("2027-02-11T13:00:00"))}})
	same(t, "an hour", w.look(t, r.Series.ID), []string{"02-11 12:00 Weekly confirmed", "02-25 10:00 Weekly cancelled", "03-11 12:00 Weekly confirmed"})
	w.at = time.Date(2027, 3, 5, 12, 0, 0, 0, time.UTC)
	w.patchSeries(t, r.Series.ID, series.Fields{Rule: new("FREQ=WEEKLY;COUNT=7")})
	same(t, "two more", w.look(t, r.Series.ID), []string{
		"02-11 12:00 Weekly confirmed", "02-25 10:00 Weekly cancelled", "03-11 12:00 Weekly confirmed", "03-18 12:00 Weekly confirmed", "03-25 12:00 Weekly confirmed",
	})
	g := w.weekly("FREQ=WEEKLY;COUNT=2", w.desk)
	g.OnConflict, g.Start, g.End = meeting.SkipOnConflict, new(clock.Parse("2027-03-11T12:00:00")), new(clock.Parse("2027-03-11T13:00:00"))
	_, err := w.series.Book(t.Context(), w.bob, g)
	if _, ok := errors.AsType[*meeting.SeriesConflictError](err); !ok {
		t.Errorf("a series of which every date is skipped: %v", err)
	}
}

// What was changed for itself outlives a new rule that has no such date, but not the end of it.
func TestSeries_exceptionsAfterTheEnd(t *testing.T) {
	w := newWorld(t)
	r := w.bookSeries(t, w.ann, w.weekly("FREQ=WEEKLY;COUNT=4", w.desk))
	for _, i := range []int{1, 3} {
		if _, err := w.Update(t.Context(), w.ann, r.Meetings[i].ID, nil, booking.Fields{Title: new("Special")}); err != nil {
			t.Fatal(err)
		}
	}
	w.patchSeries(t, r.Series.ID, series.Fields{Rule: new("FREQ=WEEKLY;INTERVAL=2;COUNT=2")})
	same(t, "every other week", w.look(t, r.Series.ID), []string{
		"02-11 10:00 Weekly confirmed", "02-18 10:00 Special confirmed", "02-25 10:00 Weekly confirmed", "03-04 10:00 Special cancelled",
	})
}
