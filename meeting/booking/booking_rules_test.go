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

// utc reads "2027-02-10T09:00".
func utc(t *testing.T, s string) time.Time {
	t.Helper()
	m, err := clock.Parse(s).In(time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	return m.At
}

// violations are the codes of a refusal's violations.
func violations(t *testing.T, err error) []string {
	t.Helper()
	e, ok := errors.AsType[*meeting.PolicyError](err)
	if !ok {
		t.Fatalf("got %v, want a policy error", err)
	}
	var out []string
	for _, f := range e.Violations {
		out = append(out, f.Code)
	}
	return out
}

// Whatever the rules allow and an admin passes over, nothing is longer than a year.
func TestService_longest(t *testing.T) {
	w := newWorld(t)
	open := w.room(t, places.RoomFields{Name: new("Lab"), OpeningHours: &[]policy.OpeningHours{{Days: []string{"MO", "TU", "WE", "TH", "FR", "SA", "SU"}, From: "00:00", To: "24:00"}}, Quota: &policy.Quota{Per: policy.PerDay, Count: 1}})
	f := w.fields(time.Hour, open)
	f.Override = &meeting.Override{Reason: "for ever"}
	f.End = new(clock.At(w.at.Add(time.Hour + booking.MaxLength)))
	m := w.book(t, w.root, f)
	longer := booking.Fields{End: new(clock.Parse("9999-12-31T00:00:00Z")), Override: f.Override}
	for name, err := range map[string]error{
		"a booking":    func() error { f.End = longer.End; _, err := w.Book(t.Context(), w.root, f); return err }(),
		"a change":     func() error { _, err := w.Update(t.Context(), w.root, m.ID, nil, longer); return err }(),
		"an extension": func() error { _, err := w.Extend(t.Context(), w.root, m.ID, nil, longer); return err }(),
		"a series": func() error {
			_, err := w.series.Preview(t.Context(), w.root, series.Fields{Fields: f, Rule: new("FREQ=DAILY;COUNT=1")})
			return err
		}(),
	} {
		e, ok := errors.AsType[*meeting.InvalidError](err)
		if !ok || !slices.Contains(codes(e.Faults), "end too_long") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A room that stays with a meeting is not judged again; one that comes is.
func TestService_roomsThatStay(t *testing.T) {
	w := newWorld(t)
	lab := w.room(t, places.RoomFields{Name: new("Lab")})
	m := w.book(t, w.ann, w.fields(time.Hour, lab, w.desk))
	hours := func(notice time.Duration) places.RoomFields { return places.RoomFields{MinNotice: &notice} }
	for _, r := range []*meeting.Room{lab, w.desk} {
		if _, err := w.places.UpdateRoom(t.Context(), w.root, r.ID, nil, hours(2*time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Update(t.Context(), w.ann, m.ID, nil, booking.Fields{RoomIDs: &[]int64{lab.ID}}); err != nil {
		t.Errorf("a room is given back: %v", err)
	}
	_, err := w.Update(t.Context(), w.ann, m.ID, nil, booking.Fields{RoomIDs: &[]int64{lab.ID, w.desk.ID}})
	e, ok := errors.AsType[*meeting.PolicyError](err)
	if !ok || len(e.Violations) != 1 || e.Violations[0].Figures.RoomID != w.desk.ID {
		t.Errorf("and taken again: %v", err)
	}
	_, err = w.Update(t.Context(), w.ann, m.ID, nil, booking.Fields{Start: new(clock.At(m.Slot.Start.Add(time.Minute)))})
	same(t, "a move", violations(t, err), []string{"min_notice"})
}
