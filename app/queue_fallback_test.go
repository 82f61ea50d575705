package app

import (
	"context"
	"io"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"punctual/app/database"
	"punctual/migrations"
	"punctual/tests/testenv/testdb"
)

func openDatabase(t *testing.T, url string) *database.DB {
	t.Helper()
	db, err := database.Open(t.Context(), url, database.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// fallbackPatience keeps the lock with a holder that is there, even if the machine stalls.
func fallbackPatience(t *testing.T, quiet string) {
	pong, before := fallbackPong, fallbackQuiet
	t.Cleanup(func() { fallbackPong, fallbackQuiet = pong, before })
	fallbackPong, fallbackQuiet = time.Minute, quiet
}

// One process has the lock. It loses it with its session, and another one gets it at once.
func TestFallbackLock(t *testing.T) {
	fallbackPatience(t, "1min")
	url := testdb.URL(t, migrations.Postgres)
	here, there := openDatabase(t, url), openDatabase(t, url)
	holding, lost := make(chan struct{}), make(chan struct{})
	var ended atomic.Bool
	go func() {
		held, err := fallbackLock(here)(t.Context(), func(ctx context.Context) {
			close(holding)
			<-ctx.Done()
			ended.Store(true)
		})
		if !held || err != nil {
			t.Errorf("%v %v", held, err)
		}
		close(lost)
	}()
	<-holding
	never := func(context.Context) { t.Error("two hold the lock") }
	if held, err := fallbackLock(there)(t.Context(), never); held || err != nil {
		t.Errorf("the other: %v %v", held, err)
	}
	time.Sleep(2 * fallbackPing)
	if ended.Load() {
		t.Error("the lock was lost for no reason")
	}
	if _, err := there.SQL.ExecContext(t.Context(), `SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted
		AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`); err != nil {
		t.Fatal(err)
	}
	select {
	case <-lost:
	case <-time.After(2 * time.Minute):
		t.Fatal("the holder does not see that its session is gone")
	}
	taken := 0
	for deadline := time.Now().Add(2 * time.Minute); taken < 2; time.Sleep(10 * time.Millisecond) { // it is free again after each
		if _, err := fallbackLock(there)(t.Context(), func(context.Context) { taken++ }); err != nil {
			t.Fatalf("afterwards: %v", err)
		}
		if time.Now().After(deadline) {
			t.Fatalf("taken %d times, want 2", taken)
		}
	}
}

// The database takes the lock from a holder that it hears nothing of, be it behind a network
// that has vanished.
func TestFallbackLock_silentHolder(t *testing.T) {
	fallbackPatience(t, fallbackQuiet)
	db := openDatabase(t, testdb.URL(t, migrations.Postgres))
	tx, err := lockFallback(t.Context(), func() {}, db.SQL)
	if err != nil || tx == nil {
		t.Fatal(tx, err)
	}
	defer func() { _ = tx.Rollback() }()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		held, err := fallbackLock(db)(t.Context(), func(context.Context) {})
		if err != nil {
			t.Fatal(err)
		}
		if held {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the lock is not given up")
		}
	}
}

// When the process stops the lock is kept until the work is finished.
func TestFallbackLock_outlastsItsContext(t *testing.T) {
	fallbackPatience(t, "1min")
	url := testdb.URL(t, migrations.Postgres)
	here, there := openDatabase(t, url), openDatabase(t, url)
	ctx, stop := context.WithCancel(t.Context())
	held, err := fallbackLock(here)(ctx, func(held context.Context) {
		stop()
		<-held.Done()
		never := func(context.Context) { t.Error("the lock is free while something runs") }
		if _, err := fallbackLock(there)(t.Context(), never); err != nil {
			t.Error(err)
		}
	})
	if !held || err != nil {
		t.Errorf("%v %v", held, err)
	}
}

func TestDatabaseClock(t *testing.T) {
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		c := newDatabaseClock(db, slog.New(slog.NewTextHandler(io.Discard, nil)))
		wrong := time.Hour // by which this machine's clock is ahead
		c.wall = func() time.Time { return time.Now().Add(wrong) }
		reads := func(want time.Duration) {
			t.Helper()
			if d := time.Until(c.now()) - want; d.Abs() > time.Minute {
				t.Errorf("it is wrong by %v", d)
			}
		}
		reads(time.Hour) // it was never measured
		c.look(t.Context())
		if db.Dialect != migrations.Postgres {
			reads(time.Hour) // there is nothing to compare with
			return
		}
		reads(0)
		wrong = -2 * time.Hour // somebody sets it
		reads(0)
		c.look(t.Context())
		reads(0)
		unreached, cancel := context.WithCancel(t.Context())
		cancel()
		wrong = 0
		c.look(unreached)
		reads(0)
	})
}
