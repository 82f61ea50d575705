package meeting

import (
	"cmp"
	"slices"
	"time"

	"punctual/account/fault"
	"punctual/meeting/clock"
)

// PersonLimits bound what one person may have booked in all rooms together; 0: no limit.
type PersonLimits struct {
	Ahead time.Duration // of room time from Now on: two rooms for an hour take two hours
	Rooms int           // at the same time
	Now   time.Time     // set by the service
}

func (l PersonLimits) none() bool { return l.Ahead == 0 && l.Rooms == 0 }

// at is what to judge by at an instant.
func (l PersonLimits) at(now time.Time) PersonLimits {
	l.Now = now
	return l
}

// personClaim is what a meeting takes of the installation's limits of its organizer.
type personClaim struct {
	limits PersonLimits
	rooms  int // of the meeting
	had    int // rooms that it had before
}

// farAhead is later than any meeting.
const farAhead = 100 * 365 * 24 * time.Hour

// claim is what a meeting in the rooms claims of these limits. It has no room: what
// counts are the person's meetings in all of them.
func (l PersonLimits) claim(userID int64, rooms []*Room, wanted clock.Slot, held *Meeting) Claim {
	c := Claim{UserID: userID, Span: wanted, wanted: wanted, person: &personClaim{limits: l, rooms: len(rooms)}}
	if held != nil && len(held.Occupied) > 0 {
		c.had, c.person.had = held.Slot, len(held.Occupied)
	}
	if l.Ahead > 0 {
		c.Span = clock.Slot{Start: clock.Earlier(wanted.Start, l.Now), End: clock.Later(wanted.End, l.Now.Add(farAhead))}
	}
	return c
}

// check reports the limits that the meeting would exceed. others are the slots of the person's other
// meetings, one for each room. A meeting that takes no more than before is within every limit.
func (p *personClaim) check(c *Claim, others []clock.Slot) []Fault {
	var v fault.List
	if most := p.limits.Ahead; most > 0 {
		used := p.ahead(others...)
		before, after := used+time.Duration(p.had)*p.ahead(c.had), used+time.Duration(p.rooms)*p.ahead(c.wanted)
		if after > most && after > before {
			v.Violate("room_ids", "booked_ahead", Figures{Limit: FormatDuration(most), Used: FormatDuration(used), Actual: FormatDuration(after)},
				"one person may book at most %s of room time ahead; with this it would be %s", FormatDuration(most), FormatDuration(after))
		}
	}
	grows := p.rooms > p.had || c.wanted.Start.Before(c.had.Start) || c.wanted.End.After(c.had.End)
	if most := p.limits.Rooms; most > 0 && grows {
		used := mostAtOnce(c.wanted, others)
		if actual := used + p.rooms; actual > most {
			v.Violate("room_ids", "rooms_at_once", Figures{Limit: most, Used: used, Actual: actual},
				"one person may book at most %d rooms at the same time; with this it would be %d", most, actual)
		}
	}
	return v
}

// ahead is the part of the slots that is to come.
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
