package database

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Unavailable reports whether err means that the database is unavailable, rather than that one
// statement is wrong. The database may be down, starting, stopping, a standby, or out of
// connections or disk space. It may also be too slow for the timeouts that its administrator set.
// Work that fails in this way should be retried later. An expired deadline counts, because the
// database was slow. A canceled context does not count, because it says nothing about the database.
func Unavailable(err error) bool {
	if err == nil {
		return false
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return postgresUnavailable(e.Code)
	}
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return sqliteUnavailable(e.Code())
	}
	if errors.Is(err, context.Canceled) {
		return false
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return true
	}
	if _, ok := errors.AsType[net.Error](err); ok { // also context.DeadlineExceeded
		return true
	}
	for _, lost := range []error{
		driver.ErrBadConn, sql.ErrConnDone, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed,
		syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.EPIPE,
	} {
		if errors.Is(err, lost) {
			return true
		}
	}
	text := err.Error() // of pgconn and database/sql, which have no type for these
	return strings.HasSuffix(text, "conn closed") || strings.HasSuffix(text, "database is closed")
}

// TimedOut reports whether the database ended a statement because it ran for too long.
func TimedOut(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && e.Code == "57014"
}

func postgresUnavailable(state string) bool {
	switch state {
	case "57P04": // database_dropped
		return false
	case "25006", // read_only_sql_transaction: a stand-by after a fail-over
		"25P03", // idle_in_transaction_session_timeout: we were too slow for it
		"55000", // object_not_in_prerequisite_state: nobody may connect to this database just now
		"55P03": // lock_not_available: lock_timeout
		return true
	case "28000", "28P01", "3D000": // sign-in refused, no such database: for all alike
		return true
	}
	switch state[:min(2, len(state))] {
	case "08", // connection
		"53", // insufficient resources: too many connections, disk full
		"57", // operator intervention: shutdown, starting up, statement_timeout
		"58": // system error, as of I/O
		return true
	}
	return false
}

func sqliteUnavailable(code int) bool {
	switch code & 0xff { // without the extension
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL,
		sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PROTOCOL:
		return true
	}
	return false
}
