package gormstore_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"punctual/delayjob"
	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/clock"
	"punctual/meeting/finding"
	"punctual/meeting/gormstore"
	"punctual/meeting/places"
	"punctual/meeting/policy"
	"punctual/meeting/series"
)

// crowd knows the users of a fixture, who all are active.
type crowd struct {
	nobody
	mu     *sync.Mutex
	people map[int64]meeting.Person
}

func (c crowd) People(_ context.Context, ids []int64) ([]meeting.Person, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var found []meeting.Person
	for _, id := range ids {
		if p, ok := c.people[id]; ok {
			found = append(found, p)
		}
	}
	return found, nil
}

// looks is a queue that keeps nothing but what tells workers to look who waits.
type looks struct {
	mu   sync.Mutex
	keys []string
}

func (q *looks) Schedule(_ context.Context, ms ...delayjob.Message) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, m := range ms {
		if m.Job == meeting.JobWaitlistLook {
			q.keys = append(q.keys, m.Key)
		}
	}
}
func (q *looks) Forget(context.Context, ...string) {}

func (q *looks) take() []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	keys := q.keys
	q.keys = nil
	return keys
}

// line is a fixture with a service whose clock stands and of which people wait for rooms.
type line struct {
	*fixture
	svc      *services
	queue    *looks
	crowd    crowd
	settings meeting.Settings
	clock    time.Time
}

func newLine(f *fixture) *line {
	l := &line{fixture: f, queue: &looks{}, crowd: crowd{mu: &sync.Mutex{}, people: map[int64]meeting.Person{}}, clock: now}
	l.settings.HoldPending, l.settings.ApprovalTimeout = true, 24*time.Hour
	l.svc = l.instance()
	for _, a := range []meeting.Actor{f.admin, f.manager, f.anna, f.ben} {
		l.knows(a)
	}
	return l
}

// instance is another process on the same database.
func (l *line) instance() *services {
	return newServices(gormstore.New(l.db.Gorm, outbox{}), l.crowd, l.queue, func() meeting.Settings { return l.settings },
		func() time.Time { return l.clock }, slog.New(slog.DiscardHandler))
}

func (l *line) finding() *finding.Service {
	return finding.NewService(l.store, l.svc, func() meeting.Settings { return l.settings }, func() time.Time { return l.clock })
}

func (l *line) knows(a meeting.Actor) {
	l.crowd.people[a.ID] = meeting.Person{UserID: a.ID, Email: a.Email, Name: a.Name, Role: a.Role}
}

func wish(s clock.Slot, rooms ...*meeting.Room) booking.Fields {
	ids := make([]int64, len(rooms))
	for i, r := range rooms {
		ids[i] = r.ID
	}
	title, start, end := "Wish", s.Start.Format(time.RFC3339), s.End.Format(time.RFC3339)
	return booking.Fields{Title: &title, Start: new(clock.Parse(start)), End: new(clock.Parse(end)), RoomIDs: &ids}
}

func (l *line) join(by meeting.Actor, s clock.Slot, rooms ...*meeting.Room) *meeting.Wait {
	l.Helper()
	w, err := l.svc.waitlist.Join(l.Context(), by, wish(s, rooms...), nil)
	if err != nil {
		l.Fatal(err)
	}
	return w
}

// look does what workers would, until there is nothing to look at.
func (l *line) look() {
	l.Helper()
	for keys := l.queue.take(); len(keys) > 0; keys = l.queue.take() {
		rooms := make([]int64, len(keys))
		for i, key := range keys {
			if _, err := fmt.Sscan(key, &rooms[i]); err != nil {
				l.Fatal(err)
			}
		}
		for part := range slices.Chunk(rooms, 1+rand.IntN(len(rooms))) { // a batch does what single looks do
			if err := l.svc.waitlist.Look(l.Context(), part...); err != nil {
				l.Fatal(err)
			}
		}
	}
}

func (l *line) wait(id int64) *meeting.Wait {
	l.Helper()
	w, err := l.store.Wait(l.Context(), id)
	if err != nil {
		l.Fatal(err)
	}
	return w
}

func (l *line) wantState(what string, w *meeting.Wait, want meeting.WaitState) *meeting.Wait {
	l.Helper()
	got := l.wait(w.ID)
	if got.State != want {
		l.Errorf("%s: wait %d is %s (%s %s), want %s", what, w.ID, got.State, got.Reason, got.Detail, want)
	}
	return got
}

func (l *line) cancel(m *meeting.Meeting) {
	l.Helper()
	if _, err := l.svc.Cancel(l.Context(), l.admin, m.ID, nil, ""); err != nil {
		l.Fatal(err)
	}
}

// The first whose whole wish is free gets it, those who want more go on waiting, and what does
// not touch each other is given to all.
func TestWait_firstInLine(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		l := newLine(f)
		turing := f.book(slot("10:00", "12:00"), f.turing)
		hopper := f.book(slot("10:00", "12:00"), f.hopper)
		both := l.join(f.ben, slot("10:00", "11:00"), f.turing, f.hopper)
		long := l.join(f.anna, slot("09:30", "11:30"), f.turing)
		short := l.join(f.manager, slot("11:30", "12:00"), f.turing)
		last := l.join(f.admin, slot("11:00", "12:00"), f.turing)
		other := l.join(f.admin, slot("14:00", "15:00"), f.hopper) // which is free
		l.look()
		l.wantState("free at once", other, meeting.Booked)
		for i, w := range []*meeting.Wait{both, long, short, last} {
			got := l.wantState("taken", w, meeting.Waiting)
			if want := []int{1, 2, 1, 3}[i]; got.Position != want {
				t.Errorf("wait %d is at %d, want %d", w.ID, got.Position, want)
			}
		}

		l.cancel(turing)
		l.look()
		l.wantState("wants Hopper too", both, meeting.Waiting)
		got := l.wantState("first whose wish is free", long, meeting.Booked)
		l.wantState("touches it", short, meeting.Booked)
		l.wantState("overlaps it", last, meeting.Waiting)
		m := f.read(got.MeetingID)
		if m.Status != meeting.Confirmed || m.Organizer.UserID != f.anna.ID || !m.Slot.Start.Equal(at("09:30")) {
			t.Errorf("booked %+v", m)
		}
		entries, _, err := f.store.History(t.Context(), m.ID, meeting.Page{})
		if err != nil || len(entries) != 1 || entries[0].Actor.Name != meeting.JobWaitlistLook || entries[0].Actor.Kind != meeting.ActorTimer ||
			entries[0].Reason != meeting.ReasonWaitingList || fmt.Sprint(entries[0].Changes["waitlist_id"].To) != fmt.Sprint(long.ID) {
			t.Errorf("history %+v, %v", entries, err)
		}

		l.cancel(hopper) // of the one that waits for both, Turing is still taken
		l.look()
		l.wantState("half of it", both, meeting.Waiting)
		l.cancel(m)
		l.look()
		l.wantState("both rooms", both, meeting.Booked)
		l.wantState("the end is taken by another", last, meeting.Waiting)

		var notified []string
		f.db.Gorm.Raw("SELECT kind FROM told WHERE kind LIKE 'waitlist%' ORDER BY id").Scan(&notified)
		f.want("told", notified, []string{"waitlist_booked", "waitlist_booked", "waitlist_booked", "waitlist_booked"})
		f.want("rows of those who do not wait", f.count("waitlist_rooms"), int64(1))
	})
}

// Everything that gives up a part of a room has somebody look.
func TestWait_whateverFrees(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		guarded := func(r *meeting.Room) {
			r.Approval = meeting.RoomApproval{Required: true, ApproverIDs: []int64{f.manager.ID}}
			r.CheckIn = meeting.CheckIn{Required: true, Opens: 10 * time.Minute, Grace: 10 * time.Minute}
		}
		for name, free := range map[string]func(l *line, r *meeting.Room, m *meeting.Meeting) error{
			"cancel": func(l *line, _ *meeting.Room, m *meeting.Meeting) error {
				_, err := l.svc.Cancel(ctx, f.anna, m.ID, nil, "")
				return err
			},
			"reject": func(l *line, _ *meeting.Room, m *meeting.Meeting) error {
				_, err := l.svc.approval.Reject(ctx, f.manager, m.ID, nil, "")
				return err
			},
			"timeout": func(l *line, _ *meeting.Room, m *meeting.Meeting) error {
				_, err := l.svc.ExpireApprovals(ctx, meeting.Ref{ID: m.ID, Version: m.Request.Number})
				return err
			},
			"move": func(l *line, r *meeting.Room, m *meeting.Meeting) error {
				to := slot("15:00", "16:00")
				start, end := to.Start.Format(time.RFC3339), to.End.Format(time.RFC3339)
				_, err := l.svc.Update(ctx, f.anna, m.ID, nil, booking.Fields{Start: new(clock.Parse(start)), End: new(clock.Parse(end))})
				return err
			},
			"end": func(l *line, _ *meeting.Room, m *meeting.Meeting) error {
				if _, err := l.svc.approval.Approve(ctx, f.manager, m.ID, nil, ""); err != nil {
					return err
				}
				l.clock = at("10:05")
				defer func() { l.clock = now }()
				_, err := l.svc.End(ctx, f.anna, m.ID, nil)
				return err
			},
			"release": func(l *line, _ *meeting.Room, m *meeting.Meeting) error {
				if _, err := l.svc.approval.Approve(ctx, f.manager, m.ID, nil, ""); err != nil {
					return err
				}
				l.clock = at("09:55")
				defer func() { l.clock = now }()
				_, err := l.svc.Release(ctx, f.manager, m.ID, nil, "")
				return err
			},
			"no-show": func(l *line, _ *meeting.Room, m *meeting.Meeting) error {
				if _, err := l.svc.approval.Approve(ctx, f.manager, m.ID, nil, ""); err != nil {
					return err
				}
				m = f.read(m.ID)
				l.clock = m.CheckIn.Until
				defer func() { l.clock = now }()
				_, err := l.svc.ReleaseNoShows(ctx, meeting.Ref{ID: m.ID, Version: m.ScheduleVersion})
				return err
			},
			"shorten": func(l *line, _ *meeting.Room, m *meeting.Meeting) error {
				_, err := l.svc.Update(ctx, f.anna, m.ID, nil, booking.Fields{End: new(clock.At(at("10:30")))})
				return err
			},
		} {
			l := newLine(f)
			room := f.room(name, guarded)
			m, err := l.svc.Book(ctx, f.anna, wish(slot("10:00", "11:00"), room))
			if err != nil {
				t.Fatal(err)
			}
			w := l.join(f.manager, slot("10:30", "11:00"), room)
			l.look()
			l.wantState(name+": taken", w, meeting.Waiting)
			if err := free(l, room, m); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			l.look()
			l.wantState(name, w, meeting.Booked)
		}
	})
}

// What a move was to take is free when it is decided against, and what it left when it is made;
// a series frees all its dates.
func TestWait_movesAndSeries(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		l := newLine(f)
		room := f.room("Hall", func(r *meeting.Room) {
			r.Approval = meeting.RoomApproval{Required: true, ApproverIDs: []int64{f.manager.ID}}
		})
		decide := func(approve bool, start, end string, m *meeting.Meeting) {
			t.Helper()
			_, err := l.svc.Update(ctx, f.anna, m.ID, nil, booking.Fields{Start: new(clock.At(at(start))), End: new(clock.At(at(end)))})
			if err == nil && approve {
				_, err = l.svc.approval.Approve(ctx, f.manager, m.ID, nil, "")
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		m, err := l.svc.Book(ctx, f.anna, wish(slot("10:00", "11:00"), room))
		if err == nil {
			_, err = l.svc.approval.Approve(ctx, f.manager, m.ID, nil, "")
		}
		if err != nil {
			t.Fatal(err)
		}
		decide(false, "14:00", "15:00", m)
		target, place := l.join(f.manager, slot("14:00", "15:00"), room), l.join(f.manager, slot("10:00", "11:00"), room)
		l.look()
		l.wantState("where it may move to", target, meeting.Waiting)
		if _, err := l.svc.approval.Reject(ctx, f.manager, m.ID, nil, ""); err != nil {
			t.Fatal(err)
		}
		l.look()
		l.wantState("it does not move", target, meeting.Booked)
		l.wantState("it stays", place, meeting.Waiting)
		decide(true, "16:00", "17:00", m)
		l.look()
		l.wantState("it moved", place, meeting.Booked)

		series, err := l.svc.series.Book(ctx, f.anna, series.Fields{Rule: new("FREQ=DAILY;COUNT=3"), Fields: wish(on(1, "10:00", "11:00"), f.turing)})
		if err != nil {
			t.Fatal(err)
		}
		var ws []*meeting.Wait
		for _, m := range series.Meetings {
			ws = append(ws, l.join(f.ben, m.Slot, f.turing))
		}
		if _, err := l.svc.series.Cancel(ctx, f.anna, series.Series.ID, nil, meeting.ScopeFollowing, new(clock.At(series.Meetings[1].OriginalStart)), ""); err != nil {
			t.Fatal(err)
		}
		l.look()
		l.wantState("a date that stays", ws[0], meeting.Waiting)
		l.wantState("the first that is cancelled", ws[1], meeting.Booked)
		l.wantState("the last that is cancelled", ws[2], meeting.Booked)
	})
}

// An offer holds its rooms; declined, left or not accepted in time it goes to the next.
// Many who wait for many rooms are served, and time out, in a few transactions: each slot goes to
// the one who came first.
func TestWait_manyAtOnce(t *testing.T) {
	for _, offers := range []bool{false, true} {
		t.Run(fmt.Sprint("offers=", offers), func(t *testing.T) {
			onBoth(t, func(t *testing.T, f *fixture) {
				l := newLine(f)
				want := meeting.Booked
				if offers {
					l.settings.Offer, want = time.Hour, meeting.Offered
				}
				const n = 12
				var rooms []*meeting.Room
				var ids []int64
				var taken []*meeting.Meeting
				var first, second []*meeting.Wait
				for i := range n {
					r := f.room(fmt.Sprint("room ", i), func(r *meeting.Room) {
						switch i {
						case 3:
							r.Approval = meeting.RoomApproval{Required: true, ApproverIDs: []int64{f.manager.ID}}
						case 4:
							r.Policy.Quota = &policy.Quota{Per: "day", Count: 1}
						}
					})
					rooms, ids = append(rooms, r), append(ids, r.ID)
					taken = append(taken, f.book(slot("09:00", "10:00"), r))
					first = append(first, l.join(f.anna, slot("09:00", "09:30"), r))
					second = append(second, l.join(f.ben, slot("09:15", "10:00"), r))
				}
				both := l.join(f.ben, slot("09:30", "10:00"), rooms[0], rooms[1])
				third := l.join(f.manager, slot("09:00", "09:30"), rooms[5])
				if err := l.svc.waitlist.Leave(f.Context(), f.anna, first[5].ID, nil); err != nil {
					t.Fatal(err)
				}
				for _, m := range taken {
					l.cancel(m)
				}
				if err := l.svc.waitlist.Look(f.Context(), ids...); err != nil {
					t.Fatal(err)
				}
				for i := range n {
					if i == 5 { // the first one left
						l.wantState("left", first[i], meeting.Withdrawn)
						l.wantState("second", second[i], want)
						l.wantState("third", third, meeting.Waiting)
						continue
					}
					l.wantState("first", first[i], want)
					l.wantState("second", second[i], meeting.Waiting)
				}
				l.wantState("both", both, want)

				var refs []meeting.Ref
				for _, w := range append(slices.Clone(first), append(second, both, third)...) {
					refs = append(refs, meeting.Ref{ID: w.ID, Version: l.wait(w.ID).Version})
				}
				refs = append(refs, meeting.Ref{ID: second[7].ID, Version: 99}, meeting.Ref{ID: 1 << 40, Version: 1})
				l.clock = at("10:30")
				outcomes, err := l.svc.ExpireWaits(f.Context(), refs...)
				if err != nil {
					t.Fatal(err)
				}
				for i, ref := range refs[:len(refs)-2] {
					w := l.wait(ref.ID)
					expired := w.State == meeting.WaitExpired
					if expired != (outcomes[i] == meeting.Applied) || w.State == meeting.Waiting || w.State == meeting.Offered {
						t.Errorf("wait %d: %v, and it is %s", ref.ID, outcomes[i], w.State)
					}
				}
				if outcomes[len(refs)-2] != meeting.Stale || outcomes[len(refs)-1] != meeting.Stale {
					t.Errorf("of another version, and not there: %v", outcomes[len(refs)-2:])
				}
				var held int64
				if err := f.db.Gorm.Raw("SELECT count(*) FROM occupancies WHERE waitlist_id IS NOT NULL").Scan(&held).Error; err != nil || held != 0 {
					t.Errorf("offers that timed out hold %d slots, %v", held, err)
				}
				l.clock = now
			})
		})
	}
}

func TestWait_offers(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		l := newLine(f)
		l.settings.Offer = 30 * time.Minute
		taken := f.book(slot("10:00", "11:00"), f.turing)
		var ws []*meeting.Wait
		for _, by := range []meeting.Actor{f.ben, f.anna, f.manager, f.admin} {
			ws = append(ws, l.join(by, slot("10:00", "11:00"), f.turing))
		}
		l.cancel(taken)
		l.look()
		first := l.wantState("first", ws[0], meeting.Offered)
		l.wantState("second", ws[1], meeting.Waiting)
		if !first.OfferUntil.Equal(now.Add(30 * time.Minute)) {
			t.Errorf("offered until %v", first.OfferUntil)
		}
		var conflict *meeting.ConflictError
		if _, err := l.svc.Book(ctx, f.admin, wish(slot("10:30", "11:30"), f.turing)); !errors.As(err, &conflict) || len(conflict.Conflicts) != 1 {
			t.Errorf("booked what is offered: %v", err)
		}
		if busy, err := l.svc.FreeBusy(ctx, f.anna, f.turing.ID, slot("09:00", "12:00")); err != nil || len(busy) != 1 || busy[0].Meeting.Title != meeting.Busy || busy[0].Meeting.ID != 0 {
			t.Errorf("busy %+v, %v", busy, err)
		}
		if _, err := l.svc.waitlist.Accept(ctx, f.anna, ws[0].ID, nil); !errors.Is(err, meeting.ErrNotFound) {
			t.Errorf("somebody else accepted: %v", err)
		}
		var state *meeting.StateError
		if _, err := l.svc.waitlist.Accept(ctx, f.anna, ws[1].ID, nil); !errors.As(err, &state) {
			t.Errorf("accepted without an offer: %v", err)
		}

		if _, err := l.svc.waitlist.Decline(ctx, f.ben, ws[0].ID, nil); err != nil {
			t.Fatal(err)
		}
		l.look()
		l.wantState("declined", ws[0], meeting.Withdrawn)
		second := l.wantState("second", ws[1], meeting.Offered)

		due, err := f.store.Due(ctx, meeting.JobWaitlistExpire, time.Time{}, now.Add(30*time.Minute), meeting.DueCursor{}, 10)
		if err != nil || len(due) != 1 || due[0].Cursor.ID != second.ID || due[0].Version != second.Version {
			t.Fatalf("due %+v, %v", due, err)
		}
		ref := meeting.Ref{ID: second.ID, Version: second.Version}
		l.clock = second.OfferUntil
		if _, err := l.svc.waitlist.Accept(ctx, f.anna, second.ID, nil); !errors.As(err, &state) || state.State != meeting.Status(meeting.WaitExpired) {
			t.Errorf("accepted too late: %v", err)
		}
		for range 2 {
			if outcomes, err := l.svc.ExpireWaits(ctx, ref); err != nil || outcomes[0] == meeting.Stale {
				t.Fatalf("%v, %v", outcomes, err)
			}
		}
		l.look()
		if got := l.wantState("not accepted", ws[1], meeting.WaitExpired); got.Reason != meeting.ReasonOffer {
			t.Errorf("reason %q", got.Reason)
		}

		l.wantState("third", ws[2], meeting.Offered)
		got, err := l.svc.waitlist.Accept(ctx, f.manager, ws[2].ID, nil)
		if err != nil || got.State != meeting.Booked {
			t.Fatalf("%+v, %v", got, err)
		}
		if h, _, err := f.store.History(ctx, got.MeetingID, meeting.Page{}); err != nil || h[0].Actor.ID != f.manager.ID || h[0].Reason != meeting.ReasonWaitingList {
			t.Errorf("history %+v, %v", h, err)
		}
		if err := l.svc.waitlist.Leave(ctx, f.admin, ws[3].ID, nil); err != nil {
			t.Fatal(err)
		}
		l.wantState("left", ws[3], meeting.Withdrawn)
		f.want("held", f.count("occupancies"), int64(1))
		f.want("wanted", f.count("waitlist_rooms"), int64(0))
		f.want("told what they accepted themselves", f.notified(meeting.NoticeWaitlistBooked), int64(0))

		// Who has used up their quota gets no offer; the next one does.
		busy := f.book(slot("14:00", "15:00"), f.turing)
		used, free := l.join(f.ben, slot("14:00", "15:00"), f.turing), l.join(f.admin, slot("14:00", "15:00"), f.turing)
		if _, err := f.store.UpdateRoom(ctx, f.turing.ID, func(r *meeting.Room) error {
			r.Policy.Quota = &policy.Quota{Per: policy.PerDay, Count: 1}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if _, err := l.svc.Book(ctx, f.ben, wish(slot("17:00", "18:00"), f.turing)); err != nil {
			t.Fatal(err)
		}
		l.cancel(busy)
		l.look()
		if got := l.wantState("over their quota", used, meeting.Refused); got.Reason != meeting.ReasonRules {
			t.Errorf("%+v", got)
		}
		l.wantState("the next", free, meeting.Offered)

		var late *meeting.InvalidError
		if _, err := l.svc.waitlist.Join(ctx, f.ben, wish(clock.Slot{Start: l.clock, End: l.clock.Add(time.Hour)}, f.turing), nil); !errors.As(err, &late) || late.Faults[0].Location != "start" {
			t.Errorf("waited for what has begun: %v", err)
		}
	})
}

// The rules are those of the moment at which the slot is given.
func TestWait_rulesAreJudgedAgain(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		l := newLine(f)
		taken := f.book(slot("10:00", "11:00"), f.turing)
		closed, quota := l.join(f.ben, slot("10:00", "11:00"), f.turing), l.join(f.anna, slot("10:30", "11:00"), f.turing)
		gone := l.join(f.manager, slot("10:00", "11:00"), f.turing)
		last := l.join(f.admin, slot("10:30", "11:00"), f.turing)
		f.book(slot("16:00", "17:00"), f.turing) // anna's one of the day
		var err error
		if f.turing, err = f.store.UpdateRoom(ctx, f.turing.ID, func(r *meeting.Room) error {
			r.Policy.Quota = &policy.Quota{Per: policy.PerDay, Count: 1}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if _, _, err := l.svc.places.CreateBlackout(ctx, f.admin, blackout(f.turing, slot("10:00", "10:30"))); err != nil {
			t.Fatal(err)
		}
		delete(l.crowd.people, f.manager.ID)
		l.cancel(taken)
		l.look()
		for w, want := range map[*meeting.Wait]string{closed: meeting.ReasonRules, quota: meeting.ReasonRules, gone: meeting.ReasonAccount} {
			if got := l.wantState(want, w, meeting.Refused); got.Reason != want || want == meeting.ReasonRules && got.Detail == "" {
				t.Errorf("%+v", got)
			}
		}
		l.wantState("who may", last, meeting.Booked)
		var notified int64
		f.db.Gorm.Raw("SELECT count(*) FROM told WHERE kind = 'waitlist_expired'").Scan(&notified)
		f.want("told", notified, int64(3))
	})
}

func blackout(r *meeting.Room, s clock.Slot) places.BlackoutFields {
	start, end, reason := s.Start.Format(time.RFC3339), s.End.Format(time.RFC3339), "Painting"
	return places.BlackoutFields{RoomID: &r.ID, Start: new(clock.Parse(start)), End: new(clock.Parse(end)), Reason: &reason}
}

// A full pass of the loader finds what became free without a word.
func TestFreeAndAwaited(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		l := newLine(f)
		a, b := f.book(slot("10:00", "11:00"), f.turing), f.book(slot("10:00", "11:00"), f.hopper)
		l.join(f.ben, slot("10:00", "11:00"), f.turing, f.hopper)
		find := func() []int64 {
			rooms, _, err := f.store.FreeAndAwaited(t.Context(), l.clock)
			if err != nil {
				t.Fatal(err)
			}
			return rooms
		}
		for _, m := range []*meeting.Meeting{a, b} {
			f.want("before", len(find()), 0)
			f.change(m.ID, func(m *meeting.Meeting) error { return m.Cancel("", f.anna, now) })
		}
		f.want("free", find(), []int64{f.turing.ID, f.hopper.ID})
		l.clock = at("10:00")
		f.want("begun", len(find()), 0)
	})
}

// What is waited for is as wide as the room's buffers are now: narrower ones set it free.
func TestWait_buffers(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		l := newLine(f)
		room := f.room("Kitchen", func(r *meeting.Room) { r.Policy.BufferBefore, r.Policy.BufferAfter = 30*time.Minute, 15*time.Minute })
		f.book(slot("10:00", "11:00"), room)
		w := l.join(f.ben, slot("11:20", "12:00"), room)
		l.look()
		l.wantState("in the buffers", w, meeting.Waiting)
		patch := func(before, after time.Duration) {
			t.Helper()
			if _, err := l.svc.places.UpdateRoom(t.Context(), f.admin, room.ID, nil, places.RoomFields{BufferBefore: &before, BufferAfter: &after}); err != nil {
				t.Fatal(err)
			}
			l.look()
		}
		patch(40*time.Minute, 20*time.Minute)
		f.want("wants", l.wantState("wider", w, meeting.Waiting).Wants, []meeting.Occupancy{{RoomID: room.ID, Slot: slot("10:40", "12:20")}})
		patch(5*time.Minute, 0)
		booked := l.wantState("narrower", w, meeting.Booked)
		f.want("takes", f.read(booked.MeetingID).Occupied, []meeting.Occupancy{{RoomID: room.ID, Slot: slot("11:15", "12:00")}})
	})
}

// However quickly one look is asked for after the other, each has a higher number: a queue would
// pass over the second while the first is under way.
func TestAwaited_numbersRise(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		l := newLine(f)
		m := f.book(slot("10:00", "11:00"), f.turing)
		l.join(f.ben, slot("10:00", "11:00"), f.turing)
		var last int64
		for range 50 {
			rooms, number, err := f.store.Awaited(t.Context(), m.Occupied, now)
			if err != nil || len(rooms) != 1 || number <= last {
				t.Fatalf("rooms %v, %d after %d, %v", rooms, number, last, err)
			}
			last = number
		}
	})
}

func TestListWaits(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		l := newLine(f)
		f.book(slot("10:00", "11:00"), f.turing, f.hopper)
		for range 3 {
			l.join(f.ben, slot("10:00", "11:00"), f.turing)
			l.join(f.anna, slot("10:00", "11:00"), f.hopper)
		}
		left := l.join(f.ben, slot("10:00", "11:00"), f.turing, f.hopper)
		if err := l.svc.waitlist.Leave(ctx, f.ben, left.ID, nil); err != nil {
			t.Fatal(err)
		}
		count := func(by meeting.Actor, q meeting.WaitQuery) int {
			t.Helper()
			n := 0
			for p := (meeting.Page{Limit: 2}); ; {
				ws, next, err := l.svc.waitlist.Waits(ctx, by, q, p)
				if err != nil {
					t.Fatal(err)
				}
				n += len(ws)
				if p.Cursor = next; next == "" {
					return n
				}
			}
		}
		late := meeting.WaitQuery{States: []meeting.WaitState{meeting.WaitExpired}} // whose timer is
		f.want("expired", count(f.admin, late), 0)
		l.clock = at("10:00")
		f.want("expired with the start", count(f.admin, late), 6)
		f.want("waiting with the start", count(f.admin, meeting.WaitQuery{States: []meeting.WaitState{meeting.Waiting}}), 0)
		l.clock = now
		f.want("all", count(f.admin, meeting.WaitQuery{}), 7)
		f.want("mine", count(f.ben, meeting.WaitQuery{UserID: f.anna.ID}), 4)
		f.want("a manager's", count(f.manager, meeting.WaitQuery{}), 0)
		f.want("of a room", count(f.admin, meeting.WaitQuery{RoomID: f.hopper.ID}), 4)
		f.want("waiting for a room", count(f.admin, meeting.WaitQuery{RoomID: f.hopper.ID, States: []meeting.WaitState{meeting.Waiting}}), 3)
		if _, err := l.svc.waitlist.WaitOf(ctx, f.anna, left.ID); !errors.Is(err, meeting.ErrNotFound) {
			t.Errorf("somebody else's: %v", err)
		}
	})
}

// Ten wait at two instances for one slot, of which two look at once while others book: the
// first gets it, unless a booking came before; there is never an overlap, and who is booked is
// booked once.
func TestWait_race(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		rounds := 30
		if f.db.Dialect == "sqlite" {
			rounds = 6 // it writes one at a time
		}
		l := newLine(f)
		var people []meeting.Actor
		for i := range 10 {
			a := f.user(fmt.Sprintf("p%d@example.org", i), meeting.Member)
			l.knows(a)
			people = append(people, a)
		}
		instances := []*services{l.svc, l.instance()}
		stolen := 0
		for round := range rounds {
			ctx := t.Context()
			s := slot("10:00", "11:00")
			s.Start, s.End = s.Start.AddDate(0, 0, round), s.End.AddDate(0, 0, round)
			room := f.turing
			one, err := l.svc.Book(ctx, f.admin, wish(clock.Slot{Start: s.Start, End: s.Start.Add(30 * time.Minute)}, room))
			if err != nil {
				t.Fatal(err)
			}
			two, err := l.svc.Book(ctx, f.admin, wish(clock.Slot{Start: s.Start.Add(30 * time.Minute), End: s.End}, room))
			if err != nil {
				t.Fatal(err)
			}
			var ws []*meeting.Wait
			for _, p := range people {
				ws = append(ws, l.join(p, s, room))
			}
			l.queue.take()
			thief := round%4 == 3 // somebody books in the same moment
			errs := together(7, func(i int) error {
				svc := instances[i%2]
				switch {
				case i < 2:
					if _, err := svc.Cancel(ctx, f.admin, []*meeting.Meeting{one, two}[i].ID, nil, ""); err != nil {
						return err
					}
					return svc.waitlist.Look(ctx, room.ID)
				case i == 6 && thief:
					for range 5 {
						_, err := svc.Book(ctx, f.admin, wish(s, room))
						if _, taken := errors.AsType[*meeting.ConflictError](err); !taken {
							return err
						}
					}
					return nil
				default:
					return svc.waitlist.Look(ctx, room.ID)
				}
			})
			if err := errors.Join(errs...); err != nil {
				t.Fatalf("round %d: %v", round, err)
			}
			l.look()
			booked := slices.DeleteFunc(slices.Clone(ws), func(w *meeting.Wait) bool { return l.wait(w.ID).State != meeting.Booked })
			held, err := f.store.Occupants(ctx, room.ID, s)
			if err != nil || len(held) != 1 {
				t.Fatalf("round %d: %d meetings hold the slot, %v", round, len(held), err)
			}
			switch {
			case len(booked) == 1 && booked[0].ID == ws[0].ID && held[0].Organizer.UserID == people[0].ID:
			case thief && len(booked) == 0 && held[0].Organizer.UserID == f.admin.ID:
				stolen++
			default:
				t.Fatalf("round %d: booked %d waits, held by %d", round, len(booked), held[0].Organizer.UserID)
			}
			for _, w := range ws {
				if l.wait(w.ID).State == meeting.Waiting {
					if err := l.svc.waitlist.Leave(ctx, f.admin, w.ID, nil); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		t.Logf("%d rounds, in %d somebody booked before the first in line", rounds, stolen)
	})
}
