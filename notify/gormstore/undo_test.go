package gormstore_test

import (
	"errors"
	"testing"
	"time"

	"gorm.io/gorm"

	"punctual/app/database"
	"punctual/notify"
	"punctual/notify/gormstore"
	"punctual/tests/testenv/testdb"
)

// Retracted notifications are not sent and supersede nothing, and what a change had replaced waits
// again. The next change may have the keys of the one that was undone.
func TestRetract(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		l := gormstore.New(db.Gorm)
		since := time.Now().Add(-time.Second)
		invited := one(t, db, about(1, 1, notify.Invitation, "ada@example.org"))
		asked := one(t, db, about(1, 1, notify.ApprovalRequest, "bob@example.org"))
		change := about(1, 2, notify.Change, "ada@example.org")
		changed := one(t, db, change)
		now := time.Now()
		begin(t, l, notify.BeginRequest{ID: invited, Version: 1}, now, time.Second) // it finds itself superseded
		tx := func(f func(tx *gorm.DB) error) {
			t.Helper()
			if err := db.Gorm.WithContext(t.Context()).Transaction(f); err != nil {
				t.Fatal(err)
			}
		}
		tx(func(tx *gorm.DB) error { return l.Withdraw(tx, []int64{1}, notify.ApprovalRequest) })
		tx(func(tx *gorm.DB) error {
			threads, err := l.Retract(tx, []int64{changed}, nil)
			if err != nil {
				return err
			}
			waiting, err := l.Revive(tx, []int64{1}, threads, since)
			if len(waiting) != 2 {
				t.Errorf("waiting again: %+v", waiting)
			}
			return err
		})
		for id, want := range map[int64]notify.State{invited: notify.Pending, asked: notify.Pending, changed: notify.Superseded} {
			if n, err := l.Get(t.Context(), id); err != nil || n.State != want {
				t.Errorf("%s is %s, %v", n.Kind, n.State, err)
			}
		}
		if b := begin(t, l, notify.BeginRequest{ID: invited, Version: 1}, now, time.Second); b.State != notify.Sending {
			t.Errorf("the invitation is %s", b.State)
		}
		again := one(t, db, change)
		begin(t, l, notify.BeginRequest{ID: again, Version: 1}, now, time.Second)
		err := db.Gorm.WithContext(t.Context()).Transaction(func(tx *gorm.DB) error {
			_, err := l.Retract(tx, nil, []int64{1})
			return err
		})
		if !errors.Is(err, gormstore.ErrSent) {
			t.Errorf("%v while one is being sent, want ErrSent", err)
		}
	})
}
