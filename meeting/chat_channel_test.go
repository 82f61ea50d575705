package meeting

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"punctual/meeting/clock"
)

// A site has the rooms 1, 2 and 3. Room 1 has a channel for bookings and changes, and only group 7 may see room 3.
func TestPost(t *testing.T) {
	kinds := []NoticeKind{NoticeInvitation, NoticeChange, NoticeCancellation, NoticeReleased, NoticeReminder, NoticeApprovalRequest}
	channels := []ChatChannel{
		{ID: "1", RoomID: 1, RoomIDs: []int64{1}, Kinds: []NoticeKind{NoticeInvitation, NoticeChange}},
		{ID: "9", RoomIDs: []int64{1, 2, 3}, Kinds: kinds},
	}
	start := time.Date(2027, 2, 10, 9, 0, 0, 0, time.UTC)
	in := func(status Status, rooms ...int64) *Meeting {
		m := &Meeting{
			ID: 5, Title: "Review", Status: status, Slot: clock.Slot{Start: start, End: start.Add(time.Hour)}, RoomIDs: rooms,
			Limits: []Limit{{RoomID: 3, Viewers: []int64{7}}}, Organizer: Person{UserID: 1, Name: "Ann"},
		}
		for _, id := range rooms {
			m.RoomNames = append(m.RoomNames, fmt.Sprint("R", id))
		}
		return m
	}
	with := func(m *Meeting, changes ...func(*Meeting)) *Meeting {
		for _, change := range changes {
			change(m)
		}
		return m
	}
	private := func(m *Meeting) { m.Visibility = Private }
	renamed := func(m *Meeting) { m.Title = "Retro" }
	later := func(m *Meeting) { m.Slot = clock.Slot{Start: start.Add(time.Hour), End: start.Add(2 * time.Hour)} }
	imported := func(m *Meeting) { m.History = []Entry{{At: start, Actor: Actor{Quiet: true}}} }
	requested := func(number, first int64) func(*Meeting) {
		return func(m *Meeting) { m.Request = &Request{Number: number, First: first, Deadline: start} }
	}
	move := func(rooms ...int64) func(*Meeting) {
		return func(m *Meeting) {
			requested(1, 1)(m)
			to := with(in(Confirmed, rooms...), later)
			m.Request.Change = &PendingChange{Slot: to.Slot, RoomIDs: to.RoomIDs, RoomNames: to.RoomNames}
		}
	}
	over := func(m *Meeting) { m.EndedAt = m.Slot.End }
	for _, c := range []struct {
		name        string
		before, now *Meeting
		want        string
	}{
		{"booked in two rooms", nil, in(Confirmed, 1, 2), "1 invitation Review R1+R2 Ann, 9 invitation Review R1+R2 Ann"},
		{"only where the room posts it", nil, in(Confirmed, 1), "1 invitation Review R1 Ann"},
		{"private", nil, with(in(Confirmed, 2), private), "9 invitation  R2 "},
		{"a room that not everyone sees", nil, in(Confirmed, 3), ""},
		{"together with such a room", nil, in(Confirmed, 2, 3), "9 invitation  R2 "},
		{"imported", nil, with(in(Confirmed, 2), imported), ""},
		{"requested", nil, with(in(Pending, 1, 2), requested(1, 1)), "9 approval_request Review R1+R2 Ann"},
		{"next level", with(in(Pending, 2), requested(1, 1)), with(in(Pending, 2), requested(2, 1)), ""},
		{"approved", with(in(Pending, 2), requested(1, 1)), in(Confirmed, 2), "9 invitation Review R2 Ann"},
		{"rejected", with(in(Pending, 2), requested(1, 1)), in(Rejected, 2), "9 decision Review R2 Ann"},
		{"moved", in(Confirmed, 2), with(in(Confirmed, 2), later), "9 change Review R2 Ann at 10 was R2"},
		{"moved to another room", in(Confirmed, 1), in(Confirmed, 4), "1 change Review R4 Ann was R1"},
		{"moved out of sight", in(Confirmed, 2), with(in(Confirmed, 3), later), "9 cancellation Review R2 Ann"},
		{"move requested", in(Confirmed, 2), with(in(Confirmed, 2), move(1)), "9 approval_request Review R2 Ann to R1 at 10"},
		{"move requested in private", with(in(Confirmed, 2), private), with(in(Confirmed, 2), private, move(1)), "9 approval_request  R1  at 10"},
		{"move requested, partly out of sight", in(Confirmed, 2), with(in(Confirmed, 2), move(2, 3)), "9 approval_request  R2  at 10"},
		{"moved here", in(Confirmed, 4), in(Confirmed, 1), "1 invitation Review R1 Ann"},
		{"renamed", in(Confirmed, 2), with(in(Confirmed, 2), renamed), "9 change Retro R2 Ann"},
		{"renamed in private", with(in(Confirmed, 2), private), with(in(Confirmed, 2), private, renamed), ""},
		{"became private", in(Confirmed, 2), with(in(Confirmed, 2), private), "9 change  R2 "},
		{"unchanged", in(Confirmed, 2), in(Confirmed, 2), ""},
		{"canceled", in(Confirmed, 1, 2), in(Cancelled, 1, 2), "9 cancellation Review R1+R2 Ann"},
		{"released", in(InProgress, 2), in(Released, 2), "9 released Review R2 Ann"},
		{"released after its end", in(InProgress, 2), with(in(Released, 2), over), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.now.History == nil {
				c.now.History = []Entry{{At: start}}
			}
			Post([]MeetingChange{{c.before, c.now}}, channels, nil, nil)
			if got := posted(c.now.TakeNotices()); got != c.want {
				t.Errorf("got %q\nwant %q", got, c.want)
			}
		})
	}

	t.Run("dates of a series", func(t *testing.T) {
		var changes []MeetingChange
		for day := range 3 {
			m := with(in(Confirmed, int64(1+day%2)), later)
			m.SeriesID, m.History = 4, []Entry{{At: start}}
			m.Slot.Start, m.Slot.End = m.Slot.Start.AddDate(0, 0, -day), m.Slot.End.AddDate(0, 0, -day)
			changes = append(changes, MeetingChange{nil, m})
		}
		until := start.Add(time.Minute)
		Post(changes, channels, nil, &Undoable{Until: until})
		first := changes[2].Now
		ns := first.TakeNotices()
		if got, want := posted(ns), "1 invitation Review R1 Ann at 10 2"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if n := ns[0]; !n.Due.Equal(until) || !n.Expires.Equal(changes[0].Now.Slot.End) || n.DedupeKey != "invitation:5:1:chat:1" || n.Facts.Series.ID != 4 || !slices.Equal(n.Facts.Posted(), []ID{5, 5}) {
			t.Errorf("%+v", n)
		}
		if ns := changes[0].Now.Notices; len(ns) != 0 {
			t.Errorf("also posted: %q", posted(ns))
		}
	})

	t.Run("starts soon", func(t *testing.T) {
		m := in(Confirmed, 1, 2)
		m.Reminders = []Reminder{{BeforeStart, time.Hour, nil}, {BeforeStart, 5 * time.Minute, nil}, {BeforeEnd, 0, nil}}
		var got []string
		for _, r := range m.Reminders {
			for _, n := range m.RemindChannels(r, channels, r.Due(m)) {
				got = append(got, n.DedupeKey)
			}
		}
		if want := []string{"reminder:5:start:300:1802250000:chat:9"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// A post that waits is sent as far as the readers of its channel may know of meetings and rooms by then.
func TestChatChannel_Current(t *testing.T) {
	rooms := func(hidden ...int64) (rs []*Room) {
		for id := range int64(2) {
			r := &Room{}
			r.ID, r.Name = id+1, fmt.Sprint("R", id+1)
			if slices.Contains(hidden, r.ID) {
				r.Access.See = []int64{7}
			}
			rs = append(rs, r)
		}
		return rs
	}
	f := Facts{
		Title: "Review", Rooms: []string{"R1", "R2"}, RoomIDs: []int64{1, 2}, Organizer: Contact{Name: "Ann"},
		Series: &SeriesFacts{Count: 2, Meetings: []ID{5, 6}, Places: [][]string{{"R1"}, {"R2"}}},
	}
	read := rooms()
	read[1].Access.Details = []int64{7}
	for _, c := range []struct {
		name       string
		visibility Visibility // of the second date
		rooms      []*Room
		want       string
	}{
		{"as it was", Public, rooms(), "true Review Ann [R1 R2] [[R1] [R2]]"},
		{"a date has become private", Private, rooms(), "true   [R1 R2] [[R1] [R2]]"},
		{"a room is hidden", Public, rooms(2), "true   [R1] [[R1] []]"},
		{"a room hides details", Public, read, "true   [R1 R2] [[R1] [R2]]"},
		{"all rooms are hidden", Public, rooms(1, 2), "false"},
	} {
		got, ok := ChatChannel{}.Current(f, []*Meeting{{ID: 5}, {ID: 6, Visibility: c.visibility}}, c.rooms)
		s := fmt.Sprint(ok)
		if ok {
			s = fmt.Sprint(ok, " ", got.Title, " ", got.Organizer.Name, " ", got.Rooms, " ", got.Series.Places)
		}
		if s != c.want || len(f.Series.Places[1]) != 1 {
			t.Errorf("%s: %q, want %q", c.name, s, c.want)
		}
	}
}

// A post about several dates is outdated once it is for all of them.
func TestObsoletePost(t *testing.T) {
	confirmed, cancelled, pending := NoticeState{Status: Confirmed}, NoticeState{Status: Cancelled}, NoticeState{Status: Pending, Request: 2}
	for _, c := range []struct {
		kind  NoticeKind
		dates []NoticeState
		stale bool
	}{
		{NoticeInvitation, []NoticeState{cancelled, confirmed}, false},
		{NoticeInvitation, []NoticeState{cancelled, cancelled}, true},
		{NoticeCancellation, []NoticeState{cancelled, cancelled}, false},
		{NoticeApprovalRequest, []NoticeState{confirmed, pending}, false},
		{NoticeApprovalRequest, []NoticeState{confirmed, cancelled}, true},
	} {
		if got := ObsoletePost(c.kind, c.dates); (got != "") != c.stale {
			t.Errorf("%s %v: %q", c.kind, c.dates, got)
		}
	}
}

func posted(ns []Notice) string {
	var all []string
	for _, n := range ns {
		s := fmt.Sprintf("%s %s %s %s %s", n.Chat, n.Kind, n.Facts.Title, strings.Join(n.Facts.Rooms, "+"), n.Facts.Organizer.Name)
		if h := n.Facts.Start.Hour(); h != 9 {
			s += fmt.Sprint(" at ", h)
		}
		if to := n.Facts.Move; to != nil {
			s += fmt.Sprint(" to ", strings.Join(to.Rooms, "+"), " at ", to.Start.Hour())
		}
		if n.Facts.Was != nil {
			s += " was " + strings.Join(n.Facts.Was.Rooms, "+")
		}
		if n.Facts.Series != nil {
			s += fmt.Sprintf(" %d", n.Facts.Series.Count)
		}
		all = append(all, s)
	}
	return strings.Join(all, ", ")
}
