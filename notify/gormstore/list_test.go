package gormstore_test

import (
	"slices"
	"testing"
	"time"

	"punctual/app/database"
	"punctual/notify"
	"punctual/notify/gormstore"
	"punctual/tests/testenv/testdb"
)

// A page ends after 10,000 rows, and all pages together miss and repeat nothing.
func TestList_pagesEndEarly(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		const total = 10_500
		begun := time.Date(2027, 2, 10, 9, 0, 0, 0, time.UTC)
		at := "CAST(? AS timestamptz) + interval '1 second' * (n.i / 3)"
		if db.Dialect == "sqlite" {
			at = "? + 1000000 * (n.i / 3)"
		}
		err := db.Gorm.Exec(`INSERT INTO notifications (dedupe_key, kind, channel, meeting_id, name, address, facts, due_at, state, created_at, updated_at)
			WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
			SELECT CAST(n.i AS text), 'reminder', CASE WHEN n.i % 5000 = 7 THEN 'sms' ELSE 'email' END, 1, CASE WHEN n.i % 5000 = 7 THEN 'Zoë' ELSE 'Ada' END,
				CASE WHEN n.i % 2 = 0 THEN 'Even@example.org' ELSE 'odd@example.org' END, '{"title":"Review"}', ?,
				CASE WHEN n.i % 5000 = 7 THEN 'failed' ELSE 'sent' END, `+at+`, ? FROM n`, total, begun, begun, begun).Error
		if err != nil {
			t.Fatal(err)
		}
		l := gormstore.New(db.Gorm)
		for _, c := range []struct {
			name  string
			f     notify.Filter
			pages int
		}{
			{"text", notify.Filter{Text: "zoë"}, 2},
			{"text, oldest first", notify.Filter{Text: "zoë", OldestFirst: true}, 2},
			{"channel", notify.Filter{Channel: notify.SMS}, 2},
			{"text in a meeting", notify.Filter{Text: "zoë", MeetingID: 1}, 2},
			{"text within a time", notify.Filter{Text: "zoë", From: begun, To: begun.Add(time.Hour)}, 2},
			{"text to an address", notify.Filter{Text: "zoë", Address: "ODD@example.org"}, 1},
			{"state", notify.Filter{State: notify.Failed}, 1},
			{"state and text", notify.Filter{State: notify.Failed, Text: "zoë"}, 1},
		} {
			var found []int64
			pages := 0
			for {
				page, err := l.List(t.Context(), c.f)
				if err != nil {
					t.Fatal(err)
				}
				pages++
				for _, n := range page.Items {
					found = append(found, n.ID)
				}
				if page.Next == (notify.Cursor{}) {
					break
				}
				if again, err := notify.ParseCursor(page.Next.String()); err != nil || again != page.Next {
					t.Fatalf("%s: the cursor %v is read as %v, %v", c.name, page.Next, again, err)
				}
				c.f.Cursor = page.Next
			}
			want := []int64{10007, 5007, 7}
			if c.f.OldestFirst {
				slices.Reverse(want)
			}
			if !slices.Equal(found, want) || pages != c.pages {
				t.Errorf("%s: found %v on %d pages, want %v on %d", c.name, found, pages, want, c.pages)
			}
		}
	})
}
