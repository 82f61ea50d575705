package redisqueue

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"punctual/delayjob"
)

// Get implements [delayjob.Inspector].
func (q *Queue) Get(ctx context.Context, id string) (delayjob.Info, error) {
	job, key := delayjob.SplitID(id)
	shard := delayjob.ShardOf(key, len(q.keys))
	k := q.keys[shard]
	c := call{script: getScript, shard: shard, args: []any{q.offsetArg(), id},
		keys: []string{k.m, k.s, k.waiting(job), k.leased(job), k.dead(job)}}
	q.run(ctx, []*call{&c})
	r, err := c.list(6)
	if err != nil {
		return delayjob.Info{}, fmt.Errorf("redisqueue: get from shard %d: %w", shard, err)
	}
	value, ok := r[1].(string)
	if !ok {
		return delayjob.Info{}, delayjob.ErrNotFound
	}
	now, err := asInt(r[0])
	if err != nil {
		return delayjob.Info{}, err
	}
	info, err := newInfo(id, value, r[2])
	if err != nil {
		return info.Info, fmt.Errorf("redisqueue: %w", err)
	}
	for i, set := range [...]place{waiting, leased, dead} {
		if score, ok := r[3+i].(string); ok {
			info.at(set, score, now)
		}
	}
	return info.Info, nil
}

type place int

const (
	waiting place = iota
	leased
	dead
)

type info struct{ delayjob.Info }

func newInfo(id, value string, state any) (info, error) {
	m, err := decodeMessage(id, value)
	if st, ok := state.(string); ok {
		_, counts, _ := strings.Cut(st, " ")
		attempts, crashes, _ := strings.Cut(counts, " ")
		m.Attempt, _ = strconv.Atoi(attempts)
		m.Crashes, _ = strconv.Atoi(crashes)
	}
	return info{delayjob.Info{Message: m}}, err
}

func (i *info) at(p place, score string, now int64) {
	ms, _ := strconv.ParseFloat(score, 64)
	t := fromMilli(int64(ms))
	switch {
	case p == leased:
		i.State, i.LeaseUntil = delayjob.StateReserved, t
	case p == dead:
		i.State, i.DiedAt = delayjob.StateDead, t
	case int64(ms) > now:
		i.State, i.WaitsUntil = delayjob.StateDelayed, t
	default:
		i.State, i.WaitsUntil = delayjob.StateReady, t
	}
}

// List implements [delayjob.Inspector]. A page costs each shard O(log n) and the size of the page.
func (q *Queue) List(ctx context.Context, job string, s delayjob.State, cursor string, n int) ([]delayjob.Info, string, error) {
	score, after := "", ""
	if cursor != "" {
		var ok bool
		score, after, ok = strings.Cut(cursor, " ")
		if _, err := strconv.ParseInt(score, 10, 64); !ok || err != nil {
			return nil, "", fmt.Errorf("redisqueue: %q: %w", cursor, delayjob.ErrCursor)
		}
	}
	if n <= 0 {
		return nil, "", nil
	}
	n = min(n, maxBatch)
	set, which := waiting, string(s)
	switch s {
	case delayjob.StateReserved:
		set, which = leased, ""
	case delayjob.StateDead:
		set, which = dead, ""
	case delayjob.StateDelayed, delayjob.StateReady:
	default:
		return nil, "", nil
	}
	calls := make([]*call, len(q.keys))
	for shard, k := range q.keys {
		key := [...]string{k.waiting(job), k.leased(job), k.dead(job)}[set]
		calls[shard] = &call{script: listScript, shard: shard, keys: []string{k.m, k.s, key},
			args: []any{q.offsetArg(), which, n + 1, score, after}}
	}
	q.run(ctx, calls)
	type entry struct {
		info
		score int64
		id    string
	}
	var all []entry
	for shard, c := range calls {
		r, err := c.list(0)
		if err != nil {
			return nil, "", fmt.Errorf("redisqueue: list shard %d: %w", shard, err)
		}
		for ; len(r) >= 4; r = r[4:] {
			id, _ := r[0].(string)
			score, _ := r[1].(string)
			value, ok := r[2].(string)
			if !ok {
				continue // in a set without a body, see Check
			}
			i, err := newInfo(id, value, r[3])
			if err != nil {
				return nil, "", fmt.Errorf("redisqueue: %w", err)
			}
			ms, _ := strconv.ParseFloat(score, 64)
			i.at(set, score, 0)
			if set == waiting {
				i.State = s
			}
			all = append(all, entry{i, int64(ms), id})
		}
	}
	slices.SortFunc(all, func(a, b entry) int { return cmp.Or(cmp.Compare(a.score, b.score), strings.Compare(a.id, b.id)) })
	next := ""
	if len(all) > n {
		all = all[:n]
		next = strconv.FormatInt(all[n-1].score, 10) + " " + all[n-1].id
	}
	items := make([]delayjob.Info, len(all))
	for i, e := range all {
		items[i] = e.Info
	}
	return items, next, nil
}

// Jobs implements [delayjob.Inspector]. It scans the key space in pages, because only key names
// reveal jobs unknown to this process.
func (q *Queue) Jobs(ctx context.Context) ([]string, error) {
	prefix := "{" + q.prefix + ":" + generation(len(q.keys)) + ":"
	var mu sync.Mutex
	names := map[string]bool{}
	err := q.eachKey(ctx, globLiteral(prefix)+`*}:[wlx]:*`, func(_ context.Context, _ *redis.Client, key string) error {
		_, set, _ := strings.Cut(strings.TrimPrefix(key, prefix), "}:")
		if _, job, ok := strings.Cut(set, ":"); ok {
			mu.Lock()
			names[job] = true
			mu.Unlock()
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("redisqueue: list jobs: %w", err)
	}
	return slices.Sorted(maps.Keys(names)), nil
}

// Stats implements [delayjob.Inspector].
func (q *Queue) Stats(ctx context.Context, job string) (delayjob.Stats, error) {
	calls := make([]*call, len(q.keys))
	for shard, k := range q.keys {
		calls[shard] = &call{script: statsScript, shard: shard, args: []any{q.offsetArg(), job},
			keys: []string{k.c, k.waiting(job), k.leased(job), k.dead(job)}}
	}
	q.run(ctx, calls)
	var s delayjob.Stats
	for shard, c := range calls {
		r, err := c.list(6)
		if err != nil {
			return s, fmt.Errorf("redisqueue: count shard %d: %w", shard, err)
		}
		count := func(i int) int { n, _ := r[i].(int64); return int(n) }
		s.Delayed += count(0) - count(1)
		s.Ready += count(1)
		s.Reserved += count(2)
		s.Dead += count(3)
		s.Paused = s.Paused || count(5) == 1
		if first, _ := r[4].(string); first != "" {
			ms, err := strconv.ParseFloat(first, 64)
			if t := fromMilli(int64(ms)); err == nil && (s.Oldest.IsZero() || t.Before(s.Oldest)) {
				s.Oldest = t
			}
		}
	}
	return s, nil
}

// Pause implements [delayjob.Inspector]. A shard that loses its content forgets the pause, so
// repeat it after a load.
func (q *Queue) Pause(ctx context.Context, job string) error {
	return q.everyShard(ctx, "pause in", func(k shardKeys) call {
		return call{script: pauseScript, keys: []string{k.c}, args: []any{job}}
	})
}

// Resume implements [delayjob.Inspector].
func (q *Queue) Resume(ctx context.Context, job string) error {
	return q.everyShard(ctx, "resume in", func(k shardKeys) call {
		return call{script: resumeScript, keys: []string{k.c}, args: []any{q.offsetArg(), k.sig, q.publish(), job}}
	})
}

func (q *Queue) everyShard(ctx context.Context, what string, prepare func(shardKeys) call) error {
	if err := q.ready(ctx); err != nil { // prepare depends on it
		return err
	}
	calls := make([]*call, len(q.keys))
	for shard, k := range q.keys {
		c := prepare(k)
		c.shard = shard
		calls[shard] = &c
	}
	q.run(ctx, calls)
	errs := failures{what: what}
	for shard, c := range calls {
		if c.err != nil {
			errs.add(shard, c.err)
		}
	}
	return errs.join()
}

// Requeue implements [delayjob.Inspector].
func (q *Queue) Requeue(ctx context.Context, ids ...string) ([]delayjob.State, error) {
	return q.states(ctx, "requeue in", ids, func(b *batch, k shardKeys) call {
		return call{script: requeueScript, args: []any{q.offsetArg(), k.sig, q.publish()},
			keys: []string{k.s, k.waiting(b.job), k.leased(b.job), k.dead(b.job)}}
	})
}

// Check implements [delayjob.Inspector]. It scans the keys in pages and blocks no server for long.
func (q *Queue) Check(ctx context.Context, jobs ...string) ([]string, error) {
	var breaches []string
	for shard, k := range q.keys {
		ids, err := q.known(ctx, shard, jobs)
		if err != nil {
			return breaches, fmt.Errorf("redisqueue: check shard %d: %w", shard, err)
		}
		bs := batches(len(ids), func(i int) (int, string, bool) {
			job, _ := delayjob.SplitID(ids[i])
			return shard, job, true
		})
		q.runBatches(ctx, bs, func(b *batch, _ shardKeys) call {
			args := make([]any, len(b.at))
			for j, i := range b.at {
				args[j] = ids[i]
			}
			return call{script: checkScript, args: args, keys: []string{k.m, k.s, k.waiting(b.job), k.leased(b.job), k.dead(b.job), k.c}}
		})
		for _, b := range bs {
			r, err := b.call.list(0)
			if err != nil {
				return breaches, fmt.Errorf("redisqueue: check shard %d: %w", shard, err)
			}
			for ; len(r) >= 2; r = r[2:] {
				breaches = append(breaches, fmt.Sprintf("%s %s", r[0], r[1]))
			}
		}
	}
	return breaches, nil
}

// known returns the IDs of jobs (all if there are none) in any key of a shard.
func (q *Queue) known(ctx context.Context, shard int, jobs []string) ([]string, error) {
	node, err := q.node(ctx, shard)
	if err != nil {
		return nil, err
	}
	found := map[string]bool{}
	k := q.keys[shard]
	const page = 1000
	scan := func(next func(cursor uint64) ([]string, uint64, error)) error {
		for cursor := uint64(0); ; {
			pairs, c, err := next(cursor)
			if err != nil {
				return err
			}
			for i := 0; i < len(pairs); i += 2 {
				if job, _ := delayjob.SplitID(pairs[i]); len(jobs) == 0 || slices.Contains(jobs, job) {
					found[pairs[i]] = true
				}
			}
			if cursor = c; cursor == 0 {
				return nil
			}
		}
	}
	for _, hash := range [...]string{k.m, k.s} {
		if err := scan(func(c uint64) ([]string, uint64, error) { return node.HScan(ctx, hash, c, "", page).Result() }); err != nil {
			return nil, err
		}
	}
	names := map[string]bool{}
	for _, j := range jobs {
		names[j] = true
	}
	for id := range found {
		job, _ := delayjob.SplitID(id)
		names[job] = true
	}
	for job := range names {
		for _, set := range [...]string{k.waiting(job), k.leased(job), k.dead(job)} {
			if err := scan(func(c uint64) ([]string, uint64, error) { return node.ZScan(ctx, set, c, "", page).Result() }); err != nil {
				return nil, err
			}
		}
	}
	ids := make([]string, 0, len(found))
	for id := range found {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids, nil
}
