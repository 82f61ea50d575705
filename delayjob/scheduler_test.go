package delayjob_test

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"punctual/delayjob"
	"punctual/delayjob/memqueue"
)

// While the queue hangs, only one caller waits. Messages scheduled meanwhile are added once it
// answers, except for removed ones.
func TestScheduler_holdsUpOneCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &remote{Queue: memqueue.New()}
		s := delayjob.NewScheduler(q, delayjob.SchedulerOptions{})
		defer s.Close()
		q.hangs.Store(true)
		begin := time.Now()
		for i := range 100 {
			s.Schedule(t.Context(), msg("j", strconv.Itoa(i), begin.Add(time.Minute)))
		}
		s.Forget(t.Context(), "j:0", "j:50")
		if took := time.Since(begin); took > 250*time.Millisecond {
			t.Errorf("the callers waited %v in all, want the budget of one", took)
		}
		time.Sleep(10 * time.Second)
		begin = time.Now()
		s.Schedule(t.Context(), msg("j", "late", begin.Add(time.Minute)))
		if took := time.Since(begin); took > 0 {
			t.Errorf("a later caller waited %v", took)
		}
		q.hangs.Store(false)
		time.Sleep(6 * time.Second) // the current try, and the next
		if st := left(t, q, "j"); st.Delayed != 99 {
			t.Errorf("%d were added, want 99", st.Delayed)
		}
		calls := q.calls.Load()
		s.Schedule(t.Context(), msg("j", "again", time.Now().Add(time.Minute)))
		s.Forget(t.Context(), "j:again")
		if n := q.calls.Load() - calls; n != 2 {
			t.Errorf("%d calls, want one to add and one to remove at once", n)
		}
	})
}

// A message that no queue would store does not count as an outage.
func TestScheduler_leavesOutWhatIsNotValid(t *testing.T) {
	q := memqueue.New()
	s := delayjob.NewScheduler(q, delayjob.SchedulerOptions{})
	defer s.Close()
	s.Schedule(t.Context(), msg("", "1", time.Unix(1, 0)), msg("j", "1", time.Unix(1, 0)))
	if st := left(t, q, "j"); st.Ready != 1 {
		t.Errorf("%+v, want the valid one", st)
	}
}

// A fallback queue gets all messages, and the unavailable one is not called.
func TestScheduler_addsToTheFallback(t *testing.T) {
	q, standIn := &remote{Queue: memqueue.New()}, memqueue.New()
	q.away.Store(true)
	s := delayjob.NewScheduler(q, delayjob.SchedulerOptions{Fallback: func() delayjob.Queue { return standIn }})
	defer s.Close()
	for i := range 3 {
		s.Schedule(t.Context(), msg("j", strconv.Itoa(i), time.Unix(1, 0)))
	}
	s.Forget(t.Context(), "j:1")
	if st := left(t, standIn, "j"); st.Ready != 2 || q.calls.Load() != 0 {
		t.Errorf("%+v and %d calls, want two messages and no call", st, q.calls.Load())
	}
}

func TestScheduler_closeEndsTheTries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &remote{Queue: memqueue.New()}
		q.away.Store(true)
		s := delayjob.NewScheduler(q, delayjob.SchedulerOptions{})
		s.Schedule(t.Context(), msg("j", "1", time.Now()))
		time.Sleep(5*time.Second + time.Millisecond) // not at the same time as a retry
		tries := q.calls.Load()
		s.Close()
		time.Sleep(time.Minute)
		if n := q.calls.Load(); tries < 5 || n != tries {
			t.Errorf("%d calls before Close and %d after, want some and none", tries, n-tries)
		}
	})
}
