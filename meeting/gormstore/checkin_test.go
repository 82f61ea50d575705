package gormstore_test

import (
	"slices"
	"testing"
	"time"

	"punctual/meeting"
	"punctual/meeting/clock"
	"punctual/meeting/places"
	"punctual/meeting/recurrence"
)

func lounge(r *meeting.Room) {
	r.CheckIn = meeting.CheckIn{Required: true, Opens: 15 * time.Minute, Grace: 10 * time.Minute}
}

func TestNoShow_isDueAndSeen(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		room := f.room("Lounge", lounge)
		missed := f.book(slot("09:00", "10:00"), room)
		came := f.book(slot("10:00", "11:00"), room)
		f.change(came.ID, func(m *meeting.Meeting) error { _, err := m.Arrive(f.anna, at("10:00")); return err })
		unasked := f.book(slot("09:00", "10:00"), f.turing)
		if got := f.read(missed.ID); !got.CheckIn.Equal(missed.CheckIn) || !got.CheckIn.Until.Equal(at("09:10")) {
			t.Errorf("read %+v, want %+v", got.CheckIn, missed.CheckIn)
		}

		due, err := f.store.Due(t.Context(), meeting.JobNoShow, time.Time{}, at("12:00"), meeting.DueCursor{}, 10)
		if err != nil || len(due) != 1 || due[0].Cursor.ID != missed.ID || !due[0].Due.Equal(at("09:10")) {
			t.Errorf("due %+v, %v", due, err)
		}
		list := func(clock string, s meeting.Status) []meeting.ID {
			ms, _, err := f.store.ListMeetings(t.Context(), meeting.MeetingQuery{Statuses: []meeting.Status{s}, Now: at(clock)}, meeting.Page{})
			if err != nil {
				t.Fatal(err)
			}
			var ids []meeting.ID
			for _, m := range ms {
				if m.EffectiveStatus(at(clock)) != s {
					t.Errorf("at %s the list of %s has one that is %s", clock, s, m.EffectiveStatus(at(clock)))
				}
				ids = append(ids, m.ID)
			}
			slices.Sort(ids)
			return ids
		}
		f.want("in progress at 9:09", list("09:09", meeting.InProgress), []meeting.ID{missed.ID, unasked.ID})
		f.want("released at 9:09", list("09:09", meeting.Released), []meeting.ID(nil))
		f.want("in progress at 9:10", list("09:10", meeting.InProgress), []meeting.ID{unasked.ID})
		f.want("released at 9:10", list("09:10", meeting.Released), []meeting.ID{missed.ID})
		f.want("in progress at 10:30", list("10:30", meeting.InProgress), []meeting.ID{came.ID})
		f.want("ended at 10:30", list("10:30", meeting.Ended), []meeting.ID{unasked.ID})
		f.want("still released at 10:30", list("10:30", meeting.Released), []meeting.ID{missed.ID})

		f.change(missed.ID, func(m *meeting.Meeting) error {
			return m.Forfeit(0, nil, meeting.Timer(meeting.JobNoShow), at("09:10"))
		})
		f.want("released, then, at 10:30", list("10:30", meeting.Released), []meeting.ID{missed.ID})
		f.book(slot("09:15", "10:00"), room)
	})
}

// When a room begins to ask for it, coming meetings are expected to check in, but none that
// has begun; and their messages follow. Of one that has begun less is asked, never more.
func TestUpdateRoom_checkIn(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		began := f.book(slot("09:00", "11:00"), f.turing)
		coming := f.book(slot("11:00", "12:00"), f.turing)
		both := f.book(slot("12:00", "13:00"), f.turing, f.room("Lounge", lounge))
		elsewhere := f.book(slot("12:00", "13:00"), f.hopper)
		cancelled := f.book(slot("14:00", "15:00"), f.turing)
		f.change(cancelled.ID, func(m *meeting.Meeting) error { return m.Cancel("", f.anna, now) })

		set := func(c meeting.CheckIn) {
			t.Helper()
			_, err := f.store.UpdateRoom(t.Context(), f.turing.ID, func(r *meeting.Room) error {
				r.CheckIn, r.UpdatedAt = c, at("09:30")
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		until := func(m *meeting.Meeting) string {
			if got := f.read(m.ID).CheckIn.Until; !got.IsZero() {
				return got.Format("15:04")
			}
			return ""
		}
		all := func() []string {
			return []string{until(began), until(coming), until(both), until(elsewhere), until(cancelled)}
		}
		set(meeting.CheckIn{Required: true, Opens: 30 * time.Minute, Grace: 20 * time.Minute})
		f.want("switched on", all(), []string{"", "11:20", "12:20", "", ""})
		got := f.read(coming.ID)
		if got.ScheduleVersion != 2 || got.Version != 2 || !got.CheckIn.Opens.Equal(at("10:30")) {
			t.Errorf("coming: %+v", got)
		}
		set(meeting.CheckIn{Required: true, Opens: 30 * time.Minute, Grace: 20 * time.Minute})
		if again := f.read(coming.ID); again.Version != got.Version {
			t.Error("the same setting changed the meeting")
		}
		waits := f.book(slot("09:25", "10:25"), f.room("Porch", lounge))
		f.sql("UPDATE meeting_rooms SET room_id = ? WHERE meeting_id = ?", f.turing.ID, waits.ID)
		f.sql("UPDATE meetings SET status = 'in_progress' WHERE id = ?", waits.ID)
		for _, grace := range []int{1, 20, 15} {
			set(meeting.CheckIn{Required: true, Opens: 30 * time.Minute, Grace: time.Duration(grace) * time.Minute})
			if want := map[int]string{1: "09:35", 20: "09:45", 15: "09:45"}[grace]; until(waits) != want {
				t.Errorf("a grace of %d minutes, for one that has begun: until %s, want %s", grace, until(waits), want)
			}
		}
		f.want("a shorter grace", all(), []string{"", "11:15", "12:15", "", ""})
		got = f.read(coming.ID)

		set(meeting.CheckIn{})
		f.want("one that has begun is let off", until(waits), "")
		f.want("switched off", all(), []string{"", "", "12:10", "", ""})
		if off := f.read(coming.ID); off.ScheduleVersion != got.ScheduleVersion+1 {
			t.Errorf("coming: %+v", off)
		}
	})
}

// Rooms that say nothing of their own follow the installation, and so do their meetings.
func TestFollowCheckIn(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		l := newLine(f)
		l.settings.CheckIn = meeting.CheckIn{Opens: 15 * time.Minute, Grace: 10 * time.Minute}
		create := func(fields places.RoomFields) *meeting.Room {
			t.Helper()
			r, err := l.svc.places.CreateRoom(t.Context(), f.admin, fields)
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		follows := create(places.RoomFields{Name: new("Follows")})
		own := create(places.RoomFields{Name: new("Own"), CheckInRequired: new(false)})
		later := create(places.RoomFields{Name: new("Later"), CheckInGrace: new(time.Minute)})
		ms := []*meeting.Meeting{f.book(slot("10:00", "11:00"), follows), f.book(slot("10:00", "11:00"), own), f.book(slot("10:00", "11:00"), later)}
		until := func() (all []string) {
			for _, m := range ms {
				got := f.read(m.ID).CheckIn.Until
				if got.IsZero() {
					all = append(all, "")
				} else {
					all = append(all, got.Format("15:04"))
				}
			}
			return all
		}
		follow := func(c meeting.CheckIn, want int) {
			t.Helper()
			l.settings.CheckIn = c
			if n, err := l.svc.places.FollowCheckIn(t.Context()); n != want || err != nil {
				t.Errorf("%d rooms, %v; want %d", n, err, want)
			}
		}
		strict := meeting.CheckIn{Required: true, Opens: 5 * time.Minute, Grace: 20 * time.Minute}
		follow(strict, 1)
		follow(strict, 0)
		f.want("switched on", until(), []string{"10:20", "", ""})
		if h, _, err := f.store.History(t.Context(), ms[0].ID, meeting.Page{}); err != nil || h[len(h)-1].Reason != meeting.ReasonRoomCheckIn {
			t.Errorf("history %+v, %v", h, err)
		}

		patch := func(r *meeting.Room, fields places.RoomFields) *meeting.Room {
			t.Helper()
			r, err := l.svc.places.UpdateRoom(t.Context(), f.admin, r.ID, nil, fields)
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		if r := patch(follows, places.RoomFields{CheckInGrace: new(20 * time.Minute)}); !r.Inherits {
			t.Error("what it has already is not its own")
		}
		if r := patch(later, places.RoomFields{InheritCheckIn: true}); !r.Inherits || r.CheckIn != strict {
			t.Errorf("begins to follow: %+v", r)
		}
		f.want("another follows", until(), []string{"10:20", "", "10:20"})
		if r := patch(follows, places.RoomFields{CheckInGrace: new(30 * time.Minute)}); r.Inherits || !r.CheckIn.Required {
			t.Errorf("on its own: %+v", r)
		}
		follow(meeting.CheckIn{}, 1)
		f.want("switched off", until(), []string{"10:30", "", ""})
	})
}

func TestListSeries_flagged(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		series := func(title string, statuses ...meeting.Status) {
			t.Helper()
			s := &meeting.Series{
				Title: title, Organizer: meeting.Person{UserID: f.anna.ID}, Timezone: "UTC", Start: at("09:00").AddDate(0, 0, -10), End: at("10:00").AddDate(0, 0, -10),
				RoomIDs: []int64{f.turing.ID}, Visibility: meeting.Public, CreatedAt: now, UpdatedAt: now,
			}
			rule, faults := recurrence.ParseRule("FREQ=DAILY;COUNT=5")
			if len(faults) > 0 {
				t.Fatal(faults)
			}
			s.Rule = rule
			c := &meeting.SeriesChange{Series: s}
			for i := range statuses {
				m := bookAt(terms(clock.Slot{Start: s.Start.AddDate(0, 0, i), End: s.End.AddDate(0, 0, i)}, f.room(title+string(rune('0'+i)))), f.anna, now)
				m.OriginalStart = m.Slot.Start
				c.Create = append(c.Create, m)
			}
			if _, err := f.store.SaveSeries(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			for i, status := range statuses {
				f.sql("UPDATE meetings SET status = ? WHERE id = ?", string(status), c.Create[i].ID)
			}
		}
		r, e := meeting.Released, meeting.Ended
		series("forgotten", e, r, r, r)
		series("once", r, r, e, r)
		series("never", r, r, r, r)
		series("awaited", r, r, r, meeting.InProgress)
		series("found", r, r, r, meeting.InProgress)
		f.sql("UPDATE meetings SET no_show_at = ends_at WHERE status = 'in_progress'")
		f.sql("UPDATE meetings SET checked_in_at = starts_at WHERE status = 'in_progress' AND series_id = (SELECT id FROM series WHERE title = 'found')")
		list := func(q meeting.SeriesQuery, p meeting.Page) ([]string, string) {
			t.Helper()
			found, next, err := f.store.ListSeries(t.Context(), q, p)
			if err != nil {
				t.Fatal(err)
			}
			var titles []string
			for _, s := range found {
				titles = append(titles, s.Title)
			}
			return titles, next
		}
		flagged, _ := list(meeting.SeriesQuery{Flagged: true}, meeting.Page{})
		f.want("flagged", flagged, []string{"awaited", "never", "forgotten"})
		first, next := list(meeting.SeriesQuery{OrganizerID: f.anna.ID}, meeting.Page{Limit: 2})
		second, end := list(meeting.SeriesQuery{OrganizerID: f.anna.ID}, meeting.Page{Limit: 2, Cursor: next})
		f.want("pages", append(first, second...), []string{"found", "awaited", "never", "once"})
		last, end := list(meeting.SeriesQuery{OrganizerID: f.anna.ID}, meeting.Page{Limit: 2, Cursor: end})
		f.want("last page", last, []string{"forgotten"})
		none, _ := list(meeting.SeriesQuery{OrganizerID: f.ben.ID}, meeting.Page{})
		if end != "" || none != nil {
			t.Errorf("after the end %q; of somebody else %v", end, none)
		}
	})
}
