package gormstore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"punctual/meeting"
	"punctual/meeting/clock"
	"punctual/meeting/policy"
	"punctual/meeting/series"
)

// story is what the test books twice: the second time in rooms and for people of its own, so that
// a batch and single timers act on equal meetings.
type story struct {
	*line
	rooms []*meeting.Room
	by    []meeting.Actor
	boss  meeting.Actor
	ids   []meeting.ID
}

// Batches leave behind what the same timers leave behind one by one.
func TestTimers_batchesDoWhatSingleTimersDo(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		for round := range uint64(3) {
			seed := uint64(time.Now().UnixNano()) + round
			f.sameByBatch(newLine(f), seed)
			if t.Failed() {
				t.Fatalf("seed %d", seed)
			}
		}
	})
}

func (f *fixture) sameByBatch(l *line, seed uint64) {
	f.Helper()
	var stories [2]*story
	for i := range stories {
		stories[i] = &story{line: l}
		stories[i].tell(fmt.Sprint(seed, i), rand.New(rand.NewPCG(seed, 0)))
	}
	l.clock = now
	for _, step := range []struct {
		job string
		at  time.Time
		act func(context.Context, ...meeting.Ref) ([]meeting.Outcome, error)
	}{
		{meeting.JobApprovalRemind, at("08:20"), l.svc.approval.RemindApprovals},
		{meeting.JobEscalate, at("08:40"), l.svc.approval.EscalateApprovals},
		{meeting.JobExpire, at("09:00"), l.svc.ExpireApprovals},
		{meeting.JobNoShow, at("12:10"), l.svc.ReleaseNoShows},
	} {
		l.clock = step.at
		batched, single := stories[0].refs(step.job, seed), stories[1].refs(step.job, seed)
		if _, err := step.act(f.Context(), batched...); err != nil {
			f.Fatalf("%s: %v", step.job, err)
		}
		for _, ref := range single {
			if _, err := step.act(f.Context(), ref); err != nil {
				f.Fatalf("%s: %v", step.job, err)
			}
		}
		f.want(step.job, stories[0].read(), stories[1].read())
	}
	l.clock = now
}

// tell books requests, moves and series, and decides on some of them.
func (s *story) tell(name string, r *rand.Rand) {
	s.Helper()
	s.boss = s.user(name+"boss@example.org", meeting.Manager)
	s.by = []meeting.Actor{s.user(name+"ann@example.org", meeting.Member), s.user(name+"ben@example.org", meeting.Member)}
	for _, a := range append(s.by, s.boss) {
		s.knows(a)
	}
	s.settings = meeting.Settings{
		HoldPending: r.IntN(2) == 0, ApprovalTimeout: time.Hour, RemindBefore: 40 * time.Minute, EscalateAfter: 30 * time.Minute,
		Limits: policy.Limits{MaxOccurrences: 50},
	}
	for i := range 6 {
		s.rooms = append(s.rooms, s.room(fmt.Sprint(name, " room ", i), func(room *meeting.Room) {
			room.Approval = meeting.RoomApproval{Required: true, ApproverIDs: []int64{s.boss.ID}}
			if i%2 == 0 {
				room.Approval.OnTimeout = meeting.Confirmed
			}
			if i%3 == 0 {
				room.CheckIn = meeting.CheckIn{Required: true, Grace: 10 * time.Minute}
				room.Policy.Quota = &policy.Quota{Per: "day", Count: 1 + i}
			}
		}))
	}
	s.clock = now
	for range 25 {
		by, start := s.by[r.IntN(2)], at("12:00").Add(time.Duration(r.IntN(6))*30*time.Minute)
		if r.IntN(4) == 0 {
			by = s.boss // who needs nobody's agreement
		}
		fields := wish(clock.Slot{Start: start, End: start.Add(time.Hour)}, s.rooms[r.IntN(4)])
		fields.Attendees = &[]meeting.Person{{Email: "guest@example.org"}}
		action := r.IntN(8)
		m, err := s.svc.Book(s.Context(), by, fields)
		if s.refused(err) {
			continue // the other story is refused, too
		}
		s.ids = append(s.ids, m.ID)
		switch action {
		case 0:
			_, err := s.svc.approval.Approve(s.Context(), s.boss, m.ID, nil, "")
			s.refused(err)
		case 1:
			_, err := s.svc.Cancel(s.Context(), by, m.ID, nil, "")
			s.refused(err)
		case 2, 3: // a move that waits
			if !s.settings.HoldPending {
				continue // it would leave its room to another request in the same batch, one by one perhaps too late
			}
			if m, err = s.svc.approval.Approve(s.Context(), s.boss, m.ID, nil, ""); !s.refused(err) {
				// To a room without a quota: a request that is rejected in the same batch may leave it to this
				// one, while one by one the order decides.
				to := wish(clock.Slot{Start: start.Add(5 * time.Hour), End: start.Add(6 * time.Hour)}, s.rooms[1+r.IntN(2)])
				for _, by := range s.by {
					_, err := s.svc.Update(s.Context(), by, m.ID, nil, to)
					s.refused(err)
				}
			}
		}
	}
	for i, rule := range []string{"FREQ=DAILY;COUNT=3", "FREQ=WEEKLY;COUNT=4"} { // in rooms that nobody else wants
		fields := series.Fields{Fields: wish(slot("12:00", "13:00"), s.rooms[4+i]), Rule: &rule}
		fields.Timezone = new("UTC")
		result, err := s.svc.series.Book(s.Context(), s.by[i], fields)
		if err != nil {
			s.Fatal(err)
		}
		for _, m := range result.Meetings {
			s.ids = append(s.ids, m.ID)
		}
	}
	if r.IntN(2) == 0 {
		_, err := s.svc.approval.Reject(s.Context(), s.boss, s.ids[len(s.ids)-2], nil, "not that one")
		s.refused(err)
	}
}

// refused reports whether a rule refused something. Any other error, such as a busy database, ends the
// test: it would make the stories differ.
func (s *story) refused(err error) bool {
	s.Helper()
	var policy *meeting.PolicyError
	var conflict *meeting.ConflictError
	var state *meeting.StateError
	if err != nil && !errors.As(err, &policy) && !errors.As(err, &conflict) && !errors.As(err, &state) && !errors.Is(err, meeting.ErrForbidden) {
		s.Fatal(err)
	}
	return err != nil
}

// refs of all meetings for a job, in an order of their own, and some that are out of date.
func (s *story) refs(job string, seed uint64) []meeting.Ref {
	r := rand.New(rand.NewPCG(seed, 1))
	var refs []meeting.Ref
	for _, id := range s.ids {
		m := s.line.read(id)
		ref := meeting.Ref{ID: id, Version: m.Approval.Requested}
		if job == meeting.JobNoShow {
			ref.Version = m.ScheduleVersion
		}
		if r.IntN(10) == 0 {
			ref.Version--
		}
		refs = append(refs, ref)
	}
	r.Shuffle(len(refs), func(i, j int) { refs[i], refs[j] = refs[j], refs[i] })
	return refs
}

// read is what a reader sees of the meetings, what they hold, and what was told about them.
func (s *story) read() []string {
	s.Helper()
	seen := make([]string, len(s.ids))
	for i, id := range s.ids {
		m := s.line.read(id)
		line := fmt.Sprint(m.Status, " v", m.Version, " s", m.ScheduleVersion, " ", m.Slot, len(m.Occupied), m.EndedAt, m.Approval.Reason, m.Approval.DecidedAt)
		if m.Request != nil {
			line += fmt.Sprint(" waits: ", m.Request.Number, m.Request.RemindAt, m.Request.EscalateAt, m.Request.EscalatedAt)
		}
		entries, _, err := s.store.History(s.Context(), id, meeting.Page{Limit: 100})
		if err != nil {
			s.Fatal(err)
		}
		for _, e := range entries {
			line += fmt.Sprint("; ", e.At, e.Action, e.Actor.Kind, e.Reason, len(e.Changes))
		}
		var notified []string
		if err := s.db.Gorm.WithContext(s.Context()).Raw("SELECT kind FROM told WHERE meeting_id = ? AND NOT withdrawn", id).Scan(&notified).Error; err != nil {
			s.Fatal(err)
		}
		slices.Sort(notified)
		seen[i] = fmt.Sprint(line, "; told ", notified)
	}
	return seen
}
