package redisqueue

import (
	"context"
	"fmt"
	"time"

	"punctual/delayjob"
)

// Ack implements [delayjob.Queue].
func (q *Queue) Ack(ctx context.Context, ls ...delayjob.Lease) []error {
	return q.settle(ctx, "acknowledge in", ls, jobOf, func(b *batch, k shardKeys) call {
		args := make([]any, 0, 4+len(b.at))
		count := 0 // index of the count of the current claim
		for n, i := range b.at {
			if n == 0 || ls[i].Token != ls[b.at[n-1]].Token {
				args = append(args, ls[i].Token, 0)
				count = len(args) - 1
			}
			args = append(args, ls[i].ID)
			args[count] = len(args) - 1 - count
		}
		return call{script: ackScript, args: args, keys: []string{k.m, k.s, k.leased(b.job)}}
	})
}

// Nack implements [delayjob.Queue].
func (q *Queue) Nack(ctx context.Context, rs ...delayjob.Return) []error {
	ls := make([]delayjob.Lease, len(rs))
	for i, r := range rs {
		ls[i] = r.Lease
	}
	return q.settle(ctx, "return to", ls, jobOf, func(b *batch, k shardKeys) call {
		args := append(make([]any, 0, 3+4*len(b.at)), q.offsetArg(), k.sig, q.publish())
		for _, i := range b.at {
			args = append(args, rs[i].Lease.ID, rs[i].Lease.Token, micros(rs[i].Delay), int(rs[i].How))
		}
		return call{script: nackScript, args: args, keys: []string{k.s, k.waiting(b.job), k.leased(b.job), k.dead(b.job)}}
	})
}

// Extend implements [delayjob.Queue]. It runs one script per shard for leases of all jobs.
func (q *Queue) Extend(ctx context.Context, d time.Duration, ls ...delayjob.Lease) []error {
	anyJob := func(string) string { return "" }
	return q.settle(ctx, "extend leases of", ls, anyJob, func(b *batch, k shardKeys) call {
		c := call{script: extendScript, keys: []string{k.s},
			args: append(make([]any, 0, 2+3*len(b.at)), q.offsetArg(), max(d, time.Millisecond).Microseconds())}
		key := map[string]int{} // index in KEYS, by job
		for _, i := range b.at {
			job := jobOf(ls[i].ID)
			if key[job] == 0 {
				c.keys = append(c.keys, k.leased(job))
				key[job] = len(c.keys)
			}
			c.args = append(c.args, ls[i].ID, ls[i].Token, key[job])
		}
		return c
	})
}

func jobOf(id string) string {
	job, _ := delayjob.SplitID(id)
	return job
}

// micros rounds up, so that nothing happens early.
func micros(d time.Duration) int64 { return (d + time.Microsecond - 1).Microseconds() }

func (q *Queue) settle(ctx context.Context, what string, ls []delayjob.Lease, group func(id string) string, prepare func(b *batch, k shardKeys) call) []error {
	var errs []error
	fail := func(i int, err error) {
		if errs == nil {
			errs = make([]error, len(ls))
		}
		errs[i] = err
	}
	bs := batches(len(ls), func(i int) (int, string, bool) {
		if s := ls[i].Shard; s < 0 || s >= len(q.keys) {
			fail(i, delayjob.ErrLeaseLost)
			return 0, "", false
		}
		return ls[i].Shard, group(ls[i].ID), true
	})
	q.runBatches(ctx, bs, prepare)
	for _, b := range bs {
		lost, err := b.call.list(0)
		if err != nil {
			err = fmt.Errorf("redisqueue: %s shard %d: %w", what, b.shard, err)
			for _, i := range b.at {
				fail(i, err)
			}
			continue
		}
		for _, p := range lost {
			if p, ok := p.(int64); ok && p >= 1 && int(p) <= len(b.at) {
				fail(b.at[p-1], delayjob.ErrLeaseLost)
			}
		}
	}
	return errs
}
