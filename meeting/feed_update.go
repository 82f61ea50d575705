package meeting

import (
	"slices"
	"sync"
)

// Update is an event with the meeting as it is now.
type Update struct {
	Event
	Meeting *Meeting // not to be changed; listeners share it
	Rooms   []*Room  // those that decide who sees a private meeting; perhaps more

	rendered *[2]rendering
}

// Concerns reports whether somebody who listens for the rooms hears of the update: the meeting is
// there, or was before. Where it was to move, only who sees what it is about is told.
func (u *Update) Concerns(rooms []int64, sees bool) bool {
	named := slices.Concat(u.Meeting.RoomIDs, u.Left)
	if sees {
		named = append(named, u.Asked...)
	}
	return slices.ContainsFunc(named, func(id int64) bool { return slices.Contains(rooms, id) })
}

type rendering struct {
	once sync.Once
	text []byte
}

// Render is what make makes of the update: once for all who see the meeting's content and once
// for all others, as whom it is asked. The result is shared, and not to be changed.
func (u *Update) Render(sees bool, make func(by Actor) []byte) []byte {
	r, by := &u.rendered[0], Actor{Kind: ActorSystem}
	if !sees {
		r, by = &u.rendered[1], Actor{}
	}
	r.once.Do(func() { r.text = make(by) })
	return r.text
}
