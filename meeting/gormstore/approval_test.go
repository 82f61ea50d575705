package gormstore_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"punctual/app/database"
	"punctual/delayjob"
	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/clock"
	"punctual/meeting/gormstore"
	"punctual/meeting/policy"
	"punctual/meeting/series"
	"punctual/migrations"
	"punctual/tests/testenv/testdb"
)

func TestApproval_roundTrip(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		hall := f.room("Hall", func(r *meeting.Room) {
			r.Approval = meeting.RoomApproval{
				Required: true, ApproverIDs: []int64{f.manager.ID, f.admin.ID}, SecondIDs: []int64{f.admin.ID}, EscalateTo: []int64{f.manager.ID},
				OnTimeout: meeting.Confirmed, EscalateAfter: time.Hour,
			}
		})
		rooms, err := f.store.Rooms(t.Context(), []int64{hall.ID})
		if err != nil {
			t.Fatal(err)
		}
		f.want("the room's rules", rooms[0].Approval, hall.Approval)

		reminded := approvalTerms
		reminded.RemindBefore = 10 * time.Minute
		m := meeting.Book(terms(slot("09:30", "10:30"), hall), meeting.PlanApproval(reminded, f.anna, hall), f.anna, now)
		if err := f.store.CreateMeeting(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		f.want("asked", f.read(m.ID).Approval, m.Approval)
		f.want("what waits", f.read(m.ID).Request, m.Request)
		if m.Request == nil || m.Request.Number != 1 || m.Approval.OnTimeout != meeting.Confirmed {
			t.Fatalf("%+v", m.Request)
		}
		for job, due := range map[string]string{meeting.JobExpire: "09:30", meeting.JobApprovalRemind: "09:20", meeting.JobEscalate: "09:00"} {
			f.want(job, keys(f.pages(job, time.Time{}, at("23:00"), 10)), []string{"1 v1 " + due})
		}

		version := m.Version
		m, _ = f.change(m.ID, func(m *meeting.Meeting) error {
			m.Remind(nil, meeting.Timer(meeting.JobApprovalRemind), at("09:20"))
			return nil
		})
		f.want("reminded, which no reader sees", m.Version, version)
		f.want("reminded", f.read(m.ID), m)
		f.want("nobody is reminded again", keys(f.pages(meeting.JobApprovalRemind, time.Time{}, at("23:00"), 10)), []string{})

		m, _ = f.change(m.ID, func(m *meeting.Meeting) error {
			return m.Approve(plan(meeting.Actor{}, hall), "fine", f.manager, at("08:10"))
		})
		f.want("the first level", f.read(m.ID), m)
		f.want("raised", m.Version, version+1)
		f.want("the second's time-out", keys(f.pages(meeting.JobExpire, time.Time{}, at("23:00"), 10)), []string{"1 v2 09:30"})
		m, _ = f.change(m.ID, func(m *meeting.Meeting) error {
			return m.Approve(plan(meeting.Actor{}, hall), "", f.admin, at("08:20"))
		})
		f.want("both", f.read(m.ID), m)
		if len(m.Approval.Agreed) != 2 || m.Request != nil || m.Approval.Decision == nil {
			t.Errorf("%+v", m.Approval)
		}
		f.want("nothing waits", keys(f.pages(meeting.JobExpire, time.Time{}, at("23:00"), 10)), []string{})
	})
}

// A move that waits and the meeting itself may overlap; others keep away from both.
func TestApproval_moveGuardsBothSlots(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		hall := f.room("Hall", func(r *meeting.Room) {
			r.Approval = meeting.RoomApproval{Required: true, ApproverIDs: []int64{f.manager.ID}}
			r.Policy.BufferAfter = 10 * time.Minute
		})
		m, err := f.create(terms(slot("09:00", "10:00"), hall), f.manager)
		if err != nil {
			t.Fatal(err)
		}
		move := func(s clock.Slot) *meeting.Meeting {
			t.Helper()
			m, _ := f.change(m.ID, func(m *meeting.Meeting) error {
				_, err := revise(m, terms(s, hall), f.anna, now)
				return err
			})
			f.want("read", f.read(m.ID), m)
			return m
		}
		free := func(want bool, s clock.Slot) {
			t.Helper()
			_, err := f.create(terms(s, hall), f.admin)
			_, taken := errors.AsType[*meeting.ConflictError](err)
			if taken == want || err != nil && !taken {
				t.Errorf("%v free: %v, want %v", s, err, want)
			}
		}
		moved := move(slot("09:30", "11:00"))
		f.want("where it is", moved.Occupied, []meeting.Occupancy{{RoomID: hall.ID, Slot: slot("09:00", "10:10")}})
		f.want("beyond", moved.Request.Change.Held, []meeting.Occupancy{{RoomID: hall.ID, Slot: slot("10:10", "11:10")}})
		free(false, slot("08:30", "09:30"))
		free(false, slot("11:00", "12:00"))
		free(false, slot("09:40", "09:50"))
		held, err := f.store.HeldForChanges(t.Context(), hall.ID, slot("00:00", "23:00"), time.Time{})
		if err != nil || len(held) != 1 || held[0].MeetingID != m.ID {
			t.Errorf("%v, %v", held, err)
		}
		annex := f.room("Annex", func(r *meeting.Room) { r.Approval = hall.Approval })
		f.change(m.ID, func(m *meeting.Meeting) error {
			_, err := revise(m, terms(slot("09:00", "10:00"), annex), f.anna, now)
			return err
		})
		if err := f.store.DeleteRoom(t.Context(), annex.ID, now, func(*meeting.Room) error { return nil }); err == nil {
			t.Error("a room that a change asks for was deleted")
		}

		moved = move(slot("08:30", "10:30")) // on both sides
		f.want("on both sides", len(moved.Request.Change.Held), 2)
		free(true, slot("11:00", "11:20"))

		done, _ := f.change(m.ID, func(m *meeting.Meeting) error { return m.Approve(plan(meeting.Actor{}, hall), "", f.manager, now) })
		f.want("done", f.read(m.ID), done)
		f.want("its slot", done.Slot, slot("08:30", "10:30"))
		f.want("rows", f.heldRows(), int64(0))
	})
}

func (f *fixture) heldRows() (n int64) {
	f.Helper()
	if err := f.db.Gorm.WithContext(f.Context()).Table("occupancies").Where("held").Count(&n).Error; err != nil {
		f.Fatal(err)
	}
	return n
}

func TestListMeetings_awaiting(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		other := f.user("otto@example.org", meeting.Manager)
		room := func(name string, a meeting.RoomApproval) *meeting.Room {
			a.Required = true
			return f.room(name, func(r *meeting.Room) { r.Approval = a })
		}
		mine := room("Mine", meeting.RoomApproval{ApproverIDs: []int64{f.manager.ID}})
		second := room("Second", meeting.RoomApproval{ApproverIDs: []int64{other.ID}, SecondIDs: []int64{f.manager.ID}})
		nobodys := room("Nobody's", meeting.RoomApproval{})
		stepIn := room("Step in", meeting.RoomApproval{ApproverIDs: []int64{other.ID}, EscalateTo: []int64{f.manager.ID}, EscalateAfter: time.Minute})

		a := f.book(slot("09:00", "10:00"), mine)
		b := f.book(slot("10:00", "11:00"), mine, second) // each may agree to one
		c := f.book(slot("11:00", "12:00"), second)
		d := f.book(slot("12:00", "13:00"), nobodys)
		e := f.book(slot("13:00", "14:00"), stepIn)
		g, err := f.create(terms(slot("14:00", "15:00"), mine), f.manager) // confirmed
		if err != nil {
			t.Fatal(err)
		}
		ids := func(by meeting.Actor, clock string, stand ...int64) []int64 {
			t.Helper()
			by.RepresentedIDs = &stand
			return ids(f.all(meeting.MeetingQuery{Awaiting: true, Viewer: &by, Now: at(clock)}, 2))
		}
		f.want("the manager", ids(f.manager, "08:00"), []int64{a.ID, b.ID})
		f.want("the other", ids(other, "08:00"), []int64{b.ID, c.ID, e.ID})
		f.want("in their place", ids(other, "08:00", f.manager.ID), []int64{a.ID, b.ID, c.ID, e.ID})
		f.want("an admin: what nobody else decides", ids(f.admin, "08:00"), []int64{d.ID})
		f.want("a member", ids(f.anna, "08:00"), []int64{})
		f.want("past the deadline of the first", ids(f.manager, "09:00"), []int64{b.ID})

		f.change(b.ID, func(m *meeting.Meeting) error {
			return m.Approve(plan(meeting.Actor{}, mine, second), "", f.manager, now)
		})
		f.want("one of two rooms", f.read(b.ID).Request.Agreed[0].RoomIDs, []int64{mine.ID})
		f.want("the manager has agreed to theirs", ids(f.manager, "08:00"), []int64{a.ID})
		f.want("the other has not", ids(other, "08:00"), []int64{b.ID, c.ID, e.ID})

		f.change(c.ID, func(m *meeting.Meeting) error { return m.Approve(plan(meeting.Actor{}, second), "", other, now) })
		f.change(e.ID, func(m *meeting.Meeting) error {
			m.Escalate(nil, nil, meeting.Timer(meeting.JobEscalate), now)
			return nil
		})
		f.change(g.ID, func(m *meeting.Meeting) error {
			_, err := revise(m, terms(slot("16:00", "17:00"), mine), f.anna, now)
			return err
		})
		f.want("the second level, what took long, and a change", ids(f.manager, "08:00"), []int64{a.ID, c.ID, e.ID, g.ID})
		f.want("the first has agreed", ids(other, "08:00"), []int64{b.ID, e.ID})

		f.change(b.ID, func(m *meeting.Meeting) error { return m.Approve(plan(meeting.Actor{}, mine, second), "", other, now) })
		f.want("the second level of one of two rooms", ids(f.manager, "08:00"), []int64{a.ID, b.ID, c.ID, e.ID, g.ID})
		f.disable(f.manager)
		f.want("an admin: what nobody is left to decide", ids(f.admin, "08:00"), []int64{a.ID, b.ID, c.ID, d.ID, e.ID, g.ID})
	})
}

func (f *fixture) disable(a meeting.Actor) {
	f.Helper()
	if err := f.db.Gorm.WithContext(f.Context()).Exec("UPDATE users SET disabled_at = ? WHERE id = ?", now, a.ID).Error; err != nil {
		f.Fatal(err)
	}
}

// deaf is a scheduler that the loader makes up for.
type deaf struct{}

func (deaf) Schedule(context.Context, ...delayjob.Message) {}
func (deaf) Forget(context.Context, ...string)             {}

// people is a directory of a fixture's users.
type people struct{ f *fixture }

func (p people) People(_ context.Context, ids []int64) ([]meeting.Person, error) {
	var found []meeting.Person
	for _, a := range []meeting.Actor{p.f.admin, p.f.manager, p.f.anna, p.f.ben} {
		for _, id := range ids {
			if a.ID == id {
				found = append(found, meeting.Person{UserID: a.ID, Email: a.Email, Name: a.Name, Role: a.Role})
			}
		}
	}
	return found, nil
}
func (p people) Absences(context.Context, time.Time) ([]meeting.Absence, error) { return nil, nil }
func (p people) Admins(ctx context.Context) ([]meeting.Person, error) {
	return p.People(ctx, []int64{p.f.admin.ID})
}
func (p people) ByEmail(context.Context, []string) (map[string]meeting.Person, error) {
	return nil, nil
}

// TestApproval_exactlyOneOutcome races decisions of two instances on one database, forty
// times each: one of them takes effect, and the others are told the state it led to.
func TestApproval_exactlyOneOutcome(t *testing.T) {
	t.Parallel()
	const rounds = 40
	url := testdb.URL(t, migrations.Postgres)
	first, err := database.Open(t.Context(), url, database.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = first.Close() })
	f := newFixture(t, first)
	second, err := database.Open(t.Context(), url, database.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = second.Close() })
	hold := true
	var mu sync.Mutex
	current := now
	service := func(db *database.DB) *services {
		settings := func() meeting.Settings {
			mu.Lock()
			defer mu.Unlock()
			return meeting.Settings{HoldPending: hold, ApprovalTimeout: time.Hour}
		}
		time := func() time.Time {
			mu.Lock()
			defer mu.Unlock()
			return current
		}
		return newServices(gormstore.New(db.Gorm, outbox{}), people{f}, deaf{}, settings, time, slog.New(slog.DiscardHandler))
	}
	one, two := service(f.db), service(second)
	room := f.room("Hall", func(r *meeting.Room) {
		r.Approval = meeting.RoomApproval{Required: true, ApproverIDs: []int64{f.manager.ID}}
	})
	book := func(by meeting.Actor, day int) *meeting.Meeting {
		t.Helper()
		s := slot("12:00", "13:00")
		m, err := one.Book(t.Context(), by, booking.Fields{Title: new("X"), RoomIDs: &[]int64{room.ID}, Start: new(clock.At(s.Start.AddDate(0, 0, day))), End: new(clock.At(s.End.AddDate(0, 0, day))), Reminders: &[]meeting.Reminder{}})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	approve := func(s *services, by meeting.Actor, id meeting.ID) error {
		_, err := s.approval.Approve(t.Context(), by, id, nil, "")
		return err
	}
	decisions := map[meeting.Action]bool{meeting.ActionConfirmed: true, meeting.ActionRejected: true, meeting.ActionCancelled: true}
	day := 0
	race := func(name string, contestants ...func(m *meeting.Meeting) error) {
		seen := map[meeting.Status]int{}
		for range rounds {
			day++
			m := book(f.anna, day)
			errs := together(len(contestants), func(i int) error { return contestants[i](m) })
			winners := 0
			for _, err := range errs {
				state, refused := errors.AsType[*meeting.StateError](err)
				switch {
				case err == nil:
					winners++
				case !refused || state.State == meeting.Pending:
					t.Fatalf("%s: %v", name, err)
				}
			}
			var decided []meeting.Action
			for _, a := range f.actions(m.ID) {
				if decisions[a] {
					decided = append(decided, a)
				}
			}
			final := f.read(m.ID).Status
			// Who cancels what was just approved has succeeded, too: then both are in the history, in this order.
			after := len(decided) == 2 && decided[0] == meeting.ActionConfirmed && decided[1] == meeting.ActionCancelled
			if winners != len(decided) || len(decided) != 1 && !after {
				t.Fatalf("%s: %d succeeded, history %v, %s", name, winners, decided, final)
			}
			seen[final]++
		}
		t.Logf("%s: %v", name, seen)
	}
	race("approve against cancel",
		func(m *meeting.Meeting) error { return approve(one, f.manager, m.ID) },
		func(m *meeting.Meeting) error { _, err := two.Cancel(t.Context(), f.anna, m.ID, nil, ""); return err })
	race("approve against time-out",
		func(m *meeting.Meeting) error { return approve(one, f.manager, m.ID) },
		func(m *meeting.Meeting) error {
			o, err := outcomeOf(two.ExpireApprovals(t.Context(), meeting.Ref{ID: m.ID, Version: m.Request.Number}))
			if err == nil && o != meeting.Applied {
				return &meeting.StateError{State: meeting.Confirmed, Action: "expire"}
			}
			return err
		})
	race("approve against another approver",
		func(m *meeting.Meeting) error { return approve(one, f.manager, m.ID) },
		func(m *meeting.Meeting) error {
			_, err := two.approval.Reject(t.Context(), f.admin, m.ID, nil, "")
			return err
		})

	mu.Lock()
	hold = false
	mu.Unlock()
	for range rounds {
		day++
		a, b := book(f.anna, day), book(f.ben, day)
		errs := together(2, func(i int) error {
			return []func() error{
				func() error { return approve(one, f.manager, a.ID) }, func() error { return approve(two, f.admin, b.ID) },
			}[i]()
		})
		if won, lost := f.tally(errs); won != 1 || lost != 1 {
			t.Fatalf("two requests for one slot: %v", errs)
		}
		states := []string{string(f.read(a.ID).Status), string(f.read(b.ID).Status)}
		if joined := strings.Join(states, " "); joined != "confirmed pending" && joined != "pending confirmed" {
			t.Fatalf("two requests for one slot: %s", joined)
		}
	}
}

// A whole series is decided on at once, by the API or by the one link that asked for it.
func TestApproval_series(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		hall := f.room("Hall", func(r *meeting.Room) {
			r.Approval = meeting.RoomApproval{Required: true, ApproverIDs: []int64{f.manager.ID}, SecondIDs: []int64{f.admin.ID}}
		})
		settings := func() meeting.Settings { return meeting.Settings{HoldPending: true, ApprovalTimeout: time.Hour} }
		s := newServices(f.store, people{f}, deaf{}, settings, func() time.Time { return now }, slog.New(slog.DiscardHandler))
		book := func(start string) *booking.SeriesResult {
			t.Helper()
			fields := series.Fields{Rule: new("FREQ=DAILY;COUNT=3"), Fields: booking.Fields{
				Title: new("Stand-up"), RoomIDs: &[]int64{hall.ID}, Start: new(clock.Parse("2027-02-11T" + start + ":00")), End: new(clock.Parse("2027-02-11T" + start + ":30")),
				Timezone: new("Europe/Berlin"), Reminders: &[]meeting.Reminder{}, Attendees: &[]meeting.Person{{Email: "guest@example.net"}},
			}}
			r, err := s.series.Book(t.Context(), f.anna, fields)
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		states := func(r *booking.SeriesResult) (all []meeting.Status) {
			for _, m := range r.Meetings {
				all = append(all, f.read(m.ID).Status)
			}
			return all
		}
		pending := []meeting.Status{meeting.Pending, meeting.Pending, meeting.Pending}

		r := book("09:00")
		f.want("asked", states(r), pending)
		f.want("one mail asks", f.notified("approval_request"), int64(1))
		if _, err := s.approval.ApproveSeries(t.Context(), f.anna, r.Series.ID, nil, ""); !errors.Is(err, meeting.ErrForbidden) {
			t.Errorf("a member: %v", err)
		}
		first := f.read(r.Meetings[0].ID)
		linked, decided, err := s.approval.DecideByLink(t.Context(), meeting.Link{MeetingID: first.ID, Number: first.Request.Number, UserID: f.manager.ID}, true, "fine")
		if err != nil || !decided || linked.State != meeting.LinkAgreed {
			t.Fatalf("%+v, %v, %v", linked, decided, err)
		}
		f.want("one level of two", states(r), pending)
		f.want("one mail asks the next", f.notified("approval_request"), int64(2))
		for _, m := range r.Meetings {
			f.want("level", f.read(m.ID).Request.Level, 2)
		}
		if _, err := s.approval.ApproveSeries(t.Context(), f.admin, r.Series.ID, nil, ""); err != nil {
			t.Fatal(err)
		}
		f.want("all", states(r), []meeting.Status{meeting.Confirmed, meeting.Confirmed, meeting.Confirmed})
		f.want("one decision, one invitation", []int64{f.notified("decision"), f.notified("invitation")}, []int64{1, 1})
		_, err = s.approval.RejectSeries(t.Context(), f.admin, r.Series.ID, nil, "")
		if e, ok := errors.AsType[*meeting.StateError](err); !ok || e.State != meeting.Confirmed {
			t.Errorf("once more: %v", err)
		}

		r = book("11:00")
		if _, err := s.approval.RejectSeries(t.Context(), f.manager, r.Series.ID, nil, "no"); err != nil {
			t.Fatal(err)
		}
		f.want("rejected", states(r), []meeting.Status{meeting.Rejected, meeting.Rejected, meeting.Rejected})
		book("11:00") // the slots are free
	})
}

// Where a time-out cannot approve all dates of a series, since a quota or a limit of one person leaves
// too little, it approves the first ones. People get one notification for either outcome.
func TestApproval_seriesOverQuota(t *testing.T) {
	for name, person := range map[string]policy.PersonLimits{"quota of the room": {}, "limit of a person": {Ahead: 3 * time.Hour}} {
		t.Run(name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, f *fixture) {
				l := newLine(f)
				l.settings.HoldPending, l.settings.ApprovalTimeout = false, time.Hour
				l.settings.Limits.Person, l.settings.Limits.MaxOccurrences = person, 10
				hall := l.room("Hall", func(r *meeting.Room) {
					r.Approval = meeting.RoomApproval{Required: true, ApproverIDs: []int64{f.manager.ID}, OnTimeout: meeting.Confirmed}
					if person == (policy.PersonLimits{}) {
						r.Policy.Quota = &policy.Quota{Per: policy.PerMonth, Count: 3}
					}
				})
				r, err := l.svc.series.Book(t.Context(), f.anna, every(hall, "FREQ=DAILY;COUNT=5"))
				if err != nil {
					t.Fatal(err)
				}
				l.clock = l.clock.Add(time.Hour)
				var refs []meeting.Ref
				for _, m := range r.Meetings {
					refs = append(refs, meeting.Ref{ID: m.ID, Version: m.Request.Number})
				}
				if _, err := l.svc.ExpireApprovals(t.Context(), refs...); err != nil {
					t.Fatal(err)
				}
				for i, m := range r.Meetings {
					want := meeting.Confirmed
					if i >= 3 {
						want = meeting.Rejected
					}
					f.want("status", f.read(m.ID).Status, want)
				}
				f.want("decisions", f.notified("decision"), int64(2))
			})
		})
	}
}

func (f *fixture) notified(kind meeting.NoticeKind) (n int64) {
	f.Helper()
	if err := f.db.Gorm.WithContext(f.Context()).Model(&notified{}).Where("kind = ?", kind).Count(&n).Error; err != nil {
		f.Fatal(err)
	}
	return n
}
