package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/redis/go-redis/v9"

	"punctual/tests/testenv"
)

// product is the built program on Postgres with fsync and on Redis, with the databases at hand.
type product struct {
	*testenv.ServerInstance
	db    *pgxpool.Pool
	redis *redis.Client
	admin *testenv.Client
}

// start runs the program on fresh servers. seed fills the migrated database before the
// benchmark's own start of the program, so that the loader finds it at start.
func start(b *testing.B, seed func(db *pgxpool.Pool)) *product {
	b.Helper()
	return startWith(b, testenv.Config{}, seed)
}

// startWith does so with further settings.
func startWith(b *testing.B, c testenv.Config, seed func(db *pgxpool.Pool)) *product {
	b.Helper()
	pg := testenv.PostgresServer(b, testenv.Durable)
	url := pg.Database(b)
	db, err := pgxpool.New(b.Context(), url)
	if err != nil {
		b.Fatal(err)
	}
	exec(b, db, "ALTER SYSTEM SET track_commit_timestamp = on")
	db.Close()
	pg.Restart(b)
	return startOn(b, url, c, seed)
}

// startOn does so on a database of Postgres.
func startOn(b *testing.B, url string, c testenv.Config, seed func(db *pgxpool.Pool)) *product {
	b.Helper()
	db, err := pgxpool.New(b.Context(), url)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(db.Close)
	server := testenv.RedisServer(b)
	o, err := redis.ParseURL(server.URL())
	if err != nil {
		b.Fatal(err)
	}
	c.Database, c.Queue, c.LoadEvery = url, server.URL(), 15*time.Second
	c.YAML = "log: { level: warn }\n"
	if c.Mail == nil {
		c.YAML += "email: { driver: off }\n"
	}
	p := &product{ServerInstance: testenv.PrepareServer(b, c), db: db, redis: redis.NewClient(o)}
	b.Cleanup(func() { p.redis.Close() })
	p.Start(b)
	p.admin = p.Admin(b)
	if c.Mail != nil { // whose mails the benchmark's are like
		far := time.Now().Add(240 * time.Hour).Truncate(time.Second)
		p.admin.Book(b, testenv.Booking(far, far.Add(time.Hour), []int64{p.admin.NewRoom(b, "Template").ID},
			map[string]any{"attendees": []any{map[string]any{"email": "guest@example.org", "name": "Guest"}}}))
	}
	if seed != nil {
		if code := p.Stop(); code != 0 {
			b.Fatalf("the program stopped with %d", code)
		}
		seed(db)
		exec(b, db, "VACUUM ANALYZE")
		exec(b, db, "CHECKPOINT") // else it writes while the benchmark measures
		p.Start(b)
		p.admin = p.Admin(b)
	}
	return p
}

func exec(b *testing.B, db *pgxpool.Pool, sql string, args ...any) {
	b.Helper()
	if _, err := db.Exec(b.Context(), sql, args...); err != nil {
		b.Fatal(err)
	}
}

func query[T any](b *testing.B, db *pgxpool.Pool, sql string, args ...any) T {
	b.Helper()
	rows, _ := db.Query(b.Context(), sql, args...)
	v, err := pgx.CollectExactlyOneRow(rows, pgx.RowTo[T])
	if err != nil {
		b.Fatal(err)
	}
	return v
}

// meetings inserts n confirmed meetings of an hour, each in a room of its own.
func meetings(b *testing.B, db *pgxpool.Pool, n int, starts func(i int) time.Time) {
	b.Helper()
	at := make([]time.Time, n)
	for i := range at {
		at[i] = starts(i)
	}
	exec(b, db, `INSERT INTO rooms (name, created_at, updated_at) SELECT 'Room ' || i, now(), now() FROM generate_series(1, $1) i`, n)
	exec(b, db, `
		WITH m AS (
			INSERT INTO meetings (title, starts_at, ends_at, timezone, organizer_id, status, visibility, created_at, updated_at)
			SELECT 'Stand-up', s, s + interval '1 hour', 'UTC', (SELECT min(id) FROM users), 'confirmed', 'public', now(), now()
			FROM unnest($1::timestamptz[]) s
			RETURNING id, starts_at, ends_at
		), numbered AS (
			SELECT m.*, r.id AS room_id FROM (SELECT *, row_number() OVER (ORDER BY id) n FROM m) m
			JOIN (SELECT id, row_number() OVER (ORDER BY id) n FROM rooms) r USING (n)
		), h AS (
			INSERT INTO history (meeting_id, at, action, actor_kind, actor_name) SELECT id, now(), 'created', 'system', 'bench' FROM m
		), mr AS (
			INSERT INTO meeting_rooms (meeting_id, room_id, position) SELECT id, room_id, 0 FROM numbered
		)
		INSERT INTO occupancies (meeting_id, room_id, starts_at, ends_at) SELECT id, room_id, starts_at, ends_at FROM numbered`, at)
}

// started lists how long after its start each started meeting's new status was committed.
func (p *product) started(b *testing.B) []time.Duration {
	b.Helper()
	rows, _ := p.db.Query(b.Context(), `
		SELECT (extract(epoch FROM pg_xact_commit_timestamp(xmin) - starts_at) * 1e9)::bigint
		FROM meetings WHERE status = 'in_progress'`)
	late, err := pgx.CollectRows(rows, pgx.RowTo[time.Duration])
	if err != nil {
		b.Fatal(err)
	}
	return late
}

// await polls until n meetings have started.
func (p *product) await(b *testing.B, n int64, limit time.Duration) {
	b.Helper()
	for begin := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		got := query[int64](b, p.db, `SELECT count(*) FROM meetings WHERE status = 'in_progress'`)
		if got == n {
			return
		}
		if time.Since(begin) > limit {
			b.Fatalf("%d of %d meetings have started after %v", got, n, limit)
		}
	}
}

// BenchmarkStartLateness lets 2,000 meetings start at random microseconds over 10 s: from the
// start to the commit of the new status, by the database's own commit time-stamps. Then the
// same while a mail server that takes one mail a second has 100,000 queued.
func BenchmarkStartLateness(b *testing.B) {
	const n, span = 2000, 10 * time.Second
	b.Run("alone", func(b *testing.B) {
		var from time.Time
		p := start(b, func(db *pgxpool.Pool) {
			from = time.Now().Add(8 * time.Second)
			meetings(b, db, n, func(int) time.Time { return from.Add(rand.N(span)) })
		})
		late := p.startsLate(b, n, from, span)
		tell("from a meeting's start to the commit of `in_progress`, 2,000 meetings", late.String(), "p99 <= 30 ms", "")
	})
	b.Run("behind 100000 mails", func(b *testing.B) {
		const queued = 100_000
		mail := testenv.Mail(b)
		slow(mail)
		var from time.Time
		p := startWith(b, testenv.Config{Mail: mail, Jobs: "{ notify.email: { concurrency: 4 } }"}, func(db *pgxpool.Pool) {
			mails(b, db, queued)
			from = time.Now().Add(15 * time.Second)
			meetings(b, db, n, func(int) time.Time { return from.Add(rand.N(span)) })
		})
		before := p.resident(b)
		late := p.startsLate(b, n, from, span)
		tell("... while 100,000 mails wait for a server that accepts one a second", late.String()+
			fmt.Sprintf("; resident memory %d MB before, %d MB after", before>>20, p.resident(b)>>20), "within 100 ms, memory flat", "")
	})
	b.Run("while the reminders of 100000 meetings change", func(b *testing.B) {
		const booked = 100_000
		var from time.Time
		p := start(b, func(db *pgxpool.Pool) {
			from = time.Now().Add(40 * time.Second)
			meetings(b, db, n+booked, func(i int) time.Time {
				if i < n {
					return from.Add(rand.N(span))
				}
				return from.Add(48*time.Hour + rand.N(720*time.Hour))
			})
			exec(b, db, `UPDATE meetings SET default_reminders = true WHERE starts_at > $1`, from.Add(time.Hour))
			exec(b, db, `INSERT INTO meeting_reminders (meeting_id, before, offset_seconds, channels, due_at)
				SELECT id, x.before, x.s, '["email"]', CASE x.before WHEN 'start' THEN starts_at ELSE ends_at END - x.s * interval '1 second'
				FROM meetings, (VALUES ('start', 900), ('end', 300)) AS x (before, s) WHERE default_reminders`) // as config.yaml has them
		})
		if time.Now().After(from) {
			b.Fatal("the set-up took too long")
		}
		time.Sleep(time.Until(from))
		p.Configure(b, p.Config(b)+"booking: { reminders: [{ before: start, offset: 1h, channels: [email] }] }\n")
		late := p.startsLate(b, n, from, span)
		changed := query[int64](b, p.db, `SELECT count(*) FROM meeting_reminders WHERE offset_seconds = 3600`)
		if changed == 0 || changed == booked {
			b.Fatalf("%d meetings had the new reminders when the last one started", changed)
		}
		tell("... while `booking.reminders` changes for 100,000 booked meetings", late.String(), "p99 <= 30 ms", "")
	})
}

func (p *product) startsLate(b *testing.B, n int64, from time.Time, span time.Duration) spread {
	b.Helper()
	if time.Now().After(from.Add(time.Second)) {
		b.Fatal("the set-up took too long")
	}
	time.Sleep(time.Until(from.Add(span)))
	p.await(b, n, 20*time.Second)
	return report(b, "", p.started(b))
}

// BenchmarkStartBurst lets 100,000 meetings start at one instant. Floor: the same rows changed
// and their history written by one statement in this run's database.
func BenchmarkStartBurst(b *testing.B) {
	const n = 100_000
	var from time.Time
	p := start(b, func(db *pgxpool.Pool) {
		from = time.Now().Add(40 * time.Second)
		meetings(b, db, n, func(int) time.Time { return from })
	})
	if time.Now().After(from.Add(-3 * time.Second)) {
		b.Fatal("the set-up took too long")
	}
	time.Sleep(time.Until(from))
	p.await(b, n, 60*time.Second)
	last := slices.Max(p.started(b))
	if h := query[int64](b, p.db, `SELECT count(*) FROM history WHERE action = 'started'`); h != n {
		b.Errorf("%d history rows, want %d", h, n)
	}
	p.Stop()
	exec(b, p.db, `UPDATE meetings SET status = 'confirmed', started_at = NULL`)
	exec(b, p.db, `ALTER TABLE history DISABLE TRIGGER USER`) // or nothing can be deleted
	exec(b, p.db, `DELETE FROM history WHERE action = 'started'`)
	exec(b, p.db, `VACUUM ANALYZE`)
	begin := time.Now()
	exec(b, p.db, `WITH m AS (UPDATE meetings SET status = 'in_progress', started_at = now(), version = version + 1 RETURNING id)
		INSERT INTO history (meeting_id, at, action, actor_kind, actor_name) SELECT id, now(), 'started', 'timer', 'meeting.start' FROM m`)
	floor := time.Since(begin)
	b.ReportMetric(last.Seconds(), "s/100k")
	b.ReportMetric(floor.Seconds(), "floor-s/100k")
	b.ReportMetric(0, "ns/op")
	tell("100,000 meetings start at one instant, with history", fmt.Sprintf("%.1f s", last.Seconds()), "<= 3 s",
		fmt.Sprintf("one SQL statement for all: %.1f s, %.2f times", floor.Seconds(), last.Seconds()/floor.Seconds()))
}

// BenchmarkIdle measures what a process and Redis cost while 100,000 messages wait, over a
// minute: so each pass of the loader is part of it.
func BenchmarkIdle(b *testing.B) {
	const n, span = 100_000, time.Minute
	var from time.Time
	p := startWith(b, testenv.Config{Env: []string{"PUNCTUAL_QUEUE_HORIZON=5m"}}, func(db *pgxpool.Pool) {
		from = time.Now().Add(4 * time.Minute)
		meetings(b, db, n, func(i int) time.Time { return from.Add(time.Duration(i) * time.Microsecond) })
	})
	for p.waiting(b) < n {
		time.Sleep(100 * time.Millisecond)
	}
	time.Sleep(3 * time.Second) // for what a start still has to do
	calls, cpu, redisCPU := p.calls(b), p.cpu(b), p.redisCPU(b)
	time.Sleep(span)
	rate := float64(p.calls(b)-calls) / span.Seconds()
	share, redisShare := 100*(p.cpu(b)-cpu).Seconds()/span.Seconds(), 100*(p.redisCPU(b)-redisCPU)/span.Seconds()
	b.ReportMetric(rate, "redis-calls/s")
	b.ReportMetric(share, "%core")
	b.ReportMetric(redisShare, "redis-%core")
	b.ReportMetric(0, "ns/op")
	if time.Now().After(from.Add(-time.Minute)) {
		b.Fatal("it was not idle: the meetings are about to start")
	}
	tell("idle with 100,000 waiting", fmt.Sprintf("%.1f calls to Redis a second, %.2f %% of a core; Redis %.2f %%", rate, share, redisShare),
		"<= 5, <= 0.3 %, <= 0.3 %", "")
}

// redisCPU is the processor time Redis has used, in seconds.
func (p *product) redisCPU(b *testing.B) (s float64) {
	b.Helper()
	info, err := p.redis.Info(b.Context(), "cpu").Result()
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(info) {
		name, v, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name == "used_cpu_sys" || name == "used_cpu_user" {
			f, err := strconv.ParseFloat(v, 64)
			if err != nil {
				b.Fatal(err)
			}
			s += f
		}
	}
	return s
}

// resident is the memory that the program has from the system.
func (p *product) resident(b *testing.B) int64 {
	b.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID()))
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	kb, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	if err != nil {
		b.Fatal(err)
	}
	return kb << 10
}

func (p *product) waiting(b *testing.B) (n int64) {
	b.Helper()
	keys, err := p.redis.Keys(b.Context(), "*:w:meeting.start").Result()
	if err != nil {
		b.Fatal(err)
	}
	for _, k := range keys {
		n += p.redis.ZCard(b.Context(), k).Val()
	}
	return n
}

// calls counts what clients sent to Redis, without what scripts call inside and our own INFO.
func (p *product) calls(b *testing.B) (n int64) {
	b.Helper()
	info, err := p.redis.Info(b.Context(), "commandstats").Result()
	if err != nil {
		b.Fatal(err)
	}
	for line := range strings.Lines(info) {
		name, rest, ok := strings.Cut(strings.TrimPrefix(line, "cmdstat_"), ":calls=")
		inScript := map[string]bool{
			"zadd": true, "zrem": true, "zrange": true, "zrangebyscore": true, "zmscore": true, "hset": true, "hget": true, "hmget": true,
			"hdel": true, "time": true, "spublish": true, "publish": true, "zcard": true, "info": true, "keys": true,
		}
		if !ok || inScript[name] {
			continue
		}
		c, _, _ := strings.Cut(rest, ",")
		v, err := strconv.ParseInt(c, 10, 64)
		if err != nil {
			b.Fatal(err)
		}
		n += v
	}
	return n
}

// cpu is the processor time the program has used.
func (p *product) cpu(b *testing.B) time.Duration {
	b.Helper()
	return cpuOf(b, p.ServerInstance)
}

// postgresCPU is the processor time that the server's processes have used.
func (p *product) postgresCPU(b *testing.B) (total time.Duration) {
	b.Helper()
	rows, _ := p.db.Query(b.Context(), `SELECT pid FROM pg_stat_activity`)
	pids, err := pgx.CollectRows(rows, pgx.RowTo[int])
	if err != nil {
		b.Fatal(err)
	}
	for _, pid := range pids {
		used, _ := processorTime(pid) // none, if it has ended since
		total += used
	}
	return total
}

// cpuOf is the processor time that a program has used so far.
func cpuOf(b *testing.B, s *testenv.ServerInstance) time.Duration {
	b.Helper()
	used, err := processorTime(s.PID())
	if err != nil {
		b.Fatal(err)
	}
	return used
}

// processorTime is what a process has used so far, endedTime what its children have that have ended.
func processorTime(pid int) (time.Duration, error) { return timeOf(pid, 11) } // utime, stime
func endedTime(pid int) (time.Duration, error)     { return timeOf(pid, 13) } // cutime, cstime

func timeOf(pid, field int) (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	f := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	return ticks(f[field : field+2])
}

// ticks adds up times in hundredths of a second, as Linux counts them.
func ticks(numbers []string) (d time.Duration, err error) {
	for _, s := range numbers {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return 0, err
		}
		d += time.Duration(n) * 10 * time.Millisecond
	}
	return d, nil
}

// BenchmarkBookings books single slots by POST /meetings from 16 clients for some seconds.
// Floor: 16 raw pgx connections insert the same rows, each booking one transaction.
func BenchmarkBookings(b *testing.B) {
	const rooms, clients, each = 200, 16, 400
	p := start(b, func(db *pgxpool.Pool) {
		exec(b, db, `INSERT INTO rooms (name, created_at, updated_at) SELECT 'Room ' || i, now(), now() FROM generate_series(1, $1) i`, rooms)
	})
	day := time.Now().UTC().Truncate(24 * time.Hour).Add(48 * time.Hour)
	slot := func(i int) (room int64, start time.Time) {
		return int64(i%rooms) + 1, day.Add(time.Duration(i/rooms) * 15 * time.Minute)
	}
	requests := make([][]byte, clients*each)
	for i := range requests {
		room, at := slot(i)
		requests[i] = p.request(b, "/meetings", testenv.Booking(at, at.Add(15*time.Minute), []int64{room}))
	}
	var next atomic.Int64
	var mu sync.Mutex
	var took []time.Duration
	all := together(clients, func() {
		c, answers := p.dial(b)
		for range each {
			request := requests[next.Add(1)-1]
			begin := time.Now()
			status, _, err := exchange(c, answers, request)
			d := time.Since(begin)
			if err != nil || status != http.StatusCreated {
				b.Errorf("booking: %v, %d", err, status)
				return
			}
			mu.Lock()
			took = append(took, d)
			mu.Unlock()
		}
	})
	rate := float64(len(took)) / all.Seconds()
	late := report(b, "", took)
	p.Stop()

	floor := float64(clients*each) / p.rawBookings(b, clients, each, slot).Seconds()
	b.ReportMetric(rate, "bookings/s")
	b.ReportMetric(rate/floor, "of-floor")
	tell("bookings by `POST /meetings`, 16 clients", count(rate)+" per s; "+late.String(), ">= 0.60 of the floor, p99 <= 50 ms",
		fmt.Sprintf("raw pgx, the same rows: %s per s; %.2f of it", count(floor), rate/floor))
}

// dial connects to the program's port.
func (p *product) dial(b *testing.B) (net.Conn, *bufio.Reader) {
	c, err := net.Dial("tcp", strings.TrimPrefix(p.URL, "http://"))
	if err != nil {
		b.Error(err)
		runtime.Goexit()
	}
	b.Cleanup(func() { c.Close() })
	return c, bufio.NewReader(c)
}

// request is a POST as it goes over the wire. The client of the measurement is to cost
// little, for it shares the machine with what it measures.
func (p *product) request(b *testing.B, path string, body any) []byte {
	b.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		b.Fatal(err)
	}
	return fmt.Appendf(nil, "POST /api/v1%s HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer %s\r\n"+
		"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", path, p.admin.Token, len(text), text)
}

// exchange sends a request over a connection that is kept, and reads the whole answer.
func exchange(c net.Conn, answers *bufio.Reader, request []byte) (status int, body []byte, err error) {
	if _, err := c.Write(request); err != nil {
		return 0, nil, err
	}
	res, err := http.ReadResponse(answers, nil)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	body, err = io.ReadAll(res.Body)
	return res.StatusCode, body, err
}

// together runs f n times side by side and tells how long that took.
func together(n int, f func()) time.Duration {
	begin := time.Now()
	var wg sync.WaitGroup
	for range n {
		wg.Go(f)
	}
	wg.Wait()
	return time.Since(begin)
}

// rawBookings repeats, for other days, the rows that one booking wrote.
func (p *product) rawBookings(b *testing.B, clients, each int, slot func(i int) (int64, time.Time)) time.Duration {
	b.Helper()
	var next atomic.Int64
	return together(clients, func() {
		conn, err := p.db.Acquire(context.Background())
		if err != nil {
			b.Error(err)
			return
		}
		defer conn.Release()
		for range each {
			room, at := slot(int(next.Add(1) - 1))
			if err := rawBooking(conn.Conn(), room, at.Add(30*24*time.Hour)); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

func rawBooking(c *pgx.Conn, room int64, at time.Time) error {
	ctx := context.Background()
	end, now := at.Add(15*time.Minute), time.Now()
	return pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
		var id int64
		err := tx.QueryRow(ctx, `INSERT INTO meetings (title, starts_at, ends_at, timezone, organizer_id, status, visibility, default_reminders, created_at, updated_at)
			VALUES ('Raw', $1, $2, 'UTC', 1, 'confirmed', 'public', true, $3, $3) RETURNING id`, at, end, now).Scan(&id)
		if err != nil {
			return err
		}
		for _, s := range []struct {
			sql  string
			args []any
		}{
			{`INSERT INTO meeting_rooms (meeting_id, room_id, position) VALUES ($1, $2, 0)`, []any{id, room}},
			{`INSERT INTO occupancies (meeting_id, room_id, starts_at, ends_at) VALUES ($1, $2, $3, $4)`, []any{id, room, at, end}},
			{`INSERT INTO meeting_reminders (meeting_id, before, offset_seconds, channels, due_at) VALUES
				($1, 'start', 900, '["email"]', $2), ($1, 'end', 300, '["email"]', $3)`, []any{id, at.Add(-15 * time.Minute), end.Add(-5 * time.Minute)}},
			{`INSERT INTO history (meeting_id, at, action, actor_kind, actor_id, actor_name) VALUES ($1, $2, 'created', 'user', 1, 'Raw')`, []any{id, now}},
		} {
			if _, err := tx.Exec(ctx, s.sql, s.args...); err != nil {
				return err
			}
		}
		return nil
	})
}
