// Package redisqueue is a [delayjob.Queue] on Redis 6.2 or later: one server, a master under
// Sentinel, or a cluster. Any number of processes share it, all with the same role.
//
// Every step is one Lua script, on the server's clock. A claim itself picks up ended leases, so no
// process has to watch for crashed ones. Redis may be emptied at any time; the loader fills it
// again.
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

// Queue is a [delayjob.Queue] and [delayjob.Inspector] on Redis. An error that is not part of their
// contracts means that the outcome is unknown.
type Queue struct {
	single  *redis.Client // nil in a cluster
	cluster *redis.ClusterClient
	owned   redis.UniversalClient // closed by Close; nil if owned by the caller
	prefix  string
	keys    []shardKeys
	log     *slog.Logger

	probed   probed
	sharded  atomic.Bool // hints stay on the shard's node; set by the probe
	offset   atomic.Int64
	reading  atomic.Pointer[reading]
	contents []shardContent

	closing context.Context
	close   context.CancelFunc
	wakes   sync.WaitGroup

	subsMu sync.Mutex
	subs   *subscriptions // nil without subscribers
}

// A reading is the server's time at a local time, before the offset.
type reading struct {
	server, local time.Time
	guess         bool // made up, because no server has answered yet
}

// An Option configures a Queue.
type Option func(*options)

type options struct {
	prefix  string
	shards  int
	log     *slog.Logger
	patient bool
}

// WithPrefix sets the prefix of all keys, "punctual" by default. It must not contain braces. Each
// installation on a server needs its own.
func WithPrefix(p string) Option { return func(o *options) { o.prefix = p } }

// WithShards sets the number of shards, a power of two from 1 to 64; 0 means the default of 4, or
// 16 in a cluster. Processes with different numbers use different keys, see
// [Queue.RenewGeneration].
func WithShards(n int) Option { return func(o *options) { o.shards = n } }

// WithLogger sets the logger; [slog.Default] by default.
func WithLogger(l *slog.Logger) Option { return func(o *options) { o.log = l } }

// WithPatience lets New succeed while the servers do not answer or are not ready. Calls check the
// servers and fail until all are usable.
func WithPatience() Option { return func(o *options) { o.patient = true } }

// New returns a queue on a *redis.Client or *redis.ClusterClient, which the caller must close; use
// [Dial] for suitable settings. It fails if a server cannot be reached (but see [WithPatience]),
// refuses the user, is too old, or would evict keys when its memory is full.
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
		return nil, fmt.Errorf("redisqueue: client: must be a *redis.Client or *redis.ClusterClient, is a %T", client)
	}
	if o.shards != 0 {
		shards = o.shards
	}
	if shards < 1 || shards > 64 || bits.OnesCount(uint(shards)) != 1 {
		return nil, fmt.Errorf("redisqueue: shards: must be a power of two from 1 to 64, is %d", shards)
	}
	if o.prefix == "" || strings.ContainsAny(o.prefix, "{}") {
		return nil, fmt.Errorf("redisqueue: prefix: must not be empty or contain braces, is %q", o.prefix)
	}
	q.keys = newShardKeys(o.prefix, shards, q.cluster != nil)
	q.contents = make([]shardContent, shards)
	now := time.Now()
	q.reading.Store(&reading{server: now.UTC(), local: now, guess: true})
	switch err := q.firstProbe(ctx, o.patient); {
	case err == nil:
		q.probed.done.Store(true)
	case !o.patient || !notReady(err):
		return nil, err
	default:
		q.log.Warn("redis unavailable, used as soon as it answers", "error", err)
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

// SetClockOffset makes the engine clock the server's time plus d, from the next call on. Use it if
// the server's clock differs from that of the database, which decides what is due. Set the same
// offset in all processes.
func (q *Queue) SetClockOffset(d time.Duration) { q.offset.Store(d.Microseconds()) }

func (q *Queue) offsetArg() string { return strconv.FormatInt(q.offset.Load(), 10) }

func (q *Queue) clockOffset() time.Duration { return time.Duration(q.offset.Load()) * time.Microsecond }

// Now implements [delayjob.Queue].
func (q *Queue) Now() time.Time { return q.reading.Load().at(time.Now()).Add(q.clockOffset()) }

// at returns the server's time at a local time. It uses elapsed time, so setting the local clock
// changes nothing.
func (r *reading) at(local time.Time) time.Time { return r.server.Add(local.Sub(r.local)) }

const (
	readingAge  = 10 * time.Second // how long an earlier reading may be better
	readingStep = time.Second      // smallest step that means the server's clock was set back
)

// read records the server's time. Replies take time, so the latest of several readings is the best.
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

// states runs a script that takes IDs as its last arguments and returns the previous state of each.
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
