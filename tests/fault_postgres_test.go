package tests

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"punctual/tests/audit"
	"punctual/tests/testenv"
)

// TestFault_postgresRestarts: Postgres dies and comes back while a crowd of meetings begins.
// That is nobody's fault: no attempt is charged, and nothing is lost or done twice.
func TestFault_postgresRestarts(t *testing.T) {
	t.Parallel()
	on, pg := ownPostgres(t)
	w := newWorld(t, on, 2, nil)
	start := w.crowd(90, 6, 4*time.Second, 4*time.Second)
	traffic := w.traffic()
	time.Sleep(time.Until(start.Add(500 * time.Millisecond)))
	pg.Restart(t)
	time.Sleep(time.Until(start.Add(2 * time.Second)))
	pg.Kill()
	time.Sleep(time.Second)
	pg.Start(t)
	// A mail that was accepted at the very moment of the fall may be on its way twice.
	w.caughtUp(slack, 0)
	traffic.wantOnly(t)
	w.wantUncharged()
	w.wantSound()
}

// TestFault_tableLocked: somebody locks the table of meetings for as long as an index takes to
// build. What is due waits for it, and so do requests, or they are told to come again.
func TestFault_tableLocked(t *testing.T) {
	t.Parallel()
	w := newWorld(t, onServers(t), 2, nil)
	start := w.crowd(50, 4, 2*time.Second, 8*time.Second)
	traffic := w.traffic()
	time.Sleep(time.Until(start.Add(500 * time.Millisecond)))
	lock(t, w.database, "LOCK TABLE meetings IN ACCESS EXCLUSIVE MODE", 6*time.Second)
	w.caughtUp(slack, 0)
	traffic.wantOnly(t)
	w.wantUncharged()
	w.wantSound()
}

// lock holds what a statement locks for so long.
func lock(t *testing.T, url, statement string, d time.Duration) {
	t.Helper()
	c := connect(t, url)
	tx, err := c.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
	time.Sleep(d)
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// TestFault_statementTimeout: where the administrator bounds statements or the wait for a
// lock, what is cut off is tried again uncharged, and requests are told to come again.
func TestFault_statementTimeout(t *testing.T) {
	t.Parallel()
	for _, setting := range []string{"statement_timeout", "lock_timeout"} {
		t.Run(setting, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, onServers(t), 1, func(c *testenv.Config) { c.Database += "&" + setting + "=4000" })
			start := w.crowd(40, 3, time.Second, 9*time.Second)
			traffic := w.traffic()
			time.Sleep(time.Until(start.Add(200 * time.Millisecond)))
			lock(t, w.database, "LOCK TABLE meetings IN ACCESS EXCLUSIVE MODE", 6*time.Second)
			w.caughtUp(slack, 0)
			traffic.wantOnly(t)
			w.wantUncharged()
		})
	}
}

// TestFault_outOfConnections: Postgres takes no more connections, and has ended those there were.
func TestFault_outOfConnections(t *testing.T) {
	t.Parallel()
	w := newWorld(t, onServers(t), 1, nil)
	slash, question := strings.LastIndexByte(w.database, '/'), strings.IndexByte(w.database, '?')
	name := w.database[slash+1 : question]
	c := connect(t, w.database[:slash+1]+"postgres"+w.database[question:])
	start := w.crowd(40, 3, 2*time.Second, 6*time.Second)
	traffic := w.traffic()
	time.Sleep(time.Until(start.Add(200 * time.Millisecond)))
	run := func(sql string) {
		t.Helper()
		if _, err := c.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	run(fmt.Sprintf("ALTER DATABASE %s ALLOW_CONNECTIONS false", name))
	run(fmt.Sprintf("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '%s'", name))
	time.Sleep(3 * time.Second)
	run(fmt.Sprintf("ALTER DATABASE %s ALLOW_CONNECTIONS true", name))
	w.caughtUp(slack, 0)
	traffic.wantOnly(t)
	w.wantUncharged()
}

// TestFault_loaderLockHeld: the lock that lets one process load belongs to a session that
// never ends its transaction. Loading goes on beside it.
func TestFault_loaderLockHeld(t *testing.T) {
	t.Parallel()
	w := newWorld(t, onServers(t), 2, func(c *testenv.Config) {
		c.LoadEvery = time.Second
		c.Env = []string{"PUNCTUAL_QUEUE_HORIZON=8s"}
	})
	c := connect(t, w.database)
	tx, err := c.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "SELECT pg_advisory_xact_lock($1)", 0x70756e6374); err != nil { // the loader's
		t.Fatal(err)
	}
	w.crowd(20, 13, time.Second, time.Second) // beyond the horizon: what is booked now is the loader's
	r := w.caughtUp(slack, 0)
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if late := audit.Percentile(r.Began, 1); late > slack {
		t.Errorf("a start was %v late", late)
	}
}

// TestFault_poolExhausted: more people than there are connections wait for one room, which a
// session that is stuck has locked. What is due does not wait with them.
func TestFault_poolExhausted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, onServers(t), 1, nil)
	room := w.admin.NewRoom(t, "Wanted")
	const meetings = 40
	start := w.crowd(meetings, 4, 3*time.Second, time.Minute)
	w.last = start.Add(3 * time.Second) // until all have begun
	c := connect(t, w.database)
	tx, err := c.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "SELECT FROM rooms WHERE id = $1 FOR UPDATE", room.ID); err != nil {
		t.Fatal(err)
	}
	var waiting sync.WaitGroup
	var free atomic.Bool
	for i := range 60 {
		begin := inSeconds(3600 * (i + 1))
		waiting.Go(func() {
			for ; !free.Load(); time.Sleep(100 * time.Millisecond) { // one that waited for too long is told to come again
				_, err := w.admin.Try("POST", "/meetings", testenv.Booking(begin, begin.Add(time.Minute), []int64{room.ID}))
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	looks := connect(t, w.database)
	eventually(t, start.Add(slack), "all have begun while bookings wait for the room", func() bool {
		var blocked int
		if err := looks.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'").Scan(&blocked); err != nil {
			t.Fatal(err)
		}
		r, err := audit.Database(t.Context(), looks)
		if err != nil {
			t.Fatal(err)
		}
		return blocked >= 4 && len(r.Began) == meetings
	})
	free.Store(true)
	if err := tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	waiting.Wait()
	w.caughtUp(slack, 0)
}

// TestFault_frozen: a process stands still in the middle of a transaction, as a machine does that
// is moved or swaps, with what it locked. Others have its work soon all the same; when it goes on
// it does so as if nothing had been.
func TestFault_frozen(t *testing.T) {
	t.Parallel()
	on := onServers(t)
	on.Mail, on.Tags = testenv.Mail(t), "failpoint"
	frozen := testenv.PrepareServer(t, on.Config)
	frozen.Setenv("FAILPOINT", "remind.middle")
	frozen.Setenv("FAILPOINT_FREEZES", "yes")
	frozen.Start(t)
	thaw := sync.OnceFunc(func() {
		if err := syscall.Kill(frozen.PID(), syscall.SIGCONT); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(thaw) // or it could not be stopped
	admin := frozen.Admin(t)
	room := admin.NewRoom(t, "Turing")
	due := inSeconds(15)        // a reminder whose time has passed when its meeting is booked is never sent
	start := due.Add(time.Hour) // late as the reminder comes, it is not too late
	admin.Book(t, testenv.Booking(start, start.Add(time.Hour), []int64{room.ID}, with{
		"attendees": []any{with{"email": "guest@example.org", "name": "Guest"}},
		"reminders": []any{reminder("start", time.Hour, "email")},
	}))
	eventually(t, due.Add(4*slack), "the process stands still", func() bool { return stopped(t, frozen.PID()) })
	since := time.Now()

	on.Config.NoAdmin = true
	other := testenv.Server(t, on.Config)
	admin = admin.At(other)
	eventually(t, since.Add(5*time.Second+4*slack), "the reminder is sent by another process", func() bool {
		return len(on.Mail.Where("guest@example.org", "reminder")) == 1
	})
	t.Logf("reminded %v after the other froze", time.Since(since).Round(time.Millisecond))

	thaw()
	thawed := time.Now()
	next := inSeconds(2)
	again := admin.At(frozen).Book(t, testenv.Booking(next, next.Add(time.Hour), []int64{admin.NewRoom(t, "Noether").ID}))
	eventually(t, next.Add(2*slack), "what is booked with it begins", func() bool { return len(entries(admin.History(t, again.ID), "started")) == 1 })
	t.Logf("what was booked with it began %v after it went on", time.Since(thawed).Round(time.Millisecond))
	wantNothingTwice(t, on.Mail)
	if n := len(on.Mail.Where("guest@example.org", "reminder")); n != 1 {
		t.Errorf("%d reminders", n)
	}
	wantSound(t, other)
}

// stopped tells whether a process stands still by SIGSTOP.
func stopped(t *testing.T, pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(rest, "T")
}
