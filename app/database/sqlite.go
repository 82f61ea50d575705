package database

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"gorm.io/gorm"
	"modernc.org/sqlite" // also the driver "sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"punctual/app/database/fold"
	"punctual/app/database/transaction"
	"punctual/migrations"
)

// fold(text) is for comparisons that ignore case, because SQLite's lower handles only ASCII.
// search_fold and search_text are functions of Postgres, too: see migration 0360.
func init() {
	register := func(name string, f func(string) string) {
		sqlite.MustRegisterDeterministicScalarFunction(name, 1, func(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
			if s, ok := args[0].(string); ok {
				return f(s), nil
			}
			return args[0], nil
		})
	}
	register("fold", strings.ToLower)
	register("search_fold", fold.Text)
	sqlite.MustRegisterDeterministicScalarFunction("search_text", 3, func(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
		var texts [3]string // title, description, values of custom fields
		for i := range texts {
			texts[i], _ = args[i].(string)
		}
		return fold.Text(texts[0] + "\n" + texts[1] + "\n" + valuesIn(texts[2])), nil
	})
}

// valuesIn returns the values in the JSON of a meeting's custom fields.
func valuesIn(fields string) string {
	var values []struct{ Value any }
	if fields == "" || json.Unmarshal([]byte(fields), &values) != nil {
		return ""
	}
	var b strings.Builder
	for _, v := range values {
		switch v := v.Value.(type) {
		case string:
			b.WriteString(v)
		case float64:
			b.WriteString(strconv.FormatFloat(v, 'f', -1, 64))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func openSQLite(_ context.Context, u string, o Options) (*DB, gorm.Dialector, error) {
	path := strings.TrimPrefix(u, "sqlite:")
	if strings.HasPrefix(path, "///") {
		path = path[2:] // as other programs write absolute paths
	}
	switch {
	case strings.TrimLeft(path, "/") == "":
		return nil, nil, errors.New("the URL names no file: sqlite:FILE")
	case strings.HasPrefix(path, "//"):
		return nil, nil, errors.New("write sqlite:FILE, or sqlite:/FILE for an absolute path, without //")
	case strings.Contains(path, ":memory:") || strings.HasPrefix(path, "file:"):
		return nil, nil, errors.New("the database must be a plain file: sqlite:FILE")
	case strings.Contains(path, "?"):
		return nil, nil, errors.New("sqlite:FILE takes no parameters")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return nil, nil, err
	}
	if err := keepPrivate(path); err != nil {
		return nil, nil, err
	}
	writer, err := openKeeping(dsn(path, nil))
	if err != nil {
		return nil, nil, err
	}
	// Writers that wait for this connection are served in turn, and much faster than those
	// that wait for SQLite's lock.
	writer.SetMaxOpenConns(1)
	readers, err := openKeeping(dsn(path, url.Values{"_query_only": {"1"}}))
	if err != nil {
		return nil, nil, err
	}
	limit(readers, o)
	readers.SetConnMaxLifetime(0) // there is no failover to notice
	db := &DB{SQL: writer, Dialect: migrations.SQLite, File: path, readers: readers, watch: &watch{pool: readers}}
	return db, &dialector{&splitPool{writer, readers}}, nil
}

// keepPrivate creates the file if it is missing, and makes it readable only by its owner, because
// it holds password hashes and signing keys. SQLite creates the files beside it with the same mode.
func keepPrivate(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		info, err := os.Stat(path + suffix)
		if err != nil || info.Mode().Perm()&0o077 == 0 {
			continue
		}
		_ = os.Chmod(path+suffix, info.Mode().Perm()&^0o077) // a file of another user stays as it is
	}
	return nil
}

const busyTimeout = 10 * time.Second

func busy(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && e.Code()&0xff == sqlite3.SQLITE_BUSY
}

// dsn returns the DSN of a file. Times are stored as integers: as text in the caller's zone two of
// them would not compare as instants, and a room could be booked twice.
func dsn(path string, more url.Values) string {
	query := url.Values{
		"_pragma":              {fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds()), "journal_mode(WAL)", "foreign_keys(1)", "synchronous(NORMAL)"},
		"_txlock":              {"immediate"},
		"_time_integer_format": {"unix_micro"},
		"_inttotime":           {"1"},
		"_timezone":            {"UTC"},
	}
	for k, v := range more {
		query[k] = v
	}
	return fmt.Sprintf("file:%s?%s", (&url.URL{Path: path}).EscapedPath(), query.Encode())
}

// splitPool runs reads on a pool of their own, so that they do not wait for writes. It is a
// [gorm.ConnPool] and a [gorm.ConnPoolBeginner]. A context with a transaction uses that.
type splitPool struct{ writer, readers *sql.DB }

func (p *splitPool) of(query string) *sql.DB {
	const word = "SELECT"
	query = strings.TrimLeft(query, " \t\r\n(")
	if len(query) > len(word) && strings.EqualFold(query[:len(word)], word) {
		return p.readers
	}
	return p.writer
}

func (p *splitPool) PrepareContext(ctx context.Context, query string) (*sql.Stmt, error) {
	return transaction.Or(ctx, p.of(query)).PrepareContext(ctx, query)
}

func (p *splitPool) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return transaction.Or(ctx, p.writer).ExecContext(ctx, query, args...)
}

func (p *splitPool) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return transaction.Or(ctx, p.of(query)).QueryContext(ctx, query, args...)
}

func (p *splitPool) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	return transaction.Or(ctx, p.of(query)).QueryRowContext(ctx, query, args...)
}

func (p *splitPool) BeginTx(ctx context.Context, o *sql.TxOptions) (gorm.ConnPool, error) {
	if o != nil && o.ReadOnly {
		return begin(ctx, p.readers, o)
	}
	return begin(ctx, p.writer, o)
}

func (p *splitPool) GetDBConn() (*sql.DB, error) { return p.writer, nil }
