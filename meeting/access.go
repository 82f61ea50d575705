package meeting

import (
	"fmt"
	"slices"

	"punctual/account/fault"
)

// Access lists the groups with rights in a room. Admins may do everything, and approvers of a room may
// see and book it. Users who may not see a room may not book it either.
type Access struct {
	See             []int64 // groups that may see the room, together with all groups of the other lists; empty: everyone may
	Details         []int64 // groups that may see what its meetings are about; empty: everyone who sees the room
	Book            []int64 // groups that may book; empty: everyone may
	WithoutApproval []int64 // groups whose bookings are confirmed at once; empty: those of approvers only
	Override        []int64 // groups that may override policies with a reason; empty: admins only
}

// ViolationNotAllowed is the code of the violation of a booking in a room that the actor may not book.
const ViolationNotAllowed = "not_allowed"

// maxGroups limits each list of an [Access].
const maxGroups = 100

// Clone returns a copy whose empty lists are nil.
func (a Access) Clone() Access {
	return Access{See: slices.Concat(a.See), Details: slices.Concat(a.Details), Book: slices.Concat(a.Book), WithoutApproval: slices.Concat(a.WithoutApproval), Override: slices.Concat(a.Override)}
}

// Groups returns all groups that the lists name, each once.
func (a Access) Groups() []int64 {
	return slices.Compact(slices.Sorted(slices.Values(slices.Concat(a.See, a.Details, a.Book, a.WithoutApproval, a.Override))))
}

// Check returns the faults of requested access. Unknown groups are found only when it is saved.
func (a Access) Check(found *fault.List) {
	for _, list := range []struct {
		location string
		groups   []int64
	}{{"access.see", a.See}, {"access.details", a.Details}, {"access.book", a.Book}, {"access.book_without_approval", a.WithoutApproval}, {"access.override", a.Override}} {
		if len(list.groups) > maxGroups {
			found.Add(list.location, "too_many", "must have at most %d groups", maxGroups)
			continue
		}
		for i, id := range list.groups {
			switch {
			case id <= 0:
				found.Add(fmt.Sprintf("%s[%d]", list.location, i), "unknown_group", "group %d does not exist", id)
			case slices.Contains(list.groups[:i], id):
				found.Add(fmt.Sprintf("%s[%d]", list.location, i), "duplicate", "must not be a duplicate")
			}
		}
	}
}

func (a Actor) inAny(groups []int64) bool {
	return a.Groups != nil && slices.ContainsFunc(groups, func(id int64) bool { return slices.Contains(*a.Groups, id) })
}

// A Limit says who sees a room, and what its meetings are about. A room that hides nothing has none.
type Limit struct {
	RoomID  int64
	Viewers []int64 // groups that may see the room; empty: everyone may
	Readers []int64 // groups that may see what meetings are about; empty: everyone who sees the room
}

// Limit returns the limit of a room with this access. If the room hides nothing, ok is false.
func (a Access) Limit(roomID int64) (l Limit, ok bool) {
	l = Limit{RoomID: roomID, Readers: slices.Compact(slices.Sorted(slices.Values(a.Details)))}
	if len(a.See) > 0 {
		l.Viewers = a.Groups()
	}
	return l, len(l.Viewers)+len(l.Readers) > 0
}

// LimitsOf returns the limits of rooms.
func LimitsOf(rooms []*Room) (limits []Limit) {
	for _, r := range rooms {
		if l, ok := r.Access.Limit(r.ID); ok {
			limits = append(limits, l)
		}
	}
	return limits
}

// sees reports whether the limit lets the actor see its room.
func (a Actor) sees(l Limit) bool {
	return len(l.Viewers) == 0 || a.IsAdmin() || a.Everywhere || a.AtRoom == l.RoomID || a.inAny(l.Viewers)
}

// reads reports whether the limit lets the actor see what meetings of its room are about.
func (a Actor) reads(l Limit) bool {
	return a.sees(l) && (len(l.Readers) == 0 || a.Everywhere || !a.Blind && (a.IsAdmin() || a.inAny(l.Readers)))
}

// MaySeeRoom reports whether the actor may know that the room exists.
func (a Actor) MaySeeRoom(r *Room) bool {
	l, limited := r.Access.Limit(r.ID)
	return !limited || a.sees(l) || a.approves(r)
}

// VisibleRooms returns the rooms that the actor may see.
func (a Actor) VisibleRooms(rooms []*Room) []*Room {
	return slices.DeleteFunc(slices.Clone(rooms), func(r *Room) bool { return !a.MaySeeRoom(r) })
}

// maySeeRoomOf reports whether the actor may see one of the rooms that a meeting has, or is requested to
// have. rooms may contain more than these.
func (a Actor) maySeeRoomOf(m *Meeting, id int64, rooms []*Room) bool {
	limited := func(l Limit) bool { return l.RoomID == id && !a.sees(l) }
	return !slices.ContainsFunc(m.Limits, limited) ||
		slices.ContainsFunc(rooms, func(r *Room) bool { return r.ID == id && a.approves(r) })
}

// MayKnow reports whether the actor may know that the meeting takes place: they see one of its rooms, or
// take part. rooms may contain more than the meeting's.
func (a Actor) MayKnow(m *Meeting, rooms []*Room) bool {
	return len(m.RoomIDs) == 0 || slices.ContainsFunc(m.RoomIDs, func(id int64) bool { return a.maySeeRoomOf(m, id, rooms) }) ||
		!a.Blind && a.takesPart(m, rooms)
}

// MayBook reports whether the access of the room lets the actor book it, themselves or by a delegate.
func (a Actor) MayBook(r *Room) bool {
	if !a.MaySeeRoom(r) {
		return false
	}
	a = a.alone()
	return len(r.Access.Book) == 0 || a.IsAdmin() || a.approves(r) || a.inAny(r.Access.Book)
}

// skipsApproval reports whether bookings of the actor in the room are confirmed at once, although the
// actor is no approver.
func (a Actor) skipsApproval(r *Room) bool { return a.inAny(r.Access.WithoutApproval) }

// MayOverride reports whether the actor may override the policies of these rooms.
func (a Actor) MayOverride(rooms []*Room) bool {
	return a.both(func(a Actor) bool {
		return a.IsAdmin() || len(rooms) > 0 && !slices.ContainsFunc(rooms, func(r *Room) bool { return !a.inAny(r.Access.Override) })
	})
}

// accessViolations returns the rooms of the terms that the actor may not book, where base, nil for a new
// meeting, does not have them for all of the slot. They cannot be overridden.
func (t *Terms) accessViolations(base *Meeting, by Actor) []Fault {
	var v fault.List
	for _, r := range t.Rooms {
		if t.Bars(base, by, r) {
			v = append(v, NotAllowed(r))
		}
	}
	return v
}

// Bars reports whether the actor may not book the room for the slot. A meeting keeps the rooms of base, nil for
// a new meeting, for the time that it has them.
func (t *Terms) Bars(base *Meeting, by Actor, r *Room) bool {
	within := base != nil && !t.Slot.Start.Before(base.Slot.Start) && !t.Slot.End.After(base.Slot.End)
	return !by.MayBook(r) && !(within && slices.Contains(base.RoomIDs, r.ID))
}

// NotAllowed returns the violation of a booking by someone who may not book the room.
func NotAllowed(r *Room) Fault {
	return Fault{
		Location: "room_ids", Code: ViolationNotAllowed, Message: r.Name + " can be booked by members of certain groups only",
		Figures: Figures{RoomID: r.ID}, Firm: true,
	}
}
