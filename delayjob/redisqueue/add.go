package redisqueue

import (
	"context"
	"sync"

	"punctual/delayjob"
)

type shardContent struct {
	mu sync.Mutex
	// born identifies the content last written to. Empty: nothing written yet.
	born string
	// lost means that the content was replaced, or an add failed, since the last SetEpoch.
	lost bool
}

// Add implements [delayjob.Queue]. A server that is down delays only the messages of its own
// shards. If several shards fail, the error joins theirs.
func (q *Queue) Add(ctx context.Context, ms ...delayjob.Message) ([]delayjob.AddResult, error) {
	res := make([]delayjob.AddResult, len(ms))
	for i := range ms {
		if err := ms[i].Validate(); err != nil {
			return res, err
		}
	}
	ids := make([]string, len(ms))
	best := make(map[string]int, len(ms)) // by ID, the element to store: the first of the highest version
	for i := range ms {
		ids[i] = ms[i].ID()
		if b, ok := best[ids[i]]; !ok || ms[i].Version > ms[b].Version {
			best[ids[i]] = i
		}
	}
	repeats := len(best) < len(ms)
	bs := batches(len(ms), func(i int) (int, string, bool) {
		return delayjob.ShardOf(ms[i].Key, len(q.keys)), ms[i].Job, !repeats || best[ids[i]] == i
	})
	q.runBatches(ctx, bs, func(b *batch, k shardKeys) call {
		args := append(make([]any, 0, 2+2*len(b.at)), k.sig, q.publish())
		for _, i := range b.at {
			args = append(args, ids[i], encodeValue(&ms[i]))
		}
		return call{script: addScript, args: args,
			keys: []string{k.m, k.s, k.waiting(b.job), k.leased(b.job), k.dead(b.job), k.c}}
	})
	errs := failures{what: "add to"}
	for _, b := range bs {
		codes, err := b.codes(1)
		if err != nil {
			errs.add(b.shard, err)
			q.contents[b.shard].missed()
			continue
		}
		born, _ := b.call.reply.([]any)[0].(string)
		q.contents[b.shard].saw(born)
		for j, i := range b.at {
			n, _ := codes[j].(int64)
			res[i] = addResult(n)
		}
	}
	if repeats {
		for i, id := range ids {
			switch b := best[id]; {
			case b == i || res[b] == delayjob.NotStored:
			case ms[i].Version < ms[b].Version || res[b] == delayjob.Outdated:
				res[i] = delayjob.Outdated
			default:
				res[i] = delayjob.Unchanged
			}
		}
	}
	return res, errs.join()
}

func addResult(code int64) delayjob.AddResult {
	switch code {
	case 1:
		return delayjob.Added
	case 2:
		return delayjob.Replaced
	case 3:
		return delayjob.Unchanged
	case 4:
		return delayjob.Healed
	case 5:
		return delayjob.Outdated
	default:
		return delayjob.NotStored
	}
}

func (c *shardContent) saw(born string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lost = c.lost || c.born != "" && c.born != born
	c.born = born
}

func (c *shardContent) missed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lost = true
}

// take returns the expected content and whether some was lost, and clears the loss.
func (c *shardContent) take() (born string, lost bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	lost, c.lost = c.lost, false
	return c.born, lost
}

func (c *shardContent) forget(born string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.born == born {
		c.born = ""
	}
}

// SetEpoch implements [delayjob.Queue]. It skips shards that lost messages added by this process: a
// flush during a load must not be marked as a complete load. This is not an error, because their
// claims report the missing epoch.
func (q *Queue) SetEpoch(ctx context.Context, id string) error {
	var calls []*call
	for shard, k := range q.keys {
		born, lost := q.contents[shard].take()
		if !lost {
			calls = append(calls, &call{script: epochScript, shard: shard, keys: []string{k.c}, args: []any{id, born}})
		}
	}
	q.run(ctx, calls)
	errs := failures{what: "set the epoch of"}
	for _, c := range calls {
		switch {
		case c.err != nil:
			errs.add(c.shard, c.err)
		case c.reply != int64(1):
			q.contents[c.shard].forget(c.args[1].(string))
		}
	}
	return errs.join()
}
