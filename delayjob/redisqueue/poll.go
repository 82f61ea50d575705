package redisqueue

import (
	"context"
	"fmt"
	"time"

	"punctual/delayjob"
)

var _ delayjob.Poller = (*Queue)(nil)

// Poll implements [delayjob.Poller] with one call; in a cluster, with one per shard, pipelined by
// node.
func (q *Queue) Poll(ctx context.Context, jobs []string) ([]delayjob.Head, error) {
	names := make([]any, len(jobs))
	for i, j := range jobs {
		names[i] = j
	}
	perCall := len(q.keys)
	if q.cluster != nil {
		perCall = 1
	}
	var calls []*call
	for shard := 0; shard < len(q.keys); shard += perCall {
		c := &call{script: pollScript, shard: shard, args: names}
		for _, k := range q.keys[shard : shard+perCall] {
			c.keys = append(c.keys, k.c)
			for _, j := range jobs {
				c.keys = append(c.keys, k.waiting(j), k.leased(j))
			}
		}
		calls = append(calls, c)
	}
	q.run(ctx, calls)
	heads := make([]delayjob.Head, 0, len(q.keys))
	for _, c := range calls {
		r, err := c.list(1 + 2*perCall)
		if err != nil {
			return nil, fmt.Errorf("redisqueue: poll shard %d: %w", c.shard, err)
		}
		now, err := asInt(r[0])
		if err != nil {
			return nil, err
		}
		q.read(time.UnixMicro(now))
		for r = r[1:]; len(r) > 1; r = r[2:] {
			h := delayjob.Head{Epoch: r[0] == int64(1)}
			if next, err := asInt(r[1]); err == nil {
				h.Next = fromMilli(next)
			}
			heads = append(heads, h)
		}
	}
	return heads, nil
}
