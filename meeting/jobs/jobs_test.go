package jobs_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	"punctual/delayjob"
	"punctual/meeting"
	"punctual/meeting/approval"
	"punctual/meeting/booking"
	"punctual/meeting/clock"
	"punctual/meeting/jobs"
	"punctual/meeting/waitlist"
)

var start = time.Date(2027, 2, 10, 9, 0, 0, 0, time.UTC)

// store answers from fields; what a job does not ask for panics.
type store struct {
	booking.Store
	due      []meeting.Due
	err      error
	outcomes []meeting.Outcome
	refs     []meeting.Ref
	at       time.Time
	meeting  *meeting.Meeting
	wait     *meeting.Wait
	awaited  []int64
}

func (s *store) Due(_ context.Context, _ string, _, _ time.Time, after meeting.DueCursor, limit int) ([]meeting.Due, error) {
	rest := slices.DeleteFunc(slices.Clone(s.due), func(d meeting.Due) bool { return d.Cursor.ID <= after.ID })
	return rest[:min(limit, len(rest))], s.err
}

func (s *store) Start(_ context.Context, refs []meeting.Ref, at time.Time) ([]meeting.Outcome, error) {
	s.refs, s.at = refs, at
	return s.outcomes, s.err
}

func (s *store) End(ctx context.Context, refs []meeting.Ref, at time.Time) ([]meeting.Outcome, error) {
	return s.Start(ctx, refs, at)
}

func (s *store) Meeting(context.Context, meeting.ID) (*meeting.Meeting, error) {
	return s.meeting, s.err
}

func (s *store) Rooms(context.Context, []int64) ([]*meeting.Room, error) { return nil, nil }

func (s *store) Outlines(context.Context, []meeting.ID) ([]*meeting.Meeting, error) {
	return []*meeting.Meeting{s.meeting}, s.err
}

func (s *store) RequestsAskedWith(context.Context, []meeting.ID) ([]*meeting.Meeting, error) {
	return nil, s.err
}

func (s *store) UpdateMeetings(_ context.Context, _ []meeting.ID, fn func(*meeting.Meeting) (bool, error)) ([]meeting.Notice, error) {
	m := new(*s.meeting)
	changed, err := fn(m)
	if changed {
		s.meeting = m
	}
	return m.TakeNotices(), err
}

func (s *store) Remind(_ context.Context, refs []meeting.ReminderRef, at time.Time, fn func(*meeting.Meeting, meeting.ReminderRef) []meeting.Notice) ([]meeting.Outcome, []meeting.Notice, error) {
	s.at = at
	var all []meeting.Notice
	for _, ref := range refs {
		s.refs = append(s.refs, ref.Ref)
		for _, n := range fn(s.meeting, ref) {
			n.ID = int64(len(all) + 1)
			all = append(all, n)
		}
	}
	return s.outcomes, all, s.err
}

// directory knows nobody.
type directory struct{}

func (directory) People(context.Context, []int64) ([]meeting.Person, error) { return nil, nil }
func (directory) Absences(context.Context, time.Time) ([]meeting.Absence, error) {
	return nil, nil
}
func (directory) Admins(context.Context) ([]meeting.Person, error) { return nil, nil }
func (directory) ByEmail(context.Context, []string) (map[string]meeting.Person, error) {
	return nil, nil
}

// queue notes what it was told.
type queue struct{ ids []string }

func (q *queue) Schedule(_ context.Context, ms ...delayjob.Message) {
	for _, m := range ms {
		q.ids = append(q.ids, m.ID())
	}
}
func (q *queue) Forget(context.Context, ...string) {}

var errDown = errors.New("connection refused")

func newJobs(s *store) (map[string]delayjob.DelayJob, *queue) {
	q := &queue{}
	now := func() time.Time { return start }
	svc := booking.NewService(s, directory{}, q, func() meeting.Settings { return meeting.Settings{} }, now, slog.New(slog.DiscardHandler))
	byName := map[string]delayjob.DelayJob{}
	for _, j := range jobs.New(jobs.Deps{
		Service: svc, Approval: approval.NewService(svc, nil), Waitlist: waitlist.NewService(svc, line{of: s}, directory{}, q), Store: s, Scheduler: q, Now: now, Down: func(err error) bool { return errors.Is(err, errDown) },
	}) {
		byName[j.Name()] = j
	}
	return byName, q
}

func message(job, key string, due time.Time) delayjob.Message {
	return delayjob.Message{Job: job, Key: key, Version: 3, Due: due}
}

// is reports whether two verdicts are of one kind and say the same.
func is(got, want error) bool {
	if got == nil || want == nil {
		return got == nil && want == nil
	}
	return got.Error() == want.Error()
}

func TestLoad_pages(t *testing.T) {
	s := &store{}
	for i := range 2500 {
		s.due = append(s.due, meeting.Due{Key: "7", Version: 2, Due: start, Cursor: meeting.DueCursor{Due: start, ID: int64(i + 1)}})
	}
	all, _ := newJobs(s)
	delete(all, meeting.JobWaitlistLook) // loads rooms: see TestLook
	for name, job := range all {
		n := 0
		for m, err := range job.Load(t.Context(), delayjob.Window{To: start}) {
			if err != nil || m.Job != name || m.Key != "7" || m.Version != 2 || !m.Due.Equal(start) {
				t.Fatalf("%+v, %v", m, err)
			}
			n++
		}
		if n != len(s.due) {
			t.Errorf("%s: %d messages", name, n)
		}
		for range job.Load(t.Context(), delayjob.Window{To: start}) {
			break // must not go on after that
		}
	}
}

func TestTransition(t *testing.T) {
	for _, name := range []string{meeting.JobStart, meeting.JobEnd} {
		t.Run(name, func(t *testing.T) {
			s := &store{
				outcomes: []meeting.Outcome{meeting.Applied, meeting.Stale, meeting.Done},
				meeting:  &meeting.Meeting{ID: 2, Status: meeting.Confirmed, ScheduleVersion: 4, Slot: clock.Slot{Start: start.Add(time.Hour), End: start.Add(2 * time.Hour)}},
			}
			all, q := newJobs(s)
			late := start.Add(3 * time.Millisecond) // the engine's clock is a little ahead
			errs, err := all[name].(delayjob.BatchJob).ExecuteBatch(t.Context(), []delayjob.Message{
				message(name, "1", start), message(name, "nonsense", start), message(name, "2", late), message(name, "3", start),
			})
			if err != nil {
				t.Fatal(err)
			}
			if want := []meeting.Ref{{ID: 1, Version: 3}, {ID: 2, Version: 3}, {ID: 3, Version: 3}}; !slices.Equal(s.refs, want) {
				t.Errorf("refs %v", s.refs)
			}
			if !s.at.Equal(late) {
				t.Errorf("applied at %v, before one of them was due", s.at)
			}
			if errs[0] != nil || errs[1] == nil || !is(errs[2], delayjob.Drop("the meeting has another schedule or state")) || errs[3] != nil {
				t.Errorf("verdicts %v", errs)
			}
			if want := []string{"meeting.start:2", "meeting.end:2"}; !slices.Equal(q.ids, want) {
				t.Errorf("an outdated message: told the queue %q, want %q", q.ids, want)
			}
		})
	}
}

func TestTransition_databaseDown(t *testing.T) {
	all, _ := newJobs(&store{err: errDown})
	err := all[meeting.JobStart].Execute(t.Context(), message(meeting.JobStart, "1", start))
	if !errors.Is(err, errDown) || errors.Is(errDown, err) { // wrapped into a verdict
		t.Errorf("got %v", err)
	}
	for _, err := range all[meeting.JobStart].Load(t.Context(), delayjob.Window{To: start}) {
		if !errors.Is(err, errDown) {
			t.Errorf("got %v", err)
		}
	}
}

func TestRemind(t *testing.T) {
	s := &store{
		outcomes: []meeting.Outcome{meeting.Applied},
		meeting: &meeting.Meeting{
			ID: 1, Slot: clock.Slot{Start: start.Add(15 * time.Minute), End: start.Add(time.Hour)},
			Organizer: meeting.Person{Email: "ann@example.org", Phone: "+49301"},
			Reminders: []meeting.Reminder{{Before: meeting.BeforeStart, Offset: 15 * time.Minute, Channels: []meeting.Channel{meeting.Email, meeting.SMS}}},
		},
	}
	all, q := newJobs(s)
	if err := all[meeting.JobRemind].Execute(t.Context(), message(meeting.JobRemind, "1:start:900", start)); err != nil {
		t.Fatal(err)
	}
	if want := []string{"notify.email:1", "notify.sms:2"}; !slices.Equal(q.ids, want) {
		t.Errorf("told the queue %q", q.ids)
	}
	for _, key := range []string{"1", "1:start", "1:start:soon", "x:start:900"} {
		if err := all[meeting.JobRemind].Execute(t.Context(), message(meeting.JobRemind, key, start)); err == nil {
			t.Errorf("key %q was taken for a reminder's", key)
		}
	}
}

func TestExpire(t *testing.T) {
	s := &store{meeting: &meeting.Meeting{
		ID: 1, Status: meeting.Pending, ScheduleVersion: 3, Slot: clock.Slot{Start: start.Add(time.Hour), End: start.Add(2 * time.Hour)},
		Approval: meeting.Approval{Required: true, Deadline: start, Requested: 3}, Request: &meeting.Request{Number: 3, Level: 1, Deadline: start}, Organizer: meeting.Person{Email: "ann@example.org"},
	}}
	all, _ := newJobs(s)
	for run := range 2 {
		if err := all[meeting.JobExpire].Execute(t.Context(), message(meeting.JobExpire, "1", start)); err != nil {
			t.Fatalf("run %d: %v", run, err)
		}
		if s.meeting.Status != meeting.Rejected || s.meeting.Approval.Reason != meeting.ReasonTimeout {
			t.Errorf("run %d: %+v", run, s.meeting)
		}
	}
	s.meeting.Approval.Requested = 4
	if err := all[meeting.JobExpire].Execute(t.Context(), message(meeting.JobExpire, "1", start)); !is(err, delayjob.Drop("the meeting has another schedule or state")) {
		t.Errorf("outdated: %v", err)
	}
}
