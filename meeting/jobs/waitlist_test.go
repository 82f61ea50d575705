package jobs_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"punctual/delayjob"
	"punctual/meeting"
	"punctual/meeting/clock"
	"punctual/meeting/waitlist"
)

func (s *store) FreeAndAwaited(context.Context, time.Time) ([]int64, int64, error) {
	return s.awaited, 9, s.err
}

// line is the part of the waiting list that jobs look at; what they do not ask for panics.
type line struct {
	waitlist.Store
	of *store
}

func (l line) FirstInLine(_ context.Context, rooms []int64, _ time.Time, _ int64, _ int) ([]*meeting.Wait, error) {
	for _, room := range rooms {
		l.of.refs = append(l.of.refs, meeting.Ref{ID: room})
	}
	return nil, l.of.err
}

func (s *store) UpdateWaits(_ context.Context, _ []int64, fn func(*meeting.Wait) (*meeting.Meeting, bool, error)) ([]meeting.Notice, error) {
	w := new(*s.wait)
	_, changed, err := fn(w)
	if err != nil || !changed {
		return nil, err
	}
	w.Version++
	s.wait = w
	return w.TakeNotices(), nil
}

func TestLook(t *testing.T) {
	s := &store{awaited: []int64{3, 5}}
	all, _ := newJobs(s)
	job := all[meeting.JobWaitlistLook]
	var ids []string
	for m, err := range job.Load(t.Context(), delayjob.Window{To: start.Add(time.Hour)}) {
		if err != nil || m.Version != 9 || !m.Due.Equal(start) {
			t.Errorf("%+v, %v", m, err)
		}
		ids = append(ids, m.ID())
	}
	if want := []string{"waitlist.look:3", "waitlist.look:5"}; !slices.Equal(ids, want) {
		t.Errorf("a full pass loads %q, want %q", ids, want)
	}
	for m := range job.Load(t.Context(), delayjob.Window{From: start, To: start.Add(time.Hour)}) {
		t.Errorf("a pass that is not full loads %v", m)
	}
	if err := job.Execute(t.Context(), message(job.Name(), "3", start)); err != nil || !slices.Equal(s.refs, []meeting.Ref{{ID: 3}}) {
		t.Errorf("looked at %v, %v", s.refs, err)
	}
	errs, err := job.(delayjob.BatchJob).ExecuteBatch(t.Context(), []delayjob.Message{
		message(job.Name(), "5", start), message(job.Name(), "x", start), message(job.Name(), "6", start),
	})
	if err != nil || errs[0] != nil || errs[1] == nil || errs[2] != nil || !slices.Equal(s.refs[1:], []meeting.Ref{{ID: 5}, {ID: 6}}) {
		t.Errorf("looked at %v, %v, %v; x names no room", s.refs, errs, err)
	}
	s.err = errDown
	if err := job.Execute(t.Context(), message(job.Name(), "3", start)); !errors.Is(err, errDown) {
		t.Errorf("the database is down: %v", err)
	}
}

func TestWaitExpire(t *testing.T) {
	s := &store{wait: &meeting.Wait{
		ID: 1, State: meeting.Waiting, Version: 3, Expires: start, Wished: meeting.Wished{Slot: clock.Slot{Start: start, End: start.Add(time.Hour)}},
		Person: meeting.Person{Email: "ann@example.org"},
	}}
	all, _ := newJobs(s)
	job := all[meeting.JobWaitlistExpire]
	s.wait.Version = 4
	if err := job.Execute(t.Context(), message(job.Name(), "1", start)); !is(err, delayjob.Drop("the wait has another state")) || s.wait.State != meeting.Waiting {
		t.Errorf("outdated: %v, %+v", err, s.wait)
	}
	s.wait.Version = 3
	for run := range 2 {
		if err := job.Execute(t.Context(), message(job.Name(), "1", start)); err != nil || s.wait.State != meeting.WaitExpired || s.wait.Reason != meeting.ReasonStarted {
			t.Errorf("run %d: %v, %+v", run, err, s.wait)
		}
	}
}
