package testenv

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

var mariadb = sync.OnceValues(startMariaDB)

// mariadbInstance is a server of MariaDB, one per test binary.
type mariadbInstance struct {
	*process
	port int
}

// MariaDB returns the address of a new database with the content of a dump, for a user who may only
// read, and a function that runs statements in it.
func MariaDB(t testing.TB, dump string) (address string, exec func(sql string)) {
	t.Helper()
	s, err := mariadb()
	if err != nil {
		t.Fatalf("MariaDB: %v", err)
	}
	name := fmt.Sprintf("test_%d", serial.Add(1))
	run := func(database, sql string) {
		t.Helper()
		cmd := command("/usr/bin/mariadb", "--no-defaults", "--host=127.0.0.1", fmt.Sprintf("--port=%d", s.port), "--user=root", "--default-character-set=utf8mb4", database)
		cmd.Stdin = strings.NewReader(sql)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("MariaDB: %v\n%s", err, out)
		}
	}
	run("mysql", fmt.Sprintf("CREATE DATABASE %s; CREATE USER %s@'127.0.0.1' IDENTIFIED BY 'a @/ b'; GRANT SELECT ON %s.* TO %s@'127.0.0.1';", name, name, name, name))
	run(name, dump)
	return fmt.Sprintf("mysql://%s:a%%20%%40%%2f%%20b@127.0.0.1:%d/%s", name, s.port, name), func(sql string) { t.Helper(); run(name, sql) }
}

func command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/bin", "LC_ALL=C.UTF-8"}
	return cmd
}

func startMariaDB() (*mariadbInstance, error) {
	const server = "/usr/sbin/mariadbd" // Debian does not put it on the PATH of users
	if _, err := os.Stat(server); err != nil {
		return nil, fmt.Errorf("%s is not there: apt-get install mariadb-server-core mariadb-client-core (make test does it)", server)
	}
	dir, err := serverDir(baseDir, "mariadb")
	if err != nil {
		return nil, err
	}
	conf := []string{"--datadir=" + filepath.Join(dir, "data"), "--innodb-log-file-size=8M", "--innodb-buffer-pool-size=16M"}
	if os.Getuid() == 0 {
		conf = append(conf, "--user=root")
	}
	install := command("/usr/bin/mariadb-install-db", append([]string{"--no-defaults", "--skip-test-db", "--auth-root-authentication-method=normal"}, conf...)...)
	if out, err := install.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("mariadb-install-db: %w\n%s", err, out)
	}
	return onFreePort(func(port int) (*mariadbInstance, error) {
		args := append([]string{"--no-defaults", fmt.Sprintf("--port=%d", port), "--bind-address=127.0.0.1", "--socket=" + filepath.Join(dir, "socket"),
			"--pid-file=" + filepath.Join(dir, "mariadb.pid"), "--innodb-flush-log-at-trx-commit=0", "--skip-log-bin"}, conf...)
		p, err := startProcess(dir, "KILL", command(server, args...))
		if err != nil {
			return nil, err
		}
		err = p.ready(func() error {
			return command("/usr/bin/mariadb", "--no-defaults", "--host=127.0.0.1", fmt.Sprintf("--port=%d", port), "--user=root", "--execute=SELECT 1").Run()
		})
		if err != nil {
			p.stop(syscall.SIGKILL)
			return nil, err
		}
		return &mariadbInstance{p, port}, nil
	})
}
