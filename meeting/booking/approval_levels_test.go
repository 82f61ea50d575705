package booking_test

import (
	"slices"
	"testing"
	"time"

	"punctual/meeting"
	"punctual/meeting/places"
)

// twoLevels is a room that mona decides for first and max behind her.
func (w *world) twoLevels(t *testing.T, first, second []int64) *meeting.Room {
	t.Helper()
	return w.room(t, places.RoomFields{Name: new("Hall"), ApprovalRequired: new(true), ApproverIDs: &first, SecondIDs: &second})
}

func agreedLevels(as []meeting.Agreement) []int {
	var levels []int
	for _, a := range as {
		levels = append(levels, a.Level)
	}
	return levels
}

func TestService_twoLevelsAgreeInOrder(t *testing.T) {
	w := newWorld(t)
	hall := w.twoLevels(t, []int64{w.mona.ID}, []int64{w.max.ID})
	m := w.book(t, w.ann, w.fields(time.Hour, hall))
	same(t, "told", w.notified(), []string{"approval_request mona@example.org"})
	deadline := m.Request.Deadline

	_, err := w.approval.Approve(t.Context(), w.max, m.ID, nil, "")
	state(t, err, meeting.Pending)
	m, err = w.approval.Approve(t.Context(), w.mona, m.ID, nil, "fine")
	if err != nil {
		t.Fatal(err)
	}
	same(t, "status", m.Status, meeting.Pending)
	same(t, "level", m.Request.Level, 2)
	same(t, "deadline of both", m.Request.Deadline, deadline)
	same(t, "told", w.notified(), []string{"approval_request max@example.org"})
	_, err = w.approval.Approve(t.Context(), w.mona, m.ID, nil, "")
	state(t, err, meeting.Pending)

	m, err = w.approval.Approve(t.Context(), w.max, m.ID, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	same(t, "status", m.Status, meeting.Confirmed)
	same(t, "agreed", agreedLevels(m.Approval.Agreed), []int{1, 2})
	same(t, "who", []int64{m.Approval.Agreed[0].UserID, m.Approval.Agreed[1].UserID}, []int64{w.mona.ID, w.max.ID})
	same(t, "history", w.actions(m.ID), []meeting.Action{meeting.ActionCreated, meeting.ActionChanged, meeting.ActionConfirmed})
}

func TestService_whoDecidesAtWhichLevel(t *testing.T) {
	tests := []struct {
		name          string
		first, second []string // by name
		booker        string
		asked         []string
		decider       string
		want          meeting.Status
		level         int // asked afterwards
	}{
		{"the first agrees", []string{"mona"}, []string{"max"}, "ann", []string{"approval_request mona@example.org"}, "mona", meeting.Pending, 2},
		{"one in both decides both", []string{"mona"}, []string{"mona", "max"}, "ann", []string{"approval_request mona@example.org"}, "mona", meeting.Confirmed, 0},
		{"an admin decides both", []string{"mona"}, []string{"max"}, "ann", []string{"approval_request mona@example.org"}, "root", meeting.Confirmed, 0},
		{"who may agree first has, by booking", []string{"mona"}, []string{"max"}, "mona", []string{"approval_request max@example.org"}, "max", meeting.Confirmed, 0},
		{"a second level does not book alone", []string{"mona"}, []string{"max"}, "max", []string{"approval_request mona@example.org"}, "mona", meeting.Pending, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			who := map[string]meeting.Actor{"ann": w.ann, "mona": w.mona, "max": w.max, "root": w.root}
			ids := func(names []string) (ids []int64) {
				for _, n := range names {
					ids = append(ids, who[n].ID)
				}
				return ids
			}
			m := w.book(t, who[tt.booker], w.fields(time.Hour, w.twoLevels(t, ids(tt.first), ids(tt.second))))
			same(t, "asked", w.notified(), tt.asked)
			m, err := w.approval.Approve(t.Context(), who[tt.decider], m.ID, nil, "")
			if err != nil {
				t.Fatal(err)
			}
			same(t, "status", m.Status, tt.want)
			if m.Request != nil {
				same(t, "level", m.Request.Level, tt.level)
			} else {
				same(t, "agreed", agreedLevels(m.Approval.Agreed), []int{1, 2})
			}
		})
	}

	t.Run("whoever books and decides at both is confirmed at once", func(t *testing.T) {
		w := newWorld(t)
		m := w.book(t, w.mona, w.fields(time.Hour, w.twoLevels(t, []int64{w.mona.ID}, []int64{w.mona.ID})))
		same(t, "status", m.Status, meeting.Confirmed)
		same(t, "agreed", agreedLevels(m.Approval.Agreed), []int{1, 2})
	})
	t.Run("each level rejects at any time", func(t *testing.T) {
		for _, by := range []string{"mona", "max"} {
			w := newWorld(t)
			m := w.book(t, w.ann, w.fields(time.Hour, w.twoLevels(t, []int64{w.mona.ID}, []int64{w.max.ID})))
			m, err := w.approval.Reject(t.Context(), map[string]meeting.Actor{"mona": w.mona, "max": w.max}[by], m.ID, nil, "no")
			if err != nil || m.Status != meeting.Rejected {
				t.Errorf("%s: %v, %v", by, m, err)
			}
		}
	})
}

// Rooms may have different approvers: each agrees to their own, in any order, and the meeting is
// confirmed when nothing is missing.
func TestService_roomsWithDifferentApprovers(t *testing.T) {
	w := newWorld(t)
	w.settings.RemindBefore = time.Hour
	hall := w.room(t, places.RoomFields{Name: new("Hall"), ApprovalRequired: new(true), ApproverIDs: &[]int64{w.max.ID}})
	vault := w.room(t, places.RoomFields{Name: new("Vault"), ApprovalRequired: new(true)}) // the admins'
	m := w.book(t, w.ann, w.fields(48*time.Hour, w.board, hall, vault, w.desk))
	same(t, "told", w.notified(), []string{"approval_request max@example.org", "approval_request mona@example.org", "approval_request root@example.org"})
	number := m.Request.Number

	m, err := w.approval.Approve(t.Context(), w.mona, m.ID, nil, "mine")
	if err != nil {
		t.Fatal(err)
	}
	same(t, "status", m.Status, meeting.Pending)
	same(t, "the request is the same", m.Request.Number, number)
	same(t, "told", w.notified(), nil)
	last := w.store.history[m.ID][len(w.store.history[m.ID])-1]
	same(t, "history", last, meeting.Entry{ID: last.ID, At: w.at, Action: meeting.ActionChanged, Actor: last.Actor, Reason: "mine", Changes: map[string]meeting.Change{"approval.agreed": {To: "Board"}}})
	same(t, "who", last.Actor.ID, w.mona.ID)
	_, err = w.approval.Approve(t.Context(), w.mona, m.ID, nil, "")
	state(t, err, meeting.Pending)
	if linked, err := w.approval.FollowLink(t.Context(), meeting.Link{MeetingID: m.ID, Number: number, UserID: w.mona.ID}); err != nil || linked.State != meeting.LinkAgreed {
		t.Errorf("the link of who has agreed: %+v, %v", linked, err)
	}
	if linked, err := w.approval.FollowLink(t.Context(), meeting.Link{MeetingID: m.ID, Number: number, UserID: w.max.ID}); err != nil || linked.State != meeting.LinkOpen || !slices.Equal(linked.Part, []string{"Hall"}) {
		t.Errorf("the link of who has not: %+v, %v", linked, err)
	}

	noon := w.at
	if _, err := w.approval.RemindApprovals(t.Context(), w.due(t, meeting.JobApprovalRemind, w.store.meetings[m.ID])); err != nil {
		t.Fatal(err)
	}
	same(t, "reminded", w.notified(), []string{"approval_reminder max@example.org", "approval_reminder root@example.org"})
	w.at = noon

	if linked, decided, err := w.approval.DecideByLink(t.Context(), meeting.Link{MeetingID: m.ID, Number: number, UserID: w.max.ID}, true, ""); err != nil || !decided || linked.State != meeting.LinkAgreed {
		t.Fatalf("%+v, %v, %v", linked, decided, err)
	}
	m, err = w.approval.Approve(t.Context(), w.root, m.ID, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	same(t, "status", m.Status, meeting.Confirmed)
	var rooms [][]int64
	for _, a := range m.Approval.Agreed {
		rooms = append(rooms, a.RoomIDs)
	}
	same(t, "who agreed to what", rooms, [][]int64{{w.board.ID}, {hall.ID}, {vault.ID}})

	t.Run("an admin agrees to all that is missing", func(t *testing.T) {
		m := w.book(t, w.ann, w.fields(50*time.Hour, w.board, hall))
		if _, err := w.approval.Approve(t.Context(), w.max, m.ID, nil, ""); err != nil {
			t.Fatal(err)
		}
		m, err := w.approval.Approve(t.Context(), w.root, m.ID, nil, "")
		if err != nil || m.Status != meeting.Confirmed || len(m.Approval.Agreed) != 2 {
			t.Errorf("%+v, %v", m, err)
		}
	})
	t.Run("one against it is enough", func(t *testing.T) {
		m := w.book(t, w.ann, w.fields(52*time.Hour, w.board, hall))
		if _, err := w.approval.Approve(t.Context(), w.max, m.ID, nil, ""); err != nil {
			t.Fatal(err)
		}
		m, err := w.approval.Reject(t.Context(), w.mona, m.ID, nil, "")
		if err != nil || m.Status != meeting.Rejected {
			t.Errorf("%+v, %v", m, err)
		}
	})
	t.Run("the second level of one waits for the first of all", func(t *testing.T) {
		deep := w.twoLevels(t, []int64{w.mona.ID}, []int64{w.mona.ID, w.max.ID})
		m := w.book(t, w.ann, w.fields(54*time.Hour, hall, deep))
		w.notified()
		m, err := w.approval.Approve(t.Context(), w.mona, m.ID, nil, "")
		if err != nil {
			t.Fatal(err)
		}
		same(t, "mona decides for one room at both levels", agreedLevels(m.Request.Agreed), []int{1, 2})
		same(t, "level", m.Request.Level, 1)
		m, err = w.approval.Approve(t.Context(), w.max, m.ID, nil, "")
		if err != nil || m.Status != meeting.Confirmed {
			t.Errorf("%+v, %v", m, err)
		}
	})
	t.Run("the approver of one room who has left is replaced by the admins for that room", func(t *testing.T) {
		gone := w.room(t, places.RoomFields{Name: new("Gone"), ApprovalRequired: new(true), ApproverIDs: &[]int64{w.max.ID}})
		gone.Approval.ApproverIDs = []int64{99}
		w.store.rooms[gone.ID].Approval.ApproverIDs = []int64{99}
		w.notified()
		w.book(t, w.ann, w.fields(56*time.Hour, w.board, gone))
		same(t, "told", w.notified(), []string{"approval_request mona@example.org", "approval_request root@example.org"})
	})
}

// Who is asked is told by name, to those who may see the meeting.
func TestService_namesWhoIsAsked(t *testing.T) {
	w := newWorld(t)
	w.settings.EscalateAfter = time.Hour
	asked := func(by meeting.Actor, id meeting.ID) (names []string) {
		t.Helper()
		m, err := w.Meeting(t.Context(), by, id)
		if err != nil {
			t.Fatal(err)
		}
		if m.Request == nil {
			return nil
		}
		for _, d := range m.Request.Awaited {
			names = append(names, d.Name)
		}
		return names
	}
	f := w.fields(48*time.Hour, w.board)
	f.Visibility = new(meeting.Private)
	m := w.book(t, w.ann, f)
	same(t, "the organizer", asked(w.ann, m.ID), []string{"mona"})
	same(t, "a guest", asked(w.bob, m.ID), []string{"mona"})
	same(t, "a stranger to what is private", asked(meeting.Actor{Kind: meeting.ActorUser, ID: 77, Role: meeting.Member}, m.ID), nil)
	w.away = []meeting.Absence{{UserID: w.mona.ID, DeputyID: w.max.ID}}
	same(t, "who stands in", asked(w.ann, m.ID), []string{"max"})
	w.away = nil
	if _, err := w.approval.EscalateApprovals(t.Context(), w.due(t, meeting.JobEscalate, m)); err != nil {
		t.Fatal(err)
	}
	same(t, "who is asked as well", asked(w.ann, m.ID), []string{"mona", "root"})
	ms, _, err := w.Meetings(t.Context(), w.ann, meeting.MeetingQuery{}, meeting.Page{Limit: 10})
	if err != nil || len(ms) != 1 || len(ms[0].Request.Awaited) != 2 {
		t.Errorf("listed %+v, %v", ms, err)
	}
	w.at = m.Request.Deadline
	same(t, "past the deadline", asked(w.ann, m.ID), nil)
	w.store.rooms[w.board.ID].Approval.Required = false // nobody's any more
	w.at = w.at.Add(-time.Hour)
	same(t, "of a room that needs nobody any more", asked(w.ann, m.ID), []string{"root"})
}
