// Package gormstore stores accounts in Postgres or SQLite.
package gormstore

import (
	"context"
	"embed"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"punctual/account"
	"punctual/account/fault"
	"punctual/app/database/sqlfile"
)

//go:embed sql
var files embed.FS

var statements = sqlfile.Load(files)

// Store implements [account.Store].
type Store struct {
	db    *gorm.DB
	trail Trail // nil: no audit trail
	mails Mails // nil: links are not mailed
}

// Trail records a change in the audit trail, in the transaction that makes it. before and after
// are the rows before and after the change; none if they did not exist.
type Trail interface {
	Note(tx *gorm.DB, action, id, name string, before, after []any) error
}

var _ account.Store = (*Store)(nil)

// New returns a Store on db, whose dialect is "postgres" or "sqlite".
func New(db *gorm.DB) *Store { return &Store{db: db} }

// Noting returns a copy of the store that records its changes in t.
func (s *Store) Noting(t Trail) *Store { return &Store{db: s.db, trail: t, mails: s.mails} }

// Mails records the mails to users about their accounts.
type Mails interface {
	// Insert records m in tx. Call sent after tx has committed: it sends the mail at once. Without
	// the call the mail is sent some seconds later.
	Insert(tx *gorm.DB, m *account.LinkMail) (sent func(context.Context), err error)
	// Added records m in tx. It is sent some seconds later.
	Added(tx *gorm.DB, m account.AddedMail) error
}

// tellAdded mails a user that a way to sign in was added.
func (s *Store) tellAdded(tx *gorm.DB, u *userRow, what account.Added, name string, id int64, at time.Time) error {
	if s.mails == nil {
		return nil
	}
	return s.mails.Added(tx, account.AddedMail{To: u.user(), What: what, Name: name, Key: fmt.Sprintf("%s:%d:%d:%d", what, u.ID, id, at.UnixMicro())})
}

// Mailing returns a copy of the store that records the mails of links with m.
func (s *Store) Mailing(m Mails) *Store { return &Store{db: s.db, trail: s.trail, mails: m} }

func (s *Store) note(tx *gorm.DB, action string, id int64, name string, before, after []any) error {
	if s.trail == nil {
		return nil
	}
	return s.trail.Note(tx, action, strconv.FormatInt(id, 10), name, before, after)
}

// forUpdate locks the rows of a SELECT until the transaction ends, except for the checks of foreign keys: a
// booking may refer to a locked user. SQLite ignores it: it runs one writing transaction at a time.
var forUpdate = clause.Locking{Strength: "NO KEY UPDATE"}

// lockOrder is the order in which a transaction locks users: admins first, because a change that could remove the
// last one locks them all. In another order, two changes could wait for each other.
const lockOrder = "CASE role WHEN 'admin' THEN 0 ELSE 1 END, id"

// ofDelegates selects a user and the user's delegates, whose rows change with the role and the groups of the user.
const ofDelegates = "id = @user OR id IN (SELECT delegate_id FROM delegates WHERE user_id = @user)"

// domainError maps a constraint violation of the database to an error of package account.
func domainError(err error) error {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == "23505" && e.ConstraintName == "users_email_unique" {
		return account.ErrEmailTaken
	}
	if e, ok := errors.AsType[*sqlite.Error](err); ok && e.Code() == sqlite3.SQLITE_CONSTRAINT_UNIQUE &&
		strings.Contains(e.Error(), "users_email_unique") {
		return account.ErrEmailTaken
	}
	return err
}

// page reads rows after a cursor by ID. It reads one row more than the limit, to see whether there
// is a next page.
func page[Row any](q *gorm.DB, p account.Page, id func(*Row) int64) (rows []Row, next string, err error) {
	if p.Cursor != "" {
		after, err := decodeCursor(p.Cursor)
		if err != nil {
			return nil, "", err
		}
		q = q.Where("id > ?", after)
	}
	if err := q.Order("id").Limit(p.Limit + 1).Find(&rows).Error; err != nil {
		return nil, "", err
	}
	if len(rows) > p.Limit {
		rows = rows[:p.Limit]
		next = encodeCursor(id(&rows[p.Limit-1]))
	}
	return rows, next, nil
}

func encodeCursor(id int64) string {
	return base64.RawURLEncoding.EncodeToString([]byte("id:" + strconv.FormatInt(id, 10)))
}

func decodeCursor(s string) (int64, error) {
	b, err := base64.RawURLEncoding.DecodeString(s)
	text, ok := strings.CutPrefix(string(b), "id:")
	id, parseErr := strconv.ParseInt(text, 10, 64)
	if err != nil || !ok || parseErr != nil || id <= 0 {
		return 0, fault.Invalid("query.cursor", "invalid_cursor", "must be a cursor returned by this list")
	}
	return id, nil
}

// take reads the one row of a query. It returns [account.ErrNotFound] without a row.
func take[Row any](q *gorm.DB) (*Row, error) {
	var r Row
	err := q.Take(&r).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		err = account.ErrNotFound
	}
	return &r, err
}

// remove deletes the one row of a query and returns it, or [account.ErrNotFound] without a row.
func remove[Row any](q *gorm.DB) (*Row, error) {
	var r Row
	res := q.Clauses(clause.Returning{}).Delete(&r)
	if res.Error == nil && res.RowsAffected == 0 {
		return nil, account.ErrNotFound
	}
	return &r, res.Error
}

// instant returns t in the precision of the databases, microseconds in UTC; nil is NULL.
func instant(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC().Truncate(time.Microsecond)
	return &t
}

func zeroOrUTC(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}

func wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}
