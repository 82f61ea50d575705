package booking_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/clock"
	"punctual/meeting/places"
)

func TestService_blackout(t *testing.T) {
	w := newWorld(t)
	site, err := w.places.CreateSite(t.Context(), w.root, places.SiteFields{Name: new("Berlin")})
	if err != nil {
		t.Fatal(err)
	}
	lab := w.room(t, places.RoomFields{Name: new("Lab"), SiteID: &site.ID})
	held := w.book(t, w.ann, w.fields(2*time.Hour, lab))
	if _, _, err := w.places.CreateBlackout(t.Context(), w.mona, places.BlackoutFields{}); !errors.Is(err, meeting.ErrForbidden) {
		t.Errorf("a manager: %v", err)
	}
	fields := places.BlackoutFields{
		SiteID: &site.ID, Reason: new("no power"),
		Start: new(clock.At(w.at.Add(2 * time.Hour))), End: new(clock.At(w.at.Add(4 * time.Hour))),
	}
	b, affected, err := w.places.CreateBlackout(t.Context(), w.root, fields)
	if err != nil || len(affected.Meetings) != 1 || affected.Meetings[0].ID != held.ID || affected.More {
		t.Fatalf("%v, affected %v", err, affected)
	}
	if m := w.store.meetings[held.ID]; m.Status != meeting.Confirmed {
		t.Errorf("what is booked is now %s", m.Status)
	}
	_, err = w.Book(t.Context(), w.bob, w.fields(3*time.Hour, lab, w.desk))
	same(t, "a booking", violations(t, err), []string{"blackout"})
	// One of a room without a site is not one of all such rooms.
	_, _, err = w.places.CreateBlackout(t.Context(), w.root, places.BlackoutFields{RoomID: &w.desk.ID, Start: fields.Start, End: fields.End})
	if err != nil {
		t.Fatal(err)
	}
	other := w.room(t, places.RoomFields{Name: new("Other")})
	_, _, err = w.places.CreateBlackout(t.Context(), w.root, places.BlackoutFields{RoomID: &other.ID, Start: new(clock.At(w.at.Add(90 * time.Hour))), End: new(clock.At(w.at.Add(91 * time.Hour)))})
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.Book(t.Context(), w.bob, w.fields(3*time.Hour, w.desk, other))
	same(t, "two rooms, of which one is closed", violations(t, err), []string{"blackout"})
	before := w.book(t, w.bob, w.fields(time.Hour, lab)) // ends as it begins
	_, err = w.Update(t.Context(), w.bob, before.ID, nil, booking.Fields{End: new(clock.At(w.at.Add(5 * time.Hour)))})
	same(t, "a longer one", violations(t, err), []string{"blackout"})
	// The meeting in the way may end sooner, get another title and leave.
	if _, err := w.Update(t.Context(), w.ann, held.ID, nil, booking.Fields{Title: new("Short"), End: new(clock.At(w.at.Add(150 * time.Minute)))}); err != nil {
		t.Error(err)
	}
	busy, err := w.FreeBusy(t.Context(), w.bob, lab.ID, clock.Slot{Start: w.at, End: w.at.Add(24 * time.Hour)})
	if err != nil || len(busy) != 3 || !slices.ContainsFunc(busy, func(b booking.Busytime) bool { return b.Blackout != nil && b.Blackout.Reason == "no power" }) {
		t.Errorf("free-busy %+v, %v", busy, err)
	}
	if r, err := w.Room(t.Context(), lab.ID); err != nil || len(r.Blackouts) != 1 {
		t.Errorf("the room shows %+v, %v", r, err)
	}
	if _, _, err := w.places.UpdateBlackout(t.Context(), w.mona, b.ID, nil, places.BlackoutFields{Reason: new("hers")}); !errors.Is(err, meeting.ErrForbidden) {
		t.Errorf("a manager changes it: %v", err)
	}
	if err := w.places.DeleteBlackout(t.Context(), w.mona, b.ID, nil); !errors.Is(err, meeting.ErrForbidden) {
		t.Errorf("a manager deletes it: %v", err)
	}
	if same, _, err := w.places.UpdateBlackout(t.Context(), w.root, b.ID, &b.Version, places.BlackoutFields{Reason: &b.Reason}); err != nil || same.Version != b.Version {
		t.Errorf("nothing new, and another version: %+v, %v", same, err)
	}
	if _, _, err := w.places.UpdateBlackout(t.Context(), w.root, b.ID, new(int64(7)), fields); err == nil {
		t.Error("another version was changed")
	}
	if err := w.places.DeleteBlackout(t.Context(), w.root, b.ID, &b.Version); err != nil {
		t.Fatal(err)
	}
	w.book(t, w.bob, w.fields(3*time.Hour, lab))
}

// A meeting that waits to move into a blackout is in its way, where it waits for that.
func TestService_blackoutOfMoves(t *testing.T) {
	w := newWorld(t)
	site, err := w.places.CreateSite(t.Context(), w.root, places.SiteFields{Name: new("Berlin")})
	if err != nil {
		t.Fatal(err)
	}
	hall := w.room(t, places.RoomFields{Name: new("Hall"), SiteID: &site.ID, ApprovalRequired: new(true), ApproverIDs: &[]int64{w.mona.ID}})
	at := func(in time.Duration) *clock.Time { return new(clock.At(w.at.Add(in))) }
	m := w.book(t, w.ann, w.fields(2*time.Hour, w.desk))
	if _, err := w.Update(t.Context(), w.ann, m.ID, nil, booking.Fields{RoomIDs: &[]int64{hall.ID}, Start: at(20 * time.Hour), End: at(22 * time.Hour)}); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name     string
		of       places.BlackoutFields
		from, to time.Duration
		want     int
	}{
		{"of the room", places.BlackoutFields{RoomID: &hall.ID}, 21 * time.Hour, 23 * time.Hour, 1},
		{"of its site", places.BlackoutFields{SiteID: &site.ID}, 21 * time.Hour, 23 * time.Hour, 1},
		{"later", places.BlackoutFields{RoomID: &hall.ID}, 22 * time.Hour, 23 * time.Hour, 0},
		{"where it is, then", places.BlackoutFields{RoomID: &w.desk.ID}, 21 * time.Hour, 23 * time.Hour, 0},
		{"both", places.BlackoutFields{RoomID: &w.desk.ID}, time.Hour, 23 * time.Hour, 1},
	} {
		tt.of.Start, tt.of.End = at(tt.from), at(tt.to)
		_, affected, err := w.places.CreateBlackout(t.Context(), w.root, tt.of)
		if err != nil || len(affected.Meetings) != tt.want {
			t.Errorf("%s: %d in the way, %v", tt.name, len(affected.Meetings), err)
		}
	}
	again := places.BlackoutFields{RoomID: &hall.ID, Start: at(20 * time.Hour), End: at(22 * time.Hour)}
	w.at = w.at.Add(2 * time.Hour) // it begins where it is, whether or not the timer has said so
	if _, affected, err := w.places.CreateBlackout(t.Context(), w.root, again); err != nil || len(affected.Meetings) != 0 {
		t.Errorf("what does not wait any more: %v, %v", affected, err)
	}
	w.at = w.at.Add(-2 * time.Hour)
	if _, err := w.approval.Reject(t.Context(), w.mona, m.ID, nil, ""); err != nil {
		t.Fatal(err)
	}
	_, affected, err := w.places.CreateBlackout(t.Context(), w.root, again)
	if err != nil || len(affected.Meetings) != 0 {
		t.Errorf("it does not move: %v, %v", affected, err)
	}
}

const mostAffected = 500

// Of more meetings than one answer holds the first are told, and that there are more.
func TestService_blackoutInTheWayOfMany(t *testing.T) {
	for _, tt := range []struct {
		booked, moving int // the latter behind the others, from another room
		more           bool
	}{{mostAffected, 0, false}, {mostAffected + 1, 0, true}, {mostAffected - 1, 1, false}, {mostAffected, 1, true}} {
		w := newWorld(t)
		hall := w.room(t, places.RoomFields{Name: new("Hall"), ApprovalRequired: new(true), ApproverIDs: &[]int64{w.mona.ID}})
		add := func(hours int, room *meeting.Room, change *meeting.PendingChange) {
			m := &meeting.Meeting{
				ID: w.store.next(), Status: meeting.Confirmed, Organizer: meeting.Person{UserID: w.ann.ID}, RoomIDs: []int64{room.ID},
				Slot: clock.Slot{Start: w.at.Add(time.Duration(hours) * time.Hour), End: w.at.Add(time.Duration(hours+1) * time.Hour)},
			}
			if change != nil {
				change.Slot, m.Request = m.Slot, &meeting.Request{Number: 1, Deadline: m.Slot.Start, Change: change}
			}
			w.store.meetings[m.ID] = m
		}
		for i := range tt.booked {
			add(i+1, hall, nil)
		}
		for i := range tt.moving {
			add(tt.booked+i+1, w.desk, &meeting.PendingChange{RoomIDs: []int64{hall.ID}})
		}
		_, affected, err := w.places.CreateBlackout(t.Context(), w.root, places.BlackoutFields{
			RoomID: &hall.ID, Start: new(clock.At(w.at)), End: new(clock.At(w.at.AddDate(1, 0, 0))),
		})
		if err != nil || affected.More != tt.more || len(affected.Meetings) != min(tt.booked+tt.moving, mostAffected) {
			t.Errorf("%+v: told %d and more: %v, %v", tt, len(affected.Meetings), affected.More, err)
		}
	}
}

// A blackout that is made while a booking is under way makes it be judged again.
func TestService_blackoutMeanwhile(t *testing.T) {
	w := newWorld(t)
	inner := w.directory.Directory
	w.directory.Directory = between{inner, func() {
		w.directory.Directory = inner
		_, _, err := w.places.CreateBlackout(t.Context(), w.root, places.BlackoutFields{
			RoomID: &w.board.ID, Start: new(clock.At(w.at)), End: new(clock.At(w.at.Add(24 * time.Hour))),
		})
		if err != nil {
			t.Error(err)
		}
	}}
	_, err := w.Book(t.Context(), w.ann, w.fields(time.Hour, w.board)) // asks for mona between judging and saving
	same(t, "refused", violations(t, err), []string{"blackout"})
}

// between does something when people are looked up.
type between struct {
	booking.Directory
	do func()
}

func (d between) People(ctx context.Context, ids []int64) ([]meeting.Person, error) {
	d.do()
	return d.Directory.People(ctx, ids)
}

// Rooms show the blackouts of the next 90 days, and bookings follow all.
func TestRooms_blackoutsAhead(t *testing.T) {
	w := newWorld(t)
	const day = 24 * time.Hour
	for _, in := range []time.Duration{2 * day, 89 * day, 91 * day} {
		_, _, err := w.places.CreateBlackout(t.Context(), w.root, places.BlackoutFields{RoomID: &w.desk.ID, Start: new(clock.At(w.at.Add(in))), End: new(clock.At(w.at.Add(in + time.Hour)))})
		if err != nil {
			t.Fatal(err)
		}
	}
	rooms, _, err := w.Rooms(t.Context(), meeting.RoomQuery{}, meeting.Page{Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	one, err := w.Room(t.Context(), w.desk.ID)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range append(rooms, one) {
		if r.ID == w.desk.ID && (len(r.Blackouts) != 2 || !r.BlackoutsUntil.Equal(w.at.Add(90*day))) {
			t.Errorf("%v until %v", r.Blackouts, r.BlackoutsUntil)
		}
	}
	_, err = w.Book(t.Context(), w.ann, w.fields(91*day, w.desk))
	same(t, "a booking later", violations(t, err), []string{"blackout"})
}
