package database

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"time"

	"github.com/klauspost/compress/zstd"

	"punctual/migrations"
)

// A backup is lines of JSON, compressed with Zstandard: a header, the tables, and a last line. Each table is a
// line with its columns, an array for each row, and a line with the number of rows and a checksum. The values
// are those of an export, so that a backup of either database can be restored to either.
const backupName, backupVersion = "punctual", 1

type backupHeader struct {
	Backup  string    `json:"backup"`  // [backupName]
	Version int       `json:"version"` // of the format
	Schema  int64     `json:"schema"`  // number of the newest migration
	At      time.Time `json:"at"`      // of the snapshot
	Program string    `json:"program"` // its version
}

// backupLine is a line that is neither the header nor a row.
type backupLine struct {
	Table   string   `json:"table,omitempty"` // begins a table
	Columns []string `json:"columns,omitempty"`

	End    string `json:"end,omitempty"` // ends a table
	Rows   int64  `json:"rows,omitempty"`
	SHA256 string `json:"sha256,omitempty"` // of the lines of the table; in the last line, of all lines before

	Complete bool             `json:"complete,omitempty"` // the last line, whose Rows are those of all tables
	Tables   int              `json:"tables,omitempty"`
	Used     map[string]int64 `json:"used,omitempty"` // highest ID that a table has ever used
}

// BackedUp is what a backup holds.
type BackedUp struct {
	Schema  int64
	At      time.Time
	Program string
	Rows    int64
	Tables  []BackedUpTable
}

// BackedUpTable is a table in a backup.
type BackedUpTable struct {
	Name   string
	Rows   int64
	SHA256 string // of its lines
}

// Backup writes a backup of everything that the database holds, as it is at one instant, while others read and
// write. It contains secrets. program is the version of the program. It refuses a schema that is newer than
// the program's, because it would miss tables.
func Backup(ctx context.Context, db *DB, w io.Writer, program string) (*BackedUp, error) {
	tx, err := snapshot(ctx, db)
	if err != nil {
		return nil, err
	}
	defer tx.Rollback()
	schema, err := schemaVersion(ctx, tx, db.Dialect)
	if err != nil {
		return nil, err
	}
	newest, err := newest(db.Dialect)
	switch {
	case err != nil:
		return nil, err
	case schema > newest:
		return nil, fmt.Errorf("the database has schema %d, this program has %d; use the newer version of punctual", schema, newest)
	case schema == 0:
		return nil, errors.New("the database is empty: there is nothing to back up")
	}
	tables, err := ownTables(ctx, tx, db.Dialect)
	if err != nil {
		return nil, err
	}
	z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	b := &backup{to: bufio.NewWriterSize(z, 1<<16), all: sha256.New(), of: sha256.New()}
	done := &BackedUp{Schema: schema, At: time.Now().UTC().Truncate(time.Second), Program: program}
	if err := b.line(backupHeader{backupName, backupVersion, schema, done.At, program}); err != nil {
		return nil, err
	}
	for _, t := range tables {
		one, err := b.table(ctx, tx, t)
		if err != nil {
			return nil, fmt.Errorf("table %s: %w", t.name, err)
		}
		done.Tables, done.Rows = append(done.Tables, one), done.Rows+one.Rows
	}
	used, err := usedIDs(ctx, tx, db.Dialect, tables)
	if err != nil {
		return nil, err
	}
	last := backupLine{Complete: true, Tables: len(tables), Rows: done.Rows, Used: used, SHA256: sumOf(b.all)}
	return done, errors.Join(b.line(last), b.to.Flush(), z.Close())
}

type backup struct {
	to      *bufio.Writer
	all, of hash.Hash // of all lines, and of those of the table
	text    bytes.Buffer
}

func (b *backup) line(v any) error {
	b.text.Reset()
	e := json.NewEncoder(&b.text)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	b.all.Write(b.text.Bytes())
	b.of.Write(b.text.Bytes())
	_, err := b.to.Write(b.text.Bytes())
	return err
}

func (b *backup) table(ctx context.Context, tx *sql.Tx, t *table) (BackedUpTable, error) {
	names := make([]string, len(t.columns))
	for i, c := range t.columns {
		names[i] = c.name
	}
	b.of.Reset()
	if err := b.line(backupLine{Table: t.name, Columns: names}); err != nil {
		return BackedUpTable{}, err
	}
	done := BackedUpTable{Name: t.name}
	err := exportTable(ctx, tx, t, func(cells []any) error {
		done.Rows++
		return b.line(cells)
	})
	if err != nil {
		return done, err
	}
	done.SHA256 = sumOf(b.of)
	return done, b.line(backupLine{End: t.name, Rows: done.Rows, SHA256: done.SHA256})
}

func sumOf(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)) }

// schemaVersion is the number of the newest migration that was applied; 0: none.
func schemaVersion(ctx context.Context, tx *sql.Tx, dialect migrations.Dialect) (version int64, err error) {
	exists := "SELECT count(*) FROM sqlite_master WHERE name = 'goose_db_version'"
	if dialect == migrations.Postgres {
		exists = "SELECT count(*) FROM pg_class WHERE relname = 'goose_db_version' AND relnamespace = current_schema()::regnamespace"
	}
	var n int
	if err := tx.QueryRowContext(ctx, exists).Scan(&n); err != nil || n == 0 {
		return 0, err
	}
	err = tx.QueryRowContext(ctx, "SELECT coalesce(max(version_id), 0) FROM goose_db_version").Scan(&version)
	return version, err
}

// newest is the number of the program's newest migration.
func newest(dialect migrations.Dialect) (int64, error) {
	versions, err := migrations.Versions(dialect)
	if err != nil {
		return 0, err
	}
	return slices.Max(versions), nil
}

// VerifyBackup reads a backup to its end, and returns what it holds. The error names the place at which a
// backup is incomplete or damaged. It needs no database.
func VerifyBackup(r io.Reader) (*BackedUp, error) {
	done, _, err := readBackup(r, nil, nil)
	return done, err
}

// maxBackupLine bounds memory. Rows with pictures are the longest, of some megabytes.
const maxBackupLine = 256 << 20

// readBackup reads a backup, and calls begin for each table and row for each of its rows, unless they are nil. It
// returns the last line, too. What was passed on counts only if there is no error.
func readBackup(r io.Reader, begin func(name string, columns []string) error, row func(cells []any) error) (*BackedUp, *backupLine, error) {
	z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, nil, err
	}
	defer z.Close()
	lines := bufio.NewScanner(z)
	lines.Buffer(make([]byte, 1<<16), maxBackupLine)
	b := &backupReader{begin: begin, row: row, all: sha256.New(), of: sha256.New(), done: &BackedUp{}}
	for lines.Scan() {
		b.number++
		if err := b.line(lines.Bytes()); err != nil {
			return nil, nil, fmt.Errorf("line %d%s: %w", b.number, b.place(), err)
		}
	}
	switch err := lines.Err(); {
	case b.number == 0 && errors.Is(err, io.ErrUnexpectedEOF):
		return nil, nil, errors.New("the backup is truncated: it ends before its first line")
	case b.number == 0:
		return nil, nil, errors.Join(errors.New("the file is not a backup of punctual"), err)
	case errors.Is(err, io.ErrUnexpectedEOF), err == nil && b.last == nil:
		return nil, nil, fmt.Errorf("the backup is truncated: it ends after line %d%s", b.number, b.place())
	case err != nil:
		return nil, nil, fmt.Errorf("the backup is damaged after line %d%s: %w", b.number, b.place(), err)
	}
	return b.done, b.last, nil
}

type backupReader struct {
	begin func(name string, columns []string) error
	row   func(cells []any) error

	number  int64     // of the line
	all, of hash.Hash // of all lines, and of those of the table
	done    *BackedUp
	table   string // that is being read; empty: none
	columns int
	rows    int64
	last    *backupLine
}

// place names the table and the row of the latest line.
func (b *backupReader) place() string {
	switch {
	case b.table == "":
		return ""
	case b.rows == 0:
		return ", table " + b.table
	}
	return fmt.Sprintf(", table %s, row %d", b.table, b.rows)
}

func (b *backupReader) line(text []byte) error {
	if b.last != nil {
		return errors.New("must not follow the last line of the backup")
	}
	defer func() {
		for _, h := range []hash.Hash{b.all, b.of} {
			h.Write(text)
			h.Write([]byte{'\n'})
		}
	}()
	if b.number == 1 {
		return b.header(text)
	}
	if bytes.HasPrefix(text, []byte{'['}) && b.table != "" {
		b.rows++
		return b.cells(text)
	}
	var l backupLine
	if err := json.Unmarshal(text, &l); err != nil && !bytes.HasPrefix(text, []byte{'['}) {
		return fmt.Errorf("damaged: %w", err)
	}
	switch {
	case l.Table != "" && b.table == "":
		b.of.Reset()
		b.table, b.columns, b.rows = l.Table, len(l.Columns), 0
		if b.begin != nil {
			return b.begin(l.Table, l.Columns)
		}
		return nil
	case l.End != "" && l.End == b.table:
		return b.end(l)
	case l.Complete && b.table == "":
		return b.complete(l)
	}
	return errors.New("damaged: the line is out of place")
}

func (b *backupReader) header(text []byte) error {
	var h backupHeader
	switch err := json.Unmarshal(text, &h); {
	case err != nil || h.Backup != backupName:
		return errors.New("the file is not a backup of punctual")
	case h.Version != backupVersion:
		return fmt.Errorf("the backup has format %d, this program reads format %d; use the version of punctual that wrote it (%s)", h.Version, backupVersion, h.Program)
	}
	b.done.Schema, b.done.At, b.done.Program = h.Schema, h.At, h.Program
	return nil
}

func (b *backupReader) cells(text []byte) error {
	if b.row == nil {
		return nil // the checksum at the end of the table covers it
	}
	var cells []any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&cells); err != nil {
		return fmt.Errorf("damaged: %w", err)
	}
	if len(cells) != b.columns {
		return fmt.Errorf("damaged: %d values for %d columns", len(cells), b.columns)
	}
	return b.row(cells)
}

func (b *backupReader) end(l backupLine) error {
	switch sum := sumOf(b.of); {
	case l.Rows != b.rows:
		return fmt.Errorf("damaged: the table must have %d rows, it has %d", l.Rows, b.rows)
	case l.SHA256 != sum:
		return errors.New("damaged: the checksum of the table does not match its rows")
	}
	b.done.Tables = append(b.done.Tables, BackedUpTable{b.table, b.rows, l.SHA256})
	b.done.Rows += b.rows
	b.table, b.rows = "", 0
	return nil
}

func (b *backupReader) complete(l backupLine) error {
	if l.Rows != b.done.Rows || l.Tables != len(b.done.Tables) || l.SHA256 != sumOf(b.all) {
		return fmt.Errorf("damaged: the checksum or the number of all rows does not match (%d rows in %d tables, must be %d in %d)", b.done.Rows, len(b.done.Tables), l.Rows, l.Tables)
	}
	b.last = &l
	return nil
}
