package tests

import (
	"bytes"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"punctual/tests/testenv"
)

// result of running the program.
type result struct {
	code           int
	stdout, stderr string
}

func run(t *testing.T, dir string, stdin string, env []string, args ...string) result {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), testenv.Program(t), args...)
	cmd.Dir = dir
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}, env...)
	cmd.Stdin = strings.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		t.Fatal(err)
	}
	return result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// TestUsage: 2 for what cannot be understood, 1 for what went wrong, with one clear line.
func TestUsage(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		args []string
		code int
	}{
		{[]string{"version"}, 0},
		{[]string{"help"}, 0},
		{[]string{"serve", "--help"}, 0},
		{[]string{"serve", "--nonsense"}, 2},
		{[]string{"serve", "too", "much"}, 2},
		{[]string{"serve", "--role", "king"}, 2},
		{[]string{"nonsense"}, 2},
		{[]string{"migrate"}, 2},
		{[]string{"migrate", "sideways"}, 2},
		{[]string{"user", "add", "--role", "king", "--email", "a@example.org", "--name", "A"}, 2},
		{[]string{"serve", "--config", "missing.yaml"}, 1},
		{[]string{"config", "check", "missing.yaml"}, 1},
	} {
		t.Run(strings.Join(row.args, " "), func(t *testing.T) {
			t.Parallel()
			got := run(t, t.TempDir(), "", nil, row.args...)
			if got.code != row.code {
				t.Errorf("exit code %d, want %d\n%s%s", got.code, row.code, got.stdout, got.stderr)
			}
			if (row.code == 0) != (got.stderr == "") {
				t.Errorf("exit code %d with standard error %q", row.code, got.stderr)
			}
			if strings.Contains(got.stderr, "goroutine ") {
				t.Errorf("it panicked: %s", got.stderr)
			}
		})
	}
}

// TestConfigCheck: each fault has its file, line and column.
func TestConfigCheck(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, yaml, want string }{
		{"good", "http: { addr: \":9090\" }\n", ""},
		{"empty", "", ""},
		{"unknown key", "http:\n  adr: \":9090\"\n", `^FILE:2:3: `},
		{"unknown section", "web: {}\n", `^FILE:1:1: `},
		{"wrong unit", "booking:\n  approval:\n    timeout: 24\n", `^FILE:3:14: `},
		{"no duration", "queue:\n  horizon: soon\n", `^FILE:2:12: `},
		{"wrong type", "email:\n  smtp: { host: mail, port: many }\n", `^FILE:2:29: `},
		{"unknown value", "log:\n  format: xml\n", `^FILE:2:11: `},
		{"unknown zone", "booking:\n  timezone: Mars/Olympus\n", `^FILE:2:13: `},
		{"contradiction", "email:\n  driver: smtp\n", `^FILE:\d+:\d+: `},
		{"short horizon", "queue:\n  load_every: 1m\n  horizon: 30s\n", `^FILE:3:12: `},
		{"key twice", "log: { level: info }\nlog: { level: debug }\n", `^FILE:2:1: `},
		{"no YAML", "http: [\n", `^FILE:\d+:\d+: `},
		{"tab", "http:\n\taddr: \":1\"\n", `^FILE:\d+:\d+: `},
		{"unknown job", "queue:\n  jobs:\n    meeting.begin: { batch: 1 }\n", `^FILE:3:5: `},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file := filepath.Join(dir, "punctual.yaml")
			if err := os.WriteFile(file, []byte(row.yaml), 0o644); err != nil {
				t.Fatal(err)
			}
			got := run(t, dir, "", nil, "config", "check", file)
			if (got.code == 0) != (row.want == "") || got.code > 1 {
				t.Errorf("exit code %d\n%s%s", got.code, got.stdout, got.stderr)
			}
			all := got.stdout + got.stderr
			want := strings.ReplaceAll(row.want, "FILE", regexp.QuoteMeta(file))
			if row.want != "" && !regexp.MustCompile("(?m)"+want).MatchString(all) {
				t.Errorf("no line matches %s:\n%s", want, all)
			}
		})
	}
	t.Run("all faults at once", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "config.yaml"), []byte("http:\n  adr: x\nlog:\n  colour: red\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		got := run(t, dir, "", nil, "config", "check")
		if all := got.stdout + got.stderr; got.code != 1 || !strings.Contains(all, "config.yaml:2:3: ") || !strings.Contains(all, "config.yaml:4:3: ") {
			t.Errorf("exit code %d\n%s", got.code, all)
		}
		if got := run(t, dir, "", nil, "serve"); got.code != 1 || !strings.Contains(got.stderr, "config.yaml:2:3: ") {
			t.Errorf("serve: exit code %d\n%s", got.code, got.stderr)
		}
	})
	t.Run("the example", func(t *testing.T) {
		t.Parallel()
		file, err := filepath.Abs("../config.yaml")
		if err != nil {
			t.Fatal(err)
		}
		if got := run(t, t.TempDir(), "", nil, "config", "check", file); got.code != 0 {
			t.Errorf("exit code %d\n%s%s", got.code, got.stdout, got.stderr)
		}
	})
	t.Run("a variable", func(t *testing.T) {
		t.Parallel()
		if got := run(t, t.TempDir(), "", []string{"PUNCTUAL_QUEUE_HORIZON=soon"}, "config", "check"); got.code != 1 || !strings.Contains(got.stdout+got.stderr, "PUNCTUAL_QUEUE_HORIZON") {
			t.Errorf("exit code %d\n%s%s", got.code, got.stdout, got.stderr)
		}
	})
}

// TestEnvironment overrides the file.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	server := testenv.Server(t, testenv.Config{
		YAML: "booking: { limits: { max_duration: 1h } }\nlog: { format: text }\n",
		Env:  []string{"PUNCTUAL_BOOKING_LIMITS_MAX_DURATION=2h", "PUNCTUAL_LOG_FORMAT=json"},
	})
	admin := server.Admin(t)
	room := admin.NewRoom(t, "Turing")
	start := inSeconds(3600)
	admin.Book(t, testenv.Booking(start, start.Add(2*time.Hour), []int64{room.ID}))
	admin.WantProblem(t, http.StatusUnprocessableEntity, "policy_violation", http.MethodPost, "/meetings",
		testenv.Booking(start.Add(4*time.Hour), start.Add(7*time.Hour), []int64{room.ID}))
	if !strings.HasPrefix(strings.TrimSpace(server.Log()), "{") {
		t.Errorf("the log is not JSON: %.200s", server.Log())
	}
}

// TestFirstAdmin: an empty database gets its first admin from the environment, or by a link
// that works once.
func TestFirstAdmin(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		on.NoAdmin = true
		server := testenv.Server(t, on.Config)
		nobody := server.Anonymous()
		link := regexp.MustCompile(regexp.QuoteMeta(server.URL) + `/\S*`).FindString(setupLine(server.Log()))
		if link == "" {
			t.Fatalf("no link in the log:\n%s", server.Log())
		}
		token := regexp.MustCompile(`pq_[A-Za-z0-9_-]+`).FindString(link)
		if token == "" {
			t.Fatalf("no token in %s", link)
		}
		if res := nobody.Do(t, http.MethodGet, link, nil); res.Status != http.StatusOK {
			t.Errorf("%s: %d", link, res.Status)
		}
		body := with{"token": token, "email": "root@example.org", "name": "Root", "password": "a good long password"}
		nobody.WantProblem(t, http.StatusUnauthorized, "unauthorized", http.MethodPost, "/setup", with{"token": "pq_wrong", "email": "root@example.org", "name": "Root", "password": "a good long password"})
		if res := nobody.Do(t, http.MethodPost, "/setup", body); res.Status/100 != 2 {
			t.Fatalf("set-up: %d %s", res.Status, res.Body)
		}
		if res := nobody.Do(t, http.MethodPost, "/setup", body); res.Status/100 == 2 {
			t.Error("the link worked twice")
		}
		root := server.Login(t, "root@example.org", "a good long password")
		if root.User.Role != "admin" {
			t.Errorf("the first user is %+v", root.User)
		}
		// Once there is an admin, there is no other link.
		before := len(testenv.All[testenv.User](t, root, "/users"))
		server.Stop()
		mark := len(server.Log())
		server.Start(t)
		if strings.Contains(server.Log()[mark:], "pq_") {
			t.Errorf("another link: %s", server.Log()[mark:])
		}
		if n := len(testenv.All[testenv.User](t, root, "/users")); n != before {
			t.Errorf("%d users, want %d", n, before)
		}
	})
}

// setupLine is the line of a log that tells the set-up link.
func setupLine(log string) string {
	for line := range strings.Lines(log) {
		if strings.Contains(line, "pq_") {
			return line
		}
	}
	return ""
}

// TestReload: a valid change of config.yaml takes effect without a restart, an invalid one is
// refused with its line, and the old settings stay.
func TestReload(t *testing.T) {
	t.Parallel()
	server := testenv.Server(t, testenv.Config{YAML: "booking: { limits: { max_duration: 1h } }\n"})
	admin := server.Admin(t)
	room := admin.NewRoom(t, "Turing")
	next := inSeconds(3600)
	accepts := func(d time.Duration) bool {
		res := admin.Do(t, http.MethodPost, "/meetings", testenv.Booking(next, next.Add(d), []int64{room.ID}))
		if res.Status == http.StatusCreated {
			next = next.Add(24 * time.Hour)
			return true
		}
		if res.Status != http.StatusUnprocessableEntity {
			t.Fatalf("%d %s", res.Status, res.Body)
		}
		return false
	}
	if accepts(2 * time.Hour) {
		t.Fatal("the limit does not hold")
	}
	first := server.Config(t)
	server.Configure(t, strings.Replace(first, "max_duration: 1h", "max_duration: 3h", 1))
	eventually(t, time.Now().Add(slack), "the new limit", func() bool { return accepts(2 * time.Hour) })

	bad := strings.Replace(first, "max_duration: 1h", "max_duration: 1 hour", 1)
	line := strings.Count(first[:strings.Index(first, "booking:")], "\n") + 1
	server.Configure(t, bad)
	place := regexp.MustCompile(`config\.yaml:` + at("%d", line) + `:\d+`)
	eventually(t, time.Now().Add(slack), "the fault in the log", func() bool { return place.MatchString(server.Log()) })
	if !accepts(2 * time.Hour) {
		t.Error("the refused file changed the limit")
	}
	server.Configure(t, first)
	eventually(t, time.Now().Add(slack), "the first limit", func() bool { return !accepts(2 * time.Hour) })

	mark := len(server.Log())
	server.Configure(t, strings.Replace(first, "queue:\n", "queue:\n  prefix: other\n", 1))
	eventually(t, time.Now().Add(slack), "a word about the restart", func() bool {
		log := server.Log()[mark:]
		return strings.Contains(log, "queue.prefix") && strings.Contains(log, "restart")
	})
}

// TestCommands: the schema and people by hand.
func TestCommands(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		on.NoAdmin = true
		server := testenv.PrepareServer(t, on.Config)
		do := func(stdin string, want int, args ...string) string {
			t.Helper()
			cmd := server.Command(t, append(args, "--config", server.ConfigFile())...)
			cmd.Stdin = strings.NewReader(stdin)
			var stdout, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			_ = cmd.Run()
			if code := cmd.ProcessState.ExitCode(); code != want {
				t.Errorf("%v: exit code %d, want %d\n%s%s", args, code, want, stdout.String(), stderr.String())
			}
			return stdout.String()
		}
		do("", 0, "migrate", "up")
		do("", 0, "migrate", "up")
		if out := do("", 0, "migrate", "status"); !strings.Contains(out, "0001") && !strings.Contains(out, "1") {
			t.Errorf("status: %s", out)
		}
		do("a good long password\n", 0, "user", "add", "--email", "root@example.org", "--name", "Root", "--role", "admin", "--password-stdin")
		do("a good long password\n", 1, "user", "add", "--email", "ROOT@example.org", "--name", "Root", "--role", "admin", "--password-stdin")
		do("short\n", 1, "user", "add", "--email", "b@example.org", "--name", "B", "--role", "member", "--password-stdin")
		do("another long password\n", 0, "user", "add", "--email", "c@example.org", "--name", "C", "--role", "member", "--password-stdin")
		if out := do("", 0, "user", "list"); !strings.Contains(out, "root@example.org") || !strings.Contains(out, "c@example.org") || strings.Contains(out, "b@example.org") {
			t.Errorf("user list: %s", out)
		}
		server.Start(t)
		root := server.Login(t, "root@example.org", "a good long password")
		c := server.Login(t, "c@example.org", "another long password")
		do("", 0, "user", "disable", "c@example.org")
		c.WantProblem(t, http.StatusUnauthorized, "unauthorized", http.MethodGet, "/me", nil)
		do("", 1, "user", "disable", "nobody@example.org")

		do("", 0, "demo")
		made := func() (rooms, meetings, users int) {
			return len(testenv.All[testenv.Room](t, root, "/rooms")), len(testenv.All[testenv.Meeting](t, root, "/meetings")), len(testenv.All[testenv.User](t, root, "/users"))
		}
		rooms, meetings, users := made()
		if rooms == 0 || meetings == 0 || users <= 2 {
			t.Errorf("the demo made %d rooms, %d meetings and %d users", rooms, meetings, users-2)
		}
		do("", 0, "demo", "--if-empty")
		if r, m, u := made(); r != rooms || m != meetings || u != users {
			t.Error("demo --if-empty changed a database that is not empty")
		}
		if code := server.Stop(); code != 0 {
			t.Errorf("exit code %d", code)
		}
		do("", 0, "migrate", "down")
	})
}
