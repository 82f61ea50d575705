package bench

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"punctual/app/database"
	"punctual/tests/testenv"
)

// largeOrganisationSQLite starts the program with largeOrganisation and its takenDay, in a SQLite file.
func largeOrganisationSQLite(b *testing.B) organisation {
	b.Helper()
	kept, day := "", today()
	if dir := os.Getenv(dataVariable); dir != "" {
		found, _ := filepath.Glob(filepath.Join(dir, "organisation_*"))
		for _, file := range found {
			if loaded, ok := loadedOn(filepath.Base(file)); ok {
				kept, day = file, loaded
			} else {
				os.Remove(file)
			}
		}
		if kept == "" {
			kept = filepath.Join(dir, day.Format(organisationName))
			copyFile(b, loadSQLite(b, day), kept)
		}
	} else {
		kept = loadSQLite(b, day)
	}
	url := testenv.SQLite(b)
	copyFile(b, kept, strings.TrimPrefix(url, "sqlite:"))
	p := testenv.PrepareServer(b, testenv.Config{Database: url, YAML: sqliteYAML})
	p.Start(b)
	db, err := database.Open(b.Context(), url, database.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { db.Close() })
	return organisation{
		ServerInstance: p, admin: p.Admin(b), taken: takenDay(day), site: 1, room: 1,
		cpu: func() time.Duration { return cpuOf(b, p) },
		exec: func(sql string, args ...any) {
			b.Helper()
			if _, err := db.SQL.ExecContext(b.Context(), sql, args...); err != nil {
				b.Fatalf("%s: %v", sql, err)
			}
		},
	}
}

const sqliteYAML = "log: { level: warn }\nemail: { driver: off }\n"

func copyFile(b *testing.B, from, to string) {
	b.Helper()
	in, err := os.Open(from)
	if err != nil {
		b.Fatal(err)
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		b.Fatal(err)
	}
	if err := out.Close(); err != nil {
		b.Fatal(err)
	}
}

// loadSQLite returns the path of a file with it, which no program uses.
func loadSQLite(b *testing.B, loaded time.Time) string {
	b.Helper()
	url := testenv.SQLite(b)
	p := testenv.PrepareServer(b, testenv.Config{Database: url, YAML: sqliteYAML})
	p.Start(b)
	p.Admin(b)
	if code := p.Stop(); code != 0 {
		b.Fatalf("the program stopped with %d", code)
	}
	db, err := database.Open(b.Context(), url, database.Options{})
	if err != nil {
		b.Fatal(err)
	}
	const (
		now    = "(unixepoch() * 1000000)"
		day    = 86_400_000_000
		tables = "sql IS NOT NULL AND type IN ('index', 'trigger') AND tbl_name IN ('meetings', 'occupancies', 'meeting_rooms')"
	)
	today := fmt.Sprintf("(%s - %s %% %d)", now, now, day)
	numbers := func(n int) string { // from 0
		return fmt.Sprintf("(WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n LIMIT %d) SELECT i FROM n) AS n", n)
	}
	book := "INSERT INTO meetings (title, starts_at, ends_at, timezone, organizer_id, status, visibility, created_at, updated_at, shown_start, shown_end) "
	booked := fmt.Sprintf("'Europe/Berlin', 1 + i %% 1000, 'confirmed', 'public', %s, %s, '2027-01-01T09:00:00', '2027-01-01T10:00:00'", now, now)
	rows, err := db.SQL.QueryContext(b.Context(), "SELECT 'DROP ' || type || ' ' || name, sql FROM sqlite_master WHERE "+tables)
	if err != nil {
		b.Fatal(err)
	}
	var drop, create []string
	for rows.Next() {
		var d, c string
		if err := rows.Scan(&d, &c); err != nil {
			b.Fatal(err)
		}
		drop, create = append(drop, d), append(create, c)
	}
	rows.Close()
	all := append([]string{"PRAGMA foreign_keys = 0", "PRAGMA cache_size = -200000", "BEGIN"}, drop...)
	all = append(all,
		"INSERT INTO sites (name, timezone, created_at, updated_at) SELECT 'Site ' || (i + 1), 'Europe/Berlin', "+now+", "+now+" FROM "+numbers(20),
		"INSERT INTO users (email, name, role, created_at, updated_at) SELECT 'u' || (i + 1) || '@example.org', 'U ' || (i + 1), 'member', "+now+", "+now+" FROM "+numbers(1000),
		`INSERT INTO rooms (name, site_id, capacity, features, policy, approval_required, created_at, updated_at)
			SELECT 'Room ' || (i + 1), 1 + (i + 1) % 20, 2 + (i + 1) % 30,
				CASE (i + 1) % 3 WHEN 0 THEN '["projector","video"]' WHEN 1 THEN '["video"]' ELSE '[]' END,
				'{"opening_hours":[{"days":["MO","TU","WE","TH","FR"],"from":"07:00","to":"20:00"}]' ||
					CASE WHEN (i + 1) % 4 = 0 THEN ',"quota":{"per":"week","count":5}' ELSE '' END ||
					CASE WHEN (i + 1) % 5 = 0 THEN ',"buffer_after":"10m0s"' ELSE '' END || '}', (i + 1) % 7 = 0, `+now+", "+now+" FROM "+numbers(largeRooms),
		fmt.Sprintf(book+"SELECT 'Meeting ' || i, s, s + 3600000000, %s FROM (SELECT i, %s + %d + i / %d * 315360000000 + i %% %d %% 36 * 900000000 AS s FROM %s)",
			booked, today, day, largeRooms, largeRooms, numbers(largeMeetings)),
		fmt.Sprintf("INSERT INTO meeting_rooms (meeting_id, room_id, position) SELECT id, 1 + (id - 1) %% %d, 0 FROM meetings", largeRooms),
		// One of 366 days, in a room of its own that nobody can book.
		"INSERT INTO rooms (name, capacity, features, policy, active, created_at, updated_at) VALUES ('Long', 4, '[]', '{}', false, "+now+", "+now+")",
		fmt.Sprintf(book+"SELECT 'Long', %s, %s + 366 * %d, %s FROM %s", today, today, day, booked, numbers(1)),
		fmt.Sprintf("INSERT INTO meeting_rooms (meeting_id, room_id, position) SELECT max(id), %d, 0 FROM meetings", largeRooms+1),
		// The taken day.
		fmt.Sprintf(book+"SELECT 'Taken', %[1]d + i %% 4 * %[2]d, %[1]d + (i %% 4 + 1) * %[2]d, %[3]s FROM %[4]s", takenDay(loaded).UnixMicro(), day/4, booked, numbers(4*largeRooms)),
		fmt.Sprintf("INSERT INTO meeting_rooms (meeting_id, room_id, position) SELECT id, 1 + (id - %d) / 4, 0 FROM meetings WHERE title = 'Taken'", largeMeetings+2),
		fmt.Sprintf(`INSERT INTO occupancies (meeting_id, room_id, starts_at, ends_at) SELECT m.id, mr.room_id, m.starts_at, m.ends_at
			FROM meetings m JOIN meeting_rooms mr ON mr.meeting_id = m.id
			WHERE m.title IN ('Taken', 'Long') OR m.ends_at <= %[1]d OR m.starts_at >= %[1]d + %[2]d ORDER BY mr.room_id, m.starts_at`, takenDay(loaded).UnixMicro(), day))
	all = append(append(all, create...),
		"INSERT INTO meeting_search (rowid, body) SELECT id, search_text(title, description, fields) FROM meetings", "COMMIT")
	if _, err := db.SQL.ExecContext(b.Context(), strings.Join(all, ";\n")); err != nil {
		b.Fatal(err)
	}
	if err := db.Close(); err != nil {
		b.Fatal(err)
	}
	p.Start(b)
	awaitSums(b, p.Admin(b))
	if code := p.Stop(); code != 0 {
		b.Fatalf("the program stopped with %d", code)
	}
	return strings.TrimPrefix(url, "sqlite:")
}
