package meeting

import (
	"time"

	"punctual/meeting/clock"
)

// PublicShow is how much the public calendar shows of a room.
type PublicShow string

const (
	PublicOff    PublicShow = "off"
	PublicBusy   PublicShow = "busy"   // times
	PublicTitles PublicShow = "titles" // times, and titles of meetings that are not private
)

// Within returns what the public calendar shows of a room if it shows s of the room's site. It leaves out a room that
// not everyone may see, and titles if not everyone may see details. Admins can still choose such a room by itself.
func (s PublicShow) Within(r *Room) PublicShow {
	switch {
	case len(r.Access.See) > 0:
		return PublicOff
	case len(r.Access.Details) > 0 && s == PublicTitles:
		return PublicBusy
	}
	return s
}

// PublicShows lists all, from the least to the most.
var PublicShows = []PublicShow{PublicOff, PublicBusy, PublicTitles}

// PublicAccess is what admins chose for a site or, despite its site, for a room.
type PublicAccess struct {
	SiteID, RoomID int64
	Show           PublicShow // empty: of a room, as its site; of a site, off
}

// PublicRoom is a room of the public calendar.
type PublicRoom struct {
	ID, SiteID int64
	Name, Site string
	Zone       string // IANA
	Show       PublicShow
	Chosen     bool // by itself, not with its site
}

// PublicMeeting is a time at which a room of the public calendar is taken.
type PublicMeeting struct {
	RoomID int64
	Slot   clock.Slot
	Title  string // empty: not shown
}

const (
	// MaxPublicRooms limits the rooms of one view of the public calendar.
	MaxPublicRooms = 200
	// MaxPublicSpan limits its time.
	MaxPublicSpan = 8 * 24 * time.Hour
)
