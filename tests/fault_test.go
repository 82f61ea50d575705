package tests

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"punctual/tests/audit"
	"punctual/tests/testenv"
)

// machine is how much later than it must something may be because the machine is busy.
const machine = 30 * time.Second

// world is an installation to which faults happen: servers of its own and a crowd of meetings
// whose starts, ends and mails fall due meanwhile.
type world struct {
	t       *testing.T
	on      setup
	mail    *testenv.MailServer
	servers []*testenv.ServerInstance
	admin   *testenv.Client

	database string // its URL, past any proxy
	last     time.Time
}

// newWorld starts as many processes as asked, side by side. change may alter how they run.
func newWorld(t *testing.T, on setup, processes int, change func(c *testenv.Config)) *world {
	t.Helper()
	w := &world{t: t, on: on, mail: testenv.Mail(t), database: on.Database}
	w.on.Mail = w.mail
	if change != nil {
		change(&w.on.Config)
	}
	for range processes {
		s := testenv.PrepareServer(t, w.on.Config)
		s.StartOnly(t)
		w.servers = append(w.servers, s)
	}
	for _, s := range w.servers {
		if err := s.AwaitReady(); err != nil {
			t.Fatalf("server: %v", err)
		}
	}
	w.admin = w.servers[0].Admin(t)
	return w
}

// ownPostgres is a setup on a Postgres that the test may restart. A commit is there after it.
func ownPostgres(t *testing.T) (setup, *testenv.PostgresInstance) {
	t.Helper()
	pg, redis := testenv.PostgresServer(t, testenv.Volatile), testenv.RedisServer(t)
	url := pg.Database(t)
	c := connect(t, url)
	if _, err := c.Exec(t.Context(), `DO $$ BEGIN EXECUTE 'ALTER DATABASE ' || current_database() || ' SET synchronous_commit = on'; END $$`); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	return setup{Config: testenv.Config{Database: url, Queue: redis.URL()}, redis: redis}, pg
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = c.Close(ctx)
	})
	return c
}

// crowd books n meetings in rooms of their own, which start at equal distances from the returned
// time on and end after length. A second before the start two people are reminded of each. The
// first starts so many seconds ahead, or later where the machine needs longer to book them all.
func (w *world) crowd(n, seconds int, spread, length time.Duration) (start time.Time) {
	w.t.Helper()
	began := time.Now()
	rooms := make([]int64, n)
	w.each(n, func(c *testenv.Client, i int) error {
		var room testenv.Room
		err := create(c, "/rooms", with{"name": fmt.Sprint("Room ", i, " of ", began)}, &room)
		rooms[i] = room.ID
		return err
	})
	start = inSeconds(max(seconds, int(8*time.Since(began)/time.Second))) // a booking takes some twice as long as a room
	w.each(n, func(c *testenv.Client, i int) error {
		at := start.Add(spread * time.Duration(i) / time.Duration(n))
		return create(c, "/meetings", testenv.Booking(at, at.Add(length), rooms[i:i+1], with{
			"attendees": []any{with{"email": fmt.Sprintf("guest%d@example.org", i), "name": "Guest"}},
			"reminders": []any{reminder("start", time.Second, "email")},
		}), &testenv.Meeting{})
	})
	w.last = start.Add(spread + length)
	return start
}

// each does something n times, six at a time, spread over the servers.
func (w *world) each(n int, do func(c *testenv.Client, i int) error) {
	w.t.Helper()
	var wg sync.WaitGroup
	next := make(chan int)
	for k := range 6 {
		c := w.admin.At(w.servers[k%len(w.servers)])
		wg.Go(func() {
			for i := range next {
				if err := do(c, i); err != nil {
					w.t.Error(err)
				}
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
	if w.t.Failed() {
		w.t.FailNow()
	}
}

func create(c *testenv.Client, path string, body, made any) error {
	res, err := c.Try(http.MethodPost, path, body)
	for deadline := time.Now().Add(slack); err == nil && res.Status == http.StatusServiceUnavailable && time.Now().Before(deadline); { // where statements are bounded
		time.Sleep(100 * time.Millisecond)
		res, err = c.Try(http.MethodPost, path, body)
	}
	if err != nil {
		return fmt.Errorf("POST %s: %w", path, err)
	}
	if res.Status != http.StatusCreated {
		return fmt.Errorf("POST %s: %d %s", path, res.Status, res.Body)
	}
	return res.Decode(made)
}

// traffic is what people do meanwhile: it books and reads until stopped.
type traffic struct {
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu      sync.Mutex
	answers map[int]int // by status; 0: none
	longest time.Duration
	text    []string // of what was neither success nor told to come again
}

func (w *world) traffic() *traffic {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	tr := &traffic{cancel: cancel, answers: map[int]int{}}
	room := w.admin.NewRoom(w.t, "Traffic")
	w.t.Cleanup(tr.stop)
	base := inSeconds(7200)
	var n int
	for k := range 3 {
		c := w.admin.At(w.servers[k%len(w.servers)])
		tr.wg.Go(func() {
			for ctx.Err() == nil {
				tr.mu.Lock()
				n++
				start := base.Add(time.Duration(n) * time.Minute)
				tr.mu.Unlock()
				tr.send(c, http.MethodPost, "/meetings", testenv.Booking(start, start.Add(time.Minute), []int64{room.ID}))
				tr.send(c, http.MethodGet, "/meetings?limit=5", nil)
				time.Sleep(30 * time.Millisecond)
			}
		})
	}
	return tr
}

func (tr *traffic) send(c *testenv.Client, method, path string, body any) {
	begin := time.Now()
	res, err := c.Try(method, path, body)
	took := time.Since(begin)
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.longest = max(tr.longest, took)
	if err != nil {
		tr.answers[0]++
		tr.text = append(tr.text, err.Error())
		return
	}
	tr.answers[res.Status]++
	comeAgain := res.Status == http.StatusServiceUnavailable || res.Status == http.StatusTooManyRequests && res.Header.Get("Retry-After") != ""
	if res.Status >= 300 && !comeAgain { // a stalled Redis keeps places of requests for a lease, see redislimit.Places
		tr.text = append(tr.text, fmt.Sprintf("%s %s: %d %s", method, path, res.Status, res.Body))
	}
}

func (tr *traffic) stop() {
	tr.cancel()
	tr.wg.Wait()
}

// wantOnly fails unless every request succeeded or was told to come again.
func (tr *traffic) wantOnly(t *testing.T) {
	t.Helper()
	tr.stop()
	t.Logf("requests by status: %v, the longest took %v", tr.answers, tr.longest.Round(time.Millisecond))
	if len(tr.text) > 0 {
		slices.Sort(tr.text)
		t.Errorf("%d requests neither succeeded nor were told to come again, such as %s", len(tr.text), tr.text[0])
	}
}

// caughtUp waits until nothing that is due is left and fails unless that is so in time; then
// nothing may have gone wrong: nothing twice or early, no dead letter, no mail lost, and none
// sent again but those that twice allows. It returns what it saw.
func (w *world) caughtUp(within time.Duration, twice int) *audit.Report {
	w.t.Helper()
	c := connect(w.t, w.database)
	deadline := time.Now().Add(within)
	if last := w.last.Add(within); last.After(deadline) {
		deadline = last
	}
	var r *audit.Report
	for {
		var err error
		if r, err = audit.Database(w.t.Context(), c); err != nil {
			w.t.Fatal(err)
		}
		if len(r.Open) == 0 && !time.Now().Before(w.last) {
			break
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("%d things are not done until %s, such as: %s", len(r.Open), deadline.Format(time.TimeOnly), r.Open[0])
		}
		time.Sleep(50 * time.Millisecond)
	}
	if len(r.Faults) > 0 {
		w.t.Errorf("%d faults, such as: %s", len(r.Faults), strings.Join(r.Faults[:min(5, len(r.Faults))], "\n"))
	}
	lost, again, err := audit.Mails(w.t.Context(), c, w.mail.Counts())
	if err != nil {
		w.t.Fatal(err)
	}
	if len(lost) > 0 {
		w.t.Errorf("%d mails are recorded as sent and never arrived, such as %s", len(lost), lost[0])
	}
	if n := len(again); n > twice {
		w.t.Errorf("%d mails came more than once, want at most %d: %v", n, twice, slices.Collect(maps.Keys(again)))
	}
	w.t.Logf("%d meetings (%d never began), %d notifications sent, %d of them again, %d too late; starts p50 %v, p99 %v, max %v late; ends max %v",
		r.Meetings, r.Never, r.Sent, len(again), r.TooLate, audit.Percentile(r.Began, .5).Round(time.Millisecond), audit.Percentile(r.Began, .99).Round(time.Millisecond),
		audit.Percentile(r.Began, 1).Round(time.Millisecond), audit.Percentile(r.Ended, 1).Round(time.Millisecond))
	return r
}

// wantUncharged fails if an attempt was charged for the outage: a failure that is the
// message's own is logged.
func (w *world) wantUncharged() {
	w.t.Helper()
	for _, s := range w.servers {
		for line := range strings.Lines(s.Log()) {
			if strings.Contains(line, "job failed, retrying") || strings.Contains(line, "dead letter") {
				w.t.Errorf("charged for an outage: %s", line)
				return
			}
		}
	}
}

// wantSound fails if the queue breaks its invariants.
func (w *world) wantSound() {
	w.t.Helper()
	wantSound(w.t, w.servers[0])
}

// wantSound fails if the queue of a server breaks its invariants for long: a lease that ended in
// an outage is taken over once the consumers have noticed that it is past.
func wantSound(t *testing.T, server *testenv.ServerInstance) {
	t.Helper()
	for deadline := time.Now().Add(slack); ; time.Sleep(100 * time.Millisecond) {
		out, err := server.Command(t, "queue", "check", "--config", server.ConfigFile()).CombinedOutput()
		if err == nil && strings.Contains(string(out), "invariants of the queue hold") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("queue check: %v\n%s", err, out)
		}
	}
}
