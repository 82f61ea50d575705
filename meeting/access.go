package meeting

import (
	"fmt"
	"slices"

	"punctual/account/fault"
)

// Access lists the groups with rights in a room. Admins may do everything, and approvers of a room may
// book it.
type Access struct {
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
	return Access{Book: slices.Concat(a.Book), WithoutApproval: slices.Concat(a.WithoutApproval), Override: slices.Concat(a.Override)}
}

// Groups returns all groups that the lists name, each once.
func (a Access) Groups() []int64 {
	return slices.Compact(slices.Sorted(slices.Values(slices.Concat(a.Book, a.WithoutApproval, a.Override))))
}

// Check returns the faults of requested access. Unknown groups are found only when it is saved.
func (a Access) Check(found *fault.List) {
	for _, list := range []struct {
		location string
		groups   []int64
	}{{"access.book", a.Book}, {"access.book_without_approval", a.WithoutApproval}, {"access.override", a.Override}} {
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

// MayBook reports whether the access of the room lets the actor book it, themselves or by a delegate.
func (a Actor) MayBook(r *Room) bool {
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
