package database

import (
	"context"
	"database/sql"

	"gorm.io/gorm"

	"punctual/app/database/receipt"
	"punctual/app/database/transaction"
)

type requestKey struct{}

type heavyKey struct{}

// ForRequest marks the context of a request that a user waits for. On Postgres these have
// connections of their own: however many requests wait, for a lock or a slow server, timed work
// finds a connection.
func ForRequest(ctx context.Context) context.Context {
	return context.WithValue(ctx, requestKey{}, true)
}

// ForHeavy marks the context of a request that reads much. On Postgres it has connections of its own,
// so that light requests find one.
func ForHeavy(ctx context.Context) context.Context {
	return context.WithValue(ctx, heavyKey{}, true)
}

// pools are the connections to Postgres: for requests, for heavy requests, and for all other work. It is a
// [gorm.ConnPool] and a [gorm.ConnPoolBeginner]. A context with a transaction uses that.
type pools struct{ requests, heavy, work *sql.DB }

func (l *pools) of(ctx context.Context) *sql.DB {
	if ctx.Value(heavyKey{}) != nil {
		return l.heavy
	}
	if ctx.Value(requestKey{}) != nil {
		return l.requests
	}
	return l.work
}

func (l *pools) PrepareContext(ctx context.Context, query string) (*sql.Stmt, error) {
	return transaction.Or(ctx, l.of(ctx)).PrepareContext(ctx, query)
}

func (l *pools) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return transaction.Or(ctx, l.of(ctx)).ExecContext(ctx, query, args...)
}

func (l *pools) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return transaction.Or(ctx, l.of(ctx)).QueryContext(ctx, query, args...)
}

func (l *pools) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	return transaction.Or(ctx, l.of(ctx)).QueryRowContext(ctx, query, args...)
}

func (l *pools) BeginTx(ctx context.Context, o *sql.TxOptions) (gorm.ConnPool, error) {
	return begin(ctx, l.of(ctx), o)
}

// begin begins what [transaction.Begin] begins. A transaction writes a receipt if the request wants one,
// see package receipt.
func begin(ctx context.Context, db *sql.DB, o *sql.TxOptions) (gorm.ConnPool, error) {
	begun, err := transaction.Begin(ctx, db, o)
	if tx, ok := begun.(*sql.Tx); ok && (o == nil || !o.ReadOnly) {
		return receipt.Begun(ctx, tx), err
	}
	return begun, err
}

func (l *pools) Conn(ctx context.Context) (*sql.Conn, error) { return l.of(ctx).Conn(ctx) }

func (l *pools) GetDBConn() (*sql.DB, error) { return l.work, nil }
