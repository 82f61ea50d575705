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
		{ID: 1, RoomID: 1, RoomIDs: []int64{1}, Kinds: []NoticeKind{NoticeInvitation, NoticeChange}},
		{ID: 9, RoomIDs: []int64{1, 2, 3}, Kinds: kinds},
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
		{"moved", in(Confirmed, 2), with(in(Confirmed, 2), later), "9 change Review R2 Ann was R2"},
		{"moved to another room", in(Confirmed, 1), in(Confirmed, 4), "1 change Review R4 Ann was R1"},
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
		if got, want := posted(ns), "1 invitation Review R1 Ann 2"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if n := ns[0]; !n.Due.Equal(until) || !n.Expires.Equal(changes[0].Now.Slot.End) || n.DedupeKey != "invitation:5:1:chat:1" || n.Facts.Series.ID != 4 {
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

func posted(ns []Notice) string {
	var all []string
	for _, n := range ns {
		s := fmt.Sprintf("%d %s %s %s %s", n.ChatID, n.Kind, n.Facts.Title, strings.Join(n.Facts.Rooms, "+"), n.Facts.Organizer.Name)
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
