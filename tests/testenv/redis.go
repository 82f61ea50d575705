package testenv

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// Redis returns the URL of a server of the test's own; it starts in 15 ms.
func Redis(t testing.TB) string {
	t.Helper()
	return RedisServer(t).URL()
}

// Patient is the URL of a Redis for tests whose calls must not fail because the machine stood still: a queue
// waits for an answer for two seconds otherwise.
func Patient(url string) string {
	sep := "?"
	if strings.Contains(url, "?") {
		sep = "&"
	}
	return url + sep + "dial_timeout=1m&read_timeout=1m&write_timeout=1m"
}

// RedisInstance is a running server without persistence: killed and started again it is empty.
type RedisInstance struct {
	*process
	dir  string
	bin  string
	port int
	args []string
}

// RedisServer starts a server that the test may kill and start as it likes. It is gone when
// the test ends. More arguments go to redis-server, e.g. "--maxmemory", "8mb".
func RedisServer(t testing.TB, args ...string) *RedisInstance {
	t.Helper()
	s, err := StartRedis(args...)
	if err != nil {
		t.Fatalf("Redis: %v", err)
	}
	t.Cleanup(s.remove)
	return s
}

// StartRedis is [RedisServer] for code without a testing.TB; the server ends with the test binary.
func StartRedis(args ...string) (*RedisInstance, error) {
	bin, err := binary("redis-server", "redis-server")
	if err != nil {
		return nil, err
	}
	s := &RedisInstance{bin: bin, args: args}
	if s.dir, err = serverDir(baseDir, "redis"); err != nil {
		return nil, err
	}
	return onFreePort(func(port int) (*RedisInstance, error) {
		s.port = port
		return s, s.start()
	})
}

func (s *RedisInstance) start() error {
	args := append([]string{"--port", strconv.Itoa(s.port), "--bind", "127.0.0.1", "--dir", s.dir, "--save", "", "--appendonly", "no",
		"--maxmemory-policy", "noeviction", "--enable-debug-command", "yes"}, s.args...)
	p, err := startProcess(s.dir, "KILL", exec.Command(s.bin, args...))
	if err != nil {
		return err
	}
	s.process = p
	return p.ready(func() error {
		_, err := s.do("PING")
		return err
	})
}

func (s *RedisInstance) remove() {
	s.Kill()
	os.RemoveAll(s.dir)
}

// Addr is host:port.
func (s *RedisInstance) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// URL is redis://host:port/0.
func (s *RedisInstance) URL() string { return "redis://" + s.Addr() + "/0" }

// Kill ends the server at once with SIGKILL and waits for it.
func (s *RedisInstance) Kill() { s.stop(syscall.SIGKILL) }

// Start runs a server that was killed, on the same port, empty.
func (s *RedisInstance) Start(t testing.TB) {
	t.Helper()
	if err := s.start(); err != nil {
		t.Fatalf("start Redis: %v", err)
	}
}

// Restart kills and starts the server.
func (s *RedisInstance) Restart(t testing.TB) {
	t.Helper()
	s.Kill()
	s.Start(t)
}

// Do runs one command and returns its answer as text.
func (s *RedisInstance) Do(t testing.TB, args ...any) string {
	t.Helper()
	out, err := s.do(args...)
	if err != nil {
		t.Fatalf("redis %v: %v", args, err)
	}
	return out
}

func (s *RedisInstance) do(args ...any) (string, error) {
	c := redis.NewClient(&redis.Options{Addr: s.Addr(), MaxRetries: -1, DialTimeout: time.Minute, ReadTimeout: time.Minute, WriteTimeout: time.Minute, PoolSize: 1})
	defer c.Close()
	// Dialled here, since go-redis tries five times before it says that nobody listens.
	conn, err := net.DialTimeout("tcp", s.Addr(), time.Minute)
	if err != nil {
		return "", err
	}
	conn.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	v, err := c.Do(ctx, args...).Result()
	return fmt.Sprint(v), err
}

// sharedCluster is the cluster of Cluster, one per test binary.
var sharedCluster = sync.OnceValues(func() (*ClusterInstance, error) { return startCluster(3, 0) })

// Cluster returns the addresses of a Redis Cluster of three masters, which the tests of this
// binary share: use [Prefix] for keys, and no FLUSHALL.
func Cluster(t testing.TB) []string {
	t.Helper()
	c, err := sharedCluster()
	if err != nil {
		t.Fatalf("Redis Cluster: %v", err)
	}
	return c.Addrs()
}

// ClusterInstance is a running Redis Cluster; its masters come first.
type ClusterInstance struct{ Nodes []*RedisInstance }

// ClusterServer starts a cluster of three masters with so many replicas each. It takes some
// two seconds. A node may be killed and started.
func ClusterServer(t testing.TB, replicas int) *ClusterInstance {
	t.Helper()
	c, err := startCluster(3, replicas)
	if err != nil {
		t.Fatalf("Redis Cluster: %v", err)
	}
	t.Cleanup(func() {
		for _, n := range c.Nodes {
			n.remove()
		}
	})
	return c
}

// Addrs are host:port of all nodes.
func (c *ClusterInstance) Addrs() []string {
	addrs := make([]string, len(c.Nodes))
	for i, n := range c.Nodes {
		addrs[i] = n.Addr()
	}
	return addrs
}

func startCluster(masters, replicas int) (*ClusterInstance, error) {
	cli, err := binary("redis-cli", "redis-tools")
	if err != nil {
		return nil, err
	}
	c := &ClusterInstance{}
	for range masters * (1 + replicas) {
		n, err := startClusterNode()
		if err != nil {
			return nil, err
		}
		c.Nodes = append(c.Nodes, n)
	}
	args := append([]string{"--cluster", "create"}, c.Addrs()...)
	args = append(args, "--cluster-replicas", strconv.Itoa(replicas), "--cluster-yes")
	if out, err := exec.Command(cli, args...).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("create the cluster: %w\n%s", err, out)
	}
	for _, n := range c.Nodes {
		err := n.ready(func() error {
			info, err := n.do("CLUSTER", "INFO")
			if err == nil && !strings.Contains(info, "cluster_state:ok") {
				err = fmt.Errorf("not ready: %s", info)
			}
			if err == nil && !strings.Contains(info, "cluster_known_nodes:"+strconv.Itoa(len(c.Nodes))) {
				err = fmt.Errorf("not all nodes are known: %s", info)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		// Nobody takes over, and no node calls another one down because the machine stood still, until a test
		// shortens the time.
		if _, err := n.do("CONFIG", "SET", "cluster-node-timeout", "60000"); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Owner is the node that is now the master of a key's slot, as the first live one sees it.
func (c *ClusterInstance) Owner(t testing.TB, key string) *RedisInstance {
	t.Helper()
	for _, n := range c.Nodes {
		client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{n.Addr()}})
		defer client.Close()
		if m, err := client.MasterForKey(t.Context(), key); err == nil {
			for _, n := range c.Nodes {
				if n.Addr() == m.Options().Addr {
					return n
				}
			}
		}
	}
	t.Fatalf("no node of the cluster tells who has %s", key)
	return nil
}

// SentinelInstance is a master with a replica, and three Sentinels that watch over them.
type SentinelInstance struct {
	Master, Replica *RedisInstance
	sentinels       []*RedisInstance
}

// SentinelServer starts one; the master is called main, and is down after a second's silence.
func SentinelServer(t testing.TB) *SentinelInstance {
	t.Helper()
	s := &SentinelInstance{Master: RedisServer(t, "--repl-diskless-sync-delay", "0")}
	host, port, _ := net.SplitHostPort(s.Master.Addr())
	s.Replica = RedisServer(t, "--repl-diskless-sync-delay", "0", "--replicaof", host, port)
	for range 3 {
		n, err := startSentinel(host, port)
		if err != nil {
			t.Fatalf("Sentinel: %v", err)
		}
		t.Cleanup(n.remove)
		s.sentinels = append(s.sentinels, n)
	}
	for _, n := range append(s.sentinels, s.Replica) {
		err := n.ready(func() error {
			if n == s.Replica {
				info, err := n.do("INFO", "replication")
				if err == nil && !strings.Contains(info, "master_link_status:up") {
					err = fmt.Errorf("no replica yet: %s", info)
				}
				return err
			}
			info, err := n.do("INFO", "sentinel")
			if err == nil && !strings.Contains(info, "slaves=1,sentinels=3") {
				err = fmt.Errorf("not all are known: %s", info)
			}
			return err
		})
		if err != nil {
			t.Fatalf("Sentinel: %v", err)
		}
	}
	return s
}

// URL is redis+sentinel://h1:p,h2:p,h3:p/main.
func (s *SentinelInstance) URL() string {
	addrs := make([]string, len(s.sentinels))
	for i, n := range s.sentinels {
		addrs[i] = n.Addr()
	}
	return "redis+sentinel://" + strings.Join(addrs, ",") + "/main"
}

func startSentinel(host, port string) (*RedisInstance, error) {
	bin, err := binary("redis-server", "redis-server")
	if err != nil {
		return nil, err
	}
	s := &RedisInstance{bin: bin}
	if s.dir, err = serverDir(baseDir, "sentinel"); err != nil {
		return nil, err
	}
	conf := filepath.Join(s.dir, "sentinel.conf") // Sentinel writes to it
	text := fmt.Sprintf("sentinel monitor main %s %s 2\nsentinel down-after-milliseconds main 1000\nsentinel failover-timeout main 5000\n", host, port)
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		return nil, err
	}
	return onFreePort(func(p int) (*RedisInstance, error) {
		s.port = p
		if s.process, err = startProcess(s.dir, "KILL", exec.Command(bin, conf, "--sentinel", "--port", strconv.Itoa(p), "--bind", "127.0.0.1", "--dir", s.dir)); err != nil {
			return nil, err
		}
		return s, s.process.ready(func() error {
			_, err := s.do("PING")
			return err
		})
	})
}

// startClusterNode gives the node's bus a port explicitly, since its default, the port plus
// 10,000, may not exist.
func startClusterNode() (*RedisInstance, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	return StartRedis("--cluster-enabled", "yes", "--cluster-port", strconv.Itoa(port), "--cluster-node-timeout", "1500",
		"--cluster-config-file", "nodes.conf", "--repl-diskless-sync-delay", "0",
		"--cluster-require-full-coverage", "no") // as docs/operations.md advises: the healthy masters go on
}
