package delayjob_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"punctual/delayjob"
	"punctual/delayjob/memqueue"
)

var errAway = errors.New("away")

// remote is a queue that can become unavailable: calls then fail at once, or hang until their
// context ends or they time out.
type remote struct {
	*memqueue.Queue
	away, hangs, full atomic.Bool
	calls             atomic.Int32 // of Add, Remove
}

func (q *remote) reach(ctx context.Context) error {
	if q.hangs.Load() {
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		<-ctx.Done()
		return ctx.Err()
	}
	if q.away.Load() {
		return errAway
	}
	return nil
}

func (q *remote) Add(ctx context.Context, ms ...delayjob.Message) ([]delayjob.AddResult, error) {
	q.calls.Add(1)
	if err := q.reach(ctx); err != nil {
		return make([]delayjob.AddResult, len(ms)), err
	}
	if q.full.Load() {
		return make([]delayjob.AddResult, len(ms)), errors.New("out of memory")
	}
	return q.Queue.Add(ctx, ms...)
}

func (q *remote) Remove(ctx context.Context, ids ...string) ([]delayjob.State, error) {
	q.calls.Add(1)
	if err := q.reach(ctx); err != nil {
		return nil, err
	}
	return q.Queue.Remove(ctx, ids...)
}

func (q *remote) Claim(ctx context.Context, shard int, want []delayjob.Want) (delayjob.Claimed, error) {
	if err := q.reach(ctx); err != nil {
		return delayjob.Claimed{}, err
	}
	return q.Queue.Claim(ctx, shard, want)
}

func (q *remote) Ack(ctx context.Context, ls ...delayjob.Lease) []error {
	if err := q.reach(ctx); err != nil {
		return slices.Repeat([]error{err}, len(ls))
	}
	return q.Queue.Ack(ctx, ls...)
}

func (q *remote) SetEpoch(ctx context.Context, id string) error {
	if err := q.reach(ctx); err != nil {
		return err
	}
	return q.Queue.SetEpoch(ctx, id)
}

// pending is a job whose rows are pending until they have run, like rows in a database. A message
// without a pending row does nothing and does not count as a run.
type pending struct {
	fakeJob
	takes time.Duration // duration of a run
}

func newPending(name string, dues ...time.Time) *pending {
	j := &pending{fakeJob: fakeJob{name: name}}
	for i, due := range dues {
		j.rows = append(j.rows, msg(name, strconv.Itoa(i), due))
	}
	return j
}

func (j *pending) Execute(_ context.Context, m delayjob.Message) error {
	time.Sleep(j.takes)
	j.mu.Lock()
	rows := slices.DeleteFunc(slices.Clone(j.rows), func(r delayjob.Message) bool { return r.Key == m.Key })
	effect := len(rows) < len(j.rows)
	j.rows = rows
	j.mu.Unlock()
	if effect {
		j.note(m)
	}
	return nil
}

// latest returns how late the latest run was.
func (j *pending) latest() (late time.Duration) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for i, m := range j.runs {
		late = max(late, j.times[i].Sub(m.Due))
	}
	return late
}

// aLock is a Lock that several processes share and that a test can take away.
type aLock struct {
	mu   sync.Mutex
	held bool
	lose context.CancelFunc
	err  error
}

func (l *aLock) lock(ctx context.Context, hold func(context.Context)) (bool, error) {
	l.mu.Lock()
	if l.held || l.err != nil {
		defer l.mu.Unlock()
		return false, l.err
	}
	ctx, l.lose = context.WithCancel(ctx)
	l.held = true
	l.mu.Unlock()
	hold(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held = false
	return true, nil
}

// worker is one process: loader, consumer and fallback on a remote queue.
type worker struct {
	fallback *delayjob.Fallback
	log      bytes.Buffer
	stop     context.CancelFunc
	stopped  chan struct{}
}

func startWorker(t *testing.T, q delayjob.Queue, js []delayjob.DelayJob, lock delayjob.Lock) *worker {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	w := &worker{stop: cancel, stopped: make(chan struct{})}
	log := slog.New(slog.NewTextHandler(&w.log, nil))
	var loader *delayjob.Loader
	consumer := delayjob.NewConsumer(q, js, delayjob.ConsumerOptions{OnEmpty: func() { loader.Trigger() }})
	loader = delayjob.NewLoader(q, js, delayjob.LoaderOptions{Health: consumer.Health()})
	w.fallback = delayjob.NewFallback(js, delayjob.FallbackOptions{
		NewQueue: func() delayjob.Queue { return memqueue.New() }, Health: consumer.Health(), Lock: lock, Back: loader.Trigger, Logger: log,
	})
	var running sync.WaitGroup
	for _, run := range []func(context.Context) error{loader.Run, consumer.Run, w.fallback.Run} {
		running.Go(func() {
			if err := run(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	go func() { running.Wait(); close(w.stopped) }()
	return w
}

// end stops the worker and returns how long that took.
func (w *worker) end() time.Duration {
	begin := time.Now()
	w.stop()
	<-w.stopped
	return time.Since(begin)
}

func (w *worker) lines(text string) int { return strings.Count(w.log.String(), text) }

// every returns n times, d apart, the first after d.
func every(n int, d time.Duration) (ts []time.Time) {
	for i := range n {
		ts = append(ts, time.Now().Add(time.Duration(i+1)*d))
	}
	return ts
}

func wantEachOnce(t *testing.T, j *pending, n int) {
	t.Helper()
	ran := map[string]int{}
	for _, m := range j.ran() {
		ran[m.Key]++
	}
	for key, times := range ran {
		if times != 1 {
			t.Errorf("message %s ran %d times", key, times)
		}
	}
	if len(ran) != n {
		t.Errorf("%d messages ran, want %d", len(ran), n)
	}
}

// An idle fallback sleeps for as long as an outage must last. It still starts soon after that,
// whenever the outage begins.
func TestFallback_soon(t *testing.T) {
	for _, after := range []time.Duration{100 * time.Millisecond, 1100 * time.Millisecond, 2100 * time.Millisecond, 2900 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			q := &remote{Queue: memqueue.New()}
			w := startWorker(t, q, jobs(newPending("j")), nil)
			time.Sleep(9*time.Second + after)
			q.away.Store(true)
			time.Sleep(4600 * time.Millisecond) // 1.2 until the next call, 3 until the fallback starts, and a margin
			if w.fallback.Queue() == nil {
				t.Errorf("nobody works 4.6 s after the queue went away at %v", after)
			}
			w.end()
		})
	}
}

// Whether calls fail at once or hang, every message runs once, at most some seconds late.
func TestFallback_worksWhileTheQueueIsAway(t *testing.T) {
	for name, away := range map[string]func(*remote) *atomic.Bool{
		"refused": func(q *remote) *atomic.Bool { return &q.away },
		"hanging": func(q *remote) *atomic.Bool { return &q.hangs },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := &remote{Queue: memqueue.New()}
				j := newPending("j", every(120, 500*time.Millisecond)...) // a minute
				w := startWorker(t, q, jobs(j), nil)
				time.Sleep(10*time.Second + 100*time.Millisecond)
				away(q).Store(true)
				time.Sleep(2 * time.Second)
				if w.fallback.Queue() != nil {
					t.Error("it works although the queue may be back in a moment")
				}
				time.Sleep(3 * time.Second)
				if w.fallback.Queue() == nil {
					t.Error("nobody works")
				}
				time.Sleep(15 * time.Second)
				away(q).Store(false)
				time.Sleep(10 * time.Second)
				if w.fallback.Queue() != nil {
					t.Error("it still works although the queue answers")
				}
				time.Sleep(25 * time.Second)
				w.end()
				wantEachOnce(t, j, 120)
				if late := j.latest(); late > 4*time.Second {
					t.Errorf("a message ran %v late", late)
				}
				if took, gave := w.lines("working from memory"), w.lines("fallback stopped"); took != 1 || gave != 1 {
					t.Errorf("%d lines for the take-over, %d for the hand-back:\n%s", took, gave, &w.log)
				}
			})
		})
	}
}

// A queue that is out of memory answers claims, but is empty.
func TestFallback_queueThatTakesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &remote{Queue: memqueue.New()}
		q.full.Store(true)
		j := newPending("j", every(10, time.Second)...)
		w := startWorker(t, q, jobs(j), nil)
		time.Sleep(20 * time.Second)
		wantEachOnce(t, j, 10)
		q.full.Store(false)
		time.Sleep(3 * time.Second)
		if w.fallback.Queue() != nil {
			t.Error("it still works although the queue takes messages")
		}
		w.end()
	})
}

// One of several processes works. When it stops or loses the lock, another starts at once.
func TestFallback_oneOfManyWorks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &remote{Queue: memqueue.New()}
		q.away.Store(true)
		var l aLock
		j := newPending("j", every(60, 500*time.Millisecond)...)
		ws := []*worker{startWorker(t, q, jobs(j), l.lock), startWorker(t, q, jobs(j), l.lock), startWorker(t, q, jobs(j), l.lock)}
		working := func() (at []int) {
			for i, w := range ws {
				if w.fallback.Queue() != nil {
					at = append(at, i)
				}
			}
			return at
		}
		time.Sleep(5 * time.Second)
		first := working()
		if len(first) != 1 {
			t.Fatalf("%d work, want one", len(first))
		}
		for i, w := range ws {
			select {
			case <-w.fallback.Ready():
			default:
				t.Errorf("worker %d does not see that the work is done", i)
			}
		}
		ws[first[0]].end()
		ws = slices.Delete(ws, first[0], first[0]+1)
		time.Sleep(time.Second)
		if n := len(working()); n != 1 {
			t.Errorf("%d work a second after the first stopped, want one", n)
		}
		l.lose()
		time.Sleep(time.Second)
		if n := len(working()); n != 1 {
			t.Errorf("%d work a second after the lock was lost, want one", n)
		}
		time.Sleep(30 * time.Second)
		for _, w := range ws {
			w.end()
		}
		wantEachOnce(t, j, 60)
		if late := j.latest(); late > 4*time.Second {
			t.Errorf("a message ran %v late", late)
		}
	})
}

// While the lock is unavailable, nothing runs and the log has one error.
func TestFallback_lockOutOfReach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &remote{Queue: memqueue.New()}
		q.away.Store(true)
		l := aLock{err: errors.New("no database")}
		j := newPending("j", every(1, time.Second)...)
		w := startWorker(t, q, jobs(j), l.lock)
		time.Sleep(10 * time.Second)
		if len(j.ran()) != 0 || w.lines("no database") != 1 {
			t.Errorf("%d runs, log:\n%s", len(j.ran()), &w.log)
		}
		l.mu.Lock()
		l.err = nil
		l.mu.Unlock()
		time.Sleep(2 * time.Second)
		wantEachOnce(t, j, 1)
		w.end()
	})
}

// Running handlers finish when the process stops.
func TestFallback_finishesWhatRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &remote{Queue: memqueue.New()}
		q.away.Store(true)
		j := newPending("j", time.Now())
		j.takes = 5 * time.Second
		w := startWorker(t, q, jobs(j), nil)
		time.Sleep(4 * time.Second)
		if took := w.end(); took < 3*time.Second {
			t.Errorf("it stopped after %v", took)
		}
		wantEachOnce(t, j, 1)
	})
}

// A process that stops during an outage does not wait for the queue.
func TestFallback_stopsDuringAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &remote{Queue: memqueue.New()}
		j := newPending("j", every(10, time.Second)...)
		j.takes = 100 * time.Millisecond
		w := startWorker(t, q, jobs(j), nil)
		time.Sleep(3050 * time.Millisecond)
		q.hangs.Store(true) // one handler runs, and its result cannot be stored
		time.Sleep(100 * time.Millisecond)
		if took := w.end(); took > 5*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

func TestFallback_preparesItsQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &remote{Queue: memqueue.New()}
		q.hangs.Store(true)
		var health delayjob.Health
		j, paused := newPending("j", time.Now()), newPending("paused", time.Now())
		js := jobs(j, paused)
		consumer := delayjob.NewConsumer(q, js, delayjob.ConsumerOptions{})
		f := delayjob.NewFallback(js, delayjob.FallbackOptions{
			NewQueue: func() delayjob.Queue { return memqueue.New() }, Health: consumer.Health(),
			Before: func(ctx context.Context, q delayjob.Queue) error { return q.(delayjob.Inspector).Pause(ctx, "paused") },
		})
		if health.Away() != 0 || f.Queue() != nil || !f.LastPass().IsZero() {
			t.Error("nobody has asked anything yet")
		}
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { _ = consumer.Run(ctx) })
		running.Go(func() { _ = f.Run(ctx) })
		time.Sleep(5 * time.Second)
		if len(j.ran()) != 1 || len(paused.ran()) != 0 {
			t.Errorf("%d and %d runs, want one, and none of the paused job", len(j.ran()), len(paused.ran()))
		}
		if f.LastPass().IsZero() {
			t.Error("no pass")
		}
		cancel()
		running.Wait()
	})
}
