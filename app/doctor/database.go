package doctor

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"punctual/app/database"
	"punctual/migrations"
)

func sqlite(url string) bool { return strings.HasPrefix(url, "sqlite:") }

// sqliteFile is the path in a URL such as sqlite:data/punctual.db?x=y.
func sqliteFile(url string) string {
	file, _, _ := strings.Cut(strings.TrimPrefix(url, "sqlite:"), "?")
	return file
}

func examineDatabase(ctx context.Context, url string) []Finding {
	if sqlite(url) {
		if _, err := os.Stat(sqliteFile(url)); errors.Is(err, fs.ErrNotExist) { // opening it would create it
			return newFile(sqliteFile(url))
		}
	}
	db, err := database.Open(ctx, url, database.Options{MaxConns: 2})
	if err != nil {
		return failure("Check database.url, and that the server runs and accepts this user.", "%v", err)
	}
	defer db.Close()
	examine := examinePostgres
	if db.Dialect == migrations.SQLite {
		examine = examineSQLite
	}
	found, err := examine(ctx, db)
	if err != nil {
		return append(found, failure("Check the log of the database.", "the database does not answer: %v", err)...)
	}
	return append(found, examineSchema(ctx, db)...)
}

func newFile(file string) []Finding {
	folder := filepath.Dir(file)
	for ; ; folder = filepath.Dir(folder) {
		if _, err := os.Stat(folder); err == nil || folder == filepath.Dir(folder) {
			break
		}
	}
	if !writable(folder) {
		return failure("Give the user that runs punctual write access to the folder.", "%s does not exist, and %s is not writable", file, folder)
	}
	return warning("Start punctual, or check database.url if there should be a database.", "%s does not exist yet", file)
}

func examinePostgres(ctx context.Context, db *database.DB) ([]Finding, error) {
	var version, encoding string
	var number, size, most, used int64
	var standby, create bool
	err := db.SQL.QueryRowContext(ctx, `SELECT current_setting('server_version'), current_setting('server_version_num')::bigint,
		pg_encoding_to_char(d.encoding), pg_is_in_recovery(), has_schema_privilege(current_schema(), 'CREATE'),
		pg_database_size(d.oid), current_setting('max_connections')::bigint, (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend')
		FROM pg_database d WHERE d.datname = current_database()`).Scan(&version, &number, &encoding, &standby, &create, &size, &most, &used)
	if err != nil {
		return nil, err
	}
	found := ok("Postgres %s, %s, %d of %d connections in use", version, bytes(size), used, most)
	if number < oldestPostgres*10_000 {
		found = append(found, failure(fmt.Sprintf("Upgrade to Postgres %d or later.", oldestPostgres), "Postgres %s is too old", version)...)
	}
	if standby {
		found = append(found, failure("Set database.url to the primary server.", "this server is a standby, so nothing can be saved")...)
	}
	if encoding != "UTF8" {
		found = append(found, failure("Create the database with ENCODING 'UTF8'.", "the encoding is %s", encoding)...)
	}
	if !create {
		found = append(found, failure("Grant CREATE on the schema to the user of database.url.", "the user may not create tables, so upgrades will fail")...)
	}
	if most < connections {
		found = append(found, warning("Raise max_connections, or use PgBouncer.", "the server accepts %d connections; one instance may need %d", most, connections)...)
	}
	var indexed bool
	if err := db.SQL.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'pg_trgm')`).Scan(&indexed); err != nil {
		return found, err
	}
	if !indexed {
		found = append(found, warning("As a superuser, run CREATE EXTENSION pg_trgm in this database, and restart punctual.",
			"the extension pg_trgm is missing, so searches have no index")...)
	}
	return found, nil
}

const (
	oldestPostgres = 13
	connections    = 36 // of one instance on two processors, see database.Options
	maxQuickCheck  = 1 << 30
)

func examineSQLite(ctx context.Context, db *database.DB) ([]Finding, error) {
	var version, check string
	if err := db.SQL.QueryRowContext(ctx, "SELECT sqlite_version()").Scan(&version); err != nil {
		return nil, err
	}
	var size int64
	if info, err := os.Stat(db.File); err == nil {
		size = info.Size()
	}
	found := ok("SQLite %s, %s, %s", version, db.File, bytes(size))
	if size > maxQuickCheck { // it would take too long
		return found, nil
	}
	if err := db.SQL.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&check); err != nil {
		return found, err
	}
	if check != "ok" {
		found = append(found, failure("Stop punctual, keep the file, and restore the latest backup.", "the file is damaged: %s", check)...)
	}
	return found, nil
}

// examineSchema compares the migrations in the database with those of this program.
func examineSchema(ctx context.Context, db *database.DB) []Finding {
	exists := "SELECT to_regclass('goose_db_version') IS NOT NULL"
	if db.Dialect == migrations.SQLite {
		exists = "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE name = 'goose_db_version')"
	}
	var there bool
	if err := db.SQL.QueryRowContext(ctx, exists).Scan(&there); err != nil {
		return failure("Check the log of the database.", "reading the schema failed: %v", err)
	}
	if !there {
		return warning("Start punctual, or run punctual migrate up.", "the database has no tables yet")
	}
	list, err := migrations.Status(ctx, db.SQL, db.Dialect)
	if err != nil {
		return failure("Check the log of the database.", "%v", err)
	}
	var newest sql.NullInt64
	if err := db.SQL.QueryRowContext(ctx, "SELECT max(version_id) FROM goose_db_version").Scan(&newest); err != nil {
		return failure("Check the log of the database.", "reading the schema failed: %v", err)
	}
	pending := 0
	for _, m := range list {
		if m.AppliedAt.IsZero() {
			pending++
		}
	}
	switch last := list[len(list)-1].Version; {
	case newest.Int64 > last:
		return failure("Run the program that last served this database, or a newer one.", "the schema has version %d, which is newer than this program, %d", newest.Int64, last)
	case pending > 0:
		return warning("Start punctual, or run punctual migrate up.", "%d migrations are not applied yet", pending)
	default:
		return ok("schema version %d is current", last)
	}
}

// bytes is a size as people read it.
func bytes(n int64) string {
	const units = "kMGT"
	if n < 1000 {
		return fmt.Sprintf("%d bytes", n)
	}
	size, unit := float64(n)/1000, 0
	for size >= 1000 && unit < len(units)-1 {
		size, unit = size/1000, unit+1
	}
	return fmt.Sprintf("%.1f %cB", size, units[unit])
}
