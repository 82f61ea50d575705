package finding

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"punctual/meeting"
	"punctual/meeting/clock"
	"punctual/meeting/policy"
)

var (
	at  = time.Date(2027, 2, 10, 9, 0, 0, 0, time.UTC)
	ann = meeting.Actor{Kind: meeting.ActorUser, ID: 1, Email: "ann@example.org", Role: meeting.Member}
)

// memory is a store of rooms, and of slots in them.
type memory struct {
	Store
	rooms       []*meeting.Room // those that fit best first
	taken, held map[int64][]clock.Slot
	people      PeopleQuery // the last one
}

func (m *memory) service() *Service {
	return NewService(m, prepared{}, func() meeting.Settings { return meeting.Settings{} }, func() time.Time { return at })
}

// room adds a room.
func (m *memory) room(r policy.Room) *meeting.Room {
	r.ID, r.Active = int64(len(m.rooms)+1), true
	m.rooms = append(m.rooms, &meeting.Room{Room: r})
	return m.rooms[len(m.rooms)-1]
}

func (m *memory) ListRooms(_ context.Context, _ meeting.RoomQuery, p meeting.Page) ([]*meeting.Room, string, error) {
	if p.Limit > 0 && p.Limit < len(m.rooms) {
		return m.rooms[:p.Limit], "next", nil
	}
	return m.rooms, "", nil
}

func (m *memory) Candidates(_ context.Context, n Need, after *meeting.Room, limit int) ([]*meeting.Room, error) {
	rooms := slices.DeleteFunc(slices.Clone(m.rooms), func(r *meeting.Room) bool {
		return r.Capacity != 0 && r.Capacity < n.Persons || len(n.RoomIDs) > 0 && !slices.Contains(n.RoomIDs, r.ID)
	})
	if after != nil {
		rooms = rooms[1+slices.Index(rooms, after):]
	}
	return rooms[:min(limit, len(rooms))], nil
}

func (m *memory) Kinds(context.Context, Need) (kinds []*Kind, err error) {
	for _, r := range m.rooms {
		kinds = append(kinds, &Kind{Policy: r.Policy, RoomIDs: []int64{r.ID}})
	}
	return kinds, nil
}

func (m *memory) BlackoutsWithin(context.Context, []int64, clock.Slot) ([]policy.Blackout, error) {
	return nil, nil
}

func (m *memory) Busy(context.Context, []int64, clock.Slot, time.Time) (map[int64][]clock.Slot, error) {
	return m.taken, nil
}

func (m *memory) HeldBy(context.Context, int64, []int64, clock.Slot, time.Time) (map[int64][]clock.Slot, error) {
	return m.held, nil
}

func (m *memory) Booked(context.Context, []int64, clock.Slot, time.Time) (map[int64][]clock.Slot, error) {
	return m.taken, nil
}

func (m *memory) ListMeetings(context.Context, meeting.MeetingQuery, meeting.Page) ([]*meeting.Meeting, string, error) {
	return nil, "", nil
}

func (m *memory) FindPeople(_ context.Context, q PeopleQuery) ([]meeting.Person, error) {
	m.people = q
	return []meeting.Person{{Name: "Ada", Email: "ada@example.org"}}, nil
}

// prepared has all rooms in UTC.
type prepared struct{ Meetings }

func (prepared) WithDeputies(_ context.Context, by meeting.Actor) (meeting.Actor, error) {
	return by, nil
}

func (prepared) Views(_ context.Context, _ meeting.Actor, ms []*meeting.Meeting, _ time.Time) ([]*meeting.Meeting, error) {
	return ms, nil
}

func (prepared) PrepareRooms(_ context.Context, rooms []*meeting.Room, _ clock.Slot) error {
	for _, r := range rooms {
		r.Zone = "UTC"
	}
	return nil
}

func TestChoose(t *testing.T) {
	nine := time.Date(2027, 2, 10, 9, 0, 0, 0, time.UTC)
	var all []Suggestion
	for i, r := range []policy.Room{{ID: 1, Name: "Huge", Capacity: 100}, {ID: 2, Name: "Fits", Capacity: 8}, {ID: 3, Name: "Asks", Capacity: 8},
		{ID: 4, Name: "Unknown"}, {ID: 5, Name: "Good", Capacity: 10}} {
		room := &meeting.Room{Room: r}
		for h := range 2 {
			at := nine.Add(time.Duration(h) * time.Hour)
			all = append(all, Suggestion{Room: room, Slot: clock.Slot{Start: at, End: at.Add(time.Hour)}, NeedsApproval: i == 2})
		}
	}
	var got []string
	for _, s := range choose(all, 8, 8) {
		got = append(got, s.Slot.Start.Format("15 ")+s.Room.Name)
	}
	want := []string{"09 Fits", "09 Good", "09 Huge", "09 Unknown", "09 Asks", "10 Fits", "10 Good", "10 Huge"}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestAvailability(t *testing.T) {
	slot := func(from, to time.Duration) clock.Slot { return clock.Slot{Start: at.Add(from), End: at.Add(to)} }
	m := &memory{}
	free := m.room(policy.Room{Name: "Free", Capacity: 4})
	free.Features = []string{"video"}
	taken := m.room(policy.Room{Name: "Taken", Policy: policy.Policy{BufferAfter: 10 * time.Minute}})
	small := m.room(policy.Room{Name: "Small", Capacity: 2, Policy: policy.Policy{MinNotice: 48 * time.Hour}})
	approved := m.room(policy.Room{Name: "Approved"})
	approved.Approval = meeting.RoomApproval{Required: true, ApproverIDs: []int64{2}}
	limited := m.room(policy.Room{Name: "Limited", Policy: policy.Policy{Quota: &policy.Quota{Per: policy.PerDay, Count: 1}}})
	m.taken = map[int64][]clock.Slot{taken.ID: {slot(time.Hour, 2*time.Hour+10*time.Minute)}} // an hour and its buffer
	mona := meeting.Actor{Kind: meeting.ActorUser, ID: 2, Role: meeting.Manager}

	codes := func(by meeting.Actor, n Need, s clock.Slot) map[int64][]string {
		t.Helper()
		found, _, err := m.service().Availability(t.Context(), by, AvailabilityQuery{Need: n, Slot: s}, meeting.Page{})
		if err != nil {
			t.Fatal(err)
		}
		codes := map[int64][]string{}
		for _, a := range found {
			for _, r := range a.Reasons {
				codes[a.Room.ID] = append(codes[a.Room.ID], r.Code)
			}
			if want := a.Room.ID == approved.ID && by.ID == ann.ID; a.NeedsApproval != want {
				t.Errorf("%s needs approval: %v", a.Room.Name, a.NeedsApproval)
			}
		}
		return codes
	}
	want := func(what string, got map[int64][]string, room *meeting.Room, codes ...string) {
		t.Helper()
		if !slices.Equal(got[room.ID], codes) {
			t.Errorf("%s, %s: %v, want %v", what, room.Name, got[room.ID], codes)
		}
	}
	later := slot(2*time.Hour, 3*time.Hour)
	got := codes(ann, Need{Persons: 3}, later)
	want("three persons", got, free)
	want("three persons", got, taken, "room_conflict") // until ten past, with the buffer
	want("three persons", got, small, "capacity", "min_notice")
	want("three persons", got, approved)
	want("three persons", got, limited)
	want("until the meeting starts", codes(ann, Need{}, slot(5*time.Minute, time.Hour)), taken, "room_conflict") // its own buffer reaches into the meeting
	want("until the buffer fits", codes(ann, Need{}, slot(5*time.Minute, 50*time.Minute)), taken)
	got = codes(mona, Need{Features: []string{"video", "piano"}}, slot(130*time.Minute, 3*time.Hour))
	want("with a piano", got, free, "features")
	want("with a piano", got, taken, "features", "features")
	m.held = map[int64][]clock.Slot{limited.ID: {slot(5*time.Hour, 6*time.Hour)}}
	want("a second meeting of the day", codes(ann, Need{}, later), limited, "quota")

	for name, s := range map[string]clock.Slot{
		"an end before the start": {Start: later.End, End: later.Start}, "too long": {Start: at, End: at.Add(maxSpan + 1)},
	} {
		if _, _, err := m.service().Availability(t.Context(), ann, AvailabilityQuery{Slot: s}, meeting.Page{}); !errors.As(err, new(*meeting.InvalidError)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	found, _, err := m.service().Availability(t.Context(), ann, AvailabilityQuery{Slot: later, OnlyFree: true}, meeting.Page{})
	if err != nil || len(found) != 2 {
		t.Errorf("free ones: %d, %v", len(found), err)
	}
}

// Pages about a long span are smaller.
func TestPages_longSpan(t *testing.T) {
	m := &memory{}
	for range longSpanPage + 1 {
		m.room(policy.Room{Name: "Room"})
	}
	page := meeting.Page{Limit: 500}
	for length, want := range map[time.Duration]int{longSpan: longSpanPage + 1, longSpan + time.Minute: longSpanPage} {
		span := clock.Slot{Start: at.Add(time.Hour), End: at.Add(time.Hour + length)}
		found, next, err := m.service().Availability(t.Context(), ann, AvailabilityQuery{Slot: span}, page)
		if err != nil || len(found) != want || (next != "") != (want == longSpanPage) {
			t.Errorf("availability of %v: %d rooms, next %q, %v; want %d rooms", length, len(found), next, err, want)
		}
		grid, next, err := m.service().Grid(t.Context(), ann, GridQuery{Span: span}, page)
		if err != nil || len(grid.Rooms) != want || (next != "") != (want == longSpanPage) {
			t.Errorf("grid of %v: %d rooms, next %q, %v; want %d rooms", length, len(grid.Rooms), next, err, want)
		}
	}
	for days, want := range map[int]int{longDays: longSpanPage + 1, longDays + 1: longSpanPage} {
		found, next, err := m.service().RoomDays(t.Context(), ann, meeting.RoomQuery{}, 0, at, at.AddDate(0, 0, days), page)
		if err != nil || len(found) != want || (next != "") != (want == longSpanPage) {
			t.Errorf("%d days: %d rooms, next %q, %v; want %d rooms", days, len(found), next, err, want)
		}
	}
}

// The grid says for whom a room needs approval, as the availability does.
func TestGrid_needsApproval(t *testing.T) {
	m := &memory{}
	for _, name := range []string{"Free", "Asks", "Trusts", "Names"} {
		r := m.room(policy.Room{Name: name})
		r.Approval.Required = name != "Free"
		if r.Approval.ApproverIDs = []int64{3}; name == "Trusts" {
			r.Access.WithoutApproval = []int64{7}
		} else if name == "Names" {
			r.Approval.ApproverIDs = []int64{2}
		}
	}
	span := clock.Slot{Start: at.Add(time.Hour), End: at.Add(2 * time.Hour)}
	for name, c := range map[string]struct {
		by   meeting.Actor
		want []string
	}{
		"a member":     {ann, []string{"Asks", "Trusts", "Names"}},
		"of the group": {meeting.Actor{Kind: meeting.ActorUser, ID: 1, Role: meeting.Member, Groups: &[]int64{7}}, []string{"Asks", "Names"}},
		"an approver":  {meeting.Actor{Kind: meeting.ActorUser, ID: 2, Role: meeting.Manager}, []string{"Asks", "Trusts"}},
		"an admin":     {meeting.Actor{Kind: meeting.ActorUser, ID: 9, Role: meeting.Admin}, nil},
	} {
		grid, _, err := m.service().Grid(t.Context(), c.by, GridQuery{Span: span}, meeting.Page{Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		available, _, err := m.service().Availability(t.Context(), c.by, AvailabilityQuery{Slot: span}, meeting.Page{Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for i, r := range grid.Rooms {
			if r.NeedsApproval {
				got = append(got, r.Name)
			}
			if r.NeedsApproval != available[i].NeedsApproval {
				t.Errorf("%s: %s needs approval: %v in the grid, %v in the availability", name, r.Name, r.NeedsApproval, available[i].NeedsApproval)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s needs approval for %v, want %v", name, got, c.want)
		}
	}
}

// When the rooms that fit best are all taken, the others are searched.
func TestSuggestions_searchesOtherRooms(t *testing.T) {
	m := &memory{}
	for range firstBatch + 1 {
		m.room(policy.Room{Name: "Short", Capacity: 4, Policy: policy.Policy{MaxDuration: 30 * time.Minute}})
	}
	far := m.room(policy.Room{Name: "Far", Capacity: 400})
	found, err := m.service().Suggestions(t.Context(), ann, Need{}, time.Hour, clock.Slot{}, 2)
	if err != nil || len(found) != 2 || found[0].Room.ID != far.ID {
		t.Errorf("found %+v, %v", found, err)
	}
	if _, err := m.service().Suggestions(t.Context(), ann, Need{}, 1500*time.Millisecond, clock.Slot{}, 2); !errors.As(err, new(*meeting.InvalidError)) {
		t.Errorf("half a second: %v", err)
	}
	if found, err = m.service().Suggestions(t.Context(), ann, Need{Persons: 401}, time.Hour, clock.Slot{}, 2); err != nil || len(found) != 0 {
		t.Errorf("too many people: %+v, %v", found, err)
	}
}
