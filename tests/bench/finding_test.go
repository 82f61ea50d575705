package bench

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"punctual/tests/testenv"
)

// A large organisation: 10,000 rooms on 20 sites with a year of meetings, 100 in each room, by a
// thousand people. Some rooms have quotas, buffers, or ask for approval.
const (
	largeRooms    = 10_000
	largeMeetings = 1_000_000
)

func largeOrganisation(b *testing.B) func(*pgxpool.Pool) {
	return func(db *pgxpool.Pool) {
		exec(b, db, `INSERT INTO sites (name, timezone, created_at, updated_at) SELECT 'Site ' || i, 'Europe/Berlin', now(), now() FROM generate_series(1, 20) i`)
		exec(b, db, `INSERT INTO users (email, name, role, created_at, updated_at) SELECT 'u' || i || '@example.org', 'U ' || i, 'member', now(), now() FROM generate_series(1, 1000) i`)
		exec(b, db, `INSERT INTO rooms (name, site_id, capacity, features, policy, approval_required, created_at, updated_at)
			SELECT 'Room ' || i, (SELECT min(id) FROM sites) + i % 20, 2 + i % 30,
				CASE i % 3 WHEN 0 THEN '["projector","video"]' WHEN 1 THEN '["video"]' ELSE '[]' END::jsonb,
				('{"opening_hours":[{"days":["MO","TU","WE","TH","FR"],"from":"07:00","to":"20:00"}]' ||
					CASE WHEN i % 4 = 0 THEN ',"quota":{"per":"week","count":5}' ELSE '' END ||
					CASE WHEN i % 5 = 0 THEN ',"buffer_after":"10m0s"' ELSE '' END || '}')::jsonb, i % 7 = 0, now(), now()
			FROM generate_series(1, $1) i`, largeRooms)
		// In each room a meeting every 3.65 days, at a working hour that differs from room to room.
		bulk(b, db, fmt.Sprintf(`INSERT INTO meetings (title, starts_at, ends_at, timezone, organizer_id, status, visibility, created_at, updated_at, shown_start, shown_end)
			SELECT 'Meeting ' || i, s, s + interval '1 hour', 'Europe/Berlin', (SELECT min(id) FROM users) + i %% 1000, 'confirmed', 'public', now(), now(),
				to_char(s AT TIME ZONE 'Europe/Berlin', 'YYYY-MM-DD"T"HH24:MI:SS'), to_char((s + interval '1 hour') AT TIME ZONE 'Europe/Berlin', 'YYYY-MM-DD"T"HH24:MI:SS')
			FROM (SELECT i, date_trunc('day', now()) + interval '1 day' + (i / %[2]d) * interval '87 hours 36 minutes' + (i %% %[2]d %% 36) * interval '15 minutes' AS s
				FROM generate_series(0, %[1]d - 1) i) AS m`, largeMeetings, largeRooms),
			fmt.Sprintf(`WITH numbered AS (SELECT m.*, (SELECT min(id) FROM rooms) + (m.id - (SELECT min(id) FROM meetings)) %% %d AS room FROM meetings m),
			mr AS (INSERT INTO meeting_rooms (meeting_id, room_id, position) SELECT id, room, 0 FROM numbered)
			INSERT INTO occupancies (meeting_id, room_id, starts_at, ends_at) SELECT id, room, starts_at, ends_at FROM numbered`, largeRooms),
			// One of 366 days, in a room of its own that nobody can book.
			`WITH room AS (INSERT INTO rooms (name, capacity, features, policy, active, created_at, updated_at) VALUES ('Long', 4, '[]', '{}', false, now(), now()) RETURNING id),
			long AS (INSERT INTO meetings (title, starts_at, ends_at, timezone, organizer_id, status, visibility, created_at, updated_at)
				SELECT 'Long', date_trunc('day', now()), date_trunc('day', now()) + interval '366 days', 'Europe/Berlin', min(id), 'confirmed', 'public', now(), now() FROM users RETURNING *),
			mr AS (INSERT INTO meeting_rooms (meeting_id, room_id, position) SELECT long.id, room.id, 0 FROM long, room)
			INSERT INTO occupancies (meeting_id, room_id, starts_at, ends_at) SELECT long.id, room.id, starts_at, ends_at FROM long, room`)
	}
}

// bulk runs statements without foreign keys, and makes the indexes of meetings, and the one against
// double booking, after them: it takes a quarter of the time.
func bulk(b *testing.B, db *pgxpool.Pool, statements ...string) {
	b.Helper()
	c, err := db.Acquire(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	defer c.Release()
	rows, _ := c.Query(b.Context(), `SELECT 'DROP INDEX ' || indexname, indexdef FROM pg_indexes
			WHERE tablename = 'meetings' AND indexname NOT IN (SELECT conname FROM pg_constraint WHERE conrelid = 'meetings'::regclass AND contype = 'p')
		UNION ALL SELECT 'ALTER TABLE occupancies DROP CONSTRAINT ' || conname, 'ALTER TABLE occupancies ADD CONSTRAINT ' || conname || ' ' || pg_get_constraintdef(oid)
			FROM pg_constraint WHERE conrelid = 'occupancies'::regclass AND contype = 'x'`)
	indexes, err := pgx.CollectRows(rows, pgx.RowToStructByPos[struct{ Drop, Create string }])
	if err != nil {
		b.Fatal(err)
	}
	var all []string
	for _, i := range indexes {
		all = append(all, i.Drop)
	}
	all = append(append(append(all, "SET session_replication_role = replica"), statements...), "RESET session_replication_role")
	for _, i := range indexes {
		all = append(all, i.Create)
	}
	for _, q := range all {
		if _, err := c.Exec(b.Context(), q); err != nil {
			b.Fatalf("%s: %v", q, err)
		}
	}
}

// takenDay is a working day beyond those that are asked for otherwise, at midnight.
func takenDay(today time.Time) time.Time {
	d := today.AddDate(0, 0, 320)
	for d.Weekday() != time.Wednesday {
		d = d.AddDate(0, 0, 1)
	}
	return d
}

// takeDay books all rooms on that day, four times each, so that nothing is free.
func takeDay(b *testing.B, db *pgxpool.Pool, day time.Time) {
	exec(b, db, `DELETE FROM occupancies WHERE starts_at < $1::timestamptz + interval '1 day' AND ends_at > $1 AND look_back_days = 1`, day)
	exec(b, db, `WITH added AS (
			INSERT INTO meetings (title, starts_at, ends_at, timezone, organizer_id, status, visibility, created_at, updated_at)
			SELECT (SELECT min(id) FROM rooms) + i, s, s + interval '6 hours', 'Europe/Berlin', (SELECT min(id) FROM users) + i % 1000, 'confirmed', 'public', now(), now()
			FROM generate_series(0, $2 - 1) i, generate_series($1::timestamptz, $1::timestamptz + interval '18 hours', interval '6 hours') s RETURNING *),
			mr AS (INSERT INTO meeting_rooms (meeting_id, room_id, position) SELECT id, title::bigint, 0 FROM added)
			INSERT INTO occupancies (meeting_id, room_id, starts_at, ends_at) SELECT id, title::bigint, starts_at, ends_at FROM added`, day, largeRooms)
}

// organisation is a running program with the large organisation.
type organisation struct {
	*testenv.ServerInstance
	admin      *testenv.Client
	taken      time.Time // see takenDay
	site, room int64     // the first of each
	exec       func(sql string, args ...any)
	cpu        func() time.Duration // processor time that the program and its database have used
}

// dataVariable names a folder that keeps the large organisation for later runs, which then start with
// a copy of it. Loading takes some minutes.
const dataVariable = "PUNCTUAL_BENCH_DATA"

// keptDays is how long it is kept. Later the days that are asked for would be empty.
const keptDays = 20

func today() time.Time { return time.Now().UTC().Truncate(24 * time.Hour) }

// loadedOn returns the day of an organisation by its name, and whether it is new enough.
func loadedOn(name string) (time.Time, bool) {
	day, err := time.Parse(organisationName, name)
	return day, err == nil && today().Sub(day) < keptDays*24*time.Hour
}

const organisationName = "organisation_20060102"

// largeOrganisationPostgres starts the program with the large organisation and its takenDay.
func largeOrganisationPostgres(b *testing.B) organisation {
	b.Helper()
	var pg *testenv.PostgresInstance
	if dir := os.Getenv(dataVariable); dir != "" {
		pg = testenv.KeptPostgres(b, filepath.Join(dir, "postgres"))
	} else {
		pg = testenv.PostgresServer(b, testenv.Durable)
	}
	server, err := pgxpool.New(b.Context(), pg.URL("postgres"))
	if err != nil {
		b.Fatal(err)
	}
	defer server.Close()
	name := query[string](b, server, `SELECT coalesce(max(datname), '') FROM pg_database WHERE datname LIKE 'organisation%'`)
	day, ok := loadedOn(name)
	if !ok {
		if name != "" {
			exec(b, server, "DROP DATABASE "+name)
		}
		exec(b, server, "DROP DATABASE IF EXISTS loading")
		url, err := pg.Create("loading", "template0")
		if err != nil {
			b.Fatal(err)
		}
		day = today()
		p := startOn(b, url, testenv.Config{}, func(db *pgxpool.Pool) {
			largeOrganisation(b)(db)
			takeDay(b, db, takenDay(day))
		})
		awaitSums(b, p.admin)
		p.Stop()
		exec(b, p.db, "VACUUM ANALYZE")
		p.db.Close()
		name = day.Format(organisationName)
		exec(b, server, "ALTER DATABASE loading RENAME TO "+name)
	}
	exec(b, server, "DROP DATABASE IF EXISTS running")
	url, err := pg.Create("running", name)
	if err != nil {
		b.Fatal(err)
	}
	p := startOn(b, url, testenv.Config{}, nil)
	return organisation{
		ServerInstance: p.ServerInstance, admin: p.admin, taken: takenDay(day),
		site: query[int64](b, p.db, `SELECT min(id) FROM sites`), room: query[int64](b, p.db, `SELECT min(id) FROM rooms`),
		exec: func(sql string, args ...any) { exec(b, p.db, sql, args...) },
		cpu:  func() time.Duration { return p.cpu(b) + p.postgresCPU(b) },
	}
}

// awaitSums waits until workers have added up all days for reports.
func awaitSums(b *testing.B, admin *testenv.Client) {
	b.Helper()
	from := today().AddDate(0, 0, 1)
	year := url.Values{"group": {"site"}, "from": {from.Format(time.RFC3339)}, "to": {from.AddDate(0, 0, 365).Format(time.RFC3339)}}
	for begin := time.Now(); ; time.Sleep(2 * time.Second) {
		asked := time.Now()
		res, err := admin.Try(http.MethodGet, "/reports/utilisation?"+year.Encode(), nil) // until then it may take too long
		if err == nil && res.Status == http.StatusOK && time.Since(asked) < 300*time.Millisecond {
			return
		}
		if time.Since(begin) > 10*time.Minute {
			b.Fatal("days are not added up: ", err)
		}
	}
}

// BenchmarkFinding measures how long it takes to find a room, and to list what is booked, over HTTP, one
// request after the other, with 10,000 rooms and 1,000,000 meetings, one of 366 days among them.
func BenchmarkFinding(b *testing.B) {
	b.Run("postgres", func(b *testing.B) { benchmarkFinding(b, largeOrganisationPostgres(b)) })
	b.Run("sqlite", func(b *testing.B) { benchmarkFinding(b, largeOrganisationSQLite(b)) })
}

func findingAim(name string) string {
	switch {
	case strings.HasPrefix(name, "meetings-search"):
		return "p99 <= 20 ms"
	case name == "grid-1000-meetings":
		return "p50 <= 12 ms, p99 <= 30 ms"
	case name == "grid-unchanged":
		return "p50 <= 2 ms"
	}
	return "p99 <= 30 ms"
}

func benchmarkFinding(b *testing.B, p organisation) {
	day := func() time.Time { // a coming working day
		d := today().AddDate(0, 0, 1+rand.N(300-keptDays))
		for d.Weekday() == time.Saturday || d.Weekday() == time.Sunday {
			d = d.AddDate(0, 0, 1)
		}
		return d
	}
	site := func() string { return fmt.Sprint(p.site + rand.Int64N(20)) }
	campus := func() string { return fmt.Sprint(p.site + 20) }
	ask := func(path string, from time.Time, length time.Duration, more ...string) string {
		names := []string{"start", "end"}
		if path == "/suggestions" {
			names = []string{"from", "to"}
		}
		q := url.Values{names[0]: {from.Format(time.RFC3339)}, names[1]: {from.Add(length).Format(time.RFC3339)}}
		for i := 0; i < len(more); i += 2 {
			q.Set(more[i], more[i+1])
		}
		return path + "?" + q.Encode()
	}
	free := func(more ...string) func() string { // of fifty rooms, from nine to ten
		return func() string {
			return ask("/availability", day().Add(9*time.Hour), time.Hour, append(more, "limit", "50")...)
		}
	}
	times := func(within time.Duration, more ...string) func() string {
		return func() string { return ask("/suggestions", day().Add(9*time.Hour), within, more...) }
	}
	within := func(path string, days int) func() string {
		return func() string {
			at := day()
			q := url.Values{"from": {at.Format(time.RFC3339)}, "to": {at.AddDate(0, 0, days).Format(time.RFC3339)}}
			return path + q.Encode()
		}
	}
	of := func(path string, days int) func() string { // of a room
		return func() string { return within(fmt.Sprintf(path, p.room+rand.Int64N(largeRooms)), days)() }
	}
	cursor := ""
	for range 20 {
		var page struct {
			NextCursor string `json:"next_cursor"`
		}
		p.admin.Want(b, http.StatusOK, http.MethodGet, free("cursor", cursor)(), nil, &page)
		cursor = page.NextCursor
	}
	awaitSums(b, p.admin)
	taken := func() string {
		return url.Values{"from": {p.taken.Format(time.RFC3339)}, "to": {p.taken.AddDate(0, 0, 1).Format(time.RFC3339)}}.Encode()
	}
	persons := strings.Repeat("guest@example.org,", 200)
	const week = 7 * 24 * time.Hour
	for _, c := range []struct {
		name string
		path func() string
	}{
		{"availability", func() string { return free("attendees", "8", "site_id", site())() }},
		{"availability-free", free("attendees", "8", "features", "video", "free", "true")},
		{"availability-all", free()},
		{"availability-page-21", free("cursor", cursor)},
		{"availability-month", func() string { return ask("/availability", day(), 31*24*time.Hour, "limit", "500") }},
		{"availability-too-many", free("attendees", persons)},
		{"availability-none", free("features", "piano", "free", "true")},
		{"suggestions", func() string {
			return times(120*time.Hour, "duration", "1h", "attendees", "12", "features", "projector", "site_id", site())()
		}},
		{"suggestions-anywhere", times(week, "duration", "2h", "attendees", "4")},
		{"suggestions-at-that-time", times(time.Hour, "duration", "1h", "attendees", "8")},
		{"suggestions-month", func() string { return ask("/suggestions", day(), 31*24*time.Hour, "duration", "1h", "limit", "50") }},
		{"suggestions-none", times(week, "duration", "1h", "features", "piano")},
		{"suggestions-closed-none", func() string {
			d := day()
			return ask("/suggestions", d.AddDate(0, 0, int(time.Saturday-d.Weekday())), 24*time.Hour, "duration", "1h")
		}},
		{"suggestions-too-long-none", times(week, "duration", "14h")},
		{"suggestions-taken-hour-none", func() string { return ask("/suggestions", p.taken.Add(9*time.Hour), time.Hour, "duration", "1h") }},
		{"suggestions-taken-day-none", func() string { return ask("/suggestions", p.taken, 24*time.Hour, "duration", "1h") }},
		{"availability-taken-none", func() string {
			return ask("/availability", p.taken.Add(9*time.Hour), time.Hour, "free", "true", "limit", "50")
		}},
		{"free-busy", of("/rooms/%d/free-busy?", 31)},
		{"free-busy-year", of("/rooms/%d/free-busy?", 366)},
		{"occupancy-month", func() string { // of the 500 rooms of a site
			at := day()
			return "/occupancy?" + url.Values{"from": {at.Format(time.DateOnly)}, "to": {at.AddDate(0, 0, 42).Format(time.DateOnly)}, "site_id": {site()}, "limit": {"500"}}.Encode()
		}},
		{"meetings-of-room", of("/meetings?room_id=%d&", 31)},
		{"meetings-day", within("/meetings?", 1)},
		{"meetings-year", within("/meetings?", 366)},
		{"meetings-of-site", func() string { return within("/meetings?site_id="+site()+"&", 7)() }},
		{"meetings-taken-day", func() string { return "/meetings?limit=500&" + taken() }},
		{"meetings-search-week", within("/meetings?q=meeting+77&", 7)},
		{"meetings-search-none", func() string { return "/meetings?q=zzzzzz" }},
		{"meetings-search-one", func() string { return fmt.Sprintf("/meetings?q=ting+%06d", 100_000+rand.N(900_000)) }},
		{"meetings-search-some", func() string { return fmt.Sprintf("/meetings?q=%d", 1000+rand.N(9000)) }},
		{"meetings-search-many", func() string { return fmt.Sprintf("/meetings?q=meeting+%d", 10+rand.N(90)) }},
		{"meetings-search-all", func() string { return "/meetings?q=meeting" }},
		{"meetings-search-short", func() string { return fmt.Sprintf("/meetings?q=%d", 10+rand.N(90)) }},
		{"meetings-search-one-year", func() string { return within(fmt.Sprintf("/meetings?q=ting+%06d&", 100_000+rand.N(900_000)), 366)() }},
		{"meetings-search-common-parts-none", func() string { return "/meetings?q=ing+meet" }},
		{"grid-50-day", within("/grid?limit=50&", 1)},
		{"grid-of-site-day", func() string { return within("/grid?site_id="+site()+"&", 1)() }},
		{"grid-500-week", within("/grid?limit=500&", 7)},
		{"grid-taken-day", func() string { return "/grid?site_id=" + site() + "&" + taken() }},
		{"grid-1000-meetings", func() string { return "/grid?limit=250&site_id=" + site() + "&" + taken() }},
		{"grid-unchanged", func() string { return "/grid?limit=250&" + taken() }},
		{"utilisation-month", within("/reports/utilisation?group=site&", 31)},
		{"utilisation-of-site-month", func() string { return within("/reports/utilisation?group=room&site_id="+site()+"&", 31)() }},
		{"utilisation-year", within("/reports/utilisation?group=site&", 366)},
		{"utilisation-hours-year", within("/reports/utilisation?group=hour&", 366)},
		{"utilisation-of-site-year", func() string { return within("/reports/utilisation?group=room&site_id="+site()+"&", 366)() }},
		{"campus", nil}, // from here on all rooms are on one site
		{"availability-campus", func() string { return free("attendees", "8", "site_id", campus())() }},
		{"suggestions-campus", func() string {
			return times(120*time.Hour, "duration", "1h", "attendees", "12", "features", "projector", "site_id", campus())()
		}},
	} {
		if c.path == nil {
			p.exec(`INSERT INTO sites (id, name, timezone, created_at, updated_at) SELECT $1, 'Campus', timezone, created_at, updated_at FROM sites WHERE id = $2`, p.site+20, p.site)
			p.exec(`UPDATE rooms SET site_id = $1 WHERE site_id IS NOT NULL`, p.site+20)
			p.exec(`VACUUM`)
			continue
		}
		b.Run(c.name, func(b *testing.B) {
			const n = 200
			for range b.N {
				var took []time.Duration
				items, tag := 0, ""
				var before time.Duration
				for i, end := 0, time.Now().Add(8*time.Second); i < n+20 && (i < 23 || time.Now().Before(end)); i++ {
					if i == 20 { // the first ones fill caches
						before = p.cpu()
					}
					path := c.path()
					begin := time.Now()
					res := p.admin.Do(b, http.MethodGet, path, nil, testenv.Header("If-None-Match", tag))
					all := time.Since(begin)
					var page struct{ Items, Meetings []json.RawMessage }
					switch {
					case res.Status == http.StatusNotModified && tag != "":
						page.Meetings = make([]json.RawMessage, 1)
					case res.Status != http.StatusOK:
						b.Fatalf("%s: %d %s", path, res.Status, res.Body)
					default:
						if err := res.Decode(&page); err != nil {
							b.Fatal(err)
						}
					}
					if strings.HasSuffix(c.name, "-unchanged") {
						tag = res.Header.Get("ETag")
					}
					if i >= 20 {
						took = append(took, all)
						items += len(page.Items) + len(page.Meetings)
					}
				}
				cpu := float64((p.cpu() - before).Microseconds()) / 1000 / float64(len(took))
				if none := strings.HasSuffix(c.name, "-none"); (items == 0) != none {
					b.Fatalf("found %d", items)
				}
				slices.Sort(took)
				p50, p99 := float64(took[len(took)/2].Microseconds())/1000, float64(took[len(took)*99/100].Microseconds())/1000
				b.ReportMetric(p50, "p50-ms")
				b.ReportMetric(p99, "p99-ms")
				b.ReportMetric(cpu, "cpu-ms")
				b.ReportMetric(float64(items)/float64(len(took)), "items")
				tell("among 10,000 rooms with 1,000,000 meetings: "+strings.TrimPrefix(b.Name(), "BenchmarkFinding/"), fmt.Sprintf("p50 %.1f, p99 %.1f ms; processor time %.1f ms", p50, p99, cpu), findingAim(c.name), "")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}
