package app

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"punctual/app/database"
	"punctual/tests/testenv"
)

// A pass may take longer than transactions are left alone; meanwhile no other process loads.
func TestLoaderGuard(t *testing.T) {
	t.Parallel()
	db, err := database.Open(t.Context(), testenv.Postgres(t)+"&idle_in_transaction_session_timeout=1500", database.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	guard := loaderGuard(db, time.Hour, slog.New(slog.DiscardHandler))
	none := errors.New("the pass failed")
	err = guard(t.Context(), func(ctx context.Context) error {
		time.Sleep(2 * time.Second)
		if err := guard(ctx, func(context.Context) error { t.Error("two load at once"); return nil }); err != nil {
			t.Errorf("one who is not needed: %v", err)
		}
		return none
	})
	if !errors.Is(err, none) {
		t.Errorf("a long pass: %v", err)
	}
	passed := false
	if err := guard(t.Context(), func(context.Context) error { passed = true; return nil }); err != nil || !passed {
		t.Errorf("the next one: %v, passed: %v", err, passed)
	}
}
