// Package moving imports the rooms, people and bookings of another booking program. The packages next to
// it read the programs' databases and convert them to [Data].
package moving

import (
	"time"

	"punctual/meeting"
	"punctual/meeting/clock"
	"punctual/meeting/policy"
)

// Data is what another program holds. Keys are the program's own, and name what belongs together.
type Data struct {
	Program  string // as people call it, such as MRBS
	Sites    []Site
	Rooms    []Room
	People   []Person
	Types    []Type
	Fields   []Field
	Series   []Series
	Bookings []Booking
	Notes    []Note
}

// Note describes something of the other program that is not imported, or differs.
type Note struct {
	About   string `json:"about"` // such as area London
	Message string `json:"message"`
}

// Site is a place with rooms.
type Site struct {
	Key, Name string
	Timezone  string // IANA; empty: unknown
}

// Room is a bookable room.
type Room struct {
	Key, Site        string
	Name             string
	Floor            string
	Features         []string
	Capacity         int
	Inactive         bool
	ApprovalRequired bool
	OpeningHours     []policy.OpeningHours
	Step             time.Duration
	MinDuration      time.Duration
	MaxDuration      time.Duration
	MinNotice        time.Duration
	MaxAdvance       time.Duration
	BufferAfter      time.Duration
}

// Person is a user of the other program.
type Person struct {
	Key      string // such as a login
	Name     string
	Email    string // empty or invalid: see [Options]
	Phone    string
	Timezone string
	Role     meeting.Role
	Disabled bool
	Left     bool // named by bookings, but no longer a user there
}

// Type is a kind of booking.
type Type struct{ Key, Name string }

// Field is a custom field of bookings.
type Field struct {
	Name    string // as in requests
	Label   string
	Kind    meeting.FieldKind
	Choices []string
}

// Content is what a booking and a series have in common.
type Content struct {
	Rooms              []string // keys
	Title, Description string
	Organizer          string // key
	Attendees          []Attendee
	Private            bool
	Pending            bool
	Type               string         // key; empty: none
	Fields             map[string]any // string, float64 or bool, by name
	Extra              []Extra        // joins the description
}

// Extra is a value that has no other place.
type Extra struct{ Label, Value string }

// Attendee is a user by key, or somebody by address.
type Attendee struct {
	Key, Email, Name string
	Response         meeting.Response
}

// Booking is one meeting, or one date of a series.
type Booking struct {
	Content
	ID     int64  // older bookings have lower ones
	Ref    string // for reports, such as entry 17
	UID    string // that no other booking of any installation has
	Slot   clock.Slot
	Zone   string    // IANA
	Series string    // key; empty: none
	Place  time.Time // when the rule would have it; zero: Slot.Start

	Problem string // why it cannot be imported; empty: it can
}

// Series is a rule by which bookings recur.
type Series struct {
	Content
	Key        string
	Ref, UID   string
	Rule       string    // RFC 5545; empty: it cannot be expressed
	Zone       string    // IANA
	Start, End time.Time // what clocks show on the first date, as UTC
}
