package tests

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"punctual/tests/testenv"
)

// forOutages is a setup whose log tells who works from memory.
func forOutages(t *testing.T) setup {
	t.Helper()
	on := onServers(t)
	on.YAML = "log: { level: info }\n"
	on.LoadEvery = 15 * time.Second // the default: nothing depends on frequent passes
	return on
}

// worksFromMemory asks the gauge of an instance.
func worksFromMemory(t *testing.T, s *testenv.ServerInstance) bool {
	t.Helper()
	return bytes.Contains(s.Anonymous().Do(t, http.MethodGet, s.URL+"/metrics", nil).Body, []byte("\ndelayjob_fallback_active 1\n"))
}

// logLines counts the lines with a text over all instances.
func logLines(text string, servers ...*testenv.ServerInstance) (n int) {
	for _, s := range servers {
		n += strings.Count(s.Log(), text)
	}
	return n
}

const (
	tookOver   = "queue unavailable, working from memory"
	handedBack = "queue available again, fallback stopped"
)

// wantQuick fails if calls took long: whoever books does not wait for Redis. A single one may be
// slow because of the machine, but not all of them.
func wantQuick(t *testing.T, what string, calls int, call func(i int)) {
	t.Helper()
	begin := time.Now()
	for i := range calls {
		call(i)
	}
	limit := time.Duration(calls)*2500*time.Millisecond + slack/4 // 200 ms for the first, the rest is the machine's
	if took := time.Since(begin); took > limit {
		t.Errorf("%d times %s took %v without Redis, want at most %v", calls, what, took, limit)
	}
}

// TestFallback_burst: Redis dies while a meeting starts every third of a second, and comes
// back empty. Each starts once and in time, each reminder is sent once.
func TestFallback_burst(t *testing.T) {
	t.Parallel()
	const meetings, apart, outage = 50, 400 * time.Millisecond, 15 * time.Second
	on, mail := forOutages(t), testenv.Mail(t)
	on.Mail = mail
	worker := on.Config
	worker.Role = "worker"
	a := testenv.Server(t, on.Config)
	b := testenv.Server(t, worker)
	began := time.Now()
	admin := a.Admin(t)
	var rooms [meetings]testenv.Room
	for i := range rooms {
		rooms[i] = admin.NewRoom(t, fmt.Sprintf("Room %d", i))
	}
	first := inGoodTime(began, 15) // nobody is reminded of what is booked after its start
	killed := first.Add(2 * time.Second)
	booked := map[int64]testenv.Meeting{}
	book := func(i int, begin time.Time, length time.Duration) {
		reminders := []any{}
		if length == time.Hour {
			reminders = append(reminders, reminder("end", length, "email")) // at the start
		}
		m := admin.Book(t, testenv.Booking(begin, begin.Add(length), []int64{rooms[i].ID}, with{
			"attendees": []any{with{"email": fmt.Sprintf("guest%d@example.org", i), "name": "Guest"}}, "reminders": reminders,
		}))
		booked[m.ID] = m
	}
	short, reminded := 0, 2*meetings
	for i := range meetings {
		begin, length := first.Add(time.Duration(i)*apart), time.Hour
		if in := begin.Sub(killed); i%5 == 0 && in > 2*time.Second && in < outage-8*time.Second {
			length = 6 * time.Second // begins and ends without Redis
			short++
			reminded -= 2 // on a busy machine it would be over before anybody is reminded
		}
		book(i, begin, length)
	}

	time.Sleep(time.Until(killed))
	on.redis.Kill()
	eventually(t, killed.Add(2*slack), "one works from memory", func() bool { return worksFromMemory(t, a) != worksFromMemory(t, b) })
	var late testenv.Meeting // booked without Redis, and due at once
	wantQuick(t, "a booking", 1, func(int) {
		begin := inSeconds(1)
		late = admin.Book(t, testenv.Booking(begin, begin.Add(time.Hour), []int64{admin.NewRoom(t, "Late").ID}))
	})
	wantQuick(t, "a booking", 3, func(int) {
		begin := inSeconds(3600)
		admin.Book(t, testenv.Booking(begin, begin.Add(time.Hour), []int64{admin.NewRoom(t, fmt.Sprint(time.Now())).ID}))
	})
	eventually(t, late.Start.Add(slack), "the meeting booked without Redis has started", func() bool {
		return len(entries(admin.History(t, late.ID), "started")) == 1
	})
	done := func(until time.Time) bool { // all that was due by then; what was over by the time of its start never starts
		for _, m := range testenv.All[testenv.Meeting](t, admin, "/meetings?limit=500") {
			if _, ok := booked[m.ID]; ok && (m.Start.Before(until) && m.StartedAt == nil && m.EndedAt == nil || m.End.Before(until) && m.EndedAt == nil) {
				return false
			}
		}
		return true
	}
	eventually(t, killed.Add(outage+slack), "what fell due without Redis is done without it", func() bool {
		return time.Now().After(killed.Add(outage)) && done(killed.Add(outage))
	})
	on.redis.Start(t)

	last := first.Add(meetings * apart)
	eventually(t, last.Add(slack), "the last meeting has started", func() bool { return done(last) })
	for id, m := range booked {
		history := admin.History(t, id)
		if m.End.Sub(m.Start) > time.Minute || len(entries(history, "started")) > 0 {
			wantOnce(t, history, "started", "timer", m.Start)
		}
		if m.End.Sub(m.Start) < time.Minute {
			wantOnce(t, history, "ended", "timer", m.End)
			short--
		}
	}
	if short != 0 {
		t.Errorf("%d short meetings are missing", short)
	}
	reminders := func() int { return len(mail.Where("", "reminder")) }
	eventually(t, last.Add(2*slack), "all reminders", func() bool { return reminders() >= reminded })
	time.Sleep(500 * time.Millisecond) // for what must not come
	if n := reminders(); n != reminded {
		t.Errorf("%d reminders, want %d", n, reminded)
	}
	wantNothingTwice(t, mail)
	eventually(t, time.Now().Add(slack), "nobody works from memory, as the logs tell", func() bool {
		return !worksFromMemory(t, a) && !worksFromMemory(t, b) && logLines(tookOver, a, b) == logLines(handedBack, a, b)
	})
	if took := logLines(tookOver, a, b); took < 1 || took > 3 { // a machine that stalls for seconds looks like an outage, too
		t.Errorf("the logs tell of %d take-overs, want one", took)
	}
}

// TestFallback_holderKilled: the process that works from memory dies; another goes on.
func TestFallback_holderKilled(t *testing.T) {
	t.Parallel()
	on := forOutages(t)
	a, b := twoServers(t, on.Config)
	began := time.Now()
	admin := a.Admin(t)
	first := inGoodTime(began, 8)
	var booked []testenv.Meeting
	const later = 6 // that wait until the end of the test
	for i := range 24 + later {
		begin := first.Add(time.Duration(i) * 500 * time.Millisecond)
		if i >= 24 {
			begin = begin.Add(80 * time.Second)
		}
		booked = append(booked, admin.Book(t, testenv.Booking(begin, begin.Add(time.Hour), []int64{admin.NewRoom(t, fmt.Sprintf("Room %d", i)).ID})))
	}
	on.redis.Kill()
	eventually(t, time.Now().Add(2*slack), "one works from memory", func() bool { return worksFromMemory(t, a) || worksFromMemory(t, b) })
	holder, other := a, b
	if worksFromMemory(t, b) {
		holder, other = b, a
	}
	eventually(t, first.Add(slack), "it does", func() bool { return len(entries(admin.At(other).History(t, booked[0].ID), "started")) == 1 })
	// What waits in memory is known to one process only; the other counts what the database has.
	for _, s := range []*testenv.ServerInstance{holder, other} {
		var list struct {
			Mode  string
			Items []struct {
				Name           string
				Delayed, Ready int
			}
		}
		admin.At(s).Want(t, http.StatusOK, http.MethodGet, "/jobs", nil, &list)
		waiting := map[string]int{}
		for _, j := range list.Items {
			waiting[j.Name] = j.Delayed + j.Ready
		}
		if n := waiting["meeting.start"]; list.Mode != "fallback" || n == 0 || n >= len(booked) {
			t.Errorf("%d of %d meetings wait for their start, mode %s: %v", n, len(booked), list.Mode, waiting)
		}
	}
	holder.Kill()
	killed := time.Now()
	booked = booked[:len(booked)-later]
	eventually(t, killed.Add(slack), "the other works from memory", func() bool { return worksFromMemory(t, other) })
	t.Logf("taken over after %v", time.Since(killed))
	last := booked[len(booked)-1]
	eventually(t, last.Start.Add(slack), "all have started", func() bool {
		return len(entries(admin.At(other).History(t, last.ID), "started")) == 1
	})
	for _, m := range booked {
		wantOnce(t, admin.At(other).History(t, m.ID), "started", "timer", m.Start)
	}
}

// TestFallback_startWithoutRedis: the program starts, does its work and takes Redis when it comes.
// What is paused stays so.
func TestFallback_startWithoutRedis(t *testing.T) {
	t.Parallel()
	on := forOutages(t)
	on.redis.Kill()
	server := testenv.Server(t, on.Config) // ready: all is loaded, into memory
	if n := logLines("redis unavailable", server); n == 0 {
		t.Error("the log does not say that Redis is missing")
	}
	admin := server.Admin(t)
	room, other := admin.NewRoom(t, "Turing"), admin.NewRoom(t, "Hopper")
	eventually(t, time.Now().Add(slack), "it works from memory", func() bool { return worksFromMemory(t, server) })
	start := inSeconds(1)
	m := admin.Book(t, testenv.Booking(start, start.Add(time.Hour), []int64{room.ID}))
	eventually(t, start.Add(slack), "started", func() bool { return len(entries(admin.History(t, m.ID), "started")) == 1 })
	wantOnce(t, admin.History(t, m.ID), "started", "timer", start)
	end := inSeconds(5)
	admin.Want(t, http.StatusOK, http.MethodPatch, at("/meetings/%d", m.ID), with{"end": end}, nil)
	eventually(t, end.Add(slack), "ended", func() bool { return len(entries(admin.History(t, m.ID), "ended")) == 1 })
	wantOnce(t, admin.History(t, m.ID), "ended", "timer", end)

	// Operators see what waits in memory, and a pause holds there and over the hand-back.
	type job struct {
		Name   string `json:"name"`
		Ready  int    `json:"ready"`
		Paused bool   `json:"paused"`
	}
	admin.Want(t, http.StatusOK, http.MethodPost, "/jobs/meeting.start/pause", nil, nil)
	soon := inSeconds(1)
	held := admin.Book(t, testenv.Booking(soon, soon.Add(time.Hour), []int64{room.ID}))
	time.Sleep(time.Until(soon.Add(time.Second)))
	starts := func() (found job) {
		var list struct{ Items []job }
		admin.Want(t, http.StatusOK, http.MethodGet, "/jobs", nil, &list)
		for _, j := range list.Items {
			if j.Name == "meeting.start" {
				found = j
			}
		}
		return found
	}
	eventually(t, time.Now().Add(slack), "one waits because of the pause", func() bool { j := starts(); return j.Paused && j.Ready >= 1 })
	on.redis.Start(t)
	eventually(t, time.Now().Add(2*slack), "Redis has its work back", func() bool { return !worksFromMemory(t, server) })
	eventually(t, time.Now().Add(slack), "it waits in Redis", func() bool { j := starts(); return j.Paused && j.Ready >= 1 })
	if n := len(entries(admin.History(t, held.ID), "started")); n != 0 {
		t.Error("a paused job ran")
	}
	admin.Want(t, http.StatusOK, http.MethodPost, "/jobs/meeting.start/resume", nil, nil)
	soon = inSeconds(1)
	prompt := admin.Book(t, testenv.Booking(soon, soon.Add(time.Hour), []int64{other.ID}))
	eventually(t, soon.Add(slack), "both have started", func() bool {
		return len(entries(admin.History(t, held.ID), "started")) == 1 && len(entries(admin.History(t, prompt.ID), "started")) == 1
	})
	wantOnce(t, admin.History(t, prompt.ID), "started", "timer", soon)
}

// TestFallback_silentRedis: a Redis that accepts connections and says nothing holds up nobody,
// neither those who book and sign in nor a process that is to stop.
func TestFallback_silentRedis(t *testing.T) {
	t.Parallel()
	on := forOutages(t)
	server := testenv.Server(t, on.Config)
	admin := server.Admin(t)
	room := admin.NewRoom(t, "Turing")
	start := inSeconds(4)
	m := admin.Book(t, testenv.Booking(start, start.Add(time.Hour), []int64{room.ID}))
	signal := func(s syscall.Signal) {
		if err := syscall.Kill(on.redis.PID(), s); err != nil {
			t.Fatal(err)
		}
	}
	signal(syscall.SIGSTOP)
	t.Cleanup(func() { _ = syscall.Kill(on.redis.PID(), syscall.SIGCONT) })
	wantQuick(t, "a booking", 10, func(i int) {
		begin := start.Add(time.Duration(i+1) * time.Hour)
		admin.Book(t, testenv.Booking(begin, begin.Add(time.Hour), []int64{room.ID}))
	})
	wantQuick(t, "a sign-in", 3, func(int) { server.Admin(t) })
	eventually(t, start.Add(slack), "started", func() bool { return len(entries(admin.History(t, m.ID), "started")) == 1 })
	wantOnce(t, admin.History(t, m.ID), "started", "timer", start)
	eventually(t, time.Now().Add(slack), "it works from memory", func() bool { return worksFromMemory(t, server) }) // also if it started before Redis fell silent
	wantQuick(t, "the metrics", 3, func(int) { worksFromMemory(t, server) })
	begin := time.Now()
	if code := server.Stop(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if took := time.Since(begin); took > slack {
		t.Errorf("stopping took %v", took)
	}
}

// TestFallback_postgresDownToo: nothing crashes, nothing is charged, and all is done when the
// database is back, though Redis is not.
func TestFallback_postgresDownToo(t *testing.T) {
	t.Parallel()
	on := forOutages(t)
	own, postgres := ownPostgres(t) // which keeps what was committed before it dies
	on.Database = own.Database
	server := testenv.Server(t, on.Config)
	admin := server.Admin(t)
	first := inSeconds(4)
	var booked []testenv.Meeting
	for i := range 8 {
		begin := first.Add(time.Duration(i) * time.Second)
		booked = append(booked, admin.Book(t, testenv.Booking(begin, begin.Add(time.Hour), []int64{admin.NewRoom(t, fmt.Sprintf("Room %d", i)).ID})))
	}
	on.redis.Kill()
	eventually(t, first.Add(slack), "it works from memory", func() bool { return worksFromMemory(t, server) })
	postgres.Kill()
	time.Sleep(4 * time.Second)
	postgres.Start(t)
	last := booked[len(booked)-1]
	back := time.Now()
	eventually(t, back.Add(4*slack), "all have started", func() bool {
		res, err := admin.Try(http.MethodGet, fmt.Sprintf("/meetings/%d/history", last.ID), nil)
		return err == nil && res.Status == http.StatusOK && bytes.Contains(res.Body, []byte(`"started"`))
	})
	for _, m := range booked {
		if es := entries(admin.History(t, m.ID), "started"); len(es) != 1 || es[0].At.Before(m.Start) {
			t.Errorf("%+v, want one start, not before %s", es, m.Start)
		}
	}
	if res := admin.Do(t, http.MethodGet, "/jobs/dead", nil); !bytes.Contains(res.Body, []byte(`"items":[]`)) {
		t.Errorf("dead letters: %s", res.Body)
	}
	res := server.Anonymous().Do(t, http.MethodGet, server.URL+"/metrics", nil)
	for _, result := range []string{"retry", "dead"} {
		if bytes.Contains(res.Body, []byte(`delayjob_exec_total{job="meeting.start",result="`+result+`"}`)) {
			t.Errorf("the outage was charged: %s", result)
		}
	}
}
