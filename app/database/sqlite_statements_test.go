package database

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"

	"gorm.io/gorm"

	"punctual/tests/testenv"
)

// Statements that are kept show every change: of rows, of the schema, of other connections.
func TestSQLite_keepsStatements(t *testing.T) {
	t.Parallel()
	url := testenv.SQLite(t)
	db, err := Open(t.Context(), url, Options{MaxConns: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	do := func(q string, args ...any) {
		t.Helper()
		if err := db.Gorm.WithContext(t.Context()).Exec(q, args...).Error; err != nil {
			t.Fatal(err)
		}
	}
	const all = "SELECT * FROM notes ORDER BY 1"
	want := func(when string, columns int, texts ...string) {
		t.Helper()
		rows, err := db.Gorm.WithContext(t.Context()).Raw(all).Rows()
		if err != nil {
			t.Fatalf("%s: %v", when, err)
		}
		defer rows.Close()
		names, err := rows.Columns()
		var found []string
		for rows.Next() {
			into := make([]any, len(names))
			for i := range into {
				into[i] = new(sql.NullString)
			}
			if err := rows.Scan(into...); err != nil {
				t.Fatal(err)
			}
			found = append(found, into[0].(*sql.NullString).String)
		}
		if err != nil || rows.Err() != nil || len(names) != columns || !slices.Equal(found, texts) {
			t.Errorf("%s: %v in columns %v, %v", when, found, names, rows.Err())
		}
	}
	do("CREATE TABLE notes (text TEXT)")
	want("empty", 1)
	for _, text := range []string{"a", "b"} {
		do("INSERT INTO notes (text) VALUES (?)", text)
	}
	want("inserted", 1, "a", "b")
	do("ALTER TABLE notes ADD COLUMN more TEXT")
	want("with a new column", 2, "a", "b")
	do("DROP TABLE notes")
	if err := db.Gorm.WithContext(t.Context()).Raw(all).Scan(&[]string{}).Error; err == nil {
		t.Error("a table that is gone was read")
	}
	do("CREATE TABLE notes (text TEXT)")
	do("INSERT INTO notes (text) VALUES (?)", "c")
	want("made again", 1, "c")

	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := db.Gorm.WithContext(canceled).Raw(all).Scan(&[]string{}).Error; err == nil {
		t.Error("read without a request")
	}
	want("after a canceled request", 1, "c")

	err = db.Gorm.WithContext(t.Context()).Transaction(func(tx *gorm.DB) error { // both read with the one connection
		outer, err := tx.Raw("SELECT 1 UNION ALL SELECT 2").Rows()
		if err != nil {
			return err
		}
		defer outer.Close()
		for n := 1; outer.Next(); n++ {
			var inner []int
			if err := tx.Raw("SELECT 1 UNION ALL SELECT 2").Scan(&inner).Error; err != nil || !slices.Equal(inner, []int{1, 2}) {
				return fmt.Errorf("a statement within its own rows: %v, %w", inner, err)
			}
			var got int
			if err := outer.Scan(&got); err != nil || got != n {
				return fmt.Errorf("row %d is %d, %w", n, got, err)
			}
		}
		return outer.Err()
	})
	if err != nil {
		t.Error(err)
	}
}

// A connection keeps the statements that it ran last, and none once it is closed.
func TestSQLite_keepsFewStatements(t *testing.T) {
	t.Parallel()
	db, err := openKeeping(dsn(strings.TrimPrefix(testenv.SQLite(t), "sqlite:"), nil))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	c, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var kept *keepingConn
	if err := c.Raw(func(conn any) error { kept = conn.(*keepingConn); return nil }); err != nil {
		t.Fatal(err)
	}
	for i := range 2 * keptStatements {
		for _, n := range []int{0, i} {
			var got int
			if err := c.QueryRowContext(t.Context(), fmt.Sprintf("SELECT %d", n)).Scan(&got); err != nil || got != n {
				t.Fatalf("%d instead of %d, %v", got, n, err)
			}
		}
	}
	if len(kept.kept) != keptStatements || kept.latest.Len() != keptStatements || kept.kept["SELECT 0"] == nil || kept.kept["SELECT 1"] != nil {
		t.Errorf("%d are kept, want the last %d", len(kept.kept), keptStatements)
	}
	if _, err := c.ExecContext(t.Context(), "CREATE TABLE a (x); CREATE TABLE b (x)"); err != nil {
		t.Error(err)
	}
	if err := c.Raw(func(any) error { return kept.Close() }); err != nil || len(kept.kept) != 0 || kept.latest.Len() != 0 {
		t.Errorf("after it was closed, %d are kept; %v", len(kept.kept), err)
	}
}

// BenchmarkSQLite reads one row by its key.
func BenchmarkSQLite(b *testing.B) {
	db, err := Open(b.Context(), testenv.SQLite(b), Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	if err := db.Migrate(b.Context()); err != nil {
		b.Fatal(err)
	}
	const q = "SELECT u.id, u.email, u.name, u.role, u.version FROM users u LEFT JOIN tokens t ON t.user_id = u.id WHERE u.id = ? AND u.disabled_at IS NULL ORDER BY u.id LIMIT 1"
	for b.Loop() {
		var found []struct{ ID int64 }
		if err := db.Gorm.WithContext(b.Context()).Raw(q, 1).Scan(&found).Error; err != nil {
			b.Fatal(err)
		}
	}
}
