package gormstore_test

import (
	"fmt"
	"strings"
	"testing"

	"gorm.io/gorm"

	"punctual/app/database"
	"punctual/notify"
	"punctual/notify/gormstore"
	"punctual/tests/testenv/testdb"
)

// TestQuota: what one organizer causes within a day to people without an account has a limit, for
// each channel; what goes to users, or is caused by others, does not count.
func TestQuota(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		quotas := map[notify.Channel]int{notify.Email: 5, notify.SMS: 2}
		l := gormstore.New(db.Gorm).WithQuota(func(c notify.Channel) int { return quotas[c] })
		number := 0
		add := func(n int, change func(*notify.Notification)) (pending, skipped int) {
			t.Helper()
			ns := make([]notify.Notification, n)
			for i := range ns {
				number++
				ns[i] = about(int64(number), 1, notify.Invitation, fmt.Sprintf("guest-%d@example.org", number))
				ns[i].Facts.Organizer.Email = "Ada@example.org"
				change(&ns[i])
			}
			if err := db.Gorm.WithContext(t.Context()).Transaction(func(tx *gorm.DB) error { return l.Insert(tx, ns) }); err != nil {
				t.Fatal(err)
			}
			for i := range ns {
				got, err := l.Get(t.Context(), ns[i].ID)
				if err != nil {
					t.Fatal(err)
				}
				switch {
				case got.State == notify.Pending:
					pending++
				case got.State == notify.Skipped && strings.Contains(got.LastError, "limit of"):
					skipped++
				}
			}
			return pending, skipped
		}
		for _, c := range []struct {
			name             string
			n                int
			change           func(*notify.Notification)
			pending, skipped int
		}{
			{"to users", 10, func(n *notify.Notification) { n.To.UserID = 7 }, 10, 0},
			{"some", 3, func(*notify.Notification) {}, 3, 0},
			{"up to the limit", 4, func(*notify.Notification) {}, 2, 2},
			{"more", 2, func(*notify.Notification) {}, 0, 2},
			{"to users still", 2, func(n *notify.Notification) { n.To.UserID = 7 }, 2, 0},
			{"by another organizer", 5, func(n *notify.Notification) { n.Facts.Organizer.Email = "bob@example.org" }, 5, 0},
			{"by another channel", 3, func(n *notify.Notification) { n.Channel = notify.SMS }, 2, 1},
			{"cancellations have as much again", 7, func(n *notify.Notification) { n.Kind = notify.Cancellation }, 5, 2},
		} {
			if pending, skipped := add(c.n, c.change); pending != c.pending || skipped != c.skipped {
				t.Errorf("%s: %d pending and %d skipped, want %d and %d", c.name, pending, skipped, c.pending, c.skipped)
			}
		}
		if err := db.Gorm.Exec(`UPDATE notifications SET created_at = ?`, due.AddDate(-1, 0, 0)).Error; err != nil {
			t.Fatal(err)
		}
		if pending, _ := add(6, func(*notify.Notification) {}); pending != 5 {
			t.Errorf("the next day: %d pending, want 5", pending)
		}
		quotas[notify.Email] = 0
		if pending, _ := add(6, func(*notify.Notification) {}); pending != 6 {
			t.Errorf("without a limit: %d pending, want 6", pending)
		}
	})
}
