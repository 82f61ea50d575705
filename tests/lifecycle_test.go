package tests

import (
	"bytes"
	"net/http"
	"testing"
	"time"

	"punctual/tests/testenv"
)

// TestMeeting_fromBookingToEnd is the main story: people are told before the start and before
// the end, once each, and the meeting begins and ends by itself, never early.
func TestMeeting_fromBookingToEnd(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		mail, sms := testenv.Mail(t), testenv.SMS(t)
		on.Mail, on.SMS = mail, sms
		on.LoadEvery = 10 * time.Minute // what is booked for soon does not wait for the loader
		server := testenv.Server(t, on.Config)
		admin := server.Admin(t)
		room := admin.NewRoom(t, "Turing")
		alice := admin.NewUser(t, "Alice", "member", with{"phone": "+4930111"})

		const before = 12 * time.Second // later than its start nobody is reminded of it
		start, end := inSeconds(20), inSeconds(36)
		m := alice.Book(t, testenv.Booking(start, end, []int64{room.ID}, with{
			"attendees": []any{with{"email": "bob@example.org", "name": "Bob", "phone": "+4930222"}, with{"email": "nophone@example.org", "name": "Cleo"}},
			"reminders": []any{reminder("start", before, "email", "sms"), reminder("end", before, "email", "sms")},
		}))
		if m.Status != "confirmed" || !m.Start.Equal(start) || m.Organizer.ID != alice.User.ID {
			t.Fatalf("booked %+v", m)
		}

		eventually(t, start.Add(slack), "in progress, with its entry in the history", func() bool {
			return len(entries(alice.History(t, m.ID), "started")) == 1 && (alice.Meeting(t, m.ID).Status == "in_progress" || time.Now().After(end))
		})
		eventually(t, end.Add(slack), "ended, with its entry in the history", func() bool {
			return alice.Meeting(t, m.ID).Status == "ended" && len(entries(alice.History(t, m.ID), "ended")) == 1
		})
		history := alice.History(t, m.ID)
		wantOnce(t, history, "started", "timer", start)
		wantOnce(t, history, "ended", "timer", end)
		if es := entries(history, "created"); len(es) != 1 || es[0].Actor.ID != alice.User.ID {
			t.Errorf("created: %+v", es)
		}
		got := alice.Meeting(t, m.ID)
		if got.StartedAt == nil || got.EndedAt == nil {
			t.Fatalf("started_at %v, ended_at %v", got.StartedAt, got.EndedAt)
		}
		wantTime(t, "started_at", *got.StartedAt, start)
		wantTime(t, "ended_at", *got.EndedAt, end)

		eventually(t, end.Add(slack), "6 mails and 4 messages as reminders", func() bool {
			return len(mail.Where("", "reminder")) >= 6 && len(sms.Messages()) >= 4
		})
		for _, to := range []string{"alice@example.org", "bob@example.org", "nophone@example.org"} {
			reminders := mail.Where(to, "reminder")
			if len(reminders) != 2 {
				t.Fatalf("%s got %d reminders by mail, want 2", to, len(reminders))
			}
			wantTime(t, "the first reminder to "+to, reminders[0].At, start.Add(-before))
			wantTime(t, "the second reminder to "+to, reminders[1].At, end.Add(-before))
		}
		byPhone := map[string][]testenv.SMSMessage{}
		ids := map[string]bool{}
		for _, message := range sms.Messages() {
			byPhone[message.To] = append(byPhone[message.To], message)
			ids[message.ID] = true
		}
		for _, to := range []string{"+4930111", "+4930222"} {
			if len(byPhone[to]) != 2 {
				t.Fatalf("%s got %d messages, want 2", to, len(byPhone[to]))
			}
			wantTime(t, "the first message to "+to, byPhone[to][0].At, start.Add(-before))
			wantTime(t, "the second message to "+to, byPhone[to][1].At, end.Add(-before))
		}
		if len(byPhone) != 2 || len(ids) != 4 {
			t.Errorf("messages to %d phones with %d ids, want 2 and 4", len(byPhone), len(ids))
		}
		for _, to := range []string{"bob@example.org", "nophone@example.org"} {
			if n := len(mail.Where(to, "invitation")); n != 1 {
				t.Errorf("%s got %d invitations, want 1", to, n)
			}
		}
		wantNothingTwice(t, mail)

		var reminders int
		eventually(t, time.Now().Add(slack), "every notification recorded as sent", func() bool {
			reminders = 0
			for _, n := range admin.Notifications(t, m.ID) {
				if n.State != "sent" {
					return false
				}
				if n.Attempts != 1 {
					t.Errorf("notification %+v was tried %d times", n, n.Attempts)
				}
				if n.Kind == "reminder" {
					reminders++
				}
			}
			return true
		})
		if res := admin.Do(t, http.MethodGet, server.URL+"/metrics", nil); !bytes.Contains(res.Body, []byte(`delayjob_late_seconds_count{job="meeting.start"} 1`)) {
			t.Error("/metrics does not count the start")
		}
		if reminders != 10 {
			t.Errorf("%d reminders in the ledger, want 10", reminders)
		}
	})
}

// TestMeeting_movedAndCancelled: a moved meeting fires at its new time only, a cancelled one
// never.
func TestMeeting_movedAndCancelled(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		mail := testenv.Mail(t)
		on.Mail = mail
		server := testenv.Server(t, on.Config)
		began := time.Now()
		admin := server.Admin(t)
		a, b := admin.NewRoom(t, "A"), admin.NewRoom(t, "B")
		eve := admin.NewUser(t, "Eve", "member")
		dan := admin.NewUser(t, "Dan", "member")

		const before = 12 * time.Second
		reminders := with{"reminders": []any{reminder("start", before, "email"), reminder("end", before, "email")}}
		start := inGoodTime(began, 20)
		end := start.Add(16 * time.Second)
		moved := eve.Book(t, testenv.Booking(start, end, []int64{a.ID}, reminders))
		cancelled := dan.Book(t, testenv.Booking(start, end, []int64{b.ID}, reminders,
			with{"attendees": []any{with{"email": "bob@example.org", "name": "Bob"}}}))

		start, end = start.Add(3*time.Second), end.Add(3*time.Second)
		var after testenv.Meeting
		eve.Want(t, http.StatusOK, http.MethodPatch, at("/meetings/%d", moved.ID),
			with{"start": start.Format(time.RFC3339), "end": end.Format(time.RFC3339)}, &after)
		if after.ScheduleVersion <= moved.ScheduleVersion || after.Version <= moved.Version || !after.Start.Equal(start) {
			t.Errorf("moved from %+v to %+v", moved, after)
		}
		dan.Want(t, http.StatusOK, http.MethodPost, at("/meetings/%d/cancel", cancelled.ID), with{"reason": "ill"}, &after)
		if after.Status != "cancelled" {
			t.Errorf("cancelled: %+v", after)
		}
		dan.WantProblem(t, http.StatusConflict, "state_conflict", http.MethodPost, at("/meetings/%d/cancel", cancelled.ID), with{})
		// Its slot is free again.
		dan.Book(t, testenv.Booking(cancelled.Start.Add(time.Hour), cancelled.End.Add(time.Hour), []int64{b.ID}))

		eventually(t, end.Add(slack), "the moved one ended", func() bool {
			return len(entries(eve.History(t, moved.ID), "ended")) == 1
		})
		wantOnce(t, eve.History(t, moved.ID), "started", "timer", start)
		wantOnce(t, eve.History(t, moved.ID), "ended", "timer", end)
		eventually(t, end.Add(slack), "two reminders of the moved one", func() bool { return len(mail.Where("eve@example.org", "reminder")) >= 2 })
		got := mail.Where("eve@example.org", "reminder")
		if len(got) != 2 {
			t.Fatalf("%d reminders of the moved one, want 2", len(got))
		}
		wantTime(t, "its first reminder", got[0].At, start.Add(-before))
		wantTime(t, "its second reminder", got[1].At, end.Add(-before))

		history := dan.History(t, cancelled.ID)
		if len(entries(history, "started")) != 0 || len(entries(history, "ended")) != 0 || len(entries(history, "cancelled")) != 1 {
			t.Errorf("history of the cancelled one: %+v", history)
		}
		if e := entries(history, "cancelled")[0]; e.Reason != "ill" || e.Actor.ID != dan.User.ID {
			t.Errorf("cancelled: %+v", e)
		}
		for _, to := range []string{"dan@example.org", "bob@example.org"} {
			if got := mail.Where(to, "reminder"); len(got) != 0 {
				t.Errorf("%s was reminded of the cancelled one %d times", to, len(got))
			}
		}
		if n := len(mail.Where("bob@example.org", "cancellation")); n != 1 {
			t.Errorf("%d cancellations, want 1", n)
		}
		for _, n := range admin.Notifications(t, cancelled.ID) {
			if n.Kind == "reminder" && n.State != "cancelled" {
				t.Errorf("reminder of the cancelled one: %+v", n)
			}
		}
		wantNothingTwice(t, mail)
	})
}
