// Package redisqueue is a [delayjob.Queue] on Redis 6.2 or later: one server, a master under
// Sentinel, or a cluster. Any number of processes share it; none of them has a special part.
//
// Every step is one Lua script, the clock is the server's, and a claim itself picks up leases
// that have ended, so nothing has to watch over crashed processes. Redis may be emptied at
// any moment; the loader fills it again.
package redisqueue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"punctual/delayjob"
)

var (
	_ delayjob.Queue     = (*Queue)(nil)
	_ delayjob.Inspector = (*Queue)(nil)
)

// Queue is a [delayjob.Queue] and [delayjob.Inspector] on Redis. An error other than those of
// its contract means that the outcome is unknown.
type Queue struct {
	single  *redis.Client // one of the two
	cluster *redis.ClusterClient
	owned   redis.UniversalClient // closed by Close; nil if it is the caller's
	prefix  string
	keys    []shardKeys
	log     *slog.Logger

	probed  probed
	sharded atomic.Bool // hints stay on the shard's node; known once probed
	offset  atomic.Int64
	reading atomic.Pointer[reading]
	loads   []load

	closing context.Context
	close   context.CancelFunc
	wakes   sync.WaitGroup

	earsMu sync.Mutex
	ears   *ears // nil while nobody listens
}

// A reading of the server's clock, before the offset.
type reading struct {
	server, local time.Time
	guess         bool // made up, for no server has answered yet
}

// A load is what this process knows of a shard's content.
type load struct {
	mu   sync.Mutex
	born string // of the content it last wrote to; "": it wrote nothing yet
	lost bool   // since the last SetEpoch that content was replaced by another, or an add failed
}

// An Option changes a Queue.
type Option func(*options)

type options struct {
	prefix  string
	shards  int
	log     *slog.Logger
	patient bool
}

// WithPrefix sets the beginning of all keys, "punctual" by default. Two installations on one
// server need two. It holds no braces.
func WithPrefix(p string) Option { return func(o *options) { o.prefix = p } }

// WithShards sets the number of shards, a power of two from 1 to 64; 0 means the default: 4, or
// 16 in a cluster. Processes with another number work on other keys, a generation of their own,
// see [Queue.RenewGeneration].
func WithShards(n int) Option { return func(o *options) { o.shards = n } }

// WithLogger sets where warnings go; nowhere by default.
func WithLogger(l *slog.Logger) Option { return func(o *options) { o.log = l } }

// WithPatience lets New succeed while the servers do not answer, or are not ready to. Calls
// then fail until they are, and until they prove fit, which the calls find out themselves.
func WithPatience() Option { return func(o *options) { o.patient = true } }

// New returns a queue on a *redis.Client or *redis.ClusterClient, which stays the caller's;
// [Dial] makes one that is fit for it. It fails if the servers cannot be reached (but see
// [WithPatience]), refuse the user, or would evict keys when their memory is full.
func New(ctx context.Context, client redis.UniversalClient, opts ...Option) (*Queue, error) {
	o := options{prefix: "punctual", log: slog.New(slog.DiscardHandler)}
	for _, opt := range opts {
		opt(&o)
	}
	q := &Queue{prefix: o.prefix, log: o.log}
	shards := 4
	switch c := client.(type) {
	case *redis.Client:
		q.single = c
	case *redis.ClusterClient:
		q.cluster, shards = c, 16
	default:
		return nil, fmt.Errorf("redisqueue: a %T cannot hold a queue", client)
	}
	if o.shards != 0 {
		shards = o.shards
	}
	if shards < 1 || shards > 64 || bits.OnesCount(uint(shards)) != 1 {
		return nil, fmt.Errorf("redisqueue: %d shards; it must be a power of two from 1 to 64", shards)
	}
	if o.prefix == "" || strings.ContainsAny(o.prefix, "{}") {
		return nil, fmt.Errorf("redisqueue: %q is not a prefix", o.prefix)
	}
	q.keys = newShardKeys(o.prefix, shards, q.cluster != nil)
	q.loads = make([]load, shards)
	now := time.Now()
	q.reading.Store(&reading{server: now.UTC(), local: now, guess: true})
	switch err := q.firstProbe(ctx, o.patient); {
	case err == nil:
		q.probed.done.Store(true)
	case !o.patient || !notReady(err):
		return nil, err
	default:
		q.log.Warn("Redis does not answer; it is taken into use as soon as it does", "error", err)
	}
	q.closing, q.close = context.WithCancel(context.WithoutCancel(ctx))
	return q, nil
}

// Close implements [delayjob.Queue].
func (q *Queue) Close() error {
	q.close()
	q.wakes.Wait()
	if q.owned == nil {
		return nil
	}
	if err := q.owned.Close(); err != nil && !errors.Is(err, redis.ErrClosed) {
		return err
	}
	return nil
}

// Shards implements [delayjob.Queue].
func (q *Queue) Shards() int { return len(q.keys) }

// SetClockOffset makes the engine clock the server's time plus d, from the next call on. It
// is for a server whose clock differs from the database's, which decides what is due.
// All processes should be told about the same.
func (q *Queue) SetClockOffset(d time.Duration) { q.offset.Store(d.Microseconds()) }

func (q *Queue) offsetArg() string { return strconv.FormatInt(q.offset.Load(), 10) }

func (q *Queue) clockOffset() time.Duration { return time.Duration(q.offset.Load()) * time.Microsecond }

// Now implements [delayjob.Queue].
func (q *Queue) Now() time.Time { return q.reading.Load().at(time.Now()).Add(q.clockOffset()) }

// at is the server's time at a local time, by elapsed time: a local clock that is set does
// not matter.
func (r *reading) at(local time.Time) time.Time { return r.server.Add(local.Sub(r.local)) }

const (
	readingAge  = 10 * time.Second // for so long an earlier reading may be better
	readingStep = time.Second      // by which the server's clock was set back rather than read late
)

// read notes the server's time. An answer is some time on its way, so of several readings the
// one that makes it latest is the best.
func (q *Queue) read(server time.Time) {
	now := time.Now()
	if old := q.reading.Load(); !old.guess && now.Sub(old.local) < readingAge {
		if behind := old.at(now).Sub(server); behind > 0 && behind < readingStep {
			return
		}
	}
	q.reading.Store(&reading{server: server.UTC(), local: now})
}

// A batch is part of the elements of one call: those of one job in one shard.
type batch struct {
	shard int
	job   string
	at    []int // which elements
	call  call
}

// batches groups elements by shard and job into parts of at most maxBatch. place tells an
// element's shard and job; it may leave one out.
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

// runBatches makes one call for each batch, as prepare describes it.
func (q *Queue) runBatches(ctx context.Context, bs []*batch, prepare func(b *batch, k shardKeys) call) {
	if err := q.ready(ctx); err != nil { // the calls' arguments depend on it
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

// codes are the replies of a batch, one for each of its elements after the first skip ones.
func (b *batch) codes(skip int) ([]any, error) {
	l, err := b.call.list(skip + len(b.at))
	if err != nil {
		return nil, err
	}
	return l[skip:], nil
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

// failures collects what went wrong in which shards: a server that is down fails all of its
// shards alike, and should be told of once.
type failures struct {
	what   string // add to
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

// join is nil if nothing went wrong.
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

// Remove implements [delayjob.Queue].
func (q *Queue) Remove(ctx context.Context, ids ...string) ([]delayjob.State, error) {
	return q.states(ctx, "remove from", ids, func(b *batch, k shardKeys) call {
		return call{script: removeScript, args: []any{q.offsetArg()},
			keys: []string{k.m, k.s, k.waiting(b.job), k.leased(b.job), k.dead(b.job)}}
	})
}

// states runs a script that takes IDs after its other arguments and answers with the state
// that each was in.
func (q *Queue) states(ctx context.Context, what string, ids []string, prepare func(b *batch, k shardKeys) call) ([]delayjob.State, error) {
	bs := batches(len(ids), func(i int) (int, string, bool) {
		job, key := delayjob.SplitID(ids[i])
		return delayjob.ShardOf(key, len(q.keys)), job, true
	})
	q.runBatches(ctx, bs, func(b *batch, k shardKeys) call {
		c := prepare(b, k)
		for _, i := range b.at {
			c.args = append(c.args, ids[i])
		}
		return c
	})
	states := make([]delayjob.State, len(ids))
	errs := failures{what: what}
	for _, b := range bs {
		codes, err := b.codes(0)
		if err != nil {
			errs.add(b.shard, err)
			continue
		}
		for j, i := range b.at {
			n, _ := codes[j].(int64)
			states[i] = [...]delayjob.State{"", delayjob.StateDelayed, delayjob.StateReady, delayjob.StateReserved, delayjob.StateDead}[n]
		}
	}
	return states, errs.join()
}

// Claim implements [delayjob.Queue]. It hands out at most 500 messages of a job; Next then
// says that there are more.
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

// claimed reads what claim.lua answers.
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

// appendTaken reads flat lists: ID and value of each message, and the marks of those that are not
// at their first attempt.
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

// message reads a message at its first attempt. One that cannot be read is logged and left out:
// its lease ends, and so in time do its attempts.
func (q *Queue) message(id, value any, now time.Time) (delayjob.Message, bool) {
	key, _ := id.(string)
	text, _ := value.(string)
	m, err := decodeMessage(key, text)
	if err != nil {
		q.log.Error("a message in Redis cannot be read", "id", key, "error", err)
		return m, false
	}
	m.Attempt, m.Claimed, m.Ready = 1, now, m.Due
	return m, true
}

// setMark reads attempt, crashes and when it was due this time.
func setMark(m *delayjob.Message, mark []any) {
	attempt, _ := mark[0].(int64)
	crashes, _ := mark[1].(int64)
	m.Attempt, m.Crashes = int(attempt), int(crashes)
	if ready, err := asInt(mark[2]); err == nil {
		m.Ready = fromMilli(ready)
	}
}

// asInt reads a number that a script gave as text, since Lua's numbers lose digits on the way.
func asInt(v any) (int64, error) {
	s, ok := v.(string)
	if !ok {
		return 0, errReply
	}
	return strconv.ParseInt(s, 10, 64)
}

// Ack implements [delayjob.Queue].
func (q *Queue) Ack(ctx context.Context, ls ...delayjob.Lease) []error {
	return q.settle(ctx, "acknowledge in", ls, jobOf, func(b *batch, k shardKeys) call {
		args := make([]any, 0, 4+len(b.at))
		count := 0 // where the number of the present run stands
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
	return q.settle(ctx, "give back to", ls, jobOf, func(b *batch, k shardKeys) call {
		args := append(make([]any, 0, 3+4*len(b.at)), q.offsetArg(), k.sig, q.publish())
		for _, i := range b.at {
			args = append(args, rs[i].Lease.ID, rs[i].Lease.Token, micros(rs[i].Delay), int(rs[i].How))
		}
		return call{script: nackScript, args: args, keys: []string{k.s, k.waiting(b.job), k.leased(b.job), k.dead(b.job)}}
	})
}

// Extend implements [delayjob.Queue]. It takes one call of a script for each shard, whatever
// the jobs.
func (q *Queue) Extend(ctx context.Context, d time.Duration, ls ...delayjob.Lease) []error {
	anyJob := func(string) string { return "" }
	return q.settle(ctx, "extend leases of", ls, anyJob, func(b *batch, k shardKeys) call {
		c := call{script: extendScript, keys: []string{k.s},
			args: append(make([]any, 0, 2+3*len(b.at)), q.offsetArg(), max(d, time.Millisecond).Microseconds())}
		key := map[string]int{} // by job, as Lua counts
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

// micros rounds up: never early.
func micros(d time.Duration) int64 { return (d + time.Microsecond - 1).Microseconds() }

// settle runs a script that answers with the positions of the leases that were lost, once for
// each shard and what group makes of the ID.
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
