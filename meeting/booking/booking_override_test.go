package booking_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/clock"
	"punctual/meeting/places"
	"punctual/meeting/policy"
	"punctual/meeting/series"
)

func TestService_override(t *testing.T) {
	w := newWorld(t)
	lab := w.room(t, places.RoomFields{Name: new("Lab"), MaxDuration: new(30 * time.Minute), Quota: &policy.Quota{Per: policy.PerDay, Count: 1}})
	f := w.fields(24*time.Hour, lab)
	_, err := w.Book(t.Context(), w.root, f)
	same(t, "an admin without", violations(t, err), []string{"max_duration"})
	f.Override = &meeting.Override{Reason: " the board comes "}
	for _, by := range []meeting.Actor{w.ann, w.mona} {
		if _, err := w.Book(t.Context(), by, f); !errors.Is(err, meeting.ErrForbidden) {
			t.Errorf("%s: %v", by.Name, err)
		}
	}
	m := w.book(t, w.root, f)
	e := w.store.history[m.ID][0]
	if rules, ok := e.Changes["override"].To.([]meeting.Violation); !ok || e.Reason != "the board comes" || len(rules) != 1 || rules[0].Code != "max_duration" || rules[0].Limit != "30m" {
		t.Errorf("history %+v", e)
	}
	var conflict *meeting.ConflictError
	if _, err := w.Book(t.Context(), w.root, f); !errors.As(err, &conflict) {
		t.Errorf("what is taken stays taken: %v", err)
	}
	late := w.fields(26*time.Hour, lab)
	late.Override = &meeting.Override{Reason: "again"}
	second := w.book(t, w.root, late)
	if rules := w.store.history[second.ID][0].Changes["override"].To.([]meeting.Violation); len(rules) != 2 || rules[1].Code != "quota" {
		t.Errorf("rules %+v", rules)
	}
	short := w.fields(28*time.Hour, lab)
	short.End, short.Override = new(clock.At(w.at.Add(28*time.Hour+20*time.Minute))), late.Override
	third := w.book(t, w.root, short)
	if rules := w.store.history[third.ID][0].Changes["override"].To.([]meeting.Violation); len(rules) != 1 || rules[0].Code != "quota" {
		t.Errorf("the quota alone: %+v", rules)
	}
	elsewhere := w.fields(100*time.Hour, lab)
	elsewhere.End = new(clock.At(w.at.Add(100*time.Hour + 20*time.Minute)))
	moved := w.book(t, w.root, elsewhere)
	_, err = w.Update(t.Context(), w.root, moved.ID, nil, booking.Fields{
		Start: new(clock.At(w.at.Add(30 * time.Hour))), End: new(clock.At(w.at.Add(30*time.Hour + 20*time.Minute))), Override: late.Override,
	})
	es := w.store.history[moved.ID]
	if rules, ok := es[len(es)-1].Changes["override"].To.([]meeting.Violation); err != nil || !ok || len(rules) != 1 || rules[0].Code != "quota" {
		t.Errorf("the quota alone, of a move: %v, %+v", err, es[len(es)-1])
	}
	_, err = w.Book(t.Context(), w.root, booking.Fields{Override: &meeting.Override{}})
	if e, ok := errors.AsType[*meeting.InvalidError](err); !ok || !slices.ContainsFunc(e.Faults, func(f meeting.Fault) bool { return f.Location == "override.reason" }) {
		t.Errorf("without a reason: %v", err)
	}
	longer, err := w.Update(t.Context(), w.root, m.ID, nil, booking.Fields{End: new(clock.At(m.Slot.End.Add(time.Minute))), Override: &meeting.Override{Reason: "longer"}})
	if err != nil || longer.Slot.Duration() != 61*time.Minute {
		t.Fatalf("%+v, %v", longer, err)
	}
	entries := w.store.history[m.ID]
	if last := entries[len(entries)-1]; last.Action != meeting.ActionChanged || last.Reason != "longer" || last.Changes["override"].To == nil || last.Changes["end"].To == nil {
		t.Errorf("history %+v", last)
	}
}

// An override neither books nor changes what is over, and what is taken stays taken. What has
// begun it may book; nobody has to have checked in to that before.
func TestService_overrideOfThePast(t *testing.T) {
	w := newWorld(t)
	watched := w.room(t, places.RoomFields{Name: new("Lab"), CheckInRequired: new(true), CheckInGrace: new(10 * time.Minute)})
	o := &meeting.Override{Reason: "they are there"}
	begun := w.fields(-time.Hour, watched)
	begun.End = new(clock.At(w.at.Add(time.Hour)))
	_, err := w.Book(t.Context(), w.root, begun)
	same(t, "without", violations(t, err), []string{"in_past"})
	begun.Override = o
	m := w.book(t, w.root, begun)
	same(t, "status", m.Status, meeting.InProgress)
	over := w.fields(-2*time.Hour, w.desk)
	over.Override = o
	_, err = w.Book(t.Context(), w.root, over)
	same(t, "what is over", violations(t, err), []string{"in_past"})
	_, err = w.Update(t.Context(), w.root, m.ID, nil, booking.Fields{End: new(clock.At(w.at.Add(-time.Minute))), Override: o})
	same(t, "an end that has passed", violations(t, err), []string{"in_past"})
	_, err = w.series.Book(t.Context(), w.root, series.Fields{Fields: over, Rule: new("FREQ=DAILY;COUNT=2")})
	if e, ok := errors.AsType[*meeting.SeriesConflictError](err); !ok || len(e.Dates) != 1 || e.Dates[0].Reason != "in_past" {
		t.Errorf("a series that began: %v", err)
	}
}

// What an admin passed over is in the history of each date that needed it, quotas included,
// with the reason that was given and not only that it came through the series.
func TestService_overrideOfSeries(t *testing.T) {
	w := newWorld(t)
	lab := w.room(t, places.RoomFields{Name: new("Lab"), MaxDuration: new(time.Hour), Quota: &policy.Quota{Per: policy.PerMonth, Count: 2}})
	f := w.weekly("FREQ=DAILY;COUNT=3", lab)
	f.Override = &meeting.Override{Reason: "the board comes"}
	if _, err := w.series.Book(t.Context(), w.ann, f); !errors.Is(err, meeting.ErrForbidden) {
		t.Errorf("a member: %v", err)
	}
	r := w.bookSeries(t, w.root, f)
	for i, want := range [][]string{nil, nil, {"quota"}} {
		e := w.store.history[r.Meetings[i].ID][0]
		var codes []string
		if rules, ok := e.Changes["override"].To.([]meeting.Violation); ok {
			for _, b := range rules {
				codes = append(codes, b.Code)
			}
		}
		same(t, "passed over", codes, want)
		reason := meeting.ReasonSeries
		if want != nil {
			reason = "series: the board comes"
		}
		same(t, "reason", e.Reason, reason)
	}
	far := w.weekly("FREQ=YEARLY;COUNT=3", w.desk)
	if _, err := w.series.Book(t.Context(), w.root, far); err == nil {
		t.Error("a series reaches further than anybody may book")
	}
	far.Override = f.Override
	last := w.bookSeries(t, w.root, far).Meetings[2]
	if rules, ok := w.store.history[last.ID][0].Changes["override"].To.([]meeting.Violation); !ok || rules[0].Code != "max_advance" {
		t.Errorf("history of the last date: %+v", w.store.history[last.ID][0])
	}
	longer := series.Fields{Fields: booking.Fields{Start: new(clock.Parse("2027-02-11T10:00:00")), End: new(clock.Parse("2027-02-11T12:00:00"))}}
	if _, err := w.series.Update(t.Context(), w.root, r.Series.ID, nil, longer); err == nil {
		t.Error("an admin without an override broke a rule")
	}
	longer.Override = &meeting.Override{Reason: "longer"}
	if _, err := w.series.Update(t.Context(), w.root, r.Series.ID, nil, longer); err != nil {
		t.Fatal(err)
	}
	for _, m := range r.Meetings {
		es := w.store.history[m.ID]
		if last := es[len(es)-1]; last.Changes["override"].To == nil || last.Reason != "series: longer" {
			t.Errorf("history %+v", last)
		}
	}
}

// An override passes over what a room's rules say, so that only what is taken is replaced; by a
// room whose own rules hold, since nobody passed over those.
func TestService_overrideWithOtherRooms(t *testing.T) {
	w := newWorld(t)
	short := w.room(t, places.RoomFields{Name: new("Short"), Capacity: new(8), MaxDuration: new(30 * time.Minute)})
	w.room(t, places.RoomFields{Name: new("Also short"), Capacity: new(8), MaxDuration: new(30 * time.Minute)})
	taken := w.room(t, places.RoomFields{Name: new("Taken"), Capacity: new(8)})
	w.room(t, places.RoomFields{Name: new("Free"), Capacity: new(9)})
	w.room(t, places.RoomFields{Name: new("Free as well"), Capacity: new(10)})
	w.take(t, "2027-02-11", taken)
	f := w.weekly("FREQ=WEEKLY;COUNT=2", short, taken)
	f.OnConflict, f.Override = meeting.OtherRoom, &meeting.Override{Reason: "the board comes"}
	r := w.bookSeries(t, w.root, f)
	same(t, "rooms", roomsOn(r.Meetings), []string{"Short+Free", "Short+Taken"})
	for _, m := range r.Meetings {
		e := w.store.history[m.ID][0]
		rules, ok := e.Changes["override"].To.([]meeting.Violation)
		if !ok || len(rules) != 1 || rules[0].Code != "max_duration" || rules[0].RoomID != short.ID {
			t.Errorf("history %+v", e)
		}
	}
}
