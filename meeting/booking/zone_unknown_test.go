package booking_test

import (
	"bytes"
	"errors"
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

// A time zone that the zone data have lost since is never taken for another: rooms in it are
// closed to everybody but an override, and dates of a series in it are not calculated.
func TestZone_unknownSinceItWasStored(t *testing.T) {
	const lost = "Mars/Olympus_Mons"
	w := newWorld(t)
	var log bytes.Buffer
	w.log = &log
	hours := &[]policy.OpeningHours{{Days: []string{"MO", "TU", "WE", "TH", "FR", "SA", "SU"}, From: "00:00", To: "24:00"}}
	recurring := w.bookSeries(t, w.ann, w.weekly("FREQ=WEEKLY;COUNT=4", w.desk)).Series
	for name, f := range map[string]places.RoomFields{
		"always open": {},
		"with hours":  {OpeningHours: hours},
		"on a grid":   {Step: new(30 * time.Minute)},
		"with quota":  {Quota: &policy.Quota{Per: policy.PerDay, Count: 5}},
	} {
		f.Name = &name
		room := w.room(t, f)
		w.store.rooms[room.ID].Timezone = lost
		book := booking.Fields{
			Title: new("Review"), RoomIDs: &[]int64{room.ID}, Timezone: new("Europe/Berlin"),
			Start: new(clock.Parse("2027-02-11T10:00:00")), End: new(clock.Parse("2027-02-11T11:00:00")),
		}
		_, err := w.Book(t.Context(), w.ann, book)
		if e, ok := errors.AsType[*meeting.PolicyError](err); !ok {
			t.Errorf("%s: booked: %v", name, err)
		} else {
			same(t, name, codes(e.Violations), []string{"room_ids unknown_timezone"})
		}
		rule := w.weekly("FREQ=WEEKLY;COUNT=2", room)
		if _, err := w.series.Book(t.Context(), w.ann, rule); err == nil {
			t.Errorf("%s: a series was booked", name)
		}
		rule.Timezone = nil // that of the room
		_, err = w.series.Preview(t.Context(), w.ann, rule)
		if e, ok := errors.AsType[*meeting.InvalidError](err); !ok || e.Faults[0].Code != "unknown_timezone" {
			t.Errorf("%s: a series in the room's zone: %v", name, err)
		}
		open := w.store.rooms[room.ID].Clone()
		open.Zone = lost
		day := clock.Slot{Start: w.Now(), End: w.Now().Add(24 * time.Hour)}
		for slot := range open.Openings(day, time.Hour, nil, nil) {
			t.Errorf("%s: %v is suggested", name, slot)
			break
		}
		book.Override = &meeting.Override{Reason: "urgent"}
		if _, err := w.Book(t.Context(), w.root, book); err != nil {
			t.Errorf("%s: an admin may override: %v", name, err)
		}
	}

	w.store.series[recurring.ID].Timezone = lost
	refused := func(what string, err error) {
		t.Helper()
		if e, ok := errors.AsType[*meeting.InvalidError](err); !ok || e.Faults[0].Code != "unknown_timezone" {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err := w.series.Update(t.Context(), w.ann, recurring.ID, nil, series.Fields{Rule: new("FREQ=WEEKLY;COUNT=6")})
	refused("another rule", err)
	_, err = w.series.Update(t.Context(), w.ann, recurring.ID, nil, series.Fields{From: new(clock.Parse("2027-02-18T10:00:00")), Fields: booking.Fields{Title: new("X")}})
	refused("dates from one on", err)
	_, err = w.series.AddDate(t.Context(), w.ann, recurring.ID, nil, new(clock.Parse("2027-02-18T10:00:00")), meeting.FailOnConflict)
	refused("a date again", err)
	if _, err := w.series.Series(t.Context(), w.ann, recurring.ID); err != nil {
		t.Errorf("the series is shown: %v", err)
	}
	if _, err := w.series.Cancel(t.Context(), w.ann, recurring.ID, nil, meeting.ScopeAll, nil, ""); err != nil {
		t.Errorf("the series is cancelled: %v", err)
	}
	if n := strings.Count(log.String(), "time zone unknown"); n != 1 || !strings.Contains(log.String(), "level=ERROR") {
		t.Errorf("logged %d times: %s", n, &log)
	}
}
