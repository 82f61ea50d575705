package testenv

import (
	"net"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
)

// Folder makes a folder that other users can enter. It is gone when the test ends.
func Folder(t testing.TB, name string) string {
	t.Helper()
	dir, err := serverDir(baseDir, name)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	t.Cleanup(func() { removeAll(t, dir) })
	return dir
}

// FreePort returns a port of the loopback interface that nobody else gets as long as the tests run.
func FreePort(t testing.TB) int {
	t.Helper()
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// Daemon starts a server of another project, such as Postfix, waits until it accepts connections and
// returns its port. command prepares it for a folder of its own and a port of the loopback interface; it
// must stay in the foreground. It is ended when the test ends.
func Daemon(t testing.TB, dir string, command func(port int) *exec.Cmd) int {
	t.Helper()
	port, err := onFreePort(func(port int) (int, error) {
		p, err := startProcess(dir, "TERM", command(port))
		if err != nil {
			return 0, err
		}
		t.Cleanup(func() { p.stop(syscall.SIGTERM) })
		return port, p.ready(func() error {
			c, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
			if err != nil {
				return err
			}
			return c.Close()
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	return port
}
