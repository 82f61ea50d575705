package database

import (
	"context"
	"errors"
	"testing"
	"time"

	"punctual/tests/testenv"
)

// Requests that hold all their connections leave others to the work.
func TestForRequest(t *testing.T) {
	t.Parallel()
	db, err := Open(t.Context(), testenv.Postgres(t), Options{MaxConns: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	request := ForRequest(t.Context())
	for range 2 {
		tx := db.Gorm.WithContext(request).Begin()
		if tx.Error != nil {
			t.Fatal(tx.Error)
		}
		defer tx.Rollback()
	}
	waits, cancel := context.WithTimeout(request, 50*time.Millisecond)
	defer cancel()
	if err := db.Gorm.WithContext(waits).Exec("SELECT 1").Error; !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a third request at once: %v, want it to wait", err)
	}
	if err := db.Gorm.WithContext(t.Context()).Exec("SELECT 1").Error; err != nil {
		t.Errorf("work meanwhile: %v", err)
	}
}
