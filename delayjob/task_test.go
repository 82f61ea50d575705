package delayjob_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"punctual/delayjob"
	"punctual/delayjob/memqueue"
)

type mail struct {
	To      string `json:"to"`
	Attempt int    `json:"attempt"`
}

func TestTask_payloads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := memqueue.New()
		defer q.Close()
		var got []mail
		var at []time.Time
		task := delayjob.NewTask(q, "mail", func(ctx context.Context, m mail) error {
			got, at = append(got, m), append(at, time.Now())
			if msg, _ := delayjob.MessageFrom(ctx); msg.Attempt == 1 {
				return errors.New("not yet")
			}
			return nil
		}, delayjob.Options{Backoff: delayjob.Backoff{Base: 1, Cap: 1}})
		stop := begin(t, q, task)
		defer stop()
		due := time.Now().Add(time.Hour)
		if res, err := task.Schedule(t.Context(), due, mail{"ada@example.org", 7}); res != delayjob.Added || err != nil {
			t.Fatalf("Schedule: %v, %v", res, err)
		}
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		if len(got) != 2 || got[0] != (mail{"ada@example.org", 7}) || got[1] != got[0] || !at[0].Equal(due) {
			t.Errorf("ran with %v at %v, want the payload twice from %v", got, at, due)
		}
		if _, err := task.Schedule(t.Context(), time.Time{}, mail{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(got) != 4 {
			t.Errorf("ran %d times, want 4: the zero time means now", len(got))
		}
	})
}

func TestTask_whatCannotBeDecodedIsDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := memqueue.New()
		defer q.Close()
		ran := 0
		task := delayjob.NewTask(q, "mail", func(context.Context, mail) error { ran++; return nil }, delayjob.Options{})
		failures := &sink{}
		bodies := []string{"", "nonsense", `{"to":1}`, `{"to":"a"} x`}
		for i, body := range bodies {
			m := msg("mail", string(rune('a'+i)), time.Now())
			m.Body = []byte(body)
			add(t, q, m)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- delayjob.Run(ctx, delayjob.RunOptions{Queue: q, Jobs: jobs(task), Failures: failures}) }()
		synctest.Wait()
		cancel()
		<-done
		if ran != 0 || len(failures.dead) != len(bodies) {
			t.Fatalf("ran %d times, %d dead letters, want all %d dead at once", ran, len(failures.dead), len(bodies))
		}
		for _, f := range failures.dead {
			if f.Attempt != 1 || !strings.Contains(f.Error, "body of "+f.ID()+": must be JSON of a delayjob_test.mail") {
				t.Errorf("dead after %d attempts: %s", f.Attempt, f.Error)
			}
		}
		bad := delayjob.NewTask(q, "bad", func(context.Context, chan int) error { return nil }, delayjob.Options{})
		if _, err := bad.Schedule(t.Context(), time.Time{}, nil); err == nil || !strings.Contains(err.Error(), "payload of bad: a chan int cannot be stored") {
			t.Errorf("error %v, want one about the payload", err)
		}
	})
}

func TestTask_unique(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := memqueue.New()
		defer q.Close()
		var mu sync.Mutex
		var got []int
		task := delayjob.NewTask(q, "n", func(_ context.Context, n int) error {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, n)
			return nil
		}, delayjob.Options{})
		soon, later := time.Now().Add(time.Minute), time.Now().Add(time.Hour)
		schedule := func(want delayjob.AddResult, due time.Time, n int, opts ...delayjob.ScheduleOption) {
			t.Helper()
			if res, err := task.Schedule(t.Context(), due, n, opts...); res != want || err != nil {
				t.Errorf("Schedule %d: %v, %v, want %v", n, res, err, want)
			}
		}
		key, version := delayjob.WithKey, delayjob.WithVersion
		schedule(delayjob.Added, soon, 1)
		schedule(delayjob.Added, soon, 1) // not unique
		schedule(delayjob.Added, soon, 2, key("a"))
		schedule(delayjob.Unchanged, later, 3, key("a"))
		schedule(delayjob.Added, soon, 4, delayjob.WithPayloadKey())
		schedule(delayjob.Unchanged, later, 4, delayjob.WithPayloadKey())
		schedule(delayjob.Added, soon, 5, delayjob.WithPayloadKey())
		schedule(delayjob.Added, later, 6, key("b"), version(2))
		schedule(delayjob.Replaced, soon, 7, key("b"), version(3))
		schedule(delayjob.Outdated, soon, 8, key("b"), version(1))
		schedule(delayjob.Added, soon, 9, key("c"))
		time.Sleep(time.Millisecond)
		schedule(delayjob.Replaced, later, 10, key("c"), delayjob.WithReplace()) // debounced
		schedule(delayjob.Added, soon, 11, key("a"), delayjob.WithEntity("e"))
		schedule(delayjob.Added, soon, 12, key("gone"))
		if states, err := task.Cancel(t.Context(), "gone", "absent"); err != nil || states[0] != delayjob.StateDelayed || states[1] != delayjob.StateAbsent {
			t.Errorf("Cancel: %v, %v", states, err)
		}

		stop := begin(t, q, task)
		defer stop()
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		sum := 0
		for _, n := range got {
			sum += n
		}
		if len(got) != 7 || sum != 1+1+2+4+5+7+11 {
			t.Errorf("ran %v, want 1, 1, 2, 4, 5, 7 and 11", got)
		}
		schedule(delayjob.Added, soon, 13, key("a")) // free again
	})
}

func TestTask_scheduleFaults(t *testing.T) {
	q := memqueue.New()
	defer q.Close()
	task := delayjob.NewTask(q, "n", func(context.Context, int) error { return nil }, delayjob.Options{})
	for want, opts := range map[string][]delayjob.ScheduleOption{
		"WithKey: must not be empty":            {delayjob.WithKey("")},
		`WithEntity: must not contain ':'`:      {delayjob.WithEntity("a:b")},
		"must not be combined with WithKey":     {delayjob.WithKey("a"), delayjob.WithPayloadKey()},
		"must not be combined with WithVersion": {delayjob.WithKey("a"), delayjob.WithVersion(1), delayjob.WithReplace()},
		"need WithKey or WithPayloadKey":        {delayjob.WithReplace()},
		"version of n:a: must not be negative":  {delayjob.WithKey("a"), delayjob.WithVersion(-1)},
	} {
		if res, err := task.Schedule(t.Context(), time.Time{}, 1, opts...); res != delayjob.NotStored || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Schedule: %v, %v, want an error that says %q", res, err, want)
		}
	}
}

func TestOptions_perEntity(t *testing.T) {
	for _, limit := range []int{1, 2, 3} {
		synctest.Test(t, func(t *testing.T) {
			q := memqueue.New()
			defer q.Close()
			var mu sync.Mutex
			running, most, ended := map[string]int{}, map[string]int{}, map[string][]time.Duration{}
			started := time.Now()
			task := delayjob.NewTask(q, "t", func(ctx context.Context, entity string) error {
				mu.Lock()
				running[entity]++
				most[entity] = max(most[entity], running[entity])
				mu.Unlock()
				time.Sleep(time.Second)
				mu.Lock()
				defer mu.Unlock()
				running[entity]--
				ended[entity] = append(ended[entity], time.Since(started))
				if m, _ := delayjob.MessageFrom(ctx); m.Attempt != 1 {
					t.Errorf("%s was charged %d attempts", m.ID(), m.Attempt)
				}
				return nil
			}, delayjob.Options{Concurrency: 4, PerEntity: limit})
			for range 20 {
				if _, err := task.Schedule(t.Context(), time.Time{}, "busy", delayjob.WithEntity("busy")); err != nil {
					t.Fatal(err)
				}
			}
			for _, e := range []string{"a", "b"} {
				if _, err := task.Schedule(t.Context(), started.Add(time.Millisecond), e, delayjob.WithEntity(e)); err != nil {
					t.Fatal(err)
				}
			}
			stop := begin(t, q, task)
			time.Sleep(500 * time.Millisecond)
			synctest.Wait()
			if s := left(t, q, "t"); s.Reserved > 2*limit+3 {
				t.Errorf("%d messages are kept from other processes, want those that run, as many parked, and one for the next handler", s.Reserved)
			}
			time.Sleep(time.Minute)
			stop()
			if most["busy"] != limit {
				t.Errorf("%d of the busy entity ran at once, want %d", most["busy"], limit)
			}
			if n := len(ended["busy"]); n != 20 {
				t.Errorf("%d of the busy entity ran, want 20", n)
			}
			for _, e := range []string{"a", "b"} {
				if len(ended[e]) != 1 || ended[e][0] > 2500*time.Millisecond {
					t.Errorf("%s ended at %v, although the busy entity must not delay it", e, ended[e])
				}
			}
			if last, want := ended["busy"][19], time.Duration((19+limit)/limit)*time.Second; last > want+100*time.Millisecond {
				t.Errorf("with a limit of %d, the last one ended after %v, want %v: each begins when another ends", limit, last, want)
			}
			if s := left(t, q, "t"); s.Messages() != 0 {
				t.Errorf("the queue still holds %+v", s)
			}
		})
	}
}

// What waits for others of its entity returns to the queue at once when the consumer stops.
func TestOptions_perEntityStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := memqueue.New()
		defer q.Close()
		task := delayjob.NewTask(q, "t", func(context.Context, int) error { time.Sleep(10 * time.Second); return nil }, delayjob.Options{PerEntity: 1})
		for i := range 3 {
			if _, err := task.Schedule(t.Context(), time.Time{}, i, delayjob.WithEntity("e")); err != nil {
				t.Fatal(err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- delayjob.Run(ctx, delayjob.RunOptions{Queue: q, Jobs: jobs(task)}) }()
		synctest.Wait()
		cancel()
		synctest.Wait()
		if s := left(t, q, "t"); s.Reserved != 1 || s.Delayed+s.Ready != 2 {
			t.Errorf("while one runs, the queue holds %+v, want the others returned", s)
		}
		<-done
		if s := left(t, q, "t"); s.Messages() != 2 {
			t.Errorf("the queue holds %+v, want 2", s)
		}
	})
}
