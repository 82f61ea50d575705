package redisqueue

import (
	"context"
	"sync"

	"punctual/delayjob"
)

// A load is what this process knows of a shard's content.
type load struct {
	mu   sync.Mutex
	born string // of the content it last wrote to; "": it wrote nothing yet
	lost bool   // since the last SetEpoch that content was replaced by another, or an add failed
}

// Add implements [delayjob.Queue]. A shard whose server is down holds up its own messages
// only; if several fail the error joins theirs.
func (q *Queue) Add(ctx context.Context, ms ...delayjob.Message) ([]delayjob.AddResult, error) {
	res := make([]delayjob.AddResult, len(ms))
	for i := range ms {
		if err := ms[i].Validate(); err != nil {
			return res, err
		}
	}
	ids := make([]string, len(ms))
	best := make(map[string]int, len(ms)) // by ID the element that counts: the first of the highest version
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
			q.loads[b.shard].missed()
			continue
		}
		born, _ := b.call.reply.([]any)[0].(string)
		q.loads[b.shard].saw(born)
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

// saw notes which content an add wrote to.
func (l *load) saw(born string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lost = l.lost || l.born != "" && l.born != born
	l.born = born
}

// missed notes that an add failed.
func (l *load) missed() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lost = true
}

// take tells what to expect of the shard, and forgets a loss.
func (l *load) take() (born string, lost bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	lost, l.lost = l.lost, false
	return l.born, lost
}

// forget drops what is no longer there.
func (l *load) forget(born string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.born == born {
		l.born = ""
	}
}

// SetEpoch implements [delayjob.Queue]. A shard that lost what this process added to it is
// not marked this time, and that is no error: its claims go on asking for a load by a missing
// epoch. Otherwise a flush in the middle of a load would be taken for a complete one.
func (q *Queue) SetEpoch(ctx context.Context, id string) error {
	var calls []*call
	for shard, k := range q.keys {
		born, lost := q.loads[shard].take()
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
			q.loads[c.shard].forget(c.args[1].(string))
		}
	}
	return errs.join()
}
