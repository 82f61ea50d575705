package soak

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"punctual/tests/testenv"
)

const (
	processes = 3
	rooms     = 60
	sending   = 4 // mails at once, of each process
)

// installation is three processes on one Postgres and one Redis, each with a network of its own.
type installation struct {
	pg       *testenv.PostgresInstance
	redis    *testenv.RedisInstance
	mail     *testenv.MailServer
	servers  []*testenv.ServerInstance
	toPg     []*testenv.Proxy
	toRedis  []*testenv.Proxy
	database string // URL, past the proxies
	admin    *testenv.Client

	mu   sync.Mutex
	last time.Time // when the last thing that was asked for is over
}

func install(t *testing.T) *installation {
	i := &installation{pg: testenv.PostgresServer(t, testenv.Volatile), redis: testenv.RedisServer(t), mail: testenv.Mail(t)}
	i.database = i.pg.Database(t)
	// A commit is there after a restart, as in life.
	if _, err := i.connect(t).Exec(t.Context(), `DO $$ BEGIN EXECUTE 'ALTER DATABASE ' || current_database() || ' SET synchronous_commit = on'; END $$`); err != nil {
		t.Fatal(err)
	}
	for range processes {
		pg, redis := testenv.NewProxy(t, testenv.Host(t, i.database)), testenv.NewProxy(t, i.redis.Addr())
		s := testenv.PrepareServer(t, testenv.Config{
			Database: pg.Before(t, i.database), Queue: redis.Before(t, i.redis.URL()), Mail: i.mail,
			LoadEvery: 5 * time.Second, Jobs: fmt.Sprintf("{ notify.email: { concurrency: %d } }", sending),
		})
		i.toPg, i.toRedis, i.servers = append(i.toPg, pg), append(i.toRedis, redis), append(i.servers, s)
		s.StartOnly(t)
	}
	for _, s := range i.servers {
		if err := s.AwaitReady(); err != nil {
			t.Fatal(err)
		}
	}
	i.admin = i.servers[0].Admin(t)
	return i
}

func (i *installation) connect(t *testing.T) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(t.Context(), i.database)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.WithoutCancel(t.Context())) })
	return c
}

// over notes that something that was asked for will be over at at.
func (i *installation) over(at time.Time) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if at.After(i.last) {
		i.last = at
	}
}

func (i *installation) lastEnd() time.Time {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.last
}

// chaos makes one fault after the other, with pauses, until end, and counts them. Afterwards all
// is well again underneath. The first process is never killed.
func (i *installation) chaos(t *testing.T, rnd *rand.Rand, end time.Time, pause time.Duration) map[string]int {
	t.Helper()
	some := func(ps []*testenv.Proxy) *testenv.Proxy { return ps[rnd.IntN(len(ps))] }
	during := func(p *testenv.Proxy, f testenv.Fault, d time.Duration) {
		p.Set(f)
		time.Sleep(d)
		if f.Vanish || f.Refuse {
			p.Reset()
		}
		p.Set(testenv.Fault{})
	}
	faults := []struct {
		name string
		do   func()
	}{
		{"process killed", func() {
			s := i.servers[1+rnd.IntN(processes-1)]
			s.Kill()
			time.Sleep(time.Duration(rnd.IntN(1000)) * time.Millisecond)
			s.Start(t)
		}},
		{"process frozen", func() {
			s := i.servers[rnd.IntN(processes)]
			s.Freeze()
			time.Sleep(time.Duration(500+rnd.IntN(3500)) * time.Millisecond)
			s.Thaw()
		}},
		{"redis flushed", func() { i.redis.Do(t, "FLUSHALL") }},
		{"redis killed", func() {
			i.redis.Kill()
			time.Sleep(time.Duration(rnd.IntN(2000)) * time.Millisecond)
			i.redis.Start(t)
		}},
		{"redis paused", func() { i.redis.Do(t, "CLIENT", "PAUSE", 500+rnd.IntN(2000), "ALL") }},
		{"redis subscriptions killed", func() { i.redis.Do(t, "CLIENT", "KILL", "TYPE", "pubsub") }},
		{"postgres restarted", func() {
			i.pg.Kill()
			time.Sleep(time.Duration(rnd.IntN(1500)) * time.Millisecond)
			i.pg.Start(t)
		}},
		{"answers of redis lost", func() { some(i.toRedis).Cut(rnd.IntN(40)) }},
		{"answers of postgres lost", func() { some(i.toPg).Cut(rnd.IntN(40)) }},
		{"connections reset", func() { some(i.toRedis).Reset(); some(i.toPg).Reset() }},
		{"cut off from redis", func() {
			during(some(i.toRedis), testenv.Fault{Vanish: true}, time.Duration(500+rnd.IntN(4500))*time.Millisecond)
		}},
		{"cut off from postgres", func() {
			during(some(i.toPg), testenv.Fault{Vanish: true}, time.Duration(500+rnd.IntN(4500))*time.Millisecond)
		}},
		{"slow network", func() {
			during(some(i.toRedis), testenv.Fault{Latency: time.Duration(rnd.IntN(200)) * time.Millisecond}, 2*time.Second)
		}},
	}
	counts := map[string]int{}
	for time.Now().Before(end) {
		f := faults[rnd.IntN(len(faults))]
		counts[f.name]++
		f.do()
		time.Sleep(min(time.Until(end), pause/2+upTo(rnd, pause)))
	}
	return counts
}

// upTo is a random duration below d.
func upTo(rnd *rand.Rand, d time.Duration) time.Duration { return time.Duration(rnd.Int64N(int64(d))) }

// sample is how large a process is.
type sample struct{ goroutines, heap, resident float64 }

func (s sample) String() string {
	return fmt.Sprintf("%.0f goroutines, heap %.0f MB, resident %.0f MB", s.goroutines, s.heap/(1<<20), s.resident/(1<<20))
}

func (i *installation) sample(t *testing.T) []sample {
	t.Helper()
	all := make([]sample, len(i.servers))
	for k, s := range i.servers {
		res, err := s.Anonymous().Try("GET", s.URL+"/metrics", nil)
		if err != nil {
			t.Errorf("metrics of process %d: %v", k, err)
			continue
		}
		metric := func(name string) float64 {
			for line := range bytes.Lines(res.Body) {
				if v, ok := strings.CutPrefix(string(line), name+" "); ok {
					f, _ := strconv.ParseFloat(strings.TrimSpace(v), 64)
					return f
				}
			}
			t.Errorf("process %d has no metric %s", k, name)
			return 0
		}
		all[k] = sample{metric("go_goroutines"), metric("go_memstats_heap_inuse_bytes"), metric("process_resident_memory_bytes")}
	}
	return all
}

// command runs the program beside the first process.
func (i *installation) command(t *testing.T, args ...string) (string, error) {
	t.Helper()
	s := i.servers[0]
	out, err := s.Command(t, append(args, "--config", s.ConfigFile())...).CombinedOutput()
	return string(out), err
}

// stat is what is in the queue of one job.
type stat struct {
	Job                            string
	Delayed, Ready, Reserved, Dead int
}

// unfinished returns the jobs with due, leased or dead messages.
func (i *installation) unfinished(t *testing.T) []stat {
	t.Helper()
	out, err := i.command(t, "queue", "stats", "--json")
	if err != nil {
		t.Errorf("queue stats: %v\n%s", err, out)
		return nil
	}
	var all []stat
	if err := json.Unmarshal([]byte(out), &all); err != nil {
		t.Errorf("queue stats: %v\n%s", err, out)
	}
	return slices.DeleteFunc(all, func(s stat) bool { return s.Ready+s.Reserved+s.Dead == 0 })
}
