package redisqueue

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"punctual/delayjob"
	"punctual/tests/testenv"
)

// TestClaim_tables: large claims must be stored as tables, not as lists that Redis searches
// linearly, and the long key that forces this must be removed.
func TestClaim_tables(t *testing.T) {
	t.Parallel()
	for _, n := range []int{3, 100} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			q := openQueue(t, testenv.Redis(t), WithPrefix(fmt.Sprint("tables", n)), WithShards(1))
			claimed := addAndClaim(t, q, "a", n)
			k, c := q.keys[0], q.client()
			for key, table := range map[string]string{k.s: "hashtable", k.leased("j"): "skiplist"} {
				if got := c.ObjectEncoding(t.Context(), key).Val(); (got == table) != (n > 50) {
					t.Errorf("%s is a %s after a claim of %d", key, got, n)
				}
			}
			if states, leases := c.HLen(t.Context(), k.s).Val(), c.ZCard(t.Context(), k.leased("j")).Val(); states != int64(n) || leases != int64(n) {
				t.Errorf("%d states and %d leases of %d messages", states, leases, n)
			}
			if errs := q.Ack(t.Context(), claimed...); errs != nil {
				t.Fatal(errs)
			}
			if n := c.Exists(t.Context(), k.m, k.s, k.leased("j"), k.waiting("j")).Val(); n != 0 {
				t.Errorf("%d keys are left of finished messages", n)
			}
		})
	}
}

// TestAck_ofSeveralClaims finishes leases of several claims in one call, some of them lost.
func TestAck_ofSeveralClaims(t *testing.T) {
	t.Parallel()
	q := openQueue(t, testenv.Redis(t), WithPrefix("several"), WithShards(1))
	a, b := addAndClaim(t, q, "a", 3), addAndClaim(t, q, "b", 2)
	stale := a[1]
	stale.Token--
	all := []delayjob.Lease{a[0], stale, b[0], a[2], b[1], a[1]}
	errs := q.Ack(t.Context(), all...)
	for i := range all {
		var err error
		if errs != nil {
			err = errs[i]
		}
		if lost := errors.Is(err, delayjob.ErrLeaseLost); lost != (i == 1) || err != nil && !lost {
			t.Errorf("lease %d of %s: %v", i, all[i].ID, err)
		}
	}
	if n := q.client().Exists(t.Context(), q.keys[0].m, q.keys[0].s).Val(); n != 0 {
		t.Error("not all are finished")
	}
}

// addAndClaim adds n due messages and claims them.
func addAndClaim(t *testing.T, q *Queue, prefix string, n int) []delayjob.Lease {
	t.Helper()
	ms := make([]delayjob.Message, n)
	for i := range ms {
		ms[i] = delayjob.Message{Job: "j", Key: fmt.Sprint(prefix, i), Version: 1, Due: q.Now().Add(-time.Second)}
	}
	if _, err := q.Add(t.Context(), ms...); err != nil {
		t.Fatal(err)
	}
	got, err := q.Claim(t.Context(), 0, []delayjob.Want{{Job: "j", Limit: n, Lease: time.Minute}})
	if err != nil || len(got.Messages) != n {
		t.Fatalf("claimed %d of %d messages, %v", len(got.Messages), n, err)
	}
	ls := make([]delayjob.Lease, n)
	for i, m := range got.Messages {
		ls[i] = m.Lease
	}
	return ls
}
