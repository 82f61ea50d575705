package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"punctual/migrations"
)

// loading fills the tables of an empty installation in one transaction. Its order is: suspend, empty, add for
// each row, resume.
type loading struct {
	conn    *sql.Conn
	tx      *sql.Tx
	dialect migrations.Dialect

	rows    int64
	pending []any // values of rows of one table that are not inserted yet
	size    int   // bytes of the texts and blobs in pending
	of      *table
	restore []string // statements that undo suspend
}

// beginLoading begins the transaction. Call end, and before it l.tx.Commit if all went well.
func beginLoading(ctx context.Context, db *DB) (*loading, error) {
	conn, err := db.SQL.Conn(ctx)
	if err != nil {
		return nil, err
	}
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	l := &loading{conn: conn, tx: tx, dialect: db.Dialect}
	if err := unbound(ctx, tx, db.Dialect); err != nil {
		l.end()
		return nil, err
	}
	return l, nil
}

func (l *loading) end() {
	_ = l.tx.Rollback() // after a commit it does nothing
	_ = l.conn.Close()
}

// maxPending is the size of texts and blobs above which rows are inserted, whatever their number.
const maxPending = 8 << 20

// add adds a row, whose values are as JSON has them.
func (l *loading) add(ctx context.Context, t *table, cells []any) error {
	if l.of != t || len(l.pending) >= 200*len(t.columns) || len(l.pending) > 10_000 || l.size > maxPending {
		if err := l.flush(ctx); err != nil {
			return err
		}
		l.of = t
	}
	for i, c := range t.columns {
		v, err := c.imported(cells[i])
		if err != nil {
			return fmt.Errorf("table %s, column %s: %w", t.name, c.name, err)
		}
		switch v := v.(type) {
		case string:
			l.size += len(v)
		case []byte:
			l.size += len(v)
		}
		l.pending = append(l.pending, v)
	}
	l.rows++
	return nil
}

// flush inserts the rows that were added.
func (l *loading) flush(ctx context.Context) error {
	if len(l.pending) == 0 {
		return nil
	}
	insert := l.insert
	if l.dialect == migrations.Postgres {
		insert = l.copy
	}
	err := insert(ctx)
	clear(l.pending) // lets go of large values
	l.pending, l.size = l.pending[:0], 0
	if err != nil {
		return fmt.Errorf("table %s: %w", l.of.name, err)
	}
	return nil
}

func (l *loading) insert(ctx context.Context) error {
	row := ", (" + strings.Repeat("?, ", len(l.of.columns)-1) + "?)"
	values := strings.Repeat(row, len(l.pending)/len(l.of.columns))
	_, err := l.tx.ExecContext(ctx, fmt.Sprintf("INSERT INTO %s (%s) VALUES %s", quoteName(l.of.name), l.of.list(), values[2:]), l.pending...)
	return err
}

// copy uses COPY, which is faster and also sets IDs that are always generated.
func (l *loading) copy(ctx context.Context) error {
	names := make([]string, len(l.of.columns))
	for i, c := range l.of.columns {
		names[i] = c.name
	}
	var rows [][]any
	for row := range slices.Chunk(l.pending, len(names)) {
		rows = append(rows, row)
	}
	return l.conn.Raw(func(driver any) error {
		_, err := driver.(*stdlib.Conn).Conn().CopyFrom(ctx, pgx.Identifier{l.of.name}, names, pgx.CopyFromRows(rows))
		return err
	})
}

func tableNames(tables []*table) []string {
	names := make([]string, len(tables))
	for i, t := range tables {
		names[i] = t.name
	}
	return names
}

// suspend disables triggers and foreign keys of the tables. Until the end of the transaction no other one can
// write to them.
func (l *loading) suspend(ctx context.Context, tables []*table) error {
	var statements []string
	names := tableNames(tables)
	query, args, read := foreignKeys, []any{names}, func(of, name, definition string) {
		statements = append(statements, fmt.Sprintf("ALTER TABLE %s DROP CONSTRAINT %s", of, quoteName(name)))
		l.restore = append(l.restore, fmt.Sprintf("ALTER TABLE %s ADD CONSTRAINT %s %s", of, quoteName(name), definition))
	}
	if l.dialect == migrations.SQLite {
		statements = append(statements, "PRAGMA defer_foreign_keys = ON")
		query, args, read = `SELECT tbl_name, name, sql FROM sqlite_master WHERE type = 'trigger'
			UNION ALL SELECT 'meetings', name, '' FROM sqlite_master WHERE type = 'table' AND name = 'meeting_search'`, nil, func(of, name, definition string) {
			switch {
			case name == "meeting_search": // the index of searches, which triggers keep
				statements = append(statements, "DELETE FROM meeting_search")
				l.restore = append(l.restore, "INSERT INTO meeting_search (rowid, body) SELECT id, search_text(title, description, fields) FROM meetings")
			case slices.Contains(names, of):
				statements = append(statements, "DROP TRIGGER "+quoteName(name))
				l.restore = append(l.restore, definition)
			}
		}
	}
	rows, err := l.tx.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var of, name, definition string
		if err := rows.Scan(&of, &name, &definition); err != nil {
			return err
		}
		read(of, name, definition)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return err
	}
	for _, t := range tables {
		if l.dialect == migrations.Postgres {
			statements = append(statements, "ALTER TABLE "+quoteName(t.name)+" DISABLE TRIGGER USER")
			l.restore = append(l.restore, "ALTER TABLE "+quoteName(t.name)+" ENABLE TRIGGER USER")
		}
	}
	for _, statement := range statements {
		if _, err := l.tx.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("suspend triggers and foreign keys: %w", err)
		}
	}
	return nil
}

// empty deletes all rows of the tables, after suspend.
func (l *loading) empty(ctx context.Context, tables []*table) error {
	for _, t := range tables {
		if _, err := l.tx.ExecContext(ctx, "DELETE FROM "+quoteName(t.name)); err != nil {
			return fmt.Errorf("table %s: %w", t.name, err)
		}
	}
	return nil
}

// resume inserts what is pending, undoes suspend, and lets the database go on after the highest IDs, or after
// those in used, by table, if they are higher.
func (l *loading) resume(ctx context.Context, tables []*table, used map[string]int64) error {
	if err := l.flush(ctx); err != nil {
		return err
	}
	for _, statement := range l.restore {
		if _, err := l.tx.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("restore triggers and foreign keys: %w", err)
		}
	}
	for _, t := range tables {
		if err := l.sequence(ctx, t, used[t.name]); err != nil {
			return fmt.Errorf("table %s: set the next ID: %w", t.name, err)
		}
	}
	return nil
}

func (l *loading) sequence(ctx context.Context, t *table, used int64) error {
	if l.dialect == migrations.SQLite {
		// Only tables that never use an ID twice have one. SQLite has raised it to the highest ID in the table.
		_, err := l.tx.ExecContext(ctx, "UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = ?", used, t.name)
		if err == nil && used > 0 {
			_, err = l.tx.ExecContext(ctx, `INSERT INTO sqlite_sequence (name, seq) SELECT name, ? FROM sqlite_master
				WHERE type = 'table' AND name = ? AND sql LIKE '%AUTOINCREMENT%' AND name NOT IN (SELECT name FROM sqlite_sequence)`, used, t.name)
		}
		return err
	}
	for _, c := range t.columns {
		if !c.identity {
			continue
		}
		_, err := l.tx.ExecContext(ctx, fmt.Sprintf(`SELECT setval(pg_get_serial_sequence($1, $2), greatest($3::bigint, last, 1), greatest($3::bigint, last) > 0)
			FROM (SELECT coalesce(max(%s), 0) AS last FROM %s) AS x`, quoteName(c.name), quoteName(t.name)), quoteName(t.name), c.name, used)
		if err != nil {
			return err
		}
	}
	return nil
}

// usedIDs returns the highest ID that each table has ever used.
func usedIDs(ctx context.Context, tx *sql.Tx, dialect migrations.Dialect, tables []*table) (map[string]int64, error) {
	used := map[string]int64{}
	for _, t := range tables {
		query, args := "SELECT seq FROM sqlite_sequence WHERE name = ?", []any{t.name}
		if dialect == migrations.Postgres {
			i := slices.IndexFunc(t.columns, func(c column) bool { return c.identity })
			if i < 0 {
				continue
			}
			query = "SELECT coalesce(pg_sequence_last_value(pg_get_serial_sequence($1, $2)::regclass), 0)"
			args = []any{quoteName(t.name), t.columns[i].name}
		}
		var n int64
		err := tx.QueryRowContext(ctx, query, args...).Scan(&n)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return nil, fmt.Errorf("table %s: highest ID: %w", t.name, err)
		}
		if n > 0 {
			used[t.name] = n
		}
	}
	return used, nil
}
