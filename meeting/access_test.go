package meeting

import (
	"slices"
	"testing"

	"punctual/meeting/policy"
)

func TestAccess_seesRooms(t *testing.T) {
	const crew, staff, bookers = 1, 2, 3
	in := func(groups ...int64) Actor { return Actor{Kind: ActorUser, ID: 7, Role: Member, Groups: &groups} }
	room := func(a Access) *Room {
		return &Room{Room: policy.Room{ID: 5}, Access: a, Approval: RoomApproval{ApproverIDs: []int64{7}}}
	}
	byDelegate := in(crew)
	byDelegate.Delegate = new(in())
	adminByDelegate := Actor{Kind: ActorUser, ID: 8, Role: Admin, Delegate: new(in())}
	approver := in()
	approver.Role = Manager
	secret := Access{See: []int64{crew}, Details: []int64{staff}, Book: []int64{bookers}}
	for _, tt := range []struct {
		what       string
		access     Access
		by         Actor
		sees, book bool
	}{
		{"a room without access", Access{}, in(), true, true},
		{"details alone hide no room", Access{Details: []int64{staff}}, in(), true, true},
		{"a room that certain groups may book", Access{Book: []int64{bookers}}, in(), true, false},
		{"a stranger", secret, in(9), false, false},
		{"groups that are not known", secret, Actor{Kind: ActorUser, ID: 7, Role: Member}, false, false},
		{"who may see it", secret, in(crew), true, false},
		{"who may see details", secret, in(staff), true, false},
		{"who may book", secret, in(9, bookers), true, true},
		{"who may see it, of a room that everyone may book", Access{See: []int64{crew}}, in(crew), true, true},
		{"a stranger, of a room that everyone may book", Access{See: []int64{crew}}, in(staff), false, false},
		{"an approver", secret, approver, true, true},
		{"an admin", secret, Actor{Kind: ActorUser, Role: Admin}, true, true},
		{"the installation", secret, Actor{Kind: ActorSystem}, true, true},
		{"a timer", secret, Actor{Kind: ActorTimer}, false, false},
		{"a display at its door", secret, Actor{AtRoom: 5}, true, false},
		{"a display at another door", secret, Actor{AtRoom: 6}, false, false},
		{"a delegate for a member", secret, byDelegate, true, false},
		{"a delegate for an admin", secret, adminByDelegate, false, false},
	} {
		if r := room(tt.access); tt.by.MaySeeRoom(r) != tt.sees || tt.by.MayBook(r) != tt.book {
			t.Errorf("%s sees it: %v, books it: %v", tt.what, tt.by.MaySeeRoom(r), tt.by.MayBook(r))
		}
	}
}

// What is seen of a public meeting in an open room, in one that certain groups see, and in one whose
// details certain groups see.
func TestAccess_viewsMeetings(t *testing.T) {
	const crew, staff = 1, 2
	rooms := []*Room{
		{Room: policy.Room{ID: 1, Name: "Open"}},
		{Room: policy.Room{ID: 2, Name: "Hidden"}, Access: Access{See: []int64{crew}}},
		{Room: policy.Room{ID: 3, Name: "Quiet"}, Access: Access{Details: []int64{staff}}, Approval: RoomApproval{ApproverIDs: []int64{9}}},
	}
	in := func(groups ...int64) Actor { return Actor{Kind: ActorUser, ID: 7, Role: Member, Groups: &groups} }
	blind := in(crew, staff)
	blind.Blind = true
	for _, tt := range []struct {
		what  string
		by    Actor
		rooms []int64
		title string
		seen  []int64 // none: the meeting does not exist
	}{
		{"a stranger", in(), []int64{1}, "Review", []int64{1}},
		{"a stranger", in(), []int64{2}, "", nil},
		{"a stranger", in(), []int64{3}, Busy, []int64{3}},
		{"a stranger", in(), []int64{1, 2}, Busy, []int64{1}},
		{"a stranger", in(), []int64{1, 3}, Busy, []int64{1, 3}},
		{"who sees the room", in(crew), []int64{2}, "Review", []int64{2}},
		{"who sees the room", in(crew), []int64{1, 2}, "Review", []int64{1, 2}},
		{"who sees the room", in(crew), []int64{2, 3}, Busy, []int64{2, 3}},
		{"who sees details", in(staff), []int64{3}, "Review", []int64{3}},
		{"who sees details", in(staff), []int64{2, 3}, Busy, []int64{3}},
		{"who sees both", in(crew, staff), []int64{2, 3}, "Review", []int64{2, 3}},
		{"a token without meetings", blind, []int64{2}, "Review", []int64{2}},
		{"a token without meetings", blind, []int64{3}, Busy, []int64{3}},
		{"the organizer", Actor{Kind: ActorUser, ID: 4}, []int64{2, 3}, "Review", []int64{2, 3}},
		{"an attendee", Actor{Kind: ActorUser, ID: 8, Email: "g@example.org"}, []int64{2, 3}, "Review", []int64{2, 3}},
		{"an approver", Actor{Kind: ActorUser, ID: 9, Role: Manager}, []int64{2, 3}, "Review", []int64{2, 3}},
		{"an approver of another room", Actor{Kind: ActorUser, ID: 9, Role: Manager}, []int64{2}, "", nil},
		{"an admin", Actor{Kind: ActorUser, ID: 5, Role: Admin}, []int64{2, 3}, "Review", []int64{2, 3}},
		{"a webhook", Actor{Everywhere: true}, []int64{2, 3}, "Review", []int64{2, 3}},
		{"the calendar of the hidden room", Actor{AtRoom: 2}, []int64{2}, "Review", []int64{2}},
		{"the calendar of the quiet room", Actor{AtRoom: 3}, []int64{3}, Busy, []int64{3}},
	} {
		in := PickRooms(rooms, tt.rooms)
		m := &Meeting{Title: "Review", Visibility: Public, Organizer: Person{UserID: 4}, Attendees: []Attendee{{Person: Person{Email: "g@example.org"}}},
			RoomIDs: RoomIDs(in), RoomNames: RoomNames(in), Limits: LimitsOf(in)}
		for _, id := range m.RoomIDs {
			m.Occupied = append(m.Occupied, Occupancy{RoomID: id})
		}
		known, view := tt.by.MayKnow(m, rooms), m.View(tt.by, rooms)
		if known != (tt.seen != nil) {
			t.Errorf("%s knows of a meeting in %v: %v", tt.what, tt.rooms, known)
		}
		if known && (view.Title != tt.title || !slices.Equal(view.RoomIDs, tt.seen) || len(view.RoomNames) != len(tt.seen) || len(view.Occupied) != len(tt.seen)) {
			t.Errorf("%s sees a meeting in %v as %q in %v", tt.what, tt.rooms, view.Title, view.RoomNames)
		}
		if tt.title == Busy && (view.Organizer.UserID != 0 || len(view.Attendees) != 0) {
			t.Errorf("%s sees who meets in %v", tt.what, tt.rooms)
		}
	}
	m := &Meeting{Title: "Review", Visibility: Public, RoomIDs: []int64{1}, Limits: LimitsOf(rooms), Request: &Request{Change: &PendingChange{RoomIDs: []int64{2}}}}
	if seen := m.View(in(), rooms); seen.Title != "Review" || seen.Request != nil {
		t.Errorf("a stranger sees %q, and that it may move to a hidden room: %+v", seen.Title, seen.Request)
	}
	if seen := m.View(in(crew), rooms); seen.Request == nil {
		t.Error("who sees the room does not see that a meeting may move there")
	}
}

func TestEntry_withoutRooms(t *testing.T) {
	move := map[string]any{"room_ids": []any{1.0, 2.0}}
	e := Entry{Changes: map[string]Change{"room_ids": {From: []any{1.0, 2.0}, To: []int64{3}}, "pending_change": {From: move}, "title": {To: "x"}}}
	seen := e.WithoutRooms([]int64{2})
	if c := seen.Changes["room_ids"]; !slices.Equal(c.From.([]int64), []int64{1}) || !slices.Equal(c.To.([]int64), []int64{3}) || len(seen.Changes) != 2 {
		t.Errorf("%+v", seen.Changes)
	}
	if len(e.Changes) != 3 || len(e.WithoutRooms([]int64{9}).Changes) != 3 {
		t.Error("an entry that names no hidden room changed")
	}
}
