package jobs_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"punctual/delayjob"
	"punctual/meeting"
)

func (s *store) FreeAndAwaited(context.Context, time.Time) ([]int64, int64, error) {
	return s.awaited, 9, s.err
}

func (s *store) FirstInLine(_ context.Context, room int64, _ time.Time) ([]int64, error) {
	s.refs = append(s.refs, meeting.Ref{ID: room})
	return nil, s.err
}

func (s *store) UpdateWait(_ context.Context, _ int64, fn func(*meeting.Wait) (*meeting.Meeting, error)) (*meeting.Wait, *meeting.Meeting, []meeting.Notice, error) {
	w := new(*s.wait)
	m, err := fn(w)
	if err != nil {
		return nil, nil, nil, err
	}
	w.Version++
	s.wait = w
	return w, m, w.TakeNotices(), nil
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
	if err := job.Execute(t.Context(), message(job.Name(), "x", start)); err == nil {
		t.Error("a key that names no room")
	}
	s.err = errDown
	if err := job.Execute(t.Context(), message(job.Name(), "3", start)); !errors.Is(err, errDown) {
		t.Errorf("the database is down: %v", err)
	}
}

func TestWaitExpire(t *testing.T) {
	s := &store{wait: &meeting.Wait{
		ID: 1, State: meeting.Waiting, Version: 3, Expires: start, Wished: meeting.Wished{Slot: meeting.Slot{Start: start, End: start.Add(time.Hour)}},
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
