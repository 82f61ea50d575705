// Package transaction lets several use cases share one transaction, which their context carries.
package transaction

import (
	"context"
	"database/sql"
	"fmt"
	"sync"

	"gorm.io/gorm"
)

type key struct{}

// running is the transaction of a context.
type running struct {
	tx gorm.ConnPool

	mu     sync.Mutex
	ended  bool
	points int // savepoints so far
	after  []func()
}

func of(ctx context.Context) *running {
	r, _ := ctx.Value(key{}).(*running)
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return nil
	}
	return r
}

// Run calls f in a transaction, which is committed if f returns nil. All that uses db with the context
// of f is part of it. What begins a transaction there gets a savepoint instead, and may fail without
// ending the whole. f must not use its context in several goroutines at once. If the context has a
// transaction already, f becomes a savepoint of that.
func Run(ctx context.Context, db *gorm.DB, f func(context.Context) error) error {
	if whole := of(ctx); whole != nil {
		return whole.part(ctx, db, f)
	}
	r := &running{}
	err := db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		r.tx = tx.Statement.ConnPool
		defer r.end()
		return f(context.WithValue(ctx, key{}, r))
	})
	if err != nil {
		return err
	}
	for _, f := range r.after {
		f()
	}
	return nil
}

// part runs f in a savepoint.
func (r *running) part(ctx context.Context, db *gorm.DB, f func(context.Context) error) error {
	r.mu.Lock()
	before := len(r.after)
	r.mu.Unlock()
	err := db.WithContext(ctx).Transaction(func(*gorm.DB) error { return f(ctx) })
	if err != nil {
		r.mu.Lock()
		r.after = r.after[:before]
		r.mu.Unlock()
	}
	return err
}

func (r *running) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
}

// In reports whether the context has a transaction that has not ended.
func In(ctx context.Context) bool { return of(ctx) != nil }

// AfterCommit calls f once the transaction of the context is committed, and never if it is not. Without
// a transaction it calls f at once.
func AfterCommit(ctx context.Context, f func()) {
	r := of(ctx)
	if r == nil {
		f()
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.after = append(r.after, f)
}

// Or returns the transaction of the context, or else pool.
func Or(ctx context.Context, pool gorm.ConnPool) gorm.ConnPool {
	if r := of(ctx); r != nil {
		return r.tx
	}
	return pool
}

// Begin begins a transaction on db, or a savepoint in the transaction of the context. Then the options
// do not count.
func Begin(ctx context.Context, db *sql.DB, o *sql.TxOptions) (gorm.ConnPool, error) {
	r := of(ctx)
	if r == nil {
		tx, err := db.BeginTx(ctx, o)
		if err != nil {
			return nil, err
		}
		return tx, nil
	}
	r.mu.Lock()
	r.points++
	p := &savepoint{r.tx, ctx, fmt.Sprintf("part_%d", r.points)}
	r.mu.Unlock()
	if _, err := p.ExecContext(ctx, "SAVEPOINT "+p.name); err != nil {
		return nil, err
	}
	return p, nil
}

// savepoint is a part of a transaction. It is a [gorm.TxCommitter].
type savepoint struct {
	gorm.ConnPool
	ctx  context.Context
	name string
}

func (p *savepoint) Commit() error {
	_, err := p.ExecContext(p.ctx, "RELEASE SAVEPOINT "+p.name)
	return err
}

func (p *savepoint) Rollback() error {
	if _, err := p.ExecContext(p.ctx, "ROLLBACK TO SAVEPOINT "+p.name); err != nil {
		return err
	}
	return p.Commit()
}
