package policy

import (
	"cmp"
	"slices"
	"time"

	"punctual/account/fault"
	"punctual/meeting/clock"
)

// PersonLimits limits what one user may have booked in all rooms together; 0: no limit.
type PersonLimits struct {
	Ahead time.Duration // of room time from Now on: two rooms for an hour take two hours
	Rooms int           // at the same time
	Now   time.Time     // set by the service
}

// None reports whether nothing is limited.
func (l PersonLimits) None() bool { return l.Ahead == 0 && l.Rooms == 0 }

// At returns the limits as they apply at an instant.
func (l PersonLimits) At(now time.Time) PersonLimits {
	l.Now = now
	return l
}

// personClaim is what a meeting takes of the installation's limits of its organizer.
type personClaim struct {
	limits PersonLimits
	rooms  int // of the meeting
	held   int // rooms that it holds already
}

// farAhead is later than any meeting.
const farAhead = 100 * 365 * 24 * time.Hour

// PersonClaim returns a claim on the limits of one person in a slot. It has no room, because the
// person's meetings in all rooms count.
func PersonClaim(userID int64, l PersonLimits, slot clock.Slot) Claim {
	c := Claim{UserID: userID, Span: slot, slot: slot, person: &personClaim{limits: l}}
	if l.Ahead > 0 {
		c.Span = clock.Slot{Start: clock.Earlier(slot.Start, l.Now), End: clock.Later(slot.End, l.Now.Add(farAhead))}
	}
	return c
}

// check reports the limits that the meeting would exceed. others are the slots of the person's other
// meetings, one for each room. A meeting that takes no more than before is within every limit.
func (p *personClaim) check(c *Claim, others []clock.Slot) []fault.Fault {
	var v fault.List
	if most := p.limits.Ahead; most > 0 {
		used := p.ahead(others...)
		before, after := used+time.Duration(p.held)*p.ahead(c.held), used+time.Duration(p.rooms)*p.ahead(c.slot)
		if after > most && after > before {
			v.Violate("room_ids", "booked_ahead", fault.Figures{Limit: fault.FormatDuration(most), Used: fault.FormatDuration(used), Actual: fault.FormatDuration(after)},
				"one person can book at most %s of room time ahead; this would make %s", fault.FormatDuration(most), fault.FormatDuration(after))
		}
	}
	grows := p.rooms > p.held || c.slot.Start.Before(c.held.Start) || c.slot.End.After(c.held.End)
	if most := p.limits.Rooms; most > 0 && grows {
		used := mostAtOnce(c.slot, others)
		if actual := used + p.rooms; actual > most {
			v.Violate("room_ids", "rooms_at_once", fault.Figures{Limit: most, Used: used, Actual: actual},
				"one person can book at most %d rooms at the same time; this would make %d", most, actual)
		}
	}
	return v
}

// ahead returns the part of the slots after Now.
func (p *personClaim) ahead(slots ...clock.Slot) (sum time.Duration) {
	for _, s := range slots {
		sum += max(0, s.End.Sub(clock.Later(s.Start, p.limits.Now)))
	}
	return sum
}

// mostAtOnce is the largest number of slots that overlap at some instant of span.
func mostAtOnce(span clock.Slot, slots []clock.Slot) (most int) {
	type edge struct {
		at    time.Time
		delta int
	}
	var edges []edge
	for _, s := range slots {
		if s.Overlaps(span) {
			edges = append(edges, edge{clock.Later(s.Start, span.Start), 1}, edge{s.End, -1})
		}
	}
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.delta, b.delta)) })
	n := 0
	for _, e := range edges {
		n += e.delta
		most = max(most, n)
	}
	return most
}
