package redisqueue

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"punctual/delayjob"
	"punctual/tests/testenv"
)

func messages(n int, due time.Time) []delayjob.Message {
	body := []byte(strings.Repeat("x", 100))
	ms := make([]delayjob.Message, n)
	for i := range ms {
		ms[i] = delayjob.Message{Job: "meeting.start", Key: strconv.Itoa(100_000 + i), Version: 1, Due: due, Body: body}
	}
	return ms
}

func want(limit int) []delayjob.Want {
	return []delayjob.Want{{Job: "meeting.start", Limit: limit, Lease: time.Minute, MaxAttempts: 3}}
}

func mustAdd(t testing.TB, q *Queue, ms ...delayjob.Message) {
	t.Helper()
	res, err := q.Add(t.Context(), ms...)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range res {
		if r != delayjob.Added {
			t.Fatalf("%s: %v", ms[i].ID(), r)
		}
	}
}

// claimAll leases everything that is due, in all shards.
func claimAll(t testing.TB, q *Queue) (ls []delayjob.Lease) {
	t.Helper()
	for shard := range q.Shards() {
		for more := true; more; {
			c, err := q.Claim(t.Context(), shard, want(500))
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range c.Messages {
				ls = append(ls, m.Lease)
			}
			more = !c.Next.IsZero() && !c.Next.After(c.Now)
		}
	}
	return ls
}

func eventually(t testing.TB, what string, within time.Duration, ok func() bool) time.Duration {
	t.Helper()
	begin := time.Now()
	for !ok() {
		if time.Since(begin) > within {
			t.Fatalf("not within %v: %s", within, what)
		}
		time.Sleep(5 * time.Millisecond)
	}
	return time.Since(begin)
}

// A restarted server has forgotten the scripts.
func TestQueue_scriptsFlushed(t *testing.T) {
	t.Parallel()
	server := testenv.RedisServer(t)
	q := openQueue(t, server.URL())
	var done atomic.Bool
	var flushing sync.WaitGroup
	flushing.Go(func() {
		for !done.Load() {
			server.Do(t, "SCRIPT", "FLUSH")
		}
	})
	defer flushing.Wait()
	defer done.Store(true)
	const n = 5000 // several runs in one pipeline
	mustAdd(t, q, messages(n, q.Now().Add(-time.Second))...)
	ls := claimAll(t, q)
	if len(ls) != n {
		t.Errorf("claimed %d of %d", len(ls), n)
	}
	if errs := q.Extend(t.Context(), time.Minute, ls...); errs != nil {
		t.Error(errs)
	}
	if errs := q.Ack(t.Context(), ls...); errs != nil {
		t.Error(errs)
	}
	if s, err := q.Stats(t.Context(), "meeting.start"); err != nil || s != (delayjob.Stats{}) {
		t.Errorf("left: %+v, %v", s, err)
	}
}

func TestQueue_flushAll(t *testing.T) {
	t.Parallel()
	server := testenv.RedisServer(t)
	q := openQueue(t, server.URL())
	mustAdd(t, q, messages(100, q.Now().Add(-time.Second))...)
	if err := q.SetEpoch(t.Context(), "1"); err != nil {
		t.Fatal(err)
	}
	before := claimAll(t, q)
	server.Do(t, "FLUSHALL")
	for shard := range q.Shards() {
		if c, err := q.Claim(t.Context(), shard, want(1)); err != nil || c.Epoch || len(c.Messages) > 0 {
			t.Errorf("shard %d after a flush: %+v, %v", shard, c, err)
		}
	}
	for i, err := range q.Ack(t.Context(), before...) {
		if err != delayjob.ErrLeaseLost {
			t.Fatalf("ack %d: %v", i, err)
		}
	}
	mustAdd(t, q, messages(100, q.Now().Add(-time.Second))...)
	newest := int64(0)
	for _, l := range before {
		newest = max(newest, l.Token)
	}
	for _, l := range claimAll(t, q) {
		if l.Token <= newest {
			t.Fatalf("token %d after a flush, before it %d", l.Token, newest)
		}
	}
}

func TestQueue_serverRestarts(t *testing.T) {
	t.Parallel()
	server := testenv.RedisServer(t)
	q := openQueue(t, server.URL())
	hints, err := q.Wake(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	mustAdd(t, q, messages(100, q.Now().Add(time.Hour))...)
	if err := q.SetEpoch(t.Context(), "1"); err != nil {
		t.Fatal(err)
	}
	server.Kill()
	for range 20 {
		begin := time.Now()
		res, err := q.Add(t.Context(), messages(100, q.Now())...)
		if err == nil || res[0] != delayjob.NotStored {
			t.Fatalf("without a server: %v, %v", res[0], err)
		}
		if _, err := q.Claim(t.Context(), 0, want(1)); err == nil {
			t.Fatal("claimed without a server")
		}
		if took := time.Since(begin); took > time.Minute {
			t.Fatalf("it took %v to see that there is no server", took)
		}
	}
	server.Start(t)
	eventually(t, "claims work again", time.Minute, func() bool {
		c, err := q.Claim(t.Context(), 0, want(1))
		return err == nil && !c.Epoch
	})
	told := map[int]bool{}
	deadline := time.After(time.Minute)
	for len(told) < q.Shards() {
		select {
		case h := <-hints:
			if h.Due.IsZero() {
				told[h.Shard] = true
			}
		case <-deadline:
			t.Fatalf("%d of %d shards were told to look", len(told), q.Shards())
		}
	}
	soon := q.Now().Add(time.Minute)
	m := delayjob.Message{Job: "meeting.start", Key: "1", Due: soon}
	mustAdd(t, q, m)
	for h := (delayjob.Hint{}); h.Due.IsZero(); { // some shards may have sent several zero hints
		select {
		case h = <-hints:
		case <-deadline:
			t.Fatal("no hints after a restart")
		}
		if !h.Due.IsZero() && h.Due.Sub(soon).Abs() > time.Millisecond {
			t.Errorf("a hint for %v, want %v", h.Due, soon)
		}
	}
}

// next is the next hint about a message. A shard sends others if it is subscribed late or again, because the
// machine stood still.
func next(t *testing.T, hints <-chan delayjob.Hint) delayjob.Hint {
	t.Helper()
	for deadline := time.After(time.Minute); ; {
		select {
		case h := <-hints:
			if !h.Due.IsZero() {
				return h
			}
		case <-deadline:
			t.Fatal("no hint after a minute")
		}
	}
}

// An add in one process wakes another.
func TestWake_acrossProcesses(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]string{
		"server":  testenv.Redis(t),
		"cluster": "redis+cluster://" + strings.Join(testenv.Cluster(t), ","),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			prefix := "wake" + strconv.FormatInt(opened.Add(1), 10)
			a, b := openQueue(t, url, WithPrefix(prefix)), openQueue(t, url, WithPrefix(prefix))
			hints, err := a.Wake(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for i := range 50 {
				m := delayjob.Message{Job: "job", Key: strconv.Itoa(i), Due: b.Now().Add(time.Hour - time.Duration(i)*time.Minute)}
				mustAdd(t, b, m)
				if h := next(t, hints); h.Shard != delayjob.ShardOf(m.Key, a.Shards()) || h.Due.Sub(m.Due).Abs() > time.Millisecond {
					t.Errorf("hint %+v, want %v", h, m.Due)
				}
			}
		})
	}
}

// A full server refuses adds and loses none of its messages.
func TestQueue_outOfMemory(t *testing.T) {
	t.Parallel()
	server := testenv.RedisServer(t, "--maxmemory", "6mb")
	q := openQueue(t, server.URL())
	stored, full := 0, false
	ms := messages(50_000, q.Now().Add(-time.Second))
	for i := 0; i < len(ms) && !full; i += 1000 {
		res, err := q.Add(t.Context(), ms[i:i+1000]...)
		for _, r := range res {
			if r == delayjob.Added {
				stored++
			}
		}
		full = err != nil
	}
	if !full || stored == 0 {
		t.Fatalf("%d messages fit, full: %v", stored, full)
	}
	if breaches, err := q.Check(t.Context(), "meeting.start"); err != nil || len(breaches) > 0 {
		t.Errorf("Check: %v, %v", breaches, err)
	}
	// Claimed messages can still be finished, which frees memory.
	server.Do(t, "CONFIG", "SET", "maxmemory", "1mb") // so that it stays full
	c, err := q.Claim(t.Context(), 0, want(4))
	if err != nil || len(c.Messages) != 4 {
		t.Fatalf("claimed %d of 4 where memory is full: %v", len(c.Messages), err)
	}
	ls := make([]delayjob.Lease, len(c.Messages))
	for i, m := range c.Messages {
		ls[i] = m.Lease
	}
	if errs := q.Extend(t.Context(), time.Minute, ls...); errs != nil {
		t.Error(errs)
	}
	if errs := q.Nack(t.Context(), delayjob.Return{Lease: ls[0]}, delayjob.Return{Lease: ls[1], How: delayjob.Release}, delayjob.Return{Lease: ls[2], How: delayjob.Bury}); errs != nil {
		t.Error(errs)
	}
	if errs := q.Ack(t.Context(), ls[3]); errs != nil {
		t.Error(errs)
	}
	if breaches, err := q.Check(t.Context(), "meeting.start"); err != nil || len(breaches) > 0 {
		t.Errorf("Check: %v, %v", breaches, err)
	}
	if _, err := q.Requeue(t.Context(), ls[2].ID); err == nil {
		t.Error("memory is not full any more; the test proves nothing")
	}
	server.Do(t, "CONFIG", "SET", "maxmemory", "0")
	if _, err := q.Requeue(t.Context(), ls[2].ID); err != nil {
		t.Error(err)
	}
	for i := 0; i < len(ms); i += 1000 {
		res, err := q.Add(t.Context(), ms[i:i+1000]...)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range res {
			if r == delayjob.Added {
				stored++
			}
		}
	}
	if stored != len(ms)+1 {
		t.Errorf("%d were stored, want each of %d once, and the finished one again", stored, len(ms))
	}
	if n := len(claimAll(t, q)); n != len(ms) {
		t.Errorf("claimed %d of %d", n, len(ms))
	}
}

// A claim whose answer is lost has leased one batch. Repeating it would lease another.
func TestClaim_isNotRepeated(t *testing.T) {
	t.Parallel()
	server := testenv.RedisServer(t)
	proxy := testenv.NewProxy(t, server.Addr())
	for _, repeating := range []bool{false, true} {
		prefix := fmt.Sprint("repeat-", repeating)
		retries := -1
		if repeating {
			retries = 5
		}
		client := redis.NewClient(&redis.Options{Addr: proxy.Addr(), MaxRetries: retries, MinRetryBackoff: time.Millisecond})
		defer client.Close()
		q, err := New(t.Context(), client, WithPrefix(prefix), WithShards(1))
		if err != nil {
			t.Fatal(err)
		}
		defer q.Close()
		mustAdd(t, q, messages(100, q.Now().Add(-time.Second))...)
		if _, err := q.Claim(t.Context(), 0, want(1)); err != nil { // loads the script
			t.Fatal(err)
		}
		proxy.Cut(0)
		if c, err := q.Claim(t.Context(), 0, want(10)); err == nil {
			t.Errorf("the answer was cut off, but %d messages arrived", len(c.Messages))
		}
		s, err := q.Stats(t.Context(), "meeting.start")
		if err != nil || s.Reserved != 11 {
			t.Errorf("%d are leased, want 1 and 10; %v", s.Reserved, err)
		}
	}
}

func TestNew_refusesEviction(t *testing.T) {
	t.Parallel()
	server := testenv.RedisServer(t, "--maxmemory-policy", "allkeys-lru")
	_, err := Open(t.Context(), server.URL())
	if err == nil || !strings.Contains(err.Error(), "maxmemory-policy allkeys-lru") || !strings.Contains(err.Error(), "noeviction") {
		t.Errorf("opened on a server that evicts: %v", err)
	}
}

// A user with few rights is enough. The log says what could not be checked.
func TestNew_restrictedUser(t *testing.T) {
	t.Parallel()
	server := testenv.RedisServer(t)
	server.Do(t, "ACL", "SETUSER", "pq", "on", ">secret", "~{pq:*", "&{pq:*", "-@all",
		"+evalsha", "+eval", "+time", "+hget", "+hset", "+hmget", "+hdel", "+hexists", "+hscan",
		"+zadd", "+zrem", "+zremrangebyrank", "+zrange", "+zrangebyscore", "+zcard", "+zcount", "+zscore", "+zmscore", "+zscan",
		"+publish", "+subscribe", "+unsubscribe", "+ping", "+hello", "+auth")
	var log bytes.Buffer
	url := strings.Replace(server.URL(), "redis://", "redis://pq:secret@", 1)
	q := openQueue(t, url, WithPrefix("pq"), WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
	if !strings.Contains(log.String(), "noeviction") {
		t.Errorf("no warning: %q", log.String())
	}
	if _, err := q.Wake(t.Context()); err != nil {
		t.Error(err)
	}
	mustAdd(t, q, messages(10, q.Now().Add(-time.Second))...)
	ls := claimAll(t, q)
	if errs := q.Nack(t.Context(), delayjob.Return{Lease: ls[0], How: delayjob.Bury}); errs != nil {
		t.Error(errs)
	}
	if errs := q.Ack(t.Context(), ls[1:]...); errs != nil {
		t.Error(errs)
	}
	if breaches, err := q.Check(t.Context()); err != nil || len(breaches) > 0 {
		t.Error(breaches, err)
	}
	if items, _, err := q.List(t.Context(), "meeting.start", delayjob.StateDead, "", 10); err != nil || len(items) != 1 {
		t.Error(items, err)
	}
}

// In a cluster, a dead master delays only its own shards, until its replica takes over.
func TestCluster_failover(t *testing.T) {
	t.Parallel()
	cluster := testenv.ClusterServer(t, 1)
	q := openQueue(t, "redis+cluster://"+strings.Join(cluster.Addrs(), ","))
	hints, err := q.Wake(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	mustAdd(t, q, messages(1000, q.Now().Add(time.Hour))...)
	dead := cluster.Nodes[0]
	gone := map[int]bool{}
	for shard := range q.Shards() {
		if node, err := q.node(t.Context(), shard); err == nil && node.Options().Addr == dead.Addr() {
			gone[shard] = true
		}
	}
	if len(gone) < 4 || len(gone) > 7 {
		t.Errorf("%d of 16 shards are on one of three masters", len(gone))
	}
	takeover := func(after int) { // ms
		for _, n := range cluster.Nodes[1:] {
			n.Do(t, "CONFIG", "SET", "cluster-node-timeout", after)
		}
	}
	takeover(3600_000) // not while messages are added
	dead.Kill()

	ms := messages(1000, q.Now().Add(time.Hour))
	for i := range ms {
		ms[i].Version = 2
	}
	begin := time.Now()
	res, err := q.Add(t.Context(), ms...)
	if err == nil {
		t.Fatal("an add to a dead master succeeded")
	}
	t.Logf("add with a dead master took %v: %v", time.Since(begin), err)
	for i, r := range res {
		shard := delayjob.ShardOf(ms[i].Key, q.Shards())
		if want := map[bool]delayjob.AddResult{true: delayjob.NotStored, false: delayjob.Replaced}[gone[shard]]; r != want {
			t.Fatalf("%s of shard %d: %v, want %v", ms[i].ID(), shard, r, want)
		}
	}
	takeover(1500)
	took := eventually(t, "the replica takes over", time.Minute, func() bool {
		_, err := q.Add(t.Context(), ms...)
		return err == nil
	})
	t.Logf("the replica took over after %v", took)
	deadline := time.After(time.Minute)
	for told := map[int]bool{}; len(told) < len(gone); {
		select {
		case h := <-hints:
			if h.Due.IsZero() && gone[h.Shard] {
				told[h.Shard] = true
			}
		case <-deadline:
			t.Fatalf("%d of %d shards were told to look", len(told), len(gone))
		}
	}
}

// A shard whose slot moves to another node is found there at once.
func TestCluster_slotMoves(t *testing.T) {
	t.Parallel()
	cluster := testenv.ClusterServer(t, 0)
	q := openQueue(t, "redis+cluster://"+strings.Join(cluster.Addrs(), ",")+"?client_name=mover")
	hints, err := q.Wake(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const shard = 5
	slot := int(crc16(strings.Trim(q.keys[shard].tag, "{}"))) % slots
	owner, err := q.node(t.Context(), shard)
	if err != nil {
		t.Fatal(err)
	}
	var from, to *testenv.RedisInstance
	for _, n := range cluster.Nodes {
		if n.Addr() == owner.Options().Addr {
			from = n
		} else {
			to = n
		}
	}
	fromID, toID := from.Do(t, "CLUSTER", "MYID"), to.Do(t, "CLUSTER", "MYID")
	to.Do(t, "CLUSTER", "SETSLOT", slot, "IMPORTING", fromID)
	from.Do(t, "CLUSTER", "SETSLOT", slot, "MIGRATING", toID)
	for _, n := range []*testenv.RedisInstance{to, from} {
		n.Do(t, "CLUSTER", "SETSLOT", slot, "NODE", toID)
	}
	key := ""
	for i := 0; delayjob.ShardOf(key, q.Shards()) != shard || key == ""; i++ {
		key = strconv.Itoa(i)
	}
	// At once: the client's table still has the old owner, which answers MOVED.
	mustAdd(t, q, delayjob.Message{Job: "job", Key: key, Due: q.Now().Add(-time.Second)})
	c, err := q.Claim(t.Context(), shard, []delayjob.Want{{Job: "job", Limit: 1, Lease: time.Minute}})
	if err != nil || len(c.Messages) != 1 {
		t.Fatalf("claimed %v, %v", c.Messages, err)
	}
	// The subscription follows.
	deadline, hour := time.After(time.Minute), q.Now().Add(time.Hour)
	for n := 0; ; n++ {
		mustAdd(t, q, delayjob.Message{Job: "job", Key: key + ":" + strconv.Itoa(n), Due: hour.Add(-time.Duration(n) * time.Second)})
		select {
		case h := <-hints:
			if h.Shard == shard && h.Due.After(hour.Add(-30*time.Minute)) { // of this message, or of one before
				return
			}
		case <-time.After(200 * time.Millisecond):
		case <-deadline:
			t.Fatal("hints do not come from the new node")
		}
	}
}

// Malformed messages are skipped and logged.
func TestClaim_unreadable(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	q := openQueue(t, testenv.Redis(t), WithShards(1), WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
	mustAdd(t, q, messages(2, q.Now().Add(-time.Second))...)
	q.single.HSet(t.Context(), q.keys[0].m, "meeting.start:100000", "nonsense")
	c, err := q.Claim(t.Context(), 0, want(10))
	if err != nil || len(c.Messages) != 1 || c.Messages[0].Key != "100001" {
		t.Errorf("claimed %v, %v", c.Messages, err)
	}
	if !strings.Contains(log.String(), "meeting.start:100000") {
		t.Errorf("not told: %q", log.String())
	}
}

// An expired context ends a call even if the server hangs.
func TestQueue_hangingServer(t *testing.T) {
	t.Parallel()
	server := testenv.RedisServer(t)
	q := openQueue(t, server.URL())
	server.Do(t, "CLIENT", "PAUSE", 600_000, "ALL")
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := q.Add(ctx, messages(1, q.Now())...); !errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a call that hangs ends with %v", err)
	}
}
