// Package testenv gives tests the real thing: private Postgres, Redis, SMTP and SMS servers,
// and the built program itself. A server that tests can share is started once per test
// binary, on first use; every test gets a database, server or prefix of its own, so that
// tests run in parallel. Nothing survives the test binary, not even when it is killed.
//
// No test skips for want of a server: a missing one fails the test and names the Debian
// package. `make test` installs them.
package testenv

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// startTimeout is how long a server may take to answer; far more than it needs, since the
// machine may be busy with other tests.
const startTimeout = 3 * time.Minute

// baseDir holds what this test binary's servers write. It is in memory when there is room.
var baseDir = sync.OnceValues(func() (string, error) { return guardedDir(memoryDir()) })

// diskDir is its counterpart on a disk, for servers that must pay for fsync.
var diskDir = sync.OnceValues(func() (string, error) { return guardedDir(os.TempDir()) })

// memoryDir is /dev/shm if it has room for a few databases (a container often gives it
// 64 MB only), else the folder for temporary files.
func memoryDir() string {
	const shm = "/dev/shm"
	var fs syscall.Statfs_t
	if syscall.Statfs(shm, &fs) == nil && int64(fs.Bavail)*int64(fs.Bsize) >= 1<<30 && syscall.Access(shm, 2) == nil {
		return shm
	}
	return os.TempDir()
}

// guard outlives the test binary by a moment: when the pipe to it closes, however that came
// about, it ends the processes noted in the folder and removes the folder.
const guard = `trap '' INT TERM HUP
cat >/dev/null
kill_all() { for f in "$1"/*/pid; do [ -e "$f" ] && kill -s $(cat "$f") 2>/dev/null; done; }
kill_all "$1"
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	sleep 0.05
	alive=
	for f in "$1"/*/pid; do
		[ -e "$f" ] || continue
		set -- "$1" $(cat "$f")
		[ -e "/proc/$3/cwd" ] && alive=1
	done
	[ -z "$alive" ] && break
done
rm -rf "$1"`

// guardedDir makes a folder that other users can enter, with a guard of its own.
func guardedDir(parent string) (string, error) {
	dir, err := os.MkdirTemp(parent, "punctual-test-")
	if err != nil {
		return "", err
	}
	if err := os.Chmod(dir, 0o711); err != nil {
		return "", err
	}
	cmd := exec.Command("/bin/sh", "-c", guard, "guard", dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for the tests, not for the guard
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", fmt.Errorf("start the guard of %s: %w", dir, err)
	}
	keepOpen(pipe)
	return dir, nil
}

// held until the process ends are files that a collection would close.
var held struct {
	sync.Mutex
	open []any
}

func keepOpen(file any) {
	held.Lock()
	defer held.Unlock()
	held.open = append(held.open, file)
}

var serial atomic.Int64

// serverDir makes a fresh folder for one server.
func serverDir(base func() (string, error), kind string) (string, error) {
	root, err := base()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(root, fmt.Sprintf("%s-%d", kind, serial.Add(1)))
	return dir, os.Mkdir(dir, 0o711)
}

// process is a server that runs until it is stopped or the test binary ends.
type process struct {
	cmd  *exec.Cmd
	log  string // path of what it writes
	note string // path of the guard's note
	done chan struct{}
	err  error // of Wait; valid once done is closed
}

// startProcess runs cmd, whose output is appended to dir/log. At the end of the test binary
// it gets the signal endSignal ("QUIT", "TERM", "KILL").
func startProcess(dir, endSignal string, cmd *exec.Cmd) (*process, error) {
	p := &process{cmd: cmd, log: filepath.Join(dir, "log"), note: filepath.Join(dir, "pid"), done: make(chan struct{})}
	out, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	if err := os.WriteFile(p.note, fmt.Appendf(nil, "%s %d\n", endSignal, cmd.Process.Pid), 0o644); err != nil {
		cmd.Process.Kill()
		cmd.Wait()
		return nil, err
	}
	go p.wait()
	return p, nil
}

func (p *process) wait() {
	p.err = p.cmd.Wait()
	os.Remove(p.note)
	close(p.done)
}

// PID of the server while it runs.
func (p *process) PID() int { return p.cmd.Process.Pid }

// Freeze stops the process as a machine that hangs does: its connections stay, and nobody answers.
func (p *process) Freeze() { p.cmd.Process.Signal(syscall.SIGSTOP) }

// Thaw lets a frozen process go on.
func (p *process) Thaw() { p.cmd.Process.Signal(syscall.SIGCONT) }

// stop sends sig and waits; after startTimeout it kills.
func (p *process) stop(sig os.Signal) {
	p.cmd.Process.Signal(sig)
	select {
	case <-p.done:
	case <-time.After(startTimeout):
		p.cmd.Process.Kill()
		<-p.done
	}
}

// ready polls until probe succeeds, the process ends or time is up.
func (p *process) ready(probe func() error) error {
	deadline := time.Now().Add(startTimeout)
	for {
		err := probe()
		if err == nil {
			return nil
		}
		select {
		case <-p.done:
			return fmt.Errorf("%s ended: %v\n%s", filepath.Base(p.cmd.Path), p.err, p.tail())
		case <-time.After(3 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s does not answer: %w\n%s", filepath.Base(p.cmd.Path), err, p.tail())
		}
	}
}

// tail is the end of what the process wrote.
func (p *process) tail() string {
	b, _ := os.ReadFile(p.log)
	return string(b[max(0, len(b)-20000):])
}

// freePort finds a TCP port of the loopback interface, each one once: nobody else gets it as long
// as this process runs, whether its server runs or is restarted. Other test binaries leave it
// alone because of the claim, and the system because it lies below the range from which it takes
// the ports of outgoing connections.
func freePort() (int, error) {
	var last error
	for range 200 {
		port := 10_000 + rand.IntN(22_000)
		claim, err := net.Listen("unix", fmt.Sprint("@punctual-test-port-", port)) // without a file: it ends with the process
		if err != nil {
			last = err
			continue
		}
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			claim.Close()
			last = err
			continue
		}
		keepOpen(claim)
		return port, l.Close()
	}
	return 0, fmt.Errorf("no free port: %w", last)
}

// onFreePort calls start with free ports until its server got the port.
func onFreePort[T any](start func(port int) (T, error)) (T, error) {
	var zero T
	var errs []error
	for range 4 {
		port, err := freePort()
		if err != nil {
			return zero, err
		}
		v, err := start(port)
		if err == nil {
			return v, nil
		}
		errs = append(errs, err)
		if !strings.Contains(strings.ToLower(err.Error()), "address already in use") {
			break
		}
	}
	return zero, errors.Join(errs...)
}

// binary finds a program of a Debian package.
func binary(name, pkg string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("%s is not installed: apt-get install %s (make test does it)", name, pkg)
	}
	return path, nil
}

// Prefix is a string no other call of this test binary returned, for keys in shared servers.
func Prefix(testing.TB) string { return fmt.Sprintf("t%d", serial.Add(1)) }
