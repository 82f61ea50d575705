package booking_test

import (
	"testing"
	"time"

	"punctual/meeting"
	"punctual/meeting/places"
)

// Who becomes an approver of a request that waits is asked once: by the room, by standing in, or
// because nobody else is left.
func TestAskNewApprovers(t *testing.T) {
	w := newWorld(t)
	ask := func(what string, want ...string) {
		t.Helper()
		for range 2 { // once each
			if err := w.approval.NotifyNewApprovers(t.Context()); err != nil {
				t.Fatal(err)
			}
			same(t, what, w.notified(), want)
			want = nil
		}
	}
	seen := ""
	changes := func(what string, want bool) {
		t.Helper()
		now, err := w.approval.Approvers(t.Context())
		if err != nil || (now != seen) != want {
			t.Errorf("%s: other approvers %v (%v)", what, now != seen, err)
		}
		seen = now
	}
	changes("no request waits", false)
	m := w.book(t, w.ann, w.fields(30*time.Hour, w.board))
	changes("a request waits", true)
	r, err := w.series.Book(t.Context(), w.ann, w.weekly("FREQ=WEEKLY;COUNT=3", w.board))
	if err != nil {
		t.Fatal(err)
	}
	same(t, "asked by booking", w.notified(), []string{"approval_request mona@example.org", "approval_request mona@example.org"})
	changes("by another request", false)
	ask("nothing is new")

	w.away = []meeting.Absence{{UserID: w.mona.ID, DeputyID: w.max.ID}}
	changes("by an absence", true)
	if err := w.approval.NotifyNewApprovers(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, n := range w.store.notices {
		if n.MeetingID != m.ID && (n.Facts.Series == nil || n.Facts.Series.Count != 3 || n.MeetingID != r.Meetings[0].ID) {
			t.Errorf("of the series: %+v", n.Facts.Series)
		}
		same(t, "stands in for", n.Facts.Request.For, []string{"mona"})
	}
	same(t, "the deputy", w.notified(), []string{"approval_request max@example.org", "approval_request max@example.org"})
	w.away = nil
	ask("mona is back, and was asked")

	if _, err := w.places.UpdateRoom(t.Context(), w.root, w.board.ID, nil, places.RoomFields{ApproverIDs: &[]int64{w.root.ID}}); err != nil {
		t.Fatal(err)
	}
	changes("by the room", true)
	ask("the room's new approver", "approval_request root@example.org", "approval_request root@example.org")

	w.store.meetings[m.ID].Request.Notified = nil // asked by an earlier release
	if _, err := w.places.UpdateRoom(t.Context(), w.root, w.board.ID, nil, places.RoomFields{ApproverIDs: &[]int64{w.mona.ID, w.max.ID}}); err != nil {
		t.Fatal(err)
	}
	ask("who was asked is not known of one")
	if _, err := w.approval.Approve(t.Context(), w.mona, m.ID, nil, ""); err != nil {
		t.Fatal(err)
	}
	w.notified()
	ask("nothing waits for them any more")
}

// What a deputy decides, or books for themselves, says in whose place.
func TestDecidedFor(t *testing.T) {
	mona := []meeting.Represented{{ID: 3, Name: "mona"}}
	decided := func(w *world, id meeting.ID) (people []meeting.Represented, said any) {
		m := w.store.meetings[id]
		for _, e := range w.store.history[id] {
			if c, ok := e.Changes["approval.decided_for"]; ok {
				said = c.To
			}
		}
		return m.Approval.DecidedFor(), said
	}
	for name, act := range map[string]func(w *world) meeting.ID{
		"approves": func(w *world) meeting.ID {
			m := w.book(t, w.ann, w.fields(time.Hour, w.board))
			w.notified()
			if _, err := w.approval.Approve(t.Context(), w.max, m.ID, nil, ""); err != nil {
				t.Fatal(err)
			}
			return m.ID
		},
		"rejects": func(w *world) meeting.ID {
			m := w.book(t, w.ann, w.fields(time.Hour, w.board))
			w.notified()
			if _, err := w.approval.Reject(t.Context(), w.max, m.ID, nil, ""); err != nil {
				t.Fatal(err)
			}
			return m.ID
		},
		"books": func(w *world) meeting.ID { return w.book(t, w.max, w.fields(time.Hour, w.board)).ID },
		"of a series": func(w *world) meeting.ID {
			r := w.bookSeries(t, w.ann, w.weekly("FREQ=WEEKLY;COUNT=2", w.board))
			if _, err := w.approval.ApproveSeries(t.Context(), w.max, r.Series.ID, nil, ""); err != nil {
				t.Fatal(err)
			}
			return r.Meetings[1].ID
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.away = []meeting.Absence{{UserID: w.mona.ID, DeputyID: w.max.ID}}
			people, said := decided(w, act(w))
			same(t, "in the place of", people, mona)
			same(t, "history", said, any("mona"))
			for _, n := range w.store.notices {
				if n.Kind == meeting.NoticeDecision {
					same(t, "told", n.Facts.ByFor, []string{"mona"})
				}
			}
		})
	}
	w := newWorld(t)
	m := w.book(t, w.ann, w.fields(time.Hour, w.board))
	if _, err := w.approval.Approve(t.Context(), w.mona, m.ID, nil, ""); err != nil {
		t.Fatal(err)
	}
	if people, said := decided(w, m.ID); people != nil || said != nil {
		t.Errorf("mona decides for %v, %v", people, said)
	}
}
