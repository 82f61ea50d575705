package booking_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/clock"
	"punctual/meeting/places"
	"punctual/meeting/policy"
	"punctual/meeting/series"
)

// roomsOn are the rooms of each meeting, by start: "Wanted+Screen".
func roomsOn(ms []*meeting.Meeting) (all []string) {
	for _, m := range ms {
		all = append(all, strings.Join(m.RoomNames, "+"))
	}
	return all
}

func (w *world) take(t *testing.T, day string, rooms ...*meeting.Room) {
	t.Helper()
	f := w.fields(0, rooms...)
	f.Start, f.End = new(clock.Parse(day+"T10:00:00+01:00")), new(clock.Parse(day+"T11:00:00+01:00"))
	w.book(t, w.bob, f)
}

// Another room has the same site, no fewer places, all features, asks for no approval unless
// the wanted one does, and takes the date by its own rules. Of several the smallest, then the
// first by name.
func TestSeries_otherRoomIsAsGood(t *testing.T) {
	plannedDate := places.RoomFields{Name: new("Wanted"), Capacity: new(8), Features: &[]string{"video"}}
	good := places.RoomFields{Name: new("Good"), Capacity: new(10), Features: &[]string{"screen", "video"}}
	for name, c := range map[string]struct {
		change func(w *world, t *testing.T, f *places.RoomFields)
		want   string
	}{
		"as good":        {func(*world, *testing.T, *places.RoomFields) {}, "Good"},
		"just as large":  {func(_ *world, _ *testing.T, f *places.RoomFields) { f.Capacity = new(8) }, "Good"},
		"smaller":        {func(_ *world, _ *testing.T, f *places.RoomFields) { f.Capacity = new(7) }, "Large"},
		"too large":      {func(_ *world, _ *testing.T, f *places.RoomFields) { f.Capacity = new(21) }, "Large"},
		"equal, by name": {func(_ *world, _ *testing.T, f *places.RoomFields) { f.Capacity = new(20) }, "Good"},
		"without video":  {func(_ *world, _ *testing.T, f *places.RoomFields) { f.Features = &[]string{"screen"} }, "Large"},
		"not active":     {func(_ *world, _ *testing.T, f *places.RoomFields) { f.Active = new(false) }, "Large"},
		"with approval":  {func(_ *world, _ *testing.T, f *places.RoomFields) { f.ApprovalRequired = new(true) }, "Large"},
		"closed then": {func(_ *world, _ *testing.T, f *places.RoomFields) {
			f.OpeningHours = &[]policy.OpeningHours{{Days: []string{"FR"}, From: "08:00", To: "20:00"}}
		}, "Large"},
		"too short a one": {func(_ *world, _ *testing.T, f *places.RoomFields) { f.MinDuration = new(2 * time.Hour) }, "Large"},
		"at another site": {func(w *world, t *testing.T, f *places.RoomFields) {
			site, err := w.places.CreateSite(t.Context(), w.root, places.SiteFields{Name: new("Elsewhere")})
			if err != nil {
				t.Fatal(err)
			}
			f.SiteID = &site.ID
		}, "Large"},
		"used up by quota": {func(_ *world, _ *testing.T, f *places.RoomFields) {
			f.Quota = &policy.Quota{Per: policy.PerWeek, Duration: 30 * time.Minute}
		}, "Large"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			room := w.room(t, plannedDate)
			w.room(t, places.RoomFields{Name: new("Large"), Capacity: new(20), Features: &[]string{"video"}})
			f := good
			c.change(w, t, &f)
			w.room(t, f)
			w.take(t, "2027-02-11", room)
			series := w.weekly("FREQ=WEEKLY;COUNT=2", room)
			series.OnConflict = meeting.OtherRoom
			same(t, "rooms", roomsOn(w.bookSeries(t, w.ann, series).Meetings), []string{c.want, "Wanted"})
		})
	}
}

// Of several rooms those are replaced that are in the way, and one gives way to another.
func TestSeries_otherRoomsForSeveral(t *testing.T) {
	w := newWorld(t)
	room := func(name string, capacity int, features ...string) *meeting.Room {
		return w.room(t, places.RoomFields{Name: &name, Capacity: &capacity, Features: &features})
	}
	plain, video, third := room("A", 8), room("B", 8, "video"), room("C", 40)
	room("X", 8, "video") // the first choice of A, and the only one for B
	room("Y", 9)
	w.take(t, "2027-02-11", plain, video)
	w.take(t, "2027-02-18", video)
	series := w.weekly("FREQ=WEEKLY;COUNT=2", plain, video, third)
	series.OnConflict = meeting.OtherRoom
	same(t, "rooms", roomsOn(w.bookSeries(t, w.ann, series).Meetings), []string{"Y+X+C", "A+X+C"})

	// A room that the date has anyway does not stand in for another.
	w.take(t, "2027-03-11", plain)
	alone := w.weekly("FREQ=WEEKLY;COUNT=1", plain, video)
	alone.Start, alone.End, alone.OnConflict = new(clock.Parse("2027-03-11T10:00:00")), new(clock.Parse("2027-03-11T11:00:00")), meeting.OtherRoom
	same(t, "rooms", roomsOn(w.bookSeries(t, w.ann, alone).Meetings), []string{"X+B"})
}

// A date that cannot be takes nothing of a quota, and one in another room nothing of the
// plannedDate one's.
func TestSeries_quotas(t *testing.T) {
	for _, c := range []struct {
		on   meeting.OnConflict
		want []string
	}{
		{meeting.SkipOnConflict, []string{"Wanted", "Wanted"}},              // the second and the third
		{meeting.OtherRoom, []string{"Other", "Wanted", "Wanted", "Other"}}, // the first and the fourth elsewhere
	} {
		w := newWorld(t)
		room := w.room(t, places.RoomFields{Name: new("Wanted"), Quota: &policy.Quota{Per: policy.PerMonth, Count: 2}})
		w.room(t, places.RoomFields{Name: new("Other"), Capacity: new(4), Quota: &policy.Quota{Per: policy.PerMonth, Count: 2}})
		w.take(t, "2027-02-11", room)
		f := w.weekly("FREQ=DAILY;COUNT=4", room)
		f.OnConflict = c.on
		r := w.bookSeries(t, w.ann, f)
		same(t, string(c.on), roomsOn(r.Meetings), c.want)
		if c.on == meeting.SkipOnConflict {
			same(t, "why", []string{r.Skipped[0].Reason, r.Skipped[1].Reason}, []string{meeting.ReasonTaken, "quota"})
		}
	}
	// Dates that go free their part of it for those that come.
	w := newWorld(t)
	room := w.room(t, places.RoomFields{Name: new("Once a week"), Quota: &policy.Quota{Per: policy.PerWeek, Count: 1}})
	r := w.bookSeries(t, w.ann, w.weekly("FREQ=WEEKLY;COUNT=2", room))
	w.patchSeries(t, r.Series.ID, series.Fields{
		Fields: booking.Fields{Start: new(clock.Parse("2027-02-12T10:00:00")), End: new(clock.Parse("2027-02-12T11:00:00"))}, Rule: new("FREQ=WEEKLY;COUNT=2;BYDAY=FR"),
	})
	same(t, "on Fridays", w.look(t, r.Series.ID), []string{
		"02-11 10:00 Weekly cancelled", "02-12 10:00 Weekly confirmed", "02-18 10:00 Weekly cancelled", "02-19 10:00 Weekly confirmed",
	})
}

// A meeting whose move waits for a decision is still where it was, so that no other date of the
// series can have its place.
func TestSeries_moveThatWaitsIsInTheWay(t *testing.T) {
	w := newWorld(t)
	r := w.bookSeries(t, w.ann, w.weekly("FREQ=WEEKLY;COUNT=3", w.board))
	if _, err := w.approval.ApproveSeries(t.Context(), w.mona, r.Series.ID, nil, ""); err != nil {
		t.Fatal(err)
	}
	later := series.Fields{Fields: booking.Fields{Start: new(clock.Parse("2027-02-18T10:00:00")), End: new(clock.Parse("2027-02-18T11:00:00"))}}
	_, err := w.series.Update(t.Context(), w.ann, r.Series.ID, nil, later)
	e, ok := errors.AsType[*meeting.SeriesConflictError](err)
	if !ok || len(e.Dates) != 2 || !e.Taken() {
		t.Fatalf("got %v", err)
	}
	if _, err := w.series.Update(t.Context(), w.mona, r.Series.ID, nil, later); !errors.Is(err, meeting.ErrForbidden) {
		t.Fatalf("got %v", err)
	}
	_, err = w.series.Update(t.Context(), w.root, r.Series.ID, nil, later) // who need not ask moves them all at once
	if err != nil {
		t.Fatal(err)
	}
	same(t, "dates", w.look(t, r.Series.ID), []string{"02-18 10:00 Weekly confirmed", "02-25 10:00 Weekly confirmed", "03-04 10:00 Weekly confirmed"})
}

// Other rooms are looked up for all dates of a series together, not for each date and room.
func TestSeries_otherRoomsAreLookedUpTogether(t *testing.T) {
	w := newWorld(t)
	var plannedDate []*meeting.Room
	for range 6 {
		plannedDate = append(plannedDate, w.room(t, places.RoomFields{Name: new(fmt.Sprint("Room ", w.store.last)), Capacity: new(8)}))
	}
	for range 30 {
		w.room(t, places.RoomFields{Name: new(fmt.Sprint("Room ", w.store.last)), Capacity: new(8)})
	}
	f := w.weekly("FREQ=DAILY;COUNT=8", plannedDate...)
	w.bookSeries(t, w.bob, f)
	f.OnConflict = meeting.OtherRoom
	w.store.lookUps = 0
	preview, err := w.series.Preview(t.Context(), w.ann, f)
	if err != nil || len(preview.Meetings) != 8 {
		t.Fatalf("%d dates, %v", len(preview.Meetings), err)
	}
	if w.store.lookUps > 3 { // what is wanted, and two batches of other rooms
		t.Errorf("looked %d times for what is taken", w.store.lookUps)
	}
}
