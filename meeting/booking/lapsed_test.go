package booking_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"punctual/meeting"
	"punctual/meeting/clock"
	"punctual/meeting/places"
)

// A room that became free without anybody's doing is booked although the timer is late. What the
// timer would have recorded is recorded first, and once.
func TestService_booksWhatHasLapsed(t *testing.T) {
	lounge := places.RoomFields{Name: new("Lounge"), CheckInRequired: new(true), CheckInGrace: new(10 * time.Minute)}
	tests := []struct {
		name     string
		prepare  func(*world) *meeting.Room
		until    func(*meeting.Meeting) time.Time
		want     []meeting.Action
		notified string
	}{
		{"a request", func(w *world) *meeting.Room { return w.board }, func(m *meeting.Meeting) time.Time { return m.Approval.Deadline }, []meeting.Action{meeting.ActionCreated, meeting.ActionRejected}, "decision ann@example.org"},
		{"a no-show", func(w *world) *meeting.Room { return w.room(t, lounge) }, func(m *meeting.Meeting) time.Time { return m.CheckIn.Until }, []meeting.Action{meeting.ActionCreated, meeting.ActionReleased}, "released ann@example.org"},
		{"both", func(w *world) *meeting.Room {
			w.settings.OnTimeout = meeting.Confirmed
			f := lounge
			f.ApprovalRequired, f.ApproverIDs = new(true), &[]int64{w.mona.ID}
			return w.room(t, f)
		}, func(m *meeting.Meeting) time.Time { return m.CheckIn.Until }, []meeting.Action{meeting.ActionCreated, meeting.ActionConfirmed, meeting.ActionReleased}, "released ann@example.org"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.settings.ApprovalTimeout = time.Hour
			room := tt.prepare(w)
			m := w.book(t, w.ann, w.fields(2*time.Hour, room))
			w.notified()
			w.at = tt.until(m).Add(-time.Second)
			again := w.fields(0, room)
			again.Start, again.End = new(clock.At(w.at.Add(time.Minute))), new(clock.At(m.Slot.End))
			if _, err := w.Book(t.Context(), w.mona, again); !errors.As(err, new(*meeting.ConflictError)) {
				t.Errorf("a second early: %v", err)
			}
			same(t, "history, a second early", w.actions(m.ID), tt.want[:1])
			w.at = w.at.Add(time.Second)
			w.book(t, w.mona, again)
			same(t, "history", w.actions(m.ID), tt.want)
			if last := w.store.history[m.ID]; last[len(last)-1].Actor.Kind != meeting.ActorTimer {
				t.Errorf("by %+v", last[len(last)-1].Actor)
			}
			if notified := w.notified(); !slices.Contains(notified, tt.notified) {
				t.Errorf("told %v", notified)
			}
			if w.message(meeting.JobExpire, m.ID) || w.message(meeting.JobNoShow, m.ID) {
				t.Errorf("still waiting: %v", w.queue)
			}
		})
	}
}

// A request that its time-out approved is confirmed for whoever changes it, though the timer is
// late: under the version that readers have seen.
func TestService_changesWhatATimeOutApproved(t *testing.T) {
	w := newWorld(t)
	w.settings.OnTimeout = meeting.Confirmed
	m := w.book(t, w.ann, w.fields(48*time.Hour, w.board))
	w.at = m.Approval.Deadline
	seen, err := w.Meeting(t.Context(), w.ann, m.ID)
	if err != nil || seen.Status != meeting.Confirmed || seen.Approval.Reason != meeting.ReasonTimeout || seen.Request != nil {
		t.Fatalf("%+v, %v", seen, err)
	}
	if _, err := w.Cancel(t.Context(), w.ann, m.ID, &seen.Version, ""); err != nil {
		t.Fatal(err)
	}
	same(t, "history", w.actions(m.ID), []meeting.Action{meeting.ActionCreated, meeting.ActionConfirmed, meeting.ActionCancelled})

	m = w.book(t, w.ann, w.fields(48*time.Hour, w.board))
	w.at = m.Approval.Deadline
	_, err = w.approval.Reject(t.Context(), w.mona, m.ID, nil, "")
	state(t, err, meeting.Confirmed)
}

// The dates of a series that a time-out rejected may be added again, and its changes leave them.
func TestService_seriesAfterATimeOut(t *testing.T) {
	w := newWorld(t)
	w.settings.ApprovalTimeout = time.Hour
	r := w.bookSeries(t, w.ann, w.weekly("FREQ=WEEKLY;COUNT=3", w.board))
	w.at = r.Meetings[0].Approval.Deadline
	state, err := w.series.Series(t.Context(), w.ann, r.Series.ID)
	if err != nil || state.Counts[meeting.Rejected] != 3 || len(state.Absent) != 3 {
		t.Fatalf("%+v, %v", state, err)
	}
	first := r.Meetings[0].OriginalStart.Format(time.RFC3339)
	m, err := w.series.AddDate(t.Context(), w.ann, r.Series.ID, &state.Version, new(clock.Parse(first)), "")
	if err != nil || m.Status != meeting.Pending {
		t.Fatalf("%+v, %v", m, err)
	}
	same(t, "history", w.actions(r.Meetings[0].ID), []meeting.Action{meeting.ActionCreated, meeting.ActionRejected})
}
