package redisqueue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"punctual/delayjob"
)

// Claim implements [delayjob.Queue]. It returns at most 500 messages per job; Next then reports
// that there are more.
func (q *Queue) Claim(ctx context.Context, shard int, want []delayjob.Want) (delayjob.Claimed, error) {
	if shard < 0 || shard >= len(q.keys) {
		return delayjob.Claimed{}, fmt.Errorf("redisqueue: no shard %d", shard)
	}
	k := q.keys[shard]
	offset := q.clockOffset()
	c := call{script: claimScript, shard: shard, keys: []string{k.m, k.s, k.c}, args: []any{q.offsetArg()}}
	for _, w := range want {
		if w.Limit > 0 {
			c.keys = append(c.keys, k.waiting(w.Job), k.leased(w.Job), k.dead(w.Job))
			c.args = append(c.args, w.Job, min(w.Limit, maxBatch), max(w.Lease, time.Millisecond).Microseconds(), w.MaxAttempts, w.FreeCrashes())
		}
	}
	q.run(ctx, []*call{&c})
	got, err := q.claimed(&c)
	if err != nil {
		return got, fmt.Errorf("redisqueue: claim from shard %d: %w", shard, err)
	}
	q.read(got.Now.Add(-offset))
	return got, nil
}

func (q *Queue) claimed(c *call) (got delayjob.Claimed, err error) {
	r, err := c.list(4)
	if err != nil {
		return got, err
	}
	now, err1 := asInt(r[0])
	token, err2 := asInt(r[1])
	if err := errors.Join(err1, err2); err != nil {
		return got, err
	}
	got.Now = time.UnixMicro(now).UTC()
	got.Epoch = r[2] == int64(1)
	if next, err := asInt(r[3]); err == nil {
		got.Next = fromMilli(next)
	}
	for _, job := range r[4:] {
		j, ok := job.([]any)
		if !ok || len(j) != 4 {
			return got, errReply
		}
		until, err := asInt(j[0])
		if err != nil {
			return got, err
		}
		first := len(got.Messages)
		got.Messages = q.appendTaken(got.Messages, j[1], j[2], got.Now, delayjob.Lease{Shard: c.shard, Token: token, Until: fromMilli(until)})
		slices.SortStableFunc(got.Messages[first:], func(a, b delayjob.Message) int { return a.Due.Compare(b.Due) })
		died, _ := j[3].([]any)
		for ; len(died) >= 5; died = died[5:] {
			if m, ok := q.message(died[0], died[1], got.Now); ok {
				setMark(&m, died[2:5])
				got.Dead = append(got.Dead, m)
			}
		}
	}
	return got, nil
}

func (q *Queue) appendTaken(ms []delayjob.Message, taken, marks any, now time.Time, l delayjob.Lease) []delayjob.Message {
	list, _ := taken.([]any)
	marked, _ := marks.([]any)
	ms = slices.Grow(ms, len(list)/2)
	for at := int64(1); len(list) >= 2; list, at = list[2:], at+1 {
		m, ok := q.message(list[0], list[1], now)
		if len(marked) >= 4 && marked[0] == at {
			setMark(&m, marked[1:4])
			marked = marked[4:]
		}
		if !ok {
			continue
		}
		m.Lease = l
		m.Lease.ID, _ = list[0].(string)
		ms = append(ms, m)
	}
	return ms
}

// message reads a message at its first attempt. A malformed one is logged and skipped: its lease
// ends, and eventually its attempts are used up.
func (q *Queue) message(id, value any, now time.Time) (delayjob.Message, bool) {
	key, _ := id.(string)
	text, _ := value.(string)
	m, err := decodeMessage(key, text)
	if err != nil {
		q.log.Error("malformed message in redis, skipped", "id", key, "error", err)
		return m, false
	}
	m.Attempt, m.Claimed, m.Ready = 1, now, m.Due
	return m, true
}

func setMark(m *delayjob.Message, mark []any) {
	attempt, _ := mark[0].(int64)
	crashes, _ := mark[1].(int64)
	m.Attempt, m.Crashes = int(attempt), int(crashes)
	if ready, err := asInt(mark[2]); err == nil {
		m.Ready = fromMilli(ready)
	}
}

// asInt parses a number that a script returned as text, because Lua numbers lose digits.
func asInt(v any) (int64, error) {
	s, ok := v.(string)
	if !ok {
		return 0, errReply
	}
	return strconv.ParseInt(s, 10, 64)
}
