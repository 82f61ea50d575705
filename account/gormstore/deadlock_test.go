package gormstore_test

import (
	"context"
	"testing"
	"time"

	"punctual/account"
	"punctual/account/gormstore"
	"punctual/migrations"
	"punctual/tests/testenv/testdb"
)

// TestUpdateUser_whileADelegateBooks: a booking locks the delegate, then refers to the user for whom it is. A change
// of that user's rights locks both, and neither waits for the other.
func TestUpdateUser_whileADelegateBooks(t *testing.T) {
	t.Parallel()
	db := testdb.Open(t, migrations.Postgres)
	s := gormstore.New(db.Gorm)
	user := mustCreate(t, s, newUser("ada@example.org", account.Member))
	delegate := mustCreate(t, s, newUser("grace@example.org", account.Member))
	if err := s.SetDelegate(t.Context(), user.ID, account.Delegate{UserID: delegate.ID, CreatedAt: time.Now()}); err != nil {
		t.Fatal(err)
	}
	booked := make(chan error, 1)
	book := func(locked chan<- struct{}) {
		tx, err := db.SQL.BeginTx(context.Background(), nil)
		if err != nil {
			booked <- err
			return
		}
		defer tx.Rollback()
		if _, err = tx.Exec("SELECT 1 FROM users WHERE id = $1 FOR SHARE", delegate.ID); err == nil {
			close(locked)
			_, err = tx.Exec("SELECT 1 FROM users WHERE id = $1 FOR KEY SHARE", user.ID) // as the check of a foreign key does
		}
		booked <- err
	}
	waits := func() (n int) {
		if err := db.SQL.QueryRowContext(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'").Scan(&n); err != nil {
			t.Error(err)
		}
		return n
	}
	_, err := s.UpdateUser(t.Context(), user.ID, func(u *account.User, _ int) (account.Revocation, error) {
		locked := make(chan struct{})
		go book(locked)
		for waits() == 0 { // until the booking waits for this change, at the first or the second lock
			select {
			case <-t.Context().Done():
				return account.Revocation{}, t.Context().Err()
			case <-time.After(5 * time.Millisecond):
			}
		}
		u.Role = account.Manager
		return account.Revocation{}, nil
	})
	if err != nil {
		t.Errorf("change: %v", err)
	}
	if err := <-booked; err != nil {
		t.Errorf("booking: %v", err)
	}
}
