package testenv

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Durability of a Postgres server.
type Durability bool

const (
	Volatile Durability = false // data in memory and no fsync: fast, for tests
	Durable  Durability = true  // data on disk, with fsync and Postgres' own settings: for benchmarks
)

// shared is the server of Postgres, one per test binary.
var shared = sync.OnceValues(func() (*PostgresInstance, error) { return startPostgres(Volatile) })

// Postgres returns the URL of a new empty database, dropped when the test ends.
func Postgres(t testing.TB) string {
	t.Helper()
	return SharedPostgres(t).Database(t)
}

// MigratedPostgres is [Postgres] with the tables in it that the program makes at its first start.
func MigratedPostgres(t testing.TB) string {
	t.Helper()
	program, server := Program(t), SharedPostgres(t)
	migrated.Do(func() {
		url, err := server.Create(migratedTemplate, "template0")
		if err == nil {
			cmd := exec.Command(program, "migrate", "up")
			cmd.Dir = server.dir // where there is no config.yaml
			cmd.Env = append(os.Environ(), "PUNCTUAL_DATABASE_URL="+url)
			if out, failed := cmd.CombinedOutput(); failed != nil {
				err = fmt.Errorf("migrate up: %w\n%s", failed, out)
			}
		}
		migratedErr = err
	})
	if migratedErr != nil {
		t.Fatalf("Postgres: %v", migratedErr)
	}
	return server.DatabaseFrom(t, migratedTemplate)
}

const migratedTemplate = "migrated"

var (
	migrated    sync.Once
	migratedErr error
)

// SharedPostgres is the server behind [Postgres], which all tests of this binary use.
func SharedPostgres(t testing.TB) *PostgresInstance {
	t.Helper()
	s, err := shared()
	if err != nil {
		t.Fatalf("Postgres: %v", err)
	}
	return s
}

// PostgresInstance is a running server of one's own.
type PostgresInstance struct {
	*process
	dir  string
	data string // folder of the databases
	bin  string
	port int
	conf []string
	cred *syscall.Credential
}

// PostgresServer starts a server that the test may stop, kill and start as it likes. It is
// gone when the test ends.
func PostgresServer(t testing.TB, d Durability) *PostgresInstance {
	t.Helper()
	s, err := startPostgres(d)
	if err != nil {
		t.Fatalf("Postgres: %v", err)
	}
	t.Cleanup(func() {
		s.Kill()
		os.RemoveAll(s.dir)
	})
	return s
}

// KeptPostgres starts a durable server with the databases in a folder, which stay there when the test
// ends. The user postgres must be able to enter the folder that it is in.
func KeptPostgres(t testing.TB, data string) *PostgresInstance {
	t.Helper()
	s, err := startPostgresOn(Durable, data)
	if err != nil {
		t.Fatalf("Postgres: %v", err)
	}
	t.Cleanup(func() {
		s.stop(syscall.SIGINT) // else the next start has to recover
		os.RemoveAll(s.dir)
	})
	return s
}

func startPostgres(d Durability) (*PostgresInstance, error) { return startPostgresOn(d, "") }

// startPostgresOn starts a server with the databases in a folder; empty: in a new one.
func startPostgresOn(d Durability, data string) (*PostgresInstance, error) {
	base := baseDir
	conf := []string{
		"listen_addresses=127.0.0.1", "max_connections=300", "logging_collector=off", "log_checkpoints=off",
		"timezone=UTC", "lc_messages=C",
	}
	if d == Durable {
		base = diskDir
	} else {
		conf = append(conf, "fsync=off", "synchronous_commit=off", "full_page_writes=off", "shared_buffers=64MB",
			"autovacuum=off", "max_wal_size=256MB", "wal_level=minimal", "max_wal_senders=0")
	}
	bin, err := postgresBin()
	if err != nil {
		return nil, err
	}
	s := &PostgresInstance{bin: bin, conf: conf}
	if s.dir, err = serverDir(base, "postgres"); err != nil {
		return nil, err
	}
	s.data = cmp.Or(data, filepath.Join(s.dir, "data"))
	if os.Getuid() == 0 { // Postgres refuses to run as root
		if s.cred, err = postgresUser(); err != nil {
			return nil, err
		}
		if err := os.Chown(s.dir, int(s.cred.Uid), int(s.cred.Gid)); err != nil {
			return nil, err
		}
	}
	if _, err := os.Stat(s.data); err != nil {
		if err := os.Mkdir(s.data, 0o700); err != nil {
			return nil, err
		}
		if s.cred != nil {
			if err := os.Chown(s.data, int(s.cred.Uid), int(s.cred.Gid)); err != nil {
				return nil, err
			}
		}
		initdb := s.command("initdb", "-D", s.data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync")
		if out, err := initdb.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("initdb: %w\n%s", err, out)
		}
	}
	return onFreePort(func(port int) (*PostgresInstance, error) {
		s.port = port
		return s, s.start()
	})
}

// postgresBin is the folder of the newest installed server's programs; Debian does not put
// them on the PATH.
func postgresBin() (string, error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	version := func(path string) int {
		n, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(path))))
		return n
	}
	if len(found) > 0 {
		return filepath.Dir(slices.MaxFunc(found, func(a, b string) int { return version(a) - version(b) })), nil
	}
	path, err := binary("postgres", "postgresql")
	return filepath.Dir(path), err
}

func postgresUser() (*syscall.Credential, error) {
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, fmt.Errorf("Postgres does not run as root and there is no user postgres: apt-get install postgresql (make test does it): %w", err)
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}

func (s *PostgresInstance) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(s.bin, name), args...)
	cmd.Dir = s.dir // the test's own folder may be closed to the user postgres
	cmd.Env = append(shiftedClock(), "PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8")
	if s.cred != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: s.cred}
	}
	return cmd
}

func (s *PostgresInstance) start() error {
	args := []string{"-D", s.data, "-p", strconv.Itoa(s.port), "-k", s.dir}
	for _, c := range s.conf {
		args = append(args, "-c", c)
	}
	p, err := startProcess(s.dir, "QUIT", s.command("postgres", args...))
	if err != nil {
		return err
	}
	s.process = p
	return p.ready(func() error { return s.exec("SELECT 1") })
}

// exec runs one statement in the maintenance database, over a connection of its own: an idle
// pool would keep goroutines that leak detectors report.
func (s *PostgresInstance) exec(sql string) error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	c, err := pgx.Connect(ctx, s.URL("postgres"))
	if err != nil {
		return err
	}
	defer c.Close(ctx)
	_, err = c.Exec(ctx, sql)
	return err
}

// URL of a database.
func (s *PostgresInstance) URL(database string) string {
	u := url.URL{Scheme: "postgres", User: url.UserPassword("postgres", "postgres"), Host: fmt.Sprintf("127.0.0.1:%d", s.port),
		Path: "/" + database, RawQuery: "sslmode=disable"}
	return u.String()
}

// Database returns the URL of a new empty database, dropped when the test ends.
func (s *PostgresInstance) Database(t testing.TB) string {
	t.Helper()
	return s.DatabaseFrom(t, "template0")
}

// DatabaseFrom is Database with the content of a template, to which nobody may be connected.
func (s *PostgresInstance) DatabaseFrom(t testing.TB, template string) string {
	t.Helper()
	name := fmt.Sprintf("test_%d", serial.Add(1))
	u, err := s.Create(name, template)
	if err != nil {
		t.Fatalf("create a database: %v", err)
	}
	t.Cleanup(func() {
		select {
		case <-s.done: // killed by the test; its folder goes with it
			return
		default:
		}
		if err := s.exec("DROP DATABASE " + name + " WITH (FORCE)"); err != nil {
			t.Errorf("drop a database: %v", err)
		}
	})
	return u
}

// Create makes a database with the content of a template, for as long as the server runs, and
// returns its URL.
func (s *PostgresInstance) Create(name, template string) (string, error) {
	return s.URL(name), s.exec(fmt.Sprintf("CREATE DATABASE %s TEMPLATE %s STRATEGY FILE_COPY", name, template))
}

// Kill ends the server at once, as a power cut would, and waits for it.
func (s *PostgresInstance) Kill() { s.stop(syscall.SIGQUIT) }

// Start runs a server that was killed, on the same port and data.
func (s *PostgresInstance) Start(t testing.TB) {
	t.Helper()
	if err := s.start(); err != nil {
		t.Fatalf("start Postgres: %v", err)
	}
}

// Restart kills and starts the server.
func (s *PostgresInstance) Restart(t testing.TB) {
	t.Helper()
	s.Kill()
	s.Start(t)
}

// SQLite returns the URL of a database file that does not exist yet, in a folder of the test.
// It is in memory where there is room, since tests need no durability.
func SQLite(t testing.TB) string {
	t.Helper()
	dir, err := serverDir(baseDir, "sqlite")
	if err != nil {
		t.Fatalf("SQLite: %v", err)
	}
	t.Cleanup(func() { removeAll(t, dir) })
	return "sqlite:" + filepath.Join(dir, "punctual.db")
}

// removeAll removes a folder in which a process that is just ending may still write.
func removeAll(t testing.TB, dir string) {
	var err error
	for range 20 {
		if err = os.RemoveAll(dir); err == nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("remove %s: %v", dir, err)
}

// shiftedClock is the part of the environment by which `make clocks` shifts a server's clock.
func shiftedClock() (env []string) {
	for _, name := range []string{"LD_PRELOAD", "CLOCK_SHIFT"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	return env
}

// PostgresProgram is the path of a program of the newest installed server, such as pg_dump.
func PostgresProgram(t testing.TB, name string) string {
	t.Helper()
	bin, err := postgresBin()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(bin, name)
}
