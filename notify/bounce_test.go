package notify_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"punctual/notify"
	"punctual/notify/gormstore"
)

func signed(text []byte) []byte {
	sum := sha256.Sum256(append([]byte("secret"), text...))
	return sum[:]
}

func (b *bench) bounces() *notify.Bounces {
	return notify.NewBounces(gormstore.NewBounces(b.db.Gorm, nil), b.ledger, func(text, signature []byte) bool { return bytes.Equal(signature, signed(text)) }, func() time.Time { return b.now }, slog.New(slog.DiscardHandler))
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
		"5.1.1": true, "5.1.2": true, "5.1.3": true, "5.1.6": true, "5.1.10": true,
		"5.1.0": false, "5.2.1": false, "5.1.5": false, "5.1.7": false, "5.1.8": false, "5.2.2": false, "5.2.3": false, "5.3.4": false, "5.4.4": false, "5.7.1": false,
		"5.0.0": false, "4.1.1": false, "5.1.11": false, "5.1.1.1": false, "": false,
	} {
		if got := notify.AddressGone(status); got != want {
			t.Errorf("%q: %v", status, got)
		}
	}
}

// A delivery report marks the recipients of the mail whose proof it quotes. Others mark nobody: forged ones, those
// about a resent mail's earlier delivery, late ones, and those about mails from before the mark was cleared.
func TestBounces_reported(t *testing.T) {
	b := newBench(t)
	d := notify.NewDelivery(notify.Email, b.ledger, b.sender, notify.DeliveryOptions{Host: "example.org", Sign: signed, Now: func() time.Time { return b.now }})
	send := func(n notify.Notification) (proof string) {
		t.Helper()
		if err := d.Execute(t.Context(), delivered(n, 1)); err != nil {
			t.Fatal(err)
		}
		return b.sender.sent[len(b.sender.sent)-1].Proof
	}
	n := b.insert("ada")
	first := send(n)
	b.now = b.now.Add(time.Minute)
	resent, err := b.ledger.Resend(t.Context(), n.ID, b.now)
	if err != nil {
		t.Fatal(err)
	}
	proof := send(resent)
	of := func(id int64, signature string) string { return fmt.Sprintf("%d.%s", id, signature) }
	_, signature, _ := strings.Cut(proof, ".")
	other := b.insert("bob")
	send(other)

	s := b.bounces()
	report := func(proof string, recipients ...string) string {
		t.Helper()
		failed := map[string]string{}
		for _, r := range recipients {
			failed[r] = "5.1.1 no such mailbox"
		}
		marked, err := s.Reported(t.Context(), proof, failed)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(marked, " ")
	}
	for name, marked := range map[string]string{
		"another recipient":    report(proof, "bob@example.org"),
		"no recipient":         report(proof),
		"an earlier delivery":  report(first, "ada@example.org"),
		"another signature":    report(of(n.ID, base64.RawURLEncoding.EncodeToString(make([]byte, sha256.Size))), "ada@example.org"),
		"no signature":         report(of(n.ID, ""), "ada@example.org"),
		"a shorter signature":  report(of(n.ID, signature[:4]), "ada@example.org"),
		"another notification": report(of(other.ID, signature), "ada@example.org", "bob@example.org"),
		"an unknown one":       report(of(99, signature), "ada@example.org"),
		"the Message-ID":       report(b.get(n.ID).MessageID, "ada@example.org"),
		"no proof":             report("", "ada@example.org"),
	} {
		if marked != "" {
			t.Errorf("%s: marked %s", name, marked)
		}
	}
	sent := b.now
	b.now = sent.Add(10*24*time.Hour + time.Second)
	if got := report(proof, "ada@example.org"); got != "" {
		t.Errorf("late: marked %s", got)
	}
	b.now = sent.Add(24 * time.Hour)
	if got := report(proof, "forwarded@example.net", "ada@example.org"); got != "ada@example.org" {
		t.Errorf("marked %q", got)
	}
	if got, want := b.marked(s), "ada@example.org report: 5.1.1 no such mailbox"; got != want {
		t.Errorf("marked %q, want %q", got, want)
	}
	page, err := s.List(t.Context(), notify.BounceFilter{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Clear(t.Context(), page.Items[0].ID); err != nil {
		t.Fatal(err)
	}
	if got := report(proof, "ada@example.org") + b.marked(s); got != "" {
		t.Errorf("after the mark was cleared: %s", got)
	}
	b.now = b.now.Add(time.Minute)
	if resent, err = b.ledger.Resend(t.Context(), n.ID, b.now); err != nil {
		t.Fatal(err)
	}
	if got := report(send(resent), "ada@example.org"); got != "ada@example.org" {
		t.Errorf("resent: marked %q", got)
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
