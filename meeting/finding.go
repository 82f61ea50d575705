package meeting

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"time"
)

// Need is what somebody looks for a room for.
type Need struct {
	Persons  int      // who come; 0: not told
	Features []string // all of them
	SiteID   int64    // 0: any
	RoomID   int64    // 0: any; else this room alone
}

// Availability of a room at a time.
type Availability struct {
	Room          *Room
	NeedsApproval bool     // by somebody else than who asks
	Reasons       []Reason // why it is not offered; none: it is free
}

// Reason why a room is not offered. Its code is that of the fault that a booking would meet, or
// one of those here.
type Reason struct {
	Fault
	Span    Slot   // when it is taken, buffers included; zero for other reasons
	Feature string // that it lacks, with [ReasonFeatures]
}

// Codes of reasons, beside [ReasonTaken], that are no broken rule.
const (
	ReasonFeatures = "features"
	ReasonTooSoon  = "no_time_to_decide" // a request would end with its start
)

// Suggestion is a room at a time at which whoever asked may book it.
type Suggestion struct {
	Room          *Room
	Slot          Slot
	NeedsApproval bool
}

// reasons why the actor, who holds these slots of the room already, cannot have it for the
// slot; taken is what is booked of it near the slot.
func (r *Room) reasons(by Actor, n Need, slot Slot, taken, held []Slot, at time.Time, limits Limits) []Reason {
	reasons := r.missing(n)
	wanted := slot.Widen(r.Policy.BufferBefore, r.Policy.BufferAfter)
	for _, t := range taken {
		if t.Overlaps(wanted) {
			text := fmt.Sprintf("%s is taken from %s to %s", r.Name, instantText(t.Start), instantText(t.End))
			reasons = append(reasons, Reason{Span: t, Fault: Fault{Location: "query.start", Code: ReasonTaken, Message: text}})
		}
	}
	if needsOther(by, r) && !slot.Start.After(at) {
		reasons = append(reasons, Reason{Fault: Fault{
			Location: "query.start", Code: ReasonTooSoon, Message: "nobody could decide about a request for " + r.Name + " before its start",
		}})
	}
	broken := r.Check(Wish{Slot: slot, Persons: n.Persons, Now: at}, limits)
	for _, c := range claims(by.ID, []*Room{r}, slot, nil) {
		broken = append(broken, c.Check(held)...)
	}
	for _, f := range broken {
		reasons = append(reasons, Reason{Fault: f})
	}
	return reasons
}

// missing tells what of the need the room does not have.
func (r *Room) missing(n Need) []Reason {
	var reasons []Reason
	for _, f := range n.Features {
		if !slices.Contains(r.Features, f) {
			reasons = append(reasons, Reason{Feature: f, Fault: Fault{
				Location: "query.features", Code: ReasonFeatures, Message: r.Name + " has no " + f,
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

// grid on which times are suggested for rooms that have no step of their own.
const suggestedStep = 15 * time.Minute

// daytime is when rooms are suggested that are open around the clock.
var daytime = []OpeningHours{{Days: []string{"MO", "TU", "WE", "TH", "FR", "SA", "SU"}, From: "06:00", To: "22:00"}}

// Openings are the times from which on the room can be had for a length within span, earliest
// first and so that they do not overlap: on the grid of the room's clock, while it is open,
// not closed by a blackout, and clear of what is taken with the room's buffers around it. A
// room without opening hours is had at night only if there is no time by day. Rules about who
// asks, and when, are the caller's to check.
func (r *Room) Openings(span Slot, length time.Duration, taken []Slot) iter.Seq[Slot] {
	return func(yield func(Slot) bool) {
		if length <= 0 {
			return
		}
		loc := mustZone(r.Zone)
		busy := make([]Slot, 0, len(taken)+len(r.Blackouts))
		for _, t := range taken {
			busy = append(busy, t.Widen(r.Policy.BufferAfter, r.Policy.BufferBefore))
		}
		for _, b := range r.Blackouts {
			busy = append(busy, b.Slot)
		}
		hours := [][]OpeningHours{r.Policy.OpeningHours}
		if len(r.Policy.OpeningHours) == 0 {
			hours = [][]OpeningHours{daytime, nil}
		}
		for _, open := range hours {
			found := false
			for slot := range r.fits(openHours(open, span, loc), length, busy, loc) {
				if found = true; !yield(slot) {
					return
				}
			}
			if found {
				return
			}
		}
	}
}

// fits are the slots of a length on the room's grid within spans, clear of what is busy.
func (r *Room) fits(spans []Slot, length time.Duration, busy []Slot, loc *time.Location) iter.Seq[Slot] {
	return func(yield func(Slot) bool) {
		for _, span := range spans {
			for _, gap := range gaps(span, busy) {
				for start := r.onGrid(gap.Start, loc); !start.Add(length).After(gap.End); {
					if !yield(Slot{Start: start, End: start.Add(length)}) {
						return
					}
					start = r.onGrid(start.Add(length), loc)
				}
			}
		}
	}
}

// openHours are the parts of span within the hours, adjacent ones joined; all of it if there are none.
func openHours(hours []OpeningHours, span Slot, loc *time.Location) []Slot {
	if len(hours) == 0 {
		return []Slot{span}
	}
	var open []Slot
	for _, s := range (&Policy{OpeningHours: hours}).intervals(span, loc) {
		s.Start, s.End = later(s.Start, span.Start), earlier(s.End, span.End)
		if !s.Start.Before(s.End) {
			continue
		}
		if n := len(open); n > 0 && !s.Start.After(open[n-1].End) {
			open[n-1].End = later(open[n-1].End, s.End)
		} else {
			open = append(open, s)
		}
	}
	return open
}

// onGrid is the first instant from t on that lies on the room's grid: full steps since
// midnight by its clock.
func (r *Room) onGrid(t time.Time, loc *time.Location) time.Time {
	step := cmp.Or(r.Policy.Step, suggestedStep)
	past := sinceMidnight(t.In(loc)) % step
	if past == 0 {
		return t
	}
	t = t.Add(step - past)
	if past := sinceMidnight(t.In(loc)) % step; past != 0 { // clocks changed meanwhile, by no full step
		return t.Add(step - past)
	}
	return t
}

// gaps are the parts of span that no busy slot touches, in order.
func gaps(span Slot, busy []Slot) []Slot {
	slices.SortFunc(busy, func(a, b Slot) int { return a.Start.Compare(b.Start) })
	var free []Slot
	from := span.Start
	for _, b := range busy {
		if !b.Start.Before(span.End) {
			break
		}
		if b.Start.After(from) {
			free = append(free, Slot{Start: from, End: b.Start})
		}
		from = later(from, b.End)
	}
	if from.Before(span.End) {
		free = append(free, Slot{Start: from, End: span.End})
	}
	return free
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
