package bench

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"punctual/tests/audit"
	"punctual/tests/testenv"
)

// load is an installation of the size of a large organization: two processes on one Postgres and one Redis.
type load struct {
	lasts                   time.Duration
	rooms, meetings, people int
	burst                   int // meetings that start at one instant, and reminders that are due at it
	seed                    uint64

	db       *pgxpool.Pool
	pg       *testenv.PostgresInstance
	redis    *testenv.RedisInstance
	mail     *testenv.MailServer
	servers  []*testenv.ServerInstance
	first    int64     // the first room; the others follow
	midnight time.Time // of the day of the run
	hour     time.Time // of the burst
}

// BenchmarkLoad fills a database with LOAD_ROOMS rooms, LOAD_PEOPLE people and a year of LOAD_MEETINGS meetings.
// For LOAD, people then book and look for rooms as fast as the machine allows, listeners follow what happens, and
// thousands of meetings start at one instant at which the reminders of as many others are due. It fails for any
// fault of a [loadRun]. LOAD_SEED repeats the choices of an earlier run.
func BenchmarkLoad(b *testing.B) {
	l := &load{
		rooms: fromEnv(b, "LOAD_ROOMS", 10_000), meetings: fromEnv(b, "LOAD_MEETINGS", 1_000_000), people: fromEnv(b, "LOAD_PEOPLE", 50_000),
		seed: uint64(fromEnv(b, "LOAD_SEED", int(time.Now().Unix()))),
	}
	l.burst = min(l.rooms/2, 5000)
	var err error
	if l.lasts, err = time.ParseDuration(cmp.Or(os.Getenv("LOAD"), "10m")); err != nil || l.lasts < 30*time.Second {
		b.Fatalf("LOAD: must be a duration of at least 30s: %v", err)
	}
	if l.people < actors || l.rooms < sites || l.meetings < l.rooms {
		b.Fatalf("LOAD_PEOPLE: must be at least %d; LOAD_ROOMS: at least %d; LOAD_MEETINGS: at least LOAD_ROOMS", actors, sites)
	}
	fmt.Printf("%d rooms, %d meetings, %d people, for %v, seed %d\n", l.rooms, l.meetings, l.people, l.lasts, l.seed)
	l.start(b)

	before := l.used(b)
	begin := time.Now()
	traffic, stop := l.traffic(b)
	time.Sleep(time.Until(begin.Add(l.lasts)))
	stop()
	took := time.Since(begin)
	after := l.used(b)

	r := &loadRun{operations: traffic.all()}
	l.settle(b, r)
	traffic.heard(b, l, r)
	l.examine(b, traffic, r)
	table := l.table(b, r, took, before, after)
	fmt.Printf("\n%s\n", table)
	b.ReportMetric(0, "ns/op")
	faults := r.faults()
	for _, f := range faults[:min(20, len(faults))] {
		b.Error(f)
	}
	if docs := os.Getenv("LOAD_DOCS"); docs != "" && len(faults) == 0 {
		if err := replaceBetween(filepath.Join(docs, "benchmarks.md"), "make load", table); err != nil {
			b.Error(err)
		}
	}
}

func fromEnv(b *testing.B, name string, otherwise int) int {
	b.Helper()
	s := os.Getenv(name)
	if s == "" {
		return otherwise
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		b.Fatalf("%s: must be a positive number, not %q", name, s)
	}
	return n
}

// start fills the database and starts both processes.
func (l *load) start(b *testing.B) {
	l.pg, l.redis, l.mail = testenv.PostgresServer(b, testenv.Durable), testenv.RedisServer(b), testenv.Mail(b)
	database := l.pg.Database(b)
	db, err := pgxpool.New(b.Context(), database)
	if err != nil {
		b.Fatal(err)
	}
	exec(b, db, "ALTER SYSTEM SET track_commit_timestamp = on")
	db.Close()
	l.pg.Restart(b)
	if l.db, err = pgxpool.New(b.Context(), database); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(l.db.Close)
	for range 2 {
		l.servers = append(l.servers, testenv.PrepareServer(b, testenv.Config{Database: database, Queue: l.redis.URL(), Mail: l.mail, LoadEvery: 15 * time.Second}))
	}
	l.servers[0].Start(b) // makes the tables
	if code := l.servers[0].Stop(); code != 0 {
		b.Fatalf("the program stopped with %d", code)
	}
	begin := time.Now()
	l.fill(b)
	fmt.Printf("filled in %v\n", time.Since(begin).Round(time.Second))
	for _, s := range l.servers {
		s.StartOnly(b)
	}
	for _, s := range l.servers {
		if err := s.AwaitReady(); err != nil {
			b.Fatal(err)
		}
	}
}

const (
	sites  = 20
	actors = 200 // people who send requests
)

// secret of the token of an actor, from 1.
func secret(actor int) string { return fmt.Sprintf("pq_%043d", actor) }

func (l *load) fill(b *testing.B) {
	l.midnight = today()
	exec(b, l.db, `INSERT INTO sites (name, timezone, created_at, updated_at) SELECT 'Site ' || i, 'UTC', now(), now() FROM generate_series(1, $1) i`, sites)
	exec(b, l.db, `INSERT INTO users (id, email, name, role, created_at, updated_at)
		SELECT 1000 + i, 'person' || i || '@example.org', 'Person ' || i, 'member', now(), now() FROM generate_series(1, $1) i`, l.people)
	secrets := make([]string, actors)
	for i := range secrets {
		secrets[i] = secret(i + 1)
	}
	exec(b, l.db, `INSERT INTO tokens (user_id, kind, name, hash, created_at)
		SELECT 1000 + n, 'api', 'load', encode(sha256(convert_to(s, 'UTF8')), 'hex'), now() FROM unnest($1::text[]) WITH ORDINALITY AS x (s, n)`, secrets)
	exec(b, l.db, `INSERT INTO rooms (name, site_id, capacity, features, created_at, updated_at)
		SELECT 'Room ' || i, (SELECT min(id) FROM sites) + i % $2, 2 + i % 30,
			CASE i % 3 WHEN 0 THEN '["projector","video"]' WHEN 1 THEN '["video"]' ELSE '[]' END::jsonb, now(), now()
		FROM generate_series(0, $1 - 1) i`, l.rooms, sites)
	l.first = query[int64](b, l.db, `SELECT min(id) FROM rooms`)
	// In each room as many meetings of an hour, from tomorrow on, over 360 days. Each has an attendee, the reminders
	// of config.yaml, and a history.
	columns := func(length, source string) string {
		return strings.NewReplacer("LENGTH", "interval '"+length+"'", "PEOPLE", strconv.Itoa(l.people)).Replace(`INSERT INTO meetings
			(id, title, starts_at, ends_at, timezone, organizer_id, status, visibility, default_reminders, created_at, updated_at, shown_start, shown_end)
			SELECT i, 'Meeting ' || i, s, s + LENGTH, 'UTC', 1001 + i % PEOPLE, 'confirmed', 'public', true, now(), now(),
				to_char(s AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS'), to_char((s + LENGTH) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS') FROM `) + source
	}
	rest := func(ids string) []string {
		return []string{
			fmt.Sprintf(`INSERT INTO meeting_rooms (meeting_id, room_id, position) SELECT id, %d + (id - 1) %% %d, 0 FROM meetings WHERE %s`, l.first, l.rooms, ids),
			fmt.Sprintf(`INSERT INTO occupancies (meeting_id, room_id, starts_at, ends_at) SELECT id, %d + (id - 1) %% %d, starts_at, ends_at FROM meetings WHERE %s`, l.first, l.rooms, ids),
			`INSERT INTO attendees (meeting_id, position, email, name, response) SELECT id, 0, 'guest' || id || '@example.org', 'Guest', 'needs_action' FROM meetings WHERE ` + ids,
			`INSERT INTO history (meeting_id, at, action, actor_kind, actor_name) SELECT id, now(), 'created', 'system', 'load' FROM meetings WHERE ` + ids,
		}
	}
	all := []string{columns("1 hour", fmt.Sprintf(`(SELECT i, date_bin('15 minutes', timestamptz '%s' + interval '1 day'
			+ (i - 1) / %d * interval '360 days' / %d + (i - 1) %% %d %% 36 * interval '15 minutes', timestamptz 'epoch') AS s
			FROM generate_series(1, %d) i) m`, l.midnight.Format(time.RFC3339), l.rooms, (l.meetings+l.rooms-1)/l.rooms, l.rooms, l.meetings))}
	all = append(all, rest("true")...)
	all = append(all, `INSERT INTO meeting_reminders (meeting_id, before, offset_seconds, channels, due_at)
		SELECT id, x.before, x.s, '["email"]', CASE x.before WHEN 'start' THEN starts_at ELSE ends_at END - x.s * interval '1 second'
		FROM meetings, (VALUES ('start', 900), ('end', 300)) AS x (before, s)`)
	bulk(b, l.db, all...)
	exec(b, l.db, "VACUUM ANALYZE")
	exec(b, l.db, "CHECKPOINT")

	// The burst: in its rooms, a meeting starts at the hour, and another a quarter of an hour later, whose reminder
	// is due at the hour.
	l.hour = time.Now().Add(l.lasts * 2 / 3).Truncate(time.Second)
	from := (l.meetings + l.rooms - 1) / l.rooms * l.rooms // so that the numbers of rooms go on
	insert := func(from int, at time.Time) string {
		return columns("10 minutes", fmt.Sprintf(`(SELECT i, timestamptz '%s' AS s FROM generate_series(%d, %d) i) m`, at.Format(time.RFC3339), from+1, from+l.burst))
	}
	ids := fmt.Sprintf("id > %d", from)
	statements := append([]string{insert(from, l.hour), insert(from+l.rooms, l.hour.Add(15*time.Minute))}, rest(ids)...)
	statements = append(statements, fmt.Sprintf(`INSERT INTO meeting_reminders (meeting_id, before, offset_seconds, channels, due_at)
		SELECT id, 'start', 900, '["email"]', starts_at - interval '15 minutes' FROM meetings WHERE id > %d`, from+l.rooms),
		`SELECT setval(pg_get_serial_sequence('meetings', 'id'), (SELECT max(id) FROM meetings))`)
	for _, s := range statements {
		exec(b, l.db, s)
	}
}

// settle waits until everything due is done, or a minute has passed since the last progress.
func (l *load) settle(b *testing.B, r *loadRun) {
	b.Helper()
	c, err := l.db.Acquire(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	defer c.Release()
	least, progress := -1, time.Now()
	for {
		if r.state, err = audit.Database(b.Context(), c.Conn()); err != nil {
			b.Fatal(err)
		}
		open := len(r.state.Open)
		if open == 0 {
			return
		}
		if least < 0 || open < least {
			least, progress = open, time.Now()
		}
		if time.Since(progress) > time.Minute {
			return
		}
		time.Sleep(time.Second)
	}
}

// examine compares the database and the mails with what was asked for.
func (l *load) examine(b *testing.B, t *loadTraffic, r *loadRun) {
	b.Helper()
	conn, err := l.db.Acquire(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Release()
	c := conn.Conn()
	if r.overlaps, err = overlapping(b.Context(), c); err != nil {
		b.Fatal(err)
	}
	r.lost = append(t.booked.find(b, c, `NOT EXISTS (SELECT FROM occupancies o JOIN meetings m ON m.id = o.meeting_id
			WHERE o.meeting_id = x.id AND o.room_id = x.room AND o.starts_at = x.s AND o.ends_at = x.e AND m.status IN ('confirmed', 'in_progress'))`),
		t.refused.find(b, c, `NOT EXISTS (SELECT FROM occupancies o WHERE o.room_id = x.room AND o.starts_at < x.e AND o.ends_at > x.s)`)...)
	rows, _ := c.Query(b.Context(), `SELECT 'meeting ' || id || ' of the burst is ' || status FROM meetings WHERE starts_at = $1 AND status <> 'in_progress'`, l.hour)
	if r.unstarted, err = pgx.CollectRows(rows, pgx.RowTo[string]); err != nil {
		b.Fatal(err)
	}
	rows, _ = c.Query(b.Context(), `SELECT a.email FROM attendees a JOIN meetings m ON m.id = a.meeting_id WHERE m.starts_at = $1`, l.hour.Add(15*time.Minute))
	if r.reminders, err = pgx.CollectRows(rows, pgx.RowTo[string]); err != nil {
		b.Fatal(err)
	}
	if len(r.reminders) < l.burst {
		b.Errorf("%d reminders were due, want at least %d", len(r.reminders), l.burst)
	}
	r.reminded, r.accepted = map[string]int{}, l.mail.Counts()
	for _, m := range l.mail.Where("", "reminder") {
		for _, to := range m.To {
			r.reminded[to]++
		}
	}
	if r.unsent, _, err = audit.Mails(b.Context(), c, r.accepted); err != nil {
		b.Fatal(err)
	}
}

// usage is the processor time that each part has used so far.
type usage struct{ program, postgres, redis, load, machine time.Duration }

func (l *load) used(b *testing.B) (u usage) {
	b.Helper()
	of := func(pid int) time.Duration {
		d, err := processorTime(pid)
		if err != nil {
			b.Fatal(err)
		}
		return d
	}
	for _, s := range l.servers {
		u.program += of(s.PID())
	}
	u.redis = of(l.redis.PID())
	ended, err := endedTime(l.pg.PID())
	if err != nil {
		b.Fatal(err)
	}
	u.postgres = of(l.pg.PID()) + ended
	children, err := os.ReadFile(fmt.Sprintf("/proc/%[1]d/task/%[1]d/children", l.pg.PID()))
	if err != nil {
		b.Fatal(err)
	}
	for _, pid := range strings.Fields(string(children)) {
		if n, err := strconv.Atoi(pid); err == nil {
			d, _ := processorTime(n) // none, if it has ended since
			u.postgres += d
		}
	}
	var self syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &self); err != nil {
		b.Fatal(err)
	}
	u.load = time.Duration(self.Utime.Nano() + self.Stime.Nano())
	u.machine = machineTime(b)
	return u
}

// machineTime is the processor time that everything on the machine has used.
func machineTime(b *testing.B) time.Duration {
	b.Helper()
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		b.Fatal(err)
	}
	line, _, _ := strings.Cut(string(stat), "\n")
	f := strings.Fields(line)
	d, err := ticks(slices.Concat(f[1:4], f[6:8])) // user, nice, system; irq, softirq
	if err != nil {
		b.Fatal(err)
	}
	return d
}

// table is what was measured, for people.
func (l *load) table(b *testing.B, r *loadRun, took time.Duration, before, after usage) string {
	b.Helper()
	var t strings.Builder
	fmt.Fprintf(&t, "%s rooms, %s meetings, %s people; two processes for %v, measured on %s on a machine with %d cores (%s).\n\n",
		count(float64(l.rooms)), count(float64(l.meetings)), count(float64(l.people)), took.Round(time.Second), time.Now().UTC().Format(time.DateOnly), runtime.NumCPU(), processor())
	t.WriteString("| operation | requests | per second | p50 ms | p99 ms | failed or wrong |\n| --- | --- | --- | --- | --- | --- |\n")
	for _, o := range r.operations {
		fmt.Fprintf(&t, "| %s | %s | %.0f | %.1f | %.1f | %d |\n", o.name, count(float64(len(o.took))), float64(len(o.took))/took.Seconds(),
			milliseconds(o.took, .5), milliseconds(o.took, .99), len(o.failed)+len(o.wrong))
	}
	heard := 0
	for _, h := range r.listeners {
		heard += len(h.got)
	}
	t.WriteString("\n| work | done | p50 ms late | p99 ms late | most ms late |\n| --- | --- | --- | --- | --- |\n")
	late := func(what string, ds []time.Duration) {
		slices.Sort(ds)
		fmt.Fprintf(&t, "| %s | %s | %.0f | %.0f | %.0f |\n", what, count(float64(len(ds))), milliseconds(ds, .5), milliseconds(ds, .99), milliseconds(ds, 1))
	}
	const started = `SELECT (extract(epoch FROM pg_xact_commit_timestamp(h.xmin) - m.starts_at) * 1e9)::bigint
		FROM history h JOIN meetings m ON m.id = h.meeting_id WHERE h.action = 'started' AND m.created_at < m.starts_at AND (m.starts_at = $1) = $2`
	for _, starts := range []struct {
		name  string
		burst bool
	}{{"starts at one instant", true}, {"other starts", false}} {
		rows, _ := l.db.Query(b.Context(), started, l.hour, starts.burst)
		ds, err := pgx.CollectRows(rows, pgx.RowTo[time.Duration])
		if err != nil {
			b.Fatal(err)
		}
		late(starts.name, ds)
	}
	var mails []time.Duration
	for _, m := range l.mail.Where("", "reminder") {
		mails = append(mails, m.At.Sub(l.hour))
	}
	late("mails of reminders due at that instant", mails)
	fmt.Fprintf(&t, "\n%d listeners received %s events.\n", len(r.listeners), count(float64(heard)))

	u := usage{after.program - before.program, after.postgres - before.postgres, after.redis - before.redis, after.load - before.load, after.machine - before.machine}
	all := took.Seconds() * float64(runtime.NumCPU())
	t.WriteString("\n| processor time | seconds | of the machine |\n| --- | --- | --- |\n")
	for _, p := range []struct {
		name string
		used time.Duration
	}{
		{"the program, both processes", u.program}, {"Postgres", u.postgres}, {"Redis", u.redis}, {"the load itself", u.load},
		{"everything else", u.machine - u.program - u.postgres - u.redis - u.load}, {"idle", time.Duration(all*1e9) - u.machine},
	} {
		fmt.Fprintf(&t, "| %s | %.0f | %.0f %% |\n", p.name, max(0, p.used.Seconds()), max(0, 100*p.used.Seconds()/all))
	}
	return t.String()
}

// milliseconds is a percentile (0 to 1) of durations, which it sorts.
func milliseconds(ds []time.Duration, p float64) float64 {
	slices.Sort(ds)
	return float64(audit.Percentile(ds, p).Microseconds()) / 1000
}

// bookings are rooms with times, in columns.
type bookings struct {
	mu           sync.Mutex
	ids, rooms   []int64
	starts, ends []time.Time
}

func (l *bookings) add(id, room int64, start, end time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ids, l.rooms, l.starts, l.ends = append(l.ids, id), append(l.rooms, room), append(l.starts, start), append(l.ends, end)
}

// recent returns one of the last hundred; ok is false if there are none.
func (l *bookings) recent(rnd *rand.Rand) (id, room int64, start, end time.Time, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.ids) == 0 {
		return 0, 0, start, end, false
	}
	i := len(l.ids) - 1 - rnd.IntN(min(len(l.ids), 100))
	return l.ids[i], l.rooms[i], l.starts[i], l.ends[i], true
}

// find lists the bookings for which a condition on x (id, room, s, e) holds.
func (l *bookings) find(b *testing.B, c *pgx.Conn, condition string) []string {
	b.Helper()
	rows, _ := c.Query(context.WithoutCancel(b.Context()), `SELECT 'meeting ' || x.id || ' in room ' || x.room || ' at ' || x.s
		FROM unnest($1::bigint[], $2::bigint[], $3::timestamptz[], $4::timestamptz[]) AS x (id, room, s, e) WHERE `+condition, l.ids, l.rooms, l.starts, l.ends)
	found, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		b.Fatal(err)
	}
	return found
}
