package gormstore_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"punctual/meeting"
	"punctual/meeting/clock"
)

func TestCreateMeeting_readsBackTheSame(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		us := 123456 * time.Microsecond
		full := terms(clock.Slot{Start: at("09:00").Add(us), End: at("10:00").Add(us)}, f.wide, f.turing)
		full.Title, full.Description, full.Visibility = `Ümläut "quoted" 会议`, "line\nline", meeting.Private
		full.DefaultReminders = true
		full.Attendees = []meeting.Attendee{
			{Person: meeting.Person{UserID: f.ben.ID, Email: "Ben@example.org", Name: "Ben", Phone: "+49", Locale: "zh", Timezone: "Asia/Shanghai"}, Response: meeting.Accepted},
			{Person: meeting.Person{Email: "guest@example.net"}, Response: meeting.NeedsAction},
		}
		full.Reminders = []meeting.Reminder{
			{Before: meeting.BeforeStart, Offset: time.Hour, Channels: []meeting.Channel{meeting.Email, meeting.SMS}},
			{Before: meeting.BeforeStart, Offset: 0, Channels: []meeting.Channel{meeting.SMS}},
			{Before: meeting.BeforeEnd, Offset: 5 * time.Minute, Channels: []meeting.Channel{meeting.Email}},
		}
		m := bookAt(full, f.anna, now)
		if err := f.store.CreateMeeting(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		if m.ID == 0 || m.Version != 1 || m.ScheduleVersion != 1 {
			t.Errorf("id %d, version %d, schedule version %d", m.ID, m.Version, m.ScheduleVersion)
		}
		notices := m.TakeNotices()
		if len(notices) != 2 || notices[0].ID == 0 || notices[1].ID == 0 || notices[0].MeetingID != m.ID {
			t.Errorf("notices: %+v", notices)
		}
		if len(m.TakeHistory()) != 0 {
			t.Error("history is left to be recorded a second time")
		}
		m.Organizer = meeting.Person{UserID: f.anna.ID, Email: f.anna.Email, Name: f.anna.Name, Phone: "+49301", Locale: "de", Timezone: "Europe/Berlin"}
		f.want("read", f.read(m.ID), m)
		if len(m.Occupied) != 2 || !m.Occupied[0].Slot.Start.Equal(at("08:50").Add(us)) {
			t.Errorf("occupied %v", m.Occupied)
		}
		f.want("history", f.actions(m.ID), []meeting.Action{meeting.ActionCreated})

		request := bookAt(terms(slot("11:00", "12:00"), f.room("Asked", func(r *meeting.Room) { r.Approval.Required = true })), f.anna, now)
		if err := f.store.CreateMeeting(t.Context(), request); err != nil {
			t.Fatal(err)
		}
		got := f.read(request.ID)
		f.want("request", got.Approval, request.Approval)
		f.want("status", got.Status, meeting.Pending)

		if _, err := f.store.Meeting(t.Context(), 999); !errors.Is(err, meeting.ErrNotFound) {
			t.Errorf("no such meeting: %v", err)
		}
	})
}

func TestCreateMeeting_onlyOneGetsTheSlot(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		ctx := f.withoutDeadlocks()
		errs := together(100, func(i int) error {
			// Each overlaps every other without being the same.
			s := slot("09:00", "10:00").Widen(time.Duration(i)*time.Second, time.Duration(i)*time.Second)
			return f.store.CreateMeeting(ctx, bookAt(terms(s, f.turing), f.anna, now))
		})
		if won, lost := f.tally(errs); won != 1 || lost != 99 {
			t.Errorf("%d won, %d lost", won, lost)
		}
		for table, want := range map[string]int64{"meetings": 1, "occupancies": 1, "meeting_rooms": 1, "history": 1, "meeting_reminders": 1} {
			f.want("rows of "+table, f.count(table), want)
		}
	})
}

// [A, B] against [B, A].
func TestCreateMeeting_roomsInAnyOrder(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		ctx := f.withoutDeadlocks()
		for round := range 40 {
			s := clock.Slot{Start: at("09:00").AddDate(0, 0, round), End: at("10:00").AddDate(0, 0, round)}
			errs := together(8, func(i int) error {
				rooms := []*meeting.Room{f.turing, f.hopper}
				if i%2 == 1 {
					rooms[0], rooms[1] = rooms[1], rooms[0]
				}
				return f.store.CreateMeeting(ctx, bookAt(terms(s, rooms...), f.anna, now))
			})
			if won, lost := f.tally(errs); won != 1 || lost != 7 {
				t.Errorf("round %d: %d won, %d lost", round, won, lost)
			}
		}
	})
}

// withoutDeadlocks tells Postgres not to look for deadlocks, and ends the context after four
// minutes: one that is resolved and retried would not be seen otherwise.
func (f *fixture) withoutDeadlocks() context.Context {
	f.Helper()
	if f.db.Dialect == "postgres" {
		f.sql("DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET deadlock_timeout = ''10min''', current_database()); END $$")
		f.db.SQL.SetMaxIdleConns(0) // new connections from here on
	}
	ctx, cancel := context.WithTimeout(f.Context(), 4*time.Minute)
	f.Cleanup(cancel)
	return ctx
}

// The same instants in another zone are the same slot: SQLite once compared them as text.
func TestCreateMeeting_zonesDoNotHideAConflict(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		f.book(slot("09:00", "10:00"), f.turing)
		beijing := time.FixedZone("CST", 8*3600)
		local := clock.Slot{Start: time.Date(2027, 2, 10, 17, 0, 0, 0, beijing), End: time.Date(2027, 2, 10, 18, 0, 0, 0, beijing)}
		_, err := f.create(terms(local, f.turing), f.ben)
		conflict, ok := errors.AsType[*meeting.ConflictError](err)
		if !ok {
			t.Fatalf("the slot was taken twice: %v", err)
		}
		f.want("conflicts", conflict.Conflicts, []meeting.Occupancy{{RoomID: f.turing.ID, Slot: slot("09:00", "10:00")}})

		later := f.book(clock.Slot{Start: local.End, End: local.End.Add(time.Hour)}, f.turing)
		got := f.read(later.ID).Slot
		if got != slot("10:00", "11:00") {
			t.Errorf("read %v", got)
		}
	})
}

func TestCreateMeeting_conflicts(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		f.book(slot("10:00", "11:00"), f.turing)
		f.book(slot("13:00", "14:00"), f.turing)
		f.book(slot("10:00", "11:00"), f.wide) // holds 9:50 to 11:05
		for _, c := range []struct {
			name     string
			from, to string
			rooms    []*meeting.Room
			want     int // intervals in the way
		}{
			{"before", "09:00", "10:00", []*meeting.Room{f.turing}, 0},
			{"behind", "11:00", "12:00", []*meeting.Room{f.turing}, 0},
			{"over the start", "09:30", "10:30", []*meeting.Room{f.turing}, 2},
			{"over the end", "10:30", "11:30", []*meeting.Room{f.turing}, 2},
			{"inside", "10:15", "10:30", []*meeting.Room{f.turing}, 1},
			{"around several", "08:30", "15:00", []*meeting.Room{f.turing}, 4},
			{"one of two rooms", "10:15", "10:45", []*meeting.Room{f.hopper, f.turing}, 1},
			{"own buffer", "11:05", "12:00", []*meeting.Room{f.wide}, 1},
			{"buffers touch", "11:15", "12:00", []*meeting.Room{f.wide}, 0},
		} {
			before := f.count("meetings")
			m, err := f.create(terms(slot(c.from, c.to), c.rooms...), f.anna)
			conflict, _ := errors.AsType[*meeting.ConflictError](err)
			if c.want == 0 {
				f.want(c.name, err, nil)
				continue
			}
			if conflict == nil || len(conflict.Conflicts) != c.want {
				t.Errorf("%s: %v (%+v), want %d conflicts", c.name, err, conflict, c.want)
			}
			f.want(c.name+": rows", f.count("meetings"), before)
			if m.ID != 0 || len(m.TakeHistory()) != 1 {
				t.Errorf("%s: the meeting has changed though it was refused", c.name)
			}
		}
		f.want("history rows without a meeting", f.count("history"), f.count("meetings"))
	})
}

func TestCreateMeeting_roomIsGone(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		if err := f.store.DeleteRoom(t.Context(), f.hopper.ID, now, anyRoom); err != nil {
			t.Fatal(err)
		}
		_, err := f.create(terms(slot("09:00", "10:00"), f.turing, f.hopper), f.anna)
		if _, ok := errors.AsType[*meeting.InvalidError](err); !ok {
			t.Errorf("booked a deleted room: %v", err)
		}
		f.want("meetings", f.count("meetings"), int64(0))
	})
}

// A room that is deleted while it is being booked is either booked or deleted.
func TestDeleteRoom_againstBooking(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		for range 10 {
			r := f.room("Doomed")
			errs := together(2, func(i int) error {
				if i == 0 {
					return f.store.DeleteRoom(t.Context(), r.ID, now, anyRoom)
				}
				_, err := f.create(terms(slot("09:00", "10:00"), r), f.anna)
				return err
			})
			_, inUse := errors.AsType[*meeting.InUseError](errs[0])
			_, invalid := errors.AsType[*meeting.InvalidError](errs[1])
			if !(errs[0] == nil && invalid) && !(inUse && errs[1] == nil) {
				t.Errorf("deleted: %v; booked: %v", errs[0], errs[1])
			}
		}
	})
}
