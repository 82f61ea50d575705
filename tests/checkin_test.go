package tests

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"punctual/tests/testenv"
)

// TestCheckIn: of two meetings where people must say that they came, the one where they do goes
// on and the other gives its room back, on time, to whoever asks next.
func TestCheckIn(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		mail := testenv.Mail(t)
		on.Mail = mail
		server := testenv.Server(t, on.Config)
		admin := server.Admin(t)
		asking := with{"check_in": with{"required": true, "opens": "1m", "grace": "3s"}}
		kept, lost := admin.NewRoom(t, "Kept", asking), admin.NewRoom(t, "Lost", asking)
		alice, bob := admin.NewUser(t, "Alice", "member"), admin.NewUser(t, "Bob", "member")

		start := inSeconds(2)
		grace := start.Add(3 * time.Second)
		held := alice.Book(t, testenv.Booking(start, start.Add(time.Hour), []int64{kept.ID}, with{
			"attendees": []any{with{"email": bob.User.Email}},
		}))
		missed := alice.Book(t, testenv.Booking(start, start.Add(time.Hour), []int64{lost.ID}))
		far := alice.Book(t, testenv.Booking(start.Add(3*time.Hour), start.Add(4*time.Hour), []int64{kept.ID}))

		path := func(m testenv.Meeting, action string) string { return fmt.Sprintf("/meetings/%d/%s", m.ID, action) }
		bob.WantProblem(t, http.StatusForbidden, "forbidden", http.MethodPost, path(missed, "check-in"), nil)
		alice.WantProblem(t, http.StatusConflict, "state_conflict", http.MethodPost, path(far, "check-in"), nil)
		var came testenv.Meeting
		bob.Want(t, http.StatusOK, http.MethodPost, path(held, "check-in"), nil, &came)
		if came.Status != "confirmed" {
			t.Errorf("checked in: %+v", came)
		}

		eventually(t, grace.Add(slack), "released, with its entry in the history", func() bool {
			return alice.Meeting(t, missed.ID).Status == "released" && len(entries(alice.History(t, missed.ID), "released")) == 1
		})
		wantOnce(t, alice.History(t, missed.ID), "released", "timer", grace)
		if e := entries(alice.History(t, missed.ID), "released")[0]; e.Reason != "no_show" || e.Actor.Name != "meeting.no_show" {
			t.Errorf("released: %+v", e)
		}
		bob.Book(t, testenv.Booking(inSeconds(1), start.Add(time.Hour), []int64{lost.ID}))
		alice.WantProblem(t, http.StatusConflict, "state_conflict", http.MethodPost, path(missed, "check-in"), nil)
		eventually(t, grace.Add(slack), "a mail to the organizer", func() bool { return len(mail.Where(alice.User.Email, "released")) == 1 })

		if m := alice.Meeting(t, held.ID); m.Status != "in_progress" {
			t.Errorf("where somebody came: %+v", m)
		}
		if es := entries(alice.History(t, held.ID), "checked_in"); len(es) != 1 || es[0].Actor.ID != bob.User.ID {
			t.Errorf("checked_in: %+v", es)
		}

		// The rest of a meeting that ends early is free at once; a longer one may be in the way.
		var longer, ended testenv.Meeting
		alice.Want(t, http.StatusOK, http.MethodPost, path(held, "extend"), with{"end": held.End.Add(15 * time.Minute)}, &longer)
		if !longer.End.Equal(held.End.Add(15 * time.Minute)) {
			t.Errorf("extended: %+v", longer)
		}
		alice.WantProblem(t, http.StatusConflict, "room_conflict", http.MethodPost, path(held, "extend"), with{"end": far.End})
		alice.WantProblem(t, http.StatusUnprocessableEntity, "invalid", http.MethodPost, path(held, "extend"), with{"end": held.End})
		alice.WantProblem(t, http.StatusUnprocessableEntity, "invalid", http.MethodPost, path(held, "extend"), with{})
		alice.Want(t, http.StatusOK, http.MethodPost, path(held, "end"), nil, &ended)
		if ended.Status != "ended" || ended.EndedAt == nil || !ended.End.Equal(longer.End) {
			t.Errorf("ended: %+v", ended)
		}
		bob.Book(t, testenv.Booking(inSeconds(1), held.End, []int64{kept.ID}))
		wantNothingTwice(t, mail)
	})
}
