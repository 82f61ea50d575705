// Package gormstore keeps webhooks and their deliveries in Postgres or SQLite.
package gormstore

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"punctual/notify/webhook"
)

// Store implements [webhook.Store].
type Store struct {
	db    *gorm.DB
	trail Trail // nil: nothing is noted
}

// Trail notes what is done to webhooks, in the transaction that does it. Of what it was and is
// there are rows; none: it was not there, or is no more.
type Trail interface {
	Note(tx *gorm.DB, action, id, name string, before, after []any) error
}

var _ webhook.Store = (*Store)(nil)

// New returns a Store on db, whose dialect is "postgres" or "sqlite".
func New(db *gorm.DB) *Store { return &Store{db: db} }

// Noting returns the store with a trail in which it notes what changes.
func (s *Store) Noting(t Trail) *Store { return &Store{db: s.db, trail: t} }

func (s *Store) note(tx *gorm.DB, action string, r *hookRow, before, after []any) error {
	if s.trail == nil {
		return nil
	}
	return s.trail.Note(tx, action, strconv.FormatInt(r.ID, 10), r.URL, before, after)
}

// locked reads one row of a table that nobody else may change until the transaction ends.
func locked(tx *gorm.DB, row any, id int64) error {
	q := tx
	if tx.Name() == "postgres" { // a SQLite transaction that writes is alone
		q = tx.Clauses(clause.Locking{Strength: clause.LockingStrengthUpdate})
	}
	return found(q.Take(row, id).Error)
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
