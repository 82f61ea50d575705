package database

import (
	"testing"

	"gorm.io/gorm"

	"punctual/tests/testenv"
)

// The state changes with each commit, whoever commits, and with nothing else.
func TestState(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]string{"sqlite": "sqlite:" + t.TempDir() + "/punctual.db", "postgres": testenv.Postgres(t)} {
		t.Run(name, func(t *testing.T) {
			db, err := Open(t.Context(), url, Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			other, err := Open(t.Context(), url, Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer other.Close()
			exec := func(db *DB, statement string) {
				t.Helper()
				if err := db.Gorm.Exec(statement).Error; err != nil {
					t.Fatal(err)
				}
			}
			exec(db, "CREATE TABLE notes (n integer)")
			read := func() string {
				t.Helper()
				s, err := db.State(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				return s
			}
			changed := func(what string, do func()) {
				t.Helper()
				before := read()
				do()
				if after := read(); after == before {
					t.Errorf("%s: still %q", what, after)
				}
			}
			// Postgres itself commits something now and then, such as statistics: undone, it is tried again.
			unchanged := func(what string, do, undo func()) {
				t.Helper()
				var before, after string
				for range 100 {
					before = read()
					do()
					if after = read(); after == before {
						return
					}
					undo()
				}
				t.Errorf("%s: %q, then %q", what, before, after)
			}
			nothing := func() {}
			unchanged("after nothing", nothing, nothing)
			changed("after an own change", func() { exec(db, "INSERT INTO notes VALUES (1)") })
			changed("after another's change", func() { exec(other, "INSERT INTO notes VALUES (2)") })
			var tx *gorm.DB
			unchanged("during another's change", func() {
				tx = other.Gorm.Begin()
				if err := tx.Exec("UPDATE notes SET n = 3").Error; err != nil {
					t.Fatal(err)
				}
			}, func() { tx.Rollback() })
			changed("after it", func() {
				if err := tx.Commit().Error; err != nil {
					t.Fatal(err)
				}
			})
			unchanged("after reading", func() {
				var n []int
				if err := db.Gorm.Raw("SELECT n FROM notes").Scan(&n).Error; err != nil {
					t.Fatal(err)
				}
			}, nothing)
		})
	}
}
