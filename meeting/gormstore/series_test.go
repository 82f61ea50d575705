package gormstore_test

import (
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/clock"
	"punctual/meeting/policy"
	"punctual/meeting/series"
)

// strangers is a directory that knows nobody.
func (f *fixture) service() *services {
	settings := func() meeting.Settings {
		return meeting.Settings{Timezone: "Europe/Berlin", HoldPending: true, Limits: policy.Limits{MaxOccurrences: 366}}
	}
	return newServices(f.store, nobody{}, nothing{}, settings, func() time.Time { return now }, slog.New(slog.DiscardHandler))
}

// every is a series of an hour from the day after the tests' on.
func every(room *meeting.Room, rule string) series.Fields {
	return series.Fields{
		Fields: booking.Fields{
			Title: new("Series"), RoomIDs: &[]int64{room.ID}, Timezone: new("Europe/Berlin"),
			Start: new(clock.Parse("2027-02-11T10:00:00")), End: new(clock.Parse("2027-02-11T11:00:00")),
			Attendees: &[]meeting.Person{{Email: "a@example.org"}, {Email: "b@example.org"}},
			Reminders: &[]meeting.Reminder{{Before: meeting.BeforeStart, Offset: time.Hour, Channels: []meeting.Channel{meeting.Email}}},
		},
		Rule: &rule,
	}
}

// What is saved of a series is what was planned, and is read back the same.
func TestSeries_roundTrip(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		fields := every(f.wide, "FREQ=WEEKLY;COUNT=4")
		fields.ExDates, fields.RDates = &[]clock.Time{clock.ParseDate("2027-02-18")}, &[]clock.Time{clock.Parse("2027-02-19T15:00:00")}
		made, err := f.service().series.Book(t.Context(), f.anna, fields)
		if err != nil {
			t.Fatal(err)
		}
		read, err := f.store.Series(t.Context(), made.Series.ID)
		if err != nil {
			t.Fatal(err)
		}
		made.Series.Organizer = read.Organizer
		if d := cmp.Diff(made.Series, read, cmp.Exporter(func(reflect.Type) bool { return true })); d != "" {
			t.Error(d)
		}
		ms, err := f.store.SeriesMeetings(t.Context(), read.ID)
		if err != nil || len(ms) != 4 {
			t.Fatalf("%d meetings, %v", len(ms), err)
		}
		for i, m := range ms {
			want := made.Meetings[i]
			if m.ID != want.ID || m.SeriesID != read.ID || !m.OriginalStart.Equal(m.Slot.Start) || len(m.Attendees) != 2 || len(m.Reminders) != 1 {
				t.Errorf("meeting %d: %+v", i, m)
			}
			if d := cmp.Diff([]meeting.Occupancy{{RoomID: f.wide.ID, Slot: m.Slot.Widen(10*time.Minute, 5*time.Minute)}}, m.Occupied); d != "" {
				t.Error(d)
			}
			entries, _, err := f.store.History(t.Context(), m.ID, meeting.Page{})
			if err != nil || len(entries) != 1 || entries[0].Action != meeting.ActionCreated || entries[0].Reason != meeting.ReasonSeries {
				t.Errorf("history %+v, %v", entries, err)
			}
		}
		if n := f.count("told"); n != 2 {
			t.Errorf("%d notices, want one for each attendee", n)
		}
	})
}

// Dates that move by a period pass through each other's rooms, places and quotas.
func TestSeries_movesThroughItself(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		room := f.room("Once a week", func(r *meeting.Room) { r.Policy.Quota = &policy.Quota{Per: policy.PerWeek, Count: 1} })
		svc := f.service()
		made, err := svc.series.Book(t.Context(), f.anna, every(room, "FREQ=WEEKLY;COUNT=5"))
		if err != nil {
			t.Fatal(err)
		}
		move := series.Fields{Fields: booking.Fields{Start: new(clock.Parse("2027-02-18T10:00:00")), End: new(clock.Parse("2027-02-18T11:00:00"))}}
		moved, err := svc.series.Update(t.Context(), f.anna, made.Series.ID, nil, move)
		if err != nil {
			t.Fatal(err)
		}
		for i, m := range moved.Meetings {
			if want := made.Meetings[i].Slot.Start.AddDate(0, 0, 7); !m.Slot.Start.Equal(want) || !m.OriginalStart.Equal(want) || m.ID != made.Meetings[i].ID {
				t.Errorf("date %d is at %v (%v), want %v", i, m.Slot.Start, m.OriginalStart, want)
			}
		}
		// A second one in the same weeks is over the quota on each date.
		again := every(room, "FREQ=WEEKLY;COUNT=7")
		again.OnConflict, again.Start, again.End = meeting.SkipOnConflict, new(clock.Parse("2027-02-11T15:00:00")), new(clock.Parse("2027-02-11T16:00:00"))
		rest, err := svc.series.Book(t.Context(), f.anna, again)
		if err != nil {
			t.Fatal(err)
		}
		if len(rest.Meetings) != 2 || len(rest.Skipped) != 5 || rest.Skipped[0].Reason != "quota" {
			t.Errorf("%d meetings, skipped %+v", len(rest.Meetings), rest.Skipped)
		}
	})
}

// A date that was changed for itself stays when the rule changes. If the rule reaches it again, it is
// that date, and the meeting that would have moved there goes.
func TestSeries_movesOntoADateThatStays(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		svc := f.service()
		made, err := svc.series.Book(t.Context(), f.anna, every(f.turing, "FREQ=WEEKLY;COUNT=3"))
		if err != nil {
			t.Fatal(err)
		}
		aside := made.Meetings[1] // on the 18th
		if _, err := svc.Update(t.Context(), f.anna, aside.ID, nil, booking.Fields{Title: new("Aside")}); err != nil {
			t.Fatal(err)
		}
		for _, change := range []series.Fields{
			{Rule: new("FREQ=DAILY;INTERVAL=2;COUNT=6"), Fields: booking.Fields{Start: new(clock.Parse("2027-02-13T08:00:00")), End: new(clock.Parse("2027-02-13T09:00:00"))}},
			{Fields: booking.Fields{Start: new(clock.Parse("2027-02-12T10:00:00")), End: new(clock.Parse("2027-02-12T11:00:00"))}},
		} {
			if _, err := svc.series.Update(t.Context(), f.anna, made.Series.ID, nil, change); err != nil {
				t.Fatal(err)
			}
		}
		ms, err := f.store.SeriesMeetings(t.Context(), made.Series.ID)
		if err != nil {
			t.Fatal(err)
		}
		dates := map[string]meeting.ID{}
		for _, m := range ms {
			if m.Status == meeting.Confirmed {
				dates[m.OriginalWall.Format("01-02 15:04")] = m.ID
			}
		}
		if len(dates) != 6 || dates["02-18 10:00"] != aside.ID {
			t.Errorf("the series has %v; %d was changed for itself", dates, aside.ID)
		}
	})
}

// A plan that something has overtaken is refused as a whole.
func TestSaveSeries_outdated(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		made, err := f.service().series.Book(t.Context(), f.anna, every(f.turing, "FREQ=WEEKLY;COUNT=3"))
		if err != nil {
			t.Fatal(err)
		}
		read := func() (*meeting.Series, []*meeting.Meeting) {
			s, err := f.store.Series(t.Context(), made.Series.ID)
			if err != nil {
				t.Fatal(err)
			}
			ms, err := f.store.SeriesMeetings(t.Context(), s.ID)
			if err != nil {
				t.Fatal(err)
			}
			return s, ms
		}
		series, ms := read()
		ms[0].Title = "Planned"
		_, _, err = f.store.UpdateMeeting(t.Context(), ms[1].ID, func(m *meeting.Meeting) error { m.Title = "Other"; return nil })
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.store.SaveSeries(t.Context(), &meeting.SeriesChange{Series: series, Update: ms})
		if !errors.Is(err, meeting.ErrOutdated) {
			t.Errorf("a meeting had changed: %v", err)
		}
		if _, now := read(); now[0].Title != "Series" || now[0].Version != 1 {
			t.Errorf("something was saved: %+v", now[0])
		}
		series, _ = read()
		stale := *series
		if _, err := f.store.SaveSeries(t.Context(), &meeting.SeriesChange{Series: series}); err != nil {
			t.Fatal(err)
		}
		if _, err := f.store.SaveSeries(t.Context(), &meeting.SeriesChange{Series: &stale}); !errors.Is(err, meeting.ErrOutdated) {
			t.Errorf("the series had changed: %v", err)
		}
	})
}

// Twenty at once want the same dates: one gets them, the others are told which are taken.
func TestSeries_race(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		svc := f.service()
		var wg sync.WaitGroup
		results := make([]error, 20)
		for i := range results {
			wg.Go(func() {
				fields := every(f.turing, "FREQ=DAILY;COUNT=12")
				_, results[i] = svc.series.Book(t.Context(), []meeting.Actor{f.anna, f.ben}[i%2], fields)
			})
		}
		wg.Wait()
		won := 0
		for _, err := range results {
			if err == nil {
				won++
				continue
			}
			if e, ok := errors.AsType[*meeting.SeriesConflictError](err); !ok || len(e.Dates) != 12 || !e.Taken() {
				t.Errorf("a loser is told: %v", err)
			}
		}
		if won != 1 || f.count("meetings") != 12 || f.count("series") != 1 {
			t.Errorf("%d winners, %d meetings, %d series", won, f.count("meetings"), f.count("series"))
		}
	})
}

// Taken tells of each what is in its way, however long ago it began.
func TestTaken(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		for _, s := range []clock.Slot{slot("09:00", "12:00"), slot("12:00", "13:00"), slot("14:00", "15:00")} {
			f.book(s, f.turing)
		}
		var wanted []meeting.Occupancy
		for _, s := range []clock.Slot{slot("11:00", "12:30"), slot("13:00", "14:00"), slot("08:00", "16:00"), slot("08:30", "09:00")} {
			wanted = append(wanted, meeting.Occupancy{RoomID: f.turing.ID, Slot: s})
		}
		wanted = append(wanted, meeting.Occupancy{RoomID: f.hopper.ID, Slot: slot("09:00", "15:00")})
		taken, err := f.store.Taken(t.Context(), wanted, nil)
		if err != nil {
			t.Fatal(err)
		}
		var got []int
		for _, with := range taken {
			got = append(got, len(with))
		}
		if d := cmp.Diff([]int{2, 0, 3, 0, 0}, got); d != "" {
			t.Error(d)
		}
	})
}

// A year of dates is saved with a handful of statements: in a part of a second, on a machine
// that has nothing else to do.
func TestSeries_year(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		begun := time.Now()
		r, err := f.service().series.Book(t.Context(), f.anna, every(f.turing, "FREQ=DAILY;COUNT=366"))
		if err != nil {
			t.Fatal(err)
		}
		took := time.Since(begun)
		t.Logf("%d dates in %v", len(r.Meetings), took)
		if len(r.Meetings) != 366 || took > 2*time.Minute {
			t.Errorf("%d dates in %v", len(r.Meetings), took)
		}
		ids := map[meeting.ID]bool{}
		for _, m := range r.Meetings {
			ids[m.ID] = true
		}
		if len(ids) != 366 || ids[0] {
			t.Errorf("%d ids", len(ids))
		}
	})
}

// Two people change a series at the same moment. With the version that both had seen one of them
// does and the other is told; without, both do, one after the other, and neither's is lost.
func TestSeries_editedAtOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		svc, other := f.service(), f.service()
		made, err := svc.series.Book(t.Context(), f.anna, every(f.turing, "FREQ=WEEKLY;COUNT=3"))
		if err != nil {
			t.Fatal(err)
		}
		id, version := made.Series.ID, made.Series.Version
		both := func(i int, ifMatch *int64) []error {
			return together(2, func(who int) (err error) {
				title := series.Fields{Fields: booking.Fields{Title: new(fmt.Sprint("Title ", i))}}
				room := series.Fields{Fields: booking.Fields{Description: new(fmt.Sprint("Text ", i))}}
				if who == 0 {
					_, err = svc.series.Update(t.Context(), f.anna, id, ifMatch, title)
				} else {
					_, err = other.series.Update(t.Context(), f.admin, id, ifMatch, room)
				}
				return err
			})
		}
		for i := range 100 {
			won := 0
			for _, err := range both(i, &version) {
				if _, stale := errors.AsType[*meeting.VersionError](err); err == nil {
					won++
				} else if !stale {
					t.Fatalf("round %d: %v", i, err)
				}
			}
			now, err := f.store.Series(t.Context(), id)
			if err != nil || won != 1 || now.Version != version+1 {
				t.Fatalf("round %d: %d won, version %d after %d, %v", i, won, now.Version, version, err)
			}
			version = now.Version
			if i%10 > 0 {
				continue
			}
			if errs := both(1000+i, nil); errors.Join(errs...) != nil {
				t.Fatalf("round %d: %v", i, errs)
			}
			now, err = f.store.Series(t.Context(), id)
			if err != nil || now.Title != fmt.Sprint("Title ", 1000+i) || now.Description != fmt.Sprint("Text ", 1000+i) || now.Version != version+2 {
				t.Fatalf("round %d: %+v, %v", i, now, err)
			}
			version = now.Version
		}
	})
}
