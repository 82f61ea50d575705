package tests

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"punctual/tests/audit"
	"punctual/tests/testenv"
)

// TestScale_workersJoinAndLeave: workers start, stop and are killed while meetings begin and
// end and mails go out. Everything happens once, and soon.
func TestScale_workersJoinAndLeave(t *testing.T) {
	t.Parallel()
	const meetings, ends, spread = 200, 40, 12 * time.Second
	on := onServers(t)
	on.Role = "api"
	w := newWorld(t, on, 1, nil)
	config := w.on.Config
	config.Role, config.NoAdmin = "worker", true
	var workers []*testenv.ServerInstance
	join := func() {
		s := testenv.PrepareServer(t, config)
		s.StartOnly(t)
		workers = append(workers, s)
	}
	join()
	join()
	w.each(ends, func(c *testenv.Client, i int) error { // they have begun by the time that others begin
		var room testenv.Room
		if err := create(c, "/rooms", with{"name": fmt.Sprint("Busy ", i)}, &room); err != nil {
			return err
		}
		end := inSeconds(14).Add(spread * time.Duration(i) / ends)
		return create(c, "/meetings", testenv.Booking(inSeconds(0), end, []int64{room.ID}), &testenv.Meeting{})
	})
	over := inSeconds(14).Add(spread) // all of them
	begin := w.crowd(meetings, 10, spread, time.Hour)
	if w.last = begin.Add(spread); over.After(w.last) {
		w.last = over
	}

	kills := 0
	for step := range 10 {
		time.Sleep(time.Until(begin.Add(time.Duration(step) * spread / 10)))
		join()
		oldest := workers[0]
		workers = workers[1:]
		if step%2 == 0 {
			oldest.Kill()
			kills++
			continue
		}
		if err := oldest.AwaitReady(); err != nil { // before, it does not know what SIGTERM means
			t.Fatal(err)
		}
		if code := oldest.Stop(); code != 0 {
			t.Errorf("a worker that was told to leave ended with %d", code)
		}
	}
	// A mail is sent again if its sender was killed between the server's answer and its record.
	r := w.caughtUp(2*slack, 4*kills)
	if n := len(r.Began) + r.Never; r.Meetings != meetings+ends || n != meetings+ends || len(r.Ended) != ends {
		t.Errorf("%d meetings, of which %d began or were over by then, and %d ended", r.Meetings, n, len(r.Ended))
	}
	if p50 := audit.Percentile(r.Began, .5); p50 > machine/2 {
		t.Errorf("half of the meetings began more than %v late", p50)
	}
	if most := audit.Percentile(r.Began, 1); most > takeover {
		t.Errorf("a meeting began %v late, more than a killed worker costs", most)
	}
	w.wantSound()
}

// TestScale_slowMail: a mail server that takes one mail a second holds up mails and nothing
// else: with thousands queued, meetings begin on time, and the process holds no more of the
// mails than it has senders for.
func TestScale_slowMail(t *testing.T) {
	t.Parallel()
	const queued, senders, meetings = 5000, 4, 50
	on := onServers(t)
	on.Jobs = fmt.Sprintf("{ notify.email: { concurrency: %d } }", senders)
	w := newWorld(t, on, 1, nil)
	server := w.servers[0]
	w.crowd(meetings, 15, 6*time.Second, time.Hour)
	eventually(t, time.Now().Add(slack), "the mails of the bookings", func() bool { return len(w.mail.Messages()) >= meetings })
	oneASecond(w.mail)

	db := connect(t, w.database)
	_, err := db.Exec(t.Context(), `INSERT INTO notifications (dedupe_key, kind, channel, meeting_id, name, address, locale, timezone, facts, due_at, created_at, updated_at)
		SELECT 'slow:' || i, kind, channel, meeting_id, name, 'guest' || i || '@example.org', locale, timezone, facts, now(), now(), now()
		FROM (SELECT * FROM notifications ORDER BY id LIMIT 1) one, generate_series(1, $1) i`, queued)
	if err != nil {
		t.Fatal(err)
	}
	waiting := func() (delayed, ready, reserved int) {
		t.Helper()
		var jobs []struct {
			Job                      string
			Delayed, Ready, Reserved int
		}
		if err := json.Unmarshal([]byte(command(t, server, 0, "queue", "stats", "--json")), &jobs); err != nil {
			t.Fatal(err)
		}
		for _, j := range jobs {
			if j.Job == "notify.email" {
				return j.Delayed, j.Ready, j.Reserved
			}
		}
		return 0, 0, 0
	}
	eventually(t, time.Now().Add(slack), "the mails queued", func() bool { _, ready, _ := waiting(); return ready > queued*9/10 })
	eventually(t, time.Now().Add(slack), "few mails claimed, now that the server is slow", func() bool { _, _, reserved := waiting(); return reserved <= senders+1 })
	before := resident(t, server)
	for time.Now().Before(w.last.Add(-time.Hour)) {
		if _, _, reserved := waiting(); reserved > senders+1 {
			t.Fatalf("%d mails are claimed for %d senders", reserved, senders)
		}
		time.Sleep(500 * time.Millisecond)
	}
	eventually(t, time.Now().Add(slack), "all meetings begun", func() bool {
		r, err := audit.Database(t.Context(), db)
		return err == nil && len(r.Began) == meetings
	})
	r, err := audit.Database(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	_, ready, _ := waiting()
	t.Logf("with %d mails waiting %d meetings began p50 %v, max %v late; memory %d to %d MB", ready, meetings,
		audit.Percentile(r.Began, .5), audit.Percentile(r.Began, 1), before>>20, resident(t, server)>>20)
	if ready < queued/2 {
		t.Errorf("%d mails are left: the server was not slow", ready)
	}
	if p50 := audit.Percentile(r.Began, .5); p50 > machine/2 {
		t.Errorf("half of the meetings began more than %v late", p50)
	}
	if grown := resident(t, server) - before; grown > 64<<20 {
		t.Errorf("the process grew by %d MB", grown>>20)
	}
}

// oneASecond makes a mail server accept one mail a second, however many connections there are.
func oneASecond(s *testenv.MailServer) {
	var mu sync.Mutex
	next := time.Now()
	s.OnData(func(testenv.Message) testenv.Answer {
		mu.Lock()
		defer mu.Unlock()
		if now := time.Now(); next.Before(now) {
			next = now
		}
		next = next.Add(time.Second)
		return testenv.Answer{Wait: time.Until(next)}
	})
}

// resident is the memory that a process has from the system.
func resident(t *testing.T, s *testenv.ServerInstance) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.PID()))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	kb, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return kb << 10
}
