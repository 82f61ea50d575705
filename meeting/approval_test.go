package meeting

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"testing"
	"time"
)

// twoLevels is a room that mona decides for first and max behind her.
func (w *world) twoLevels(t *testing.T, first, second []int64) *Room {
	t.Helper()
	return w.room(t, RoomFields{Name: new("Hall"), ApprovalRequired: new(true), ApproverIDs: &first, SecondIDs: &second})
}

func agreedLevels(as []Agreement) []int {
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
	same(t, "told", w.told(), []string{"approval_request mona@example.org"})
	deadline := m.Request.Deadline

	_, err := w.Approve(t.Context(), w.max, m.ID, nil, "")
	state(t, err, Pending)
	m, err = w.Approve(t.Context(), w.mona, m.ID, nil, "fine")
	if err != nil {
		t.Fatal(err)
	}
	same(t, "status", m.Status, Pending)
	same(t, "level", m.Request.Level, 2)
	same(t, "deadline of both", m.Request.Deadline, deadline)
	same(t, "told", w.told(), []string{"approval_request max@example.org"})
	_, err = w.Approve(t.Context(), w.mona, m.ID, nil, "")
	state(t, err, Pending)

	m, err = w.Approve(t.Context(), w.max, m.ID, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	same(t, "status", m.Status, Confirmed)
	same(t, "agreed", agreedLevels(m.Approval.Agreed), []int{1, 2})
	same(t, "who", []int64{m.Approval.Agreed[0].UserID, m.Approval.Agreed[1].UserID}, []int64{w.mona.ID, w.max.ID})
	same(t, "history", w.actions(m.ID), []Action{ActionCreated, ActionChanged, ActionConfirmed})
}

func TestService_whoDecidesAtWhichLevel(t *testing.T) {
	tests := []struct {
		name          string
		first, second []string // by name
		booker        string
		asked         []string
		decider       string
		want          Status
		level         int // asked afterwards
	}{
		{"the first agrees", []string{"mona"}, []string{"max"}, "ann", []string{"approval_request mona@example.org"}, "mona", Pending, 2},
		{"one in both decides both", []string{"mona"}, []string{"mona", "max"}, "ann", []string{"approval_request mona@example.org"}, "mona", Confirmed, 0},
		{"an admin decides both", []string{"mona"}, []string{"max"}, "ann", []string{"approval_request mona@example.org"}, "root", Confirmed, 0},
		{"who may agree first has, by booking", []string{"mona"}, []string{"max"}, "mona", []string{"approval_request max@example.org"}, "max", Confirmed, 0},
		{"a second level does not book alone", []string{"mona"}, []string{"max"}, "max", []string{"approval_request mona@example.org"}, "mona", Pending, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			who := map[string]Actor{"ann": w.ann, "mona": w.mona, "max": w.max, "root": w.root}
			ids := func(names []string) (ids []int64) {
				for _, n := range names {
					ids = append(ids, who[n].ID)
				}
				return ids
			}
			m := w.book(t, who[tt.booker], w.fields(time.Hour, w.twoLevels(t, ids(tt.first), ids(tt.second))))
			same(t, "asked", w.told(), tt.asked)
			m, err := w.Approve(t.Context(), who[tt.decider], m.ID, nil, "")
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
		same(t, "status", m.Status, Confirmed)
		same(t, "agreed", agreedLevels(m.Approval.Agreed), []int{1, 2})
	})
	t.Run("each level rejects at any time", func(t *testing.T) {
		for _, by := range []string{"mona", "max"} {
			w := newWorld(t)
			m := w.book(t, w.ann, w.fields(time.Hour, w.twoLevels(t, []int64{w.mona.ID}, []int64{w.max.ID})))
			m, err := w.Reject(t.Context(), map[string]Actor{"mona": w.mona, "max": w.max}[by], m.ID, nil, "no")
			if err != nil || m.Status != Rejected {
				t.Errorf("%s: %v, %v", by, m, err)
			}
		}
	})
}

func TestAbsences_chain(t *testing.T) {
	tests := []struct {
		name  string
		away  absences
		chain []int64 // of 1
		for4  []int64 // for whom 4 stands in
	}{
		{"nobody", nil, nil, nil},
		{"one", absences{{1, 4}}, []int64{4}, []int64{1}},
		{"a deputy who is away", absences{{1, 2}, {2, 4}}, []int64{2, 4}, []int64{1, 2}},
		{"a deputy without one", absences{{1, 2}}, []int64{2}, nil},
		{"a circle ends", absences{{1, 2}, {2, 1}}, []int64{2}, nil},
		{"a longer circle", absences{{1, 2}, {2, 4}, {4, 2}}, []int64{2, 4}, []int64{1, 2}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			same(t, "chain", tt.away.chain(1), tt.chain)
			same(t, "stands for", tt.away.standsFor(4), tt.for4)
		})
	}
}

func TestService_deputies(t *testing.T) {
	t.Run("is asked instead, and decides", func(t *testing.T) {
		w := newWorld(t)
		w.away = []Absence{{w.mona.ID, w.max.ID}}
		m := w.book(t, w.ann, w.fields(time.Hour, w.board))
		if f := w.store.notices[0].Facts.Request; !slices.Equal(f.For, []string{"mona"}) {
			t.Errorf("for %v", f.For)
		}
		same(t, "told", w.told(), []string{"approval_request max@example.org"})
		m, err := w.Approve(t.Context(), w.max, m.ID, nil, "")
		if err != nil || m.Status != Confirmed || m.Approval.DecidedBy != w.max.ID {
			t.Errorf("%+v, %v", m, err)
		}
	})
	t.Run("who is away may decide all the same", func(t *testing.T) {
		w := newWorld(t)
		w.away = []Absence{{w.mona.ID, w.max.ID}}
		m := w.book(t, w.ann, w.fields(time.Hour, w.board))
		if _, err := w.Approve(t.Context(), w.mona, m.ID, nil, ""); err != nil {
			t.Error(err)
		}
	})
	t.Run("not once the other is back", func(t *testing.T) {
		w := newWorld(t)
		w.away = []Absence{{w.mona.ID, w.max.ID}}
		m := w.book(t, w.ann, w.fields(time.Hour, w.board))
		w.away = nil
		if _, err := w.Approve(t.Context(), w.max, m.ID, nil, ""); !errors.Is(err, ErrForbidden) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a member cannot stand in, so the one who is away is asked", func(t *testing.T) {
		w := newWorld(t)
		w.away = []Absence{{w.mona.ID, w.bob.ID}}
		m := w.book(t, w.ann, w.fields(time.Hour, w.board))
		same(t, "told", w.told(), []string{"approval_request mona@example.org"})
		if _, err := w.Approve(t.Context(), w.bob, m.ID, nil, ""); !errors.Is(err, ErrForbidden) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("sees a private request", func(t *testing.T) {
		w := newWorld(t)
		w.away = []Absence{{w.mona.ID, w.max.ID}}
		f := w.fields(time.Hour, w.board)
		f.Visibility = new(Private)
		m := w.book(t, w.ann, f)
		if got, err := w.Meeting(t.Context(), w.max, m.ID); err != nil || got.Title == Busy || got.Request == nil {
			t.Errorf("%+v, %v", got, err)
		}
		w.away = nil
		if got, err := w.Meeting(t.Context(), w.max, m.ID); err != nil || got.Title != Busy || got.Request != nil {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

// due finds the message of a timer.
func (w *world) due(t *testing.T, job string, m *Meeting) Ref {
	t.Helper()
	for _, msg := range m.Messages() {
		if msg.Job == job {
			if _, queued := w.queue[msg.ID()]; !queued {
				t.Fatalf("%s is not queued", msg.ID())
			}
			w.at = msg.Due
			return Ref{ID: m.ID, Version: msg.Version}
		}
	}
	t.Fatalf("%s is not due", job)
	return Ref{}
}

func TestService_remindsOnce(t *testing.T) {
	w := newWorld(t)
	w.settings.RemindBefore = time.Hour
	m := w.book(t, w.ann, w.fields(48*time.Hour, w.twoLevels(t, []int64{w.mona.ID}, []int64{w.max.ID})))
	w.told()
	same(t, "when", m.Request.RemindAt, m.Request.Deadline.Add(-time.Hour))
	ref := w.due(t, JobApprovalRemind, m)
	version := w.store.meetings[m.ID].Version
	for run, want := range []Outcome{Applied, Done} {
		if outcome, err := w.RemindApproval(t.Context(), ref); err != nil || outcome != want {
			t.Errorf("run %d: %v, %v", run, outcome, err)
		}
	}
	same(t, "told", w.told(), []string{"approval_reminder mona@example.org"})
	same(t, "the version that readers see", w.store.meetings[m.ID].Version, version)

	t.Run("not when it is decided", func(t *testing.T) {
		m := w.book(t, w.ann, w.fields(70*time.Hour, w.board))
		ref := w.due(t, JobApprovalRemind, m)
		if _, err := w.Approve(t.Context(), w.mona, m.ID, nil, ""); err != nil {
			t.Fatal(err)
		}
		w.told()
		if outcome, err := w.RemindApproval(t.Context(), ref); err != nil || outcome != Done {
			t.Errorf("%v, %v", outcome, err)
		}
		same(t, "told", w.told(), nil)
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
		name string
		to   func(*world) *[]int64
		told []string
		by   func(*world) Actor
	}{
		{"to the admins", func(*world) *[]int64 { return nil }, []string{"escalation root@example.org"}, func(w *world) Actor { return w.root }},
		{"to whom the room names", func(w *world) *[]int64 { return &[]int64{w.max.ID} }, []string{"escalation max@example.org"}, func(w *world) Actor { return w.max }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.settings.EscalateAfter = 4 * time.Hour
			room := w.room(t, RoomFields{
				Name: new("Hall"), ApprovalRequired: new(true), ApproverIDs: &[]int64{w.mona.ID}, SecondIDs: &[]int64{w.mona.ID},
				EscalateAfter: new(time.Hour), EscalateTo: tt.to(w),
			})
			m := w.book(t, w.ann, w.fields(48*time.Hour, room))
			w.told()
			same(t, "when", m.Request.EscalateAt, w.at.Add(time.Hour))
			if _, err := w.Approve(t.Context(), w.max, m.ID, nil, ""); !errors.Is(err, ErrForbidden) && tt.to(w) == nil {
				t.Errorf("before: %v", err)
			}
			ref := w.due(t, JobEscalate, m)
			for run, want := range []Outcome{Applied, Done} {
				if outcome, err := w.EscalateApproval(t.Context(), ref); err != nil || outcome != want {
					t.Errorf("run %d: %v, %v", run, outcome, err)
				}
			}
			same(t, "told", w.told(), tt.told)
			last := w.store.history[m.ID][len(w.store.history[m.ID])-1]
			if last.Action != ActionChanged || last.Reason != "escalated" || last.Actor != Timer(JobEscalate) {
				t.Errorf("history says %+v", last)
			}
			m, err := w.Approve(t.Context(), tt.by(w), m.ID, nil, "")
			if err != nil || m.Status != Confirmed {
				t.Errorf("%+v, %v", m, err)
			}
		})
	}
}

func TestService_roomsSayWhatATimeoutLeadsTo(t *testing.T) {
	for _, tt := range []struct {
		installation, room Status
		want               Status
	}{{Rejected, Confirmed, Confirmed}, {Confirmed, Rejected, Rejected}, {Confirmed, "", Confirmed}, {"", "", Rejected}} {
		w := newWorld(t)
		w.settings.OnTimeout = tt.installation
		room := w.room(t, RoomFields{Name: new("Hall"), ApprovalRequired: new(true), ApproverIDs: &[]int64{w.mona.ID}, OnTimeout: &tt.room})
		m := w.book(t, w.ann, w.fields(48*time.Hour, room))
		if _, err := w.ExpireApproval(t.Context(), w.due(t, JobExpire, m)); err != nil {
			t.Fatal(err)
		}
		same(t, "status", w.store.meetings[m.ID].Status, tt.want)
	}
}

// moved is ann's meeting in the board room at one, which she asked to move to four.
func moved(t *testing.T) (*world, *Meeting) {
	t.Helper()
	w := newWorld(t)
	m := w.book(t, w.ann, w.fields(time.Hour, w.board))
	if _, err := w.Approve(t.Context(), w.mona, m.ID, nil, ""); err != nil {
		t.Fatal(err)
	}
	return w, w.move(t, m.ID, 4*time.Hour, 5*time.Hour)
}

func (w *world) move(t *testing.T, id ID, from, to time.Duration) *Meeting {
	t.Helper()
	w.told()
	m, err := w.Update(t.Context(), w.ann, id, nil, Fields{
		Start: new(w.at.Add(from).Format(time.RFC3339)), End: new(w.at.Add(to).Format(time.RFC3339)),
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestService_aMoveWaits(t *testing.T) {
	w, m := moved(t)
	noon := w.at
	same(t, "status", m.Status, Confirmed)
	same(t, "where it is", m.Slot.Start, noon.Add(time.Hour))
	same(t, "where to", m.Request.Change.Slot.Start, noon.Add(4*time.Hour))
	same(t, "deadline: the start it has", m.Request.Deadline, noon.Add(time.Hour))
	same(t, "told", w.told(), []string{"approval_request mona@example.org"})

	t.Run("both slots are guarded", func(t *testing.T) {
		for _, at := range []time.Duration{time.Hour, 4 * time.Hour} {
			_, err := w.Book(t.Context(), w.root, w.fields(at, w.board))
			if _, ok := errors.AsType[*ConflictError](err); !ok {
				t.Errorf("at %v: %v", at, err)
			}
		}
		busy, err := w.FreeBusy(t.Context(), w.bob, w.board.ID, Slot{noon, noon.Add(24 * time.Hour)})
		if err != nil || len(busy) != 2 || busy[0].Meeting.Status != Confirmed || busy[1].Meeting.Status != Pending {
			t.Errorf("%+v, %v", busy, err)
		}
	})
	t.Run("asked again, nothing changes", func(t *testing.T) {
		again := w.move(t, m.ID, 4*time.Hour, 5*time.Hour)
		same(t, "number", again.Request.Number, m.Request.Number)
		same(t, "told", w.told(), nil)
	})
	t.Run("another title leaves it", func(t *testing.T) {
		w.told()
		titled, err := w.Update(t.Context(), w.ann, m.ID, nil, Fields{Title: new("Retro")})
		if err != nil || titled.Request == nil || titled.Title != "Retro" {
			t.Errorf("%+v, %v", titled, err)
		}
	})
	t.Run("another move replaces it, and may overlap", func(t *testing.T) {
		other := w.move(t, m.ID, 90*time.Minute, 3*time.Hour)
		same(t, "told", w.told(), []string{"approval_request mona@example.org"})
		same(t, "held: what it does not have", other.Request.Change.Held, []Occupancy{{w.board.ID, Slot{noon.Add(2 * time.Hour), noon.Add(3 * time.Hour)}}})
		w.book(t, w.root, w.fields(4*time.Hour, w.board)) // the first is free again
	})
	t.Run("approved, it is applied", func(t *testing.T) {
		w.told()
		done, err := w.Approve(t.Context(), w.mona, m.ID, nil, "fine")
		if err != nil {
			t.Fatal(err)
		}
		same(t, "slot", done.Slot, Slot{noon.Add(90 * time.Minute), noon.Add(3 * time.Hour)})
		same(t, "occupied", done.Occupied, []Occupancy{{w.board.ID, done.Slot}})
		same(t, "told", w.told(), []string{"change bob@example.org", "change guest@example.net", "decision ann@example.org"})
		last := w.store.history[m.ID][len(w.store.history[m.ID])-1]
		if last.Action != ActionChanged || last.Actor.ID != w.mona.ID || last.Reason != "fine" || last.Changes["start"].To != done.Slot.Start {
			t.Errorf("history says %+v", last)
		}
		w.book(t, w.root, Fields{Title: new("X"), RoomIDs: &[]int64{w.board.ID},
			Start: new(noon.Add(time.Hour).Format(time.RFC3339)), End: new(noon.Add(90 * time.Minute).Format(time.RFC3339))})
	})
}

func TestService_endsOfAMoveThatWaits(t *testing.T) {
	tests := []struct {
		name string
		end  func(*testing.T, *world, *Meeting) error
		want Status
		told []string
	}{
		{"rejected", func(t *testing.T, w *world, m *Meeting) error {
			_, err := w.Reject(t.Context(), w.mona, m.ID, nil, "no")
			return err
		}, Confirmed, []string{"decision ann@example.org"}},
		{"the meeting begins where it is", func(t *testing.T, w *world, m *Meeting) error {
			outcome, err := w.ExpireApproval(t.Context(), w.due(t, JobExpire, m))
			if outcome != Applied {
				t.Errorf("%v", outcome)
			}
			return err
		}, Confirmed, []string{"decision ann@example.org"}},
		{"cancelled", func(t *testing.T, w *world, m *Meeting) error {
			_, err := w.Cancel(t.Context(), w.ann, m.ID, nil, "")
			return err
		}, Cancelled, []string{"cancellation bob@example.org", "cancellation guest@example.net"}},
		{"back to where it is", func(t *testing.T, w *world, m *Meeting) error {
			back := w.move(t, m.ID, time.Hour, 2*time.Hour)
			if back.Request != nil {
				t.Errorf("still waits: %+v", back.Request)
			}
			return nil
		}, Confirmed, nil},
		{"moved by an admin", func(t *testing.T, w *world, m *Meeting) error {
			_, err := w.Update(t.Context(), w.root, m.ID, nil, Fields{End: new(w.at.Add(150 * time.Minute).Format(time.RFC3339))})
			return err
		}, Confirmed, []string{"change ann@example.org", "change bob@example.org", "change guest@example.net"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w, m := moved(t)
			noon := w.at
			w.told()
			if err := tt.end(t, w, m); err != nil {
				t.Fatal(err)
			}
			same(t, "told", w.told(), tt.told)
			now := w.store.meetings[m.ID]
			same(t, "status", now.Status, tt.want)
			same(t, "start", now.Slot.Start, noon.Add(time.Hour))
			if now.Request != nil {
				t.Errorf("still waits: %+v", now.Request)
			}
			w.at = noon
			w.book(t, w.root, w.fields(4*time.Hour, w.board)) // nothing holds it
			_, err := w.Approve(t.Context(), w.mona, m.ID, nil, "")
			if _, ok := errors.AsType[*StateError](err); !ok {
				t.Errorf("decided once more: %v", err)
			}
		})
	}
}

func TestService_aMoveThatHoldsNothing(t *testing.T) {
	w := newWorld(t)
	w.settings.HoldPending = false
	mine := w.book(t, w.mona, w.fields(6*time.Hour, w.desk))
	asked, err := w.Update(t.Context(), w.mona, mine.ID, nil, Fields{RoomIDs: &[]int64{w.room(t, RoomFields{Name: new("Vault"), ApprovalRequired: new(true)}).ID}})
	if err != nil || asked.Request == nil || len(asked.Request.Change.Held) != 0 {
		t.Fatalf("%+v, %v", asked, err)
	}
	w.book(t, w.root, w.fields(6*time.Hour, &Room{ID: asked.Request.Change.RoomIDs[0]}))
	_, err = w.Approve(t.Context(), w.root, mine.ID, nil, "")
	if _, ok := errors.AsType[*ConflictError](err); !ok {
		t.Errorf("got %v", err)
	}
	if now := w.store.meetings[mine.ID]; now.Request == nil || now.RoomIDs[0] != w.desk.ID {
		t.Errorf("%+v", now)
	}
}

func TestService_links(t *testing.T) {
	follow := func(t *testing.T, w *world, l Link, want LinkState) *Linked {
		t.Helper()
		linked, err := w.FollowLink(t.Context(), l)
		if err != nil {
			t.Fatal(err)
		}
		same(t, "state", linked.State, want)
		return linked
	}
	t.Run("decides once", func(t *testing.T) {
		w := newWorld(t)
		m := w.book(t, w.ann, w.fields(time.Hour, w.board))
		l := Link{m.ID, m.Request.Number, w.mona.ID}
		follow(t, w, l, LinkOpen)
		same(t, "looking decides nothing", w.store.meetings[m.ID].Status, Pending)
		linked, decided, err := w.DecideByLink(t.Context(), l, true, "fine")
		if err != nil || !decided || linked.State != LinkDecided || linked.Verdict.Name != "mona" {
			t.Fatalf("%+v, %v, %v", linked, decided, err)
		}
		linked, decided, err = w.DecideByLink(t.Context(), l, false, "")
		if err != nil || decided || linked.State != LinkDecided || linked.Verdict.Decision != Confirmed {
			t.Errorf("a second time: %+v, %v, %v", linked, decided, err)
		}
	})
	t.Run("the first level's is used up when it agreed", func(t *testing.T) {
		w := newWorld(t)
		m := w.book(t, w.ann, w.fields(time.Hour, w.twoLevels(t, []int64{w.mona.ID}, []int64{w.max.ID})))
		l := Link{m.ID, m.Request.Number, w.mona.ID}
		linked, decided, err := w.DecideByLink(t.Context(), l, true, "")
		if err != nil || !decided || linked.State != LinkAgreed {
			t.Fatalf("%+v, %v, %v", linked, decided, err)
		}
		next := Link{m.ID, w.store.meetings[m.ID].Request.Number, w.max.ID}
		follow(t, w, next, LinkOpen)
		if _, decided, err := w.DecideByLink(t.Context(), next, false, "no"); err != nil || !decided {
			t.Fatal(decided, err)
		}
		if got := follow(t, w, l, LinkDecided); got.Verdict.Decision != Rejected {
			t.Errorf("%+v", got.Verdict)
		}
	})
	t.Run("withdrawn, late, another's", func(t *testing.T) {
		w := newWorld(t)
		m := w.book(t, w.ann, w.fields(time.Hour, w.board))
		l := Link{m.ID, m.Request.Number, w.mona.ID}
		follow(t, w, Link{m.ID, m.Request.Number, w.max.ID}, LinkClosed)
		_, decided, err := w.DecideByLink(t.Context(), Link{m.ID, m.Request.Number, w.max.ID}, true, "")
		if decided || err != nil {
			t.Errorf("somebody who may not decided: %v, %v", decided, err)
		}
		if _, err := w.FollowLink(t.Context(), Link{m.ID, 1, 999}); !errors.Is(err, ErrNotFound) {
			t.Errorf("got %v", err)
		}
		w.move(t, m.ID, 2*time.Hour, 3*time.Hour)
		if _, decided, err := w.DecideByLink(t.Context(), l, true, ""); decided || err != nil || w.store.meetings[m.ID].Status != Pending {
			t.Errorf("what was moved meanwhile was decided unseen: %v, %v", decided, err)
		}
		for name, timer := range map[string]func(context.Context, Ref) (Outcome, error){"expire": w.ExpireApproval, "remind": w.RemindApproval, "escalate": w.EscalateApproval} {
			if outcome, err := timer(t.Context(), Ref{m.ID, l.Number}); err != nil || outcome != Stale {
				t.Errorf("%s of a request that was replaced: %v, %v", name, outcome, err)
			}
		}
		same(t, "what timers of the old request did", w.store.meetings[m.ID].Status, Pending)
		if got := follow(t, w, l, LinkWithdrawn); got.Meeting.Status != Pending || got.Verdict == nil || got.Verdict.Reason != "changed" {
			t.Errorf("moved: %+v", got)
		}
		l.Number = w.store.meetings[m.ID].Request.Number
		w.at = w.store.meetings[m.ID].Request.Deadline
		follow(t, w, l, LinkExpired)
		_, decided, err = w.DecideByLink(t.Context(), l, true, "")
		if decided || err != nil {
			t.Errorf("late: %v, %v", decided, err)
		}
		if _, err := w.ExpireApproval(t.Context(), Ref{m.ID, l.Number}); err != nil {
			t.Fatal(err)
		}
		follow(t, w, l, LinkExpired)
	})
}

// Rooms may have different approvers: each agrees to their own, in any order, and the meeting is
// confirmed when nothing is missing.
func TestService_roomsWithDifferentApprovers(t *testing.T) {
	w := newWorld(t)
	w.settings.RemindBefore = time.Hour
	hall := w.room(t, RoomFields{Name: new("Hall"), ApprovalRequired: new(true), ApproverIDs: &[]int64{w.max.ID}})
	vault := w.room(t, RoomFields{Name: new("Vault"), ApprovalRequired: new(true)}) // the admins'
	m := w.book(t, w.ann, w.fields(48*time.Hour, w.board, hall, vault, w.desk))
	same(t, "told", w.told(), []string{"approval_request max@example.org", "approval_request mona@example.org", "approval_request root@example.org"})
	number := m.Request.Number

	m, err := w.Approve(t.Context(), w.mona, m.ID, nil, "mine")
	if err != nil {
		t.Fatal(err)
	}
	same(t, "status", m.Status, Pending)
	same(t, "the request is the same", m.Request.Number, number)
	same(t, "told", w.told(), nil)
	last := w.store.history[m.ID][len(w.store.history[m.ID])-1]
	same(t, "history", last, Entry{ID: last.ID, At: w.at, Action: ActionChanged, Actor: last.Actor, Reason: "mine", Changes: map[string]Change{"approval.agreed": {To: "Board"}}})
	same(t, "who", last.Actor.ID, w.mona.ID)
	_, err = w.Approve(t.Context(), w.mona, m.ID, nil, "")
	state(t, err, Pending)
	if linked, err := w.FollowLink(t.Context(), Link{m.ID, number, w.mona.ID}); err != nil || linked.State != LinkAgreed {
		t.Errorf("the link of who has agreed: %+v, %v", linked, err)
	}
	if linked, err := w.FollowLink(t.Context(), Link{m.ID, number, w.max.ID}); err != nil || linked.State != LinkOpen || !slices.Equal(linked.Part, []string{"Hall"}) {
		t.Errorf("the link of who has not: %+v, %v", linked, err)
	}

	noon := w.at
	if _, err := w.RemindApproval(t.Context(), w.due(t, JobApprovalRemind, w.store.meetings[m.ID])); err != nil {
		t.Fatal(err)
	}
	same(t, "reminded", w.told(), []string{"approval_reminder max@example.org", "approval_reminder root@example.org"})
	w.at = noon

	if linked, decided, err := w.DecideByLink(t.Context(), Link{m.ID, number, w.max.ID}, true, ""); err != nil || !decided || linked.State != LinkAgreed {
		t.Fatalf("%+v, %v, %v", linked, decided, err)
	}
	m, err = w.Approve(t.Context(), w.root, m.ID, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	same(t, "status", m.Status, Confirmed)
	var rooms [][]int64
	for _, a := range m.Approval.Agreed {
		rooms = append(rooms, a.RoomIDs)
	}
	same(t, "who agreed to what", rooms, [][]int64{{w.board.ID}, {hall.ID}, {vault.ID}})

	t.Run("an admin agrees to all that is missing", func(t *testing.T) {
		m := w.book(t, w.ann, w.fields(50*time.Hour, w.board, hall))
		if _, err := w.Approve(t.Context(), w.max, m.ID, nil, ""); err != nil {
			t.Fatal(err)
		}
		m, err := w.Approve(t.Context(), w.root, m.ID, nil, "")
		if err != nil || m.Status != Confirmed || len(m.Approval.Agreed) != 2 {
			t.Errorf("%+v, %v", m, err)
		}
	})
	t.Run("one against it is enough", func(t *testing.T) {
		m := w.book(t, w.ann, w.fields(52*time.Hour, w.board, hall))
		if _, err := w.Approve(t.Context(), w.max, m.ID, nil, ""); err != nil {
			t.Fatal(err)
		}
		m, err := w.Reject(t.Context(), w.mona, m.ID, nil, "")
		if err != nil || m.Status != Rejected {
			t.Errorf("%+v, %v", m, err)
		}
	})
	t.Run("the second level of one waits for the first of all", func(t *testing.T) {
		deep := w.twoLevels(t, []int64{w.mona.ID}, []int64{w.mona.ID, w.max.ID})
		m := w.book(t, w.ann, w.fields(54*time.Hour, hall, deep))
		w.told()
		m, err := w.Approve(t.Context(), w.mona, m.ID, nil, "")
		if err != nil {
			t.Fatal(err)
		}
		same(t, "mona decides for one room at both levels", agreedLevels(m.Request.Agreed), []int{1, 2})
		same(t, "level", m.Request.Level, 1)
		m, err = w.Approve(t.Context(), w.max, m.ID, nil, "")
		if err != nil || m.Status != Confirmed {
			t.Errorf("%+v, %v", m, err)
		}
	})
	t.Run("the approver of one room who has left is replaced by the admins for that room", func(t *testing.T) {
		gone := w.room(t, RoomFields{Name: new("Gone"), ApprovalRequired: new(true), ApproverIDs: &[]int64{w.max.ID}})
		gone.Approval.ApproverIDs = []int64{99}
		w.store.rooms[gone.ID].Approval.ApproverIDs = []int64{99}
		w.told()
		w.book(t, w.ann, w.fields(56*time.Hour, w.board, gone))
		same(t, "told", w.told(), []string{"approval_request mona@example.org", "approval_request root@example.org"})
	})
}

// A room that was closed since it was asked for is confirmed by nobody, and by no time-out.
func TestService_closedMeanwhile(t *testing.T) {
	closings := map[string]struct {
		close func(t *testing.T, w *world, r *Room, s Slot)
		code  string
	}{
		"a blackout": {func(t *testing.T, w *world, r *Room, s Slot) {
			_, _, err := w.CreateBlackout(t.Context(), w.root, BlackoutFields{
				RoomID: &r.ID, Start: new(s.Start.Add(-time.Hour).Format(time.RFC3339)), End: new(s.Start.Add(time.Minute).Format(time.RFC3339)), Reason: new("painting"),
			})
			if err != nil {
				t.Fatal(err)
			}
		}, "blackout"},
		"out of use": {func(t *testing.T, w *world, r *Room, _ Slot) {
			if _, err := w.UpdateRoom(t.Context(), w.root, r.ID, nil, RoomFields{Active: new(false)}); err != nil {
				t.Fatal(err)
			}
		}, "room_inactive"},
	}
	for name, closing := range closings {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.settings.OnTimeout = Confirmed
			m := w.book(t, w.ann, w.fields(48*time.Hour, w.board))
			l := Link{m.ID, m.Request.Number, w.mona.ID}
			closing.close(t, w, w.board, m.Slot)
			for _, by := range []Actor{w.mona, w.root} {
				_, err := w.Approve(t.Context(), by, m.ID, nil, "")
				if got := broken(t, err); !slices.Equal(got, []string{closing.code}) {
					t.Errorf("%s: %v", by.Name, got)
				}
			}
			if _, _, err := w.DecideByLink(t.Context(), l, true, ""); err == nil {
				t.Error("approved by link")
			}
			same(t, "status", w.store.meetings[m.ID].Status, Pending)
			w.told()
			if _, err := w.ExpireApproval(t.Context(), w.due(t, JobExpire, m)); err != nil {
				t.Fatal(err)
			}
			same(t, "at its time-out", w.store.meetings[m.ID].Status, Rejected)
			same(t, "told", w.told(), []string{"decision ann@example.org"})
		})
	}
	t.Run("a move into it", func(t *testing.T) {
		w, m := moved(t)
		closings["a blackout"].close(t, w, w.board, m.Request.Change.Slot)
		_, err := w.Approve(t.Context(), w.mona, m.ID, nil, "")
		same(t, "broken", broken(t, err), []string{"blackout"})
	})
	t.Run("a rule that was changed does not matter", func(t *testing.T) {
		w := newWorld(t)
		m := w.book(t, w.ann, w.fields(48*time.Hour, w.board))
		w.store.rooms[w.board.ID].Policy.MaxDuration = time.Minute
		w.store.rooms[w.board.ID].Policy.MinNotice = 90 * time.Hour
		if _, err := w.Approve(t.Context(), w.mona, m.ID, nil, ""); err != nil {
			t.Error(err)
		}
	})
	t.Run("rejecting needs no open room", func(t *testing.T) {
		w := newWorld(t)
		m := w.book(t, w.ann, w.fields(48*time.Hour, w.board))
		closings["out of use"].close(t, w, w.board, m.Slot)
		if _, err := w.Reject(t.Context(), w.mona, m.ID, nil, ""); err != nil {
			t.Error(err)
		}
	})
}

// A time-out that approves makes no meeting move that has begun where it is.
func TestService_whatHasBegunDoesNotMove(t *testing.T) {
	for _, tt := range []struct {
		late time.Duration // of the job
		want time.Duration // behind noon
	}{{-time.Minute, 4 * time.Hour}, {0, time.Hour}, {time.Second, time.Hour}} {
		w := newWorld(t)
		w.settings.OnTimeout = Confirmed
		noon := w.at
		m := w.book(t, w.ann, w.fields(time.Hour, w.board))
		if _, err := w.Approve(t.Context(), w.mona, m.ID, nil, ""); err != nil {
			t.Fatal(err)
		}
		m = w.move(t, m.ID, 4*time.Hour, 5*time.Hour)
		ref := w.due(t, JobExpire, m)
		w.at = m.Slot.Start.Add(tt.late)
		if _, err := w.ExpireApproval(t.Context(), ref); err != nil {
			t.Fatal(err)
		}
		if now := w.store.meetings[m.ID]; now.Request != nil || !now.Slot.Start.Equal(noon.Add(tt.want)) {
			t.Errorf("%v late: it starts at %v and waits for %+v", tt.late, now.Slot.Start, now.Request)
		}
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
	joker := Actor{Kind: ActorUser, ID: 6, Name: "joker", Email: "joker@example.org", Role: Manager}
	hall := w.twoLevels(t, []int64{w.mona.ID}, []int64{w.max.ID})
	w.store.rooms[hall.ID].Approval.EscalateTo = []int64{joker.ID}
	m := w.book(t, w.ann, w.fields(48*time.Hour, hall))
	if _, err := w.EscalateApproval(t.Context(), w.due(t, JobEscalate, m)); err != nil {
		t.Fatal(err)
	}
	m, err := w.Approve(t.Context(), w.mona, m.ID, nil, "")
	if err != nil || m.Request.Level != 2 || !m.Request.EscalatedAt.IsZero() || !m.Request.EscalateAt.Equal(w.at.Add(time.Hour)) {
		t.Fatalf("%+v, %v", m.Request, err)
	}
	if _, err := w.Approve(t.Context(), joker, m.ID, nil, ""); !errors.Is(err, ErrForbidden) {
		t.Errorf("at the second level: %v", err)
	}
	if _, err := w.EscalateApproval(t.Context(), w.due(t, JobEscalate, w.store.meetings[m.ID])); err != nil {
		t.Fatal(err)
	}
	if m, err := w.Approve(t.Context(), joker, m.ID, nil, ""); err != nil || m.Status != Confirmed {
		t.Errorf("once that takes long: %+v, %v", m, err)
	}
}

// Who is asked is told by name, to those who may see the meeting.
func TestService_namesWhoIsAsked(t *testing.T) {
	w := newWorld(t)
	w.settings.EscalateAfter = time.Hour
	asked := func(by Actor, id ID) (names []string) {
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
	f.Visibility = new(Private)
	m := w.book(t, w.ann, f)
	same(t, "the organizer", asked(w.ann, m.ID), []string{"mona"})
	same(t, "a guest", asked(w.bob, m.ID), []string{"mona"})
	same(t, "a stranger to what is private", asked(Actor{Kind: ActorUser, ID: 77, Role: Member}, m.ID), nil)
	w.away = []Absence{{w.mona.ID, w.max.ID}}
	same(t, "who stands in", asked(w.ann, m.ID), []string{"max"})
	w.away = nil
	if _, err := w.EscalateApproval(t.Context(), w.due(t, JobEscalate, m)); err != nil {
		t.Fatal(err)
	}
	same(t, "who is asked as well", asked(w.ann, m.ID), []string{"mona", "root"})
	ms, _, err := w.Meetings(t.Context(), w.ann, MeetingQuery{}, Page{Limit: 10})
	if err != nil || len(ms) != 1 || len(ms[0].Request.Awaited) != 2 {
		t.Errorf("listed %+v, %v", ms, err)
	}
	w.at = m.Request.Deadline
	same(t, "past the deadline", asked(w.ann, m.ID), nil)
	w.store.rooms[w.board.ID].Approval.Required = false // nobody's any more
	w.at = w.at.Add(-time.Hour)
	same(t, "of a room that needs nobody any more", asked(w.ann, m.ID), []string{"root"})
}

// A move that nobody decided in time is over at its deadline, whenever the job comes; one that a
// time-out approves waits for the job.
func TestService_aMoveIsOverAtItsDeadline(t *testing.T) {
	for onTimeout, decidable := range map[Status]bool{Rejected: false, Confirmed: true} {
		w := newWorld(t)
		w.settings.OnTimeout = onTimeout
		m := w.book(t, w.ann, w.fields(48*time.Hour, w.board))
		if _, err := w.Approve(t.Context(), w.mona, m.ID, nil, ""); err != nil {
			t.Fatal(err)
		}
		m = w.move(t, m.ID, 50*time.Hour, 51*time.Hour)
		w.at = m.Request.Deadline
		now, err := w.Meeting(t.Context(), w.ann, m.ID)
		if err != nil || (now.Request != nil) != decidable || now.Status != Confirmed {
			t.Errorf("%s: %s, waits for %+v, %v", onTimeout, now.Status, now.Request, err)
		}
		_, err = w.Approve(t.Context(), w.mona, m.ID, nil, "")
		if decidable && err != nil {
			t.Errorf("%s: %v", onTimeout, err)
		}
		if !decidable {
			state(t, err, Confirmed)
		}
	}
}
