package gormstore_test

import (
	"testing"
	"time"

	"punctual/meeting"
	"punctual/meeting/clock"
)

func TestStartAndEnd(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		day := func(i int) clock.Slot {
			return clock.Slot{Start: at("09:00").AddDate(0, 0, i), End: at("10:00").AddDate(0, 0, i)}
		}
		coming := f.book(day(0), f.turing)
		moved := f.book(day(1), f.turing)
		f.change(moved.ID, reschedule(f, terms(day(2), f.turing)))
		cancelled := f.book(day(3), f.turing)
		f.change(cancelled.ID, func(m *meeting.Meeting) error { return m.Cancel("", f.anna, now) })
		over := f.book(clock.Slot{Start: at("08:30"), End: at("08:45")}, f.hopper)
		request := f.book(day(4), f.room("Asked", func(r *meeting.Room) { r.Approval.Required = true }))

		refs := []meeting.Ref{
			{ID: request.ID, Version: 1}, {ID: coming.ID, Version: 1}, {ID: moved.ID, Version: 1}, {ID: cancelled.ID, Version: 1},
			{ID: 999, Version: 1}, {ID: over.ID, Version: 1}, {ID: coming.ID, Version: 7},
		}
		stale, applied, done := meeting.Stale, meeting.Applied, meeting.Done
		outcomes, err := f.store.Start(t.Context(), refs, at("09:00"))
		if err != nil {
			t.Fatal(err)
		}
		// A meeting that has passed its end is left to the job that ends it.
		f.want("start", outcomes, []meeting.Outcome{stale, applied, stale, stale, stale, done, stale})
		got := f.read(coming.ID)
		if got.Status != meeting.InProgress || !got.StartedAt.Equal(at("09:00")) || got.Version != 2 || got.ScheduleVersion != 1 {
			t.Errorf("started: %+v", got)
		}
		entries, _, err := f.store.History(t.Context(), coming.ID, meeting.Page{})
		if err != nil {
			t.Fatal(err)
		}
		f.want("entry", entries[1], meeting.Entry{ID: entries[1].ID, At: at("09:00"), Action: meeting.ActionStarted, Actor: meeting.Actor{Kind: meeting.ActorTimer, Name: meeting.JobStart},
			Changes: map[string]meeting.Change{"status": {From: "confirmed", To: "in_progress"}}})

		outcomes, err = f.store.Start(t.Context(), refs, at("09:01"))
		if err != nil {
			t.Fatal(err)
		}
		f.want("start again", outcomes, []meeting.Outcome{stale, done, stale, stale, stale, done, stale})
		f.want("read", f.read(coming.ID), got)

		outcomes, err = f.store.End(t.Context(), refs, at("10:00"))
		if err != nil {
			t.Fatal(err)
		}
		f.want("end", outcomes, []meeting.Outcome{stale, applied, stale, stale, stale, applied, stale})
		outcomes, err = f.store.End(t.Context(), refs, at("10:01"))
		if err != nil {
			t.Fatal(err)
		}
		f.want("end again", outcomes, []meeting.Outcome{stale, done, stale, stale, stale, done, stale})
		outcomes, err = f.store.Start(t.Context(), refs[1:2], at("10:02"))
		if err != nil {
			t.Fatal(err)
		}
		f.want("start after the end", outcomes, []meeting.Outcome{done})
		f.want("history", f.actions(coming.ID), []meeting.Action{meeting.ActionCreated, meeting.ActionStarted, meeting.ActionEnded})
		if got := f.read(over.ID); got.Status != meeting.Ended || len(got.Occupied) != 1 || !got.EndedAt.Equal(at("10:00")) {
			t.Errorf("ended: %+v", got)
		}
		if outcomes, err := f.store.Start(t.Context(), nil, now); err != nil || len(outcomes) != 0 {
			t.Errorf("nothing to start: %v, %v", outcomes, err)
		}
	})
}

// A meeting to which nobody checked in does not end: it is left to the job that releases it,
// also when that comes late.
func TestEnd_notWhereNobodyCame(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		lounge := f.room("Lounge", func(r *meeting.Room) { r.CheckIn = meeting.CheckIn{Required: true, Grace: 10 * time.Minute} })
		for i, started := range []bool{false, true} {
			from := at("09:00").AddDate(0, 0, i)
			m := f.book(clock.Slot{Start: from, End: from.Add(time.Hour)}, lounge)
			ref := meeting.Ref{ID: m.ID, Version: m.ScheduleVersion}
			if started {
				if _, err := f.store.Start(t.Context(), []meeting.Ref{ref}, from); err != nil {
					t.Fatal(err)
				}
			}
			outcomes, err := f.store.End(t.Context(), []meeting.Ref{ref}, m.Slot.End)
			if err != nil {
				t.Fatal(err)
			}
			f.want("its end", outcomes, []meeting.Outcome{meeting.Done})
			l := newLine(f)
			l.clock = m.Slot.End.Add(time.Minute)
			if outcomes, err = l.svc.ReleaseNoShows(t.Context(), ref); err != nil {
				t.Fatal(err)
			}
			f.want("its release", outcomes, []meeting.Outcome{meeting.Applied})
			got := f.read(m.ID)
			actions := f.actions(m.ID)
			if got.Status != meeting.Released || len(got.Occupied) != 0 || actions[len(actions)-1] != meeting.ActionReleased {
				t.Errorf("%s, holds %v, history %v", got.Status, got.Occupied, actions)
			}
		}
	})
}

// Two instances get the same batch: each meeting starts once.
func TestStart_twoAtOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		const n = 200
		f.bulk(n)
		refs := make([]meeting.Ref, n)
		back := make([]meeting.Ref, n)
		for i := range refs {
			refs[i] = meeting.Ref{ID: int64(i + 1), Version: 1}
			back[n-1-i] = refs[i]
		}
		applied := make([]int, 4)
		errs := together(4, func(i int) error {
			batch := refs
			if i%2 == 1 {
				batch = back
			}
			outcomes, err := f.store.Start(t.Context(), batch, at("09:00"))
			for _, o := range outcomes {
				switch o {
				case meeting.Applied:
					applied[i]++
				case meeting.Stale:
					t.Errorf("stale")
				}
			}
			return err
		})
		for _, err := range errs {
			if err != nil {
				t.Error(err)
			}
		}
		f.want("applied", applied[0]+applied[1]+applied[2]+applied[3], n)
		f.want("history", f.count("history"), int64(n))
	})
}

// bulk makes n confirmed meetings of nine o'clock with ids from 1, quickly.
func (f *fixture) bulk(n int) {
	f.Helper()
	f.sql(`WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM s WHERE i < ?)
		INSERT INTO meetings (id, title, starts_at, ends_at, timezone, organizer_id, status, visibility, created_at, updated_at)
		SELECT i, 'Meeting', CAST(? AS timestamptz), CAST(? AS timestamptz), 'UTC', ?, 'confirmed', 'public', CAST(? AS timestamptz), CAST(? AS timestamptz) FROM s`,
		n, at("09:00"), at("10:00"), f.anna.ID, now, now)
	if f.db.Dialect == "postgres" {
		f.sql("SELECT setval(pg_get_serial_sequence('meetings', 'id'), ?)", n)
		f.sql("ANALYZE meetings")
	}
}

func TestRemind(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		with := terms(slot("09:00", "10:00"), f.turing)
		with.Attendees = []meeting.Attendee{{Person: meeting.Person{Email: "b@example.org"}, Response: meeting.NeedsAction}}
		m, err := f.create(with, f.anna)
		if err != nil {
			t.Fatal(err)
		}
		cancelled := f.book(slot("09:00", "10:00"), f.hopper)
		f.change(cancelled.ID, func(m *meeting.Meeting) error { return m.Cancel("", f.anna, now) })
		ended := f.book(slot("08:30", "08:40"), f.hopper)
		f.sql("UPDATE meeting_reminders SET handled_at = NULL WHERE meeting_id = ?", ended.ID)
		f.sql("UPDATE meetings SET status = 'ended' WHERE id = ?", ended.ID)

		ref := func(id, version int64, offset time.Duration) meeting.ReminderRef {
			return meeting.ReminderRef{Ref: meeting.Ref{ID: id, Version: version}, Before: meeting.BeforeStart, Offset: offset}
		}
		refs := []meeting.ReminderRef{
			ref(m.ID, 1, 15*time.Minute), ref(m.ID, 1, time.Hour), ref(m.ID, 2, 15*time.Minute),
			ref(cancelled.ID, 2, 15*time.Minute), ref(999, 1, 15*time.Minute), ref(ended.ID, 1, 15*time.Minute),
		}
		due := at("08:45")
		outcomes, notices, err := f.store.Remind(t.Context(), refs, due, remindNotices(due))
		if err != nil {
			t.Fatal(err)
		}
		stale, applied, done := meeting.Stale, meeting.Applied, meeting.Done
		f.want("outcomes", outcomes, []meeting.Outcome{applied, stale, stale, stale, stale, applied})
		if len(notices) != 3 {
			t.Fatalf("%d notices: %+v", len(notices), notices)
		}
		for _, n := range notices {
			if n.ID == 0 || n.Late != (n.MeetingID == ended.ID) {
				t.Errorf("notice %+v", n)
			}
		}
		outcomes, notices, err = f.store.Remind(t.Context(), refs, due, remindNotices(due))
		if err != nil || len(notices) != 0 {
			t.Fatalf("again: %v, %+v", err, notices)
		}
		f.want("outcomes again", outcomes, []meeting.Outcome{done, stale, stale, stale, stale, done})

		// Even a row that is open again records nothing new.
		f.sql("UPDATE meeting_reminders SET handled_at = NULL")
		outcomes, notices, err = f.store.Remind(t.Context(), refs[:1], due, remindNotices(due))
		if err != nil || len(notices) != 2 || notices[0].ID != 0 || notices[1].ID != 0 || outcomes[0] != applied {
			t.Errorf("a third time: %v, %v, %+v", outcomes, err, notices)
		}
	})
}

func TestRemind_twoAtOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		var refs []meeting.ReminderRef
		for i := range 30 {
			m := f.book(clock.Slot{Start: at("09:00").AddDate(0, 0, i), End: at("10:00").AddDate(0, 0, i)}, f.turing)
			refs = append(refs, meeting.ReminderRef{Ref: meeting.Ref{ID: m.ID, Version: 1}, Before: meeting.BeforeStart, Offset: 15 * time.Minute})
		}
		recorded := make([]int, 4)
		errs := together(4, func(i int) error {
			_, ns, err := f.store.Remind(t.Context(), refs, now, remindNotices(now))
			for _, n := range ns {
				if n.ID != 0 {
					recorded[i]++
				}
			}
			return err
		})
		for _, err := range errs {
			if err != nil {
				t.Error(err)
			}
		}
		f.want("recorded", recorded[0]+recorded[1]+recorded[2]+recorded[3], 30)
	})
}

// A move that meets the sending of a reminder: either the reminder went first, or it is stale.
func TestRemind_againstAMove(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		for i := range 10 {
			day := func(clock string) time.Time { return at(clock).AddDate(0, 0, i) }
			m := f.book(clock.Slot{Start: day("09:00"), End: day("10:00")}, f.turing)
			var outcomes []meeting.Outcome
			errs := together(2, func(i int) (err error) {
				if i == 0 {
					_, _, err = f.store.UpdateMeeting(t.Context(), m.ID, reschedule(f, terms(clock.Slot{Start: day("11:00"), End: day("12:00")}, f.turing)))
					return err
				}
				ref := meeting.ReminderRef{Ref: meeting.Ref{ID: m.ID, Version: 1}, Before: meeting.BeforeStart, Offset: 15 * time.Minute}
				outcomes, _, err = f.store.Remind(t.Context(), []meeting.ReminderRef{ref}, day("08:45"), remindNotices(day("08:45")))
				return err
			})
			if errs[0] != nil || errs[1] != nil {
				t.Fatal(errs)
			}
			f.want("open, whoever was first", f.openReminders(m.ID), 1)
			f.want("withdrawn if it was recorded", f.withdrawn(m.ID) == 1, outcomes[0] == meeting.Applied)
		}
	})
}
