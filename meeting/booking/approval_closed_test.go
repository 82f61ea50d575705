package booking_test

import (
	"slices"
	"testing"
	"time"

	"punctual/meeting"
	"punctual/meeting/clock"
	"punctual/meeting/places"
)

// A room that was closed since it was asked for is confirmed by nobody, and by no time-out.
func TestService_closedMeanwhile(t *testing.T) {
	closings := map[string]struct {
		close func(t *testing.T, w *world, r *meeting.Room, s clock.Slot)
		code  string
	}{
		"a blackout": {func(t *testing.T, w *world, r *meeting.Room, s clock.Slot) {
			_, _, err := w.places.CreateBlackout(t.Context(), w.root, places.BlackoutFields{
				RoomID: &r.ID, Start: new(clock.At(s.Start.Add(-time.Hour))), End: new(clock.At(s.Start.Add(time.Minute))), Reason: new("painting"),
			})
			if err != nil {
				t.Fatal(err)
			}
		}, "blackout"},
		"out of use": {func(t *testing.T, w *world, r *meeting.Room, _ clock.Slot) {
			if _, err := w.places.UpdateRoom(t.Context(), w.root, r.ID, nil, places.RoomFields{Active: new(false)}); err != nil {
				t.Fatal(err)
			}
		}, "room_inactive"},
	}
	for name, closing := range closings {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.settings.OnTimeout = meeting.Confirmed
			m := w.book(t, w.ann, w.fields(48*time.Hour, w.board))
			l := meeting.Link{MeetingID: m.ID, Number: m.Request.Number, UserID: w.mona.ID}
			closing.close(t, w, w.board, m.Slot)
			for _, by := range []meeting.Actor{w.mona, w.root} {
				_, err := w.approval.Approve(t.Context(), by, m.ID, nil, "")
				if got := violations(t, err); !slices.Equal(got, []string{closing.code}) {
					t.Errorf("%s: %v", by.Name, got)
				}
			}
			if _, _, err := w.approval.DecideByLink(t.Context(), l, true, ""); err == nil {
				t.Error("approved by link")
			}
			same(t, "status", w.store.meetings[m.ID].Status, meeting.Pending)
			w.notified()
			if _, err := w.ExpireApprovals(t.Context(), w.due(t, meeting.JobExpire, m)); err != nil {
				t.Fatal(err)
			}
			same(t, "at its time-out", w.store.meetings[m.ID].Status, meeting.Rejected)
			same(t, "told", w.notified(), []string{"decision ann@example.org"})
		})
	}
	t.Run("a move into it", func(t *testing.T) {
		w, m := moved(t)
		closings["a blackout"].close(t, w, w.board, m.Request.Change.Slot)
		_, err := w.approval.Approve(t.Context(), w.mona, m.ID, nil, "")
		same(t, "broken", violations(t, err), []string{"blackout"})
	})
	t.Run("a rule that was changed does not matter", func(t *testing.T) {
		w := newWorld(t)
		m := w.book(t, w.ann, w.fields(48*time.Hour, w.board))
		w.store.rooms[w.board.ID].Policy.MaxDuration = time.Minute
		w.store.rooms[w.board.ID].Policy.MinNotice = 90 * time.Hour
		if _, err := w.approval.Approve(t.Context(), w.mona, m.ID, nil, ""); err != nil {
			t.Error(err)
		}
	})
	t.Run("rejecting needs no open room", func(t *testing.T) {
		w := newWorld(t)
		m := w.book(t, w.ann, w.fields(48*time.Hour, w.board))
		closings["out of use"].close(t, w, w.board, m.Slot)
		if _, err := w.approval.Reject(t.Context(), w.mona, m.ID, nil, ""); err != nil {
			t.Error(err)
		}
	})
}
