package database

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
)

// State identifies what transactions that begin now can see: if two states are equal, no transaction
// committed a change in between, of this process or another. Unequal states say nothing. States are
// comparable only within a process.
func (db *DB) State(ctx context.Context) (string, error) {
	if db.watch != nil {
		return db.watch.state(ctx)
	}
	var snapshot string
	err := db.Gorm.WithContext(ctx).Raw("SELECT pg_current_snapshot()::text").Scan(&snapshot).Error
	return snapshot, err
}

// watch is a connection to SQLite that writes nothing. SQLite counts, for each connection, the changes by
// others that it has noticed.
type watch struct {
	pool *sql.DB

	mu   sync.Mutex
	conn *sql.Conn
	nth  int // of the connections so far
}

func (w *watch) state(ctx context.Context) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.conn == nil {
		conn, err := w.pool.Conn(ctx)
		if err != nil {
			return "", err
		}
		w.conn = conn
		w.nth++
	}
	var version int64
	if err := w.conn.QueryRowContext(ctx, "PRAGMA data_version").Scan(&version); err != nil {
		_ = w.conn.Close()
		w.conn = nil
		return "", err
	}
	return fmt.Sprint(w.nth, " ", version), nil
}

func (w *watch) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.conn == nil {
		return nil
	}
	err := w.conn.Close()
	w.conn = nil
	return err
}
