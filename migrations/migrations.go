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
	"regexp"
	"slices"
	"strings"
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
	return up(ctx, db, dialect, func(p *goose.Provider) error {
		_, err := p.Up(ctx)
		return err
	})
}

// To brings the schema to the given version, upwards or downwards. Downwards, data are lost.
func To(ctx context.Context, db *sql.DB, dialect Dialect, version int64) error {
	return up(ctx, db, dialect, func(p *goose.Provider) error {
		_, err := p.UpTo(ctx, version)
		if err == nil {
			_, err = p.DownTo(ctx, version)
		}
		return err
	})
}

func up(ctx context.Context, db *sql.DB, dialect Dialect, run func(*goose.Provider) error) error {
	err := patiently(ctx, dialect, func() error {
		p, err := provider(db, dialect)
		if err != nil {
			return err
		}
		return locked(ctx, db, dialect, func() error { return run(p) })
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
		err = locked(ctx, db, dialect, func() error {
			_, err := p.Down(ctx)
			return err
		})
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
		kind = goose.DialectPostgres
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

// locked runs f while no other process migrates Postgres. goose's own lock belongs to a session. Through a
// pooler that shares sessions, it would stay with whoever gets the session next, and processes that wait
// for it would take the connections that its holder needs. This one belongs to a transaction, and
// waiting takes no connection. It has goose's number, so that older versions wait for it, too.
func locked(ctx context.Context, db *sql.DB, dialect Dialect, f func() error) error {
	const tries = 1200 // ten minutes
	for try := 1; dialect == Postgres; try++ {
		tx, err := tryLock(ctx, db)
		if err != nil {
			return fmt.Errorf("lock the schema: %w", err)
		}
		if tx != nil {
			defer tx.Rollback()
			break
		}
		if try == tries {
			return errors.New("lock the schema: another process has been migrating it for ten minutes")
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(500 * time.Millisecond):
		}
	}
	return f()
}

// tryLock returns the transaction that has the lock; nil if another process has it.
func tryLock(ctx context.Context, db *sql.DB) (*sql.Tx, error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	var mine bool
	err = tx.QueryRowContext(ctx, `SELECT pg_try_advisory_xact_lock($1)
		FROM (SELECT set_config('idle_in_transaction_session_timeout', '0', true)) AS unbound`, lock.DefaultLockID).Scan(&mine)
	if err != nil || !mine {
		return nil, errors.Join(err, tx.Rollback())
	}
	return tx, nil
}

// Versions lists the numbers of all migrations, ascending.
func Versions(dialect Dialect) (versions []int64, err error) {
	entries, err := files.ReadDir(string(dialect))
	for _, e := range entries {
		version, err := goose.NumericComponent(e.Name())
		if err != nil {
			return nil, err
		}
		versions = append(versions, version)
	}
	slices.Sort(versions)
	return versions, err
}

var tableName = regexp.MustCompile(`(?m)^\s*(?:CREATE (?:VIRTUAL )?TABLE|ALTER TABLE \w+ RENAME TO) (\w+)`)

// Tables lists the names of all tables that any migration creates. Other tables in the same database belong
// to other programs.
func Tables(dialect Dialect) (names []string, err error) {
	err = fs.WalkDir(files, string(dialect), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := files.ReadFile(path)
		steps, _, _ := strings.Cut(string(text), "-- +goose Down")
		for _, match := range tableName.FindAllStringSubmatch(steps, -1) {
			names = append(names, match[1])
		}
		return err
	})
	slices.Sort(names)
	return slices.Compact(names), err
}
