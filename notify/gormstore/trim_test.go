package gormstore_test

import (
	"fmt"
	"testing"

	"punctual/app/database"
	"punctual/notify"
	"punctual/notify/gormstore"
	"punctual/tests/testenv/testdb"
)

// TestTrim: what is concluded and old is deleted, however much it is; nothing else.
func TestTrim(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		l := gormstore.New(db.Gorm)
		var ns []notify.Notification
		for i := range 1203 {
			n := reminder(fmt.Sprint(i), int64(i+1))
			n.State = notify.SkippedLate
			ns = append(ns, n)
		}
		ns[7].State = notify.Pending
		insert(t, db, ns)
		if err := db.Gorm.Exec(`UPDATE notifications SET created_at = ?`, due.AddDate(-1, 0, 0)).Error; err != nil {
			t.Fatal(err)
		}
		young := one(t, db, reminder("young", 1))
		for _, want := range []int64{1000, 202, 0} {
			n, err := l.Trim(t.Context(), due.AddDate(0, -6, 0), 1000)
			if err != nil || n != want {
				t.Errorf("deleted %d, want %d; %v", n, want, err)
			}
		}
		page, err := l.List(t.Context(), notify.Filter{OldestFirst: true, Limit: 2000})
		left := page.Items
		if err != nil || len(left) != 2 || left[0].ID != ns[7].ID || left[1].ID != young {
			t.Errorf("%d are left, %v", len(left), err)
		}
	})
}
