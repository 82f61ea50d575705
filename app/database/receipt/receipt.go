// Package receipt writes a receipt in each transaction of a request, so that the database knows
// which requests have saved changes, even if the process dies before it answers them.
package receipt

import (
	"context"
	"database/sql"
	"errors"

	"gorm.io/gorm"
)

// Write writes a receipt in tx, right before tx commits. subject is what tx created, such as
// "room 12"; empty if it created nothing that has an address. With an error tx is rolled back.
type Write func(ctx context.Context, tx *sql.Tx, subject string) error

type key struct{}

// With returns the context of a request whose transactions write receipts.
func With(ctx context.Context, w Write) context.Context { return context.WithValue(ctx, key{}, w) }

// Without returns a context for changes that the request did not ask for.
func Without(ctx context.Context) context.Context {
	if !Wanted(ctx) {
		return ctx
	}
	return With(ctx, nil)
}

// Wanted reports whether changes must be made in a transaction, even those of a single statement.
func Wanted(ctx context.Context) bool { return of(ctx) != nil }

func of(ctx context.Context) Write {
	w, _ := ctx.Value(key{}).(Write)
	return w
}

// Begun returns what gorm uses as the transaction tx of ctx.
func Begun(ctx context.Context, tx *sql.Tx) gorm.ConnPool {
	if w := of(ctx); w != nil {
		return &transaction{Tx: tx, ctx: ctx, write: w}
	}
	return tx
}

type transaction struct {
	*sql.Tx
	ctx     context.Context
	write   Write
	subject string
}

var _ gorm.TxCommitter = (*transaction)(nil)

func (t *transaction) Commit() error {
	if err := t.write(t.ctx, t.Tx, t.subject); err != nil {
		return errors.Join(err, t.Tx.Rollback())
	}
	return t.Tx.Commit()
}

// Created notes for the receipt of tx what it creates. The first call counts: what belongs to the
// new thing follows later. Without a receipt it does nothing.
func Created(tx *gorm.DB, kind, id string) {
	if t, ok := tx.Statement.ConnPool.(*transaction); ok && t.subject == "" {
		t.subject = kind + " " + id
	}
}
