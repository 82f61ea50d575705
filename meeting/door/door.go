package door

import (
	"slices"
	"time"

	"punctual/meeting"
	"punctual/meeting/clock"
)

// State is what a device at a room's door shows before anything else.
type State string

const (
	Free     State = "free"
	Expected State = "expected" // a meeting begins soon: people may check in to it
	InUse    State = "in_use"
	Closed   State = "closed" // by a blackout or its hours, or the room takes no meetings
)

// Lengths are the lengths of bookings and extensions at a door.
var Lengths = []time.Duration{15 * time.Minute, 30 * time.Minute, time.Hour}

// Actions on a meeting at a door.
const (
	CheckIn = "check_in"
	End     = "end"
	Extend  = "extend"
)

// Door is a room as anybody at its door may see it.
type Door struct {
	Room    *meeting.Room
	At      time.Time
	State   State
	Until   time.Time        // end of the state; zero: beyond the period shown
	Current *meeting.Meeting // in progress, or expected; nil: none
	Day     clock.Slot       // today, in the room's zone
	Today   []Meeting        // by start
	Closed  []Closure        // of today and the week after it, by start; they may overlap
	Book    []Choice         // lengths of a booking from now on; empty: none is possible
}

// Meeting is a meeting of today, with the actions that are possible now.
type Meeting struct {
	*meeting.Meeting
	May    []string
	Extend []Choice // by policies and bookings; quotas are checked on the attempt
}

// Choice is one of [Lengths], and when a meeting would end with it.
type Choice struct {
	Length time.Duration
	End    time.Time
}

// Closure is a time in which a room cannot be booked.
type Closure struct {
	Slot   clock.Slot // a zero end: beyond the period shown
	Kind   ClosureKind
	Reason string // of a blackout
}

// ClosureKind is the reason why a room is closed.
type ClosureKind string

const (
	ClosedByBlackout ClosureKind = "blackout"
	ClosedByHours    ClosureKind = "hours"    // outside of its opening hours
	ClosedForGood    ClosureKind = "inactive" // it takes no meetings
)

// closuresAhead is how long a door looks ahead for when its room opens again.
const closuresAhead = 7 * 24 * time.Hour

// closuresOf returns when the room is closed on the day and in the week after it.
func closuresOf(r *meeting.Room, day clock.Slot) []Closure {
	if !r.Active {
		return []Closure{{Slot: clock.Slot{Start: day.Start}, Kind: ClosedForGood}}
	}
	var closed []Closure
	span := clock.Slot{Start: day.Start, End: day.End.Add(closuresAhead)}
	if len(r.Policy.OpeningHours) > 0 {
		open := r.OpenHours(span)
		for _, gap := range span.Without(open) {
			if gap.End.Equal(span.End) {
				gap.End = time.Time{}
			}
			closed = append(closed, Closure{Slot: gap, Kind: ClosedByHours})
		}
	}
	for _, b := range r.Blackouts {
		if b.Slot.Overlaps(span) {
			closed = append(closed, Closure{Slot: b.Slot, Kind: ClosedByBlackout, Reason: b.Reason})
		}
	}
	slices.SortStableFunc(closed, func(a, b Closure) int { return a.Slot.Start.Compare(b.Slot.Start) })
	return closed
}

// holds reports whether the closure covers an instant.
func (c Closure) holds(at time.Time) bool {
	return !at.Before(c.Slot.Start) && (c.Slot.End.IsZero() || at.Before(c.Slot.End))
}

// mayAtDoor returns the actions on the meeting at a door. Whether it can be extended is checked on
// the attempt.
func mayAtDoor(m *meeting.Meeting, rooms []*meeting.Room, at time.Time) []string {
	var may []string
	if m.Underway("", at) == nil && m.CheckedInAt.IsZero() {
		may = append(may, CheckIn)
	}
	if m.EffectiveStatus(at) == meeting.InProgress {
		may = append(may, End)
		if meeting.LevelsOf(rooms).Count() == 0 {
			may = append(may, Extend)
		}
	}
	return may
}

// doorSlot returns the slot of a booking from now on. Only its end is on the grid of the room.
func doorSlot(r *meeting.Room, length time.Duration, at time.Time) clock.Slot {
	s := clock.Slot{Start: at, End: at.Add(length)} // not a whole second: the last meeting may have ended in this one
	step := r.Policy.Step
	if step == 0 {
		return s
	}
	since := clock.SinceMidnight(s.End.In(clock.ZoneOrUTC(r.Zone)))
	s.End = s.End.Add((since+step/2)/step*step - since)
	if !s.End.After(s.Start) {
		s.End = s.End.Add(step)
	}
	return s
}

// atDoorAllowed returns the violations that count at a door: all except a start off the grid, and access by
// group. A door books for everyone who stands there, and nobody knows their groups.
func atDoorAllowed(violations []meeting.Fault) []meeting.Fault {
	return slices.DeleteFunc(violations, func(f meeting.Fault) bool {
		return f.Code == "step" && f.Location == "start" || f.Code == meeting.ViolationNotAllowed
	})
}
