package redisqueue

import (
	"crypto/rand"
	"slices"
	"strings"
	"testing"
	"time"

	"punctual/delayjob"
	"punctual/tests/testenv"
)

// generationKeys returns the keys of a prefix, by generation.
func generationKeys(t *testing.T, q *Queue) map[string]int {
	t.Helper()
	n := map[string]int{}
	for _, node := range q.masters(t) {
		keys, err := node.Keys(t.Context(), globLiteral("{"+q.prefix+":")+"*").Result()
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range keys {
			n[strings.Split(k, ":")[1]]++
		}
	}
	return n
}

// TestRenewGeneration: after a change of the number of shards, the old keys are deleted once no
// process uses them, and not before.
func TestRenewGeneration(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]string{
		"single": testenv.Redis(t), "cluster": "redis+cluster://" + strings.Join(testenv.Cluster(t), ","),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			unlike := "gen[*]?-" + rand.Text() // glob characters must match literally
			prefix := WithPrefix(unlike)
			four, eight := openQueue(t, url, prefix, WithShards(4)), openQueue(t, url, prefix, WithShards(8))
			other := openQueue(t, url, WithPrefix(unlike+"2"), WithShards(4))
			fill := func(q *Queue) {
				t.Helper()
				ms := messages(100, q.Now().Add(time.Hour))
				mustAdd(t, q, ms...)
				mustAdd(t, q, delayjob.Message{Job: "topic.x", Key: "1", Version: 1, Due: q.Now()})
				if err := q.SetEpoch(t.Context(), "1"); err != nil {
					t.Fatal(err)
				}
			}
			renew := func(q *Queue, unused time.Duration) []string {
				t.Helper()
				deleted, err := q.RenewGeneration(t.Context(), unused)
				if err != nil {
					t.Fatal(err)
				}
				return deleted
			}
			for _, q := range []*Queue{four, eight, other} {
				fill(q)
				if d := renew(q, time.Hour); len(d) != 0 {
					t.Errorf("deleted %v, all in use", d)
				}
			}
			before := generationKeys(t, eight)
			if before["g1.4"] == 0 || before["g1.8"] == 0 {
				t.Fatalf("keys: %v, want of both", before)
			}
			time.Sleep(20 * time.Millisecond)
			renew(four, time.Hour) // it still runs
			if d := renew(eight, 10*time.Minute); len(d) != 0 {
				t.Errorf("deleted %v, which was used just now", d)
			}
			time.Sleep(50 * time.Millisecond)
			if d := renew(eight, 20*time.Millisecond); !slices.Equal(d, []string{"g1.4"}) {
				t.Errorf("deleted %v, want the one of four shards", d)
			}
			after := generationKeys(t, eight)
			if after["g1.4"] != 0 || after["g1.8"] != before["g1.8"] {
				t.Errorf("keys: %v after %v", after, before)
			}
			if n := generationKeys(t, other)["g1.4"]; n != before["g1.4"] {
				t.Errorf("another prefix has %d keys, had %d", n, before["g1.4"])
			}

			// A process that missed the deletion writes once more. Those keys are deleted too.
			fill(four)
			if d := renew(eight, 20*time.Millisecond); !slices.Equal(d, []string{"g1.4"}) {
				t.Errorf("deleted %v, want what a late process wrote", d)
			}
			if d := renew(eight, 20*time.Millisecond); len(d) != 0 {
				t.Errorf("deleted %v, want nothing any more", d)
			}
			if m, err := eight.universal().ZRange(t.Context(), eight.prefix+":generations", 0, -1).Result(); err != nil || !slices.Equal(m, []string{"g1.8"}) {
				t.Errorf("in the register: %v, %v", m, err)
			}
		})
	}
}

// TestClear: it deletes the keys of all generations, and none of another installation whose prefix begins alike.
func TestClear(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]string{
		"single": testenv.Redis(t), "cluster": "redis+cluster://" + strings.Join(testenv.Cluster(t), ","),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			prefix := "clear[*]?-" + rand.Text()
			four, eight := openQueue(t, url, WithPrefix(prefix), WithShards(4)), openQueue(t, url, WithPrefix(prefix), WithShards(8))
			others := []*Queue{openQueue(t, url, WithPrefix(prefix+":green")), openQueue(t, url, WithPrefix(prefix+":g1.4"))}
			keys := func(q *Queue) (n int) {
				t.Helper()
				for _, node := range q.masters(t) {
					for _, shard := range q.keys {
						found, err := node.Keys(t.Context(), globLiteral(shard.tag)+"*").Result()
						if err != nil {
							t.Fatal(err)
						}
						n += len(found)
					}
				}
				return n
			}
			var before []int
			for _, q := range append([]*Queue{four, eight}, others...) {
				mustAdd(t, q, messages(100, q.Now().Add(time.Hour))...)
				if keys(q) == 0 {
					t.Fatalf("prefix %s has no keys", q.prefix)
				}
			}
			for _, q := range others {
				before = append(before, keys(q))
			}
			if err := four.Clear(t.Context()); err != nil {
				t.Fatal(err)
			}
			if keys(four)+keys(eight) > 0 {
				t.Errorf("%d and %d keys are left", keys(four), keys(eight))
			}
			for i, q := range others {
				if n := keys(q); n != before[i] {
					t.Errorf("prefix %s has %d keys, had %d", q.prefix, n, before[i])
				}
			}
		})
	}
}
