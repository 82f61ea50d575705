package tests

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"punctual/tests/testenv"
	"punctual/web"
)

// TestPageOperations: what an administrator sees of the installation at work, and mends by click.
func TestPageOperations(t *testing.T) {
	t.Parallel()
	if !web.Built() {
		t.Fatal("the page was not built: make page")
	}
	mail := testenv.Mail(t)
	mail.OnRcpt(func(to string) testenv.Answer {
		if strings.HasPrefix(to, "refused") {
			return testenv.Answer{Code: 451}
		}
		return testenv.Answer{}
	})
	server := testenv.PrepareServer(t, testenv.Config{Mail: mail, Jobs: "{ notify.email: { max_attempts: 1 } }"})
	if out, err := server.Command(t, "demo", "--config", server.ConfigFile()).CombinedOutput(); err != nil {
		t.Fatalf("demo: %v\n%s", err, out)
	}
	server.Start(t)
	ada := server.Login(t, "ada@example.org", demoPassword)
	ada.Want(t, http.StatusOK, http.MethodPatch, "/me", with{"timezone": noon(t).String()}, nil) // reports end with her day
	room := ada.NewRoom(t, "Operations", with{"capacity": 10})
	start := inSeconds(3 * 3600)
	m := ada.Book(t, testenv.Booking(start, start.Add(time.Hour), []int64{room.ID}, with{
		"title": "Mended by hand", "attendees": []with{{"email": "refused-1@example.org"}, {"email": "refused-2@example.org"}, {"email": "refused-3@example.org"}, {"email": "fine@example.org"}},
	}))
	ada.Want(t, http.StatusOK, http.MethodPatch, at("/rooms/%d", room.ID), with{"capacity": 12}, nil)
	ada.Want(t, http.StatusCreated, http.MethodPost, "/topics/orders/jobs", with{"id": "o-1", "delay_ms": 0, "max_attempts": 1, "body": with{"order": 17}}, nil)
	var popped struct{ Items []struct{ ID, Lease string } }
	ada.Want(t, http.StatusOK, http.MethodPost, "/topics/orders/pop", with{"max": 1, "wait_ms": 30000}, &popped)
	if len(popped.Items) != 1 {
		t.Fatalf("popped %+v", popped)
	}
	ada.Want(t, http.StatusNoContent, http.MethodPost, "/topics/orders/jobs/o-1/fail", with{"lease": popped.Items[0].Lease, "error": "card declined", "dead": true}, nil)
	ada.Want(t, http.StatusCreated, http.MethodPost, "/topics/orders/jobs", with{"id": "o-2", "delay_ms": 1200000, "body": with{"order": 18}}, nil)
	type letter struct {
		ID        string
		MeetingID int64 `json:"meeting_id"`
	}
	letters := func() (of []letter) {
		for _, l := range testenv.All[letter](t, ada, "/jobs/dead?job=notify.email") {
			if l.MeetingID == m.ID {
				of = append(of, l)
			}
		}
		return of
	}
	eventually(t, time.Now().Add(patience), "three mails died", func() bool { return len(letters()) == 3 })

	b := browse(t, server)
	b.signIn("ada@example.org", demoPassword)
	rows := func(selector string) int { return eval[int](b, "document.querySelectorAll(%q).length", selector) }

	// The queue.
	b.open("/admin/jobs")
	b.await("document.querySelectorAll('tr[data-job]').length > 8")
	b.await("document.querySelectorAll('.chart .plot canvas').length === 2")
	b.reads("Failed jobs")
	b.press("Pause meeting.remind")
	b.await("document.querySelector('tr[data-job=\"meeting.remind\"] .tag.warn')")
	var jobs struct {
		Mode  string
		Items []struct {
			Name   string
			Paused bool
		}
	}
	ada.Want(t, http.StatusOK, http.MethodGet, "/jobs", nil, &jobs)
	if jobs.Mode != "memory" || !slices.ContainsFunc(jobs.Items, func(j struct {
		Name   string
		Paused bool
	}) bool {
		return j.Name == "meeting.remind" && j.Paused
	}) {
		t.Errorf("after the click: %+v", jobs)
	}
	b.press("Resume meeting.remind")
	b.await("document.querySelector('tr[data-job=\"meeting.remind\"] .tag.good')")
	b.press("Next messages of meeting.start")
	b.await("document.querySelector('dialog[open] .pick')")
	b.press("Close")
	// What the chart shows is in its table, too: the meeting's start is within three hours, not one.
	var coming struct {
		Items []struct {
			Job     string
			Minutes []int
		}
	}
	ada.Want(t, http.StatusOK, http.MethodGet, "/jobs/coming", nil, &coming)
	if len(coming.Items) != len(jobs.Items) || len(coming.Items[0].Minutes) != 60 {
		t.Errorf("the coming hour: %+v", coming)
	}
	b.click("document.querySelector('.chart button[aria-pressed]')")
	b.await("document.querySelectorAll('.chart .rows tbody tr').length === 60")
	b.click("document.querySelector('.chart button[aria-pressed]')")
	b.await("document.querySelectorAll('.chart .plot canvas').length === 2")

	// Dead letters: one tried again by click, one discarded, one tried again with all.
	mail.OnRcpt(nil)
	b.open("/admin/dead")
	b.await("document.querySelectorAll('tr[data-dead]').length >= 3")
	b.choose("input[type=search]", "no such error")
	b.await("document.querySelector('.empty')")
	b.choose("input[type=search]", "scripted answer 451")
	b.await("document.querySelectorAll('tr[data-dead]').length >= 3")
	died := letters()
	b.press(died[0].ID)
	b.await("document.querySelector('dialog[open] .facts')")
	b.reads(fmt.Sprintf("Meeting %d", m.ID))
	b.accessible("a dead letter")
	b.shot("dead-letter")
	b.press("Retry")
	eventually(t, time.Now().Add(patience), "the mail of the first", func() bool { return len(letters()) == 2 })
	b.await("!document.querySelector('dialog[open]')")
	b.await("!document.querySelector('tr[data-dead=%q]')", died[0].ID)
	b.click("document.querySelector('tr[data-dead=%q] input')", died[1].ID)
	b.press("Discard")
	b.reads("Discard these jobs?")
	b.click("document.querySelector('dialog[open] .button.danger')")
	eventually(t, time.Now().Add(patience), "the second is gone", func() bool { return len(letters()) == 1 })
	b.await("!document.querySelector('dialog[open]')")
	b.press("Retry all of these")
	b.await("document.querySelector('dialog[open]')")
	b.click("document.querySelector('dialog[open] .button.primary')")
	eventually(t, time.Now().Add(patience), "none is left", func() bool { return len(letters()) == 0 })
	to := func(address string) int { return len(mail.Where(address, "invitation")) }
	eventually(t, time.Now().Add(patience), "two of three mails", func() bool {
		return to("refused-1@example.org")+to("refused-2@example.org")+to("refused-3@example.org") == 2
	})

	// Topics.
	b.open("/admin/topics")
	b.press("Open topic orders")
	b.reads("card declined")
	b.await("document.querySelector('dialog[open] .plot canvas')")
	b.accessible("a topic")
	b.shot("topic")
	b.press("Retry")
	var job struct{ State string }
	eventually(t, time.Now().Add(patience), "the order is due again", func() bool {
		ada.Want(t, http.StatusOK, http.MethodGet, "/topics/orders/jobs/o-1", nil, &job)
		return job.State == "ready"
	})

	// The ledger: found, looked at, sent again.
	b.open("/admin/notifications")
	b.await("document.querySelector('tr[data-notification]')")
	b.choose("input[type=search]", "FINE@example")
	b.await("document.querySelectorAll('tr[data-notification]').length === 1")
	b.press("Details of Invitation, fine@example.org")
	b.reads("Accepted by the server")
	b.accessible("a notification")
	b.shot("notification")
	b.press("Resend")
	eventually(t, time.Now().Add(patience), "the mail came twice", func() bool { return to("fine@example.org") == 2 })
	b.press("Close")
	b.choose("input[type=search]", "refused")
	b.await("document.querySelectorAll('tr[data-notification]').length === 3")
	b.click("document.querySelector('thead input')")
	b.press("Resend 3")
	b.reads("will be resent")
	for _, n := range []string{"refused-1@example.org", "refused-2@example.org", "refused-3@example.org"} {
		eventually(t, time.Now().Add(patience), "each of them came", func() bool { return to(n) >= 1 })
	}
	var page struct{ Items []struct{ ID int64 } }
	ada.Want(t, http.StatusOK, http.MethodGet, "/notifications?address=refused-1@example.org", nil, &page)
	var detail struct {
		Failures []struct {
			Attempt int
			Error   string
		}
	}
	ada.Want(t, http.StatusOK, http.MethodGet, at("/notifications/%d", page.Items[0].ID), nil, &detail)
	if len(detail.Failures) != 1 || !strings.Contains(detail.Failures[0].Error, "451") {
		t.Errorf("what is told of its attempts: %+v", detail)
	}

	// The history has it all.
	b.open("/admin/audit")
	for _, action := range []string{"job.paused", "job.resumed", "dead_letter.requeued", "dead_letter.discarded", "topic_job.requeued", "notification.resent", "session.begun"} {
		b.await("document.querySelector('li[data-action=%q]')", action)
	}
	b.choose("input[type=search]", "Operations")
	b.choose(".filters select", "room")
	b.await("document.querySelectorAll('li[data-action]').length === 2")
	b.click("document.querySelector('li[data-action=\"room.changed\"] summary')")
	b.await("document.querySelector('li[data-action=\"room.changed\"] del').innerText === '10' && document.querySelector('li[data-action=\"room.changed\"] ins').innerText === '12'")
	b.shot("history-changes")

	// The reports say what the API says.
	b.open("/admin/utilisation")
	b.await("document.querySelectorAll('.chart').length >= 3 && document.querySelector('.heat td')")
	if n := rows(".heat tbody tr"); n != 7 {
		t.Errorf("%d days of a week", n)
	}
	b.open("/admin/punctuality")
	b.await("document.querySelectorAll('.chart .plot canvas').length === 2")
	b.reads("notify.email")

	for _, view := range []struct{ name, path, shows string }{
		{"dead", "/admin/dead", "tr[data-dead], .empty"},
		{"topics", "/admin/topics", "tbody tr"},
		{"audit", "/admin/audit", "li[data-action]"},
	} {
		b.open(view.path)
		b.judged(view.name, view.shows)
	}
	b.open("/admin/jobs")
	b.choose("#menu-language", "zh")
	b.reads("未来一小时")
	b.await("document.querySelectorAll('.chart .plot canvas').length === 2")
	b.accessible("the queue in Chinese")
	b.shot("jobs-zh")
	for _, view := range []string{"utilisation", "audit"} {
		b.open("/admin/" + view)
		b.await("document.querySelector('.chart .plot canvas, li[data-action]')")
		b.shot(view + "-zh")
	}
	b.choose("#menu-language", "de")
	b.open("/admin/utilisation")
	b.reads("Auslastung")
	b.await("document.querySelector('.chart .plot canvas')")
	b.shot("utilisation-de")
}
