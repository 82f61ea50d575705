package tests

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"punctual/tests/testenv"
)

// TestCrash_whileDown: what falls due while nothing runs is caught up at the restart, except
// reminders that come too late, which are recorded as skipped.
func TestCrash_whileDown(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		mail := testenv.Mail(t)
		on.Mail = mail
		server := testenv.Server(t, on.Config)
		began := time.Now()
		admin := server.Admin(t)
		alice := admin.NewUser(t, "Alice", "member")
		var rooms [4]testenv.Room
		for i := range rooms {
			rooms[i] = admin.NewRoom(t, string(rune('A'+i)))
		}
		strict := admin.NewRoom(t, "Strict", with{"approval": with{"required": true, "timeout": "3s"}})

		due := inGoodTime(began, 9)
		remind := func(d time.Duration) with { return with{"reminders": []any{reminder("start", d, "email")}} }
		// The reminder falls due just before the start, and both while the program is down.
		begun := alice.Book(t, testenv.Booking(due, due.Add(time.Hour), []int64{rooms[0].ID}, remind(time.Second), with{"title": "begun"}))
		over := alice.Book(t, testenv.Booking(due, due.Add(time.Second), []int64{rooms[1].ID}, with{"title": "over"}))
		coming := alice.Book(t, testenv.Booking(due.Add(time.Hour), due.Add(2*time.Hour), []int64{rooms[2].ID}, remind(time.Hour), with{"title": "coming"}))
		moved := alice.Book(t, testenv.Booking(due.Add(time.Hour), due.Add(2*time.Hour), []int64{rooms[3].ID}, with{"title": "moved"}))
		alice.Want(t, http.StatusOK, http.MethodPatch, at("/meetings/%d", moved.ID), with{"start": due.Add(30 * time.Minute).Format(time.RFC3339)}, nil)
		request := alice.Book(t, testenv.Booking(due.Add(time.Hour), due.Add(2*time.Hour), []int64{strict.ID}, with{"title": "request"}))

		server.Kill()
		time.Sleep(time.Until(due.Add(time.Second))) // all of it is due, and the short meeting over
		server.Start(t)
		up := time.Now()

		eventually(t, up.Add(2*slack), "all caught up", func() bool {
			return len(entries(alice.History(t, begun.ID), "started")) == 1 && len(entries(alice.History(t, over.ID), "ended")) == 1 &&
				len(entries(alice.History(t, request.ID), "rejected")) == 1 && len(mail.Where("alice@example.org", "reminder")) == 1
		})
		if m := alice.Meeting(t, begun.ID); m.Status != "in_progress" || m.StartedAt == nil || m.StartedAt.Before(due) {
			t.Errorf("begun: %+v", m)
		}
		if m := alice.Meeting(t, over.ID); m.Status != "ended" {
			t.Errorf("over: %+v", m)
		}
		if m := alice.Meeting(t, request.ID); m.Status != "rejected" || m.Approval.Reason != "timeout" {
			t.Errorf("request: %+v", m)
		}
		for _, id := range []int64{coming.ID, moved.ID} {
			if m := alice.Meeting(t, id); m.Status != "confirmed" {
				t.Errorf("meeting %d is %s, want confirmed", id, m.Status)
			}
		}
		states := func(id int64) (states []string) {
			for _, n := range admin.Notifications(t, id) {
				if n.Kind == "reminder" {
					states = append(states, n.State)
				}
			}
			return states
		}
		eventually(t, up.Add(2*slack), "the late reminder recorded as skipped", func() bool { return slices.Equal(states(begun.ID), []string{"skipped_late"}) })
		eventually(t, up.Add(2*slack), "the other one recorded as sent", func() bool { return slices.Equal(states(coming.ID), []string{"sent"}) })
		time.Sleep(time.Second) // for what must not come
		if n := len(mail.Where("alice@example.org", "reminder")); n != 1 {
			t.Errorf("%d reminders, want that of the coming meeting only", n)
		}
		wantNothingTwice(t, mail)
	})
}

// TestCrash_inTheMiddle kills the program while many reminders go out, twice. Each is
// delivered; twice only those whose acceptance the program did not live to record, and those
// with the same Message-ID.
func TestCrash_inTheMiddle(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		const meetings, inFlight = 30, 4
		mail := testenv.Mail(t)
		on.Mail, on.Jobs = mail, at("{ notify.email: { concurrency: %d } }", inFlight)
		server := testenv.Server(t, on.Config)
		began := time.Now()
		admin := server.Admin(t)
		alice := admin.NewUser(t, "Alice", "member")
		var rooms [meetings]testenv.Room
		for i := range rooms {
			rooms[i] = admin.NewRoom(t, at("Room %d", i))
		}
		// Start and reminder fall due together; that of the end may come as late as the program needs.
		start := inGoodTime(began, 12)
		var booked []testenv.Meeting
		for _, room := range rooms {
			booked = append(booked, alice.Book(t, testenv.Booking(start, start.Add(time.Hour), []int64{room.ID},
				with{"reminders": []any{reminder("end", time.Hour, "email")}})))
		}
		// Slow enough that the program dies with some sent, some under way and some waiting.
		mail.OnData(func(testenv.Message) testenv.Answer { return testenv.Answer{Wait: 100 * time.Millisecond} })
		reminders := func() []testenv.Message { return mail.Where("alice@example.org", "reminder") }
		eventually(t, start.Add(slack), "some reminders", func() bool { return len(reminders()) >= 5 })
		server.Kill()
		server.Start(t)
		eventually(t, start.Add(4*slack), "more reminders", func() bool { return len(reminders()) >= 15 })
		server.Kill()
		server.Start(t)

		eventually(t, time.Now().Add(5*slack), "every reminder sent and every meeting started", func() bool {
			for _, m := range booked {
				if len(entries(alice.History(t, m.ID), "started")) != 1 {
					return false
				}
				for _, n := range admin.Notifications(t, m.ID) {
					if n.Kind == "reminder" && n.State != "sent" {
						return false
					}
				}
			}
			return true
		})
		time.Sleep(time.Second) // for what must not come
		ids := map[string]int{}
		for _, m := range reminders() {
			ids[m.ID()]++
		}
		twice := 0
		for id, n := range ids {
			if n > 3 {
				t.Errorf("%s was delivered %d times over two crashes", id, n)
			}
			twice += n - 1
		}
		if len(ids) != meetings {
			t.Errorf("%d different reminders arrived, want %d", len(ids), meetings)
		}
		if twice > 2*inFlight {
			t.Errorf("%d mails came again, want at most the %d that were under way at each crash", twice, inFlight)
		}
	})
}
