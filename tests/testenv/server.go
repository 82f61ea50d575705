package testenv

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// The first admin of every [Server].
const (
	AdminEmail    = "admin@example.org"
	AdminPassword = "correct horse battery staple"
)

// programs builds punctual once per test binary and build tags.
var programs = struct {
	sync.Mutex
	build map[string]func() (string, error)
}{build: map[string]func() (string, error){}}

func build(tags string) (string, error) {
	root, err := baseDir()
	if err != nil {
		return "", err
	}
	path := filepath.Join(root, "punctual"+tags)
	if out, err := exec.Command("go", "build", "-tags", "nomsgpack,"+tags, "-o", path, "punctual").CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
}

// Program returns the path of the built program.
func Program(t testing.TB) string {
	t.Helper()
	return programWith(t, "")
}

func programWith(t testing.TB, tags string) string {
	t.Helper()
	programs.Lock()
	once := programs.build[tags]
	if once == nil {
		once = sync.OnceValues(func() (string, error) { return build(tags) })
		programs.build[tags] = once
	}
	programs.Unlock()
	path, err := once()
	if err != nil {
		t.Fatalf("build punctual: %v", err)
	}
	return path
}

// Config of a server under test; the zero value is the embedded default on a fresh database.
type Config struct {
	Database string      // URL; empty: a fresh SQLite file
	Queue    string      // URL; empty: memory:
	Mail     *MailServer // nil: the outbox under Dir
	SMS      *SMSGateway // nil: off
	Role     string      // all, api or worker; empty: all
	YAML     string      // further sections of config.yaml: booking, auth, log
	Jobs     string      // of queue.jobs, as a YAML mapping in braces

	// LoadEvery is queue.load_every; zero: 2s, much less than the default, so that on a busy
	// machine an add that took too long is made up for while the test still waits.
	LoadEvery time.Duration

	Env     []string // NAME=value, further variables
	Tags    string   // a build tag of the program; empty: none
	Program string   // path of another program, such as an earlier version; empty: the one built from this source
	NoAdmin bool     // do not make the first admin

	Localhost bool // people come to localhost, where browsers allow passkeys without HTTPS
}

// ServerInstance is the built program, running from outside the test.
type ServerInstance struct {
	*process
	URL    string // http://127.0.0.1:port, or http://localhost:port
	Dir    string // its working folder, with config.yaml and data/
	config Config
	env    []string
	killed bool
}

// Server starts the program and waits until it is ready. At the end of the test it is stopped
// as an operator would, and must exit with 0; its log is shown if the test failed.
func Server(t testing.TB, c Config) *ServerInstance {
	t.Helper()
	s := PrepareServer(t, c)
	s.Start(t)
	return s
}

// PrepareServer does what [Server] does, up to the start.
func PrepareServer(t testing.TB, c Config) *ServerInstance {
	t.Helper()
	programWith(t, c.Tags)
	dir, err := serverDir(baseDir, "server")
	if err != nil {
		t.Fatalf("server: %v", err)
	}
	port, err := freePort()
	if err != nil {
		t.Fatalf("server: %v", err)
	}
	addr := "127.0.0.1:" + strconv.Itoa(port)
	s := &ServerInstance{URL: "http://" + addr, Dir: dir, config: c}
	if c.Localhost {
		s.URL = "http://localhost:" + strconv.Itoa(port)
	}
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "PUNCTUAL_") {
			s.env = append(s.env, e)
		}
	}
	s.env = append(s.env, "PUNCTUAL_BOOKING_UNDO=0s") // mails go out at once, unless Env says otherwise
	if !c.NoAdmin {
		s.env = append(s.env, "PUNCTUAL_ADMIN_EMAIL="+AdminEmail, "PUNCTUAL_ADMIN_PASSWORD="+AdminPassword)
	}
	s.env = append(s.env, c.Env...)
	s.Configure(t, c.yaml(addr, s.URL))
	if c.Database == "" && !c.NoAdmin {
		if err := s.migrated(t); err != nil {
			t.Fatalf("server: %v", err)
		}
	}
	t.Cleanup(func() {
		if s.process != nil && !s.killed {
			if code := s.Stop(); code != 0 {
				t.Errorf("the server stopped with exit code %d", code)
			}
		}
		if t.Failed() && s.process != nil {
			t.Logf("log of %s:\n%s", s.URL, s.tail())
		}
		removeAll(t, dir)
	})
	return s
}

// migratedSQLite is the content of a file with the tables that the program makes at its first start. Copying it is
// cheaper than making them for each server; servers without an admin make their own.
var migratedSQLite struct {
	sync.Once
	content []byte
	err     error
}

func (s *ServerInstance) migrated(t testing.TB) error {
	m := &migratedSQLite
	m.Do(func() {
		var dir string
		if dir, m.err = serverDir(baseDir, "migrated"); m.err != nil {
			return
		}
		cmd := s.Command(t, "migrate", "up")
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "PUNCTUAL_DATABASE_URL=sqlite:punctual.db")
		if out, err := cmd.CombinedOutput(); err != nil {
			m.err = fmt.Errorf("migrate up: %w\n%s", err, out)
			return
		}
		m.content, m.err = os.ReadFile(filepath.Join(dir, "punctual.db"))
	})
	if m.err != nil {
		return m.err
	}
	data := filepath.Join(s.Dir, "data")
	if err := os.Mkdir(data, 0o750); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(data, "punctual.db"), m.content, 0o600)
}

func (c Config) yaml(addr, baseURL string) string {
	if c.Database == "" {
		c.Database = "sqlite:data/punctual.db"
	}
	if c.Queue == "" {
		c.Queue = "memory:"
	}
	if c.Jobs == "" {
		c.Jobs = "{}"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "http: { addr: %q, base_url: %q }\n", addr, baseURL)
	fmt.Fprintf(&b, "database: { url: %q }\n", c.Database)
	loadEvery := cmp.Or(c.LoadEvery, 2*time.Second)
	fmt.Fprintf(&b, "queue:\n  url: %q\n  load_every: %v\n  jobs: %s\n", c.Queue, loadEvery, c.Jobs)
	if loadEvery > time.Minute { // longer than the defaults of what may not be less
		fmt.Fprintf(&b, "  reload_every: %v\n  horizon: %v\n", loadEvery, 2*loadEvery)
	}
	if !strings.Contains(c.YAML, "log:") {
		b.WriteString("log: { level: warn }\n")
	}
	if c.Mail != nil {
		fmt.Fprintf(&b, "email:\n  driver: smtp\n  smtp: { host: %q, port: %d, tls: none }\n", c.Mail.Host(), c.Mail.Port())
	}
	if c.SMS != nil {
		fmt.Fprintf(&b, "sms:\n  driver: http\n  http: { url: %q }\n", c.SMS.URL)
	}
	b.WriteString(c.YAML)
	return b.String()
}

// ConfigFile is the path of config.yaml.
func (s *ServerInstance) ConfigFile() string { return filepath.Join(s.Dir, "config.yaml") }

// Configure replaces config.yaml, as editors do: by renaming a new file over it.
func (s *ServerInstance) Configure(t testing.TB, yaml string) {
	t.Helper()
	next := s.ConfigFile() + ".new"
	if err := os.WriteFile(next, []byte(yaml), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, s.ConfigFile()); err != nil {
		t.Fatal(err)
	}
}

// Config is the content of config.yaml.
func (s *ServerInstance) Config(t testing.TB) string {
	t.Helper()
	b, err := os.ReadFile(s.ConfigFile())
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Start runs the program and waits until it is ready.
func (s *ServerInstance) Start(t testing.TB) {
	t.Helper()
	s.StartOnly(t)
	if err := s.AwaitReady(); err != nil {
		t.Fatalf("server: %v", err)
	}
}

// StartOnly runs the program and does not wait.
func (s *ServerInstance) StartOnly(t testing.TB) {
	t.Helper()
	args := []string{"serve", "--config", s.ConfigFile()}
	if s.config.Role != "" {
		args = append(args, "--role", s.config.Role)
	}
	p, err := startProcess(s.Dir, "KILL", s.Command(t, args...))
	if err != nil {
		t.Fatalf("server: %v", err)
	}
	s.process, s.killed = p, false
}

// AwaitReady waits until /readyz says yes.
func (s *ServerInstance) AwaitReady() error {
	return s.ready(func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/readyz", nil)
		if err != nil {
			return err
		}
		res, err := plain.Do(req)
		if err != nil {
			return err
		}
		defer res.Body.Close()
		if res.StatusCode != http.StatusOK {
			return fmt.Errorf("/readyz answers %s", res.Status)
		}
		return nil
	})
}

// Command prepares another run of the program in the server's folder and environment.
func (s *ServerInstance) Command(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	program := s.config.Program
	if program == "" {
		program = programWith(t, s.config.Tags)
	}
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Env = s.Dir, s.env
	return cmd
}

// Stop sends SIGTERM, waits and returns the exit code.
func (s *ServerInstance) Stop() int {
	s.stop(syscall.SIGTERM)
	s.killed = true
	return s.cmd.ProcessState.ExitCode()
}

// SetProgram makes path the program of the starts and commands to come; empty: the one built from this source.
func (s *ServerInstance) SetProgram(path string) { s.config.Program = path }

// Setenv sets a variable for the starts and commands to come; an empty value takes it away.
func (s *ServerInstance) Setenv(name, value string) {
	s.env = slices.DeleteFunc(s.env, func(e string) bool { return strings.HasPrefix(e, name+"=") })
	if value != "" {
		s.env = append(s.env, name+"="+value)
	}
}

// AwaitKilled waits until the program was killed by SIGKILL, from outside or by itself, and reports
// whether it was within that time.
func (s *ServerInstance) AwaitKilled(timeout time.Duration) bool {
	select {
	case <-s.done:
		status, ok := s.cmd.ProcessState.Sys().(syscall.WaitStatus)
		s.killed = ok && status.Signal() == syscall.SIGKILL
		return s.killed
	case <-time.After(timeout):
		return false
	}
}

// Kill sends SIGKILL and waits.
func (s *ServerInstance) Kill() {
	s.stop(syscall.SIGKILL)
	s.killed = true
}

// Log is what the program wrote so far, over all its starts.
func (s *ServerInstance) Log() string {
	b, _ := os.ReadFile(filepath.Join(s.Dir, "log"))
	return string(b)
}
