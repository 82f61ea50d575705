package delayjob_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"punctual/delayjob"
	"punctual/delayjob/memqueue"
)

// sharded is a queue with a memory queue per shard. A shard can be down; calls to it then time out.
type sharded struct {
	qs     []*memqueue.Queue
	away   []atomic.Bool
	epochs []atomic.Int32
	failed []atomic.Bool // by shard: an add failed since the last SetEpoch
	asked  []atomic.Int32
}

const hang = 3 * time.Second

var errHung = errors.New("i/o timeout")

func newSharded(n int) *sharded {
	q := &sharded{away: make([]atomic.Bool, n), epochs: make([]atomic.Int32, n), failed: make([]atomic.Bool, n), asked: make([]atomic.Int32, n)}
	for range n {
		q.qs = append(q.qs, memqueue.New())
	}
	return q
}

// reach waits for a shard that is down and fails.
func (q *sharded) reach(ctx context.Context, shard int) error {
	if !q.away[shard].Load() {
		return nil
	}
	select {
	case <-time.After(hang):
		return errHung
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (q *sharded) Add(ctx context.Context, ms ...delayjob.Message) ([]delayjob.AddResult, error) {
	res := make([]delayjob.AddResult, len(ms))
	down := map[int]error{}
	for shard := range q.qs {
		for i, m := range ms {
			if delayjob.ShardOf(m.Key, len(q.qs)) != shard || down[shard] != nil {
				continue
			}
			if err := q.reach(ctx, shard); err != nil {
				down[shard] = err
				q.failed[shard].Store(true)
				continue
			}
			r, _ := q.qs[shard].Add(ctx, m)
			res[i] = r[0]
		}
	}
	for shard, err := range down {
		return res, fmt.Errorf("shard %d: %w", shard, err)
	}
	return res, nil
}

func (q *sharded) Remove(context.Context, ...string) ([]delayjob.State, error) { panic("not used") }

func (q *sharded) Claim(ctx context.Context, shard int, want []delayjob.Want) (delayjob.Claimed, error) {
	for _, w := range want {
		if q.away[shard].Load() {
			q.asked[shard].Add(int32(w.Limit))
		}
	}
	if err := q.reach(ctx, shard); err != nil {
		return delayjob.Claimed{}, err
	}
	c, err := q.qs[shard].Claim(ctx, 0, want)
	for i := range c.Messages {
		c.Messages[i].Lease.Shard = shard
	}
	return c, err
}

func (q *sharded) each(ctx context.Context, ls []delayjob.Lease, do func(q *memqueue.Queue, i int, l delayjob.Lease) error) []error {
	errs := make([]error, len(ls))
	failed := false
	for i, l := range ls {
		shard := l.Shard
		l.Shard = 0
		if errs[i] = q.reach(ctx, shard); errs[i] == nil {
			errs[i] = do(q.qs[shard], i, l)
		}
		failed = failed || errs[i] != nil
	}
	if !failed {
		return nil
	}
	return errs
}

func (q *sharded) Ack(ctx context.Context, ls ...delayjob.Lease) []error {
	return q.each(ctx, ls, func(q *memqueue.Queue, _ int, l delayjob.Lease) error { return errors.Join(q.Ack(ctx, l)...) })
}

func (q *sharded) Nack(ctx context.Context, rs ...delayjob.Return) []error {
	ls := make([]delayjob.Lease, len(rs))
	for i, r := range rs {
		ls[i] = r.Lease
	}
	return q.each(ctx, ls, func(q *memqueue.Queue, i int, l delayjob.Lease) error {
		r := rs[i]
		r.Lease = l
		return errors.Join(q.Nack(ctx, r)...)
	})
}

func (q *sharded) Extend(ctx context.Context, d time.Duration, ls ...delayjob.Lease) []error {
	return q.each(ctx, ls, func(q *memqueue.Queue, _ int, l delayjob.Lease) error { return errors.Join(q.Extend(ctx, d, l)...) })
}

func (q *sharded) Wake(ctx context.Context) (<-chan delayjob.Hint, error) {
	c := make(chan delayjob.Hint)
	context.AfterFunc(ctx, func() { close(c) })
	return c, nil
}

func (q *sharded) SetEpoch(ctx context.Context, id string) error {
	for shard := range q.qs {
		if !q.failed[shard].Swap(false) {
			q.epochs[shard].Add(1)
			if err := q.qs[shard].SetEpoch(ctx, id); err != nil {
				return err
			}
		}
	}
	return nil
}

func (q *sharded) Shards() int    { return len(q.qs) }
func (q *sharded) Now() time.Time { return time.Now() }
func (q *sharded) Close() error   { return nil }

// keysOf returns n keys of one shard.
func keysOf(shard, shards, n int) []string {
	var keys []string
	for i := 0; len(keys) < n; i++ {
		if k := strconv.Itoa(i); delayjob.ShardOf(k, shards) == shard {
			keys = append(keys, k)
		}
	}
	return keys
}

// A shard that hangs delays the others once, briefly, even if it holds all messages of the only
// handler.
func TestConsumer_hangingShardKeepsNoOtherWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newSharded(2)
		running := make(chan struct{})
		var late time.Duration // of the shard that answers
		var back atomic.Bool
		j := &fakeJob{name: "j", opts: delayjob.Options{Concurrency: 1, Batch: 1, MaxAttempts: -1}}
		j.do = func(_ context.Context, m delayjob.Message) error {
			switch delayjob.ShardOf(m.Key, 2) {
			case 0:
				if !back.Load() && !q.away[0].Swap(true) { // it hangs before its first message can be acknowledged
					close(running)
				}
			default:
				late = max(late, time.Since(m.Due))
			}
			return nil
		}
		c := delayjob.NewConsumer(q, jobs(j), delayjob.ConsumerOptions{SafetyPoll: 100 * time.Millisecond})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- c.Run(ctx) }()

		for _, k := range keysOf(0, 2, 10) {
			add(t, q.qs[0], msg("j", k, time.Now()))
		}
		<-running
		for i, k := range keysOf(1, 2, 300) {
			add(t, q.qs[1], msg("j", k, time.Now().Add(time.Duration(i)*100*time.Millisecond)))
		}
		time.Sleep(31 * time.Second)
		synctest.Wait()
		if st := left(t, q.qs[1], "j"); st != (delayjob.Stats{}) {
			t.Errorf("%+v is left of the shard that answers", st)
		}
		if late > 700*time.Millisecond {
			t.Errorf("a message of the shard that answers was %v late", late)
		}
		if n := q.asked[0].Load(); n > 2 {
			t.Errorf("the shard that hangs was asked for %d messages, which it may hand out to nobody when it goes on", n)
		}
		back.Store(true)
		q.away[0].Store(false)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if st := left(t, q.qs[0], "j"); st != (delayjob.Stats{}) {
			t.Errorf("%+v is left of the shard that came back", st)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// A shard that is down does not delay loading the others, and they count as complete. It is loaded
// once it answers.
func TestLoader_shardAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const rows = 5000
		j := &fakeJob{name: "j"}
		for i := range rows {
			j.rows = append(j.rows, msg("j", strconv.Itoa(i), time.Now().Add(time.Minute)))
		}
		q := newSharded(4)
		q.away[2].Store(true)
		partly := fmt.Errorf("%w: shard 2", delayjob.ErrPartly)
		l := delayjob.NewLoader(q, jobs(j, &fakeJob{name: "other"}), delayjob.LoaderOptions{Chunk: 100, Before: func(context.Context) error {
			if q.away[2].Load() {
				return partly
			}
			return nil
		}})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- l.Run(ctx) }()
		time.Sleep(2 * hang) // one timeout, not one per chunk
		stored := 0
		for shard, mem := range q.qs {
			n := left(t, mem, "j").Delayed
			if stored += n; (n == 0) != (shard == 2) {
				t.Errorf("%d are in shard %d", n, shard)
			}
		}
		q.away[2].Store(false)
		<-l.Ready()
		if n := left(t, q.qs[2], "j").Delayed; n != rows-stored {
			t.Errorf("%d are in the shard that came back, want %d", n, rows-stored)
		}
		l.Trigger() // like a claim that finds a shard without its mark
		synctest.Wait()
		for shard := range q.qs {
			if q.epochs[shard].Load() == 0 {
				t.Errorf("shard %d is not marked as loaded", shard)
			}
		}
		cancel()
		<-done
	})
}

// Only a shard that an add did not reach is left unmarked.
func TestLoader_marksWhatIsComplete(t *testing.T) {
	j := &fakeJob{name: "j"}
	synctest.Test(t, func(t *testing.T) {
		for i := range 100 {
			j.rows = append(j.rows, msg("j", strconv.Itoa(i), time.Now().Add(time.Minute)))
		}
		q := newSharded(2)
		q.away[1].Store(true)
		l := delayjob.NewLoader(q, jobs(j), delayjob.LoaderOptions{})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- l.Run(ctx) }()
		time.Sleep(2 * hang)
		if a, b := q.epochs[0].Load(), q.epochs[1].Load(); a == 0 || b != 0 {
			t.Errorf("marked %d and %d times; want only the shard that took everything", a, b)
		}
		cancel()
		<-done
	})
}

// stuckJob loads nothing and blocks until released.
type stuckJob struct{ fakeJob }

func (j *stuckJob) Load(ctx context.Context, _ delayjob.Window) iter.Seq2[delayjob.Message, error] {
	return func(yield func(delayjob.Message, error) bool) {
		<-ctx.Done()
		yield(delayjob.Message{}, ctx.Err())
	}
}

// A database that vanishes ends a pass, and the next one may work.
func TestLoader_givesUpWhatStandsStill(t *testing.T) {
	var log strings.Builder
	j := &fakeJob{name: "j"}
	stuck := &stuckJob{fakeJob{name: "stuck"}}
	j.has(msg("j", "1", time.Unix(1, 0)))
	load(t, delayjob.LoaderOptions{Stall: 10 * time.Second, Logger: slog.New(slog.NewTextHandler(&log, nil))}, jobs(stuck, j), func(q *memqueue.Queue, l *delayjob.Loader) {
		time.Sleep(25 * time.Second)
		synctest.Wait()
	})
	if n := strings.Count(log.String(), "no progress for 10s"); n != 2 {
		t.Errorf("%d passes were given up within 25 s, want 2: %s", n, log.String())
	}
}

// deaf accepts the first acknowledgments and loses its answer.
type deaf struct {
	*memqueue.Queue
	calls atomic.Int32
}

func (q *deaf) Ack(ctx context.Context, ls ...delayjob.Lease) []error {
	errs := q.Queue.Ack(ctx, ls...)
	if q.calls.Add(1) == 1 {
		errs = make([]error, len(ls))
		for i := range errs {
			errs[i] = errHung
		}
	}
	return errs
}

// leaseCounter is an Observer that counts lost leases.
type leaseCounter struct {
	delayjob.NoObserver
	lost atomic.Int32
}

func (o *leaseCounter) Leases(_ string, _, lost int) { o.lost.Add(int32(lost)) }

// An acknowledgment whose answer was lost is sent again. A lost lease then means that the first one
// arrived.
func TestConsumer_lostAnswerOfAnAcknowledgement(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &deaf{Queue: memqueue.New()}
		var o leaseCounter
		j := &fakeJob{name: "j"}
		c := delayjob.NewConsumer(q, jobs(j), delayjob.ConsumerOptions{Observer: &o})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- c.Run(ctx) }()
		add(t, q, msg("j", "1", time.Now()))
		time.Sleep(time.Minute)
		synctest.Wait()
		if n := q.calls.Load(); n != 2 || len(j.ran()) != 1 || o.lost.Load() != 0 {
			t.Errorf("acknowledged in %d calls, ran %d times, %d leases lost; want 2, 1, 0", n, len(j.ran()), o.lost.Load())
		}
		if st := left(t, q, "j"); st != (delayjob.Stats{}) {
			t.Errorf("%+v is left", st)
		}
		cancel()
		<-done
	})
}
