package booking_test

import (
	"errors"
	"strconv"
	"testing"
	"time"

	"punctual/meeting"
	"punctual/meeting/places"
)

// due finds the message of a timer.
func (w *world) due(t *testing.T, job string, m *meeting.Meeting) meeting.Ref {
	t.Helper()
	for _, msg := range m.Messages() {
		if msg.Job == job {
			if _, queued := w.queue[msg.ID()]; !queued {
				t.Fatalf("%s is not queued", msg.ID())
			}
			w.at = msg.Due
			return meeting.Ref{ID: m.ID, Version: msg.Version}
		}
	}
	t.Fatalf("%s is not due", job)
	return meeting.Ref{}
}

func TestService_remindsOnce(t *testing.T) {
	w := newWorld(t)
	w.settings.RemindBefore = time.Hour
	m := w.book(t, w.ann, w.fields(48*time.Hour, w.twoLevels(t, []int64{w.mona.ID}, []int64{w.max.ID})))
	w.notified()
	same(t, "when", m.Request.RemindAt, m.Request.Deadline.Add(-time.Hour))
	ref := w.due(t, meeting.JobApprovalRemind, m)
	version := w.store.meetings[m.ID].Version
	for run, want := range []meeting.Outcome{meeting.Applied, meeting.Done} {
		if outcome, err := outcomeOf(w.approval.RemindApprovals(t.Context(), ref)); err != nil || outcome != want {
			t.Errorf("run %d: %v, %v", run, outcome, err)
		}
	}
	same(t, "told", w.notified(), []string{"approval_reminder mona@example.org"})
	same(t, "the version that readers see", w.store.meetings[m.ID].Version, version)

	t.Run("not when it is decided", func(t *testing.T) {
		m := w.book(t, w.ann, w.fields(70*time.Hour, w.board))
		ref := w.due(t, meeting.JobApprovalRemind, m)
		if _, err := w.approval.Approve(t.Context(), w.mona, m.ID, nil, ""); err != nil {
			t.Fatal(err)
		}
		w.notified()
		if outcome, err := outcomeOf(w.approval.RemindApprovals(t.Context(), ref)); err != nil || outcome != meeting.Done {
			t.Errorf("%v, %v", outcome, err)
		}
		same(t, "told", w.notified(), nil)
		if _, queued := w.queue["approval.remind:"+strconv.FormatInt(m.ID, 10)]; queued {
			t.Error("the reminder still waits")
		}
	})
	t.Run("not for a request too short for it", func(t *testing.T) {
		m := w.book(t, w.ann, w.fields(30*time.Minute, w.board))
		if !m.Request.RemindAt.IsZero() {
			t.Errorf("at %v", m.Request.RemindAt)
		}
	})
}

func TestService_escalates(t *testing.T) {
	tests := []struct {
		name     string
		to       func(*world) *[]int64
		notified []string
		by       func(*world) meeting.Actor
	}{
		{"to the admins", func(*world) *[]int64 { return nil }, []string{"escalation root@example.org"}, func(w *world) meeting.Actor { return w.root }},
		{"to whom the room names", func(w *world) *[]int64 { return &[]int64{w.max.ID} }, []string{"escalation max@example.org"}, func(w *world) meeting.Actor { return w.max }},
		{"and not to who was asked before", func(w *world) *[]int64 { return &[]int64{w.mona.ID, w.max.ID} }, []string{"escalation max@example.org"}, func(w *world) meeting.Actor { return w.max }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.settings.EscalateAfter = 4 * time.Hour
			room := w.room(t, places.RoomFields{
				Name: new("Hall"), ApprovalRequired: new(true), ApproverIDs: &[]int64{w.mona.ID}, SecondIDs: &[]int64{w.mona.ID},
				EscalateAfter: new(time.Hour), EscalateTo: tt.to(w),
			})
			m := w.book(t, w.ann, w.fields(48*time.Hour, room))
			w.notified()
			same(t, "when", m.Request.EscalateAt, w.at.Add(time.Hour))
			if _, err := w.approval.Approve(t.Context(), w.max, m.ID, nil, ""); !errors.Is(err, meeting.ErrForbidden) && tt.to(w) == nil {
				t.Errorf("before: %v", err)
			}
			ref := w.due(t, meeting.JobEscalate, m)
			for run, want := range []meeting.Outcome{meeting.Applied, meeting.Done} {
				if outcome, err := outcomeOf(w.approval.EscalateApprovals(t.Context(), ref)); err != nil || outcome != want {
					t.Errorf("run %d: %v, %v", run, outcome, err)
				}
			}
			same(t, "told", w.notified(), tt.notified)
			last := w.store.history[m.ID][len(w.store.history[m.ID])-1]
			if last.Action != meeting.ActionChanged || last.Reason != "escalated" || last.Actor != meeting.Timer(meeting.JobEscalate) {
				t.Errorf("history says %+v", last)
			}
			m, err := w.approval.Approve(t.Context(), tt.by(w), m.ID, nil, "")
			if err != nil || m.Status != meeting.Confirmed {
				t.Errorf("%+v, %v", m, err)
			}
		})
	}
}

func TestService_roomsSayWhatATimeoutLeadsTo(t *testing.T) {
	for _, tt := range []struct {
		installation, room meeting.Status
		want               meeting.Status
	}{{meeting.Rejected, meeting.Confirmed, meeting.Confirmed}, {meeting.Confirmed, meeting.Rejected, meeting.Rejected}, {meeting.Confirmed, "", meeting.Confirmed}, {"", "", meeting.Rejected}} {
		w := newWorld(t)
		w.settings.OnTimeout = tt.installation
		room := w.room(t, places.RoomFields{Name: new("Hall"), ApprovalRequired: new(true), ApproverIDs: &[]int64{w.mona.ID}, OnTimeout: &tt.room})
		m := w.book(t, w.ann, w.fields(48*time.Hour, room))
		if _, err := w.ExpireApprovals(t.Context(), w.due(t, meeting.JobExpire, m)); err != nil {
			t.Fatal(err)
		}
		same(t, "status", w.store.meetings[m.ID].Status, tt.want)
	}
}

// Others are not asked when a time-out comes first.
func TestService_escalatesNotBehindTheDeadline(t *testing.T) {
	w := newWorld(t)
	w.settings.EscalateAfter = 4 * time.Hour
	if m := w.book(t, w.ann, w.fields(4*time.Hour, w.board)); !m.Request.EscalateAt.IsZero() {
		t.Errorf("escalates at %v, the deadline is %v", m.Request.EscalateAt, m.Request.Deadline)
	}
	if m := w.book(t, w.ann, w.fields(6*time.Hour, w.board)); !m.Request.EscalateAt.Equal(w.at.Add(4 * time.Hour)) {
		t.Errorf("escalates at %v", m.Request.EscalateAt)
	}
}

// The second level escalates anew: who stepped in for the first has no say at it until it takes
// long as well.
func TestService_escalatesEachLevel(t *testing.T) {
	w := newWorld(t)
	w.settings.EscalateAfter = time.Hour
	joker := meeting.Actor{Kind: meeting.ActorUser, ID: 6, Name: "joker", Email: "joker@example.org", Role: meeting.Manager}
	hall := w.twoLevels(t, []int64{w.mona.ID}, []int64{w.max.ID})
	w.store.rooms[hall.ID].Approval.EscalateTo = []int64{joker.ID}
	m := w.book(t, w.ann, w.fields(48*time.Hour, hall))
	if _, err := w.approval.EscalateApprovals(t.Context(), w.due(t, meeting.JobEscalate, m)); err != nil {
		t.Fatal(err)
	}
	m, err := w.approval.Approve(t.Context(), w.mona, m.ID, nil, "")
	if err != nil || m.Request.Level != 2 || !m.Request.EscalatedAt.IsZero() || !m.Request.EscalateAt.Equal(w.at.Add(time.Hour)) {
		t.Fatalf("%+v, %v", m.Request, err)
	}
	if _, err := w.approval.Approve(t.Context(), joker, m.ID, nil, ""); !errors.Is(err, meeting.ErrForbidden) {
		t.Errorf("at the second level: %v", err)
	}
	if _, err := w.approval.EscalateApprovals(t.Context(), w.due(t, meeting.JobEscalate, w.store.meetings[m.ID])); err != nil {
		t.Fatal(err)
	}
	if m, err := w.approval.Approve(t.Context(), joker, m.ID, nil, ""); err != nil || m.Status != meeting.Confirmed {
		t.Errorf("once that takes long: %+v, %v", m, err)
	}
}
