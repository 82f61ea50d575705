package booking_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"punctual/meeting"
)

func TestService_links(t *testing.T) {
	follow := func(t *testing.T, w *world, l meeting.Link, want meeting.LinkState) *meeting.Linked {
		t.Helper()
		linked, err := w.approval.FollowLink(t.Context(), l)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "state", linked.State, want)
		return linked
	}
	t.Run("decides once", func(t *testing.T) {
		w := newWorld(t)
		m := w.book(t, w.ann, w.fields(time.Hour, w.board))
		l := meeting.Link{MeetingID: m.ID, Number: m.Request.Number, UserID: w.mona.ID}
		follow(t, w, l, meeting.LinkOpen)
		same(t, "looking decides nothing", w.store.meetings[m.ID].Status, meeting.Pending)
		linked, decided, err := w.approval.DecideByLink(t.Context(), l, true, "fine")
		if err != nil || !decided || linked.State != meeting.LinkDecided || linked.Decision.Name != "mona" {
			t.Fatalf("%+v, %v, %v", linked, decided, err)
		}
		linked, decided, err = w.approval.DecideByLink(t.Context(), l, false, "")
		if err != nil || decided || linked.State != meeting.LinkDecided || linked.Decision.Result != meeting.Confirmed {
			t.Errorf("a second time: %+v, %v, %v", linked, decided, err)
		}
	})
	t.Run("the first level's is used up when it agreed", func(t *testing.T) {
		w := newWorld(t)
		m := w.book(t, w.ann, w.fields(time.Hour, w.twoLevels(t, []int64{w.mona.ID}, []int64{w.max.ID})))
		l := meeting.Link{MeetingID: m.ID, Number: m.Request.Number, UserID: w.mona.ID}
		linked, decided, err := w.approval.DecideByLink(t.Context(), l, true, "")
		if err != nil || !decided || linked.State != meeting.LinkAgreed {
			t.Fatalf("%+v, %v, %v", linked, decided, err)
		}
		next := meeting.Link{MeetingID: m.ID, Number: w.store.meetings[m.ID].Request.Number, UserID: w.max.ID}
		follow(t, w, next, meeting.LinkOpen)
		if _, decided, err := w.approval.DecideByLink(t.Context(), next, false, "no"); err != nil || !decided {
			t.Fatal(decided, err)
		}
		if got := follow(t, w, l, meeting.LinkDecided); got.Decision.Result != meeting.Rejected {
			t.Errorf("%+v", got.Decision)
		}
	})
	t.Run("withdrawn, late, another's", func(t *testing.T) {
		w := newWorld(t)
		m := w.book(t, w.ann, w.fields(time.Hour, w.board))
		l := meeting.Link{MeetingID: m.ID, Number: m.Request.Number, UserID: w.mona.ID}
		follow(t, w, meeting.Link{MeetingID: m.ID, Number: m.Request.Number, UserID: w.max.ID}, meeting.LinkClosed)
		_, decided, err := w.approval.DecideByLink(t.Context(), meeting.Link{MeetingID: m.ID, Number: m.Request.Number, UserID: w.max.ID}, true, "")
		if decided || err != nil {
			t.Errorf("somebody who may not decided: %v, %v", decided, err)
		}
		if _, err := w.approval.FollowLink(t.Context(), meeting.Link{MeetingID: m.ID, Number: 1, UserID: 999}); !errors.Is(err, meeting.ErrNotFound) {
			t.Errorf("got %v", err)
		}
		w.move(t, m.ID, 2*time.Hour, 3*time.Hour)
		if _, decided, err := w.approval.DecideByLink(t.Context(), l, true, ""); decided || err != nil || w.store.meetings[m.ID].Status != meeting.Pending {
			t.Errorf("what was moved meanwhile was decided unseen: %v, %v", decided, err)
		}
		for name, timer := range map[string]func(context.Context, ...meeting.Ref) ([]meeting.Outcome, error){"expire": w.ExpireApprovals, "remind": w.approval.RemindApprovals, "escalate": w.approval.EscalateApprovals} {
			if outcome, err := outcomeOf(timer(t.Context(), meeting.Ref{ID: m.ID, Version: l.Number})); err != nil || outcome != meeting.Stale {
				t.Errorf("%s of a request that was replaced: %v, %v", name, outcome, err)
			}
		}
		same(t, "what timers of the old request did", w.store.meetings[m.ID].Status, meeting.Pending)
		if got := follow(t, w, l, meeting.LinkWithdrawn); got.Meeting.Status != meeting.Pending || got.Decision == nil || got.Decision.Reason != "changed" {
			t.Errorf("moved: %+v", got)
		}
		l.Number = w.store.meetings[m.ID].Request.Number
		w.at = w.store.meetings[m.ID].Request.Deadline
		follow(t, w, l, meeting.LinkExpired)
		_, decided, err = w.approval.DecideByLink(t.Context(), l, true, "")
		if decided || err != nil {
			t.Errorf("late: %v, %v", decided, err)
		}
		if _, err := w.ExpireApprovals(t.Context(), meeting.Ref{ID: m.ID, Version: l.Number}); err != nil {
			t.Fatal(err)
		}
		follow(t, w, l, meeting.LinkExpired)
	})
}
