package meeting

import (
	"slices"
	"strings"
	"time"
	"unicode"

	"punctual/meeting/policy"
)

// MaxFeatures limits the features of a room, and those that a search asks for.
const MaxFeatures = 50

// Site is a place with rooms that share a time zone.
type Site struct {
	ID        int64
	Name      string
	Timezone  string // IANA; empty: the installation's
	Address   string // local part of the mail address that stands for any of its rooms, in lower case; empty: none
	Facility  string // mail address to which faults are reported, of rooms without their own; empty: none
	Access    Access // of its rooms without their own
	Version   int64
	CreatedAt time.Time
	UpdatedAt time.Time
}

// Room is a bookable room with its policies.
type Room struct {
	policy.Room
	Floor     string
	Address   string // local part of the mail address that answers invitations, in lower case; empty: none
	Facility  string // mail address to which faults are reported; empty: the site's
	Features  []string
	Photo     string // version of the photo; empty: none
	Timezone  string // IANA, as given for this room; empty: the site's, then the installation's
	Approval  RoomApproval
	Access    Access  // in force
	OwnAccess *Access // as given for this room; nil: the site's
	CheckIn   CheckIn
	Inherits  bool  // CheckIn is the installation's, and follows it
	Posted    bool  // there is a chat channel of the room or its site; read by the store's Rooms only
	Closures  int64 // number raised by the store when a blackout of the room or its site, or a setting that bookings are checked against, changes; 0: never changed

	BlackoutsUntil time.Time // Blackouts has those that start before; zero: all
	Version        int64
	CreatedAt      time.Time
	UpdatedAt      time.Time
}

// RoomApproval says who must approve meetings in the room.
type RoomApproval struct {
	Required      bool
	ApproverIDs   []int64       // users; empty: the admins decide
	SecondIDs     []int64       // users of the second level; empty: no second level
	Timeout       time.Duration // 0: the installation's
	OnTimeout     Status        // [Rejected] or [Confirmed]; empty: the installation's
	EscalateAfter time.Duration // until escalation; 0: the installation's
	EscalateTo    []int64       // users; empty: the admins
}

// CheckIn says whether check-in is required, and when it is possible.
type CheckIn struct {
	Required bool
	Opens    time.Duration // before the start
	Grace    time.Duration // after the start, until the room is released
}

// PickRooms returns the rooms with these IDs, in their order.
func PickRooms(rooms []*Room, ids []int64) []*Room {
	picked := make([]*Room, 0, len(ids))
	for _, id := range ids {
		if i := slices.IndexFunc(rooms, func(r *Room) bool { return r.ID == id }); i >= 0 {
			picked = append(picked, rooms[i])
		}
	}
	return picked
}

// Levels of approval. The second is asked when the first has approved.
const (
	FirstLevel  = 1
	secondLevel = 2
)

func RoomIDs(rooms []*Room) []int64 {
	out := make([]int64, len(rooms))
	for i, r := range rooms {
		out[i] = r.ID
	}
	return out
}

func RoomNames(rooms []*Room) []string {
	out := make([]string, len(rooms))
	for i, r := range rooms {
		out[i] = r.Name
	}
	return out
}

// FeatureTag is how the mail addresses of sites name a feature of rooms: in lower case, with hyphens for all but letters
// and digits, as in berlin+video-conference.
func FeatureTag(feature string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(feature), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }), "-")
}

// Clone copies the room deeply enough for changes of its fields.
func (r *Room) Clone() *Room {
	c := *r
	c.Features = slices.Clone(r.Features)
	c.Approval.ApproverIDs = slices.Clone(r.Approval.ApproverIDs)
	c.Approval.SecondIDs, c.Approval.EscalateTo = slices.Clone(r.Approval.SecondIDs), slices.Clone(r.Approval.EscalateTo)
	c.Policy.OpeningHours = slices.Clone(r.Policy.OpeningHours)
	if r.Policy.Quota != nil {
		c.Policy.Quota = new(*r.Policy.Quota)
		c.Policy.Quota.Groups = slices.Clone(r.Policy.Quota.Groups)
	}
	return &c
}
