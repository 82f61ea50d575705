package database

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"punctual/migrations"
)

// CopiedTable is a table that [Copy] copied and compared.
type CopiedTable struct {
	Name     string
	Rows     int64
	Checksum uint64 // of all rows, whatever their order
}

// occupied are tables that have rows once the target is in use.
var occupied = []string{"users", "sites", "rooms", "meetings", "series", "meeting_types", "custom_fields", "webhooks", "notifications", "delay_jobs"}

// Copy copies all tables of a SQLite file into an empty Postgres database, whose schema it makes, and
// compares both sides row by row. It is one transaction: if it fails or is interrupted, the target stays
// empty, and Copy can be run again. The file cannot be written meanwhile. It refuses a file with another
// schema than the program's, and a target that is in use. progress may be nil.
func Copy(ctx context.Context, from *DB, target string, progress func(done, total int64)) ([]CopiedTable, error) {
	if from.Dialect != migrations.SQLite {
		return nil, errors.New("the source must be a SQLite database")
	}
	if err := current(ctx, from); err != nil {
		return nil, err
	}
	to, err := Open(ctx, target, Options{})
	if err != nil {
		return nil, err
	}
	if to.Dialect != migrations.Postgres {
		return nil, errors.Join(errors.New("the target must be a Postgres database"), to.Close())
	}
	if err := errors.Join(to.Migrate(ctx), to.Close()); err != nil {
		return nil, err
	}
	conn, err := pgx.Connect(ctx, target)
	if err != nil {
		return nil, fmt.Errorf("connect to the target: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx))
	source, err := from.SQL.BeginTx(ctx, nil) // takes the lock for writing
	if err != nil {
		return nil, fmt.Errorf("lock the source, which no other process may write meanwhile: %w", err)
	}
	defer source.Rollback()
	var copied []CopiedTable
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		c := &copying{source: source, tx: tx, progress: progress}
		copied, err = c.all(ctx)
		return err
	})
	return copied, err
}

// current returns an error unless the schema is the program's.
func current(ctx context.Context, db *DB) error {
	steps, err := migrations.Status(ctx, db.SQL, db.Dialect)
	if err != nil {
		return err
	}
	for _, s := range steps {
		if s.AppliedAt.IsZero() {
			return fmt.Errorf("the source lacks the migration %s: run punctual migrate up with it first", s.Name)
		}
	}
	return nil
}

// copying is one copy.
type copying struct {
	source      *sql.Tx
	tx          pgx.Tx
	progress    func(done, total int64)
	done, total int64
}

// columnsOfTables lists the columns of all tables of Postgres, and foreignKeys the foreign keys
// of the tables named in $1.
const (
	columnsOfTables = `SELECT c.table_name, c.column_name, c.udt_name, c.is_identity = 'YES'
		FROM information_schema.columns c JOIN information_schema.tables t USING (table_schema, table_name)
		WHERE c.table_schema = current_schema() AND t.table_type = 'BASE TABLE' AND c.table_name <> 'goose_db_version' AND c.is_generated = 'NEVER'
		ORDER BY c.table_name, c.ordinal_position`

	foreignKeys = `SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint
		WHERE contype = 'f' AND conrelid IN (SELECT oid FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relname = ANY($1)) ORDER BY 1, 2`
)

// table is one that is copied.
type table struct {
	name    string
	columns []column
}

type column struct {
	name, kind string // kind: such as timestamptz
	identity   bool
}

func (t *table) list() string {
	names := make([]string, len(t.columns))
	for i, c := range t.columns {
		names[i] = quoteName(c.name)
	}
	return strings.Join(names, ", ")
}

func quoteName(name string) string { return pgx.Identifier{name}.Sanitize() }

func (c *copying) all(ctx context.Context) ([]CopiedTable, error) {
	tables, err := c.tables(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.refuseOccupied(ctx); err != nil {
		return nil, err
	}
	restore, err := c.suspend(ctx, tables)
	if err != nil {
		return nil, fmt.Errorf("suspend triggers and foreign keys: %w", err)
	}
	var copied []CopiedTable
	for _, t := range tables {
		one, err := c.table(ctx, t)
		if err != nil {
			return nil, fmt.Errorf("table %s: %w", t.name, err)
		}
		copied = append(copied, one)
	}
	if err := c.sequences(ctx, tables); err != nil {
		return nil, fmt.Errorf("sequences: %w", err)
	}
	for _, statement := range restore {
		if _, err := c.tx.Exec(ctx, statement); err != nil {
			return nil, fmt.Errorf("restore triggers and foreign keys: %w", err)
		}
	}
	return copied, nil
}

// tables returns the tables of the target, which must be those of the source, but for the index of
// searches: Postgres has an index proper.
func (c *copying) tables(ctx context.Context) ([]*table, error) {
	own, err := migrations.Tables(migrations.Postgres)
	if err != nil {
		return nil, err
	}
	rows, err := c.tx.Query(ctx, columnsOfTables)
	if err != nil {
		return nil, err
	}
	var tables []*table
	var name string
	var col column
	_, err = pgx.ForEachRow(rows, []any{&name, &col.name, &col.kind, &col.identity}, func() error {
		if !slices.Contains(own, name) { // of another program
			return nil
		}
		if len(tables) == 0 || tables[len(tables)-1].name != name {
			tables = append(tables, &table{name: name})
		}
		last := tables[len(tables)-1]
		last.columns = append(last.columns, col)
		return nil
	})
	if err != nil {
		return nil, err
	}
	here, err := c.source.QueryContext(ctx, "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'meeting_search%' AND name <> 'goose_db_version'")
	if err != nil {
		return nil, err
	}
	defer here.Close()
	for here.Next() {
		if err := here.Scan(&name); err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(tables, func(t *table) bool { return t.name == name }) {
			return nil, fmt.Errorf("the target has no table %s", name)
		}
	}
	if err := here.Err(); err != nil {
		return nil, err
	}
	for _, t := range tables {
		var n int64
		if err := c.source.QueryRowContext(ctx, "SELECT count(*) FROM "+quoteName(t.name)).Scan(&n); err != nil {
			return nil, fmt.Errorf("table %s: %w", t.name, err)
		}
		c.total += 2 * n // copied and compared
	}
	return tables, nil
}

func (c *copying) refuseOccupied(ctx context.Context) error {
	for _, name := range occupied {
		var used bool
		if err := c.tx.QueryRow(ctx, "SELECT EXISTS (SELECT FROM "+quoteName(name)+")").Scan(&used); err != nil {
			return err
		}
		if used {
			return fmt.Errorf("the target is not empty: its table %s has rows. Nothing was copied", name)
		}
	}
	return nil
}

// suspend disables what would interfere, empties the tables, and returns the statements that restore all.
func (c *copying) suspend(ctx context.Context, tables []*table) (restore []string, err error) {
	rows, err := c.tx.Query(ctx, foreignKeys, tableNames(tables))
	if err != nil {
		return nil, err
	}
	statements := []string{"SET LOCAL statement_timeout = 0"}
	var of, name, definition string
	if _, err := pgx.ForEachRow(rows, []any{&of, &name, &definition}, func() error {
		statements = append(statements, fmt.Sprintf("ALTER TABLE %s DROP CONSTRAINT %s", of, quoteName(name)))
		restore = append(restore, fmt.Sprintf("ALTER TABLE %s ADD CONSTRAINT %s %s", of, quoteName(name), definition))
		return nil
	}); err != nil {
		return nil, err
	}
	for _, t := range tables {
		statements = append(statements, "ALTER TABLE "+quoteName(t.name)+" DISABLE TRIGGER USER", "DELETE FROM "+quoteName(t.name))
		restore = append(restore, "ALTER TABLE "+quoteName(t.name)+" ENABLE TRIGGER USER")
	}
	for _, statement := range statements {
		if _, err := c.tx.Exec(ctx, statement); err != nil {
			return nil, err
		}
	}
	return restore, nil
}

// table copies one table, and compares what the target then holds.
func (c *copying) table(ctx context.Context, t *table) (CopiedTable, error) {
	rows, err := c.source.QueryContext(ctx, "SELECT "+t.list()+" FROM "+quoteName(t.name))
	if err != nil {
		return CopiedTable{}, err
	}
	defer rows.Close()
	from := &sourceRows{rows: rows, table: t, sum: newSum(), step: c.step}
	names := make([]string, len(t.columns))
	for i, col := range t.columns {
		names[i] = col.name
	}
	if _, err := c.tx.CopyFrom(ctx, pgx.Identifier{t.name}, names, from); err != nil {
		return CopiedTable{}, err
	}
	there, err := c.compared(ctx, t)
	if err != nil {
		return CopiedTable{}, err
	}
	if there.rows != from.sum.rows || there.total != from.sum.total {
		return CopiedTable{}, fmt.Errorf("the target differs: %d rows with checksum %016x there, %d rows with checksum %016x here", there.rows, there.total, from.sum.rows, from.sum.total)
	}
	return CopiedTable{Name: t.name, Rows: there.rows, Checksum: there.total}, nil
}

func (c *copying) step() {
	if c.done++; c.progress != nil {
		c.progress(c.done, c.total)
	}
}

// compared reads the copy.
func (c *copying) compared(ctx context.Context, t *table) (*sum, error) {
	list := make([]string, len(t.columns))
	for i, col := range t.columns {
		if list[i] = quoteName(col.name); col.kind == "jsonb" || col.kind == "json" || col.kind == "numeric" {
			list[i] += "::text"
		}
	}
	rows, err := c.tx.Query(ctx, "SELECT "+strings.Join(list, ", ")+" FROM "+quoteName(t.name))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	s := newSum()
	for rows.Next() {
		values, err := rows.Values()
		if err != nil {
			return nil, err
		}
		for i, col := range t.columns {
			if values[i], err = col.value(values[i]); err != nil {
				return nil, err
			}
		}
		if err := s.add(t, values); err != nil {
			return nil, err
		}
		c.step()
	}
	return s, rows.Err()
}

// sourceRows feeds COPY with the rows of a table.
type sourceRows struct {
	rows  *sql.Rows
	table *table
	sum   *sum
	step  func()
	row   []any
	err   error
}

func (s *sourceRows) Next() bool {
	if s.err != nil || !s.rows.Next() {
		return false
	}
	cells, into := make([]any, len(s.table.columns)), make([]any, len(s.table.columns))
	for i := range cells {
		into[i] = &cells[i]
	}
	if s.err = s.rows.Scan(into...); s.err != nil {
		return false
	}
	for i, col := range s.table.columns {
		if cells[i], s.err = col.value(cells[i]); s.err != nil {
			return false
		}
	}
	if s.err = s.sum.add(s.table, cells); s.err != nil {
		return false
	}
	s.row = cells
	s.step()
	return true
}

func (s *sourceRows) Values() ([]any, error) { return s.row, nil }

func (s *sourceRows) Err() error { return errors.Join(s.err, s.rows.Err()) }

// value is a value of either database as the column's type has it.
func (c column) value(v any) (any, error) {
	switch {
	case v == nil:
		return nil, nil
	case c.kind == "timestamptz":
		switch t := v.(type) {
		case time.Time:
			return t.UTC().Truncate(time.Microsecond), nil
		case int64:
			return time.UnixMicro(t).UTC(), nil
		}
	case c.kind == "bool":
		switch b := v.(type) {
		case bool:
			return b, nil
		case int64:
			return b != 0, nil
		}
	case c.kind == "int8" || c.kind == "int4" || c.kind == "int2":
		switch n := v.(type) {
		case int64:
			return n, nil
		case int32:
			return int64(n), nil
		case int16:
			return int64(n), nil
		}
	case c.kind == "float8" || c.kind == "float4":
		switch f := v.(type) {
		case float64:
			return f, nil
		case float32:
			return float64(f), nil
		case int64:
			return float64(f), nil
		}
	case c.kind == "bytea":
		switch b := v.(type) {
		case []byte:
			return b, nil
		case string:
			return []byte(b), nil
		}
	case c.kind == "text" || c.kind == "varchar" || c.kind == "jsonb" || c.kind == "json":
		switch s := v.(type) {
		case string:
			return s, nil
		case []byte:
			return string(s), nil
		}
	}
	return nil, fmt.Errorf("column %s of type %s holds a %T", c.name, c.kind, v)
}

// sum adds the hashes of rows, so that their order does not matter.
type sum struct {
	rows  int64
	total uint64
	hash  hash.Hash64
}

func newSum() *sum { return &sum{hash: fnv.New64a()} }

func (s *sum) add(t *table, values []any) error {
	s.hash.Reset()
	for i, col := range t.columns {
		text, err := col.canonical(values[i])
		if err != nil {
			return fmt.Errorf("column %s: %w", col.name, err)
		}
		var size [8]byte
		binary.BigEndian.PutUint64(size[:], uint64(len(text)))
		s.hash.Write(size[:])
		s.hash.Write(text)
	}
	s.rows++
	s.total += s.hash.Sum64()
	return nil
}

// canonical is a text that equal values of either database share.
func (c column) canonical(v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return []byte("null"), nil
	case time.Time:
		return fmt.Appendf(nil, "t%d", v.UnixMicro()), nil
	case []byte:
		return append([]byte("b"), v...), nil
	case string:
		if c.kind != "jsonb" && c.kind != "json" {
			return append([]byte("s"), v...), nil
		}
		var decoded any
		if err := json.NewDecoder(bytes.NewReader([]byte(v))).Decode(&decoded); err != nil {
			return nil, err
		}
		return json.Marshal(decoded) // sorts the keys
	default:
		return fmt.Appendf(nil, "v%v", v), nil
	}
}

// sequences let the target go on where the source was, so that no ID is used twice.
func (c *copying) sequences(ctx context.Context, tables []*table) error {
	used := map[string]int64{}
	rows, err := c.source.QueryContext(ctx, "SELECT name, seq FROM sqlite_sequence")
	if err != nil && !strings.Contains(err.Error(), "no such table") {
		return err
	}
	if err == nil {
		defer rows.Close()
		for rows.Next() {
			var name string
			var n int64
			if err := rows.Scan(&name, &n); err != nil {
				return err
			}
			used[name] = n
		}
		if err := rows.Err(); err != nil {
			return err
		}
	}
	for _, t := range tables {
		for _, col := range t.columns {
			if !col.identity {
				continue
			}
			_, err := c.tx.Exec(ctx, fmt.Sprintf(`SELECT setval(pg_get_serial_sequence($1, $2), greatest($3, last, 1), greatest($3, last) > 0)
				FROM (SELECT coalesce(max(%s), 0) AS last FROM %s) AS x`, quoteName(col.name), quoteName(t.name)), quoteName(t.name), col.name, used[t.name])
			if err != nil {
				return fmt.Errorf("table %s: %w", t.name, err)
			}
		}
	}
	return nil
}
