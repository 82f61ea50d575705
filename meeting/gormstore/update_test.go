package gormstore_test

import (
	"errors"
	"testing"
	"time"

	"punctual/meeting"
	"punctual/meeting/clock"
)

// reschedule is a change by the organizer.
func reschedule(f *fixture, t meeting.Terms) func(*meeting.Meeting) error {
	return func(m *meeting.Meeting) error {
		_, err := revise(m, t, f.anna, now)
		return err
	}
}

func TestUpdateMeeting_savesWhatChanged(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		m := f.book(slot("09:00", "10:00"), f.turing)
		f.book(slot("09:00", "10:00"), f.hopper)

		to := terms(slot("11:00", "12:30"), f.wide, f.turing)
		to.Title, to.Visibility = "New title", meeting.Private
		to.Attendees = []meeting.Attendee{{Person: meeting.Person{UserID: f.ben.ID, Email: f.ben.Email}, Response: meeting.NeedsAction}}
		to.Reminders = []meeting.Reminder{
			{Before: meeting.BeforeStart, Offset: 15 * time.Minute, Channels: []meeting.Channel{meeting.SMS}},
			{Before: meeting.BeforeEnd, Offset: 5 * time.Minute, Channels: []meeting.Channel{meeting.Email}},
		}
		changed, notices := f.change(m.ID, reschedule(f, to))
		if changed.Version != 2 || changed.ScheduleVersion < 2 {
			t.Errorf("version %d, schedule version %d", changed.Version, changed.ScheduleVersion)
		}
		f.want("read", f.read(m.ID), changed)
		f.want("history", f.actions(m.ID), []meeting.Action{meeting.ActionCreated, meeting.ActionChanged})
		if len(notices) != 1 || notices[0].ID == 0 || notices[0].Kind != meeting.NoticeInvitation {
			t.Errorf("notices %+v", notices)
		}
		if _, err := f.create(terms(slot("09:00", "10:00"), f.turing), f.ben); err != nil {
			t.Errorf("the old slot is not free: %v", err)
		}
		if _, err := f.create(terms(slot("11:00", "12:00"), f.wide), f.ben); err == nil {
			t.Error("the new slot is free")
		}
	})
}

func TestUpdateMeeting_undoneByTheFunction(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		m := f.book(slot("09:00", "10:00"), f.turing)
		before := f.read(m.ID)
		oops := errors.New("oops")
		_, _, err := f.store.UpdateMeeting(t.Context(), m.ID, func(m *meeting.Meeting) error {
			return errors.Join(m.Cancel("", f.anna, now), oops)
		})
		if !errors.Is(err, oops) {
			t.Errorf("error %v", err)
		}
		f.want("read", f.read(m.ID), before)
		if _, _, err := f.store.UpdateMeeting(t.Context(), 999, func(*meeting.Meeting) error { return nil }); !errors.Is(err, meeting.ErrNotFound) {
			t.Errorf("no such meeting: %v", err)
		}
	})
}

func TestUpdateMeeting_conflictLeavesNothing(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		f.book(slot("11:00", "12:00"), f.turing)
		m := f.book(slot("09:00", "10:00"), f.turing)
		before := f.read(m.ID)
		_, _, err := f.store.UpdateMeeting(t.Context(), m.ID, reschedule(f, terms(slot("11:30", "12:30"), f.hopper, f.turing)))
		conflict, ok := errors.AsType[*meeting.ConflictError](err)
		if !ok {
			t.Fatalf("moved onto another: %v", err)
		}
		f.want("conflicts", conflict.Conflicts, []meeting.Occupancy{{RoomID: f.turing.ID, Slot: slot("11:00", "12:00")}})
		f.want("read", f.read(m.ID), before)
		f.want("history", f.actions(m.ID), []meeting.Action{meeting.ActionCreated})

		moved, _ := f.change(m.ID, reschedule(f, terms(slot("09:30", "10:30"), f.turing))) // over its own old slot
		f.want("slot", moved.Slot, slot("09:30", "10:30"))
	})
}

// Many move to one slot, each from another: one gets there, the others stay where they were.
func TestUpdateMeeting_race(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		var ids []meeting.ID
		for i := range 20 {
			s := clock.Slot{Start: at("09:00").AddDate(0, 0, i+1), End: at("10:00").AddDate(0, 0, i+1)}
			ids = append(ids, f.book(s, f.turing).ID)
		}
		errs := together(len(ids), func(i int) error {
			_, _, err := f.store.UpdateMeeting(t.Context(), ids[i], reschedule(f, terms(slot("09:00", "10:00"), f.turing)))
			return err
		})
		if won, lost := f.tally(errs); won != 1 || lost != 19 {
			t.Errorf("%d won, %d lost", won, lost)
		}
		f.want("occupancies", f.count("occupancies"), int64(20))
	})
}

// Concurrent changes of one meeting are applied one after the other.
func TestUpdateMeeting_oneAfterTheOther(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		m := f.book(slot("09:00", "10:00"), f.turing)
		errs := together(20, func(int) error {
			_, _, err := f.store.UpdateMeeting(t.Context(), m.ID, func(m *meeting.Meeting) error {
				m.Description += "x"
				m.Attendees = append(m.Attendees, meeting.Attendee{Person: meeting.Person{Email: "a@example.org"}, Response: meeting.NeedsAction})
				return nil
			})
			return err
		})
		for _, err := range errs {
			if err != nil {
				t.Error(err)
			}
		}
		got := f.read(m.ID)
		if len(got.Description) != 20 || len(got.Attendees) != 20 || got.Version != 21 || got.ScheduleVersion != 1 {
			t.Errorf("%d x, %d attendees, version %d, schedule version %d", len(got.Description), len(got.Attendees), got.Version, got.ScheduleVersion)
		}
	})
}

// The database itself raises the schedule's version, on whatever path it is changed.
func TestScheduleVersion(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		for _, c := range []struct {
			name   string
			raises bool
			change string
			args   []any
		}{
			{"start", true, "UPDATE meetings SET starts_at = ? WHERE id = ?", []any{at("08:30")}},
			{"end", true, "UPDATE meetings SET ends_at = ? WHERE id = ?", []any{at("10:30")}},
			{"deadline", true, "UPDATE meetings SET approval_deadline = ? WHERE id = ?", []any{at("08:45")}},
			{"cancelled", true, "UPDATE meetings SET status = 'cancelled' WHERE id = ?", nil},
			{"rejected", true, "UPDATE meetings SET status = 'rejected' WHERE id = ?", nil},
			{"released", true, "UPDATE meetings SET status = 'released' WHERE id = ?", nil},
			{"rooms", true, "DELETE FROM meeting_rooms WHERE meeting_id = ?", nil},
			{"same times", false, "UPDATE meetings SET starts_at = ?, ends_at = ends_at WHERE id = ?", []any{at("09:00")}},
			{"title", false, "UPDATE meetings SET title = 'x', version = version + 1 WHERE id = ?", nil},
			{"started", false, "UPDATE meetings SET status = 'in_progress' WHERE id = ?", nil},
			{"ended", false, "UPDATE meetings SET status = 'ended' WHERE id = ?", nil},
			{"raised already", true, "UPDATE meetings SET starts_at = ?, schedule_version = schedule_version + 1 WHERE id = ?", []any{at("08:30")}},
		} {
			m := f.book(slot("09:00", "10:00"), f.turing)
			f.sql(c.change, append(c.args, m.ID)...)
			want := int64(1)
			if c.raises {
				want = 2
			}
			f.want(c.name, f.read(m.ID).ScheduleVersion, want)
			f.forgets()
			f.sql("DELETE FROM meetings WHERE id = ?", m.ID) // with all that belongs to it
			f.want(c.name+": left behind", f.count("history")+f.count("occupancies")+f.count("meeting_rooms"), int64(0))
		}
	})
}

func TestUpdateMeeting_cancelledGivesTheSlotBack(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		m := f.book(slot("09:00", "10:00"), f.turing)
		cancelled, notices := f.change(m.ID, func(m *meeting.Meeting) error { return m.Cancel("ill", f.admin, now) })
		if cancelled.Status != meeting.Cancelled || cancelled.ScheduleVersion != 2 || len(notices) != 1 {
			t.Errorf("%+v, %d notices", cancelled, len(notices))
		}
		f.want("read", f.read(m.ID), cancelled)
		f.book(slot("09:00", "10:00"), f.turing)
		f.want("open reminders", f.openReminders(m.ID), 0)
	})
}

func (f *fixture) openReminders(id meeting.ID) (n int) {
	f.Helper()
	q := f.db.Gorm.WithContext(f.Context()).Raw("SELECT count(*) FROM meeting_reminders WHERE handled_at IS NULL AND meeting_id = ?", id)
	if err := q.Scan(&n).Error; err != nil {
		f.Fatal(err)
	}
	return n
}

func (f *fixture) withdrawn(id meeting.ID) (n int64) {
	f.Helper()
	if err := f.db.Gorm.WithContext(f.Context()).Model(&notified{}).Where("meeting_id = ? AND withdrawn", id).Count(&n).Error; err != nil {
		f.Fatal(err)
	}
	return n
}

// What becomes of reminders, and of those already in the outbox, when a meeting changes.
func TestUpdateMeeting_reminders(t *testing.T) {
	reminders := []meeting.Reminder{
		{Before: meeting.BeforeStart, Offset: 30 * time.Minute, Channels: []meeting.Channel{meeting.Email}},
		{Before: meeting.BeforeEnd, Offset: 5 * time.Minute, Channels: []meeting.Channel{meeting.Email}},
	}
	onBoth(t, func(t *testing.T, f *fixture) {
		for _, c := range []struct {
			name      string
			change    func(*meeting.Terms)
			at        string
			open      int  // of two; the first was sent at 8:30
			withdrawn bool // what was recorded for it
		}{
			{"title", func(t *meeting.Terms) { t.Title = "x" }, "08:31", 1, false},
			{"later", func(t *meeting.Terms) { t.Slot = slot("11:00", "12:00") }, "08:31", 2, true},
			{"a little later, past its time", func(t *meeting.Terms) { t.Slot = slot("09:10", "10:00") }, "08:45", 1, true},
			{"end of a coming one", func(t *meeting.Terms) { t.Slot = slot("09:00", "10:30") }, "08:31", 1, false},
			{"end of a running one", func(t *meeting.Terms) { t.Slot = slot("09:00", "10:30") }, "09:31", 1, true},
			{"another room", func(t *meeting.Terms) { t.Rooms = []*meeting.Room{f.hopper} }, "08:31", 1, true},
			{"one more", func(t *meeting.Terms) {
				t.Reminders = append(t.Reminders, meeting.Reminder{Before: meeting.BeforeStart, Offset: time.Minute, Channels: []meeting.Channel{meeting.SMS}})
			}, "08:31", 2, false},
			{"one more, past its time", func(t *meeting.Terms) {
				t.Reminders = append(t.Reminders, meeting.Reminder{Before: meeting.BeforeStart, Offset: time.Hour, Channels: []meeting.Channel{meeting.SMS}})
			}, "08:31", 1, false},
			{"other channels", func(t *meeting.Terms) {
				for i := range t.Reminders {
					t.Reminders[i].Channels = []meeting.Channel{meeting.SMS}
				}
			}, "08:31", 1, false},
			{"none", func(t *meeting.Terms) { t.Reminders = nil }, "08:31", 0, false},
		} {
			terms := terms(slot("09:00", "10:00"), f.turing)
			terms.Reminders = append([]meeting.Reminder(nil), reminders...)
			m, err := f.create(terms, f.anna)
			if err != nil {
				t.Fatal(err)
			}
			ref := meeting.ReminderRef{Ref: meeting.Ref{ID: m.ID, Version: 1}, Before: meeting.BeforeStart, Offset: 30 * time.Minute}
			if _, _, err := f.store.Remind(t.Context(), []meeting.ReminderRef{ref}, at("08:30"), remindNotices(at("08:30"))); err != nil {
				t.Fatal(err)
			}
			c.change(&terms)
			f.change(m.ID, func(m *meeting.Meeting) error {
				_, err := revise(m, terms, f.anna, at(c.at))
				return err
			})
			f.want(c.name+": open", f.openReminders(m.ID), c.open)
			f.want(c.name+": withdrawn", f.withdrawn(m.ID) > 0, c.withdrawn)
			f.change(m.ID, func(m *meeting.Meeting) error { m.Status, m.Occupied = meeting.Cancelled, nil; return nil })
		}
	})
}

func remindNotices(at time.Time) func(*meeting.Meeting, meeting.ReminderRef) []meeting.Notice {
	return func(m *meeting.Meeting, ref meeting.ReminderRef) []meeting.Notice {
		r, _ := m.Reminder(ref.Before, ref.Offset)
		return m.RemindNotices(r, at)
	}
}

// A reminder that falls due in the moment of an unrelated change is not lost.
func TestUpdateMeeting_keepsADueReminder(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		m := f.book(slot("09:00", "10:00"), f.turing) // reminder at 8:45
		f.change(m.ID, func(m *meeting.Meeting) error {
			m.UpdatedAt = at("08:46")
			m.Title = "x"
			return nil
		})
		f.want("open", f.openReminders(m.ID), 1)
	})
}

// A request that is confirmed after the time of a reminder does not send it.
func TestUpdateMeeting_confirmedLate(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		r := f.room("Asked", func(r *meeting.Room) { r.Approval.Required = true; r.Approval.ApproverIDs = []int64{f.manager.ID} })
		m := f.book(slot("09:00", "10:00"), r)
		f.want("open", f.openReminders(m.ID), 1)
		confirmed, _ := f.change(m.ID, func(m *meeting.Meeting) error {
			return m.Approve(plan(meeting.Actor{}, r), "fine", f.manager, at("08:50"))
		})
		f.want("open", f.openReminders(m.ID), 0)
		f.want("read", f.read(m.ID), confirmed)
		f.want("history", f.actions(m.ID), []meeting.Action{meeting.ActionCreated, meeting.ActionConfirmed})
	})
}
