package booking_test

import (
	"errors"
	"testing"
	"time"

	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/clock"
	"punctual/meeting/places"
)

// restrict gives a room access of its own. In this world each user is in the group of their ID.
func (w *world) restrict(t *testing.T, r *meeting.Room, a meeting.Access) {
	t.Helper()
	given := &a
	if _, err := w.places.UpdateRoom(t.Context(), w.root, r.ID, nil, places.RoomFields{Access: &given}); err != nil {
		t.Fatal(err)
	}
	w.store.rooms[r.ID].Access = a // the real store follows what is given
}

func TestAccess_book(t *testing.T) {
	w := newWorld(t)
	before := w.book(t, w.ann, w.fields(time.Hour, w.desk))
	w.restrict(t, w.desk, meeting.Access{Book: []int64{w.mona.ID}})
	for _, f := range []booking.Fields{w.fields(3*time.Hour, w.desk), w.fields(3*time.Hour, w.board, w.desk)} {
		_, err := w.Book(t.Context(), w.ann, f)
		same(t, "a stranger", violations(t, err), []string{meeting.ViolationNotAllowed})
		f.Override = &meeting.Override{Reason: "please"}
		if _, err := w.Book(t.Context(), w.ann, f); !errors.Is(err, meeting.ErrForbidden) {
			t.Errorf("a stranger who overrides: %v", err)
		}
	}
	w.book(t, w.mona, w.fields(5*time.Hour, w.desk))
	w.book(t, w.root, w.fields(7*time.Hour, w.desk))

	// What was booked before stays, and may become shorter, but not move.
	end, later := before.Slot.End.Add(-time.Minute), before.Slot.Start.Add(24*time.Hour)
	if _, err := w.Update(t.Context(), w.ann, before.ID, nil, booking.Fields{Title: new("Still mine"), End: new(clock.At(end))}); err != nil {
		t.Errorf("shorter: %v", err)
	}
	_, err := w.Update(t.Context(), w.ann, before.ID, nil, booking.Fields{Start: new(clock.At(later)), End: new(clock.At(later.Add(time.Hour)))})
	same(t, "moved", violations(t, err), []string{meeting.ViolationNotAllowed})

	other := w.book(t, w.ann, w.fields(9*time.Hour, w.board))
	_, err = w.Update(t.Context(), w.ann, other.ID, nil, booking.Fields{RoomIDs: &[]int64{w.desk.ID}})
	same(t, "into the room", violations(t, err), []string{meeting.ViolationNotAllowed})
}

func TestAccess_overrideAndApproval(t *testing.T) {
	w := newWorld(t)
	if _, err := w.places.UpdateRoom(t.Context(), w.root, w.desk.ID, nil, places.RoomFields{ApprovalRequired: new(true), MinDuration: new(2 * time.Hour)}); err != nil {
		t.Fatal(err)
	}
	w.restrict(t, w.desk, meeting.Access{WithoutApproval: []int64{w.ann.ID}, Override: []int64{w.ann.ID}})
	f := w.fields(time.Hour, w.desk)
	_, err := w.Book(t.Context(), w.ann, f)
	same(t, "too short", violations(t, err), []string{"min_duration"})
	f.Override = &meeting.Override{Reason: "a short visit"}
	if m := w.book(t, w.ann, f); m.Status != meeting.Confirmed || m.Approval.DecidedBy != w.ann.ID {
		t.Errorf("is %s, decided by %d", m.Status, m.Approval.DecidedBy)
	}
	f = w.fields(5*time.Hour, w.desk)
	f.Override = &meeting.Override{Reason: "a short visit"}
	if _, err := w.Book(t.Context(), w.mona, f); !errors.Is(err, meeting.ErrForbidden) {
		t.Errorf("a manager of another group: %v", err)
	}
	w.restrict(t, w.desk, meeting.Access{Override: []int64{w.ann.ID}})
	if m := w.book(t, w.ann, f); m.Status != meeting.Pending {
		t.Errorf("without the right to book without approval: %s", m.Status)
	}
}

func TestAccess_faults(t *testing.T) {
	w := newWorld(t)
	for _, a := range []meeting.Access{{Book: []int64{0}}, {Book: []int64{1, 1}}, {Override: make([]int64, 101)}} {
		given := &a
		_, err := w.places.UpdateRoom(t.Context(), w.root, w.desk.ID, nil, places.RoomFields{Access: &given})
		if e, ok := errors.AsType[*meeting.InvalidError](err); !ok || len(e.Faults) != 1 {
			t.Errorf("%+v: %v", a, err)
		}
	}
}

// A display at the door books a room for everyone, also for groups that it is not in.
func TestAccess_door(t *testing.T) {
	w := newWorld(t)
	w.restrict(t, w.desk, meeting.Access{Book: []int64{w.mona.ID}})
	seen, err := w.door.Door(t.Context(), w.bob, w.desk.ID)
	if err != nil || len(seen.Book) != 3 {
		t.Fatalf("it offers %v, %v", seen.Book, err)
	}
	if m, err := w.door.Book(t.Context(), w.bob, w.desk.ID, 15*time.Minute, ""); err != nil || m.Status != meeting.InProgress {
		t.Errorf("%+v, %v", m, err)
	}
}

// The right to override policies in one room does not lift those of another, which the meeting leaves.
func TestAccess_overrideOfLastChange(t *testing.T) {
	w := newWorld(t)
	left := w.room(t, places.RoomFields{Name: new("Left"), LastChange: new(24 * time.Hour)})
	w.restrict(t, w.desk, meeting.Access{Override: []int64{w.ann.ID}})
	m := w.book(t, w.ann, w.fields(time.Hour, left))
	f := booking.Fields{RoomIDs: &[]int64{w.desk.ID}, Override: &meeting.Override{Reason: "a larger table"}}
	_, err := w.Update(t.Context(), w.ann, m.ID, nil, f)
	same(t, "leaving a room of others", violations(t, err), []string{"last_change"})
	w.restrict(t, left, meeting.Access{Override: []int64{w.ann.ID}})
	moved, err := w.Update(t.Context(), w.ann, m.ID, nil, f)
	if err != nil || moved.RoomIDs[0] != w.desk.ID {
		t.Errorf("%+v, %v", moved, err)
	}
}

// Rooms that a series may not have are not chosen instead of others, and give way to others.
func TestAccess_otherRoom(t *testing.T) {
	w := newWorld(t)
	wanted := w.room(t, places.RoomFields{Name: new("Wanted"), Capacity: new(8)})
	exec := w.room(t, places.RoomFields{Name: new("Exec"), Capacity: new(8)})
	w.room(t, places.RoomFields{Name: new("Other"), Capacity: new(10)})
	w.restrict(t, exec, meeting.Access{Book: []int64{w.mona.ID}})
	w.take(t, "2027-02-11", wanted)
	f := w.weekly("FREQ=WEEKLY;COUNT=2", wanted)
	f.OnConflict = meeting.OtherRoom
	same(t, "for a member", roomsOn(w.bookSeries(t, w.ann, f).Meetings), []string{"Other", "Wanted"})
	f = w.weekly("FREQ=WEEKLY;COUNT=2", exec)
	f.Start, f.End = new(clock.Parse("2027-02-12T10:00:00")), new(clock.Parse("2027-02-12T11:00:00"))
	f.OnConflict = meeting.OtherRoom
	same(t, "instead of a room of others", roomsOn(w.bookSeries(t, w.ann, f).Meetings), []string{"Wanted", "Wanted"})
}
