package delayjob_test

import (
	"context"
	"errors"
	"iter"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"punctual/delayjob"
	"punctual/delayjob/memqueue"
)

func load(t *testing.T, o delayjob.LoaderOptions, js []delayjob.DelayJob, act func(q *memqueue.Queue, l *delayjob.Loader)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		q := memqueue.New()
		defer q.Close()
		l := delayjob.NewLoader(q, js, o)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- l.Run(ctx) }()
		act(q, l)
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
}

func TestLoader_loadsOverdueAndTheHorizonAtStart(t *testing.T) {
	j := &fakeJob{name: "j"}
	load(t, delayjob.LoaderOptions{}, jobs(j), func(q *memqueue.Queue, l *delayjob.Loader) {
		// The first pass found nothing. Scheduled passes find the messages added now.
		<-l.Ready()
		now := time.Now()
		j.has(msg("j", "overdue", now.Add(-time.Hour)),
			msg("j", "near", now.Add(time.Minute)),
			msg("j", "far", now.Add(10*time.Minute)))
		time.Sleep(16 * time.Second)
		synctest.Wait()
		if s := left(t, q, "j"); s.Ready != 0 || s.Delayed != 0 {
			t.Errorf("after an incremental pass %+v, want nothing: it was within the last pass's horizon", s)
		}
		time.Sleep(15 * time.Second)
		synctest.Wait()
		if s := left(t, q, "j"); s.Ready != 0 || s.Delayed != 1 {
			t.Errorf("30 s before the near one is due %+v, want it", s)
		}
		l.Trigger()
		synctest.Wait()
		if s := left(t, q, "j"); s.Ready != 1 || s.Delayed != 1 {
			t.Errorf("after a full pass %+v, want the overdue one too", s)
		}
		time.Sleep(8 * time.Minute)
		synctest.Wait()
		if s := left(t, q, "j"); s.Ready != 2 || s.Delayed != 1 {
			t.Errorf("later %+v, want the far one within the horizon", s)
		}
		if l.LastPass().IsZero() {
			t.Error("LastPass is zero after passes")
		}
	})
}

func TestLoader_refillsAQueueThatLostItsContent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &fakeJob{name: "j"}
		for i := range 2500 { // more than two chunks
			j.rows = append(j.rows, msg("j", strconv.Itoa(i), time.Now().Add(30*time.Second)))
		}
		q := memqueue.New()
		defer q.Close()
		l := delayjob.NewLoader(q, jobs(j), delayjob.LoaderOptions{})
		c := delayjob.NewConsumer(q, jobs(j), delayjob.ConsumerOptions{OnEmpty: l.Trigger})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 2)
		go func() { done <- l.Run(ctx) }()
		go func() { done <- c.Run(ctx) }()
		<-l.Ready()
		synctest.Wait()            // a pass in progress would set the epoch that is removed below
		for _, m := range j.rows { // simulates a flush
			q.Remove(ctx, m.ID())
		}
		q.SetEpoch(ctx, "")
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if s := left(t, q, "j"); s.Delayed != 2500 {
			t.Errorf("2 s after the loss %+v, want all again", s)
		}
		time.Sleep(28 * time.Second)
		synctest.Wait()
		if n := len(j.ran()); n != 2500 {
			t.Errorf("%d ran, want each once", n)
		}
		cancel()
		<-done
		<-done
	})
}

// brokenJob fails to load until fixed, at first with a panic.
type brokenJob struct {
	fakeJob
	loads  atomic.Int32
	mended atomic.Bool
}

func (j *brokenJob) Load(ctx context.Context, w delayjob.Window) iter.Seq2[delayjob.Message, error] {
	if j.mended.Load() {
		return j.fakeJob.Load(ctx, w)
	}
	return func(yield func(delayjob.Message, error) bool) {
		if j.loads.Add(1) == 1 {
			panic("oops")
		}
		yield(delayjob.Message{}, errors.New("no database"))
	}
}

func TestLoader_oneFailingJobKeepsNoOtherBack(t *testing.T) {
	broken := &brokenJob{fakeJob: fakeJob{name: "broken"}}
	fine := &fakeJob{name: "fine"}
	synctest.Test(t, func(t *testing.T) {
		broken.rows = []delayjob.Message{msg("broken", "1", time.Now())}
		fine.rows = []delayjob.Message{msg("fine", "1", time.Now())}
		q := memqueue.New()
		defer q.Close()
		l := delayjob.NewLoader(q, jobs(broken, fine), delayjob.LoaderOptions{})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- l.Run(ctx) }()
		time.Sleep(500 * time.Millisecond)
		if s := left(t, q, "fine"); s.Ready != 1 {
			t.Errorf("fine: %+v, want loaded", s)
		}
		select {
		case <-l.Ready():
			t.Error("ready although a job could not be loaded")
		default:
		}
		broken.mended.Store(true)
		time.Sleep(2 * time.Second)
		<-l.Ready()
		if s := left(t, q, "broken"); s.Ready != 1 {
			t.Errorf("broken: %+v, want loaded soon after", s)
		}
		cancel()
		<-done
	})
}

func TestLoader_stopsAtWhatTheQueueShouldHold(t *testing.T) {
	j := &fakeJob{name: "j"}
	for i := range 1000 {
		j.rows = append(j.rows, msg("j", strconv.Itoa(i), time.Unix(int64(i), 0)))
	}
	load(t, delayjob.LoaderOptions{Chunk: 10, MaxWaiting: 200}, jobs(j), func(q *memqueue.Queue, l *delayjob.Loader) {
		<-l.Ready()
		if s := left(t, q, "j"); s.Ready != 200 {
			t.Errorf("%d are waiting, want 200", s.Ready)
		}
	})
}

func TestLoader_badSchedule(t *testing.T) {
	for _, spec := range []string{"nonsense", "TZ=", "CRON_TZ=Europe/Berlin", "@every x", "* * *"} {
		if err := delayjob.CheckSchedule(spec); err == nil {
			t.Errorf("CheckSchedule(%q) = nil", spec)
		}
		err := delayjob.NewLoader(memqueue.New(), nil, delayjob.LoaderOptions{Full: spec}).Run(t.Context())
		if err == nil {
			t.Errorf("Run with schedule %q = nil", spec)
		}
	}
	if err := delayjob.CheckSchedule("@every 15s"); err != nil {
		t.Error(err)
	}
}

func TestScheduler_addsOnlyWhatIsNear(t *testing.T) {
	q := memqueue.New()
	s := delayjob.NewScheduler(q, delayjob.SchedulerOptions{Horizon: time.Minute})
	now := time.Now()
	cancelled, cancel := context.WithCancel(t.Context())
	cancel() // the request ends, but the commit stands
	s.Schedule(cancelled, msg("j", "near", now.Add(50*time.Second)), msg("j", "far", now.Add(time.Hour)))
	if st := left(t, q, "j"); st.Delayed != 1 {
		t.Errorf("%+v, want the near one", st)
	}
	s.Forget(cancelled, "j:near", "j:far")
	if st := left(t, q, "j"); st.Delayed != 0 {
		t.Errorf("%+v, want it forgotten", st)
	}
}

func TestLoader_preparesTheQueueBeforeItFillsIt(t *testing.T) {
	j := &fakeJob{name: "j"}
	j.has(msg("j", "1", time.Unix(1, 0)))
	var calls, refuse atomic.Int32
	refuse.Store(1)
	o := delayjob.LoaderOptions{Before: func(context.Context) error {
		if calls.Add(1) <= refuse.Load() {
			return errors.New("not yet")
		}
		return nil
	}}
	load(t, o, jobs(j), func(q *memqueue.Queue, l *delayjob.Loader) {
		synctest.Wait()
		if s := left(t, q, "j"); calls.Load() != 1 || s.Ready != 0 {
			t.Errorf("%d calls, %+v; want one that failed, and nothing loaded", calls.Load(), s)
		}
		<-l.Ready() // a second later
		if s := left(t, q, "j"); calls.Load() != 2 || s.Ready != 1 {
			t.Errorf("%d calls, %+v; want another one, and the message", calls.Load(), s)
		}
		time.Sleep(50 * time.Second)
		if n := calls.Load(); n != 2 {
			t.Errorf("%d calls; incremental passes make none", n)
		}
		time.Sleep(20 * time.Second)
		if n := calls.Load(); n != 3 {
			t.Errorf("%d calls, want one for the next full pass", n)
		}
	})
}

// countedJob counts the rows that passes read.
type countedJob struct {
	fakeJob
	read atomic.Int32
}

func (j *countedJob) Load(ctx context.Context, w delayjob.Window) iter.Seq2[delayjob.Message, error] {
	return func(yield func(delayjob.Message, error) bool) {
		for m, err := range j.fakeJob.Load(ctx, w) {
			j.read.Add(1)
			if !yield(m, err) {
				return
			}
		}
	}
}

func TestLoader_aFullQueueIsNotReadAgain(t *testing.T) {
	j := &countedJob{fakeJob: fakeJob{name: "j"}}
	synctest.Test(t, func(t *testing.T) {
		q := memqueue.New()
		defer q.Close()
		start := time.Now()
		for i := range 1000 {
			j.rows = append(j.rows, msg("j", strconv.Itoa(i), start.Add(110*time.Second)))
		}
		l := delayjob.NewLoader(q, jobs(j), delayjob.LoaderOptions{})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- l.Run(ctx) }()
		<-l.Ready()
		j.has(append(j.rows, msg("j", "forgotten", start.Add(-time.Hour)), msg("j", "unseen", start.Add(100*time.Second)))...)
		time.Sleep(70 * time.Second)
		synctest.Wait()
		if n := j.read.Load(); n != 1001 {
			t.Errorf("%d rows read, want each once: the first pass's, and the overdue one", n)
		}
		if s := left(t, q, "j"); s.Ready != 1 || s.Delayed != 1000 {
			t.Errorf("%+v, want the overdue one found by the full pass", s)
		}
		time.Sleep(20 * time.Second)
		synctest.Wait()
		if s := left(t, q, "j"); s.Delayed != 1001 {
			t.Errorf("%+v, want also what was missed, before it is due", s)
		}
		j.read.Store(0)
		l.Trigger()
		synctest.Wait()
		if n := j.read.Load(); n != 1002 {
			t.Errorf("%d rows read, want all", n)
		}
		cancel()
		<-done
	})
}

// TestLoader_reachesBehindTheLastPass: a message committed during a pass and due just before its
// horizon is found by the next pass.
func TestLoader_reachesBehindTheLastPass(t *testing.T) {
	j := &fakeJob{name: "j"}
	load(t, delayjob.LoaderOptions{}, jobs(j), func(q *memqueue.Queue, l *delayjob.Loader) {
		start := time.Now()
		<-l.Ready()
		j.has(msg("j", "just behind", start.Add(118*time.Second)), msg("j", "far behind", start.Add(110*time.Second)))
		time.Sleep(16 * time.Second)
		synctest.Wait()
		if s := left(t, q, "j"); s.Delayed != 1 {
			t.Errorf("%+v, want what is within the overlap", s)
		}
	})
}

// TestLoader_bringsTheNewVersion: the next pass adds the new version of a message that moved.
func TestLoader_bringsTheNewVersion(t *testing.T) {
	j := &fakeJob{name: "j"}
	load(t, delayjob.LoaderOptions{}, jobs(j), func(q *memqueue.Queue, l *delayjob.Loader) {
		due := time.Now().Add(25 * time.Second)
		j.has(msg("j", "1", due))
		l.Trigger()
		synctest.Wait()
		moved := msg("j", "1", due.Add(time.Second))
		moved.Version = 2
		j.has(moved)
		time.Sleep(16 * time.Second)
		synctest.Wait()
		if m, err := q.Get(t.Context(), "j:1"); err != nil || m.Version != 2 || !m.Due.Equal(moved.Due) {
			t.Errorf("%+v, %v, want version 2", m, err)
		}
	})
}

// TestLoader_addsAgainWhatIsOverdue: a message that the queue lost is added again when it is
// overdue.
func TestLoader_addsAgainWhatIsOverdue(t *testing.T) {
	j := &fakeJob{name: "j"}
	load(t, delayjob.LoaderOptions{}, jobs(j), func(q *memqueue.Queue, l *delayjob.Loader) {
		j.has(msg("j", "1", time.Now().Add(20*time.Second)))
		l.Trigger()
		synctest.Wait()
		if _, err := q.Remove(t.Context(), "j:1"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(25 * time.Second)
		synctest.Wait()
		if s := left(t, q, "j"); s.Ready != 0 {
			t.Errorf("%+v, want nothing: it is known, and not long overdue", s)
		}
		time.Sleep(40 * time.Second)
		synctest.Wait()
		if s := left(t, q, "j"); s.Ready != 1 {
			t.Errorf("after a full pass %+v, want it again", s)
		}
	})
}

// halfQueue has a second shard, which can be down.
type halfQueue struct {
	*memqueue.Queue
	away atomic.Bool
}

func (q *halfQueue) Shards() int { return 2 }

func (q *halfQueue) Add(ctx context.Context, ms ...delayjob.Message) ([]delayjob.AddResult, error) {
	results := make([]delayjob.AddResult, len(ms))
	var err error
	for i, m := range ms {
		if q.away.Load() && delayjob.ShardOf(m.Key, 2) == 1 {
			results[i], err = delayjob.NotStored, errors.New("the second shard is away")
			continue
		}
		one, e := q.Queue.Add(ctx, m)
		if e != nil {
			return nil, e
		}
		results[i] = one[0]
	}
	return results, err
}

// TestLoader_beginsAgainWhereAShardWasAway: the next pass reads again what a shard did not store.
// The other shards get their messages at once.
func TestLoader_beginsAgainWhereAShardWasAway(t *testing.T) {
	j := &fakeJob{name: "j"}
	synctest.Test(t, func(t *testing.T) {
		q := &halfQueue{Queue: memqueue.New()}
		defer q.Close()
		l := delayjob.NewLoader(q, jobs(j), delayjob.LoaderOptions{})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- l.Run(ctx) }()
		start := time.Now()
		<-l.Ready()
		var rows []delayjob.Message
		for i := range 20 { // in both shards
			rows = append(rows, msg("j", strconv.Itoa(i), start.Add(125*time.Second)))
		}
		j.has(rows...)
		q.away.Store(true)
		time.Sleep(16 * time.Second)
		synctest.Wait()
		if s := left(t, q, "j"); s.Delayed == 0 || s.Delayed == len(rows) {
			t.Errorf("%+v, want those of one shard", s)
		}
		q.away.Store(false)
		time.Sleep(15 * time.Second)
		synctest.Wait()
		if s := left(t, q, "j"); s.Delayed != len(rows) {
			t.Errorf("%+v, want all", s)
		}
		cancel()
		<-done
	})
}
