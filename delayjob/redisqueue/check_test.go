package redisqueue

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"punctual/delayjob"
	"punctual/tests/testenv"
)

// TestCheck breaks each invariant by hand and expects Check to report the message.
func TestCheck(t *testing.T) {
	t.Parallel()
	url := testenv.Redis(t)
	for i, tt := range []struct {
		breach string         // Redis commands; w l x m s c are keys, ID the message
		state  delayjob.State // before the breach
		want   string         // in the reported violation
	}{
		{breach: "ZREM w ID", state: delayjob.StateDelayed, want: "has a body but is in no set"},
		{breach: "ZADD l 1 ID", state: delayjob.StateDelayed, want: "is waiting and leased"},
		{breach: "ZADD x 1 ID", state: delayjob.StateReserved, want: "is leased and dead"},
		{breach: "HDEL m ID", state: delayjob.StateDelayed, want: "is waiting but has no body"},
		{breach: "HSET s ID '5 1'", state: delayjob.StateDelayed, want: "has the token 5 while it is waiting"},
		{breach: "HSET s ID '0 1'", state: delayjob.StateReserved, want: "has the token 0 while it is leased"},
		{breach: "HSET s ID '99999999999999999 1'", state: delayjob.StateReserved, want: "has the token 99999999999999999, later than the last one of its shard"},
		{breach: "HDEL c seq", state: delayjob.StateReserved, want: "later than the last one of its shard, 0"},
		{breach: "ZADD w 1 ID", state: delayjob.StateDelayed, want: "waits until 1, before it is due at "},
		{breach: "ZADD w 99999999999999 ID", state: delayjob.StateDelayed, want: "waits until 99999999999999, though it is due at "},
	} {
		t.Run(tt.breach, func(t *testing.T) {
			t.Parallel()
			q := openQueue(t, url, WithPrefix(fmt.Sprint("check", i)))
			due := q.Now().Add(time.Hour)
			if tt.state == delayjob.StateReserved {
				due = q.Now().Add(-time.Second)
			}
			m := delayjob.Message{Job: "meeting.start", Key: "1", Version: 1, Due: due}
			mustAdd(t, q, m)
			shard := delayjob.ShardOf("1", q.Shards())
			if tt.state == delayjob.StateReserved {
				if c, err := q.Claim(t.Context(), shard, want(1)); err != nil || len(c.Messages) != 1 {
					t.Fatal(c, err)
				}
			}
			if b, err := q.Check(t.Context()); err != nil || len(b) != 0 {
				t.Fatalf("before: %v, %v", b, err)
			}
			k := q.keys[shard]
			keys := map[string]string{"m": k.m, "s": k.s, "c": k.c, "w": k.waiting("meeting.start"), "l": k.leased("meeting.start"), "x": k.dead("meeting.start"), "ID": m.ID()}
			var args []any
			text, quoted, _ := strings.Cut(tt.breach, " '")
			for _, word := range strings.Fields(text) {
				if key, ok := keys[word]; ok {
					word = key
				}
				args = append(args, word)
			}
			if quoted != "" {
				args = append(args, strings.TrimSuffix(quoted, "'"))
			}
			if err := q.client().Do(t.Context(), args...).Err(); err != nil {
				t.Fatal(err)
			}
			for _, jobs := range [][]string{nil, {"meeting.start"}} {
				if jobs == nil && strings.HasPrefix(tt.breach, "HDEL m") {
					continue // without a body, the message is found only by its job name
				}
				b, err := q.Check(t.Context(), jobs...)
				if err != nil || len(b) != 1 || !strings.HasPrefix(b[0], m.ID()+" ") || !strings.Contains(b[0], tt.want) {
					t.Errorf("Check(%v) = %q, %v; want %s with %q", jobs, b, err, m.ID(), tt.want)
				}
			}
		})
	}
}

// TestCheck_givenBack: a message that was returned, released or requeued may wait for another time
// than its due time.
func TestCheck_givenBack(t *testing.T) {
	t.Parallel()
	q := openQueue(t, testenv.Redis(t))
	for i, how := range []delayjob.How{delayjob.Retry, delayjob.Release, delayjob.Bury} {
		m := delayjob.Message{Job: "meeting.start", Key: fmt.Sprint(i), Version: 1, Due: q.Now().Add(-time.Minute)}
		mustAdd(t, q, m)
		c, err := q.Claim(t.Context(), delayjob.ShardOf(m.Key, q.Shards()), want(1))
		if err != nil || len(c.Messages) != 1 {
			t.Fatal(c, err)
		}
		if errs := q.Nack(t.Context(), delayjob.Return{Lease: c.Messages[0].Lease, How: how, Delay: time.Hour}); errs != nil {
			t.Fatal(errs)
		}
		if how == delayjob.Bury {
			if _, err := q.Requeue(t.Context(), m.ID()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if b, err := q.Check(t.Context()); err != nil || len(b) != 0 {
		t.Errorf("Check = %q, %v", b, err)
	}
}
