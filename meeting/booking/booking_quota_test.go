package booking_test

import (
	"testing"
	"time"

	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/clock"
	"punctual/meeting/places"
	"punctual/meeting/policy"
)

func TestService_quota(t *testing.T) {
	w := newWorld(t)
	lab := w.room(t, places.RoomFields{Name: new("Lab"), Quota: &policy.Quota{Per: policy.PerDay, Count: 2}})
	day := func(n int) time.Duration { return time.Duration(n) * 24 * time.Hour }
	first := w.book(t, w.ann, w.fields(day(1), lab))
	w.book(t, w.ann, w.fields(day(1)+time.Hour, lab))
	_, err := w.Book(t.Context(), w.ann, w.fields(day(1)+2*time.Hour, lab))
	same(t, "a third", violations(t, err), []string{"quota"})
	w.book(t, w.bob, w.fields(day(1)+2*time.Hour, lab)) // has a quota of his own
	other := w.book(t, w.ann, w.fields(day(2), lab))

	at := func(in time.Duration) booking.Fields {
		return booking.Fields{Start: new(clock.At(w.at.Add(in))), End: new(clock.At(w.at.Add(in + time.Hour)))}
	}
	_, err = w.Update(t.Context(), w.ann, other.ID, nil, at(day(1)+4*time.Hour))
	same(t, "a move into a full day", violations(t, err), []string{"quota"})
	if _, err := w.Update(t.Context(), w.ann, first.ID, nil, at(day(1)+4*time.Hour)); err != nil {
		t.Errorf("a move within the day: %v", err)
	}
	if _, err := w.Cancel(t.Context(), w.ann, first.ID, nil, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Update(t.Context(), w.ann, other.ID, nil, at(day(1)+4*time.Hour)); err != nil {
		t.Errorf("a place was free again: %v", err)
	}

	elsewhere := w.book(t, w.ann, w.fields(day(1)+7*time.Hour, w.desk))
	_, err = w.Update(t.Context(), w.ann, elsewhere.ID, nil, booking.Fields{RoomIDs: &[]int64{lab.ID}})
	same(t, "into the room, at its time", violations(t, err), []string{"quota"})

	// With another rule broken, both are told; also of a move.
	third := w.book(t, w.ann, w.fields(day(5), lab))
	long := at(day(1) + 8*time.Hour)
	long.End = new(clock.At(w.at.Add(day(3))))
	_, err = w.Update(t.Context(), w.ann, third.ID, nil, long)
	same(t, "a long move", violations(t, err), []string{"max_duration", "quota"})
	f := w.fields(day(1)+6*time.Hour, lab)
	f.End = new(clock.At(w.at.Add(day(3))))
	_, err = w.Book(t.Context(), w.ann, f)
	same(t, "all at once", violations(t, err), []string{"max_duration", "quota"})
}

// Who is over a quota since it was lowered moves within the period all the same.
func TestService_quotaThatWasLowered(t *testing.T) {
	w := newWorld(t)
	lab := w.room(t, places.RoomFields{Name: new("Lab"), Quota: &policy.Quota{Per: policy.PerWeek, Count: 2}})
	m := w.book(t, w.ann, w.fields(time.Hour, lab))
	w.book(t, w.ann, w.fields(2*time.Hour, lab))
	if _, err := w.places.UpdateRoom(t.Context(), w.root, lab.ID, nil, places.RoomFields{Quota: &policy.Quota{Per: policy.PerWeek, Count: 1}}); err != nil {
		t.Fatal(err)
	}
	w.move(t, m.ID, 24*time.Hour, 25*time.Hour)
	_, err := w.Update(t.Context(), w.ann, m.ID, nil, booking.Fields{Start: new(clock.Parse("2027-02-16T09:00:00Z")), End: new(clock.Parse("2027-02-16T10:00:00Z"))})
	if err != nil {
		t.Errorf("into a week without another: %v", err)
	}
	_, err = w.Update(t.Context(), w.ann, m.ID, nil, booking.Fields{Start: new(clock.Parse("2027-02-12T09:00:00Z")), End: new(clock.Parse("2027-02-12T10:00:00Z"))})
	same(t, "and back", violations(t, err), []string{"quota"})
}

// A request counts from when it takes its slot.
func TestService_quotaOfRequests(t *testing.T) {
	w := newWorld(t)
	w.settings.HoldPending = false
	lab := w.room(t, places.RoomFields{Name: new("Lab"), Quota: &policy.Quota{Per: policy.PerDay, Count: 1}, ApprovalRequired: new(true), ApproverIDs: &[]int64{w.mona.ID}})
	first := w.book(t, w.ann, w.fields(24*time.Hour, lab))
	second := w.book(t, w.ann, w.fields(26*time.Hour, lab))
	if _, err := w.approval.Approve(t.Context(), w.mona, second.ID, nil, ""); err != nil {
		t.Fatal(err)
	}
	_, err := w.approval.Approve(t.Context(), w.mona, first.ID, nil, "")
	same(t, "the other", violations(t, err), []string{"quota"})
	w.settings.OnTimeout = meeting.Confirmed
	outcome, err := outcomeOf(w.ExpireApprovals(t.Context(), meeting.Ref{ID: first.ID, Version: first.ScheduleVersion}))
	if m := w.store.meetings[first.ID]; err != nil || outcome != meeting.Applied || m.Status != meeting.Rejected {
		t.Errorf("on its time-out: %v, %v, %v", outcome, err, m.Status)
	}
}
