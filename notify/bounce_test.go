package notify_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"punctual/notify"
	"punctual/notify/gormstore"
)

func (b *bench) bounces() *notify.Bounces {
	return notify.NewBounces(gormstore.NewBounces(b.db.Gorm, nil), b.ledger, func() time.Time { return b.now }, slog.New(slog.DiscardHandler))
}

// marked returns the addresses that are marked, with their reasons.
func (b *bench) marked(s *notify.Bounces) string {
	b.t.Helper()
	page, err := s.List(b.t.Context(), notify.BounceFilter{})
	if err != nil {
		b.t.Fatal(err)
	}
	var all []string
	for _, one := range page.Items {
		all = append(all, fmt.Sprintf("%s %s: %s", one.Address, one.Source, one.Reason))
	}
	return strings.Join(all, "\n")
}

// Only codes about the address of the recipient mark it.
func TestAddressGone(t *testing.T) {
	for status, want := range map[string]bool{
		"5.1.0": true, "5.1.1": true, "5.1.2": true, "5.1.3": true, "5.1.6": true, "5.1.10": true, "5.2.1": true,
		"5.1.5": false, "5.1.7": false, "5.1.8": false, "5.2.2": false, "5.2.3": false, "5.3.4": false, "5.4.4": false, "5.7.1": false,
		"5.0.0": false, "4.1.1": false, "5.1.11": false, "5.1.1.1": false, "": false,
	} {
		if got := notify.AddressGone(status); got != want {
			t.Errorf("%q: %v", status, got)
		}
	}
}

// A delivery report marks the recipient of a mail that it names by its Message-ID. Forged ones mark nobody.
func TestBounces_reported(t *testing.T) {
	b := newBench(t)
	n := b.insert("ada")
	d := notify.NewDelivery(notify.Email, b.ledger, b.sender, notify.DeliveryOptions{
		Host: "example.org", Sign: func([]byte) []byte { return []byte("a secret signature") }, Now: func() time.Time { return b.now },
	})
	if err := d.Execute(t.Context(), delivered(n, 1)); err != nil {
		t.Fatal(err)
	}
	id := b.get(n.ID).MessageID
	if want := fmt.Sprintf("<punctual-notification-%d-%x@example.org>", n.ID, "a secret signatu"); id != want {
		t.Fatalf("Message-ID %s, want %s", id, want)
	}
	old := b.insert("old") // sent by an earlier release
	short := fmt.Sprintf("<punctual-notification-%d-0123456789abcdef@example.org>", old.ID)
	if err := b.db.Gorm.Exec("UPDATE notifications SET state = 'sent', message_id = ? WHERE id = ?", short, old.ID).Error; err != nil {
		t.Fatal(err)
	}
	s := b.bounces()
	report := func(messageID string, recipients ...string) string {
		t.Helper()
		address, err := s.Reported(t.Context(), messageID, recipients, "5.1.1 no such mailbox")
		if err != nil {
			t.Fatal(err)
		}
		return address
	}
	for name, address := range map[string]string{
		"another recipient":     report(id, "bob@example.org"),
		"no recipient":          report(id),
		"another signature":     report(strings.Replace(id, "61", "62", 1), "ada@example.org"),
		"another notification":  report(strings.Replace(id, fmt.Sprintf("-%d-", n.ID), "-99-", 1), "ada@example.org"),
		"no mail of ours":       report("<1@example.org>", "ada@example.org"),
		"no Message-ID":         report("", "ada@example.org"),
		"an ID that is guessed": report(short, "old@example.org"),
	} {
		if address != "" {
			t.Errorf("%s: marked %s", name, address)
		}
	}
	if got := b.marked(s); got != "" {
		t.Fatalf("marked %s", got)
	}
	if got := report(id, "forwarded@example.net", "Ada@example.org"); got != "ada@example.org" {
		t.Errorf("marked %q", got)
	}
	if got, want := b.marked(s), "ada@example.org report: 5.1.1 no such mailbox"; got != want {
		t.Errorf("marked %q, want %q", got, want)
	}
}

// Events of the provider mark only addresses to which something was sent.
func TestBounces_event(t *testing.T) {
	b := newBench(t)
	b.insert("ada")
	s := b.bounces()
	for _, address := range []string{"Ada@example.org", "customer@example.org"} {
		if err := s.Event(t.Context(), address, "no such mailbox", ""); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := b.marked(s), "ada@example.org provider: no such mailbox"; got != want {
		t.Errorf("marked %q, want %q", got, want)
	}
}

type conclusions []string

func (c *conclusions) Concluded(k notify.Kind, ch notify.Channel, s notify.State, took time.Duration) {
	*c = append(*c, fmt.Sprintf("%s %s %s %s", k, ch, s, took))
}

// Each notification is counted once, in its final state, with the time since it was recorded.
func TestDelivery_observed(t *testing.T) {
	b := newBench(t)
	broken := fmt.Errorf("it broke")
	b.sender.errs = []error{broken, notify.Unavailable(broken), notify.Permanent(broken), notify.Off("off")}
	var got conclusions
	d := notify.NewDelivery(notify.Email, b.ledger, b.sender, notify.DeliveryOptions{Observer: &got, Now: func() time.Time { return b.now }})
	run := func(n notify.Notification, attempt int) { _ = d.Execute(t.Context(), delivered(n, attempt)) }
	var ns []notify.Notification
	for _, key := range []string{"a", "b", "c", "late"} {
		n := b.insert(key)
		if err := b.db.Gorm.Exec("UPDATE notifications SET created_at = ? WHERE id = ?", b.now.Add(-7*time.Second), n.ID).Error; err != nil {
			t.Fatal(err)
		}
		ns = append(ns, n)
	}
	run(ns[0], 1) // retried
	run(ns[0], 2) // the server is down
	run(ns[1], 1)
	run(ns[2], 1)
	run(ns[0], 3)
	b.now = b.now.Add(time.Hour)
	run(ns[3], 1)
	resent, err := b.ledger.Resend(t.Context(), ns[0].ID, b.now)
	if err != nil {
		t.Fatal(err)
	}
	b.now = b.now.Add(time.Second)
	run(resent, 1)
	want := "reminder email failed 7s,reminder email skipped 7s,reminder email sent 7s,reminder email skipped_late 1h0m7s,reminder email sent 1s"
	if got := strings.Join(got, ","); got != want {
		t.Errorf("counted\n%s, want\n%s", got, want)
	}
}
