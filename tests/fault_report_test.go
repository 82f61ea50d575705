package tests

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"punctual/tests/testenv"
)

// TestFaultReport: a fault is mailed to the facility contact, everyone sees it while it is open, and those who
// decide about the room close it.
func TestFaultReport(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		server := testenv.Server(t, on.Config)
		admin := server.Admin(t)
		alice, bob := admin.NewUser(t, "Alice", "member"), admin.NewUser(t, "Bob", "member")
		mona, vera := admin.NewUser(t, "Mona", "manager"), admin.NewUser(t, "Vera", "manager")
		var site struct{ ID int64 }
		admin.Want(t, http.StatusCreated, http.MethodPost, "/sites", with{"name": "Berlin", "facility_email": "Facility@example.org"}, &site)
		room := admin.NewRoom(t, "Turing", with{"site_id": site.ID, "approval": with{"approver_ids": []int64{vera.User.ID}}})
		type report struct {
			ID       int64
			Room     struct{ Name string }
			Category string
			Text     string
			By       *struct{ Name string }
			State    string
			DoneAt   *time.Time `json:"done_at"`
			Version  int64
		}
		for _, bad := range []struct {
			body any
			want string
		}{
			{with{"room_id": 999, "category": "equipment"}, "body.room_id unknown_room"},
			{with{"room_id": room.ID, "category": "magic"}, "body.category unknown_value"},
			{with{"room_id": room.ID, "category": "other", "text": " "}, "body.text required"},
			{with{"room_id": room.ID, "category": "equipment", "text": strings.Repeat("x", 501)}, "body.text too_long"},
		} {
			p := alice.WantProblem(t, http.StatusUnprocessableEntity, "invalid", http.MethodPost, "/fault-reports", bad.body)
			if len(p.Errors) == 0 || p.Errors[0].Location+" "+p.Errors[0].Code != bad.want {
				t.Errorf("%v: %+v, want %s", bad.body, p.Errors, bad.want)
			}
		}
		admin.WantProblem(t, http.StatusUnprocessableEntity, "invalid", http.MethodPatch, fmt.Sprintf("/rooms/%d", room.ID), with{"facility_email": "nobody"})

		var made report
		alice.Want(t, http.StatusCreated, http.MethodPost, "/fault-reports", with{"room_id": room.ID, "category": "equipment", "text": "No picture"}, &made)
		if made.State != "open" || made.By == nil || made.By.Name != "Alice" || made.Room.Name != "Turing" {
			t.Errorf("reported: %+v", made)
		}
		type sent struct {
			Items []struct {
				Kind, Address, State string
			}
		}
		mailed := func(want string) {
			t.Helper()
			eventually(t, time.Now().Add(slack), "the fault is mailed to "+want, func() bool {
				var all sent
				admin.Want(t, http.StatusOK, http.MethodGet, "/notifications?kind=fault_report", nil, &all)
				return len(all.Items) > 0 && strings.EqualFold(all.Items[0].Address, want) && all.Items[0].State == "sent"
			})
		}
		mailed("facility@example.org")
		admin.Want(t, http.StatusOK, http.MethodPatch, fmt.Sprintf("/rooms/%d", room.ID), with{"facility_email": "turing@example.org"}, nil)
		alice.Want(t, http.StatusCreated, http.MethodPost, "/fault-reports", with{"room_id": room.ID, "category": "temperature"}, nil)
		mailed("turing@example.org")

		var seen struct{ Items []report }
		bob.Want(t, http.StatusOK, http.MethodGet, fmt.Sprintf("/fault-reports?state=open&room_id=%d", room.ID), nil, &seen)
		if len(seen.Items) != 2 || seen.Items[1].Text != "No picture" || seen.Items[1].By != nil {
			t.Errorf("another member sees %+v", seen)
		}
		path := fmt.Sprintf("/fault-reports/%d", made.ID)
		bob.WantProblem(t, http.StatusForbidden, "forbidden", http.MethodPatch, path, with{"state": "done"})
		mona.WantProblem(t, http.StatusForbidden, "forbidden", http.MethodPatch, path, with{"state": "done"})
		vera.WantProblem(t, http.StatusPreconditionFailed, "version_mismatch", http.MethodPatch, path, with{"state": "done"}, testenv.Header("If-Match", `"9"`))
		var done report
		vera.Want(t, http.StatusOK, http.MethodPatch, path, with{"state": "done"}, &done)
		vera.Want(t, http.StatusOK, http.MethodPatch, path, with{"state": "done"}, &done) // the same
		if done.State != "done" || done.DoneAt == nil || done.Version != 2 || done.By == nil {
			t.Errorf("done: %+v", done)
		}
		bob.Want(t, http.StatusOK, http.MethodGet, "/fault-reports?state=open", nil, &seen)
		if len(seen.Items) != 1 {
			t.Errorf("open: %+v", seen)
		}
		refused := 0
		for range 30 {
			if res := bob.Do(t, http.MethodPost, "/fault-reports", with{"room_id": room.ID, "category": "cleanliness"}); res.Status == http.StatusTooManyRequests {
				refused++
			}
		}
		if refused != 10 {
			t.Errorf("%d of 30 reports are refused, want 10", refused)
		}
	})
}
