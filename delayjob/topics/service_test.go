package topics_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"punctual/app/database"
	"punctual/delayjob"
	"punctual/delayjob/gormstore"
	"punctual/delayjob/memqueue"
	"punctual/delayjob/redisqueue"
	"punctual/delayjob/topics"
	"punctual/delayjob/webhook"
	"punctual/tests/testenv"
	"punctual/tests/testenv/testdb"
)

// queue is what both implementations offer.
type queue interface {
	delayjob.Queue
	delayjob.Inspector
}

// world is a service with its store and queue; the queue may be replaced by an empty one.
type world struct {
	*topics.Service
	t     *testing.T
	db    *database.DB
	queue queue
	ahead *atomic.Int64 // nanoseconds that the queue's clock is ahead
}

// patience is how long something may take that comes at once on a machine with nothing else to do.
const patience = time.Minute

// each runs a test on both databases, SQLite with the queue in memory and Postgres with Redis.
func each(t *testing.T, test func(w *world)) {
	t.Helper()
	testdb.Each(t, func(t *testing.T, db *database.DB) {
		var ahead atomic.Int64
		var q queue = inMemory(&ahead)
		if db.Dialect == "postgres" {
			client, err := redisqueue.Dial(testenv.Patient(testenv.Redis(t)))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { client.Close() })
			if q, err = redisqueue.New(t.Context(), client); err != nil {
				t.Fatal(err)
			}
		}
		w := newWorld(t, db, q)
		w.ahead = &ahead
		test(w)
	})
}

func inMemory(ahead *atomic.Int64) *memqueue.Queue {
	return memqueue.New(memqueue.WithClock(func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }))
}

// pass advances the queue's clock.
func (w *world) pass(d time.Duration) {
	now := w.ahead.Add(int64(d))
	if q, ok := w.queue.(*redisqueue.Queue); ok {
		q.SetClockOffset(time.Duration(now))
	}
}

func newService(store topics.Store, q queue) *topics.Service {
	return topics.New(store, q, delayjob.NewScheduler(q, delayjob.SchedulerOptions{Budget: 5 * time.Second}),
		webhook.NewSender("test", []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}), func() {}, slog.New(slog.DiscardHandler))
}

func newWorld(t *testing.T, db *database.DB, q queue) *world {
	s := newService(gormstore.NewTopics(db.Gorm), q)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return &world{Service: s, t: t, db: db, queue: q}
}

// emptied is the same database with an empty queue, as after a crash or a flush, filled again.
func (w *world) emptied() *world {
	n := newWorld(w.t, w.db, inMemory(w.ahead))
	n.ahead = w.ahead
	n.load()
	return n
}

func (w *world) load() {
	w.t.Helper()
	window := delayjob.Window{To: w.queue.Now().Add(2 * time.Minute)}
	for m, err := range w.Loading().Load(w.t.Context(), window) {
		if err != nil {
			w.t.Fatal(err)
		}
		if _, err := w.queue.Add(w.t.Context(), m); err != nil {
			w.t.Fatal(err)
		}
	}
}

// job is one of the topic "t" that is due after d.
func (w *world) job(id string, d time.Duration) *topics.Job {
	return &topics.Job{Key: topics.Key{Topic: "t", ID: id}, Version: 1, Due: w.queue.Now().Add(d), Body: []byte(`{"id": "` + id + `"}`), TTR: time.Minute, MaxAttempts: 3}
}

func (w *world) add(want topics.Result, js ...*topics.Job) {
	w.t.Helper()
	got, err := w.Add(w.t.Context(), js...)
	if err != nil {
		w.t.Fatal(err)
	}
	for i, s := range got {
		if s.Result != want {
			w.t.Errorf("%s: result %d, want %d", js[i].ID, s.Result, want)
		}
	}
}

// pop wants these jobs; without any it wants none at the moment.
func (w *world) pop(ids ...string) []topics.Delivery {
	w.t.Helper()
	var all []topics.Delivery
	for end := time.Now().Add(patience); len(all) < max(1, len(ids)) && time.Now().Before(end); {
		ds, err := w.Pop(w.t.Context(), topics.Pop{Topics: []string{"t"}, Max: 10, Wait: 100 * time.Millisecond})
		if err != nil {
			w.t.Fatal(err)
		}
		all = append(all, ds...)
		if len(ids) == 0 && len(ds) == 0 {
			return nil
		}
	}
	var got []string
	for _, d := range all {
		got = append(got, d.ID)
		if string(d.Body) != `{"id": "`+d.ID+`"}` {
			w.t.Errorf("body of %s: %s", d.ID, d.Body)
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(ids) {
		w.t.Fatalf("popped %v, want %v", got, ids)
	}
	return all
}

func (w *world) state(id string, want topics.State) *topics.Job {
	w.t.Helper()
	j, s, err := w.Job(w.t.Context(), topics.Key{Topic: "t", ID: id})
	if err != nil || s != want {
		w.t.Fatalf("%s is %q, %v; want %q", id, s, err, want)
	}
	return j
}

func (w *world) finish(d topics.Delivery) error {
	errs, err := w.Finish(w.t.Context(), topics.Ending{Key: d.Key, Lease: d.Lease})
	if err != nil {
		w.t.Fatal(err)
	}
	return errs[0]
}

func ending(d topics.Delivery) topics.Ending { return topics.Ending{Key: d.Key, Lease: d.Lease} }

func TestAdd(t *testing.T) {
	each(t, func(w *world) {
		w.add(topics.Added, w.job("a", time.Hour), w.job("b", time.Hour))
		w.add(topics.Unchanged, w.job("a", 0))
		w.state("a", topics.Delayed)
		newer := w.job("a", 0)
		newer.Version = 3
		w.add(topics.Replaced, newer)
		older := w.job("a", time.Hour)
		older.Version = 2
		got, err := w.Add(t.Context(), older)
		if err != nil || got[0].Result != topics.Outdated || got[0].There.Version != 3 {
			t.Errorf("an older version: %+v, %v", got, err)
		}
		d := w.pop("a")[0]
		if d.Attempts != 1 || w.state("a", topics.Reserved).LeaseUntil.IsZero() {
			t.Errorf("delivered %+v", d.Job)
		}
		if err := w.finish(d); err != nil {
			t.Error(err)
		}
		if err := w.finish(d); !errors.Is(err, delayjob.ErrLeaseLost) {
			t.Errorf("finished twice: %v", err)
		}
		w.state("a", topics.IsDone)
		got, err = w.Add(t.Context(), w.job("twice", 0), w.job("twice", time.Hour))
		if err != nil || got[0].Result != topics.Added || got[1].Result != topics.Unchanged {
			t.Errorf("one id twice: %+v, %v", got, err)
		}
		w.pop("twice")
	})
}

func TestReplace_takesItFromItsHolder(t *testing.T) {
	each(t, func(w *world) {
		w.add(topics.Added, w.job("a", 0))
		d := w.pop("a")[0]
		newer := w.job("a", 0)
		newer.Version = 2
		w.add(topics.Replaced, newer)
		if err := w.finish(d); !errors.Is(err, delayjob.ErrLeaseLost) {
			t.Errorf("finish of the replaced one: %v", err)
		}
		if d := w.pop("a")[0]; d.Version != 2 || d.Attempts != 1 {
			t.Errorf("delivered %+v", d.Job)
		}
	})
}

func TestAttempts(t *testing.T) {
	each(t, func(w *world) {
		j := w.job("a", 0)
		j.MaxAttempts = 2
		w.add(topics.Added, j)
		w.pop("a")
		w.pass(2 * j.TTR)
		if d := w.pop("a")[0]; d.Attempts != 2 {
			t.Errorf("attempt %d, want 2", d.Attempts)
		}
		w.pass(2 * j.TTR)
		w.state("a", topics.IsDead)
		w.pop()
		if s, err := w.queue.Stats(t.Context(), "topic.t"); err != nil || s.Dead != 1 {
			t.Errorf("in the queue %+v, %v", s, err)
		}
		dead, err := w.Dead(t.Context(), "t", nil, 10)
		if err != nil || len(dead) != 1 || dead[0].LastError != topics.ErrorTimeOver {
			t.Errorf("dead %+v, %v", dead, err)
		}
		if err := w.Requeue(t.Context(), j.Key); err != nil {
			t.Fatal(err)
		}
		if d := w.pop("a")[0]; d.Attempts != 1 {
			t.Errorf("attempt %d after the requeue", d.Attempts)
		}
		if _, ok := errors.AsType[*topics.StateError](w.Requeue(t.Context(), j.Key)); !ok {
			t.Error("a job that is not dead was requeued")
		}
	})
}

func TestFail(t *testing.T) {
	each(t, func(w *world) {
		w.add(topics.Added, w.job("a", 0))
		begin := w.queue.Now()
		if err := w.Fail(t.Context(), ending(w.pop("a")[0]), topics.Failure{Error: "oh\x00 no", Delay: new(300 * time.Millisecond)}); err != nil {
			t.Fatal(err)
		}
		j, s, err := w.Job(t.Context(), topics.Key{Topic: "t", ID: "a"})
		if err != nil || s != topics.Delayed && w.queue.Now().Before(j.Due) || j.LastError != "oh no" {
			t.Errorf("%s with the error %q, %v", s, j.LastError, err)
		}
		d := w.pop("a")[0]
		if late := w.queue.Now().Sub(begin); d.Attempts != 2 || late < 300*time.Millisecond {
			t.Errorf("attempt %d after %v", d.Attempts, late)
		}
		if err := w.Fail(t.Context(), ending(d), topics.Failure{Error: "never", Dead: true}); err != nil {
			t.Fatal(err)
		}
		w.state("a", topics.IsDead)
		if err := w.Fail(t.Context(), ending(d), topics.Failure{}); !errors.Is(err, delayjob.ErrLeaseLost) {
			t.Errorf("failed twice: %v", err)
		}
	})
}

func TestExtend(t *testing.T) {
	each(t, func(w *world) {
		j := w.job("a", 0)
		w.add(topics.Added, j)
		d := w.pop("a")[0]
		until, err := w.Extend(t.Context(), ending(d), time.Hour)
		if err != nil || until.Before(w.queue.Now().Add(50*time.Minute)) {
			t.Fatalf("until %v, %v", until, err)
		}
		w.pass(2 * j.TTR)
		w.pop()
		if err := w.finish(d); err != nil {
			t.Error(err)
		}
	})
}

func TestReschedule(t *testing.T) {
	each(t, func(w *world) {
		w.add(topics.Added, w.job("a", time.Hour), w.job("b", 0))
		b := w.pop("b")[0]
		due := w.queue.Now().Add(400 * time.Millisecond)
		if _, s, err := w.Reschedule(t.Context(), topics.Key{Topic: "t", ID: "a"}, due); err != nil || s != topics.Delayed && w.queue.Now().Before(due) {
			t.Fatal(s, err)
		}
		a := w.pop("a")[0]
		if a.Due.After(w.queue.Now()) {
			t.Error("early")
		}
		if _, _, err := w.Reschedule(t.Context(), b.Key, w.queue.Now()); err != nil { // while it is reserved
			t.Fatal(err)
		}
		if err := w.finish(b); !errors.Is(err, delayjob.ErrLeaseLost) {
			t.Errorf("finish of the rescheduled one: %v", err)
		}
		if err := w.finish(w.pop("b")[0]); err != nil {
			t.Error(err)
		}
		if _, _, err := w.Reschedule(t.Context(), b.Key, w.queue.Now()); err == nil {
			t.Error("a job that is done was rescheduled")
		}
	})
}

func TestDelete(t *testing.T) {
	each(t, func(w *world) {
		w.add(topics.Added, w.job("b", 0))
		b := w.pop("b")[0]
		w.add(topics.Added, w.job("a", time.Minute))
		for id, want := range map[string]bool{"a": false, "b": true} {
			if running, err := w.Delete(t.Context(), topics.Key{Topic: "t", ID: id}); err != nil || running != want {
				t.Errorf("delete %s: running %v, %v", id, running, err)
			}
		}
		if err := w.finish(b); !errors.Is(err, delayjob.ErrLeaseLost) {
			t.Errorf("finish of the deleted one: %v", err)
		}
		w.pass(2 * time.Minute)
		w.pop()
		if _, _, err := w.Job(t.Context(), b.Key); !errors.Is(err, topics.ErrNotFound) {
			t.Error(err)
		}
		w.add(topics.Added, w.job("a", 0)) // it is gone, and its id is free
		w.pop("a")
	})
}

func TestExpired(t *testing.T) {
	each(t, func(w *world) {
		j := w.job("a", -time.Second)
		j.TTL = 500 * time.Millisecond
		w.add(topics.Added, j)
		w.pop()
		w.state("a", topics.IsExpired)
		stats, _, _, err := w.Topic(t.Context(), "t")
		if err != nil || stats.Expired != 1 || stats.Ready != 0 {
			t.Errorf("%+v, %v", stats, err)
		}
	})
}

// A queue that lost everything is filled again: what is reserved stays so, attempts count on.
func TestQueueLost(t *testing.T) {
	each(t, func(w *world) {
		long := w.job("held", -time.Second)
		long.TTR = time.Hour
		w.add(topics.Added, long, w.job("short", 0), w.job("later", 90*time.Second))
		w.add(topics.Added, w.job("year", 365*24*time.Hour))
		before := w.pop("held", "short")
		held, ends := before[0], before[1].LeaseUntil
		n := w.emptied()
		if s, err := n.queue.Stats(t.Context(), "topic.t"); err != nil || s.Delayed+s.Ready != 3 || s.Ready > 0 && n.queue.Now().Before(ends) {
			t.Errorf("loaded %+v, %v", s, err)
		}
		n.pass(2 * time.Minute)
		var again, later topics.Delivery
		for end := time.Now().Add(patience); (again.Job == nil || later.Job == nil) && time.Now().Before(end); {
			ds, err := n.Pop(t.Context(), topics.Pop{Topics: []string{"t"}, Max: 10, Wait: time.Second})
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range ds {
				switch d.ID {
				case "short":
					if again = d; n.finish(d) != nil {
						t.Errorf("finish of %+v: the lease is lost", d.Job)
					}
				case "later":
					later = d
				default:
					t.Errorf("popped %s", d.ID)
				}
			}
		}
		if again.Job == nil || again.Attempts != 2 || again.UpdatedAt.Before(ends) {
			t.Errorf("popped %+v, want attempt 2 after %v", again.Job, ends)
		}
		if later.Job == nil || later.Attempts != 1 || later.UpdatedAt.Before(later.Due) {
			t.Errorf("popped %+v, want attempt 1", later.Job)
		}
		if err := n.finish(held); err != nil {
			t.Errorf("finish of what was popped before: %v", err)
		}
	})
}

func TestPaused(t *testing.T) {
	each(t, func(w *world) {
		if err := w.SetPaused(t.Context(), "t", true); err != nil {
			t.Fatal(err)
		}
		w.add(topics.Added, w.job("a", 0))
		w.pop()
		if stats, _, _, err := w.Topic(t.Context(), "t"); err != nil || !stats.Paused || stats.Ready != 1 {
			t.Errorf("%+v, %v", stats, err)
		}
		n := w.emptied()
		n.pop()
		if s, err := n.queue.Stats(t.Context(), "topic.t"); err != nil || !s.Paused {
			t.Errorf("not paused in the new queue: %+v, %v", s, err)
		}
		forgetful := newWorld(t, w.db, memqueue.New()) // not even told by a load
		forgetful.add(topics.Added, forgetful.job("b", 0))
		forgetful.pop()
		if err := n.SetPaused(t.Context(), "t", false); err != nil {
			t.Fatal(err)
		}
		if d := n.pop("a")[0]; d.Attempts != 1 {
			t.Errorf("attempt %d", d.Attempts)
		}
	})
}

// A pop that waits is woken by an add and by a due time, and returns when its caller goes or
// the service stops; what comes later is not lost to it.
func TestPop_waits(t *testing.T) {
	each(t, func(w *world) {
		type answer struct {
			ds  []topics.Delivery
			err error
		}
		pop := func(ctx context.Context) chan answer {
			c := make(chan answer, 1)
			go func() {
				ds, err := w.Pop(ctx, topics.Pop{Topics: []string{"t", "u"}, Max: 1, Wait: 2 * patience})
				c <- answer{ds, err}
			}()
			return c
		}
		gone, leave := context.WithCancel(t.Context())
		first := pop(gone)
		time.Sleep(50 * time.Millisecond)
		second, third := pop(t.Context()), pop(t.Context())
		time.Sleep(50 * time.Millisecond)
		leave()
		if a := <-first; !errors.Is(a.err, context.Canceled) {
			t.Errorf("%+v", a)
		}
		w.add(topics.Added, w.job("soon", 30*time.Second))
		begin := time.Now()
		w.add(topics.Added, w.job("now", 0))
		var got [2]answer
		got[0] = <-chanOf(second, third)
		t.Logf("woken by an add after %v", time.Since(begin))
		w.pass(30 * time.Second) // shorter than the lease of the other
		got[1] = <-chanOf(second, third)
		for i, id := range []string{"now", "soon"} {
			if a := got[i]; a.err != nil || len(a.ds) != 1 || a.ds[0].ID != id {
				t.Fatalf("%+v, want %s", a, id)
			}
		}
		if late := w.queue.Now().Sub(got[1].ds[0].Due); late < 0 || late > patience {
			t.Errorf("late by %v", late)
		}
	})
}

// chanOf yields the first value of either.
func chanOf[T any](a, b chan T) chan T {
	c := make(chan T, 1)
	select {
	case v := <-a:
		c <- v
	case v := <-b:
		c <- v
	}
	return c
}

func TestStats(t *testing.T) {
	each(t, func(w *world) {
		w.add(topics.Added, w.job("ready", -2*time.Second), w.job("m0", 30*time.Second), w.job("m1", 90*time.Second), w.job("m59", 59*time.Minute+30*time.Second), w.job("far", 2*time.Hour))
		other := w.job("x", 0)
		other.Topic = "other"
		w.add(topics.Added, other)
		s, minutes, now, err := w.Topic(t.Context(), "t")
		if err != nil || s.Ready != 1 || s.Delayed != 4 || now.Sub(s.OldestDue) < 2*time.Second {
			t.Errorf("%+v, %v", s, err)
		}
		if minutes[0] != 1 || minutes[1] != 1 || minutes[59] != 1 || minutes[2] != 0 {
			t.Errorf("by minute %v", minutes)
		}
		all, _, err := w.Stats(t.Context())
		if err != nil || len(all) != 2 || all[0].Topic != "other" || all[1].Delayed != 4 {
			t.Errorf("%+v, %v", all, err)
		}
	})
}

func TestLease(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "x", "AA", "!!", "AAAA", "////////////////"} {
		if l, err := topics.ParseLease(s); err == nil {
			t.Errorf("%q is the lease %v", s, l)
		}
	}
}

// A topic that is full takes nothing until something ends; so does a new topic when there are
// enough.
func TestLimits(t *testing.T) {
	each(t, func(w *world) {
		t := w.t
		w.SetLimits(topics.Limits{Pending: 3, Topics: 2})
		refused := func(js ...*topics.Job) {
			t.Helper()
			_, err := w.Add(t.Context(), js...)
			if e, ok := errors.AsType[*topics.QuotaError](err); !ok || e.RetryAfter <= 0 || e.Detail == "" {
				t.Errorf("added %d more: %v", len(js), err)
			}
		}
		refused(w.job("a", 0), w.job("b", 0), w.job("c", 0), w.job("d", 0)) // by the first count
		w.add(topics.Added, w.job("a", 0), w.job("b", time.Hour))
		refused(w.job("c", 0), w.job("d", 0))
		w.add(topics.Added, w.job("c", time.Hour))
		refused(w.job("d", 0))
		if err := w.finish(w.pop("a")[0]); err != nil {
			t.Fatal(err)
		}
		eventually(t, "there is room again", func() bool {
			_, err := w.Add(t.Context(), w.job("d", time.Hour))
			return err == nil
		})
		in := func(topic string) *topics.Job {
			j := w.job("x", 0)
			j.Topic = topic
			return j
		}
		w.add(topics.Added, in("second"))
		refused(in("third"))
		w.SetLimits(topics.Limits{})
		w.add(topics.Added, in("third"), w.job("e", 0), w.job("f", 0))
	})
}

// What is overdue and in the queue is not loaded again and again, of whatever topic it is; what
// the queue lacks is.
func TestLoad_overdue(t *testing.T) {
	each(t, func(w *world) {
		t := w.t
		for i := range 3 {
			js := make([]*topics.Job, 1000)
			for k := range js {
				js[k] = w.job(fmt.Sprint(i, "-", k), -time.Hour)
				js[k].Topic = []string{"t", "u", "u"}[i]
			}
			w.add(topics.Added, js...)
		}
		w.add(topics.Added, w.job("late", -5*time.Second), w.job("soon", time.Minute))
		loaded := func(w *world) map[string]int {
			t.Helper()
			n := map[string]int{}
			for m, err := range w.Loading().Load(t.Context(), delayjob.Window{To: w.queue.Now().Add(2 * time.Minute)}) {
				if err != nil {
					t.Fatal(err)
				}
				if _, err := w.queue.Add(t.Context(), m); err != nil {
					t.Fatal(err)
				}
				n[m.Job]++
			}
			return n
		}
		if n := loaded(w); n["topic.t"] != 2 || n["topic.u"] != 0 {
			t.Errorf("loaded %v of what the queue holds, want late and soon", n)
		}
		ds, err := w.Pop(t.Context(), topics.Pop{Topics: []string{"t"}, Max: 100}) // reserved is in the queue, too
		if err != nil || len(ds) == 0 {
			t.Fatal(len(ds), err)
		}
		if n := loaded(w); n["topic.t"] != 2 || n["topic.u"] != 0 {
			t.Errorf("loaded %v after a pop, want late and soon", n)
		}
		empty := newWorld(t, w.db, memqueue.New())
		if n := loaded(empty); n["topic.t"] != 1002 || n["topic.u"] != 2000 {
			t.Errorf("loaded %v into an empty queue", n)
		}
		if _, err := empty.queue.Remove(t.Context(), "topic.u:1-7"); err != nil {
			t.Fatal(err)
		}
		if n := loaded(empty); n["topic.u"] != 2000 {
			t.Errorf("loaded %v though one was lost", n)
		}
	})
}

// What is due long from now costs the queue nothing, however it came to be.
func TestFarAway(t *testing.T) {
	each(t, func(w *world) {
		t := w.t
		const year = 365 * 24 * time.Hour
		w.add(topics.Added, w.job("added", year), w.job("moved", time.Minute), w.job("claimed", 0), w.job("failed", 0))
		for _, d := range w.pop("claimed", "failed") {
			if d.ID == "failed" {
				if err := w.Fail(t.Context(), ending(d), topics.Failure{Delay: new(year)}); err != nil {
					t.Fatal(err)
				}
				continue
			}
			if _, _, err := w.Reschedule(t.Context(), d.Key, w.queue.Now().Add(year)); err != nil {
				t.Fatal(err)
			}
		}
		if _, _, err := w.Reschedule(t.Context(), topics.Key{Topic: "t", ID: "moved"}, w.queue.Now().Add(year)); err != nil {
			t.Fatal(err)
		}
		w.load()
		if s, err := w.queue.Stats(t.Context(), "topic.t"); err != nil || s != (delayjob.Stats{}) {
			t.Errorf("the queue holds %+v, %v", s, err)
		}
		for _, id := range []string{"added", "moved", "claimed", "failed"} {
			w.state(id, topics.Delayed)
		}
		// A message that the queue was not told is outdated goes with its claim.
		old := delayjob.Message{Job: "topic.t", Key: "moved", Version: 1, Due: w.queue.Now()}
		if _, err := w.queue.Add(t.Context(), old); err != nil {
			t.Fatal(err)
		}
		w.pop()
		if s, err := w.queue.Stats(t.Context(), "topic.t"); err != nil || s != (delayjob.Stats{}) {
			t.Errorf("the queue holds %+v, %v", s, err)
		}
		// It comes when its time has come.
		if _, _, err := w.Reschedule(t.Context(), topics.Key{Topic: "t", ID: "failed"}, w.queue.Now()); err != nil {
			t.Fatal(err)
		}
		w.pop("failed")
	})
}
