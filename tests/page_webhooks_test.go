package tests

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"punctual/tests/testenv"
	"punctual/web"
)

// TestPageWebhooks: an administrator sets a webhook by click, tries it, sees what it was told and
// sends it again.
func TestPageWebhooks(t *testing.T) {
	t.Parallel()
	if !web.Built() {
		t.Fatal("the page was not built: make page")
	}
	server := testenv.PrepareServer(t, testenv.Config{YAML: allowLoopback})
	if out, err := server.Command(t, "demo", "--config", server.ConfigFile()).CombinedOutput(); err != nil {
		t.Fatalf("demo: %v\n%s", err, out)
	}
	server.Start(t)
	ada := server.Login(t, "ada@example.org", demoPassword)
	room := ada.NewRoom(t, "Told")
	var closed atomic.Bool
	r := receiveHooks(t, func(w http.ResponseWriter, _ *http.Request) {
		if closed.Load() {
			http.Error(w, "the desk is closed", http.StatusBadGateway)
		}
	})

	b := browse(t, server)
	b.signIn("ada@example.org", demoPassword)
	b.open("/admin/webhooks")
	b.reads("No webhooks yet")
	b.press("New webhook")
	b.await("document.querySelector('dialog[open] input[type=url]')")
	b.fill("URL", "ftp://example.org/")
	b.fill("Secret", "short")
	b.press("Create")
	b.await("document.querySelectorAll('dialog[open] [aria-invalid=true]').length === 2")
	b.accessible("new webhook")
	b.shot("admin-webhook-new")
	b.fill("URL", r.URL+"/in")
	b.fill("Secret", hookSecret)
	eval[bool](b, "document.querySelector('dialog[open] input[value=\"meeting.created\"]').click() ?? true")
	b.press("Create")
	b.await("document.querySelector('tr[data-webhook] .tag.good')")
	b.press("Send test: " + r.URL + "/in")
	b.reads("The server answered 200")

	start := inSeconds(3 * 3600)
	ada.Book(t, testenv.Booking(start, start.Add(time.Hour), []int64{room.ID}, with{"title": "Told at once"}))
	eventually(t, soon(30), "it is told", func() bool { return r.count() == 2 }) // the first was the trial
	closed.Store(true)
	b.press("Deliveries: " + r.URL + "/in")
	b.await("document.querySelector('dialog[open] li[data-delivery] .tag.good')")
	ada.Book(t, testenv.Booking(start.Add(2*time.Hour), start.Add(3*time.Hour), []int64{room.ID}, with{"title": "Not told yet"}))
	b.await("document.querySelector('dialog[open] li[data-delivery] .tag.warn')")
	b.reads("the desk is closed")
	b.accessible("deliveries")
	b.shot("admin-webhook-deliveries")
	closed.Store(false)
	posts := r.count()
	b.press("Resend: meeting.created #" + eval[string](b, "document.querySelector('li:has(.tag.good) .muted').textContent.match(/#(\\d+)/)[1]"))
	eventually(t, soon(30), "it is told again", func() bool { return r.count() > posts })
	b.press("Close")

	b.accessible("webhooks")
	b.shot("admin-webhooks")
	b.size(phone)
	b.await("document.querySelector('tr[data-webhook]').getBoundingClientRect().right <= innerWidth")
	b.shot("admin-webhooks-phone")
	b.press("Edit: " + r.URL + "/in")
	b.await("document.querySelector('dialog[open] input[type=url]')")
	b.press("Delete")
	b.reads("No webhooks yet")
	var left struct{ Items []struct{ ID int64 } }
	if ada.Want(t, http.StatusOK, http.MethodGet, "/webhooks", nil, &left); len(left.Items) != 0 {
		t.Errorf("left: %v", left.Items)
	}

	// Without a secret of one's own, the one that was made is shown, once.
	b.press("New webhook")
	b.fill("URL", r.URL+"/in")
	b.press("Create")
	b.await("document.querySelector('[data-secret]')")
	if secret := eval[string](b, "document.querySelector('[data-secret]').textContent"); len(strings.TrimSpace(secret)) < 16 {
		t.Errorf("secret %q", secret)
	}
	b.press("Close")
	b.await("document.querySelector('tr[data-webhook] .tag.good')")
}
