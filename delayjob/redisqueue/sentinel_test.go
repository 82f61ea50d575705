package redisqueue

import (
	"strings"
	"testing"
	"time"

	"punctual/delayjob"
	"punctual/tests/testenv"
)

// When Sentinel promotes the replica, the queue uses it.
func TestSentinel_failover(t *testing.T) {
	t.Parallel()
	sentinel := testenv.SentinelServer(t)
	q := openQueue(t, sentinel.URL(), WithShards(1))
	hints, err := q.Wake(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	mustAdd(t, q, messages(100, q.Now().Add(-time.Second))...)
	eventually(t, "the replica has all", time.Minute, func() bool {
		return strings.TrimSpace(sentinel.Replica.Do(t, "HLEN", q.keys[0].m)) == "100"
	})
	sentinel.Master.Kill()
	var got delayjob.Claimed
	took := eventually(t, "claims from the new master", time.Minute, func() bool {
		var err error
		got, err = q.Claim(t.Context(), 0, want(100))
		return err == nil
	})
	t.Logf("the replica took over after %v", took)
	if len(got.Messages) != 100 {
		t.Errorf("claimed %d of 100", len(got.Messages))
	}
	deadline := time.After(time.Minute)
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
