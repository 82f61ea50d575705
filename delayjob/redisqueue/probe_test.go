package redisqueue

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"punctual/delayjob"
	"punctual/tests/testenv"
)

// A queue can be created before its server runs, and works once the server answers.
func TestNew_beforeItsServer(t *testing.T) {
	t.Parallel()
	server := testenv.RedisServer(t)
	server.Kill()
	var log bytes.Buffer
	q := openQueue(t, server.URL(), WithPatience(), WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
	if !strings.Contains(log.String(), "redis unavailable") {
		t.Errorf("no warning: %q", log.String())
	}
	if d := time.Until(q.Now()); d.Abs() > time.Minute {
		t.Errorf("its clock is wrong by %v", d)
	}
	calls := map[string]func() error{
		"Add":   func() error { _, err := q.Add(t.Context(), messages(1, q.Now())...); return err },
		"Claim": func() error { _, err := q.Claim(t.Context(), 0, want(1)); return err },
		"Nack": func() error {
			return errors.Join(q.Nack(t.Context(), delayjob.Return{Lease: delayjob.Lease{ID: "meeting.start:1"}})...)
		},
		"Wake":     func() error { _, err := q.Wake(t.Context()); return err },
		"SetEpoch": func() error { return q.SetEpoch(t.Context(), "1") },
		"Pause":    func() error { return q.Pause(t.Context(), "meeting.start") },
		"Resume":   func() error { return q.Resume(t.Context(), "meeting.start") },
	}
	for name, call := range calls {
		if err := call(); err == nil || errors.Is(err, delayjob.ErrLeaseLost) {
			t.Errorf("%s without a server: %v", name, err)
		}
	}
	server.Start(t)
	eventually(t, "it is in use", time.Minute, func() bool { return q.SetEpoch(t.Context(), "1") == nil })
	if _, err := q.Wake(t.Context()); err != nil {
		t.Error(err)
	}
	mustAdd(t, q, messages(10, q.Now().Add(-time.Second))...)
	if n := len(claimAll(t, q)); n != 10 {
		t.Errorf("claimed %d, want 10", n)
	}
}

// A server that answers late is not used unless it meets the requirements.
func TestNew_unfitServer(t *testing.T) {
	t.Parallel()
	server := testenv.RedisServer(t, "--maxmemory-policy", "allkeys-lru")
	if _, err := Open(t.Context(), server.URL(), WithPatience()); err == nil || !strings.Contains(err.Error(), "allkeys-lru") {
		t.Errorf("opened on a server that evicts: %v", err)
	}
	server.Kill()
	q := openQueue(t, server.URL(), WithPatience())
	server.Start(t)
	eventually(t, "it says why", time.Minute, func() bool {
		_, err := q.Add(t.Context(), messages(1, q.Now())...)
		if err == nil {
			t.Fatal("it uses a server that evicts")
		}
		return strings.Contains(err.Error(), "allkeys-lru")
	})
	server.Do(t, "CONFIG", "SET", "maxmemory-policy", "noeviction")
	eventually(t, "it is in use", time.Minute, func() bool { return q.SetEpoch(t.Context(), "1") == nil })
}

// New reports a wrong password at once.
func TestNew_wrongPassword(t *testing.T) {
	t.Parallel()
	server := testenv.RedisServer(t)
	server.Do(t, "CONFIG", "SET", "requirepass", "secret")
	for _, user := range []string{"", ":wrong@", "nobody:secret@"} {
		url := strings.Replace(server.URL(), "redis://", "redis://"+user, 1)
		if q, err := Open(t.Context(), url, WithPatience()); err == nil {
			_ = q.Close()
			t.Errorf("%q was let in", user)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: the error shows the password: %v", user, err)
		}
	}
}

func TestCluster_beforeItsServers(t *testing.T) {
	t.Parallel()
	cluster := testenv.ClusterServer(t, 0)
	for _, n := range cluster.Nodes {
		n.Kill()
	}
	url := "redis+cluster://" + strings.Join(cluster.Addrs(), ",")
	q := openQueue(t, url, WithPatience())
	if _, err := q.Wake(t.Context()); err == nil {
		t.Error("hints without servers")
	}
	for _, n := range cluster.Nodes {
		n.Start(t)
	}
	eventually(t, "it is in use", time.Minute, func() bool { return q.SetEpoch(t.Context(), "1") == nil })
	if other := openQueue(t, url); q.publish() != other.publish() {
		t.Errorf("it sends hints by %s, one that was made later by %s", q.publish(), other.publish())
	}
	mustAdd(t, q, messages(100, q.Now().Add(-time.Second))...)
	if n := len(claimAll(t, q)); n != 100 {
		t.Errorf("claimed %d, want 100", n)
	}
}
