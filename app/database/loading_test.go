package database

import (
	"encoding/base64"
	"encoding/json"
	"strconv"
	"testing"

	"punctual/tests/testenv"
)

// TestLoading_large: rows are inserted before the large ones among them fill the memory.
func TestLoading_large(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]string{"sqlite": testenv.SQLite(t), "postgres": testenv.Postgres(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, err := Open(t.Context(), url, Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			blob := "bytea"
			if name == "sqlite" {
				blob = "blob"
			}
			if _, err := db.SQL.ExecContext(t.Context(), "CREATE TABLE large (id bigint PRIMARY KEY, raw "+blob+")"); err != nil {
				t.Fatal(err)
			}
			l, err := beginLoading(t.Context(), db)
			if err != nil {
				t.Fatal(err)
			}
			defer l.end()
			large := &table{name: "large", columns: []column{{name: "id", kind: "bigint"}, {name: "raw", kind: blob}}}
			raw := base64.StdEncoding.EncodeToString(make([]byte, 3<<20))
			for id := range 7 {
				if err := l.add(t.Context(), large, []any{json.Number(strconv.Itoa(id)), raw}); err != nil {
					t.Fatal(err)
				}
				if n := len(l.pending) / 2; n > 3 {
					t.Errorf("%d rows of 3 MiB wait after row %d, want at most 3", n, id)
				}
			}
			if err := l.flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			var n, size int
			if err := l.tx.QueryRowContext(t.Context(), "SELECT count(*), sum(length(raw)) FROM large").Scan(&n, &size); err != nil || n != 7 || size != 7*3<<20 {
				t.Errorf("%d rows of %d bytes, %v", n, size, err)
			}
		})
	}
}
