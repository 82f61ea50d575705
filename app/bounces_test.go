package app

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"punctual/app/config"
	"punctual/notify"
)

// recordMail records a mail to somebody without an account.
func recordMail(t *testing.T, a *Application, key, address string) notify.Notification {
	t.Helper()
	ns := []notify.Notification{{
		DedupeKey: key, Kind: notify.TestMail, Channel: notify.Email, To: notify.Recipient{Name: "Guest", Address: address},
		Due: time.Now().Add(-time.Minute), State: notify.Pending, Version: 1,
	}}
	if err := a.db.Gorm.WithContext(t.Context()).Transaction(func(tx *gorm.DB) error { return a.ledger.Insert(tx, ns) }); err != nil {
		t.Fatal(err)
	}
	ns[0].Version = 1
	return ns[0]
}

// The provider's events mark an address. Mails to it are skipped with a reason, until the mark is cleared.
func TestBounces(t *testing.T) {
	const secret = "0123456789abcdef"
	a, s := startApplication(t, func(c *config.Config) {
		c.Email.Events = config.Events{Provider: "plain", Secret: secret}
	})
	path := s.URL + config.EmailCallbacks
	if n := execute(t, a, recordMail(t, a, "a", "Ada@example.org")); n.State != notify.Sent {
		t.Fatalf("%s: %s", n.State, n.LastError)
	}
	event := `{"address":"ada@example.org","type":"bounce","reason":"no such mailbox"}`
	for _, c := range []struct {
		secret, body string
		want         int
	}{
		{"fedcba9876543210", event, http.StatusForbidden},
		{secret + "0", event, http.StatusForbidden},
		{secret, "{", http.StatusUnprocessableEntity},
		{secret, strings.Repeat(" ", maxEvents) + event, http.StatusRequestEntityTooLarge},
		{secret, `{"address":"ada@example.org","type":"delivered"}`, http.StatusNoContent},
		{secret, strings.Replace(event, "ada", "stranger", 1), http.StatusNoContent},
	} {
		if status, answer := post(t, path+c.secret, c.body, nil); status != c.want {
			t.Errorf("%s: %d %s, want %d", c.secret, status, answer, c.want)
		}
	}
	if page, err := a.bounces.List(t.Context(), notify.BounceFilter{}); err != nil || len(page.Items) > 0 {
		t.Fatalf("marked %+v, %v", page.Items, err)
	}
	if status, answer := post(t, path+secret, event, nil); status != http.StatusNoContent {
		t.Errorf("an event: %d %s", status, answer)
	}
	page, err := a.bounces.List(t.Context(), notify.BounceFilter{})
	if err != nil || len(page.Items) != 1 {
		t.Fatalf("marked %+v, %v", page.Items, err)
	}
	n := execute(t, a, recordMail(t, a, "b", "ADA@example.org"))
	if want := "not sent: mail to this address bounced on " + page.Items[0].At.Format(time.RFC3339); n.State != notify.Skipped || n.LastError != want {
		t.Errorf("%s: %s, want %s", n.State, n.LastError, want)
	}
	if n := execute(t, a, recordMail(t, a, "c", "bob@example.org")); n.State != notify.Sent {
		t.Errorf("to another address: %s: %s", n.State, n.LastError)
	}
	if err := a.bounces.Clear(t.Context(), page.Items[0].ID); err != nil {
		t.Error(err)
	}
	if n := execute(t, a, recordMail(t, a, "d", "ada@example.org")); n.State != notify.Sent {
		t.Errorf("after the mark was cleared: %s: %s", n.State, n.LastError)
	}
	shown := httptest.NewRecorder()
	a.metrics.handler().ServeHTTP(shown, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for _, want := range []string{
		`punctual_notifications_total{channel="email",kind="test_mail",state="sent"} 3`,
		`punctual_notifications_total{channel="email",kind="test_mail",state="skipped"} 1`,
		`punctual_notification_seconds_count{channel="email",kind="test_mail"} 3`,
	} {
		if !strings.Contains(shown.Body.String(), want) {
			t.Errorf("the metrics lack %s", want)
		}
	}

	_, s = startApplication(t, nil)
	if status, _ := post(t, s.URL+config.EmailCallbacks+secret, event, nil); status != http.StatusNotFound {
		t.Errorf("without a provider: %d", status)
	}
}
