package booking_test

import (
	"archive/zip"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"punctual/account/fault"
	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/clock"
	"punctual/meeting/places"
	"punctual/meeting/policy"
	"punctual/meeting/series"
)

// change of the clocks of a zone.
type change struct {
	zone string
	at   time.Time
}

// shownBefore is what clocks show when they reach an instant at which they change.
func shownBefore(at time.Time, loc *time.Location) time.Time {
	return clock.Wall(at.Add(-time.Second), loc).Add(time.Second)
}

// changesOfClocks are those of all zones in 2026 to 2028: of zones that change at the same instants
// by the same amounts, those of the first.
func changesOfClocks(t *testing.T) (all []change) {
	t.Helper()
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	files, err := zip.OpenReader(filepath.Join(strings.TrimSpace(string(goroot)), "lib", "time", "zoneinfo.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	seen := map[string]bool{}
	for _, f := range files.File {
		loc, err := fault.StoredZone(f.Name)
		if err != nil || strings.HasSuffix(f.Name, "/") {
			continue
		}
		var some []change
		key := ""
		for at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC); ; {
			_, next := at.In(loc).ZoneBounds()
			if next.IsZero() || next.Year() > 2028 {
				break
			}
			_, before := next.Add(-time.Second).Zone()
			_, after := next.Zone()
			if at = next.UTC(); before != after {
				some, key = append(some, change{f.Name, at}), key+fmt.Sprint(at.Unix(), before, after, ";")
			}
		}
		if !seen[key] {
			seen[key], all = true, append(all, some...)
		}
	}
	if len(all) < 100 {
		t.Fatalf("only %d changes of clocks were found", len(all))
	}
	return all
}

// clocksWorld is an empty world before the change in which everything may be booked.
func clocksWorld(t *testing.T, c change) *world {
	w := newWorld(t)
	w.at = c.at.AddDate(0, 0, -20)
	w.settings.Limits = policy.Limits{}
	w.desk = w.room(t, places.RoomFields{Name: new("There"), Timezone: &c.zone})
	return w
}

// refused reports whether the error is about times, as it has to be if there is one.
func refused(t *testing.T, what string, err error) bool {
	t.Helper()
	if err == nil {
		return false
	}
	e, ok := errors.AsType[*meeting.InvalidError](err)
	if !ok {
		t.Errorf("%s: %v", what, err)
		return true
	}
	for _, f := range e.Faults {
		if !slices.Contains([]string{"nonexistent_time", "ambiguous_time", "not_after_start"}, f.Code) {
			t.Errorf("%s: %v", what, err)
		}
	}
	return true
}

// Near each change of clocks a meeting is saved at the instants that were given, or refused.
func TestClocks_meetingsAreExactOrRefused(t *testing.T) {
	for _, c := range changesOfClocks(t) {
		w, loc := clocksWorld(t, c), clock.ZoneOrUTC(c.zone)
		var there *meeting.Meeting
		save := func(what, from, to string) (*meeting.Meeting, bool) {
			f := booking.Fields{Title: new("T"), RoomIDs: &[]int64{w.desk.ID}, Start: new(clock.Parse(from)), End: new(clock.Parse(to)), Timezone: &c.zone}
			var m *meeting.Meeting
			var err error
			if there == nil {
				m, err = w.Book(t.Context(), w.ann, f)
			} else {
				m, err = w.Update(t.Context(), w.ann, there.ID, nil, f)
			}
			if refused(t, what, err) {
				return nil, false
			}
			there = m
			if again, err := w.Meeting(t.Context(), w.ann, m.ID); err != nil || !again.Slot.Equal(m.Slot) {
				t.Errorf("%s: reads back as %v, %v", what, again.Slot, err)
			}
			return m, true
		}
		for from := -90 * time.Minute; from <= 90*time.Minute; from += 15 * time.Minute {
			for _, length := range []time.Duration{15 * time.Minute, time.Hour, 3 * time.Hour} {
				slot := clock.Slot{Start: c.at.Add(from), End: c.at.Add(from + length)}
				what := fmt.Sprintf("%s %v to %v", c.zone, slot.Start.In(loc), slot.End.In(loc))
				m, ok := save(what, slot.Start.In(loc).Format(time.RFC3339), slot.End.In(loc).Format(time.RFC3339))
				if !ok || !m.Slot.Equal(slot) {
					t.Fatalf("%s: saved %v, %v", what, m, ok)
				}
				shown := clock.Slot{Start: clock.Wall(slot.Start, loc), End: clock.Wall(slot.End, loc)}
				if m, ok = save(what+" local", shown.Start.Format(clock.WallLayout), shown.End.Format(clock.WallLayout)); !ok {
					if shown.Start.Before(shown.End) {
						t.Errorf("%s local: refused", what)
					}
				} else if got := (clock.Slot{Start: clock.Wall(m.Slot.Start, loc), End: clock.Wall(m.Slot.End, loc)}); got != shown {
					t.Errorf("%s local: shows %v", what, got)
				}
			}
			// A time that clocks skip begins nothing; it ends something if it is the one at which they are changed.
			wall := shownBefore(c.at, loc).Add(from)
			_, err := clock.Instant(wall, loc)
			_, skipped := errors.AsType[*clock.GapError](err)
			if !skipped {
				continue
			}
			if _, ok := save("skipped start", wall.Format(clock.WallLayout), wall.AddDate(0, 0, 1).Format(clock.WallLayout)); ok {
				t.Errorf("%s: begins at %v", c.zone, wall)
			}
			m, ok := save("skipped end", wall.AddDate(0, 0, -1).Format(clock.WallLayout), wall.Format(clock.WallLayout))
			if ok != (from == 0) || ok && !m.Slot.End.Equal(c.at) {
				t.Errorf("%s: an end at %v: %v", c.zone, wall, ok)
			}
		}
	}
}

// Near each change of clocks the first date of a series and dates on top begin and end at the
// instants that were given, or are refused; a date is left out by the original start that a
// preview tells.
func TestClocks_seriesAreExactOrRefused(t *testing.T) {
	for _, c := range changesOfClocks(t) {
		w, loc := clocksWorld(t, c), clock.ZoneOrUTC(c.zone)
		for from := -90 * time.Minute; from <= 90*time.Minute; from += 30 * time.Minute {
			slot := clock.Slot{Start: c.at.Add(from), End: c.at.Add(from + 45*time.Minute)}
			given := slot.Start.In(loc).Format(time.RFC3339)
			what := fmt.Sprintf("%s %s", c.zone, given)
			f := series.Fields{Fields: booking.Fields{
				Title: new("T"), RoomIDs: &[]int64{w.desk.ID}, Timezone: &c.zone, Start: new(clock.Parse(given)), End: new(clock.At(slot.End)),
			}, Rule: new("FREQ=DAILY;COUNT=3")}
			r, err := w.series.Preview(t.Context(), w.ann, f)
			if !refused(t, what, err) && !r.Meetings[0].Slot.Equal(slot) {
				t.Errorf("%s: the first date of a series is %v", what, r.Meetings[0].Slot)
			}

			day := clock.Wall(c.at, loc).AddDate(0, 0, -3)
			f.Start, f.End = new(clock.Parse(day.Format(time.DateOnly)+"T12:00:00")), new(clock.Parse(day.Format(time.DateOnly)+"T12:45:00"))
			f.Rule, f.RDates = new("FREQ=DAILY;COUNT=1"), dates(given)
			r, err = w.series.Preview(t.Context(), w.ann, f)
			if !refused(t, what+" on top", err) && !r.Meetings[1].Slot.Start.Equal(slot.Start) {
				t.Errorf("%s: a date on top begins at %v", what, r.Meetings[1].Slot)
			}

			wall := shownBefore(c.at, loc).Add(from)
			start := wall.AddDate(0, 0, -2)
			f.RDates, f.Rule = nil, new("FREQ=DAILY;COUNT=5")
			f.Start, f.End = new(clock.Parse(start.Format(clock.WallLayout))), new(clock.Parse(start.Add(20*time.Minute).Format(clock.WallLayout)))
			r, err = w.series.Preview(t.Context(), w.ann, f)
			if err != nil {
				t.Fatal(what, err)
			}
			for i, m := range r.Meetings {
				f.ExDates = dates(m.OriginalStart.Format(time.RFC3339))
				less, err := w.series.Preview(t.Context(), w.ann, f)
				if err != nil {
					t.Fatal(what, err)
				}
				left := startsOf(less.Meetings)
				if all := startsOf(r.Meetings); !slices.Equal(left, slices.Delete(all, i, i+1)) {
					t.Errorf("%s: without %v there are %v", what, m.OriginalStart, left)
				}
			}
			f.ExDates = nil
		}
	}
}

func startsOf(ms []*meeting.Meeting) (all []time.Time) {
	for _, m := range ms {
		all = append(all, m.Slot.Start)
	}
	return all
}

// Ends at the very change of clocks, a day that ends with it, and a second pass.
func TestClocks_edges(t *testing.T) {
	for _, tt := range []struct {
		zone, start, end string
		want             string // the slot, or the fault
	}{
		{"Europe/Berlin", "2027-03-28T01:00:00", "2027-03-28T02:00:00", "00:00-01:00"},
		{"Europe/Berlin", "2027-03-28T01:00:00", "2027-03-28T02:00:01", "end nonexistent_time"},
		{"Europe/Berlin", "2027-03-28T02:00:00", "2027-03-28T03:00:00", "start nonexistent_time"},
		{"America/Santiago", "2027-09-04T00:00", "2027-09-05T00:00", "04:00-04:00"},
		{"Europe/Berlin", "2027-10-31t02:45:00+02:00", "2027-10-31T01:15:00z", "00:45-01:15"},
	} {
		w := newWorld(t)
		m, err := w.Book(t.Context(), w.ann, booking.Fields{Title: new("T"), RoomIDs: &[]int64{w.desk.ID}, Timezone: &tt.zone, Start: new(clock.Parse(tt.start)), End: new(clock.Parse(tt.end))})
		got := ""
		if e, ok := errors.AsType[*meeting.InvalidError](err); ok {
			got = strings.Join(codes(e.Faults), ", ")
		} else if err != nil {
			got = err.Error()
		} else {
			got = m.Slot.Start.Format("15:04") + "-" + m.Slot.End.Format("15:04")
		}
		same(t, tt.zone+" "+tt.start+" to "+tt.end, got, tt.want)
	}
	w := newWorld(t)
	for start, want := range map[string]string{
		"2027-10-31T02:45:00+02:00": "end ambiguous_time", // until 02:15+01:00
		"2027-10-31T02:10:00+01:00": "start ambiguous_time, end ambiguous_time",
	} {
		f := w.weekly("FREQ=DAILY;COUNT=2", w.desk)
		f.Start, f.End = new(clock.Parse(start)), new(clock.Parse("2027-10-31T02:15:00+01:00"))
		_, err := w.series.Book(t.Context(), w.ann, f)
		e, ok := errors.AsType[*meeting.InvalidError](err)
		if !ok {
			t.Fatalf("%s: %v", start, err)
		}
		same(t, start, strings.Join(codes(e.Faults), ", "), want)
	}
}

// Another zone alone moves nothing and is kept; a repeat changes nothing.
func TestUpdate_zoneAlone(t *testing.T) {
	w := newWorld(t)
	for _, room := range []*meeting.Room{w.desk, w.board} {
		m := w.book(t, w.ann, w.fields(time.Hour, room))
		f := booking.Fields{Timezone: new("America/New_York")}
		for range 2 {
			changed, err := w.Update(t.Context(), w.ann, m.ID, nil, f)
			if err != nil || changed.Timezone != "America/New_York" || !changed.Slot.Equal(m.Slot) || changed.Status != m.Status {
				t.Fatalf("%+v, %v", changed, err)
			}
		}
		same(t, "history", w.actions(m.ID), []meeting.Action{meeting.ActionCreated, meeting.ActionChanged})
	}
}

// The dates of a series go to its new zone with it, so that a local change of one counts there.
func TestUpdateSeries_zoneOfEachDate(t *testing.T) {
	w := newWorld(t)
	r := w.bookSeries(t, w.ann, w.weekly("FREQ=WEEKLY;COUNT=3", w.desk))
	for _, f := range []booking.Fields{
		{Timezone: new("America/New_York")}, // which moves the dates
		{Timezone: new("Europe/Paris"), Start: new(clock.Parse("2027-02-11T16:00:00")), End: new(clock.Parse("2027-02-11T17:00:00"))}, // which does not
	} {
		w.patchSeries(t, r.Series.ID, series.Fields{Fields: f})
		for _, m := range r.Meetings {
			m, err := w.Meeting(t.Context(), w.ann, m.ID)
			if err != nil {
				t.Fatal(err)
			}
			if m.Timezone != *f.Timezone {
				t.Errorf("%v is in %s, want %s", m.Slot.Start, m.Timezone, *f.Timezone)
			}
		}
	}
	m, err := w.Update(t.Context(), w.ann, r.Meetings[1].ID, nil, booking.Fields{Start: new(clock.Parse("2027-02-18T18:00:00")), End: new(clock.Parse("2027-02-18T19:00:00"))})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "18:00 in Paris", m.Slot.Start.Format(time.RFC3339), "2027-02-18T17:00:00Z")
}
