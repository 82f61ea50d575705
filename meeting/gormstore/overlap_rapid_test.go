package gormstore_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"punctual/meeting"
	"punctual/meeting/clock"
	"punctual/meeting/report"
)

// Whatever lengths meetings have, from minutes to years, each reading of a span finds those that
// overlap it and no others, in whatever pages.
func TestSpans_agreeWithReference(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		site := &meeting.Site{Name: "Site", CreatedAt: now, UpdatedAt: now}
		if err := f.store.CreateSite(t.Context(), site); err != nil {
			t.Fatal(err)
		}
		var booked []*meeting.Meeting
		for i := range 12 {
			room := f.room(fmt.Sprint("Room ", i), func(r *meeting.Room) { r.SiteID = site.ID })
			m, err := f.create(terms(slot("09:00", "10:00"), room), []meeting.Actor{f.anna, f.ben}[i%2])
			if err != nil {
				t.Fatal(err)
			}
			booked = append(booked, m)
		}
		var rooms []int64
		for _, m := range booked {
			rooms = append(rooms, m.RoomIDs[0])
		}
		const day = 24 * time.Hour
		lengths := []time.Duration{time.Minute, time.Hour, day, 4 * day, 16 * day, 64 * day, 256 * day, 366 * day, 2000 * day}
		little := []time.Duration{-time.Second, -time.Microsecond, 0, time.Microsecond, time.Hour}
		over := time.Now().Add(2 * time.Second)
		rapid.Check(t, func(t *rapid.T) {
			if time.Now().After(over) {
				return // enough was seen; how much depends on the machine
			}
			instant := func(name string) time.Time {
				far := rapid.SampledFrom(lengths).Draw(t, name+" far")
				return now.Add(time.Duration(rapid.IntRange(-3, 3).Draw(t, name)) * far / 2).Add(rapid.SampledFrom(little).Draw(t, name+" little"))
			}
			f.sql("DELETE FROM occupancies")
			for _, m := range booked {
				length := max(time.Microsecond, rapid.SampledFrom(lengths).Draw(t, "length")+rapid.SampledFrom(little).Draw(t, "longer"))
				m.Slot.Start = instant("start")
				m.Slot.End = m.Slot.Start.Add(length)
				f.sql("UPDATE meetings SET starts_at = ?, ends_at = ? WHERE id = ?", m.Slot.Start, m.Slot.End, m.ID)
				f.sql("INSERT INTO occupancies (meeting_id, room_id, starts_at, ends_at, held) VALUES (?, ?, ?, ?, false)", m.ID, m.RoomIDs[0], m.Slot.Start, m.Slot.End)
			}
			slices.SortFunc(booked, func(a, b *meeting.Meeting) int {
				if c := a.Slot.Start.Compare(b.Slot.Start); c != 0 {
					return c
				}
				return int(a.ID - b.ID)
			})
			span := clock.Slot{Start: instant("from")}
			span.End = span.Start.Add(rapid.SampledFrom(lengths).Draw(t, "span"))
			if rapid.Bool().Draw(t, "edge") { // of a meeting
				span.Start = rapid.SampledFrom(booked).Draw(t, "whose").Slot.End
				span.End = span.Start.Add(time.Hour)
			}

			overlap := func(end bool) []int64 {
				ids := []int64{}
				for _, m := range booked {
					if m.Slot.End.After(span.Start) && (!end || m.Slot.Start.Before(span.End)) {
						ids = append(ids, m.ID)
					}
				}
				return ids
			}
			size := rapid.IntRange(1, 13).Draw(t, "limit")
			f.want("listed", ids(f.all(meeting.MeetingQuery{From: span.Start, To: span.End}, size)), overlap(true))
			some := rooms[:rapid.IntRange(1, len(rooms)).Draw(t, "rooms")]
			there := func(m *meeting.Meeting) bool { return slices.Contains(some, m.RoomIDs[0]) }
			in := meeting.MeetingQuery{From: span.Start, To: span.End, RoomIDs: some, Now: now, Statuses: []meeting.Status{meeting.Confirmed, meeting.InProgress, meeting.Ended}}
			full := f.all(in, size)
			f.want("listed by room", ids(full), slices.DeleteFunc(overlap(true), func(id int64) bool {
				return !slices.ContainsFunc(booked, func(m *meeting.Meeting) bool { return m.ID == id && there(m) })
			}))
			in.Brief = true
			f.want("brief by room", f.all(in, size), briefs(full))
			f.want("listed without an end", ids(f.all(meeting.MeetingQuery{From: span.Start}, size)), overlap(false))

			slots := func(of func(*meeting.Meeting) bool) map[int64][]clock.Slot {
				found := map[int64][]clock.Slot{}
				for _, m := range booked {
					if m.Slot.Overlaps(span) && of(m) {
						found[m.RoomIDs[0]] = append(found[m.RoomIDs[0]], m.Slot)
					}
				}
				return found
			}
			anyone := func(*meeting.Meeting) bool { return true }
			same := func(what string, got map[int64][]clock.Slot, err error, want map[int64][]clock.Slot) {
				t.Helper()
				if err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				f.want(what, got, want)
			}
			same("all busy", f.allBusy(span, time.Time{}), nil, slots(anyone))
			got, err := f.store.Busy(f.Context(), rooms, span, time.Time{})
			same("busy", got, err, slots(anyone))
			got, err = f.store.Booked(f.Context(), rooms, span, time.Time{})
			same("booked", got, err, slots(anyone))
			got, err = f.store.HeldBy(f.Context(), f.anna.ID, rooms, span, time.Time{})
			same("held by Anna", got, err, slots(func(m *meeting.Meeting) bool { return m.Organizer.UserID == f.anna.ID }))

			want := map[int64]time.Duration{}
			for room, of := range slots(anyone) {
				from, to := of[0].Start, of[0].End
				if from.Before(span.Start) {
					from = span.Start
				}
				if to.After(span.End) {
					to = span.End
				}
				want[room] = to.Sub(from)
			}
			for _, siteID := range []int64{0, site.ID} {
				used, err := f.store.RoomUse(f.Context(), report.Query{Group: report.ByRoom, Span: span, SiteID: siteID}, now)
				if err != nil {
					t.Fatal(err)
				}
				total := map[int64]time.Duration{}
				for _, u := range used {
					total[u.ID] = u.Booked
				}
				f.want("used", total, want)
			}
			if f.Failed() {
				t.FailNow()
			}
		})
	})
}
