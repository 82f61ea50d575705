package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"punctual/migrations"
)

// Restore reads a backup into an empty database of either kind, which it gives the schema of the backup, and then that
// of the program. It verifies the whole backup before it writes anything, and writes all rows in one
// transaction: if it fails or is interrupted, the database has no rows, and Restore can be run again. It
// refuses a database in which punctual has rows, and leaves tables of other programs alone. beforeCommit is called
// when all rows are written; an error undoes them. progress gets the numbers of rows. Both may be nil.
func Restore(ctx context.Context, db *DB, r io.ReadSeeker, beforeCommit func(context.Context) error, progress func(done, total int64)) (*BackedUp, error) {
	verified, err := VerifyBackup(r)
	if err != nil {
		return nil, err
	}
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	if err := restorable(ctx, db, verified.Schema); err != nil {
		return nil, err
	}
	to := func(version int64) error {
		return db.migrate(ctx, func(ctx context.Context, pool *sql.DB, d migrations.Dialect) error {
			return migrations.To(ctx, pool, d, version)
		})
	}
	if err := to(verified.Schema); err != nil {
		return nil, err
	}
	if err := restoreRows(ctx, db, r, verified, beforeCommit, progress); err != nil {
		return nil, err
	}
	if err := db.Migrate(ctx); err != nil {
		return verified, fmt.Errorf("all rows are restored, but not yet migrated to this version; run punctual migrate up: %w", err)
	}
	return verified, nil
}

// restorable returns an error unless the database is empty, and the program knows the schema of the backup.
func restorable(ctx context.Context, db *DB, schema int64) error {
	versions, err := migrations.Versions(db.Dialect)
	if err != nil {
		return err
	}
	if newest := slices.Max(versions); schema > newest {
		return fmt.Errorf("the backup has schema %d, this program has %d; use the newer version of punctual", schema, newest)
	}
	if !slices.Contains(versions, schema) {
		return fmt.Errorf("the backup has schema %d, which no migration of this program makes", schema)
	}
	tx, err := snapshot(ctx, db)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	here, err := schemaVersion(ctx, tx, db.Dialect)
	if err != nil {
		return err
	}
	tables, err := ownTables(ctx, tx, db.Dialect)
	if err != nil {
		return err
	}
	switch {
	case here == 0 && len(tables) > 0:
		return fmt.Errorf("the database has a table %s of another program; restore into a database or schema of its own. Nothing was restored", tables[0].name)
	case here > 0 && len(tables) == 0:
		return errors.New("the database has a table goose_db_version of another program; restore into a database or schema of its own. Nothing was restored")
	case here > slices.Max(versions):
		return fmt.Errorf("the database has schema %d, this program has %d; use the newer version of punctual", here, slices.Max(versions))
	}
	return checkEmpty(ctx, tx, tables)
}

// checkEmpty returns an error if one of the tables has rows that no migration made.
func checkEmpty(ctx context.Context, tx *sql.Tx, tables []*table) error {
	for _, t := range tables {
		if slices.Contains(filledByMigrations, t.name) {
			continue
		}
		var used bool
		if err := tx.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM "+quoteName(t.name)+")").Scan(&used); err != nil {
			return err
		}
		if used {
			return fmt.Errorf("the installation is not empty: its table %s has rows. Restore into a new database. Nothing was restored", t.name)
		}
	}
	return nil
}

// filledByMigrations are tables that have rows in an empty installation.
var filledByMigrations = []string{"calendar_identity"}

func restoreRows(ctx context.Context, db *DB, r io.Reader, verified *BackedUp, beforeCommit func(context.Context) error, progress func(done, total int64)) error {
	l, err := beginLoading(ctx, db)
	if err != nil {
		return err
	}
	defer l.end()
	tables, err := ownTables(ctx, l.tx, db.Dialect)
	if err != nil {
		return err
	}
	if err := l.suspend(ctx, tables); err != nil {
		return err
	}
	// Again, because another process may have written since. From here on the locks of suspend keep others out.
	if err := checkEmpty(ctx, l.tx, tables); err != nil {
		return err
	}
	if err := l.empty(ctx, tables); err != nil {
		return err
	}
	var into *table
	var order []int // of each column in the backup
	var missing = tableNames(tables)
	begin := func(name string, columns []string) error {
		i := slices.IndexFunc(tables, func(t *table) bool { return t.name == name })
		if i < 0 {
			return fmt.Errorf("schema %d has no table %s", verified.Schema, name)
		}
		into, missing = tables[i], slices.DeleteFunc(missing, func(m string) bool { return m == name })
		order, err = columnOrder(into, columns)
		return err
	}
	var cells []any
	row := func(read []any) error {
		cells = slices.Grow(cells[:0], len(read))[:len(read)]
		for i, at := range order {
			cells[i] = read[at]
		}
		if err := l.add(ctx, into, cells); err != nil {
			return err
		}
		if progress != nil {
			progress(l.rows, verified.Rows)
		}
		return nil
	}
	again, last, err := readBackup(r, begin, row)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		return fmt.Errorf("the backup lacks the tables %s", strings.Join(missing, ", "))
	}
	if again.Rows != verified.Rows {
		return errors.New("the file changed while it was read")
	}
	if err := l.flush(ctx); err != nil {
		return err
	}
	if err := forgetTransactions(ctx, l, tables); err != nil {
		return err
	}
	if err := l.resume(ctx, tables, last.Used); err != nil {
		return err
	}
	if beforeCommit != nil {
		if err := beforeCommit(ctx); err != nil {
			return err
		}
	}
	return l.tx.Commit()
}

// forgetTransactions makes the audit log independent of the numbers of transactions, which begin again in another
// database: entries that were not yet forwarded still are, and none is twice when the numbers come round.
func forgetTransactions(ctx context.Context, l *loading, tables []*table) error {
	for _, t := range tables {
		if t.name != "audit" || !slices.ContainsFunc(t.columns, func(c column) bool { return c.name == "tx" }) {
			continue
		}
		for _, statement := range []string{
			`UPDATE audit_forwarding SET tx = 0, entry_id = COALESCE((SELECT min(a.id) - 1 FROM audit a WHERE a.tx > audit_forwarding.tx
				OR a.tx = audit_forwarding.tx AND a.id > audit_forwarding.entry_id), (SELECT max(a.id) FROM audit a), 0)`,
			`UPDATE audit SET tx = 0 WHERE tx <> 0`,
		} {
			if _, err := l.tx.ExecContext(ctx, statement); err != nil {
				return fmt.Errorf("places in the audit log: %w", err)
			}
		}
	}
	return nil
}

// columnOrder returns for each column of the table where the backup has it.
func columnOrder(t *table, columns []string) ([]int, error) {
	if len(columns) != len(t.columns) {
		return nil, fmt.Errorf("table %s must have %d columns, the backup has %d", t.name, len(t.columns), len(columns))
	}
	order := make([]int, len(columns))
	for i, c := range t.columns {
		if order[i] = slices.Index(columns, c.name); order[i] < 0 {
			return nil, fmt.Errorf("table %s: column %s is missing in the backup", t.name, c.name)
		}
	}
	return order, nil
}
