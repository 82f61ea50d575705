package booking_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/places"
	"punctual/meeting/series"
)

// A series is bounded by its attendees and rooms on all dates, whether it is made or changed.
func TestSeries_boundsItsSize(t *testing.T) {
	w := newWorld(t)
	w.settings.Limits.MaxInvitations, w.settings.Limits.MaxRoomDates = 6, 6
	guests := func(n int) *[]meeting.Person {
		ps := []meeting.Person{}
		for i := range n {
			ps = append(ps, meeting.Person{Email: fmt.Sprintf("guest%d@example.net", i)})
		}
		return &ps
	}
	refused := func(what string, err error, code string) {
		t.Helper()
		if e, ok := errors.AsType[*meeting.InvalidError](err); !ok || !slices.Contains(codes(e.Faults), code) {
			t.Errorf("%s: %v, want %s", what, err, code)
		}
	}
	other := w.room(t, places.RoomFields{Name: new("Other")})
	f := w.weekly("FREQ=WEEKLY;COUNT=3", w.desk)
	f.Attendees = guests(3)
	_, err := w.series.Preview(t.Context(), w.ann, f)
	refused("a preview", err, "attendees too_many_invitations")
	_, err = w.series.Book(t.Context(), w.ann, f)
	refused("a booking", err, "attendees too_many_invitations")
	f.Attendees = guests(2)
	f.RoomIDs = &[]int64{w.desk.ID, other.ID}
	recurring := w.bookSeries(t, w.ann, f).Series
	_, err = w.series.Update(t.Context(), w.ann, recurring.ID, nil, series.Fields{Fields: booking.Fields{Attendees: guests(3)}, Scope: meeting.ScopeAll})
	refused("more attendees", err, "attendees too_many_invitations")
	_, err = w.series.Update(t.Context(), w.ann, recurring.ID, nil, series.Fields{Rule: new("FREQ=WEEKLY;COUNT=4"), Scope: meeting.ScopeAll})
	refused("more dates", err, "room_ids too_many_bookings")
	w.settings.Limits.MaxInvitations = 1
	if _, err = w.series.Update(t.Context(), w.ann, recurring.ID, nil, series.Fields{Fields: booking.Fields{Title: new("Other")}, Scope: meeting.ScopeAll}); err != nil {
		t.Errorf("another title of a series that is larger than allowed now: %v", err)
	}
}
