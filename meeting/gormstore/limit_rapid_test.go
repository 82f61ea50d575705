package gormstore_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"punctual/meeting"
	"punctual/meeting/clock"
)

// Who sees rooms and meetings is a rule of actors. Lists apply it in SQL. Whatever rooms and sites limit,
// and whoever asks, both agree.
func TestLimits_agreeWithActors(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		f.sql("INSERT INTO groups (id, name, version, created_at, updated_at) VALUES (1, 'a', 1, ?, ?), (12, 'b', 1, ?, ?), (2, 'c', 1, ?, ?)", now, now, now, now, now, now)
		sites := []int64{0, 0}
		for i, name := range []string{"Berlin", "Paris"} {
			site := &meeting.Site{Name: name, CreatedAt: now, UpdatedAt: now}
			if err := f.store.CreateSite(t.Context(), site); err != nil {
				t.Fatal(err)
			}
			sites[i] = site.ID
		}
		over, round := time.Now().Add(time.Second), 0
		rapid.Check(t, func(rt *rapid.T) {
			if time.Now().After(over) && round > 0 {
				return // enough was seen; how much depends on the machine
			}
			round++
			f.compareLimits(rt, sites, round)
		})
		t.Logf("%d rounds", round)
	})
}

func (f *fixture) compareLimits(t *rapid.T, sites []int64, round int) {
	groups := func(name string) (ids []int64) {
		for _, id := range []int64{1, 2, 12} {
			if rapid.IntRange(0, 3).Draw(t, name) == 0 {
				ids = append(ids, id)
			}
		}
		return ids
	}
	access := func() meeting.Access {
		return meeting.Access{See: groups("see"), Details: groups("details"), Book: groups("book")}
	}
	var ids []int64
	for range rapid.IntRange(2, 3).Draw(t, "rooms") {
		room := f.room("Room", func(r *meeting.Room) {
			r.SiteID = rapid.SampledFrom([]int64{0, sites[0], sites[1]}).Draw(t, "site")
			if rapid.Bool().Draw(t, "own") {
				r.OwnAccess = new(access())
			}
			if rapid.IntRange(0, 3).Draw(t, "approver") == 0 {
				r.Approval.ApproverIDs = []int64{f.manager.ID}
			}
		})
		ids = append(ids, room.ID)
	}
	for _, site := range sites {
		if _, err := f.store.UpdateSite(t.Context(), site, func(s *meeting.Site) error { s.Access = access(); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if rapid.Bool().Draw(t, "changes") {
		_, err := f.store.UpdateRoom(t.Context(), ids[0], func(r *meeting.Room) error {
			r.SiteID, r.OwnAccess = rapid.SampledFrom(sites).Draw(t, "moves"), nil
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	rooms, err := f.store.Rooms(t.Context(), ids)
	if err != nil {
		t.Fatal(err)
	}

	day := now.AddDate(0, 0, round) // of this round alone
	all := map[meeting.ID]*meeting.Meeting{}
	for n := range rapid.IntRange(1, 4).Draw(t, "meetings") {
		in := rooms[rapid.IntRange(0, len(rooms)-1).Draw(t, "first"):]
		in = in[:rapid.IntRange(1, min(2, len(in))).Draw(t, "count")]
		start := day.Add(time.Duration(n) * time.Hour)
		booked := terms(clock.Slot{Start: start, End: start.Add(time.Hour)}, in...)
		booked.Visibility = rapid.SampledFrom([]meeting.Visibility{meeting.Public, meeting.Public, meeting.Private}).Draw(t, "visibility")
		if rapid.Bool().Draw(t, "invited") {
			booked.Attendees = []meeting.Attendee{{Person: meeting.Person{UserID: f.ben.ID, Email: f.ben.Email}}}
		}
		m, err := f.create(booked, rapid.SampledFrom([]meeting.Actor{f.anna, f.admin, f.manager}).Draw(t, "organizer"))
		if err != nil {
			t.Fatal(err)
		}
		all[m.ID] = f.read(m.ID)
	}
	span := meeting.MeetingQuery{From: day.Add(-time.Hour), To: day.Add(12 * time.Hour), Now: now}
	for _, by := range []meeting.Actor{f.admin, f.manager, f.anna, f.ben} {
		by.Groups = new(groups("in"))
		by.Blind = rapid.IntRange(0, 3).Draw(t, "blind") == 0
		by.ActsFor = &[]meeting.ActsFor{}
		for _, of := range []meeting.Actor{f.anna, f.ben} {
			if of.ID != by.ID && rapid.IntRange(0, 2).Draw(t, "acts for") == 0 {
				*by.ActsFor = append(*by.ActsFor, meeting.ActsFor{UserID: of.ID, Private: rapid.Bool().Draw(t, "private")})
			}
		}
		f.sameRooms(t, by, rooms)
		represented := by
		represented.Delegate = new(rapid.SampledFrom([]meeting.Actor{f.admin, f.manager, f.ben}).Draw(t, "delegate"))
		f.sameRooms(t, represented, rooms)

		list := func(change func(*meeting.MeetingQuery)) []*meeting.Meeting {
			q := span
			q.Viewer = &by
			change(&q)
			ms, _, err := f.store.ListMeetings(t.Context(), q, meeting.Page{Limit: 500})
			if err != nil {
				t.Fatal(err)
			}
			return ms
		}
		compare := func(what string, found []*meeting.Meeting, want func(*meeting.Meeting) bool) {
			for _, m := range all {
				i := slices.IndexFunc(found, func(o *meeting.Meeting) bool { return o.ID == m.ID })
				if (i >= 0) != want(m) {
					t.Errorf("%s: %s with groups %v finds the meeting of %s in %v, limited by %+v: %v", what, by.Email, *by.Groups, m.Organizer.Email, m.RoomIDs, m.Limits, i >= 0)
				}
				if i >= 0 && found[i].View(by, rooms).Title != m.View(by, rooms).Title {
					t.Errorf("%s: %s sees %q, else %q", what, by.Email, found[i].View(by, rooms).Title, m.View(by, rooms).Title)
				}
			}
		}
		known := func(m *meeting.Meeting) bool { return by.MayKnow(m, rooms) }
		compare("all", list(func(*meeting.MeetingQuery) {}), known)
		compare("brief", list(func(q *meeting.MeetingQuery) { q.Brief = true }), known)
		compare("by title", list(func(q *meeting.MeetingQuery) { q.Text = "design" }), func(m *meeting.Meeting) bool { return by.MaySee(m, rooms) && known(m) })
		for _, id := range ids {
			inRoom := func(m *meeting.Meeting) bool { return known(m) && slices.Contains(m.View(by, rooms).RoomIDs, id) }
			compare("by room", list(func(q *meeting.MeetingQuery) { q.RoomID = id }), inRoom)
			compare("by rooms", list(func(q *meeting.MeetingQuery) { q.RoomIDs = []int64{id} }), inRoom)
		}
	}
}

// sameRooms compares what lists of rooms show.
func (f *fixture) sameRooms(t *rapid.T, by meeting.Actor, rooms []*meeting.Room) {
	found, _, err := f.store.ListRooms(t.Context(), meeting.RoomQuery{IDs: meeting.RoomIDs(rooms), Viewer: &by}, meeting.Page{Limit: 500})
	if err != nil {
		t.Fatal(err)
	}
	hidden, err := f.store.HiddenRooms(t.Context(), by)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rooms {
		listed := slices.ContainsFunc(found, func(o *meeting.Room) bool { return o.ID == r.ID })
		if sees := by.MaySeeRoom(r); listed != sees || slices.Contains(hidden, r.ID) == sees {
			t.Errorf("%s with groups %v sees a room with %+v: %v, and in a list %v", by.Email, *by.Groups, r.Access, sees, listed)
		}
	}
}
