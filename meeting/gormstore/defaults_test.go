package gormstore_test

import (
	"testing"
	"time"

	"punctual/meeting"
	"punctual/meeting/clock"
)

func TestFollowReminders(t *testing.T) {
	reminder := func(before meeting.Anchor, offset time.Duration, channels ...meeting.Channel) meeting.Reminder {
		return meeting.Reminder{Before: before, Offset: offset, Channels: channels}
	}
	onBoth(t, func(t *testing.T, f *fixture) {
		first := []meeting.Reminder{reminder(meeting.BeforeStart, 30*time.Minute, meeting.Email), reminder(meeting.BeforeEnd, 5*time.Minute, meeting.Email)}
		follow := func(s clock.Slot, r *meeting.Room) *meeting.Meeting {
			terms := terms(s, r)
			terms.Reminders, terms.DefaultReminders = first, true
			m, err := f.create(terms, f.anna)
			if err != nil {
				t.Fatal(err)
			}
			return m
		}
		m := follow(slot("09:00", "10:00"), f.turing)
		over := follow(slot("08:10", "08:20"), f.turing)
		own := f.book(slot("09:00", "10:00"), f.hopper)
		cancelled := follow(slot("11:00", "12:00"), f.turing)
		f.change(cancelled.ID, func(m *meeting.Meeting) error { return m.Cancel("", f.anna, now) })
		before := f.read(own.ID)

		ref := meeting.ReminderRef{Ref: meeting.Ref{ID: m.ID, Version: 1}, Before: meeting.BeforeStart, Offset: 30 * time.Minute}
		if _, ns, err := f.store.Remind(t.Context(), []meeting.ReminderRef{ref}, at("08:30"), remindNotices(at("08:30"))); err != nil || len(ns) != 1 {
			t.Fatal(ns, err)
		}
		set := func(clock string, want int, rs ...meeting.Reminder) {
			t.Helper()
			changed, after := 0, meeting.ID(0)
			for {
				n, last, err := f.store.FollowReminders(t.Context(), rs, at(clock), after, 1) // as if each step were the last before a crash
				if err != nil || n > 1 {
					t.Fatal(n, err)
				}
				if last == 0 {
					break
				}
				changed, after = changed+n, last
			}
			f.want("changed", changed, want)
			f.want("reminders", f.read(m.ID).Reminders, append([]meeting.Reminder(nil), rs...))
		}
		set("08:31", 0, first...)
		set("08:31", 1, reminder(meeting.BeforeStart, 30*time.Minute, meeting.SMS), reminder(meeting.BeforeStart, 10*time.Minute, meeting.Email))
		f.want("open: the new one alone", f.openReminders(m.ID), 1)
		set("08:31", 1)
		set("08:31", 1, first...)
		f.want("open: what was sent is not open again", f.openReminders(m.ID), 1)
		got := f.read(m.ID)
		f.want("schedule version", got.ScheduleVersion, int64(1))
		f.want("version", got.Version, int64(4))
		f.want("history", f.actions(m.ID), []meeting.Action{meeting.ActionCreated, meeting.ActionChanged, meeting.ActionChanged, meeting.ActionChanged})
		entries, _, err := f.store.History(t.Context(), m.ID, meeting.Page{})
		if err != nil {
			t.Fatal(err)
		}
		f.want("what changed", entries[1], meeting.Entry{
			ID: entries[1].ID, At: at("08:31"), Action: meeting.ActionChanged, Reason: meeting.ReasonDefaultReminders,
			Actor: meeting.Actor{Kind: meeting.ActorSystem, Name: "configuration"},
			Changes: map[string]meeting.Change{"reminders": {
				From: []any{"30m before start by email", "5m before end by email"}, To: []any{"30m before start by sms", "10m before start by email"},
			}},
		})

		outcomes, _, err := f.store.Remind(t.Context(), []meeting.ReminderRef{
			{Ref: ref.Ref, Before: meeting.BeforeStart, Offset: 10 * time.Minute}, ref,
		}, at("08:50"), remindNotices(at("08:50")))
		if err != nil {
			t.Fatal(err)
		}
		f.want("messages of those taken out, and put back", outcomes, []meeting.Outcome{meeting.Stale, meeting.Done})
		f.want("follows other reminders", f.read(own.ID), before)
		f.want("over", f.read(over.ID).Version, int64(1))
		f.want("cancelled", f.read(cancelled.ID).Version, int64(2))
	})
}
