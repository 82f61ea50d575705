package meeting

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"punctual/account/fault"
	"punctual/meeting/clock"
	"punctual/meeting/policy"
)

// Need is what somebody looks for a room for.
type Need struct {
	Persons  int      // participants; 0: unknown
	Features []string // all of them
	SiteID   int64    // 0: any
	RoomIDs  []int64  // none: any; else these alone
}

// AvailabilityQuery asks of rooms whether somebody may have them for a slot.
type AvailabilityQuery struct {
	Need
	Slot            clock.Slot // at most 31 days
	OnlyFree        bool       // leaves out the others
	IncludeInactive bool
}

// Availability of a room at a time.
type Availability struct {
	Room          *Room
	NeedsApproval bool     // by somebody else than who asks
	Reasons       []Reason // why it is not offered, at most maxReasons; none: it is free
	MoreReasons   int      // that are left out of Reasons
}

// maxReasons is how many reasons one room is given.
const maxReasons = 20

// short leaves out what is more than maxReasons.
func (a Availability) short() Availability {
	a.MoreReasons = max(0, len(a.Reasons)-maxReasons)
	a.Reasons = a.Reasons[:len(a.Reasons)-a.MoreReasons]
	return a
}

// maxRoomIDs is how many rooms may be named.
const maxRoomIDs = 1000

// Reason why a room is not offered. Its code is that of the fault that a booking would meet, or
// one of those here.
type Reason struct {
	Fault
	Span    clock.Slot // when it is taken, buffers included; zero for other reasons
	Feature string     // that it lacks, with [ReasonFeatures]
}

// Codes of reasons, beside [ReasonTaken], that are no broken rule.
const (
	ReasonFeatures = "features"
	ReasonTooSoon  = "no_time_to_decide" // a request would end with its start
)

// Suggestion is a room at a time at which whoever asked may book it.
type Suggestion struct {
	Room          *Room
	Slot          clock.Slot
	NeedsApproval bool
}

// rooms that are asked about.
func (q *AvailabilityQuery) rooms() RoomQuery {
	rooms := RoomQuery{IDs: q.RoomIDs, SiteID: q.SiteID, IncludeInactive: q.IncludeInactive}
	if q.OnlyFree { // the others would be left out anyhow
		rooms.Features, rooms.Persons, rooms.IncludeInactive = q.Features, q.Persons, false
	}
	return rooms
}

func (q *AvailabilityQuery) check() error {
	var found fault.List
	switch {
	case !q.Slot.Start.Before(q.Slot.End):
		found.Add("end", "invalid_span", "must be after start")
	case q.Slot.Duration() > maxAvailabilitySpan:
		found.Add("end", "invalid_span", "must be at most 31 days after start")
	}
	q.Need.check(&found)
	return found.Err()
}

func (n *Need) check(found *fault.List) {
	if n.Persons < 0 || n.Persons > 1_000_000 {
		found.Add("attendees", "out_of_range", "must be a number of people from 0 to 1,000,000")
	}
	if len(n.Features) > maxFeatures {
		found.Add("features", "too_many", "must have at most %d features", maxFeatures)
	}
	if len(n.RoomIDs) > maxRoomIDs {
		found.Add("room_id", "too_many", "must have at most %d rooms", maxRoomIDs)
	}
}

// searched is where times of a length are looked for: what was left out is filled in, and
// nothing lies in the past.
func (n *Need) searched(length time.Duration, span clock.Slot, at time.Time) (clock.Slot, error) {
	var found fault.List
	n.check(&found)
	span.Start = clock.Later(span.Start, at) // also of the zero time
	if span.End.IsZero() {
		span.End = span.Start.AddDate(0, 0, 7)
	}
	switch {
	case !span.Start.Before(span.End) || span.Duration() > maxSuggestSpan:
		found.Add("to", "invalid_span", "must be after from and now, by at most 31 days")
	case length <= 0 || length > span.Duration():
		found.Add("duration", "out_of_range", "must be positive and fit between from and to")
	case length%time.Second != 0:
		found.Add("duration", "not_whole_seconds", "must be a whole number of seconds")
	}
	return span, found.Err()
}

// asker is who looks for a room, and what decides whether they may have it.
type asker struct {
	Actor
	need Need
	at   time.Time
	conf Settings

	everywhere []clock.Slot // that the asker has booked in all rooms, if the installation limits it
}

// mustAsk reports whether somebody else would have to agree to a booking.
func (a *asker) mustAsk(r *Room) bool {
	return r.Approval.Required && !a.MayApprove([]*Room{r})
}

// tooLate reports whether a request would expire at once, before anyone could decide.
func (a *asker) tooLate(r *Room, start time.Time) bool {
	return a.mustAsk(r) && !start.After(a.at) && cmp.Or(r.Approval.OnTimeout, a.conf.OnTimeout, Rejected) != Confirmed
}

// holds reports whether a booking takes the room, and counts for quotas, at once.
func (a *asker) holds(r *Room) bool { return a.conf.HoldPending || !a.mustAsk(r) }

// reasons why the asker, whose meetings hold these slots of the room already, cannot have it for
// the slot; taken is what is booked of it near the slot.
func (r *Room) reasons(a *asker, slot clock.Slot, taken, held []clock.Slot) []Reason {
	reasons := r.missing(a.need)
	wanted := slot.Widen(r.Policy.BufferBefore, r.Policy.BufferAfter)
	for _, t := range taken {
		if t.Overlaps(wanted) {
			text := fmt.Sprintf("%s is taken from %s to %s", r.Name, t.Start.UTC().Format(time.RFC3339), t.End.UTC().Format(time.RFC3339))
			reasons = append(reasons, Reason{Span: t, Fault: Fault{Location: "start", Code: ReasonTaken, Message: text}})
		}
	}
	if a.tooLate(r, slot.Start) {
		reasons = append(reasons, Reason{Fault: Fault{
			Location: "start", Code: ReasonTooSoon, Message: "the start leaves no time to approve a request for " + r.Name,
		}})
	}
	broken := r.Check(policy.Proposal{Slot: slot, Persons: a.need.Persons, Now: a.at}, a.conf.Limits)
	if a.holds(r) || len(broken) > 0 { // a booking that breaks other rules has its quotas checked in any case
		for _, c := range claims(a.ID, []*Room{r}, slot, nil) {
			others := held
			if c.RoomID == 0 {
				others = a.everywhere
			}
			broken = append(broken, c.Check(others)...)
		}
	}
	for _, f := range broken {
		reasons = append(reasons, Reason{Fault: f})
	}
	return reasons
}

// suggest returns the first times within span at which the asker can book the room, at most limit.
func (r *Room) suggest(a *asker, length time.Duration, span clock.Slot, taken, held []clock.Slot, limit int) []Suggestion {
	span = r.Ahead(length, span, a.at, a.conf.Limits)
	if a.tooLate(r, span.Start) {
		span.Start = span.Start.Add(time.Microsecond)
	}
	if span = r.Lasting(length, span, a.conf.Limits); span.Empty() {
		return nil
	}
	var spent []clock.Slot
	if a.holds(r) {
		spent = r.Policy.Quota.Spent(span, length, held, clock.ZoneOrUTC(r.Zone))
	}
	var some []Suggestion
	for slot := range r.Openings(span, length, taken, spent) {
		if len(r.reasons(a, slot, nil, held)) == 0 {
			some = append(some, Suggestion{Room: r, Slot: slot, NeedsApproval: a.mustAsk(r)})
		}
		if len(some) == limit {
			break
		}
	}
	return some
}

// missing returns what the room lacks for the need.
func (r *Room) missing(n Need) []Reason {
	var reasons []Reason
	for _, f := range n.Features {
		if !slices.Contains(r.Features, f) {
			reasons = append(reasons, Reason{Feature: f, Fault: Fault{
				Location: "features", Code: ReasonFeatures, Message: r.Name + " has no " + f,
			}})
		}
	}
	return reasons
}

// surplus is how many places the room has too many for the need: the fewer, the better it
// fits. A room whose capacity nobody knows fits last.
func (r *Room) surplus(persons int) int {
	if r.Capacity == 0 {
		return 1 << 30
	}
	return r.Capacity - persons
}

// choose takes n of the suggestions, the earliest first, and of one time the rooms that need
// nobody's approval and fit best. One time gets at most a few rooms, as long as there are
// others: who cannot have this one is helped by another.
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
			cmp.Compare(a.Room.surplus(persons), b.Room.surplus(persons)),
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
