package booking_test

import (
	"errors"
	"testing"
	"time"

	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/clock"
	"punctual/meeting/places"
	"punctual/meeting/policy"
)

// moved is ann's meeting in the board room at one, which she asked to move to four.
func moved(t *testing.T) (*world, *meeting.Meeting) {
	t.Helper()
	w := newWorld(t)
	m := w.book(t, w.ann, w.fields(time.Hour, w.board))
	if _, err := w.approval.Approve(t.Context(), w.mona, m.ID, nil, ""); err != nil {
		t.Fatal(err)
	}
	return w, w.move(t, m.ID, 4*time.Hour, 5*time.Hour)
}

func (w *world) move(t *testing.T, id meeting.ID, from, to time.Duration) *meeting.Meeting {
	t.Helper()
	w.notified()
	m, err := w.Update(t.Context(), w.ann, id, nil, booking.Fields{
		Start: new(clock.At(w.at.Add(from))), End: new(clock.At(w.at.Add(to))),
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestService_aMoveWaits(t *testing.T) {
	w, m := moved(t)
	noon := w.at
	same(t, "status", m.Status, meeting.Confirmed)
	same(t, "where it is", m.Slot.Start, noon.Add(time.Hour))
	same(t, "where to", m.Request.Change.Slot.Start, noon.Add(4*time.Hour))
	same(t, "deadline: the start it has", m.Request.Deadline, noon.Add(time.Hour))
	same(t, "told", w.notified(), []string{"approval_request mona@example.org"})

	t.Run("both slots are guarded", func(t *testing.T) {
		for _, at := range []time.Duration{time.Hour, 4 * time.Hour} {
			_, err := w.Book(t.Context(), w.root, w.fields(at, w.board))
			if _, ok := errors.AsType[*meeting.ConflictError](err); !ok {
				t.Errorf("at %v: %v", at, err)
			}
		}
		busy, err := w.FreeBusy(t.Context(), w.bob, w.board.ID, clock.Slot{Start: noon, End: noon.Add(24 * time.Hour)})
		if err != nil || len(busy) != 2 || busy[0].Meeting.Status != meeting.Confirmed || busy[1].Meeting.Status != meeting.Pending {
			t.Errorf("%+v, %v", busy, err)
		}
	})
	t.Run("asked again, nothing changes", func(t *testing.T) {
		again := w.move(t, m.ID, 4*time.Hour, 5*time.Hour)
		same(t, "number", again.Request.Number, m.Request.Number)
		same(t, "told", w.notified(), nil)
	})
	t.Run("another title leaves it", func(t *testing.T) {
		w.notified()
		titled, err := w.Update(t.Context(), w.ann, m.ID, nil, booking.Fields{Title: new("Retro")})
		if err != nil || titled.Request == nil || titled.Title != "Retro" {
			t.Errorf("%+v, %v", titled, err)
		}
	})
	t.Run("another move replaces it, and may overlap", func(t *testing.T) {
		other := w.move(t, m.ID, 90*time.Minute, 3*time.Hour)
		same(t, "told", w.notified(), []string{"approval_request mona@example.org"})
		same(t, "held: what it does not have", other.Request.Change.Held, []meeting.Occupancy{{RoomID: w.board.ID, Slot: clock.Slot{Start: noon.Add(2 * time.Hour), End: noon.Add(3 * time.Hour)}}})
		w.book(t, w.root, w.fields(4*time.Hour, w.board)) // the first is free again
	})
	t.Run("approved, it is applied", func(t *testing.T) {
		w.notified()
		done, err := w.approval.Approve(t.Context(), w.mona, m.ID, nil, "fine")
		if err != nil {
			t.Fatal(err)
		}
		same(t, "slot", done.Slot, clock.Slot{Start: noon.Add(90 * time.Minute), End: noon.Add(3 * time.Hour)})
		same(t, "occupied", done.Occupied, []meeting.Occupancy{{RoomID: w.board.ID, Slot: done.Slot}})
		same(t, "told", w.notified(), []string{"change bob@example.org", "change guest@example.net", "decision ann@example.org"})
		last := w.store.history[m.ID][len(w.store.history[m.ID])-1]
		if last.Action != meeting.ActionChanged || last.Actor.ID != w.mona.ID || last.Reason != "fine" || last.Changes["start"].To != done.Slot.Start {
			t.Errorf("history says %+v", last)
		}
		w.book(t, w.root, booking.Fields{Title: new("X"), RoomIDs: &[]int64{w.board.ID},
			Start: new(clock.At(noon.Add(time.Hour))), End: new(clock.At(noon.Add(90 * time.Minute)))})
	})
}

// A move to an earlier time is decided before that.
func TestService_aMoveToAnEarlierTime(t *testing.T) {
	w := newWorld(t)
	m := w.book(t, w.ann, w.fields(6*time.Hour, w.board))
	if _, err := w.approval.Approve(t.Context(), w.mona, m.ID, nil, ""); err != nil {
		t.Fatal(err)
	}
	m = w.move(t, m.ID, 2*time.Hour, 3*time.Hour)
	same(t, "deadline", m.Request.Deadline, w.at.Add(2*time.Hour))
}

// What happened to a meeting is told from what to what, of a move that waited as well.
func TestService_historyFromAndTo(t *testing.T) {
	w, m := moved(t)
	was, is := clock.Slot{Start: w.at.Add(time.Hour), End: w.at.Add(2 * time.Hour)}, clock.Slot{Start: w.at.Add(4 * time.Hour), End: w.at.Add(5 * time.Hour)}
	move := map[string]any{"start": is.Start, "end": is.End, "room_ids": []int64{w.board.ID}}
	if _, err := w.approval.Approve(t.Context(), w.mona, m.ID, nil, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Update(t.Context(), w.root, m.ID, nil, booking.Fields{
		Title: new("Retro"), Attendees: &[]meeting.Person{{Email: "guest@example.net"}}, RoomIDs: &[]int64{w.desk.ID},
		Start: new(clock.At(was.Start)), End: new(clock.At(was.End)), Visibility: new(meeting.Private), Reminders: &[]meeting.Reminder{},
	}); err != nil {
		t.Fatal(err)
	}
	request := w.book(t, w.ann, w.fields(30*time.Hour, w.desk))
	w.store.rooms[w.desk.ID].Approval = meeting.RoomApproval{Required: true, ApproverIDs: []int64{w.mona.ID}}
	pending := w.book(t, w.ann, w.fields(32*time.Hour, w.board))
	if _, err := w.Update(t.Context(), w.mona, pending.ID, nil, booking.Fields{}); !errors.Is(err, meeting.ErrForbidden) {
		t.Errorf("a stranger: %v", err)
	}
	if _, err := w.Update(t.Context(), w.root, pending.ID, nil, booking.Fields{End: new(clock.At(pending.Slot.End.Add(time.Minute)))}); err != nil {
		t.Fatal(err)
	}
	changes := func(id meeting.ID) (all []map[string]meeting.Change) {
		for _, e := range w.store.history[id] {
			all = append(all, e.Changes)
		}
		return all
	}
	status := func(from any, to meeting.Status) map[string]meeting.Change {
		return map[string]meeting.Change{"status": {From: from, To: to}}
	}
	same(t, "the meeting", changes(m.ID), []map[string]meeting.Change{
		status(nil, meeting.Pending), status(meeting.Pending, meeting.Confirmed), {"pending_change": {From: nil, To: move}},
		{"pending_change": {From: move, To: nil}, "start": {From: was.Start, To: is.Start}, "end": {From: was.End, To: is.End}},
		{
			"title": {From: "Review", To: "Retro"}, "attendees": {From: []string{"BOB@example.org", "guest@example.net"}, To: []string{"guest@example.net"}},
			"room_ids": {From: []int64{w.board.ID}, To: []int64{w.desk.ID}}, "start": {From: is.Start, To: was.Start}, "end": {From: is.End, To: was.End},
			"visibility": {From: meeting.Public, To: meeting.Private}, "reminders": {From: []string{"15m before start by email"}, To: []string{}},
		},
	})
	same(t, "a booking", changes(request.ID), []map[string]meeting.Change{status(nil, meeting.Confirmed)})
	same(t, "a request that an admin makes longer", changes(pending.ID), []map[string]meeting.Change{
		status(nil, meeting.Pending), {"end": {From: pending.Slot.End, To: pending.Slot.End.Add(time.Minute)}}, status(meeting.Pending, meeting.Confirmed),
	})
}

func TestService_endsOfAMoveThatWaits(t *testing.T) {
	tests := []struct {
		name     string
		end      func(*testing.T, *world, *meeting.Meeting) error
		want     meeting.Status
		notified []string
	}{
		{"rejected", func(t *testing.T, w *world, m *meeting.Meeting) error {
			_, err := w.approval.Reject(t.Context(), w.mona, m.ID, nil, "no")
			return err
		}, meeting.Confirmed, []string{"decision ann@example.org"}},
		{"the meeting begins where it is", func(t *testing.T, w *world, m *meeting.Meeting) error {
			outcome, err := outcomeOf(w.ExpireApprovals(t.Context(), w.due(t, meeting.JobExpire, m)))
			if outcome != meeting.Applied {
				t.Errorf("%v", outcome)
			}
			return err
		}, meeting.Confirmed, []string{"decision ann@example.org"}},
		{"cancelled", func(t *testing.T, w *world, m *meeting.Meeting) error {
			_, err := w.Cancel(t.Context(), w.ann, m.ID, nil, "")
			return err
		}, meeting.Cancelled, []string{"cancellation bob@example.org", "cancellation guest@example.net"}},
		{"back to where it is", func(t *testing.T, w *world, m *meeting.Meeting) error {
			back := w.move(t, m.ID, time.Hour, 2*time.Hour)
			if back.Request != nil {
				t.Errorf("still waits: %+v", back.Request)
			}
			return nil
		}, meeting.Confirmed, nil},
		{"moved by an admin", func(t *testing.T, w *world, m *meeting.Meeting) error {
			_, err := w.Update(t.Context(), w.root, m.ID, nil, booking.Fields{End: new(clock.At(w.at.Add(150 * time.Minute)))})
			return err
		}, meeting.Confirmed, []string{"change ann@example.org", "change bob@example.org", "change guest@example.net"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w, m := moved(t)
			noon := w.at
			w.notified()
			if err := tt.end(t, w, m); err != nil {
				t.Fatal(err)
			}
			same(t, "told", w.notified(), tt.notified)
			now := w.store.meetings[m.ID]
			same(t, "status", now.Status, tt.want)
			same(t, "start", now.Slot.Start, noon.Add(time.Hour))
			if now.Request != nil {
				t.Errorf("still waits: %+v", now.Request)
			}
			w.at = noon
			w.book(t, w.root, w.fields(4*time.Hour, w.board)) // nothing holds it
			_, err := w.approval.Approve(t.Context(), w.mona, m.ID, nil, "")
			if _, ok := errors.AsType[*meeting.StateError](err); !ok {
				t.Errorf("decided once more: %v", err)
			}
		})
	}
}

func TestService_aMoveThatHoldsNothing(t *testing.T) {
	w := newWorld(t)
	w.settings.HoldPending = false
	mine := w.book(t, w.mona, w.fields(6*time.Hour, w.desk))
	asked, err := w.Update(t.Context(), w.mona, mine.ID, nil, booking.Fields{RoomIDs: &[]int64{w.room(t, places.RoomFields{Name: new("Vault"), ApprovalRequired: new(true)}).ID}})
	if err != nil || asked.Request == nil || len(asked.Request.Change.Held) != 0 {
		t.Fatalf("%+v, %v", asked, err)
	}
	w.book(t, w.root, w.fields(6*time.Hour, &meeting.Room{Room: policy.Room{ID: asked.Request.Change.RoomIDs[0]}}))
	_, err = w.approval.Approve(t.Context(), w.root, mine.ID, nil, "")
	if _, ok := errors.AsType[*meeting.ConflictError](err); !ok {
		t.Errorf("got %v", err)
	}
	if now := w.store.meetings[mine.ID]; now.Request == nil || now.RoomIDs[0] != w.desk.ID {
		t.Errorf("%+v", now)
	}
}

// A time-out that approves makes no meeting move that has begun where it is.
func TestService_whatHasBegunDoesNotMove(t *testing.T) {
	for _, tt := range []struct {
		late time.Duration // of the job
		want time.Duration // behind noon
	}{{-time.Minute, 4 * time.Hour}, {0, time.Hour}, {time.Second, time.Hour}} {
		w := newWorld(t)
		w.settings.OnTimeout = meeting.Confirmed
		noon := w.at
		m := w.book(t, w.ann, w.fields(time.Hour, w.board))
		if _, err := w.approval.Approve(t.Context(), w.mona, m.ID, nil, ""); err != nil {
			t.Fatal(err)
		}
		m = w.move(t, m.ID, 4*time.Hour, 5*time.Hour)
		ref := w.due(t, meeting.JobExpire, m)
		w.at = m.Slot.Start.Add(tt.late)
		if _, err := w.ExpireApprovals(t.Context(), ref); err != nil {
			t.Fatal(err)
		}
		if now := w.store.meetings[m.ID]; now.Request != nil || !now.Slot.Start.Equal(noon.Add(tt.want)) {
			t.Errorf("%v late: it starts at %v and waits for %+v", tt.late, now.Slot.Start, now.Request)
		}
	}
}

// A move that nobody decided in time is over at its deadline, whenever the job comes; one that a
// time-out approves waits for the job.
func TestService_aMoveIsOverAtItsDeadline(t *testing.T) {
	for onTimeout, decidable := range map[meeting.Status]bool{meeting.Rejected: false, meeting.Confirmed: true} {
		w := newWorld(t)
		w.settings.OnTimeout = onTimeout
		m := w.book(t, w.ann, w.fields(48*time.Hour, w.board))
		if _, err := w.approval.Approve(t.Context(), w.mona, m.ID, nil, ""); err != nil {
			t.Fatal(err)
		}
		m = w.move(t, m.ID, 50*time.Hour, 51*time.Hour)
		w.at = m.Request.Deadline
		now, err := w.Meeting(t.Context(), w.ann, m.ID)
		if err != nil || (now.Request != nil) != decidable || now.Status != meeting.Confirmed {
			t.Errorf("%s: %s, waits for %+v, %v", onTimeout, now.Status, now.Request, err)
		}
		_, err = w.approval.Approve(t.Context(), w.mona, m.ID, nil, "")
		if decidable && err != nil {
			t.Errorf("%s: %v", onTimeout, err)
		}
		if !decidable {
			state(t, err, meeting.Confirmed)
		}
	}
}
