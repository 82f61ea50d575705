package gormstore_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"punctual/app/database"
	"punctual/notify"
	"punctual/notify/gormstore"
	"punctual/tests/testenv/testdb"
)

// Addresses are marked once, listed by their last bounce, cleared by administrators and trimmed.
func TestBounces(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		s := gormstore.NewBounces(db.Gorm, nil)
		at := time.Date(2027, 2, 10, 9, 0, 0, 123456789, time.UTC)
		mark := func(address string, minute int, reason string) {
			t.Helper()
			b := notify.Bounce{Address: address, Source: notify.RefusedRecipient, Reason: reason, At: at.Add(time.Duration(minute) * time.Minute)}
			if stored, err := s.Mark(t.Context(), b); !stored || err != nil {
				t.Fatal(stored, err)
			}
		}
		mark("ada@example.org", 0, "no such\x00mailbox")
		mark("bob@example.org", 1, "gone")
		mark("a_a@example.net", 2, "gone")
		mark("ada@example.org", 3, "still gone")

		marked, err := s.Marked(t.Context(), []string{"ADA@example.org", "eve@example.org"})
		if b := marked["ada@example.org"]; err != nil || len(marked) != 1 || b.Reason != "still gone" || !b.At.Equal(at.Add(3*time.Minute).Truncate(time.Microsecond)) {
			t.Errorf("marked %+v, %v", marked, err)
		}
		list := func(f notify.BounceFilter) string {
			t.Helper()
			var all []string
			for {
				page, err := s.Bounces(t.Context(), f)
				if err != nil {
					t.Fatal(err)
				}
				for _, b := range page.Items {
					all = append(all, b.Address)
				}
				if page.Next.ID == 0 {
					return strings.Join(all, " ")
				}
				f.Cursor = page.Next
			}
		}
		if got, want := list(notify.BounceFilter{Limit: 1}), "ada@example.org a_a@example.net bob@example.org"; got != want {
			t.Errorf("listed %s, want %s", got, want)
		}
		for text, want := range map[string]string{"A_A": "a_a@example.net", "EXAMPLE.ORG": "ada@example.org bob@example.org", "%": ""} {
			if got := list(notify.BounceFilter{Text: text}); got != want {
				t.Errorf("%s: listed %q, want %q", text, got, want)
			}
		}

		cleared := at.Add(time.Hour)
		if err := s.ClearBounce(t.Context(), marked["ada@example.org"].ID, cleared); err != nil {
			t.Error(err)
		}
		old := notify.Bounce{Address: "ada@example.org", Source: notify.DeliveryReport, At: cleared.Add(time.Minute), SentAt: cleared.Add(-time.Minute)}
		if stored, err := s.Mark(t.Context(), old); stored || err != nil {
			t.Errorf("marked by a mail from before: %v, %v", stored, err)
		}
		if marked, err := s.Marked(t.Context(), []string{"ada@example.org"}); err != nil || len(marked) > 0 {
			t.Errorf("after the mark was cleared: %v, %v", marked, err)
		}
		if err := s.ClearBounce(t.Context(), marked["ada@example.org"].ID, cleared); !errors.Is(err, notify.ErrNotFound) {
			t.Errorf("cleared twice: %v", err)
		}
		if n, err := s.Trim(t.Context(), at.Add(2*time.Minute), 10); n != 1 || err != nil {
			t.Errorf("deleted %d, %v", n, err)
		}
		if got, want := list(notify.BounceFilter{}), "a_a@example.net"; got != want {
			t.Errorf("left are %s, want %s", got, want)
		}

		one(t, db, reminder("a", 1))
		for address, want := range map[string]bool{"Zoe@Example.org": true, "oe@example.org": false} {
			if got, err := s.Notified(t.Context(), address); got != want || err != nil {
				t.Error(fmt.Sprint(address, got, err))
			}
		}
	})
}
