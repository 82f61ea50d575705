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

// Buffers that have grown do not reach from what is booked over its neighbours.
func TestService_buffersThatGrow(t *testing.T) {
	w := newWorld(t)
	hour := func(n int) string { return w.at.Add(time.Duration(n) * time.Hour).Format(time.RFC3339) }
	lab := w.room(t, places.RoomFields{Name: new("Lab"), ApprovalRequired: new(true), ApproverIDs: &[]int64{w.mona.ID}})
	book := func(from, to int) *meeting.Meeting {
		t.Helper()
		f := w.fields(time.Hour, lab)
		f.Start, f.End = new(clock.Parse(hour(from))), new(clock.Parse(hour(to)))
		return w.book(t, w.mona, f)
	}
	book(9, 10)
	m := book(10, 12)
	book(12, 13)
	book(15, 16)
	if _, err := w.places.UpdateRoom(t.Context(), w.root, lab.ID, nil, places.RoomFields{BufferBefore: new(20 * time.Minute), BufferAfter: new(20 * time.Minute)}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Update(t.Context(), w.mona, m.ID, nil, booking.Fields{End: new(clock.At(w.at.Add(12*time.Hour - 10*time.Minute)))}); err != nil {
		t.Errorf("a little shorter: %v", err)
	}
	same(t, "it holds", w.store.meetings[m.ID].Occupied[0].Slot, clock.Slot{Start: w.at.Add(10 * time.Hour), End: w.at.Add(12 * time.Hour)})
	var conflict *meeting.ConflictError
	if _, err := w.Update(t.Context(), w.mona, m.ID, nil, booking.Fields{End: new(clock.Parse(hour(12)))}); !errors.As(err, &conflict) {
		t.Errorf("longer again, over the buffer: %v", err)
	}
	if _, err := w.Update(t.Context(), w.mona, m.ID, nil, booking.Fields{End: new(clock.Parse(hour(11)))}); err != nil {
		t.Errorf("an hour shorter: %v", err)
	}
	same(t, "and the new buffer", w.store.meetings[m.ID].Occupied[0].Slot, clock.Slot{Start: w.at.Add(10 * time.Hour), End: w.at.Add(11*time.Hour + 20*time.Minute)})
	if _, err := w.Update(t.Context(), w.mona, m.ID, nil, booking.Fields{Start: new(clock.At(w.at.Add(10*time.Hour + 10*time.Minute)))}); !errors.As(err, &conflict) {
		t.Errorf("another start has the new buffer: %v", err)
	}

	// The same of a change that waits for a decision.
	f := w.fields(time.Hour, lab)
	f.Start, f.End = new(clock.Parse(hour(16))), new(clock.Parse(hour(18)))
	if _, err := w.Book(t.Context(), w.ann, f); !errors.As(err, &conflict) {
		t.Errorf("a new one next to another: %v", err)
	}
	if _, err := w.places.UpdateRoom(t.Context(), w.root, lab.ID, nil, places.RoomFields{BufferBefore: new(time.Duration(0)), BufferAfter: new(time.Duration(0))}); err != nil {
		t.Fatal(err)
	}
	theirs := w.book(t, w.ann, f)
	if _, err := w.approval.Approve(t.Context(), w.mona, theirs.ID, nil, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := w.places.UpdateRoom(t.Context(), w.root, lab.ID, nil, places.RoomFields{BufferBefore: new(20 * time.Minute)}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Update(t.Context(), w.ann, theirs.ID, nil, booking.Fields{End: new(clock.Parse(hour(17)))}); err != nil {
		t.Fatalf("asked to end sooner: %v", err)
	}
	if _, err := w.approval.Approve(t.Context(), w.mona, theirs.ID, nil, ""); err != nil {
		t.Errorf("agreed to that: %v", err)
	}
	same(t, "in the end", w.store.meetings[theirs.ID].Occupied[0].Slot, clock.Slot{Start: w.at.Add(16 * time.Hour), End: w.at.Add(17 * time.Hour)})
}

// A request for what somebody has is refused at once, even where requests take nothing.
func TestService_requestForWhatIsTaken(t *testing.T) {
	w := newWorld(t)
	w.settings.HoldPending = false
	w.book(t, w.ann, w.fields(24*time.Hour, w.board))
	free := w.book(t, w.bob, w.fields(24*time.Hour, w.board)) // two may ask
	w.book(t, w.mona, w.fields(24*time.Hour, w.board))
	var conflict *meeting.ConflictError
	if _, err := w.Book(t.Context(), w.ann, w.fields(24*time.Hour, w.board)); !errors.As(err, &conflict) || len(conflict.Conflicts) != 1 {
		t.Errorf("a new request: %v", err)
	}
	other := w.book(t, w.ann, w.fields(48*time.Hour, w.board))
	_, err := w.Update(t.Context(), w.ann, other.ID, nil, booking.Fields{Start: new(clock.At(w.at.Add(24 * time.Hour))), End: new(clock.At(w.at.Add(25 * time.Hour)))})
	if !errors.As(err, &conflict) {
		t.Errorf("a request that moves there: %v", err)
	}
	if _, err := w.Update(t.Context(), w.bob, free.ID, nil, booking.Fields{Title: new("Still waiting")}); err != nil {
		t.Errorf("a new title takes nothing: %v", err)
	}
}
