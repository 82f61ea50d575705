package database

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"punctual/migrations"
)

// An export is lines of JSON: a header, one line per row, and a last line with the number of rows.
type exportLine struct {
	Export  string         `json:"export,omitempty"`  // header: [exportName]
	Version int            `json:"version,omitempty"` // header: of the format
	Schema  int64          `json:"schema,omitempty"`  // header: number of the newest migration
	At      *time.Time     `json:"at,omitempty"`      // header
	Table   string         `json:"table,omitempty"`
	Row     map[string]any `json:"row,omitempty"`
	Rows    *int64         `json:"rows,omitempty"` // last line
}

const exportName, exportVersion = "punctual", 1

// unexported are tables with secrets, and those that only the running installation needs.
var unexported = []string{
	"goose_db_version", "tokens", "feeds", "password_links", "door_codes", "second_factors", "passkeys", "passkey_handles", "passkey_challenges", "signing_keys", "certificates", "sign_in_networks", "idempotency_keys",
	"webhooks", "webhook_deliveries", "topic_webhooks", "job_failures", "job_lateness", "job_settings", "audit_forwarding", "past_changes",
}

// Export writes everything that an installation holds as lines of JSON, as it is at one instant. It leaves
// out tokens, webhooks and other secrets, and passwords unless passwords is set. It returns the number
// of rows.
func Export(ctx context.Context, db *DB, w io.Writer, passwords bool) (int64, error) {
	if err := current(ctx, db); err != nil {
		return 0, err
	}
	schema, err := newest(ctx, db)
	if err != nil {
		return 0, err
	}
	pool, options := db.SQL, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true}
	if db.Dialect == migrations.SQLite {
		pool, options = db.readers, &sql.TxOptions{ReadOnly: true}
	}
	tx, err := pool.BeginTx(ctx, options)
	if err != nil {
		return 0, err
	}
	defer tx.Rollback()
	tables, err := exportedTables(ctx, tx, db.Dialect)
	if err != nil {
		return 0, err
	}
	out := bufio.NewWriterSize(w, 1<<16)
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	now := time.Now().UTC().Truncate(time.Second)
	if err := e.Encode(exportLine{Export: exportName, Version: exportVersion, Schema: schema, At: &now}); err != nil {
		return 0, err
	}
	var n int64
	for _, t := range tables {
		if err := exportTable(ctx, tx, t, passwords, func(row map[string]any) error {
			n++
			return e.Encode(exportLine{Table: t.name, Row: row})
		}); err != nil {
			return n, fmt.Errorf("table %s: %w", t.name, err)
		}
	}
	if err := e.Encode(exportLine{Rows: &n}); err != nil {
		return n, err
	}
	return n, out.Flush()
}

// newest is the number of the newest migration.
func newest(ctx context.Context, db *DB) (version int64, err error) {
	steps, err := migrations.Status(ctx, db.SQL, db.Dialect)
	for _, s := range steps {
		version = max(version, s.Version)
	}
	return version, err
}

// exportedTables returns the tables of an export by name, with their columns.
func exportedTables(ctx context.Context, tx *sql.Tx, dialect migrations.Dialect) (tables []*table, err error) {
	query := `SELECT m.name, p.name, lower(p.type), false FROM sqlite_master m JOIN pragma_table_info(m.name) p
		WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' AND m.name NOT LIKE 'meeting_search%' ORDER BY m.name, p.cid`
	if dialect == migrations.Postgres {
		query = columnsOfTables
	}
	rows, err := tx.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		var c column
		if err := rows.Scan(&name, &c.name, &c.kind, &c.identity); err != nil {
			return nil, err
		}
		if slices.Contains(unexported, name) {
			continue
		}
		if len(tables) == 0 || tables[len(tables)-1].name != name {
			tables = append(tables, &table{name: name})
		}
		last := tables[len(tables)-1]
		last.columns = append(last.columns, c)
	}
	return tables, rows.Err()
}

func exportTable(ctx context.Context, tx *sql.Tx, t *table, passwords bool, write func(map[string]any) error) error {
	rows, err := tx.QueryContext(ctx, "SELECT "+t.list()+" FROM "+quoteName(t.name)+" ORDER BY "+quoteName(t.columns[0].name))
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		cells, into := make([]any, len(t.columns)), make([]any, len(t.columns))
		for i := range cells {
			into[i] = &cells[i]
		}
		if err := rows.Scan(into...); err != nil {
			return err
		}
		row := make(map[string]any, len(t.columns))
		for i, c := range t.columns {
			row[c.name] = exported(c, cells[i])
		}
		if _, has := row["password_hash"]; has && !passwords {
			row["password_hash"] = ""
		}
		if err := write(row); err != nil {
			return err
		}
	}
	return rows.Err()
}

// exported is a value as JSON: times as texts in UTC, bytes in base64, JSON as a text.
func exported(c column, v any) any {
	switch v := v.(type) {
	case time.Time:
		return v.UTC().Format(time.RFC3339Nano)
	case []byte:
		if c.kind == "bytea" || c.kind == "blob" {
			return base64.StdEncoding.EncodeToString(v)
		}
		return string(v)
	default:
		return v
	}
}

// Import reads an export of the same schema into an empty installation, all or nothing. It returns the
// number of rows.
func Import(ctx context.Context, db *DB, r io.Reader) (n int64, err error) {
	if err := db.Migrate(ctx); err != nil {
		return 0, err
	}
	schema, err := newest(ctx, db)
	if err != nil {
		return 0, err
	}
	tx, err := db.SQL.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer tx.Rollback()
	i := &importing{tx: tx, dialect: db.Dialect, schema: schema}
	if err := i.all(ctx, r); err != nil {
		return 0, err
	}
	return i.rows, tx.Commit()
}

type importing struct {
	tx      *sql.Tx
	dialect migrations.Dialect
	schema  int64
	tables  map[string]*table
	rows    int64
	line    int

	pending []any // values of rows of one table that are not inserted yet
	of      *table
}

func (i *importing) all(ctx context.Context, r io.Reader) error {
	tables, err := exportedTables(ctx, i.tx, i.dialect)
	if err != nil {
		return err
	}
	i.tables = map[string]*table{}
	for _, t := range tables {
		i.tables[t.name] = t
	}
	for _, name := range occupied {
		var used bool
		if err := i.tx.QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM "+quoteName(name)+")").Scan(&used); err != nil {
			return err
		}
		if used {
			return fmt.Errorf("the installation is not empty: its table %s has rows. Nothing was imported", name)
		}
	}
	restore, err := i.suspend(ctx, tables)
	if err != nil {
		return err
	}
	d := json.NewDecoder(bufio.NewReaderSize(r, 1<<16))
	d.UseNumber()
	complete := false
	for i.line = 1; ; i.line++ {
		var line exportLine
		err := d.Decode(&line)
		if err == io.EOF {
			break
		}
		if err == nil {
			complete, err = i.one(ctx, line)
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", i.line, err)
		}
	}
	if !complete {
		return errors.New("the export is not complete: its last line, with the number of rows, is missing")
	}
	if err := i.flush(ctx); err != nil {
		return err
	}
	for _, statement := range append(restore, i.sequences(tables)...) {
		if _, err := i.tx.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("restore triggers, foreign keys and sequences: %w", err)
		}
	}
	return nil
}

// one handles a line, and reports whether it was the last.
func (i *importing) one(ctx context.Context, line exportLine) (last bool, err error) {
	switch {
	case i.line == 1 && (line.Export != exportName || line.Version != exportVersion):
		return false, errors.New("the file must begin with the header of an export of punctual")
	case i.line == 1 && line.Schema != i.schema:
		return false, fmt.Errorf("the export has schema %d, this program has %d; use the same version of punctual", line.Schema, i.schema)
	case i.line == 1:
		return false, nil
	case line.Rows != nil && *line.Rows != i.rows:
		return false, fmt.Errorf("the export has %d rows, %d were read", *line.Rows, i.rows)
	case line.Rows != nil:
		return true, nil
	}
	t := i.tables[line.Table]
	if t == nil {
		return false, fmt.Errorf("table %q is not part of an export", line.Table)
	}
	if i.of != t || len(i.pending) >= 200*len(t.columns) || len(i.pending) > 10_000 {
		if err := i.flush(ctx); err != nil {
			return false, err
		}
		i.of = t
	}
	if len(line.Row) != len(t.columns) {
		return false, fmt.Errorf("table %s has %d columns, the row has %d", t.name, len(t.columns), len(line.Row))
	}
	for _, c := range t.columns {
		v, ok := line.Row[c.name]
		if !ok {
			return false, fmt.Errorf("table %s: column %s is missing", t.name, c.name)
		}
		if v, err = c.imported(v); err != nil {
			return false, fmt.Errorf("table %s, column %s: %w", t.name, c.name, err)
		}
		i.pending = append(i.pending, v)
	}
	i.rows++
	return false, nil
}

// imported is the reverse of exported.
func (c column) imported(v any) (any, error) {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			if c.kind == "bool" || c.kind == "boolean" {
				return n != 0, nil
			}
			return n, nil
		}
		return v.Float64()
	case string:
		switch c.kind {
		case "timestamptz", "datetime":
			return time.Parse(time.RFC3339Nano, v)
		case "bytea", "blob":
			return base64.StdEncoding.DecodeString(v)
		}
		return v, nil
	case nil, bool:
		return v, nil
	}
	return nil, fmt.Errorf("must be a text, a number, true, false or null")
}

// flush inserts the rows that were read.
func (i *importing) flush(ctx context.Context) error {
	if len(i.pending) == 0 {
		return nil
	}
	var b strings.Builder
	overriding := ""
	if i.dialect == migrations.Postgres {
		overriding = " OVERRIDING SYSTEM VALUE" // some IDs are always generated
	}
	fmt.Fprintf(&b, "INSERT INTO %s (%s)%s VALUES ", quoteName(i.of.name), i.of.list(), overriding)
	for n := range i.pending {
		switch at := n % len(i.of.columns); {
		case n == 0:
			b.WriteString("(")
		case at == 0:
			b.WriteString("), (")
		default:
			b.WriteString(", ")
		}
		if i.dialect == migrations.Postgres {
			fmt.Fprintf(&b, "$%d", n+1)
		} else {
			b.WriteString("?")
		}
	}
	_, err := i.tx.ExecContext(ctx, b.String()+")", i.pending...)
	i.pending = i.pending[:0]
	if err != nil {
		return fmt.Errorf("table %s: %w", i.of.name, err)
	}
	return nil
}

// suspend disables triggers and foreign keys, empties the tables, and returns what restores them.
func (i *importing) suspend(ctx context.Context, tables []*table) (restore []string, err error) {
	var statements []string
	query, read := foreignKeys, func(of, name, definition string) {
		statements = append(statements, fmt.Sprintf("ALTER TABLE %s DROP CONSTRAINT %s", of, quoteName(name)))
		restore = append(restore, fmt.Sprintf("ALTER TABLE %s ADD CONSTRAINT %s %s", of, quoteName(name), definition))
	}
	if i.dialect == migrations.SQLite {
		statements = append(statements, "PRAGMA defer_foreign_keys = ON")
		query, read = "SELECT tbl_name, name, sql FROM sqlite_master WHERE type = 'trigger'", func(_, name, definition string) {
			statements = append(statements, "DROP TRIGGER "+quoteName(name))
			restore = append(restore, definition)
		}
		// The triggers of meetings keep the index of searches.
		statements = append(statements, "DELETE FROM meeting_search")
		restore = append(restore, "INSERT INTO meeting_search (rowid, body) SELECT id, search_text(title, description, fields) FROM meetings")
	}
	rows, err := i.tx.QueryContext(ctx, query)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var of, name, definition string
		if err := rows.Scan(&of, &name, &definition); err != nil {
			return nil, err
		}
		read(of, name, definition)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return nil, err
	}
	for _, t := range tables {
		if i.dialect == migrations.Postgres {
			statements = append(statements, "ALTER TABLE "+quoteName(t.name)+" DISABLE TRIGGER USER")
			restore = append(restore, "ALTER TABLE "+quoteName(t.name)+" ENABLE TRIGGER USER")
		}
		statements = append(statements, "DELETE FROM "+quoteName(t.name))
	}
	for _, statement := range statements {
		if _, err := i.tx.ExecContext(ctx, statement); err != nil {
			return nil, fmt.Errorf("suspend triggers and foreign keys: %w", err)
		}
	}
	return restore, nil
}

// sequences returns the statements by which Postgres goes on after the highest IDs. SQLite does so itself.
func (i *importing) sequences(tables []*table) (statements []string) {
	if i.dialect != migrations.Postgres {
		return nil
	}
	for _, t := range tables {
		for _, c := range t.columns {
			if c.identity {
				statements = append(statements, fmt.Sprintf(`SELECT setval(pg_get_serial_sequence('%s', '%s'), greatest(last, 1), last > 0) FROM (SELECT coalesce(max(%s), 0) AS last FROM %s) AS x`,
					quoteName(t.name), c.name, quoteName(c.name), quoteName(t.name)))
			}
		}
	}
	return statements
}
