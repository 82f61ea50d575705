package policy

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"punctual/account/fault"
	"punctual/meeting/clock"
)

// suggestedStep is the grid on which times are suggested for rooms that have none of their own.
const suggestedStep = 15 * time.Minute

// Openings returns slots of a length within span in which the room is open and not closed by a
// blackout, earliest first. They start on the grid of the room's clock and do not overlap each
// other, taken slots with the room's buffers around them, or barred slots. The caller checks the
// other rules.
func (r *Room) Openings(span clock.Slot, length time.Duration, taken, barred []clock.Slot) iter.Seq[clock.Slot] {
	return func(yield func(clock.Slot) bool) {
		if length <= 0 {
			return
		}
		busy := slices.Clone(barred)
		for _, t := range taken {
			busy = append(busy, t.Widen(r.Policy.BufferAfter, r.Policy.BufferBefore))
		}
		for _, b := range r.Blackouts {
			busy = append(busy, b.Slot)
		}
		loc := clock.ZoneOrUTC(r.Zone)
		for _, open := range r.OpenHours(span) {
			for _, gap := range open.Without(busy) {
				for start := r.First(gap, length); !start.Add(length).After(gap.End); {
					if !yield(clock.Slot{Start: start, End: start.Add(length)}) {
						return
					}
					start = r.onGrid(start.Add(length), loc)
				}
			}
		}
	}
}

// First returns when a meeting of a length starts in a gap, if it fits: on the grid or, if the room
// has no step and the grid leaves too little time, on the next minute.
func (r *Room) First(gap clock.Slot, length time.Duration) time.Time {
	loc := clock.ZoneOrUTC(r.Zone)
	start := r.onGrid(gap.Start, loc)
	if r.Policy.Step == 0 && start.Add(length).After(gap.End) {
		start = gap.Start.Add(time.Minute - time.Nanosecond).Truncate(time.Minute)
	}
	return start
}

// onGrid returns the first instant from t on that lies on the room's grid, which counts steps from
// midnight by its clock.
func (r *Room) onGrid(t time.Time, loc *time.Location) time.Time {
	step := cmp.Or(r.Policy.Step, suggestedStep)
	if onGrid(t.In(loc), step) {
		return t
	}
	t = t.Add(step - clock.SinceMidnight(t.In(loc))%step)
	if onGrid(t.In(loc), step) {
		return t
	}
	return t.Add(step - clock.SinceMidnight(t.In(loc))%step) // clocks changed meanwhile, by no full step
}

// Lasts reports whether the room may be booked for a length within span.
func (r *Room) Lasts(length time.Duration, span clock.Slot, limits Limits) bool {
	return !r.Lasting(length, span, limits).Empty()
}

// Lasting returns the part of span within which the room may be booked for a length. Some lengths
// are allowed only across a change of clocks, if the room has no step.
func (r *Room) Lasting(length time.Duration, span clock.Slot, limits Limits) clock.Slot {
	passes := func(start time.Time) bool {
		var v fault.List
		r.checkDuration(Proposal{Slot: clock.Slot{Start: start, End: start.Add(length)}}, limits, &v)
		return len(v) == 0
	}
	if r.Policy.Step > 0 && length%r.Policy.Step != 0 {
		return clock.Slot{}
	}
	_, change := span.Start.In(clock.ZoneOrUTC(r.Zone)).ZoneBounds()
	switch within := !change.IsZero() && !change.After(span.End); {
	case !within && passes(span.Start), within && passes(change):
		return span
	case within && passes(change.Add(-length/2)):
		return clock.Slot{Start: clock.Later(span.Start, change.Add(-length)), End: clock.Earlier(span.End, change.Add(length))}
	}
	return clock.Slot{}
}

// Ahead returns the part of span in which the room may be booked now for a length, by how soon and
// how late meetings may start. It may be empty.
func (r *Room) Ahead(length time.Duration, span clock.Slot, now time.Time, limits Limits) clock.Slot {
	span.Start = clock.Later(span.Start, now.Add(r.Policy.MinNotice))
	if most := Stricter(r.Policy.MaxAdvance, limits.MaxAdvance); most > 0 {
		span.End = clock.Earlier(span.End, now.Add(most+length))
	}
	return span
}
