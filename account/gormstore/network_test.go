package gormstore_test

import (
	"testing"
	"time"

	"punctual/account"
	"punctual/account/gormstore"
	"punctual/app/database"
	"punctual/tests/testenv/testdb"
)

func TestStore_Familiar(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		s := gormstore.New(db.Gorm)
		ada, bob := mustCreate(t, s, newUser("ada@example.org", account.Member)), mustCreate(t, s, newUser("bob@example.org", account.Member))
		day := func(n int) time.Time { return at.AddDate(0, 0, n) }
		note := func(n int) {
			t.Helper()
			if err := s.NoteNetwork(t.Context(), ada.ID, "home", day(n), day(n-10)); err != nil {
				t.Fatal(err)
			}
		}
		is := func(u *account.User, network string, since int, want account.Familiar) {
			t.Helper()
			if got, err := s.Familiar(t.Context(), u.ID, network, day(since)); err != nil || got != want {
				t.Errorf("user %d in %s since day %d: %+v, %v", u.ID, network, since, got, err)
			}
		}
		is(ada, "home", -10, account.Familiar{})
		note(0)
		is(ada, "home", -10, account.Familiar{User: true, Anyone: true})
		is(bob, "home", -10, account.Familiar{Anyone: true})
		is(ada, "elsewhere", -10, account.Familiar{})
		is(ada, "home", 0, account.Familiar{})
		note(5)
		is(ada, "home", 4, account.Familiar{User: true, Anyone: true})
		if err := s.NoteNetwork(t.Context(), bob.ID, "office", day(20), day(10)); err != nil {
			t.Fatal(err)
		}
		is(ada, "home", -10, account.Familiar{}) // forgotten
	})
}
