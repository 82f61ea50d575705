package gormstore_test

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/clock"
	"punctual/meeting/finding"
	"punctual/meeting/places"
	"punctual/meeting/policy"
	"punctual/meeting/report"
)

// Whichever timers run late or not at all, every reader and every writer has the same view of an
// instant: what a meeting's status is, and whether it holds its room.
func TestInstant_oneView(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		l := newLine(f)
		site := &meeting.Site{Name: "Site", CreatedAt: now, UpdatedAt: now}
		if err := f.store.CreateSite(t.Context(), site); err != nil {
			t.Fatal(err)
		}
		over, rounds := time.Now().Add(time.Second), 0
		rapid.Check(t, func(rt *rapid.T) {
			if time.Now().After(over) && rounds > 0 {
				return // enough was seen; how much depends on the machine
			}
			rounds++
			s := newTale(rt, l, site.ID)
			for range rapid.IntRange(2, 5).Draw(rt, "meetings") {
				s.book()
			}
			for range rapid.IntRange(1, 3).Draw(rt, "visits") {
				l.clock = l.clock.Add(time.Duration(rapid.SampledFrom([]int{7, 20, 60, 100}).Draw(rt, "minutes")) * time.Minute)
				if rapid.Bool().Draw(rt, "check_in") {
					s.checkIn()
				}
				if rapid.Bool().Draw(rt, "closes_or_opens") {
					s.closeOrOpen()
				}
				if rapid.Bool().Draw(rt, "a_timer_runs") {
					s.timer(rapid.SampledFrom([]string{meeting.JobExpire, meeting.JobNoShow, meeting.JobStart, meeting.JobEnd}).Draw(rt, "job"))
				}
				s.compare()
				s.book()
			}
			for _, job := range []string{meeting.JobExpire, meeting.JobStart, meeting.JobNoShow, meeting.JobEnd} {
				s.timer(job)
			}
			s.compare()
			s.once()
		})
		t.Logf("%d rounds", rounds)
	})
}

// tale is one room, and what the reference knows of each meeting in it.
type tale struct {
	*line
	t        *rapid.T
	room     *meeting.Room
	approves bool
	quota    int
	closed   bool // out of use, or by a blackout
	blackout *policy.Blackout
	all      []*expected
}

type expected struct {
	id       meeting.ID
	by       int64
	slot     clock.Slot
	waits    bool // for a decision
	holds    bool // also while it waits
	rejected bool // by the timer, when its room was taken
	closed   bool // its room, at the deadline as far as that has not come
	deadline time.Time
	grace    time.Time // zero: nobody need check in
	came     bool
}

func newTale(t *rapid.T, l *line, site int64) *tale {
	s := &tale{line: l, t: t, quota: rapid.IntRange(1, 4).Draw(t, "quota")}
	l.clock = now
	l.settings.HoldPending = rapid.Bool().Draw(t, "hold")
	l.settings.ApprovalTimeout = time.Duration(rapid.SampledFrom([]int{10, 90}).Draw(t, "timeout")) * time.Minute
	s.approves = rapid.Bool().Draw(t, "approves")
	required, checkIn := rapid.Bool().Draw(t, "approval"), rapid.Bool().Draw(t, "check_in")
	s.room = l.room("Room", func(r *meeting.Room) {
		r.SiteID, r.Approval.Required = site, required
		if s.approves {
			r.Approval.OnTimeout = meeting.Confirmed
		}
		r.CheckIn = meeting.CheckIn{Required: checkIn, Grace: 10 * time.Minute, Opens: 5 * time.Minute}
		r.Policy.Quota = &policy.Quota{Per: policy.PerMonth, Count: s.quota}
	})
	return s
}

// status is the reference.
func (s *tale) status(e *expected) meeting.Status {
	overdue := e.waits && !s.clock.Before(e.deadline)
	switch {
	case e.rejected, overdue && (!s.approves || e.closed):
		return meeting.Rejected
	case e.waits && !(overdue && e.holds): // only the attempt shows whether a room is free and open
		return meeting.Pending
	case !e.came && !e.grace.IsZero() && !s.clock.Before(e.grace):
		return meeting.Released
	case !s.clock.Before(e.slot.End):
		return meeting.Ended
	case !s.clock.Before(e.slot.Start):
		return meeting.InProgress
	default:
		return meeting.Confirmed
	}
}

// held are the slots that meetings hold, of one person or of all.
func (s *tale) held(by int64, within clock.Slot) []clock.Slot {
	var held []clock.Slot
	for _, e := range s.all {
		if st := s.status(e); st != meeting.Rejected && st != meeting.Released && e.holds && (by == 0 || by == e.by) && e.slot.Overlaps(within) {
			held = append(held, e.slot)
		}
	}
	slices.SortFunc(held, func(a, b clock.Slot) int { return a.Start.Compare(b.Start) })
	return held
}

func (s *tale) drawn() clock.Slot {
	start := s.clock.Truncate(5 * time.Minute).Add(time.Duration(rapid.IntRange(1, 12).Draw(s.t, "start")) * 5 * time.Minute)
	return clock.Slot{Start: start, End: start.Add(time.Duration(rapid.SampledFrom([]int{10, 20, 45, 90}).Draw(s.t, "length")) * time.Minute)}
}

var month = clock.Slot{Start: now.AddDate(0, -1, 0), End: now.AddDate(0, 1, 0)}

// closeOrOpen takes the room out of use for a while, or closes it by a blackout of the whole day.
func (s *tale) closeOrOpen() {
	s.closed = !s.closed
	var err error
	day := places.BlackoutFields{RoomID: &s.room.ID, Start: new(clock.At(now)), End: new(clock.At(now.AddDate(0, 0, 1)))}
	switch {
	case s.closed && rapid.Bool().Draw(s.t, "blackout"):
		s.blackout, _, err = s.svc.places.CreateBlackout(s.Context(), s.admin, day)
	case s.closed:
		_, err = s.svc.places.UpdateRoom(s.Context(), s.admin, s.room.ID, nil, places.RoomFields{Active: new(false)})
	case s.blackout != nil && rapid.Bool().Draw(s.t, "moves"):
		day.Start, day.End = new(clock.At(now.AddDate(0, 0, 9))), new(clock.At(now.AddDate(0, 0, 10)))
		_, _, err = s.svc.places.UpdateBlackout(s.Context(), s.admin, s.blackout.ID, nil, day)
		s.blackout = nil
	case s.blackout != nil:
		err = s.svc.places.DeleteBlackout(s.Context(), s.admin, s.blackout.ID, nil)
		s.blackout = nil
	default:
		_, err = s.svc.places.UpdateRoom(s.Context(), s.admin, s.room.ID, nil, places.RoomFields{Active: new(true)})
	}
	if err != nil {
		s.t.Fatal(err)
	}
	for _, e := range s.all {
		if s.clock.Before(e.deadline) {
			e.closed = s.closed
		}
	}
}

func (s *tale) book() {
	if s.closed {
		return
	}
	slot, by := s.drawn(), rapid.SampledFrom([]meeting.Actor{s.anna, s.ben}).Draw(s.t, "by")
	free, spent := len(s.held(0, slot)) == 0, len(s.held(by.ID, month)) >= s.quota
	holds := !s.room.Approval.Required || s.settings.HoldPending
	found, _, err := s.finding().Availability(s.Context(), by, finding.AvailabilityQuery{Need: finding.Need{RoomIDs: []int64{s.room.ID}}, Slot: slot}, meeting.Page{})
	if err != nil {
		s.t.Fatal(err)
	}
	if notified, want := len(found[0].Reasons) == 0, free && !(spent && holds); notified != want {
		s.t.Fatalf("available %v, want %v: %+v", notified, want, found[0].Reasons)
	}
	m, err := s.svc.Book(s.Context(), by, fieldsOf(s.room, slot, 0))
	_, taken := errors.AsType[*meeting.ConflictError](err)
	_, refused := errors.AsType[*meeting.PolicyError](err)
	switch {
	case spent && holds:
		if !refused {
			s.t.Fatalf("over the quota: %v", err)
		}
	case !free:
		if !taken {
			s.t.Fatalf("%v is taken: %v", slot, err)
		}
	case err != nil:
		s.t.Fatalf("%v is free: %v", slot, err)
	default:
		s.all = append(s.all, &expected{
			id: m.ID, by: by.ID, slot: slot, waits: m.Status == meeting.Pending, holds: holds, deadline: m.Approval.Deadline, grace: m.CheckIn.Until,
		})
	}
}

func (s *tale) checkIn() {
	if len(s.all) == 0 {
		return
	}
	e := rapid.SampledFrom(s.all).Draw(s.t, "meeting")
	status := s.status(e)
	may := status == meeting.InProgress || status == meeting.Confirmed && !s.clock.Before(e.slot.Start.Add(-5*time.Minute))
	_, err := s.svc.CheckIn(s.Context(), s.admin, e.id, nil)
	state, refused := errors.AsType[*meeting.StateError](err)
	switch {
	case may && err != nil:
		s.t.Fatalf("check in to %s: %v", status, err)
	case !may && (!refused || state.State != status):
		s.t.Fatalf("check in to %s: %v", status, err)
	case may:
		e.came = true
	}
	for _, try := range []func() error{
		func() error { _, err := s.svc.End(s.Context(), s.admin, e.id, nil); return err },
		func() error { _, err := s.svc.Extend(s.Context(), s.admin, e.id, nil, booking.Fields{}); return err },
		func() error { _, err := s.svc.Cancel(s.Context(), s.admin, e.id, nil, ""); return err },
		func() error { _, err := s.svc.approval.Approve(s.Context(), s.admin, e.id, nil, ""); return err },
	} {
		if !status.Over() {
			break // they would change it
		}
		if state, refused := errors.AsType[*meeting.StateError](try()); !refused || state.State != status {
			s.t.Fatalf("%s is said to be %v", status, state)
		}
	}
}

func (s *tale) expected(id meeting.ID) *expected {
	return s.all[slices.IndexFunc(s.all, func(e *expected) bool { return e.id == id })]
}

// timer runs what is due of one job, as its handler does.
func (s *tale) timer(job string) {
	var refs []meeting.Ref
	for _, d := range s.pages(job, time.Time{}, s.clock, 100) {
		id, err := strconv.ParseInt(d.Key, 10, 64)
		if err != nil {
			s.t.Fatal(err)
		}
		if slices.ContainsFunc(s.all, func(e *expected) bool { return e.id == id }) {
			refs = append(refs, meeting.Ref{ID: id, Version: d.Version})
		}
	}
	for _, ref := range refs {
		e := s.expected(ref.ID)
		run := map[string]func() ([]meeting.Outcome, error){
			meeting.JobExpire: func() ([]meeting.Outcome, error) { return s.svc.ExpireApprovals(s.Context(), ref) },
			meeting.JobNoShow: func() ([]meeting.Outcome, error) { return s.svc.ReleaseNoShows(s.Context(), ref) },
			meeting.JobStart:  func() ([]meeting.Outcome, error) { return s.store.Start(s.Context(), []meeting.Ref{ref}, s.clock) },
			meeting.JobEnd:    func() ([]meeting.Outcome, error) { return s.store.End(s.Context(), []meeting.Ref{ref}, s.clock) },
		}[job]
		if job == meeting.JobExpire && s.approves && !e.holds { // only the attempt tells
			free := len(s.held(0, e.slot)) == 0 && len(s.held(e.by, month)) < s.quota && !s.closed && !e.closed
			e.waits, e.holds, e.rejected = false, free, !free
		}
		if _, err := run(); err != nil {
			s.t.Fatal(err)
		}
	}
}

// compare asks all readers.
func (s *tale) compare() {
	day := clock.Slot{Start: now.Add(-time.Hour), End: now.Add(15 * time.Hour)}
	want := map[meeting.Status][]meeting.ID{}
	ms, _, err := s.svc.Meetings(s.Context(), s.admin, meeting.MeetingQuery{RoomID: s.room.ID}, meeting.Page{Limit: 100})
	if err != nil || len(ms) != len(s.all) {
		s.t.Fatalf("%d meetings, want %d: %v", len(ms), len(s.all), err)
	}
	for _, m := range ms {
		e := s.expected(m.ID)
		status := s.status(e)
		want[status] = append(want[status], e.id)
		if m.Status != status {
			s.t.Fatalf("meeting %d is %s, want %s", e.id, m.Status, status)
		}
	}
	status := rapid.SampledFrom(meeting.Statuses).Draw(s.t, "status")
	ms, _, err = s.svc.Meetings(s.Context(), s.admin, meeting.MeetingQuery{RoomID: s.room.ID, Statuses: []meeting.Status{status}}, meeting.Page{Limit: 100})
	s.same("listed as "+string(status), idsOf(ms), sorted(want[status]), err)

	held := s.held(0, day)

	busy, err := s.svc.FreeBusy(s.Context(), s.admin, s.room.ID, day)
	var slots []clock.Slot
	for _, b := range busy {
		if s.blackout == nil || b.Slot != s.blackout.Slot {
			slots = append(slots, b.Slot)
		}
	}
	s.same("free-busy", slots, held, err)

	s.same("of all rooms", s.allBusy(day, s.clock)[s.room.ID], held, nil)

	span := clock.Slot{Start: s.clock.Add(-time.Duration(rapid.IntRange(0, 24).Draw(s.t, "from")) * 5 * time.Minute), End: s.drawn().End}
	s.same("use of the site", s.use(report.Query{Span: span, SiteID: s.room.SiteID}), s.use(report.Query{Span: span}), nil)

	if s.closed {
		return // the other views leave out rooms that are not in use, and show blackouts
	}

	days, _, err := s.finding().RoomDays(s.Context(), s.admin, meeting.RoomQuery{}, s.room.ID, now, time.Time{}, meeting.Page{})
	var sum time.Duration
	for _, h := range held {
		sum += h.Duration()
	}
	s.same("occupancy", days[0].Days[0].Busy, sum, err)

	drawn := sorted(slices.Concat(want[meeting.Pending], want[meeting.Confirmed], want[meeting.InProgress], want[meeting.Ended]))
	grid, _, err := s.finding().Grid(s.Context(), s.admin, finding.GridQuery{Span: day, RoomIDs: []int64{s.room.ID}}, meeting.Page{Limit: 10})
	s.same("grid", idsOf(grid.Meetings), drawn, err)

	door, err := s.svc.door.Door(s.Context(), s.admin, s.room.ID)
	var shown []clock.Slot
	for _, m := range door.Today {
		shown = append(shown, m.Slot)
	}
	s.same("door", shown, held, err)

	reports := report.NewService(s.store, nil, func() string { return "UTC" }, func() time.Time { return s.clock })
	use, _, _, err := reports.Utilization(s.Context(), s.admin, report.Query{Span: day, Group: report.ByRoom})
	for _, u := range use {
		if u.ID == s.room.ID {
			booked := len(want[meeting.Confirmed]) + len(want[meeting.InProgress]) + len(want[meeting.Ended]) + len(want[meeting.Released])
			s.same("report", []int{u.Meetings, u.NoShows, u.Rejected}, []int{booked, len(want[meeting.Released]), len(want[meeting.Rejected])}, err)
		}
	}
}

// use of the room. A report of a site finds meetings by its rooms, one of all sites by start.
func (s *tale) use(q report.Query) report.RoomUse {
	s.Helper()
	q.Group = report.ByRoom
	use, err := s.store.RoomUse(s.Context(), q, s.clock)
	i := slices.IndexFunc(use, func(u report.RoomUse) bool { return u.ID == s.room.ID })
	if err != nil || i < 0 {
		s.same("error", err, nil, err)
		return report.RoomUse{}
	}
	return use[i]
}

func (s *tale) same(what string, got, want any, err error) {
	s.Helper()
	if diff := cmp.Diff(fmt.Sprint(want), fmt.Sprint(got)); err != nil || diff != "" {
		s.t.Fatalf("%s at %s: %v (-want +got)\n%s", what, s.clock.Format(time.TimeOnly), err, diff)
	}
}

// once wants each transition recorded and notified once, whoever made it.
func (s *tale) once() {
	for _, e := range s.all {
		actions := s.actions(e.id)
		slices.Sort(actions)
		if len(slices.Compact(slices.Clone(actions))) != len(actions) {
			s.t.Fatalf("history of %s: %v", s.status(e), actions)
		}
		if last := s.status(e); (last == meeting.Rejected || last == meeting.Released) && !slices.Contains(actions, meeting.Action(last)) {
			s.t.Fatalf("history of %s: %v", last, actions)
		}
	}
}

func idsOf(ms []*meeting.Meeting) []meeting.ID {
	var ids []meeting.ID
	for _, m := range ms {
		ids = append(ids, m.ID)
	}
	return sorted(ids)
}

func sorted(ids []meeting.ID) []meeting.ID { slices.Sort(ids); return ids }
