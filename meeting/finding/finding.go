package finding

import (
	"cmp"
	"slices"
	"time"

	"punctual/account/fault"
	"punctual/meeting"
	"punctual/meeting/clock"
)

// Need holds the requirements for a room.
type Need struct {
	Persons  int      // participants; 0: unknown
	Features []string // all of them
	SiteID   int64    // 0: any
	RoomIDs  []int64  // none: any; else these alone
}

// AvailabilityQuery selects rooms that an actor may book for a slot.
type AvailabilityQuery struct {
	Need
	Slot            clock.Slot // at most 31 days
	OnlyFree        bool
	IncludeInactive bool
}

// Availability of a room at a time.
type Availability struct {
	Room          *meeting.Room
	NeedsApproval bool     // by someone other than the actor
	MayOverride   bool     // the actor may override the room's policies
	Reasons       []Reason // why it is not available, at most maxReasons; empty: it is free
	MoreReasons   int      // left out of Reasons
}

// maxReasons limits the reasons of one room.
const maxReasons = 20

// short leaves out reasons beyond maxReasons.
func (a Availability) short() Availability {
	a.MoreReasons = max(0, len(a.Reasons)-maxReasons)
	a.Reasons = a.Reasons[:len(a.Reasons)-a.MoreReasons]
	return a
}

// maxRoomIDs is how many rooms a query may name.
const maxRoomIDs = 1000

// Reason is why a room is not available. Its code is that of the fault of a booking, or one of
// those here.
type Reason struct {
	fault.Fault
	Span    clock.Slot // when it is taken, buffers included; zero for other reasons
	Feature string     // missing feature, with [ReasonFeatures]
}

// Codes of reasons, beside [meeting.ReasonTaken], that are not violations.
const (
	ReasonFeatures = "features"
	ReasonTooSoon  = "no_time_to_decide" // a request would end with its start
)

// Suggestion is a room and a slot in which the actor may book it.
type Suggestion struct {
	Room          *meeting.Room
	Slot          clock.Slot
	NeedsApproval bool
}

func (q *AvailabilityQuery) rooms() meeting.RoomQuery {
	rooms := meeting.RoomQuery{IDs: q.RoomIDs, SiteID: q.SiteID, IncludeInactive: q.IncludeInactive}
	if q.OnlyFree { // the others are left out anyway
		rooms.Features, rooms.Persons, rooms.IncludeInactive = q.Features, q.Persons, false
	}
	return rooms
}

func (q *AvailabilityQuery) check() error {
	var found fault.List
	switch {
	case !q.Slot.Start.Before(q.Slot.End):
		found.Add("end", "invalid_span", "must be after start")
	case q.Slot.Duration() > maxSpan:
		found.Add("end", "invalid_span", "must be at most 31 days after start")
	}
	q.Need.check(&found)
	return found.Err()
}

func (n *Need) check(found *fault.List) {
	if n.Persons < 0 || n.Persons > 1_000_000 {
		found.Add("attendees", "out_of_range", "must be a number of people from 0 to 1,000,000")
	}
	if len(n.Features) > meeting.MaxFeatures {
		found.Add("features", "too_many", "must have at most %d features", meeting.MaxFeatures)
	}
	if len(n.RoomIDs) > maxRoomIDs {
		found.Add("room_id", "too_many", "must have at most %d rooms", maxRoomIDs)
	}
}

// searched returns the span to search for slots of a length. It fills in what is missing and leaves
// out the past.
func (n *Need) searched(length time.Duration, span clock.Slot, at time.Time) (clock.Slot, error) {
	var found fault.List
	n.check(&found)
	span.Start = clock.Later(span.Start, at) // also of the zero time
	if span.End.IsZero() {
		span.End = span.Start.AddDate(0, 0, 7)
	}
	switch {
	case !span.Start.Before(span.End) || span.Duration() > maxSpan:
		found.Add("to", "invalid_span", "must be after from and now, and at most 31 days later")
	case length <= 0 || length > span.Duration():
		found.Add("duration", "out_of_range", "must be positive and fit between from and to")
	case length%time.Second != 0:
		found.Add("duration", "not_whole_seconds", "must be a whole number of seconds")
	}
	return span, found.Err()
}

// surplus returns how many places the room has too many. Rooms of unknown capacity fit last.
func surplus(r *meeting.Room, persons int) int {
	if r.Capacity == 0 {
		return 1 << 30
	}
	return r.Capacity - persons
}

// choose returns n of the suggestions, the earliest first. At the same time, rooms that need no
// approval and fit best come first. As long as there are other times, one time gets only a few
// rooms.
func choose(all []Suggestion, persons, n int) []Suggestion {
	slices.SortFunc(all, func(a, b Suggestion) int {
		needs := func(s Suggestion) int {
			if s.NeedsApproval {
				return 1
			}
			return 0
		}
		return cmp.Or(
			a.Slot.Start.Compare(b.Slot.Start), needs(a)-needs(b),
			cmp.Compare(surplus(a.Room, persons), surplus(b.Room, persons)),
			cmp.Compare(a.Room.Name, b.Room.Name), cmp.Compare(a.Room.ID, b.Room.ID),
		)
	})
	var first, rest []Suggestion
	at := map[int64]int{}
	for _, s := range all {
		if k := s.Slot.Start.UnixMicro(); at[k] < max(3, n/4) {
			at[k]++
			first = append(first, s)
		} else {
			rest = append(rest, s)
		}
	}
	chosen := append(first, rest...)
	chosen = chosen[:min(n, len(chosen))]
	slices.SortStableFunc(chosen, func(a, b Suggestion) int { return a.Slot.Start.Compare(b.Slot.Start) })
	return chosen
}
