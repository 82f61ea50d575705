package gormstore

import (
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	driver "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

const noOverlap = "occupancies_no_overlap" // the constraint, and the message of SQLite's triggers

// errTaken is returned if the database refused an occupancy.
var errTaken = errors.New("a room is taken")

// taken turns the database's refusal into errTaken.
func taken(err error) error {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == "23P01" && e.ConstraintName == noOverlap {
		return errTaken
	}
	if e, ok := errors.AsType[*driver.Error](err); ok && e.Code() == sqlite3.SQLITE_CONSTRAINT_TRIGGER &&
		strings.Contains(e.Error(), noOverlap) {
		return errTaken
	}
	return err
}

// retryable reports whether the database asks for a retry of the transaction.
func retryable(err error) bool {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code == "40001" || e.Code == "40P01" // serialisation failure, deadlock
	}
	if e, ok := errors.AsType[*driver.Error](err); ok {
		return e.Code()&0xff == sqlite3.SQLITE_BUSY
	}
	return false
}
