package gormstore_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"punctual/meeting"
	"punctual/meeting/clock"
	"punctual/meeting/policy"
)

// refused tells whether err is a refusal with this code.
func refused(err error, code string) bool {
	e, ok := errors.AsType[*meeting.PolicyError](err)
	return ok && slices.ContainsFunc(e.Violations, func(f meeting.Fault) bool { return f.Code == code })
}

func (f *fixture) limited(name string, q policy.Quota) *meeting.Room {
	f.Helper()
	r := f.room(name, func(r *meeting.Room) { r.Policy.Quota = &q })
	r.Zone = "UTC"
	return r
}

// Bookings at the same moment together never exceed the quota, whatever the order in which
// they name two rooms, and none waits for another for ever.
func TestCreateMeeting_quotaOfManyAtOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		ctx := f.withoutDeadlocks()
		a, b := f.limited("A", policy.Quota{Per: policy.PerDay, Count: 3}), f.limited("B", policy.Quota{Per: policy.PerDay, Duration: 3 * time.Hour})
		errs := together(40, func(i int) error {
			rooms := []*meeting.Room{a, b}
			if i%2 == 1 {
				rooms[0], rooms[1] = rooms[1], rooms[0]
			}
			by := f.anna
			if i%4 > 1 {
				by = f.ben
			}
			start := at("00:00").AddDate(0, 0, 1).Add(time.Duration(i) * 15 * time.Minute)
			s := clock.Slot{Start: start, End: start.Add(15 * time.Minute)}
			return f.store.CreateMeeting(ctx, bookAt(terms(s, rooms...), by, now))
		})
		won := 0
		for _, err := range errs {
			switch {
			case err == nil:
				won++
			case !refused(err, "quota"):
				t.Errorf("neither booked nor over the quota: %v", err)
			}
		}
		if won != 6 { // 3 each
			t.Errorf("%d were booked", won)
		}
	})
}

func TestUpdateMeeting_quotaOfMovesAtOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		ctx := f.withoutDeadlocks()
		room := f.limited("A", policy.Quota{Per: policy.PerDay, Count: 1})
		hour := func(day, hour int) clock.Slot {
			start := at("00:00").AddDate(0, 0, day).Add(time.Duration(hour) * time.Hour)
			return clock.Slot{Start: start, End: start.Add(time.Hour)}
		}
		var ids []meeting.ID
		for day := range 8 {
			ids = append(ids, f.book(hour(day+1, 9), room).ID)
		}
		// All move into the one day that is free, each to another hour.
		errs := together(len(ids), func(i int) error {
			_, _, err := f.store.UpdateMeeting(ctx, ids[i], func(m *meeting.Meeting) error {
				_, err := revise(m, terms(hour(20, i+9), room), f.anna, now)
				return err
			})
			return err
		})
		won := 0
		for _, err := range errs {
			if err == nil {
				won++
			} else if !refused(err, "quota") {
				t.Error(err)
			}
		}
		if won != 1 {
			t.Errorf("%d moved", won)
		}
		// The one that moved may move again: it does not stand in its own way.
		for i, err := range errs {
			if err == nil {
				f.change(ids[i], func(m *meeting.Meeting) error {
					_, err := revise(m, terms(hour(20, 20), room), f.anna, now)
					return err
				})
			}
		}
	})
}

func TestHeld(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		room := f.limited("A", policy.Quota{Per: policy.PerDay, Count: 10})
		room.Policy.BufferBefore = 2 * time.Hour
		claim := func(m *meeting.Meeting) policy.Claim { return m.Claims()[0] }
		yesterday := clock.Slot{Start: at("22:00").AddDate(0, 0, -1), End: at("02:00")}
		night := f.book(yesterday, room)
		kept := f.book(slot("09:00", "10:00"), room)
		gone := f.book(slot("13:00", "14:00"), room)
		f.change(gone.ID, func(m *meeting.Meeting) error { return m.Cancel("", f.anna, now) })
		tomorrow := f.book(clock.Slot{Start: at("00:00").AddDate(0, 0, 1), End: at("01:00").AddDate(0, 0, 1)}, room) // its buffer reaches into today
		if _, err := f.create(terms(slot("17:00", "18:00"), room), f.ben); err != nil {
			t.Fatal(err)
		}
		asked := bookAt(terms(slot("21:00", "22:00"), room), f.anna, now)
		got, err := f.store.Held(t.Context(), claim(asked), kept.ID, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		f.want("held", got, []clock.Slot{yesterday})
		got, err = f.store.Held(t.Context(), claim(asked), 0, time.Time{})
		if err != nil || len(got) != 2 {
			t.Errorf("held %v, %v; night %d, tomorrow %d", got, err, night.ID, tomorrow.ID)
		}
	})
}

// A move that waits counts where it is to go only once it is approved.
func TestHeld_waitingMove(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		hall := f.room("Hall", func(r *meeting.Room) {
			r.Approval, r.Policy.Quota = meeting.RoomApproval{Required: true, ApproverIDs: []int64{f.manager.ID}}, &policy.Quota{Per: policy.PerDay, Count: 1}
		})
		hall.Zone = "UTC"
		m := f.book(slot("09:00", "10:00"), f.turing)
		f.change(m.ID, func(m *meeting.Meeting) error {
			_, err := revise(m, terms(slot("09:00", "10:00"), hall), f.anna, now)
			return err
		})
		claim := bookAt(terms(slot("12:00", "13:00"), hall), f.anna, now).Claims()[0]
		for want := range 2 {
			if held, err := f.store.Held(t.Context(), claim, 0, time.Time{}); err != nil || len(held) != want {
				t.Errorf("held %v, %v, want %d", held, err, want)
			}
			if want == 0 {
				f.change(m.ID, func(m *meeting.Meeting) error { return m.Approve(plan(meeting.Actor{}, hall), "", f.manager, now) })
			}
		}
	})
}

// What was ended early counts for what it took, on the days on which it did.
func TestHeld_endedEarly(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		room := f.limited("A", policy.Quota{Per: policy.PerDay, Count: 10})
		room.Policy.BufferAfter = 3 * time.Hour
		day := func(n int, clock string) time.Time { return at(clock).AddDate(0, 0, n) }
		for _, m := range []struct{ start, end, ended time.Time }{
			{day(1, "10:00"), day(1, "12:00"), day(1, "10:20")},
			{day(0, "21:00"), day(1, "04:00"), day(0, "23:00")}, // its buffer reaches into the day, it does not
			{day(1, "20:00"), day(2, "02:00"), day(2, "01:00")},
		} {
			booked := f.book(clock.Slot{Start: m.start, End: m.end}, room)
			f.change(booked.ID, func(b *meeting.Meeting) error { return b.Finish([]*meeting.Room{room}, f.anna, m.ended) })
		}
		claim := bookAt(terms(clock.Slot{Start: day(1, "15:00"), End: day(1, "16:00")}, room), f.anna, now).Claims()[0]
		held, err := f.store.Held(t.Context(), claim, 0, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		by, err := f.store.HeldBy(t.Context(), f.anna.ID, []int64{room.ID}, claim.Span, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		for _, slots := range [][]clock.Slot{held, by[room.ID]} {
			slices.SortFunc(slots, func(a, b clock.Slot) int { return a.Start.Compare(b.Start) })
			var inside []clock.Slot
			for _, s := range slots {
				if s.Overlaps(claim.Span) {
					inside = append(inside, s)
				}
			}
			f.want("held", inside, []clock.Slot{{Start: day(1, "10:00"), End: day(1, "10:20")}, {Start: day(1, "20:00"), End: day(2, "01:00")}})
		}
	})
}

// Whoever books while a room is being closed is either among the meetings in the way or refused.
func TestCreateBlackout_againstBookings(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		site := &meeting.Site{Name: "Berlin", CreatedAt: now, UpdatedAt: now}
		if err := f.store.CreateSite(t.Context(), site); err != nil {
			t.Fatal(err)
		}
		day := clock.Slot{Start: at("00:00").AddDate(0, 0, 1), End: at("00:00").AddDate(0, 0, 2)}
		both := 0
		for round := range 12 {
			rooms := []*meeting.Room{
				f.room("A", func(r *meeting.Room) { r.SiteID = site.ID }), f.room("B", func(r *meeting.Room) { r.SiteID = site.ID }),
			}
			q := meeting.MeetingQuery{RoomID: rooms[0].ID, From: day.Start, To: day.End}
			seen, err := f.store.Rooms(t.Context(), []int64{rooms[0].ID, rooms[1].ID}) // what the bookings are judged by
			if err != nil {
				t.Fatal(err)
			}
			var affected []*meeting.Meeting
			errs := together(9, func(i int) error {
				if i > 0 {
					s := clock.Slot{Start: day.Start.Add(time.Duration(i) * time.Hour), End: day.Start.Add(time.Duration(i+1) * time.Hour)}
					return f.store.CreateMeeting(t.Context(), bookAt(terms(s, seen...), f.anna, now))
				}
				b := &policy.Blackout{Slot: day, CreatedAt: now, UpdatedAt: now}
				if b.RoomID = rooms[0].ID; round%2 == 0 {
					b.RoomID, b.SiteID = 0, site.ID
				}
				if err := f.store.CreateBlackout(t.Context(), b); err != nil {
					return err
				}
				affected, _, err = f.store.ListMeetings(t.Context(), q, meeting.Page{})
				return err
			})
			if errs[0] != nil {
				t.Fatal(errs[0])
			}
			booked := 0
			for _, err := range errs[1:] {
				if err == nil {
					booked++
				} else if !errors.Is(err, meeting.ErrRoomsChanged) {
					t.Errorf("neither booked nor to be judged again: %v", err)
				}
			}
			if booked != len(affected) {
				t.Errorf("round %d: %d were booked, %d are in the way", round, booked, len(affected))
			}
			if booked > 0 && booked < 8 {
				both++
			}
			// A move that was judged before is refused as well.
			for _, m := range affected {
				_, _, err := f.store.UpdateMeeting(t.Context(), m.ID, func(m *meeting.Meeting) error {
					_, err := revise(m, terms(clock.Slot{Start: m.Slot.Start, End: m.Slot.End.Add(time.Minute)}, seen...), f.anna, now)
					return err
				})
				if !errors.Is(err, meeting.ErrRoomsChanged) {
					t.Errorf("an old judgement: %v", err)
				}
				break
			}
		}
		t.Logf("%d of 12 rounds had both", both)
	})
}

func TestBlackouts(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		site := &meeting.Site{Name: "Berlin", CreatedAt: now, UpdatedAt: now}
		if err := f.store.CreateSite(t.Context(), site); err != nil {
			t.Fatal(err)
		}
		closed := func(roomID, siteID int64, s clock.Slot) *policy.Blackout {
			t.Helper()
			b := &policy.Blackout{RoomID: roomID, SiteID: siteID, Slot: s, Reason: "paint", CreatedAt: now, UpdatedAt: now}
			if err := f.store.CreateBlackout(t.Context(), b); err != nil {
				t.Fatal(err)
			}
			return b
		}
		early := f.room("Early", func(r *meeting.Room) { r.SiteID = site.ID })
		whole := closed(0, site.ID, slot("12:00", "14:00"))
		one := closed(f.turing.ID, 0, slot("09:00", "10:00"))
		late := f.room("Late", func(r *meeting.Room) { r.SiteID = site.ID })
		if _, err := f.store.UpdateRoom(t.Context(), f.hopper.ID, func(r *meeting.Room) error { r.SiteID = site.ID; return nil }); err != nil {
			t.Fatal(err)
		}
		rooms, err := f.store.Rooms(t.Context(), []int64{early.ID, late.ID, f.hopper.ID, f.turing.ID, f.wide.ID})
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range rooms {
			if (r.Closures > 0) != (i < 4) {
				t.Errorf("%s: closures %d", r.Name, r.Closures)
			}
		}
		// What else a room changes leaves the number alone.
		if _, err := f.store.UpdateRoom(t.Context(), early.ID, func(r *meeting.Room) error { r.Name = "X"; return nil }); err != nil {
			t.Fatal(err)
		}
		if again, _ := f.store.Rooms(t.Context(), []int64{early.ID}); again[0].Closures != rooms[0].Closures {
			t.Errorf("closures %d, before %d", again[0].Closures, rooms[0].Closures)
		}

		ids := func(q meeting.BlackoutQuery) (out []int64) {
			t.Helper()
			for p := (meeting.Page{Limit: 1}); ; {
				bs, next, err := f.store.ListBlackouts(t.Context(), q, p)
				if err != nil {
					t.Fatal(err)
				}
				for _, b := range bs {
					out = append(out, b.ID)
				}
				if p.Cursor = next; next == "" {
					return out
				}
			}
		}
		f.want("all", ids(meeting.BlackoutQuery{}), []int64{one.ID, whole.ID})
		f.want("of a room, by its site", ids(meeting.BlackoutQuery{RoomID: late.ID}), []int64{whole.ID})
		f.want("of a room", ids(meeting.BlackoutQuery{RoomID: f.turing.ID}), []int64{one.ID})
		f.want("of a site", ids(meeting.BlackoutQuery{SiteID: site.ID}), []int64{whole.ID})
		f.want("in a span", ids(meeting.BlackoutQuery{From: at("10:00"), To: at("12:00")}), []int64(nil))
		f.want("in a longer one", ids(meeting.BlackoutQuery{From: at("09:59"), To: at("12:01")}), []int64{one.ID, whole.ID})
		after, err := f.store.BlackoutsWithin(t.Context(), []int64{late.ID, f.turing.ID}, clock.Slot{Start: at("10:00")})
		if err != nil || len(after) != 1 || after[0].ID != whole.ID {
			t.Errorf("after ten: %v, %v", after, err)
		}
		before, err := f.store.BlackoutsWithin(t.Context(), []int64{late.ID, f.turing.ID}, clock.Slot{Start: at("09:59"), End: whole.Slot.Start})
		if err != nil || len(before) != 1 || before[0].ID != one.ID {
			t.Errorf("before the second: %v, %v", before, err)
		}

		changed, err := f.store.UpdateBlackout(t.Context(), one.ID, func(b *policy.Blackout) error { b.Reason, b.RoomID = "carpet", f.wide.ID; return nil })
		if err != nil || changed.Version != 2 || changed.RoomID != f.turing.ID {
			t.Errorf("%+v, %v", changed, err)
		}
		read, err := f.store.Blackout(t.Context(), one.ID)
		f.want("read", read, changed)
		if err != nil {
			t.Error(err)
		}
		no := errors.New("no")
		if err := f.store.DeleteBlackout(t.Context(), one.ID, now, func(*policy.Blackout) error { return no }); !errors.Is(err, no) {
			t.Error(err)
		}
		if err := f.store.DeleteBlackout(t.Context(), one.ID, now, func(*policy.Blackout) error { return nil }); err != nil {
			t.Error(err)
		}
		if _, err := f.store.Blackout(t.Context(), one.ID); !errors.Is(err, meeting.ErrNotFound) {
			t.Error(err)
		}
		for name, err := range map[string]error{
			"of no room":  f.store.CreateBlackout(t.Context(), &policy.Blackout{RoomID: 999, Slot: day0, CreatedAt: now, UpdatedAt: now}),
			"of no site":  f.store.CreateBlackout(t.Context(), &policy.Blackout{SiteID: 999, Slot: day0, CreatedAt: now, UpdatedAt: now}),
			"delete none": f.store.DeleteBlackout(t.Context(), 999, now, func(*policy.Blackout) error { return nil }),
		} {
			if !errors.Is(err, meeting.ErrNotFound) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

var day0 = slot("09:00", "10:00")

// What is locked is what the function sees: a change in between is not overlooked.
func TestDelete_asksTheFunction(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		no := errors.New("no")
		var seen int64
		err := f.store.DeleteRoom(t.Context(), f.turing.ID, now, func(r *meeting.Room) error { seen = r.Version; return no })
		if !errors.Is(err, no) || seen != 1 {
			t.Errorf("%v, version %d", err, seen)
		}
		if rooms, _ := f.store.Rooms(t.Context(), []int64{f.turing.ID}); len(rooms) != 1 {
			t.Error("the room is gone")
		}
	})
}

// A request that does not hold its slot is refused where somebody has it.
func TestCreateMeeting_requestForWhatIsTaken(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		room := f.room("Asked", func(r *meeting.Room) { r.Approval.Required = true })
		waiting := meeting.PlanApproval(meeting.ApprovalTerms{Timeout: time.Hour}, f.anna, room)
		request := func(s clock.Slot) *meeting.Meeting { return meeting.Book(terms(s, room), waiting, f.anna, now) }
		for range 2 {
			if err := f.store.CreateMeeting(t.Context(), request(slot("09:00", "10:00"))); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := f.create(terms(slot("09:30", "10:30"), room), f.admin); err != nil {
			t.Fatal(err)
		}
		conflict, ok := errors.AsType[*meeting.ConflictError](f.store.CreateMeeting(t.Context(), request(slot("10:00", "11:00"))))
		if !ok || len(conflict.Conflicts) != 1 || conflict.Conflicts[0].RoomID != room.ID {
			t.Errorf("%+v", conflict)
		}
		if err := f.store.CreateMeeting(t.Context(), request(slot("10:30", "11:00"))); err != nil {
			t.Error(err)
		}
	})
}

// A move that waits for a decision is judged by the blackouts of all rooms that it is to, those
// it has included, whether or not it holds them meanwhile; and it is found again.
func TestUpdateMeeting_moveIntoABlackout(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		hall := f.room("Hall", func(r *meeting.Room) {
			r.Approval = meeting.RoomApproval{Required: true, ApproverIDs: []int64{f.manager.ID}}
		})
		m, err := f.create(terms(slot("09:00", "10:00"), hall), f.manager)
		if err != nil {
			t.Fatal(err)
		}
		f.book(slot("14:00", "15:00"), hall) // a request that is no move
		seen, err := f.store.Rooms(t.Context(), []int64{hall.ID, f.turing.ID})
		if err != nil {
			t.Fatal(err)
		}
		move, request := slot("09:30", "11:00"), func(hold bool, to clock.Slot, rooms ...*meeting.Room) error {
			_, _, err := f.store.UpdateMeeting(t.Context(), m.ID, func(m *meeting.Meeting) error {
				_, err := m.Revise(terms(to, rooms...), meeting.PlanApproval(meeting.ApprovalTerms{Hold: hold}, f.anna, rooms...), f.anna, now)
				return err
			})
			return err
		}
		for _, id := range []int64{hall.ID, f.turing.ID} {
			if err := f.store.CreateBlackout(t.Context(), &policy.Blackout{RoomID: id, Slot: move, CreatedAt: now, UpdatedAt: now}); err != nil {
				t.Fatal(err)
			}
		}
		for _, hold := range []bool{true, false} {
			if err := request(hold, move, seen[0]); !errors.Is(err, meeting.ErrRoomsChanged) {
				t.Errorf("another time, held %v: %v", hold, err)
			}
			if err := request(hold, slot("09:00", "10:00"), seen...); !errors.Is(err, meeting.ErrRoomsChanged) {
				t.Errorf("another room, held %v: %v", hold, err)
			}
		}
		if moves, err := f.store.WaitingMoves(t.Context()); err != nil || len(moves) != 0 {
			t.Errorf("nothing waits yet: %v, %v", moves, err)
		}
		if seen, err = f.store.Rooms(t.Context(), []int64{hall.ID}); err != nil {
			t.Fatal(err)
		}
		if err := request(false, move, seen[0]); err != nil {
			t.Fatal(err)
		}
		moves, err := f.store.WaitingMoves(t.Context())
		if err != nil || len(moves) != 1 || moves[0].ID != m.ID {
			t.Errorf("%v, %v", moves, err)
		}
	})
}
