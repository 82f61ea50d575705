// Package gormstore stores webhooks and their deliveries in Postgres or SQLite.
package gormstore

import (
	"embed"
	"errors"
	"fmt"
	"strconv"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"punctual/app/database/sqlfile"
	"punctual/notify/webhook"
)

//go:embed sql
var files embed.FS

var statements = sqlfile.Load(files)

// Store implements [webhook.Store].
type Store struct {
	db    *gorm.DB
	trail Trail // nil: no audit trail
}

// Trail records a change of webhooks in the audit trail, in the transaction that makes it. before
// and after are the rows before and after the change; none if they did not exist.
type Trail interface {
	Note(tx *gorm.DB, action, id, name string, before, after []any) error
}

var _ webhook.Store = (*Store)(nil)

// New returns a Store on db, whose dialect is "postgres" or "sqlite".
func New(db *gorm.DB) *Store { return &Store{db: db} }

// Noting returns a copy of the store that records its changes in t.
func (s *Store) Noting(t Trail) *Store { return &Store{db: s.db, trail: t} }

func (s *Store) note(tx *gorm.DB, action string, r *hookRow, before, after []any) error {
	if s.trail == nil {
		return nil
	}
	return s.trail.Note(tx, action, strconv.FormatInt(r.ID, 10), r.URL, before, after)
}

// locked reads one row and locks it until the transaction ends.
func locked(tx *gorm.DB, row any, id int64) error {
	return found(tx.Clauses(clause.Locking{Strength: clause.LockingStrengthUpdate}).Take(row, id).Error)
}

func found(err error) error {
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return webhook.ErrNotFound
	}
	return err
}

func wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

func micro(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }
