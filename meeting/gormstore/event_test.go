package gormstore_test

import (
	"testing"
	"time"

	"punctual/meeting"
)

func TestEvents(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		if last, err := f.store.LastEvent(t.Context()); err != nil || last != 0 {
			t.Errorf("of nothing: %d, %v", last, err)
		}
		first := f.book(slot("09:00", "10:00"), f.turing)
		second := f.book(slot("10:00", "11:00"), f.turing)
		f.change(first.ID, func(m *meeting.Meeting) error { return m.Cancel("", f.anna, now) })
		events, _, err := f.store.Events(t.Context(), 0, 10)
		if err != nil {
			t.Fatal(err)
		}
		type seen struct {
			Meeting meeting.ID
			Action  meeting.Action
		}
		var got []seen
		for _, e := range events {
			got = append(got, seen{e.MeetingID, e.Action})
		}
		f.want("events", got, []seen{{first.ID, meeting.ActionCreated}, {second.ID, meeting.ActionCreated}, {first.ID, meeting.ActionCancelled}})
		last, err := f.store.LastEvent(t.Context())
		if err != nil || last != events[2].ID {
			t.Errorf("the last is %d, want %d (%v)", last, events[2].ID, err)
		}
		byID, err := f.store.EventsByID(t.Context(), []int64{events[2].ID, 1 << 40, events[0].ID, events[2].ID})
		if err != nil {
			t.Error(err)
		}
		f.want("events by ID", byID, append(events[:1:1], events[2]))
		if some, _, err := f.store.Events(t.Context(), events[0].ID, 1); err != nil || len(some) != 1 || some[0].ID != events[1].ID {
			t.Errorf("a page: %+v, %v", some, err)
		}
		ms, err := f.store.MeetingsByID(t.Context(), []meeting.ID{second.ID, 999, first.ID})
		if err != nil || len(ms) != 2 || ms[0].ID != first.ID {
			t.Errorf("meetings: %+v, %v", ms, err)
		}
	})
}

// An event names the rooms that the meeting left, and those of a change that waits or waits no longer.
func TestEvents_rooms(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		asks := f.room("Asks", func(r *meeting.Room) { r.Approval.Required = true })
		s := slot("09:00", "10:00")
		m := f.book(s, f.turing)
		move := func(rooms ...*meeting.Room) {
			f.change(m.ID, func(m *meeting.Meeting) error {
				t := terms(s, rooms...)
				t.Placed = true
				_, err := revise(m, t, f.anna, now)
				return err
			})
		}
		move(f.hopper, f.wide)
		move(asks) // which is only asked for
		f.change(m.ID, func(m *meeting.Meeting) error { return m.Cancel("", f.anna, now) })
		events, _, err := f.store.Events(t.Context(), 0, 10)
		if err != nil {
			t.Fatal(err)
		}
		var left, asked [][]int64
		for _, e := range events {
			left, asked = append(left, e.Left), append(asked, e.Requested)
		}
		f.want("left", left, [][]int64{nil, {f.turing.ID}, nil, nil})
		f.want("asked", asked, [][]int64{nil, nil, {asks.ID}, {asks.ID}})
	})
}

// A transaction that runs is told of, so that nobody passes over what it will commit.
func TestEvents_running(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		if f.db.Dialect == "sqlite" {
			_, ended, err := f.store.Events(t.Context(), 0, 1)
			if err != nil || ended != 0 {
				t.Errorf("transactions run one by one, yet %d, %v", ended, err)
			}
			return
		}
		tx := f.db.Gorm.WithContext(t.Context()).Begin()
		defer tx.Rollback()
		if err := tx.Exec("INSERT INTO told (dedupe_key) VALUES ('slow')").Error; err != nil {
			t.Fatal(err)
		}
		mark, err := f.store.Mark(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_, during, err := f.store.Events(t.Context(), 0, 1)
		if err != nil || during >= mark {
			t.Errorf("while it runs all below %d have ended; it began below %d (%v)", during, mark, err)
		}
		if err := tx.Commit().Error; err != nil {
			t.Fatal(err)
		}
		deadline := time.Now().Add(4 * time.Minute) // other tests have transactions, too
		for after := uint64(0); after < mark; {
			if _, after, err = f.store.Events(t.Context(), 0, 1); err != nil || time.Now().After(deadline) {
				t.Fatalf("then all below %d have ended, want %d (%v)", after, mark, err)
			}
		}
	})
}
