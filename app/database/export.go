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
	"webhooks", "webhook_deliveries", "topic_webhooks", "chat_targets", "job_failures", "job_lateness", "job_settings", "audit_forwarding", "past_changes",
}

// Export writes everything that an installation holds as lines of JSON, as it is at one instant. It leaves
// out tokens, webhooks and other secrets, and passwords unless passwords is set. It returns the number
// of rows.
func Export(ctx context.Context, db *DB, w io.Writer, passwords bool) (int64, error) {
	if err := current(ctx, db); err != nil {
		return 0, err
	}
	schema, err := newest(db.Dialect)
	if err != nil {
		return 0, err
	}
	tx, err := snapshot(ctx, db)
	if err != nil {
		return 0, err
	}
	defer tx.Rollback()
	tables, err := ownTables(ctx, tx, db.Dialect)
	if err != nil {
		return 0, err
	}
	tables = slices.DeleteFunc(tables, func(t *table) bool { return slices.Contains(unexported, t.name) })
	out := bufio.NewWriterSize(w, 1<<16)
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	now := time.Now().UTC().Truncate(time.Second)
	if err := e.Encode(exportLine{Export: exportName, Version: exportVersion, Schema: schema, At: &now}); err != nil {
		return 0, err
	}
	var n int64
	for _, t := range tables {
		if err := exportTable(ctx, tx, t, func(cells []any) error {
			n++
			row := make(map[string]any, len(cells))
			for i, c := range t.columns {
				row[c.name] = cells[i]
			}
			if _, has := row["password_hash"]; has && !passwords {
				row["password_hash"] = ""
			}
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

// snapshot begins a transaction that sees the database as it is now, for as long as a reader takes.
func snapshot(ctx context.Context, db *DB) (*sql.Tx, error) {
	if db.Dialect == migrations.SQLite {
		return db.readers.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	}
	tx, err := db.SQL.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return nil, err
	}
	if err := unbound(ctx, tx, db.Dialect); err != nil {
		return nil, errors.Join(err, tx.Rollback())
	}
	return tx, nil
}

// unbound lets a transaction take as long as its reader or writer needs.
func unbound(ctx context.Context, tx *sql.Tx, dialect migrations.Dialect) error {
	if dialect != migrations.Postgres {
		return nil
	}
	_, err := tx.ExecContext(ctx, "SELECT set_config('statement_timeout', '0', true), set_config('idle_in_transaction_session_timeout', '0', true)")
	return err
}

// ownTables returns the tables of punctual by name, with their columns, but for goose's. It leaves out the tables of
// other programs.
func ownTables(ctx context.Context, tx *sql.Tx, dialect migrations.Dialect) (tables []*table, err error) {
	own, err := migrations.Tables(dialect)
	if err != nil {
		return nil, err
	}
	query := `SELECT m.name, p.name, lower(p.type), false FROM sqlite_master m JOIN pragma_table_info(m.name) p
		WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' AND m.name NOT LIKE 'meeting_search%' AND m.name <> 'goose_db_version' ORDER BY m.name, p.cid`
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
		if !slices.Contains(own, name) {
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

// exportTable calls write for each row, with its values as JSON has them.
func exportTable(ctx context.Context, tx *sql.Tx, t *table, write func(cells []any) error) error {
	rows, err := tx.QueryContext(ctx, "SELECT "+t.list()+" FROM "+quoteName(t.name)+" ORDER BY "+quoteName(t.columns[0].name))
	if err != nil {
		return err
	}
	defer rows.Close()
	cells, into := make([]any, len(t.columns)), make([]any, len(t.columns))
	for i := range cells {
		into[i] = &cells[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		for i, c := range t.columns {
			cells[i] = exported(c, cells[i])
		}
		if err := write(cells); err != nil {
			return err
		}
	}
	return rows.Err()
}

// exported is a value as JSON, the same on both databases: times as texts in UTC, bytes in base64, JSON as a text.
func exported(c column, v any) any {
	switch v := v.(type) {
	case time.Time:
		return v.UTC().Format(time.RFC3339Nano)
	case []byte:
		if c.kind == "bytea" || c.kind == "blob" {
			return base64.StdEncoding.EncodeToString(v)
		}
		return string(v)
	case int64:
		if c.kind == "bool" || c.kind == "boolean" {
			return v != 0
		}
		return v
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
	schema, err := newest(db.Dialect)
	if err != nil {
		return 0, err
	}
	l, err := beginLoading(ctx, db)
	if err != nil {
		return 0, err
	}
	defer l.end()
	i := &importing{loading: l, schema: schema}
	if err := i.all(ctx, r); err != nil {
		return 0, err
	}
	return i.rows, i.tx.Commit()
}

type importing struct {
	*loading
	schema int64
	tables map[string]*table
	line   int
}

func (i *importing) all(ctx context.Context, r io.Reader) error {
	tables, err := ownTables(ctx, i.tx, i.dialect)
	if err != nil {
		return err
	}
	tables = slices.DeleteFunc(tables, func(t *table) bool { return slices.Contains(unexported, t.name) })
	i.tables = map[string]*table{}
	for _, t := range tables {
		i.tables[t.name] = t
	}
	if err := i.suspend(ctx, tables); err != nil {
		return err
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
	if err := i.empty(ctx, tables); err != nil {
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
	return i.resume(ctx, tables, nil)
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
	if len(line.Row) != len(t.columns) {
		return false, fmt.Errorf("table %s has %d columns, the row has %d", t.name, len(t.columns), len(line.Row))
	}
	cells := make([]any, len(t.columns))
	for n, c := range t.columns {
		v, ok := line.Row[c.name]
		if !ok {
			return false, fmt.Errorf("table %s: column %s is missing", t.name, c.name)
		}
		cells[n] = v
	}
	return false, i.add(ctx, t, cells)
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
