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

// WithLogger sets where warnings go; [slog.Default] if it is not given.
func WithLogger(l *slog.Logger) Option { return func(o *options) { o.log = l } }

// WithPatience lets New succeed while the servers do not answer, or are not ready to. Calls
// then fail until they are, and until they prove fit, which the calls find out themselves.
func WithPatience() Option { return func(o *options) { o.patient = true } }

// New returns a queue on a *redis.Client or *redis.ClusterClient, which stays the caller's;
// [Dial] makes one that is fit for it. It fails if the servers cannot be reached (but see
// [WithPatience]), refuse the user, or would evict keys when their memory is full.
func New(ctx context.Context, client redis.UniversalClient, opts ...Option) (*Queue, error) {
	o := options{prefix: "punctual", log: slog.Default()}
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
