package tests

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"punctual/tests/testenv"
)

func at(format string, args ...any) string { return fmt.Sprintf(format, args...) }

// TestApproval_timesOut: a request nobody decides is rejected in time, and its slot, held
// until then, is free again.
func TestApproval_timesOut(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		mail := testenv.Mail(t)
		on.Mail = mail
		server := testenv.Server(t, on.Config)
		admin := server.Admin(t)
		boss := admin.NewUser(t, "Boss", "manager")
		alice := admin.NewUser(t, "Alice", "member")
		room := admin.NewRoom(t, "Board", with{"approval": with{"required": true, "approver_ids": []int64{boss.User.ID}, "timeout": "3s"}})

		booking := testenv.Booking(inSeconds(3600), inSeconds(7200), []int64{room.ID})
		m := alice.Book(t, booking)
		if m.Status != "pending" || !m.Approval.Required || m.Approval.Deadline == nil {
			t.Fatalf("requested %+v", m)
		}
		deadline := *m.Approval.Deadline
		alice.WantProblem(t, http.StatusConflict, "room_conflict", http.MethodPost, "/meetings", booking)
		eventually(t, time.Now().Add(slack), "the manager is asked", func() bool { return len(mail.Where("boss@example.org", "approval_request")) == 1 })

		eventually(t, deadline.Add(slack), "rejected", func() bool {
			return alice.Meeting(t, m.ID).Status == "rejected" && len(entries(alice.History(t, m.ID), "rejected")) == 1
		})
		wantOnce(t, alice.History(t, m.ID), "rejected", "timer", deadline)
		if got := alice.Meeting(t, m.ID).Approval; got.Reason != "timeout" || got.DecidedAt == nil {
			t.Errorf("approval %+v, want the reason timeout", got)
		}
		eventually(t, time.Now().Add(slack), "the organizer is told", func() bool { return len(mail.Where("alice@example.org", "decision")) == 1 })
		boss.WantProblem(t, http.StatusConflict, "state_conflict", http.MethodPost, at("/meetings/%d/approve", m.ID), with{})
		alice.Book(t, booking)

		// The start is the deadline when it comes first.
		soon := alice.Book(t, testenv.Booking(inSeconds(1), inSeconds(60), []int64{room.ID}))
		if soon.Approval.Deadline == nil || !soon.Approval.Deadline.Equal(soon.Start) {
			t.Errorf("deadline %v of a request for %v", soon.Approval.Deadline, soon.Start)
		}
		eventually(t, soon.Start.Add(slack), "rejected at its start", func() bool { return len(entries(alice.History(t, soon.ID), "rejected")) == 1 })
		if es := entries(alice.History(t, soon.ID), "started"); len(es) != 0 {
			t.Errorf("the rejected request started: %+v", es)
		}
		wantNothingTwice(t, mail)
	})
}

// TestApproval_byManager: those named decide, once; others may not.
func TestApproval_byManager(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		mail := testenv.Mail(t)
		on.Mail = mail
		server := testenv.Server(t, on.Config)
		admin := server.Admin(t)
		boss := admin.NewUser(t, "Boss", "manager")
		other := admin.NewUser(t, "Other", "manager")
		alice := admin.NewUser(t, "Alice", "member")
		room := admin.NewRoom(t, "Board", with{"approval": with{"required": true, "approver_ids": []int64{boss.User.ID}, "timeout": "1h"}})
		slot := func(hour int) with {
			return testenv.Booking(inSeconds(hour*3600), inSeconds(hour*3600+1800), []int64{room.ID})
		}

		approved := alice.Book(t, slot(2))
		approve := at("/meetings/%d/approve", approved.ID)
		alice.WantProblem(t, http.StatusForbidden, "forbidden", http.MethodPost, approve, with{})
		other.WantProblem(t, http.StatusForbidden, "forbidden", http.MethodPost, approve, with{})
		var m testenv.Meeting
		boss.Want(t, http.StatusOK, http.MethodPost, approve, with{"comment": "fine"}, &m)
		if m.Status != "confirmed" || m.Approval.Comment != "fine" || m.Approval.DecidedAt == nil {
			t.Errorf("approved: %+v", m)
		}
		if p := boss.WantProblem(t, http.StatusConflict, "state_conflict", http.MethodPost, approve, with{}); !strings.Contains(p.Detail, "confirmed") {
			t.Errorf("the second approval does not tell the state: %q", p.Detail)
		}
		boss.WantProblem(t, http.StatusConflict, "state_conflict", http.MethodPost, at("/meetings/%d/reject", approved.ID), with{})
		if es := entries(alice.History(t, approved.ID), "confirmed"); len(es) != 1 || es[0].Actor.ID != boss.User.ID {
			t.Errorf("confirmed: %+v", es)
		}

		rejected := alice.Book(t, slot(3))
		boss.Want(t, http.StatusOK, http.MethodPost, at("/meetings/%d/reject", rejected.ID), with{"comment": "no"}, &m)
		if m.Status != "rejected" || m.Approval.Comment != "no" || m.Approval.Reason == "timeout" {
			t.Errorf("rejected: %+v", m)
		}
		alice.Book(t, slot(3))

		// Many decide at once; one wins.
		raced := alice.Book(t, slot(4))
		statuses := map[int]int{}
		var mu sync.Mutex
		var wg sync.WaitGroup
		for i := range 10 {
			wg.Go(func() {
				verb := []string{"approve", "reject"}[i%2]
				res, err := boss.Try(http.MethodPost, at("/meetings/%d/%s", raced.ID, verb), with{})
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				statuses[res.Status]++
			})
		}
		wg.Wait()
		if statuses[http.StatusOK] != 1 || statuses[http.StatusConflict] != 9 {
			t.Errorf("answers %v, want one 200 and nine 409", statuses)
		}
		history := alice.History(t, raced.ID)
		if n := len(entries(history, "confirmed")) + len(entries(history, "rejected")); n != 1 {
			t.Errorf("%d decisions in the history", n)
		}

		eventually(t, time.Now().Add(slack), "three decisions told", func() bool { return len(mail.Where("alice@example.org", "decision")) == 3 })
		wantNothingTwice(t, mail)
	})
}
