package database_test

import (
	"testing"

	"punctual/app/database"
	"punctual/tests/testenv"
)

// TestOpen_pooler: through a pooler, nothing is left in a session that others get next: no prepared statements
// and no settings.
func TestOpen_pooler(t *testing.T) {
	t.Parallel()
	url := testenv.Postgres(t)
	for pooler, want := range map[string]struct {
		pooled   bool
		prepared bool
		jit      string
	}{"": {false, true, "off"}, database.PoolerNone: {false, true, "off"}, database.PoolerTransaction: {true, false, "on"}} {
		db, err := database.Open(t.Context(), url, database.Options{Pooler: pooler})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		conn, err := db.SQL.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		var statements int
		var jit string
		for range 2 {
			err = conn.QueryRowContext(t.Context(), "SELECT count(*), current_setting('jit') FROM pg_prepared_statements WHERE $1 = 1", 1).Scan(&statements, &jit)
			if err != nil {
				t.Fatal(err)
			}
		}
		if db.Pooled != want.pooled || statements > 0 != want.prepared || jit != want.jit {
			t.Errorf("pooler %q: pooled %v, %d prepared statements, jit %s", pooler, db.Pooled, statements, jit)
		}
	}
}
