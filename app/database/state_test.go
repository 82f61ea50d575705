package database

import (
	"testing"

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
			now := ""
			state := func(what string, changed bool) {
				t.Helper()
				s, err := db.State(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if (s != now) != changed {
					t.Errorf("%s: %q, then %q", what, now, s)
				}
				now = s
			}
			state("at first", true)
			state("after nothing", false)
			exec(db, "INSERT INTO notes VALUES (1)")
			state("after an own change", true)
			exec(other, "INSERT INTO notes VALUES (2)")
			state("after another's change", true)
			tx := other.Gorm.Begin()
			if err := tx.Exec("UPDATE notes SET n = 3").Error; err != nil {
				t.Fatal(err)
			}
			state("during another's change", false)
			if err := tx.Commit().Error; err != nil {
				t.Fatal(err)
			}
			state("after it", true)
			var n []int
			if err := db.Gorm.Raw("SELECT n FROM notes").Scan(&n).Error; err != nil {
				t.Fatal(err)
			}
			state("after reading", false)
		})
	}
}
