package redisqueue

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

type batch struct {
	shard int
	job   string
	at    []int // indexes of the elements
	call  call
}

// batches groups elements by shard and job into parts of at most maxBatch. place returns the shard
// and job of an element, or false to skip it.
func batches(n int, place func(i int) (shard int, job string, ok bool)) []*batch {
	type where struct {
		shard int
		job   string
	}
	var all []*batch
	open := map[where]*batch{}
	for i := range n {
		shard, job, ok := place(i)
		if !ok {
			continue
		}
		w := where{shard, job}
		b := open[w]
		if b == nil || len(b.at) == maxBatch {
			b = &batch{shard: shard, job: job, at: make([]int, 0, min(n-i, maxBatch))}
			open[w], all = b, append(all, b)
		}
		b.at = append(b.at, i)
	}
	return all
}

func (q *Queue) runBatches(ctx context.Context, bs []*batch, prepare func(b *batch, k shardKeys) call) {
	if err := q.ready(ctx); err != nil { // prepare depends on it
		for _, b := range bs {
			b.call.err = err
		}
		return
	}
	calls := make([]*call, len(bs))
	for i, b := range bs {
		b.call = prepare(b, q.keys[b.shard])
		b.call.shard = b.shard
		calls[i] = &b.call
	}
	q.run(ctx, calls)
}

func (b *batch) codes(skip int) ([]any, error) {
	l, err := b.call.list(skip + len(b.at))
	if err != nil {
		return nil, err
	}
	return l[skip:], nil
}

// failures groups errors by text: a server that is down fails all of its shards alike.
type failures struct {
	what   string // "add to"
	errs   []error
	shards [][]int
}

func (f *failures) add(shard int, err error) {
	i := slices.IndexFunc(f.errs, func(e error) bool { return e.Error() == err.Error() })
	if i < 0 {
		i = len(f.errs)
		f.errs, f.shards = append(f.errs, err), append(f.shards, nil)
	}
	if !slices.Contains(f.shards[i], shard) {
		f.shards[i] = append(f.shards[i], shard)
	}
}

func (f *failures) join() error {
	if len(f.errs) == 0 {
		return nil
	}
	all := make([]error, len(f.errs))
	for i, err := range f.errs {
		shards := slices.Sorted(slices.Values(f.shards[i]))
		name := fmt.Sprint("shards ", shards)
		if len(shards) == 1 {
			name = fmt.Sprint("shard ", shards[0])
		}
		all[i] = fmt.Errorf("redisqueue: %s %s: %w", f.what, name, err)
	}
	if len(all) == 1 {
		return all[0]
	}
	return errors.Join(all...)
}
