package migrations_test

import (
	"database/sql"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	_ "github.com/jackc/pgx/v5/stdlib"
	"golang.org/x/sync/errgroup"
	_ "punctual/app/database" // the driver "sqlite", with the functions of punctual
	"punctual/migrations"
	"punctual/tests/testenv"
)

var databases = []struct {
	dialect migrations.Dialect
	open    func(t *testing.T) func() *sql.DB
}{
	{migrations.Postgres, func(t *testing.T) func() *sql.DB {
		dsn := testenv.Postgres(t)
		return func() *sql.DB { return open(t, "pgx", dsn) }
	}},
	{migrations.SQLite, func(t *testing.T) func() *sql.DB {
		path := strings.TrimPrefix(testenv.SQLite(t), "sqlite:")
		query := url.Values{
			"_pragma": {"busy_timeout(10000)", "journal_mode(WAL)", "foreign_keys(1)"},
			"_txlock": {"immediate"}, "_time_integer_format": {"unix_micro"}, "_inttotime": {"1"},
		}
		return func() *sql.DB { return open(t, "sqlite", "file:"+path+"?"+query.Encode()) }
	}},
}

func open(t *testing.T, driver, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// Instances that start together migrate an empty database once, and none of them fails.
func TestUp_manyAtOnce(t *testing.T) {
	for _, d := range databases {
		t.Run(string(d.dialect), func(t *testing.T) {
			t.Parallel()
			connect := d.open(t)
			var g errgroup.Group
			for range 6 {
				db := connect()
				g.Go(func() error { return migrations.Up(t.Context(), db, d.dialect) })
			}
			if err := g.Wait(); err != nil {
				t.Fatal(err)
			}
			list, err := migrations.Status(t.Context(), connect(), d.dialect)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range list {
				if m.AppliedAt.IsZero() {
					t.Errorf("%s was not applied", m.Name)
				}
			}
		})
	}
}

// The lock of those that wait takes no connection: two suffice for all, as a pooler may have no more. Nor
// does it stay with a session.
func TestUp_fewConnections(t *testing.T) {
	t.Parallel()
	db := open(t, "pgx", testenv.Postgres(t))
	db.SetMaxOpenConns(2)
	var g errgroup.Group
	for range 4 {
		g.Go(func() error { return migrations.Up(t.Context(), db, migrations.Postgres) })
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	var held int
	if err := db.QueryRow("SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database WHERE l.locktype = 'advisory' AND d.datname = current_database()").Scan(&held); err != nil || held != 0 {
		t.Errorf("%d locks are held, %v", held, err)
	}
}

// All steps down leave nothing behind, so that up works again.
func TestDown(t *testing.T) {
	leftovers := map[migrations.Dialect]string{
		migrations.Postgres: `SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r' AND relname <> 'goose_db_version'`,
		migrations.SQLite:   `SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name <> 'goose_db_version'`,
	}
	for _, d := range databases {
		t.Run(string(d.dialect), func(t *testing.T) {
			t.Parallel()
			db := d.open(t)()
			for range 2 {
				if err := migrations.Up(t.Context(), db, d.dialect); err != nil {
					t.Fatal(err)
				}
				list, err := migrations.Status(t.Context(), db, d.dialect)
				if err != nil {
					t.Fatal(err)
				}
				for range len(list) + 1 { // once more than there are
					if err := migrations.Down(t.Context(), db, d.dialect); err != nil {
						t.Fatal(err)
					}
				}
				var n int
				if err := db.QueryRow(leftovers[d.dialect]).Scan(&n); err != nil || n != 0 {
					t.Fatalf("%d tables are left, %v", n, err)
				}
			}
		})
	}
}

// Both databases have the same tables, columns and indexes.
func TestUp_alike(t *testing.T) {
	schema := map[migrations.Dialect][2]string{
		migrations.Postgres: {
			`SELECT table_name || '.' || column_name FROM information_schema.columns
			  WHERE table_schema = 'public' AND table_name <> 'goose_db_version'`,
			`SELECT indexname FROM pg_indexes WHERE schemaname = 'public'`,
		},
		migrations.SQLite: {
			`SELECT m.name || '.' || c.name FROM sqlite_master AS m, pragma_table_xinfo(m.name) AS c
			  WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' AND m.name NOT LIKE 'meeting_search%' AND m.name <> 'goose_db_version'`,
			`SELECT name FROM sqlite_master WHERE type = 'index'`,
		},
	}
	// What only one of them has: indexes behind constraints, those of room and time, and the search of meetings.
	own := regexp.MustCompile(`_pkey$|^meetings_search$|^sqlite_autoindex|^goose_|^occupancies_(no_overlap|of_room)$|_(unique|dedupe_key)$`)
	var columns, indexes [][]string
	for _, d := range databases {
		db := d.open(t)()
		if err := migrations.Up(t.Context(), db, d.dialect); err != nil {
			t.Fatal(err)
		}
		columns = append(columns, list(t, db, schema[d.dialect][0]))
		indexes = append(indexes, slices.DeleteFunc(list(t, db, schema[d.dialect][1]), own.MatchString))
	}
	if diff := cmp.Diff(columns[0], columns[1]); diff != "" {
		t.Errorf("columns: -Postgres +SQLite\n%s", diff)
	}
	if diff := cmp.Diff(indexes[0], indexes[1]); diff != "" {
		t.Errorf("indexes: -Postgres +SQLite\n%s", diff)
	}
}

func list(t *testing.T, db *sql.DB, query string) []string {
	t.Helper()
	rows, err := db.Query(query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			t.Fatal(err)
		}
		out = append(out, s)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(out)
	return out
}
