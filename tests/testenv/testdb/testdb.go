// Package testdb gives tests databases with the tables of punctual in them. It stands apart
// from testenv so that the packages it is made of can use testenv themselves.
package testdb

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"punctual/app/database"
	"punctual/migrations"
	"punctual/tests/testenv"
)

// Each runs a test on a new database of each kind, side by side. Under the race detector it leaves out SQLite.
func Each(t *testing.T, test func(t *testing.T, db *database.DB)) {
	t.Helper()
	t.Parallel()
	for _, dialect := range dialects {
		t.Run(string(dialect), func(t *testing.T) {
			t.Parallel()
			test(t, Open(t, dialect))
		})
	}
}

// Open opens a new database with all migrations applied. It is a copy of a template that is
// made once per test binary. It is closed and dropped when the test ends.
func Open(t testing.TB, dialect migrations.Dialect) *database.DB {
	t.Helper()
	db, err := database.Open(t.Context(), URL(t, dialect), database.Options{})
	if err != nil {
		t.Fatalf("open the database: %v", err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("close the database: %v", err)
		}
	})
	return db
}

// patient lets a transaction outlast a machine that stalls: 5 s, as programs set it, are too few for tests that wait
// for another session.
const patient = "&idle_in_transaction_session_timeout=60000"

// URL is what [Open] opens.
func URL(t testing.TB, dialect migrations.Dialect) string {
	t.Helper()
	if dialect == migrations.Postgres {
		name, err := postgres.get(func() (string, error) { return postgresTemplate(t) })
		if err != nil {
			t.Fatalf("template database: %v", err)
		}
		return testenv.SharedPostgres(t).DatabaseFrom(t, name) + patient
	}
	template, err := sqlite.get(sqliteTemplate)
	if err != nil {
		t.Fatalf("template database: %v", err)
	}
	url := testenv.SQLite(t)
	if err := os.WriteFile(strings.TrimPrefix(url, "sqlite:"), template, 0o644); err != nil {
		t.Fatal(err)
	}
	return url
}

var (
	postgres template[string] // a database's name
	sqlite   template[[]byte] // a file's content
)

// template is made by the first who needs it.
type template[T any] struct {
	once sync.Once
	v    T
	err  error
}

func (t *template[T]) get(create func() (T, error)) (T, error) {
	t.once.Do(func() {
		t.err = errors.New("the test that made it gave up") // unless create returns
		t.v, t.err = create()
	})
	return t.v, t.err
}

func postgresTemplate(t testing.TB) (string, error) {
	const name = "punctual_template"
	url, err := testenv.SharedPostgres(t).Create(name, "template0")
	if err != nil {
		return "", err
	}
	return name, migrate(url)
}

func sqliteTemplate() ([]byte, error) {
	dir, err := os.MkdirTemp("", "punctual-template-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "punctual.db")
	if err := migrate("sqlite:" + file); err != nil {
		return nil, err
	}
	return os.ReadFile(file)
}

// migrate applies all migrations and leaves nobody connected. It does not use the test's
// context, since the template outlives the test.
func migrate(url string) error {
	ctx := context.Background()
	db, err := database.Open(ctx, url, database.Options{})
	if err != nil {
		return err
	}
	if err := db.Migrate(ctx); err != nil {
		return errors.Join(fmt.Errorf("migrate: %w", err), db.Close())
	}
	return db.Close()
}
