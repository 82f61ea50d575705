package tests

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"punctual/app/database"
	"punctual/delayjob"
	jobstore "punctual/delayjob/gormstore"
	"punctual/delayjob/redisqueue"
	"punctual/tests/testenv"
)

// command runs the program beside a server, with the same configuration.
func command(t *testing.T, server *testenv.ServerInstance, want int, args ...string) string {
	t.Helper()
	cmd := server.Command(t, append(args, "--config", server.ConfigFile())...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	_ = cmd.Run()
	if code := cmd.ProcessState.ExitCode(); code != want || (code == 0) != (stderr.Len() == 0) || strings.Count(stderr.String(), "\n") > 1 {
		t.Fatalf("%v: exit code %d, want %d\n%s%s", args, code, want, stdout.String(), stderr.String())
	}
	return stdout.String() + stderr.String()
}

// TestQueue_commands looks at a queue and mends it while no server runs.
func TestQueue_commands(t *testing.T) {
	t.Parallel()
	on := onServers(t)
	server := testenv.PrepareServer(t, on.Config)
	command(t, server, 0, "migrate", "up")

	q := openQueue(t, on)
	db, err := database.Open(t.Context(), on.Database, database.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	records := jobstore.NewDeadLetters(db.Gorm)
	bury := func(job string, recorded bool, keys ...string) {
		t.Helper()
		for _, key := range keys {
			m := delayjob.Message{Job: job, Key: key, Version: 1, Due: q.Now().Add(-time.Minute), Attempt: 3}
			if _, err := q.Add(t.Context(), m); err != nil {
				t.Fatal(err)
			}
			got, err := q.Claim(t.Context(), delayjob.ShardOf(key, q.Shards()), []delayjob.Want{{Job: job, Limit: 1, Lease: time.Minute}})
			if err != nil || len(got.Messages) != 1 {
				t.Fatal(got, err)
			}
			if errs := q.Nack(t.Context(), delayjob.Return{Lease: got.Messages[0].Lease, How: delayjob.Bury}); errs != nil {
				t.Fatal(errs)
			}
			if recorded {
				f := delayjob.Failure{Message: m, Error: "refused:\n\x1b[31mbox of " + key + " is full", At: time.Now()}
				if err := records.RecordFailures(t.Context(), f); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	bury("notify.email", true, "1", "2", "3", "4")
	bury("notify.sms", false, "5")
	bury("meeting.end", true, "6")
	due := inSeconds(3658)
	if _, err := q.Add(t.Context(), delayjob.Message{Job: "meeting.start", Key: "42", Version: 7, Due: due}); err != nil {
		t.Fatal(err)
	}

	stats := func() map[string][5]int {
		t.Helper()
		var list []struct {
			Job                            string
			Delayed, Ready, Reserved, Dead int
			Paused                         bool
			OldestDue                      *time.Time `json:"oldest_due"`
		}
		if err := json.Unmarshal([]byte(command(t, server, 0, "queue", "stats", "--json")), &list); err != nil {
			t.Fatal(err)
		}
		m := map[string][5]int{}
		for _, j := range list {
			m[j.Job] = [5]int{j.Delayed, j.Ready, j.Reserved, j.Dead}
			if (j.Job == "meeting.start") != (j.OldestDue != nil && j.OldestDue.Equal(due)) && j.Ready == 0 {
				t.Errorf("%+v", j)
			}
		}
		return m
	}
	want := func(m map[string][5]int, job string, delayed, ready, reserved, dead int) {
		t.Helper()
		if m[job] != [5]int{delayed, ready, reserved, dead} {
			t.Errorf("%s: %v", job, m[job])
		}
	}
	s := stats()
	want(s, "notify.email", 0, 0, 0, 4)
	want(s, "meeting.start", 1, 0, 0, 0)
	has := func(out string, parts ...string) {
		t.Helper()
		for _, p := range parts {
			if !strings.Contains(out, p) {
				t.Errorf("no %q in\n%s", p, out)
			}
		}
	}
	has(command(t, server, 0, "queue", "stats"), "OLDEST DUE", "meeting.start", due.Format(time.DateTime), "in 1h0m")
	has(command(t, server, 0, "queue", "peek", "meeting.start"), "meeting.start:42", "delayed", due.Format(time.DateTime), "7")
	has(command(t, server, 0, "queue", "peek", "meeting.start", "--state", "dead"), "no such message")
	has(command(t, server, 0, "queue", "peek", "notify.email", "--state", "dead", "--limit", "2", "--json"), `"notify.email:1"`, `"notify.email:2"`)
	if out := command(t, server, 0, "queue", "peek", "notify.email", "--limit", "2"); strings.Contains(out, "notify.email:3") {
		t.Errorf("--limit is ignored:\n%s", out)
	}
	dead := command(t, server, 0, "queue", "dead")
	has(dead, "notify.email:1", "meeting.end:6", "refused: \uFFFD[31mbox of 1 is full", "3")
	if strings.Contains(dead, "\x1b") {
		t.Error("control characters reach the terminal")
	}
	if out := command(t, server, 0, "queue", "dead", "meeting.end"); strings.Contains(out, "notify") {
		t.Errorf("of meeting.end: %s", out)
	}

	has(command(t, server, 0, "queue", "requeue", "notify.email:1", "notify.email:2"), "Requeued notify.email:1.", "Requeued notify.email:2.")
	has(command(t, server, 1, "queue", "requeue", "notify.email:1", "meeting.end:nothing"), "no dead letter: notify.email:1, meeting.end:nothing")
	has(command(t, server, 0, "queue", "discard", "notify.email:3"), "Discarded notify.email:3.")
	has(command(t, server, 1, "queue", "discard", "notify.email:3"), "no dead letter: notify.email:3")
	want(stats(), "notify.email", 0, 2, 0, 1)
	if _, err := q.Get(t.Context(), "notify.email:3"); !errors.Is(err, delayjob.ErrNotFound) {
		t.Errorf("discarded, and yet %v", err)
	}
	has(command(t, server, 0, "queue", "requeue", "--job", "notify.email"), "Requeued 1.")
	has(command(t, server, 0, "queue", "requeue", "--all"), "Requeued 2.") // one without a record
	has(command(t, server, 0, "queue", "requeue", "--all"), "Requeued 0.")
	has(command(t, server, 0, "queue", "dead"), "No dead letters")
	want(stats(), "notify.sms", 0, 1, 0, 0)

	has(command(t, server, 0, "queue", "check"), "invariants of the queue hold")
	waiting := on.redis.Do(t, "KEYS", "*:w:meeting.start")
	tag := strings.TrimSuffix(strings.Trim(waiting, "[]"), ":w:meeting.start")
	on.redis.Do(t, "ZADD", tag+":x:meeting.start", 1, "meeting.start:42")
	on.redis.Do(t, "ZADD", tag+":w:approval.expire", 1, "approval.expire:7")
	on.redis.Do(t, "HSET", tag+":c", "seq", 9)
	on.redis.Do(t, "HSET", tag+":m", "meeting.end:7", "1 2000 0 ", "meeting.end:8", "1 2000 0 ", "meeting.end:9", "1 2000 0 ")
	on.redis.Do(t, "ZADD", tag+":w:meeting.end", 1000, "meeting.end:7")
	on.redis.Do(t, "HSET", tag+":s", "meeting.end:8", "9 1", "meeting.end:9", "10 1")
	on.redis.Do(t, "ZADD", tag+":l:meeting.end", 1000, "meeting.end:8", 4e15, "meeting.end:9")
	on.redis.Do(t, "HSET", tag+":m", "no.such:42", "1 1000 0 ")
	on.redis.Do(t, "ZADD", tag+":w:no.such", 1000, "no.such:42", 1000, "no.such:2")
	broken := command(t, server, 1, "queue", "check")
	has(broken, "meeting.start:42 is waiting and dead\n", "approval.expire:7 is waiting but has no body\n",
		"meeting.end:7 waits until 1000, before it is due at 2000\n", "meeting.end:8 is leased until 00:00:01.000Z, and no consumer has claimed it\n",
		"meeting.end:9 has the token 10, later than the last one of its shard, 9\n",
		"no.such has messages, but this version does not know the job type\n", "no.such:2 is waiting but has no body\n", "in 7 places")

	want(stats(), "no.such", 0, 2, 0, 0)
	has(command(t, server, 0, "queue", "stats"), "no.such (unknown)")
	has(command(t, server, 0, "queue", "peek", "no.such"), "no.such:42")
	has(command(t, server, 0, "queue", "discard", "no.such:42"), "Discarded no.such:42.")
	has(command(t, server, 1, "queue", "discard", "no.such:42"), "no dead letter: no.such:42")

	for _, args := range [][]string{
		{"queue"}, {"queue", "nonsense"}, {"queue", "peek"}, {"queue", "peek", "meeting.begin"}, {"queue", "peek", "meeting.start", "--state", "tired"},
		{"queue", "peek", "meeting.start", "--limit", "0"}, {"queue", "dead", "meeting.begin"}, {"queue", "dead", "--limit", "0"},
		{"queue", "requeue"}, {"queue", "requeue", "--all", "--job", "meeting.end"}, {"queue", "requeue", "--job", "meeting.begin"},
		{"queue", "discard"}, {"queue", "check", "now"},
	} {
		command(t, server, 2, args...)
	}
	on.redis.Kill()
	for _, args := range [][]string{{"stats"}, {"peek", "meeting.end"}, {"check"}, {"requeue", "--all"}} {
		has(command(t, server, 1, append([]string{"queue"}, args...)...), on.redis.Addr())
	}
	command(t, server, 0, "queue", "dead")
}

func openQueue(t *testing.T, on setup) *redisqueue.Queue {
	t.Helper()
	client, err := redisqueue.Dial(on.Queue)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	q, err := redisqueue.New(t.Context(), client)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = q.Close() })
	return q
}

// TestQueue_inMemory: there the server must be asked, and the commands say how.
func TestQueue_inMemory(t *testing.T) {
	t.Parallel()
	server := testenv.PrepareServer(t, testenv.Config{})
	command(t, server, 0, "migrate", "up")
	for _, row := range [][]string{
		{"GET /api/v1/jobs", "stats"}, {"GET /api/v1/jobs", "peek", "meeting.start"}, {"GET /api/v1/jobs", "check"},
		{"POST /api/v1/jobs/dead/requeue", "requeue", "--all"}, {"DELETE /api/v1/jobs/dead/{id}", "discard", "meeting.start:1"},
	} {
		if out := command(t, server, 1, append([]string{"queue"}, row[1:]...)...); !strings.Contains(out, row[0]) || !strings.Contains(out, "memory:") {
			t.Errorf("%v: %s", row, out)
		}
	}
	command(t, server, 0, "queue", "dead")
}

// TestQueue_requeuedWhileTheServerWorks: a mail that died goes out once the operator says so,
// also if Redis forgot it meanwhile; one that was discarded does not.
func TestQueue_requeuedWhileTheServerWorks(t *testing.T) {
	t.Parallel()
	on := onServers(t)
	on.Mail = testenv.Mail(t)
	on.Jobs = "{ notify.email: { max_attempts: 1 } }"
	on.Mail.OnData(func(testenv.Message) testenv.Answer { return testenv.Answer{Code: 451} })
	server := testenv.Server(t, on.Config)
	admin := server.Admin(t)
	room := admin.NewRoom(t, "Turing")
	start := inSeconds(3600)
	admin.Book(t, testenv.Booking(start, start.Add(time.Hour), []int64{room.ID}, with{
		"attendees": []with{{"email": "a@example.org"}, {"email": "b@example.org"}, {"email": "c@example.org"}},
	}))
	type letter struct{ ID, Error string }
	var letters []letter
	list := func() []letter {
		t.Helper()
		var ls []letter
		if err := json.Unmarshal([]byte(command(t, server, 0, "queue", "dead", "notify.email", "--json")), &ls); err != nil {
			t.Fatal(err)
		}
		return ls
	}
	eventually(t, time.Now().Add(slack), "three invitations died", func() bool { letters = list(); return len(letters) == 3 })
	if !strings.Contains(letters[0].Error, "451") {
		t.Errorf("the error is %q", letters[0].Error)
	}
	on.Mail.OnData(func(testenv.Message) testenv.Answer { return testenv.Answer{} })
	command(t, server, 0, "queue", "discard", letters[0].ID)
	command(t, server, 0, "queue", "requeue", letters[1].ID)
	eventually(t, time.Now().Add(slack), "the first mail", func() bool { return len(on.Mail.Messages()) == 1 })

	on.redis.Do(t, "FLUSHALL")
	time.Sleep(3 * time.Second) // everything is loaded again, but not what died
	if n := len(on.Mail.Messages()); n != 1 {
		t.Errorf("%d mails after the flush", n)
	}
	if ls := list(); !slices.Equal(ls, letters[2:]) {
		t.Errorf("dead letters: %v", ls)
	}
	admin.Want(t, 204, "POST", "/jobs/dead/"+letters[2].ID+"/requeue", nil, nil)
	eventually(t, time.Now().Add(slack), "the second mail", func() bool { return len(on.Mail.Messages()) == 2 })
	wantSound(t, server)
	wantNothingTwice(t, on.Mail)

	if _, err := openQueue(t, on).Add(t.Context(), delayjob.Message{Job: "no.such", Key: "1", Version: 1, Due: start}); err != nil {
		t.Fatal(err)
	}
	var jobs struct {
		Unknown []struct {
			Name    string
			Delayed int
		}
	}
	admin.Want(t, 200, "GET", "/jobs", nil, &jobs)
	if len(jobs.Unknown) != 1 || jobs.Unknown[0].Name != "no.such" || jobs.Unknown[0].Delayed != 1 {
		t.Errorf("unknown jobs: %+v", jobs.Unknown)
	}
}
