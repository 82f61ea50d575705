package redisqueue

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"punctual/delayjob"
	"punctual/tests/testenv"
)

// A hint that arrives while the reader takes an earlier one of the same shard is delivered too. The
// reader has perhaps claimed before the message of the second hint was added.
func TestHub(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		h := newHub(1)
		go h.deliver(ctx)
		due := time.Now()
		for i := range 1000 {
			h.note(delayjob.Hint{Due: due})
			synctest.Wait() // it is offered
			<-h.out
			h.note(delayjob.Hint{Due: due.Add(time.Hour)})
			select {
			case <-h.out:
			case <-time.After(time.Second): // of bubble time: nothing is offered
				t.Fatalf("the second hint was lost in round %d", i)
			}
		}
	})
}

// TestWake_shared: all subscribers of a process share one connection, which lasts until the last of
// them leaves.
func TestWake_shared(t *testing.T) {
	t.Parallel()
	const name = "shared-wakes"
	q := openQueue(t, testenv.Redis(t)+"?client_name="+name, WithPrefix(name), WithShards(2))
	connections := func() (n int) {
		list, err := q.single.Do(t.Context(), "client", "list", "type", "pubsub").Text()
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range clientID.FindAllStringSubmatch(list, -1) {
			if m[2] == name {
				n++
			}
		}
		return n
	}
	await := func(what string, is func() bool) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); !is(); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("not so after a minute: ", what)
			}
		}
	}
	wake := func() (<-chan delayjob.Hint, context.CancelFunc) {
		ctx, cancel := context.WithCancel(t.Context())
		hints, err := q.Wake(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return hints, cancel
	}
	due := time.Now().Add(time.Hour)
	hear := func(key string, hints ...<-chan delayjob.Hint) {
		t.Helper()
		due = due.Add(-time.Minute) // earlier than all before, so that a hint is sent
		if _, err := q.Add(t.Context(), delayjob.Message{Job: "j", Key: key, Version: 1, Due: due}); err != nil {
			t.Fatal(err)
		}
		for i, c := range hints {
			if h := next(t, c); h.Shard != delayjob.ShardOf(key, 2) {
				t.Errorf("listener %d was told of shard %d for %s", i, h.Shard, key)
			}
		}
	}

	first, leaveFirst := wake()
	second, leaveSecond := wake()
	if n := connections(); n != 1 {
		t.Errorf("%d connections for two listeners, want 1", n)
	}
	hear("a", first, second)

	leaveFirst()
	for range first { // closed
	}
	hear("b", second)

	leaveSecond()
	for range second {
	}
	await("nobody listens and no connection is left", func() bool { return connections() == 0 })
	third, leaveThird := wake()
	defer leaveThird()
	hear("c", third)
}
