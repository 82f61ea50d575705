package gormstore_test

import (
	"testing"
	"time"

	"punctual/meeting"
	"punctual/meeting/clock"
	"punctual/meeting/report"
)

func TestRoomUse(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		site := &meeting.Site{Name: "Here", Timezone: "Asia/Tokyo", CreatedAt: now, UpdatedAt: now}
		if err := f.store.CreateSite(t.Context(), site); err != nil {
			t.Fatal(err)
		}
		small := f.room("Small", func(r *meeting.Room) { r.SiteID, r.Capacity = site.ID, 4 })
		plain := f.room("Plain", func(r *meeting.Room) { r.Timezone, r.Capacity = "", 0 })
		hour := func(n int) time.Time { return now.Truncate(24 * time.Hour).Add(time.Duration(24+n) * time.Hour) }
		span := clock.Slot{Start: hour(0), End: hour(24)}
		book := func(from, to int, rooms ...*meeting.Room) meeting.ID {
			t.Helper()
			return f.book(clock.Slot{Start: hour(from), End: hour(to)}, rooms...).ID
		}
		set := func(id meeting.ID, what string, args ...any) {
			f.sql("UPDATE meetings SET "+what+" WHERE id = ?", append(args, id)...)
		}

		over := book(-2, 2, small)   // two hours of it in the span
		early := book(3, 6, small)   // ended after an hour
		missed := book(8, 10, small) // nobody came
		gone := book(12, 13, small)  // called off
		late := book(20, 26, small)  // four hours of it in the span, one of them by now
		both := book(14, 15, small, plain)
		book(30, 31, small) // after the span
		set(over, "status = 'ended', ended_at = ?", hour(2))
		set(early, "status = 'ended', ended_at = ?", hour(4))
		set(missed, "status = 'released', no_show_at = ?, ended_at = ?", hour(9), hour(9))
		set(gone, "status = 'cancelled'")
		set(late, "status = 'in_progress', no_show_at = ?, checked_in_at = ?", hour(21), hour(20))
		set(both, "status = 'ended', no_show_at = ?, ended_at = ?", hour(15), hour(15)) // nobody checked in
		persons := f.read(early)
		extra := int(1 + len(persons.Attendees))

		use := func(group report.Grouping) map[int64]report.RoomUse {
			t.Helper()
			us, err := f.store.RoomUse(t.Context(), report.Query{Group: group, Span: span}, hour(21))
			if err != nil {
				t.Fatal(err)
			}
			got := map[int64]report.RoomUse{}
			for _, u := range us {
				got[u.ID] = u
			}
			return got
		}
		inSmall := report.RoomUse{
			Booked: 12 * time.Hour, Used: 4 * time.Hour, Freed: 3 * time.Hour, Meetings: 5, NoShows: 1, Cancelled: 1, Counted: 5, Persons: 5 * extra, Seated: 5 * extra, SeatedMeetings: 5, Seats: 20,
		}
		inPlain := report.RoomUse{Booked: time.Hour, Meetings: 1, Counted: 1, Persons: extra}
		of := func(u report.RoomUse, id int64) report.RoomUse { u.ID = id; return u }
		f.want("by room", use(report.ByRoom), map[int64]report.RoomUse{small.ID: of(inSmall, small.ID), plain.ID: of(inPlain, plain.ID)})
		f.want("by site", use(report.BySite), map[int64]report.RoomUse{site.ID: of(inSmall, site.ID), 0: inPlain})

		// How many come to a private meeting is for admins.
		set(early, "visibility = 'private'")
		public := of(inSmall, small.ID)
		public.Counted, public.Persons, public.Seated, public.SeatedMeetings, public.Seats = 4, 4*extra, 4*extra, 4, 16
		f.want("without private ones", use(report.ByRoom)[small.ID], public)
		all, err := f.store.RoomUse(t.Context(), report.Query{Group: report.BySite, Span: span, Private: true}, hour(21))
		if err != nil || len(all) != 2 || all[0].Persons+all[1].Persons != 6*extra {
			t.Errorf("for admins: %+v, %v", all, err)
		}
		set(early, "visibility = 'public'")

		// Midnight in Tokyo is 15:00 UTC. A meeting counts on the day on which it begins, its time where it is.
		us, err := f.store.RoomUse(t.Context(), report.Query{Group: report.ByDay, Span: span, Zone: "UTC"}, hour(21))
		if err != nil {
			t.Fatal(err)
		}
		today, tomorrow := hour(0).Format(time.DateOnly), hour(24).Format(time.DateOnly)
		got := map[string]report.RoomUse{}
		for _, u := range us {
			got[u.Day] = u
		}
		f.want("by day", got, map[string]report.RoomUse{
			today:    {Day: today, Booked: 9 * time.Hour, Used: 3 * time.Hour, Freed: 3 * time.Hour, Meetings: 5, NoShows: 1, Cancelled: 1, Counted: 5, Persons: 5 * extra, Seated: 4 * extra, SeatedMeetings: 4, Seats: 16},
			tomorrow: {Day: tomorrow, Booked: 4 * time.Hour, Used: time.Hour, Meetings: 1, Counted: 1, Persons: extra, Seated: extra, SeatedMeetings: 1, Seats: 4},
		})

		rooms, err := f.store.ReportedRooms(t.Context(), 0, true)
		if err != nil {
			t.Fatal(err)
		}
		zones := map[string]string{}
		for _, r := range rooms {
			zones[r.Name] = r.Zone
		}
		if zones["Small"] != "Asia/Tokyo" || zones["Plain"] != "" {
			t.Errorf("zones: %v", zones)
		}
	})
}

func TestPunctuality(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		for i, late := range []time.Duration{0, 2 * time.Millisecond, 400 * time.Millisecond, 3 * time.Second} {
			s := clock.Slot{Start: now.Add(time.Duration(10+i) * time.Hour), End: now.Add(time.Duration(11+i) * time.Hour)}
			m := f.book(s)
			f.sql("UPDATE meetings SET status = 'ended', started_at = ?, ended_at = ? WHERE id = ?", s.Start.Add(late), s.End.Add(late-time.Second), m.ID)
		}
		span := clock.Slot{Start: now, End: now.Add(100 * time.Hour)}
		started, ended, err := f.store.Punctuality(t.Context(), span, []time.Duration{time.Millisecond, time.Second})
		if err != nil {
			t.Fatal(err)
		}
		f.want("started", started, report.Lateness{Counts: []int64{1, 2, 1}, Max: 3 * time.Second})
		f.want("ended", ended, report.Lateness{Counts: []int64{0, 0, 1}, Max: 2 * time.Second})
	})
}
