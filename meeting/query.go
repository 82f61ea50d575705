package meeting

import (
	"time"

	"punctual/meeting/clock"
)

// Page selects part of a list: at most Limit after Cursor. An empty cursor starts; an empty next
// cursor ends. An invalid cursor is an [*InvalidError] at "cursor".
type Page struct {
	Limit  int
	Cursor string
}

// RoomQuery filters rooms; a zero field does not filter.
type RoomQuery struct {
	IDs             []int64
	SiteID          int64
	Features        []string // all of them
	MinCapacity     int      // that is known
	Persons         int      // required places; rooms of unknown capacity match
	Text            string   // in name or floor, case-insensitive
	IncludeInactive bool
	Viewer          *Actor // only rooms that they may see
}

// MeetingQuery filters meetings; a zero field does not filter.
//
// Brief meetings have title, slot, rooms and what they occupy, ID and name of the organizer, status,
// visibility, check-in, end, series, type and version; of a request its number, deadline and change, and
// of the attendees only Viewer, if the meeting is private.
type MeetingQuery struct {
	From, To      time.Time // overlapping [From, To)
	RoomID        int64
	RoomIDs       []int64 // in any of them
	SiteID        int64
	SiteIDs       []int64 // in a room of any of them
	OrganizerID   int64
	AttendeeEmail string
	Statuses      []Status // effective at Now
	SeriesID      int64
	TypeID        int64
	Text          string    // in the title, the description or custom fields that Viewer may see, ignoring case and accents
	Awaiting      bool      // pending requests that Viewer can approve now
	Viewer        *Actor    // only meetings that they may know; filters must not reveal private ones to them: see Reveals
	InVisible     bool      // the caller knows that Viewer may see RoomIDs
	Now           time.Time // for effective statuses
	Brief         bool      // only what a calendar shows, see below
}

// Reveals reports whether being listed reveals something that a private meeting hides: its title,
// its people, its type, or its series. If so, the meeting is listed only to users who may see it.
func (q MeetingQuery) Reveals() bool {
	return q.Text != "" || q.OrganizerID != 0 || q.AttendeeEmail != "" || q.SeriesID != 0 || q.TypeID != 0
}

// DueCursor is the end of a page of Due.
type DueCursor struct {
	Due time.Time
	ID  ID
	Sub string
}

// Due is one pending timed event.
type Due struct {
	Key     string // of its message
	Version int64
	Due     time.Time
	Cursor  DueCursor
}

// Ref names one state of a meeting's schedule.
type Ref struct {
	ID      ID
	Version int64 // ScheduleVersion
}

// ReminderRef names one reminder of one state of a meeting's schedule.
type ReminderRef struct {
	Ref
	Before Anchor
	Offset time.Duration
	Due    time.Time
}

// Outcome of a timed change.
type Outcome int

const (
	Applied Outcome = iota // it took effect now
	Done                   // it took effect before
	Stale                  // the meeting has another schedule or state now; nothing was done
)

func (o Outcome) String() string { return [...]string{"applied", "done", "stale"}[o] }

// HeldSlot is a slot of a room that a pending move or an offer holds.
type HeldSlot struct {
	MeetingID ID // 0: an offer
	Slot      clock.Slot
}

// BlackoutQuery filters blackouts; a zero field does not filter.
type BlackoutQuery struct {
	From, To time.Time // overlapping [From, To)
	RoomID   int64     // that close the room: its own and its site's
	SiteID   int64     // of the site and of its rooms
	Viewer   *Actor    // only blackouts of sites, and of rooms that they may see
}

// SeriesQuery filters series; a zero field does not filter.
type SeriesQuery struct {
	OrganizerID int64
	Flagged     bool // the latest dates were no-shows, [FlaggedAfter] or more
}

// WaitQuery filters waits; a zero field does not filter.
type WaitQuery struct {
	UserID int64
	RoomID int64
	States []WaitState // as they are at Now; see [Wait.At]
	Now    time.Time
}

// ZoneRules is the state of a zone's rules when they were last compared.
type ZoneRules struct {
	Zone      string
	Hash      string
	ChangedAt time.Time // when a change of the rules was noticed; zero: never, or all meetings were moved since
}
