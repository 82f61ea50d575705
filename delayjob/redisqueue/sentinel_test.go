package redisqueue

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"punctual/delayjob"
	"punctual/tests/testenv"
)

// When Sentinel makes the replica the master, the queue goes on there.
func TestSentinel_failover(t *testing.T) {
	t.Parallel()
	master := testenv.RedisServer(t, "--repl-diskless-sync-delay", "0")
	host, port, _ := net.SplitHostPort(master.Addr())
	replica := testenv.RedisServer(t, "--replicaof", host, port)
	q := openQueue(t, "redis+sentinel://"+startSentinel(t, host, port)+"/main", WithShards(1))
	hints, err := q.Wake(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	mustAdd(t, q, messages(100, q.Now().Add(-time.Second))...)
	eventually(t, "the replica has all", 10*time.Second, func() bool {
		return strings.TrimSpace(replica.Do(t, "HLEN", q.keys[0].m)) == "100"
	})
	master.Kill()
	var got delayjob.Claimed
	took := eventually(t, "claims from the new master", 30*time.Second, func() bool {
		var err error
		got, err = q.Claim(t.Context(), 0, want(100))
		return err == nil
	})
	t.Logf("the replica took over after %v", took)
	if len(got.Messages) != 100 {
		t.Errorf("claimed %d of 100", len(got.Messages))
	}
	deadline := time.After(10 * time.Second)
	for {
		select {
		case h := <-hints:
			if h.Due.IsZero() {
				return
			}
		case <-deadline:
			t.Fatal("nobody was told to look")
		}
	}
}

// startSentinel watches over a master called main.
func startSentinel(t *testing.T, host, port string) (addr string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr = l.Addr().String()
	l.Close()
	_, own, _ := net.SplitHostPort(addr)
	conf := filepath.Join(t.TempDir(), "sentinel.conf") // Sentinel writes to it
	text := fmt.Sprintf("port %s\nbind 127.0.0.1\nsentinel monitor main %s %s 1\nsentinel down-after-milliseconds main 500\nsentinel failover-timeout main 5000\n", own, host, port)
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "redis-server", conf, "--sentinel")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	eventually(t, "Sentinel answers", 10*time.Second, func() bool {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	return addr
}
