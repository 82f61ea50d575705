package events

import (
	"slices"
	"sync"

	"punctual/meeting"
)

// An Update is an event with the meeting as it is now.
type Update struct {
	Event
	Meeting *meeting.Meeting // shared by all listeners: do not change it
	Rooms   []*meeting.Room  // at least those that decide about access to the meeting, and those that it left

	rendered *[2]rendering
}

// For returns the update for a listener, and whether they see what the meeting is about. It names only rooms
// that they may see, and is nil if they may know neither of the meeting nor of a room that it left.
func (u *Update) For(by meeting.Actor) (_ *Update, sees bool) {
	sees = by.MaySee(u.Meeting, u.Rooms)
	hides := func(id int64) bool {
		return slices.ContainsFunc(u.Rooms, func(r *meeting.Room) bool { return r.ID == id && !by.MaySeeRoom(r) })
	}
	if (sees || len(u.Meeting.Limits) == 0) && !slices.ContainsFunc(u.Left, hides) && !slices.ContainsFunc(u.Requested, hides) &&
		!slices.ContainsFunc(u.Meeting.RequestedRooms(), hides) {
		return u, sees
	}
	own := *u
	own.Left = slices.DeleteFunc(slices.Clone(u.Left), hides)
	own.Requested = slices.DeleteFunc(slices.Clone(u.Requested), hides)
	if len(own.Left) == 0 && !by.MayKnow(u.Meeting, u.Rooms) {
		return nil, false
	}
	own.Meeting = u.Meeting.View(by, u.Rooms)
	own.Meeting.Limits = nil
	own.rendered = new([2]rendering) // not like others
	return &own, sees
}

// Concerns reports whether a listener for some rooms gets the update: the meeting is in one of
// them, or was. Rooms of a requested change count only if the listener sees the content.
func (u *Update) Concerns(rooms []int64, sees bool) bool {
	named := slices.Concat(u.Meeting.RoomIDs, u.Left)
	if sees {
		named = append(named, u.Requested...)
	}
	return slices.ContainsFunc(named, func(id int64) bool { return slices.Contains(rooms, id) })
}

type rendering struct {
	once sync.Once
	text []byte
}

// Render returns what make returns for the update. It calls make once for all listeners that see
// the meeting's content, and once for all others. The result is shared: do not change it.
func (u *Update) Render(sees bool, make func(by meeting.Actor) []byte) []byte {
	r, by := &u.rendered[0], meeting.Actor{Kind: meeting.ActorSystem}
	if !sees {
		r, by = &u.rendered[1], meeting.Actor{}
	}
	r.once.Do(func() { r.text = make(by) })
	return r.text
}
