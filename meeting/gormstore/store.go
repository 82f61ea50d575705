// Package gormstore stores meetings, rooms and sites in Postgres or SQLite.
//
// Each table has a model (models.go, or the file of its noun). Rows go through gorm. Statements about
// many rows at once are .sql files. A booking on Postgres is one of them (sql/create.postgres.sql).
// Queries whose conditions vary are composed in Go for both databases (dialect.go). A meeting is read
// with all that belongs to it in one of these, so that its parts always fit together.
package gormstore

import (
	"cmp"
	"context"
	"database/sql"
	"embed"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"time"

	"gorm.io/gorm"

	"punctual/app/database/receipt"
	"punctual/app/database/sqlfile"
	"punctual/app/database/transaction"
	"punctual/meeting"
	"punctual/meeting/booking"
)

//go:embed sql
var files embed.FS

var statements = sqlfile.Load(files)

// Outbox records notices in the transaction of the change that caused them.
type Outbox interface {
	// Insert records ns and sets their IDs; one whose DedupeKey is known already is left out
	// and keeps ID 0.
	Insert(tx *gorm.DB, ns []meeting.Notice) error
	// Withdraw cancels pending notices of some kinds about these meetings.
	Withdraw(tx *gorm.DB, ids []meeting.ID, kinds ...meeting.NoticeKind) error
	// Outdate keeps pending replies of rooms from being sent that are about the same events and dates as ns.
	Outdate(tx *gorm.DB, ns []meeting.Notice, reason string) error
	// Retract keeps notices from being sent, by their IDs and all about some meetings but reminders.
	// It returns [meeting.ErrUndoExpired] if one was sent already, or is being sent. threads are
	// those of the notices.
	Retract(tx *gorm.DB, notices []int64, about []meeting.ID) (threads []string, err error)
	// Revive lets notices wait again that were superseded or withdrawn since an instant, if they are
	// about these meetings or of these threads. It returns them with ID, channel and due time.
	Revive(tx *gorm.DB, about []meeting.ID, threads []string, since time.Time) ([]meeting.Notice, error)
	// Channels returns the chat channels that are about some rooms.
	Channels(tx *gorm.DB, roomIDs []int64) ([]meeting.ChatChannel, error)
}

// Trail records changes of rooms, sites and blackouts in the transaction of the change. before and
// after are rows and maps of further fields; none: it did not exist, or was deleted.
type Trail interface {
	Note(tx *gorm.DB, action, id, name string, before, after []any) error
}

// Store is a [booking.Store] on a database whose schema is migrated. Safe for concurrent use.
type Store struct {
	db      *gorm.DB
	outbox  Outbox
	dialect dialect
	trail   Trail // nil: nothing is recorded
	guard   Guard // nil: rights are not rechecked

	exclusive  *exclusive
	lastLook   *atomic.Int64 // number of the last check of the waiting list
	searchLook *atomic.Int64 // when SearchIndexed last looked, or -1: there is an index
	scan       int           // maxScanned of the dialect
	searchFor  time.Duration // candidatesWithin
}

var _ booking.Store = (*Store)(nil)

// New returns a store on db, which must come from package database, because times are stored as
// instants. Notices are written to the outbox.
func New(db *gorm.DB, outbox Outbox) *Store {
	d := sqlite
	if db.Name() == "postgres" {
		d = postgres
	}
	return &Store{db: db, outbox: outbox, dialect: d, exclusive: newExclusive(db), lastLook: new(atomic.Int64), searchLook: new(atomic.Int64), scan: maxScanned[d], searchFor: candidatesWithin}
}

// Noting returns the store with an audit trail of its changes.
func (s *Store) Noting(t Trail) *Store {
	noting := *s
	noting.trail = t
	return &noting
}

// Guard rechecks the permissions of a request in the transaction that acts.
type Guard interface {
	// Check returns an error if the caller of the request has lost rights since, and keeps them
	// until the transaction ends.
	Check(tx *gorm.DB) error
	// Credential returns the token of the request, 0: none, the roles that its user may have, and the
	// groups that the user must be in.
	Credential(ctx context.Context) (tokenID int64, roles []string, groups []int64, actsFor string)
}

// Guarded returns the store with a guard for all its changes.
func (s *Store) Guarded(g Guard) *Store {
	guarded := *s
	guarded.guard = g
	return &guarded
}

func (s *Store) check(tx *gorm.DB) error {
	if s.guard == nil {
		return nil
	}
	return s.guard.Check(tx)
}

func (s *Store) note(tx *gorm.DB, action string, id int64, name string, before, after []any) error {
	if s.trail == nil {
		return nil
	}
	return s.trail.Note(tx, action, strconv.FormatInt(id, 10), name, before, after)
}

// attempts limits how often a transaction is retried after conflicts with others.
const attempts = 6

// transaction runs f in a transaction if the caller still has its permissions. It retries if the
// database asks for it: after a deadlock, a serialization failure, or on a SQLite file that another
// process locks for long.
func (s *Store) transaction(ctx context.Context, f func(tx *gorm.DB) error) error {
	if !meeting.HasCaller(ctx) {
		ctx = receipt.Without(ctx)
	}
	return patiently(ctx, func() error {
		return s.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
			if err := s.check(tx); err != nil {
				return err
			}
			return f(tx)
		})
	})
}

// Atomically implements [caldav.Store].
func (s *Store) Atomically(ctx context.Context, f func(context.Context) error) error {
	return patiently(ctx, func() error { return transaction.Run(ctx, s.db, f) })
}

// patiently runs f, with a limited number of retries and growing pauses, until it succeeds or fails
// permanently. Within a larger transaction it runs f once: that is retried as a whole.
func patiently(ctx context.Context, f func() error) error {
	if transaction.In(ctx) {
		return f()
	}
	for attempt := 1; ; attempt++ {
		err := f()
		if err == nil || attempt == attempts || !retryable(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(rand.N(time.Millisecond << (2 * attempt))): // up to 1 s
		}
	}
}

// load returns the statement of a file in sql.
func load(name string) (q statement) {
	for d, dialect := range names {
		q[d] = cmp.Or(statements[name+"."+dialect], statements[name])
	}
	if q == (statement{}) {
		panic("there is no file sql/" + name)
	}
	return q
}

// exec returns the number of rows that a statement changed.
func (s *Store) exec(tx *gorm.DB, q statement, args ...any) (affected int64, err error) {
	res := tx.Exec("?", gorm.Expr(q[s.dialect], args...)) // as package sqlfile does
	return res.RowsAffected, res.Error
}

// query calls scan for every row.
func (s *Store) query(tx *gorm.DB, scan func(*sql.Rows) error, q statement, args ...any) error {
	return scanRows(tx.Raw("?", gorm.Expr(q[s.dialect], args...)), scan)
}

// collect returns what scan reads from each row, in order. If it fails, it returns nothing: a caller that
// continued with half of the rows would meet a nil.
func collect[T any](s *Store, tx *gorm.DB, scan func(*sql.Rows) (T, error), q statement, args ...any) (found []T, err error) {
	err = s.query(tx, func(rows *sql.Rows) error {
		v, err := scan(rows)
		found = append(found, v)
		return err
	}, q, args...)
	if err != nil {
		return nil, err
	}
	return found, nil
}

// scanRows calls scan for each row of a query.
func scanRows(q *gorm.DB, scan func(*sql.Rows) error) (err error) {
	rows, err := q.Rows()
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, rows.Close()) }()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// numbers runs a query for one column.
func (s *Store) numbers(tx *gorm.DB, q statement, args ...any) (found []int64, err error) {
	err = s.query(tx, func(rows *sql.Rows) error {
		var n int64
		err := rows.Scan(&n)
		found = append(found, n)
		return err
	}, q, args...)
	return found, err
}
