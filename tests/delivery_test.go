package tests

import (
	"net/http"
	"testing"
	"time"

	"punctual/tests/testenv"
)

// TestDelivery_failures: what may succeed later is tried again with the same Message-ID, what
// cannot is not, and both stand in the ledger. A failed one is sent when an admin asks for it.
func TestDelivery_failures(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		mail, sms := testenv.Mail(t), testenv.SMS(t)
		on.Mail, on.SMS = mail, sms
		server := testenv.Server(t, on.Config)
		admin := server.Admin(t)
		room := admin.NewRoom(t, "Turing")
		// Whether the recipient or the mail is refused makes no difference.
		mail.OnRcpt(func(to string) testenv.Answer {
			if to == "gone@example.org" {
				return testenv.Answer{Code: 550}
			}
			return testenv.Answer{}
		})
		busy := map[string]int{}
		mail.OnData(func(m testenv.Message) testenv.Answer {
			if busy[m.ID()]++; m.To[0] == "busy@example.org" && busy[m.ID()] <= 2 {
				return testenv.Answer{Code: 451}
			}
			return testenv.Answer{}
		})
		sms.Script(http.StatusInternalServerError)
		m := admin.Book(t, testenv.Booking(inSeconds(3600), inSeconds(7200), []int64{room.ID}, with{
			"attendees": []any{with{"email": "busy@example.org", "name": "Busy", "phone": "+4930111"}, with{"email": "gone@example.org", "name": "Gone"}, with{"email": "fine@example.org", "name": "Fine"}},
			"reminders": []any{reminder("start", time.Hour-12*time.Second, "sms")},
		}))
		ledger := func() map[string]testenv.Notification {
			all := map[string]testenv.Notification{}
			for _, n := range admin.Notifications(t, m.ID) {
				all[n.Address] = n
			}
			return all
		}
		eventually(t, time.Now().Add(slack), "all delivered or given up", func() bool {
			l := ledger()
			return l["busy@example.org"].State == "sent" && l["gone@example.org"].State == "failed" && l["fine@example.org"].State == "sent" && l["+4930111"].State == "sent"
		})
		l := ledger()
		if n := l["busy@example.org"]; n.Attempts != 3 {
			t.Errorf("the busy one took %d attempts, want 3", n.Attempts)
		}
		if n := l["gone@example.org"]; n.Attempts != 1 || n.LastError == "" {
			t.Errorf("the refused one: %+v, want one attempt and its error", n)
		}
		if n := l["+4930111"]; n.Attempts != 2 || len(sms.Messages()) != 1 {
			t.Errorf("the short message: %+v, arrived %d times", n, len(sms.Messages()))
		}
		wantNothingTwice(t, mail)

		mail.OnRcpt(nil)
		admin.Want(t, http.StatusOK, http.MethodPost, at("/notifications/%d/resend", l["gone@example.org"].ID), nil, nil)
		eventually(t, time.Now().Add(2*slack), "sent when asked for", func() bool { return ledger()["gone@example.org"].State == "sent" })
		if n := len(mail.Where("gone@example.org", "invitation")); n != 1 {
			t.Errorf("%d mails, want 1", n)
		}
	})
}

// TestDelivery_serverDown: while no mail server answers nothing is given up, and meetings
// start in time.
func TestDelivery_serverDown(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		mail := testenv.Mail(t)
		on.Mail = mail
		server := testenv.Server(t, on.Config)
		admin := server.Admin(t)
		a, b := admin.NewRoom(t, "A"), admin.NewRoom(t, "B")
		mail.OnData(func(testenv.Message) testenv.Answer { return testenv.Answer{Code: 421} })
		guests := with{"attendees": []any{with{"email": "bob@example.org", "name": "Bob"}}}
		later := admin.Book(t, testenv.Booking(inSeconds(3600), inSeconds(7200), []int64{a.ID}, guests))
		eventually(t, time.Now().Add(slack), "tried", func() bool { return mail.Tried() > 0 })
		start := inSeconds(2)
		soon := admin.Book(t, testenv.Booking(start, start.Add(time.Hour), []int64{b.ID}))
		eventually(t, start.Add(slack), "started", func() bool { return len(entries(admin.History(t, soon.ID), "started")) == 1 })
		wantOnce(t, admin.History(t, soon.ID), "started", "timer", start)
		mail.OnData(nil)
		eventually(t, time.Now().Add(40*time.Second), "sent once the server works", func() bool { return len(mail.Where("bob@example.org", "invitation")) == 1 })
		if ns := admin.Notifications(t, later.ID); len(ns) != 1 {
			t.Errorf("ledger: %+v", ns)
		}
		wantNothingTwice(t, mail)
	})
}

// TestJobs_paused: what an admin holds back waits and is caught up.
func TestJobs_paused(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		server := testenv.Server(t, on.Config)
		admin := server.Admin(t)
		room := admin.NewRoom(t, "Turing")
		paused := func() (names []string) {
			var jobs testenv.Page[struct {
				Name   string `json:"name"`
				Paused bool   `json:"paused"`
			}]
			admin.Want(t, http.StatusOK, http.MethodGet, "/jobs", nil, &jobs)
			if len(jobs.Items) < 6 {
				t.Errorf("jobs: %+v", jobs.Items)
			}
			for _, j := range jobs.Items {
				if j.Paused {
					names = append(names, j.Name)
				}
			}
			return names
		}
		admin.Want(t, http.StatusOK, http.MethodPost, "/jobs/meeting.start/pause", nil, nil)
		if got := paused(); len(got) != 1 || got[0] != "meeting.start" {
			t.Errorf("paused: %v", got)
		}
		start := inSeconds(1)
		m := admin.Book(t, testenv.Booking(start, start.Add(time.Hour), []int64{room.ID}))
		time.Sleep(time.Until(start.Add(1500 * time.Millisecond)))
		if es := entries(admin.History(t, m.ID), "started"); len(es) != 0 {
			t.Errorf("it started while paused: %+v", es)
		}
		if m := admin.Meeting(t, m.ID); m.Status != "in_progress" {
			t.Errorf("status %s, want that of the hour", m.Status)
		}
		admin.Want(t, http.StatusOK, http.MethodPost, "/jobs/meeting.start/resume", nil, nil)
		eventually(t, time.Now().Add(slack), "started after the pause", func() bool { return len(entries(admin.History(t, m.ID), "started")) == 1 })
		if got := paused(); len(got) != 0 {
			t.Errorf("paused: %v", got)
		}
	})
}
