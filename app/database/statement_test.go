package database_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"punctual/app/database"
	"punctual/tests/testenv"
)

// A statement ends when the context of its request does.
func TestStatements_endWithTheirContext(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, db *database.DB) {
		// Of SQLite the driver ends a statement with its context until the first row is there.
		const numbers = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) "
		endless := []string{"SELECT * FROM (" + numbers + "SELECT count(*) FROM n) AS t"}
		if db.Dialect == "postgres" {
			endless = append(endless, "SELECT * FROM ("+numbers+"SELECT x FROM n WHERE x < 10 OR x < 0) AS t")
		}
		for _, q := range endless {
			ctx, cancel := context.WithTimeout(database.ForRequest(t.Context()), 300*time.Millisecond)
			defer cancel()
			var found []int64
			if err := db.Gorm.WithContext(ctx).Raw(q).Scan(&found).Error; err == nil || !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: %v", q, err)
			}
		}
		if db.Dialect != "postgres" {
			return
		}
		var running int64
		for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
			err := db.Gorm.Raw("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state = 'active' AND pid <> pg_backend_pid()").Scan(&running).Error
			if err != nil {
				t.Fatal(err)
			}
			if running == 0 {
				return
			}
		}
		t.Errorf("%d statements run on", running)
	})
}

// Postgres ends a long statement of a request, whether or not somebody asks it to, and a statement
// of work only if the administrator wants it.
func TestOpen_boundsStatementsOfRequests(t *testing.T) {
	t.Parallel()
	db, err := database.Open(t.Context(), testenv.Postgres(t), database.Options{MaxStatement: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	const long = "SELECT pg_sleep(0.3)"
	for name, ctx := range map[string]context.Context{"light": database.ForRequest(t.Context()), "heavy": database.ForHeavy(t.Context())} {
		err := db.Gorm.WithContext(ctx).Transaction(func(tx *gorm.DB) error { return tx.Exec(long).Error })
		if !database.TimedOut(err) || !database.Unavailable(err) {
			t.Errorf("a statement of a %s request: %v", name, err)
		}
	}
	if err := db.Gorm.WithContext(t.Context()).Exec(long).Error; err != nil {
		t.Errorf("a statement of work: %v", err)
	}
	own := open(t, testenv.Postgres(t)+"&statement_timeout=20000")
	var got string
	if err := own.Gorm.WithContext(database.ForRequest(t.Context())).Raw("SHOW statement_timeout").Scan(&got).Error; err != nil || got != "20s" {
		t.Errorf("the administrator's bound: %q, %v", got, err)
	}
}

// A bound of the administrator does not end a migration, here one that waits for a lock.
func TestMigrate_statementTimeout(t *testing.T) {
	t.Parallel()
	for name, migrate := range map[string]func(*database.DB, context.Context) error{
		"up": (*database.DB).Migrate, "down": (*database.DB).MigrateDown,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			outlastsBound(t, migrate)
		})
	}
}

func outlastsBound(t *testing.T, migrate func(*database.DB, context.Context) error) {
	const bound = time.Second
	url := testenv.Postgres(t)
	db := open(t, fmt.Sprintf("%s&statement_timeout=%d", url, bound.Milliseconds()))
	if err := db.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	other := open(t, url)
	locked, unlocked := make(chan error, 1), make(chan error, 1)
	go func() {
		unlocked <- other.Gorm.Transaction(func(tx *gorm.DB) error {
			err := tx.Exec("LOCK TABLE goose_db_version").Error
			if locked <- err; err != nil {
				return err
			}
			for waits := false; !waits; time.Sleep(10 * time.Millisecond) {
				err := tx.Raw("SELECT EXISTS (SELECT 1 FROM pg_locks WHERE relation = 'goose_db_version'::regclass AND NOT granted)").Scan(&waits).Error
				if err != nil {
					return err
				}
			}
			return tx.Exec("SELECT pg_sleep(?)", (bound * 3 / 2).Seconds()).Error
		})
	}()
	if err := <-locked; err != nil {
		t.Fatal(err)
	}
	if err := migrate(db, t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-unlocked; err != nil {
		t.Error(err)
	}
}

// Long statements are run and not compiled, which takes Postgres seconds, and by one process.
func TestOpen_noCompilationNoWorkers(t *testing.T) {
	t.Parallel()
	db := open(t, testenv.Postgres(t))
	for setting, want := range map[string]string{"jit": "off", "max_parallel_workers_per_gather": "0"} {
		var got string
		if err := db.Gorm.WithContext(t.Context()).Raw("SHOW " + setting).Scan(&got).Error; err != nil || got != want {
			t.Errorf("%s is %q, %v", setting, got, err)
		}
	}
}

// Heavy requests keep their plans, unless the administrator has chosen; work plans as usual.
func TestOpen_plansOnce(t *testing.T) {
	t.Parallel()
	url := testenv.Postgres(t)
	mode := func(url string, ctx context.Context) (mode string) {
		t.Helper()
		if err := open(t, url).Gorm.WithContext(ctx).Raw("SHOW plan_cache_mode").Scan(&mode).Error; err != nil {
			t.Fatal(err)
		}
		return mode
	}
	heavy := database.ForHeavy(t.Context())
	got := []string{mode(url, heavy), mode(url+"&plan_cache_mode=force_custom_plan", heavy), mode(url, t.Context())}
	if want := []string{"force_generic_plan", "force_custom_plan", "auto"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// With RETURNING *, statements of this version would fail while a newer one adds a column.
func TestReturning_namesColumns(t *testing.T) {
	t.Parallel()
	type note struct {
		ID   int64
		Text string
		More int `gorm:"->"` // is computed
	}
	onBoth(t, func(t *testing.T, db *database.DB) {
		tx := db.Gorm.Session(&gorm.Session{DryRun: true}).Clauses(clause.Returning{}).Where("id = 1").Delete(&[]note{})
		text := strings.NewReplacer("`", "", `"`, "").Replace(tx.Statement.SQL.String())
		if want := "DELETE FROM notes WHERE id = 1 RETURNING id,text"; tx.Error != nil || text != want {
			t.Errorf("%s (%v), want %s", text, tx.Error, want)
		}
	})
}

// A probe for readiness does not wait for a writer.
func TestPing_doesNotWaitForWriters(t *testing.T) {
	t.Parallel()
	db := open(t, testenv.SQLite(t))
	err := db.Gorm.WithContext(t.Context()).Transaction(func(*gorm.DB) error {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		return db.Ping(ctx) // the only writing connection is taken
	})
	if err != nil {
		t.Error(err)
	}
}
