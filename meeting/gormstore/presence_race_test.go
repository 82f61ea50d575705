package gormstore_test

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"punctual/app/database"
	"punctual/meeting"
	"punctual/meeting/booking"
	"punctual/meeting/clock"
	"punctual/meeting/gormstore"
	"punctual/meeting/places"
	"punctual/migrations"
	"punctual/tests/testenv/testdb"
)

// races is how often each of the races below is run.
const races = 40

// rivals are two instances on one database in Postgres, one of which is a moment behind.
type rivals struct {
	*line
	early, late *services
	instant     time.Time // of the late one; the other is a microsecond behind
}

func newRivals(t *testing.T) *rivals {
	t.Helper()
	url := testdb.URL(t, migrations.Postgres)
	open := func() *database.DB {
		db, err := database.Open(t.Context(), url, database.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		return db
	}
	r := &rivals{line: newLine(newFixture(t, open())), instant: now}
	service := func(db *database.DB, behind time.Duration) *services {
		return newServices(gormstore.New(db.Gorm, outbox{}), r.crowd, r.queue, func() meeting.Settings { return r.settings },
			func() time.Time { return r.instant.Add(-behind) }, slog.New(slog.DiscardHandler))
	}
	r.early, r.late = service(r.db, time.Microsecond), service(open(), 0)
	return r
}

// book an hour at ten on a day of its own.
func (r *rivals) book(day int, room *meeting.Room) *meeting.Meeting {
	r.Helper()
	r.instant = now
	m, err := r.early.Book(r.Context(), r.anna, wish(on(day, "10:00", "11:00"), room))
	if err != nil {
		r.Fatal(err)
	}
	return m
}

func on(day int, from, to string) clock.Slot {
	s := slot(from, to)
	return clock.Slot{Start: s.Start.AddDate(0, 0, day), End: s.End.AddDate(0, 0, day)}
}

// holders are who has a part of the slot.
func (r *rivals) holders(room *meeting.Room, s clock.Slot) []meeting.ID {
	r.Helper()
	ms, err := r.store.Occupants(r.Context(), room.ID, s)
	if err != nil {
		r.Fatal(err)
	}
	var ids []meeting.ID
	for _, m := range ms {
		ids = append(ids, m.ID)
	}
	return ids
}

// lost tells which state an error says; empty: it is another error, or none.
func lost(err error) meeting.Status {
	state, _ := errors.AsType[*meeting.StateError](err)
	if state == nil {
		return ""
	}
	return state.State
}

// Somebody checks in at the very instant at which the room is given back, at another instance,
// and a third wants it: either they keep it, or it is the third's.
func TestCheckIn_againstNoShow(t *testing.T) {
	t.Parallel()
	r := newRivals(t)
	room := r.room("Lounge", lounge)
	outcomes := map[meeting.Status]int{}
	for day := range races {
		m := r.book(day, room)
		r.instant = m.CheckIn.Until
		ref := meeting.Ref{ID: m.ID, Version: m.ScheduleVersion}
		released := make([]meeting.Outcome, 2)
		rest := on(day, "10:10", "11:00")
		var others *meeting.Meeting
		errs := together(4, func(i int) (err error) {
			switch i {
			case 0:
				_, err = r.early.CheckIn(t.Context(), r.anna, m.ID, nil)
			case 1:
				others, err = r.late.Book(t.Context(), r.ben, wish(rest, room))
			default:
				released[i-2], err = outcomeOf([]*services{r.early, r.late}[i-2].ReleaseNoShows(t.Context(), ref))
			}
			return err
		})
		if errs[2] != nil || errs[3] != nil {
			t.Fatal(errs)
		}
		if errs[1] != nil {
			if _, taken := errors.AsType[*meeting.ConflictError](errs[1]); !taken {
				t.Fatal(errs[1])
			}
		}
		got, actions, holders := r.read(m.ID), r.actions(m.ID), r.holders(room, rest)
		applied := slices.Contains(released, meeting.Applied) || errs[1] == nil // the booking released it
		switch {
		case errs[0] == nil && !applied && errs[1] != nil && !got.CheckedInAt.IsZero() && slices.Equal(holders, []meeting.ID{m.ID}) &&
			slices.Contains(actions, meeting.ActionCheckedIn) && !slices.Contains(actions, meeting.ActionReleased):
			outcomes[meeting.InProgress]++
		case lost(errs[0]) == meeting.Released && applied && got.Status == meeting.Released && got.CheckedInAt.IsZero() &&
			(errs[1] == nil && slices.Equal(holders, []meeting.ID{others.ID}) || errs[1] != nil && len(holders) == 0) &&
			!slices.Contains(actions, meeting.ActionCheckedIn) && slices.Contains(actions, meeting.ActionReleased):
			outcomes[meeting.Released]++
		default:
			t.Fatalf("round %d: %v, released %v; %s, %v, held by %v", day, errs, released, got.Status, actions, holders)
		}
	}
	r.want("mails", r.notified(meeting.NoticeReleased), int64(outcomes[meeting.Released]))
	t.Logf("%v", outcomes)
}

// An offer is accepted at the very instant at which it ends, at another instance: either it is
// booked, or it goes to the next in line.
func TestAccept_againstTheEnd(t *testing.T) {
	t.Parallel()
	r := newRivals(t)
	r.settings.Offer = time.Hour
	outcomes := map[meeting.WaitState]int{}
	for day := range races {
		m := r.book(day, r.turing)
		var ws []*meeting.Wait
		for _, by := range []meeting.Actor{r.ben, r.manager} {
			w, err := r.early.waitlist.Join(t.Context(), by, wish(m.Slot, r.turing), nil)
			if err != nil {
				t.Fatal(err)
			}
			ws = append(ws, w)
		}
		r.cancel(m)
		r.look()
		offered := r.wantState("first", ws[0], meeting.Offered)
		r.instant = offered.OfferUntil
		ref := meeting.Ref{ID: offered.ID, Version: offered.Version}
		errs := together(3, func(i int) (err error) {
			if i == 0 {
				_, err = r.early.waitlist.Accept(t.Context(), r.ben, offered.ID, nil)
			} else {
				_, err = []*services{r.early, r.late}[i-1].ExpireWaits(t.Context(), ref)
			}
			return err
		})
		if errs[1] != nil || errs[2] != nil {
			t.Fatal(errs)
		}
		r.clock = r.instant
		r.look()
		r.clock = now
		first, second, holders := r.wait(ws[0].ID), r.wait(ws[1].ID), r.holders(r.turing, m.Slot)
		switch {
		case errs[0] == nil && first.State == meeting.Booked && second.State == meeting.Waiting && slices.Equal(holders, []meeting.ID{first.MeetingID}):
		case lost(errs[0]) == meeting.Status(meeting.WaitExpired) && first.State == meeting.WaitExpired && first.MeetingID == 0 &&
			second.State == meeting.Offered && len(holders) == 0:
		default:
			t.Fatalf("round %d: %v; %s, then %s, held by %v", day, errs, first.State, second.State, holders)
		}
		outcomes[first.State]++
		for _, w := range ws {
			_ = r.early.waitlist.Leave(t.Context(), r.admin, w.ID, nil) // so that nobody has too many
		}
	}
	t.Logf("%v", outcomes)
}

// Who stops waiting in the moment in which their turn comes, at another instance, has a meeting
// or does not wait any more, and then it is the next one's.
func TestLeave_againstTheTurn(t *testing.T) {
	t.Parallel()
	r := newRivals(t)
	outcomes := map[meeting.WaitState]int{}
	for day := range races {
		m := r.book(day, r.turing)
		first, err := r.early.waitlist.Join(t.Context(), r.ben, wish(m.Slot, r.turing), nil)
		if err != nil {
			t.Fatal(err)
		}
		second, err := r.early.waitlist.Join(t.Context(), r.manager, wish(m.Slot, r.turing), nil)
		if err != nil {
			t.Fatal(err)
		}
		r.cancel(m)
		r.queue.take()
		errs := together(3, func(i int) error {
			if i == 0 {
				return r.early.waitlist.Leave(t.Context(), r.ben, first.ID, nil)
			}
			return []*services{r.early, r.late}[i-1].waitlist.Look(t.Context(), r.turing.ID)
		})
		if errs[1] != nil || errs[2] != nil {
			t.Fatal(errs)
		}
		a, b, holders := r.wait(first.ID), r.wait(second.ID), r.holders(r.turing, m.Slot)
		switch {
		case errs[0] == nil && a.State == meeting.Withdrawn && b.State == meeting.Booked && slices.Equal(holders, []meeting.ID{b.MeetingID}):
		case lost(errs[0]) == meeting.Status(meeting.Booked) && a.State == meeting.Booked && b.State == meeting.Waiting && slices.Equal(holders, []meeting.ID{a.MeetingID}):
		default:
			t.Fatalf("round %d: %v; %s, then %s, held by %v", day, errs, a.State, b.State, holders)
		}
		outcomes[a.State]++
		_ = r.early.waitlist.Leave(t.Context(), r.admin, second.ID, nil)
	}
	t.Logf("%v", outcomes)
}

// The end of a meeting: somebody ends it, extends it, or books what is behind it, and in every
// other round the timer ends it at another instance. It ends once, and nothing overlaps.
func TestEnd_againstEverybody(t *testing.T) {
	t.Parallel()
	r := newRivals(t)
	outcomes := map[string]int{}
	for day := range races {
		m := r.book(day, r.turing)
		r.instant = m.Slot.End
		behind := on(day, "11:00", "12:00")
		later := behind.Start.Add(15 * time.Minute).Format(time.RFC3339)
		ref := []meeting.Ref{{ID: m.ID, Version: m.ScheduleVersion}}
		errs := together(3+day%2, func(i int) (err error) {
			switch i {
			case 0:
				_, err = r.early.End(t.Context(), r.anna, m.ID, nil)
			case 1:
				_, err = r.early.Extend(t.Context(), r.anna, m.ID, nil, booking.Fields{End: new(clock.Parse(later))})
			case 2:
				_, err = r.late.Book(t.Context(), r.ben, wish(behind, r.turing))
			default:
				_, err = r.store.End(t.Context(), ref, r.instant)
			}
			return err
		})
		got, holders := r.read(m.ID), r.holders(r.turing, behind)
		ends := 0
		for _, a := range r.actions(m.ID) {
			if a == meeting.ActionEnded {
				ends++
			}
		}
		byHand, extended, booked := errs[0] == nil, errs[1] == nil, errs[2] == nil
		if ended := got.Status == meeting.Ended; ended != (ends == 1) || byHand && !ended || len(holders) > 1 || booked != (len(holders) == 1 && holders[0] != m.ID) ||
			day%2 == 1 && errs[3] != nil {
			t.Fatalf("round %d: %v; %s, ended %d times, held by %v", day, errs, got.Status, ends, holders)
		}
		outcomes[fmt.Sprintf("ended by hand %v, extended %v, booked behind it %v", byHand, extended, booked)]++
	}
	for outcome, n := range outcomes {
		t.Logf("%3d: %s", n, outcome)
	}
}

// A room begins to ask for a check-in, or asks no more, while others book it and move into it: each
// meeting is asked for what the room asks for in the end.
func TestUpdateRoom_checkInAgainstBookings(t *testing.T) {
	t.Parallel()
	r := newRivals(t)
	room := r.room("Lounge")
	for day := range races {
		elsewhere := r.book(day, r.hopper)
		required := day%2 == 0
		ids := make([]meeting.ID, 3)
		errs := together(4, func(i int) (err error) {
			var m *meeting.Meeting
			switch i {
			case 0:
				m, err = r.early.Book(t.Context(), r.anna, wish(on(day, "12:00", "13:00"), room))
			case 1:
				m, err = r.late.Book(t.Context(), r.ben, wish(on(day, "14:00", "15:00"), room))
			case 2:
				m, err = r.late.Update(t.Context(), r.anna, elsewhere.ID, nil, booking.Fields{RoomIDs: &[]int64{room.ID}})
			default:
				_, err = r.early.places.UpdateRoom(t.Context(), r.admin, room.ID, nil, places.RoomFields{CheckInRequired: &required, CheckInGrace: new(10 * time.Minute)})
				return err
			}
			if err == nil {
				ids[i] = m.ID
			}
			return err
		})
		if err := errors.Join(errs...); err != nil {
			t.Fatal(err)
		}
		for i, id := range ids {
			if m := r.read(id); m.CheckIn.Until.IsZero() == required {
				t.Fatalf("round %d, meeting %d: the room asks for a check-in: %v, and the meeting has %+v", day, i, required, m.CheckIn)
			}
		}
	}
}
