// Package migrations is the schema of the database, one folder of numbered SQL files for each
// kind of database, built into the program.
package migrations

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"time"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

// Dialect is the kind of a database: the name of its folder.
type Dialect string

const (
	Postgres Dialect = "postgres"
	SQLite   Dialect = "sqlite"
)

//go:embed postgres/*.sql sqlite/*.sql
var files embed.FS

// Migration is one numbered step.
type Migration struct {
	Version   int64
	Name      string    // of its file
	AppliedAt time.Time // zero: not applied
}

// Up brings the schema to the newest version. Several processes may call it at once: one
// does the work, the others wait. A step that fails leaves no trace; those before it stay.
func Up(ctx context.Context, db *sql.DB, dialect Dialect) error {
	err := patiently(ctx, dialect, func() error {
		p, err := provider(db, dialect)
		if err != nil {
			return err
		}
		_, err = p.Up(ctx)
		return err
	})
	if err != nil {
		return fmt.Errorf("migrate up: %w", err)
	}
	return nil
}

// Down takes back the latest step, and with it the data it made room for. It does nothing
// if there is none.
func Down(ctx context.Context, db *sql.DB, dialect Dialect) error {
	p, err := provider(db, dialect)
	if err == nil {
		_, err = p.Down(ctx)
	}
	if err != nil && !errors.Is(err, goose.ErrNoNextVersion) {
		return fmt.Errorf("migrate down: %w", err)
	}
	return nil
}

// Status lists all steps in order, applied or not. It changes nothing but for goose's own
// table of versions, which it creates when it is not there.
func Status(ctx context.Context, db *sql.DB, dialect Dialect) ([]Migration, error) {
	var list []*goose.MigrationStatus
	err := patiently(ctx, dialect, func() error {
		p, err := provider(db, dialect)
		if err == nil {
			list, err = p.Status(ctx)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("migration status: %w", err)
	}
	out := make([]Migration, len(list))
	for i, s := range list {
		out[i] = Migration{Version: s.Source.Version, Name: s.Source.Path}
		if s.State == goose.StateApplied {
			out[i].AppliedAt = s.AppliedAt
		}
	}
	return out, nil
}

func provider(db *sql.DB, dialect Dialect) (*goose.Provider, error) {
	dir, err := fs.Sub(files, string(dialect))
	if err != nil {
		return nil, err
	}
	kind, options := goose.DialectSQLite3, []goose.ProviderOption{goose.WithDisableGlobalRegistry(true)}
	if dialect == Postgres {
		locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 600)) // tries, a second apart
		if err != nil {
			return nil, err
		}
		kind, options = goose.DialectPostgres, append(options, goose.WithSessionLocker(locker))
	}
	return goose.NewProvider(kind, db, dir, options...)
}

// patiently runs f again when another process was ahead of it. Postgres has a lock for that.
// SQLite has none that spans transactions, but its steps are transactions that exclude each
// other: the loser's fails as a whole, because what it makes is there already, and the next
// try finds the step done. Each try follows a step of somebody else's, so that a few suffice.
func patiently(ctx context.Context, dialect Dialect, f func() error) error {
	const tries = 20
	for try := 1; ; try++ {
		err := f()
		if err == nil || dialect != SQLite || try == tries {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		case <-time.After(rand.N(20 * time.Millisecond)):
		}
	}
}
