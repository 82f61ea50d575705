package gormstore_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"punctual/meeting"
	"punctual/meeting/clock"
	"punctual/migrations"
	"punctual/tests/testenv/testdb"
)

// all reads a list in pages.
func (f *fixture) all(q meeting.MeetingQuery, size int) []*meeting.Meeting {
	f.Helper()
	var all []*meeting.Meeting
	p := meeting.Page{Limit: size}
	for {
		page, next, err := f.store.ListMeetings(f.Context(), q, p)
		if err != nil {
			f.Fatal(err)
		}
		if len(page) > size {
			f.Errorf("a page of %d has %d", size, len(page))
		}
		all = append(all, page...)
		if next == "" {
			return all
		}
		p.Cursor = next
	}
}

func ids(ms []*meeting.Meeting) []int64 {
	out := make([]int64, len(ms))
	for i, m := range ms {
		out[i] = m.ID
	}
	return out
}

func TestListMeetings_filters(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		site := &meeting.Site{Name: "Berlin", CreatedAt: now, UpdatedAt: now}
		if err := f.store.CreateSite(t.Context(), site); err != nil {
			t.Fatal(err)
		}
		onSite := f.room("On site", func(r *meeting.Room) { r.SiteID = site.ID; r.Approval.ApproverIDs = []int64{f.manager.ID} })

		book := func(by meeting.Actor, change func(*meeting.Terms), s clock.Slot, rooms ...*meeting.Room) int64 {
			t.Helper()
			terms := terms(s, rooms...)
			if change != nil {
				change(&terms)
			}
			m, err := f.create(terms, by)
			if err != nil {
				t.Fatal(err)
			}
			return m.ID
		}
		early := book(f.anna, nil, slot("09:00", "10:00"), f.turing)
		both := book(f.ben, func(t *meeting.Terms) { t.Title = "ÜBUNG 100%" }, slot("10:00", "11:00"), f.turing, f.hopper)
		secret := book(f.anna, func(t *meeting.Terms) {
			t.Title, t.Visibility = "übung geheim", meeting.Private
			t.Attendees = []meeting.Attendee{{Person: meeting.Person{Email: "Guest@example.net"}, Response: meeting.NeedsAction}}
		}, slot("12:00", "13:00"), onSite)
		long := book(f.ben, nil, clock.Slot{Start: at("10:00").AddDate(0, 0, -3), End: at("09:30")}, f.wide)

		guest := meeting.Actor{Kind: meeting.ActorUser, ID: 999, Email: "guest@Example.net", Role: meeting.Member}
		for _, c := range []struct {
			name string
			q    meeting.MeetingQuery
			want []int64
		}{
			{"all", meeting.MeetingQuery{}, []int64{long, early, both, secret}},
			{"from", meeting.MeetingQuery{From: at("10:00")}, []int64{both, secret}},
			{"from, in a long one", meeting.MeetingQuery{From: at("09:15")}, []int64{long, early, both, secret}},
			{"to", meeting.MeetingQuery{To: at("10:00")}, []int64{long, early}},
			{"span", meeting.MeetingQuery{From: at("09:59"), To: at("12:00")}, []int64{early, both}},
			{"span in another zone", meeting.MeetingQuery{From: at("09:59").In(time.FixedZone("", 8*3600)), To: at("12:00").In(time.FixedZone("", -5*3600))}, []int64{early, both}},
			{"room", meeting.MeetingQuery{RoomID: f.turing.ID}, []int64{early, both}},
			{"second room", meeting.MeetingQuery{RoomID: f.hopper.ID}, []int64{both}},
			{"any of some rooms", meeting.MeetingQuery{RoomIDs: []int64{f.hopper.ID, onSite.ID}}, []int64{both, secret}},
			{"any of some rooms, within", meeting.MeetingQuery{RoomIDs: []int64{f.hopper.ID, onSite.ID}, From: at("11:30")}, []int64{secret}},
			{"site", meeting.MeetingQuery{SiteID: site.ID}, []int64{secret}},
			{"organizer", meeting.MeetingQuery{OrganizerID: f.ben.ID}, []int64{long, both}},
			{"attendee", meeting.MeetingQuery{AttendeeEmail: "guest@example.NET"}, []int64{secret}},
			{"series", meeting.MeetingQuery{SeriesID: 1}, []int64{}},
			{"text", meeting.MeetingQuery{Text: "Übung"}, []int64{both, secret}},
			{"text is no pattern", meeting.MeetingQuery{Text: "0%"}, []int64{both}},
			{"text, nothing", meeting.MeetingQuery{Text: "_bung"}, []int64{}},
			{"text as a stranger", meeting.MeetingQuery{Text: "übung", Viewer: &f.ben}, []int64{both}},
			{"text as the organizer", meeting.MeetingQuery{Text: "übung", Viewer: &f.anna}, []int64{both, secret}},
			{"text as an attendee", meeting.MeetingQuery{Text: "übung", Viewer: &guest}, []int64{both, secret}},
			{"text as an approver", meeting.MeetingQuery{Text: "übung", Viewer: &f.manager}, []int64{both, secret}},
			{"text as an admin", meeting.MeetingQuery{Text: "übung", Viewer: &f.admin}, []int64{both, secret}},
			{"several", meeting.MeetingQuery{From: at("09:00"), To: at("13:00"), RoomID: f.turing.ID, OrganizerID: f.ben.ID, Text: "100"}, []int64{both}},
		} {
			for _, size := range []int{1, 3, 100} {
				f.want(c.name, ids(f.all(c.q, size)), c.want)
			}
		}
		f.want("complete", f.all(meeting.MeetingQuery{}, 10)[2], f.read(both))
	})
}

// Who decides on a move sees the meeting, so that they find it, as long as that waits.
func TestListMeetings_whereItIsToMove(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		other := f.user("mia@example.org", meeting.Manager)
		hall := f.room("Hall", func(r *meeting.Room) {
			r.Approval = meeting.RoomApproval{Required: true, ApproverIDs: []int64{f.manager.ID}, SecondIDs: []int64{f.admin.ID}}
		})
		private := terms(slot("12:00", "13:00"), f.turing)
		private.Visibility = meeting.Private
		m, err := f.create(private, f.anna)
		if err != nil {
			t.Fatal(err)
		}
		finds := func(by meeting.Actor, clock string) bool {
			return len(f.all(meeting.MeetingQuery{Text: "design", Viewer: &by, Now: at(clock)}, 10)) == 1
		}
		f.want("before", finds(f.manager, "08:00"), false)
		move := private
		move.Slot, move.Rooms = slot("14:00", "15:00"), []*meeting.Room{hall}
		m, _ = f.change(m.ID, func(m *meeting.Meeting) error { _, err := revise(m, move, f.anna, now); return err })
		if m.Request == nil || m.Request.Change == nil || !m.Request.Deadline.Equal(at("12:00")) {
			t.Fatalf("it waits for %+v", m.Request)
		}
		standIn := other
		standIn.RepresentedIDs = &[]int64{f.manager.ID}
		blind := f.manager
		blind.Blind = true
		for name, c := range map[string]struct {
			by    meeting.Actor
			clock string
			want  bool
		}{
			"its approver":      {f.manager, "08:00", true},
			"a moment before":   {f.manager, "11:59", true},
			"at the deadline":   {f.manager, "12:00", false},
			"who stands in":     {standIn, "08:00", true},
			"another's":         {other, "08:00", false},
			"a member":          {f.ben, "08:00", false},
			"with a poor token": {blind, "08:00", false},
		} {
			f.want(name, finds(c.by, c.clock), c.want)
			seen := m.At(at(c.clock)).View(c.by, []*meeting.Room{f.turing, hall})
			f.want(name+", as MaySee has it", seen.Title != meeting.Busy, c.want)
		}
		f.change(m.ID, func(m *meeting.Meeting) error { return m.Reject(nil, "", f.manager, now) })
		f.want("decided against", finds(f.manager, "08:00"), false)
		f.want("a member's own", finds(f.anna, "08:00"), true)
	})
}

// Who approved for a room that is not there any more sees no private meetings of it.
func TestListMeetings_approverOfADeletedRoom(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		lab := f.room("Lab", func(r *meeting.Room) { r.Approval.ApproverIDs = []int64{f.manager.ID} })
		private := terms(slot("12:00", "13:00"), lab)
		private.Visibility = meeting.Private
		if _, err := f.create(private, f.anna); err != nil {
			t.Fatal(err)
		}
		found := func() int { return len(f.all(meeting.MeetingQuery{Text: "design", Viewer: &f.manager, Now: now}, 10)) }
		f.want("while it is there", found(), 1)
		if err := f.store.DeleteRoom(t.Context(), lab.ID, at("14:00"), func(*meeting.Room) error { return nil }); err != nil {
			t.Fatal(err)
		}
		f.want("afterwards", found(), 0)
	})
}

// The list filters by the very status that the meetings show.
func TestListMeetings_effectiveStatus(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		asked := f.room("Asked", func(r *meeting.Room) { r.Approval.Required = true })
		for i, status := range append(slices.Clone(meeting.Statuses), meeting.Confirmed, meeting.Pending) {
			m := f.book(clock.Slot{Start: at("09:00").AddDate(0, 0, i), End: at("10:00").AddDate(0, 0, i)}, asked)
			f.sql("UPDATE meetings SET status = ?, starts_at = ?, ends_at = ?, approval_deadline = ? WHERE id = ?", string(status), at("09:00"), at("10:00"), at("08:30"), m.ID)
		}
		for _, onTimeout := range []meeting.Status{meeting.Rejected, meeting.Confirmed} {
			f.sql("UPDATE approvals SET on_timeout = ?", string(onTimeout))
			for _, clock := range []string{"08:00", "08:29", "08:30", "08:59", "09:00", "09:59", "10:00", "11:00"} {
				var all []int64
				for _, status := range meeting.Statuses {
					q := meeting.MeetingQuery{Statuses: []meeting.Status{status}, Now: at(clock)}
					for _, m := range f.all(q, 4) {
						if got := m.EffectiveStatus(at(clock)); got != status {
							t.Errorf("at %s, on time-out %q: %s is listed as %s", clock, onTimeout, got, status)
						}
						all = append(all, m.ID)
					}
				}
				f.want("each once at "+clock, len(all), 9)
				both := f.all(meeting.MeetingQuery{Statuses: []meeting.Status{meeting.Confirmed, meeting.Ended}, Now: at(clock)}, 2)
				for _, m := range both {
					if s := m.EffectiveStatus(at(clock)); s != meeting.Confirmed && s != meeting.Ended {
						t.Errorf("at %s: %s is listed as confirmed or ended", clock, s)
					}
				}
			}
		}
		f.want("no such status", f.all(meeting.MeetingQuery{Statuses: []meeting.Status{"other"}}, 10), []*meeting.Meeting(nil))
	})
}

func TestListMeetings_cursorIsStable(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		for i := range 6 {
			f.book(slot("09:00", "10:00"), f.room("R"+string(rune('a'+i))))
		}
		page, next, err := f.store.ListMeetings(t.Context(), meeting.MeetingQuery{}, meeting.Page{Limit: 3})
		if err != nil || len(page) != 3 || next == "" {
			t.Fatalf("%d, %q, %v", len(page), next, err)
		}
		f.book(slot("08:30", "08:45"), f.turing) // before the cursor
		f.book(slot("09:00", "10:00"), f.hopper) // behind it, at the same instant
		rest, next, err := f.store.ListMeetings(t.Context(), meeting.MeetingQuery{}, meeting.Page{Limit: 4, Cursor: next})
		if err != nil || next != "" {
			t.Fatalf("%q, %v", next, err)
		}
		f.want("rest", ids(rest), []int64{4, 5, 6, 8})

		_, ofRooms, err := f.store.ListRooms(t.Context(), meeting.RoomQuery{}, meeting.Page{Limit: 1})
		if err != nil || ofRooms == "" {
			t.Fatalf("%q, %v", ofRooms, err)
		}
		for _, bad := range []string{"x", "e30", "bnVsbA", "!!", ofRooms} {
			_, _, err := f.store.ListMeetings(t.Context(), meeting.MeetingQuery{}, meeting.Page{Cursor: bad})
			invalid, ok := errors.AsType[*meeting.InvalidError](err)
			if !ok || invalid.Faults[0].Location != "cursor" {
				t.Errorf("cursor %q: %v", bad, err)
			}
		}
	})
}

func TestHistory_pages(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		m := f.book(slot("09:00", "10:00"), f.turing)
		for _, title := range []string{"a", "b", "c"} {
			to := terms(slot("09:00", "10:00"), f.turing)
			to.Title = title
			f.change(m.ID, reschedule(f, to))
		}
		var titles []any
		p := meeting.Page{Limit: 3}
		for {
			page, next, err := f.store.History(t.Context(), m.ID, p)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range page {
				titles = append(titles, e.Changes["title"].To)
				f.want("actor", e.Actor, meeting.Actor{Kind: meeting.ActorUser, ID: f.anna.ID, Name: f.anna.Name})
			}
			if p.Cursor = next; next == "" {
				break
			}
		}
		f.want("titles", titles, []any{nil, "a", "b", "c"})
	})
}

// brief is what [meeting.MeetingQuery] says of brief meetings, of one without a viewer.
func brief(m *meeting.Meeting) *meeting.Meeting {
	b := &meeting.Meeting{
		ID: m.ID, Title: m.Title, Slot: m.Slot, RoomIDs: m.RoomIDs, Occupied: m.Occupied, Status: m.Status, Visibility: m.Visibility,
		CheckIn: m.CheckIn, CheckedInAt: m.CheckedInAt, EndedAt: m.EndedAt, SeriesID: m.SeriesID, TypeID: m.TypeID, Version: m.Version,
	}
	b.Organizer.UserID, b.Organizer.Name = m.Organizer.UserID, m.Organizer.Name
	b.Approval.Deadline, b.Approval.OnTimeout = m.Approval.Deadline, m.Approval.OnTimeout
	if m.Visibility == meeting.Private {
		b.Attendees = m.Attendees
	}
	if r := m.Request; r != nil {
		b.Request = &meeting.Request{Number: r.Number, Deadline: r.Deadline, Change: r.Change}
	}
	return b
}

func briefs(ms []*meeting.Meeting) (all []*meeting.Meeting) {
	for _, m := range ms {
		all = append(all, brief(m))
	}
	return all
}

// Briefs of meetings with buffers, guests, requests and requested changes are those of the whole meetings.
func TestListMeetings_brief(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		hall := f.room("Hall", func(r *meeting.Room) {
			r.Approval = meeting.RoomApproval{Required: true, ApproverIDs: []int64{f.manager.ID}}
			r.Policy.BufferAfter = 10 * time.Minute
		})
		f.book(slot("16:00", "17:00"), hall, f.turing) // waits
		moved := f.book(slot("18:00", "19:00"), hall, f.turing)
		f.change(moved.ID, func(m *meeting.Meeting) error {
			return m.Approve(plan(meeting.Actor{}, hall, f.turing), "", f.manager, now)
		})
		f.change(moved.ID, func(m *meeting.Meeting) error {
			_, err := revise(m, terms(slot("18:30", "19:30"), hall, f.turing), f.anna, now)
			return err
		})
		if r := f.read(moved.ID).Request; r == nil || r.Change == nil {
			t.Fatalf("no change is requested: %v", r)
		}
		var want []*meeting.Meeting
		for hour, visibility := range []meeting.Visibility{meeting.Public, meeting.Private} {
			plan := terms(clock.Slot{Start: at("10:00").Add(time.Duration(hour) * 3 * time.Hour), End: at("11:00").Add(time.Duration(hour) * 3 * time.Hour)}, f.turing, f.wide)
			plan.Visibility, plan.Attendees = visibility, []meeting.Attendee{{Person: meeting.Person{Email: "guest@example.net", Name: "Guest"}, Response: meeting.NeedsAction}}
			m, err := f.create(plan, f.anna)
			if err != nil {
				t.Fatal(err)
			}
			want = append(want, brief(f.read(m.ID)))
		}
		q := meeting.MeetingQuery{RoomIDs: []int64{f.turing.ID}}
		full := f.all(q, 50)
		q.Brief = true
		got := f.all(q, 50)
		f.want("brief", got, briefs(full))
		f.want("those with guests", got[:2], want)
		q.From, q.To, q.Now, q.Statuses = at("00:00"), at("23:00"), now, []meeting.Status{meeting.Pending, meeting.Confirmed}
		f.want("within a day", f.all(q, 2), got)
	})
}

// What cannot be read is an error, never half of a meeting: the request ended, a table is missing, a row is damaged.
func TestMeetings_unreadable(t *testing.T) {
	t.Parallel()
	f := newFixture(t, testdb.Open(t, migrations.SQLite))
	m := f.book(slot("09:00", "10:00"), f.turing)
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	refused := func(why string, ctx context.Context) {
		t.Helper()
		for _, brief := range []bool{false, true} {
			if ms, _, err := f.store.ListMeetings(ctx, meeting.MeetingQuery{From: at("08:00"), To: at("18:00"), Brief: brief}, meeting.Page{}); err == nil || ms != nil {
				t.Errorf("%s: a list, brief %t: %d meetings, %v", why, brief, len(ms), err)
			}
		}
		if m, err := f.store.Meeting(ctx, m.ID); err == nil || m != nil {
			t.Errorf("%s: a meeting: %v, %v", why, m, err)
		}
		if ms, err := f.store.Outlines(ctx, []meeting.ID{m.ID}); err == nil || ms != nil {
			t.Errorf("%s: outlines: %d, %v", why, len(ms), err)
		}
	}
	refused("canceled", canceled)
	f.sql("ALTER TABLE room_limits RENAME TO limits_elsewhere")
	refused("without limits", t.Context())
	f.sql("ALTER TABLE limits_elsewhere RENAME TO room_limits")
	f.sql("UPDATE meetings SET version = 'one'")
	refused("a damaged row", t.Context())
}
