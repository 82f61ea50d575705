package meeting

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

// Openings are the times from which on the room can be had for a length within span, earliest
// first and so that they do not overlap: on the grid of the room's clock, while it is open,
// not closed by a blackout, clear of what is taken with the room's buffers around it, and of
// what is barred without. A room without opening hours is always open. Other rules about who asks, and when, are the caller's to check.
func (r *Room) Openings(span clock.Slot, length time.Duration, taken, barred []clock.Slot) iter.Seq[clock.Slot] {
	return func(yield func(clock.Slot) bool) {
		if length <= 0 {
			return
		}
		loc := clock.ZoneOrUTC(r.Zone)
		busy := slices.Clone(barred)
		for _, t := range taken {
			busy = append(busy, t.Widen(r.Policy.BufferAfter, r.Policy.BufferBefore))
		}
		for _, b := range r.Blackouts {
			busy = append(busy, b.Slot)
		}
		for slot := range r.fits(r.openHours(span), length, busy, loc) {
			if !yield(slot) {
				return
			}
		}
	}
}

// fits are the slots of a length on the room's grid within spans, clear of what is busy.
func (r *Room) fits(spans []clock.Slot, length time.Duration, busy []clock.Slot, loc *time.Location) iter.Seq[clock.Slot] {
	return func(yield func(clock.Slot) bool) {
		for _, span := range spans {
			for _, gap := range gaps(span, busy) {
				for start := r.first(gap, length, loc); !start.Add(length).After(gap.End); {
					if !yield(clock.Slot{Start: start, End: start.Add(length)}) {
						return
					}
					start = r.onGrid(start.Add(length), loc)
				}
			}
		}
	}
}

// first is when a meeting of a length begins in a gap, if it fits: on the grid or, where the room
// has no step and only the full minute leaves time enough, on that.
func (r *Room) first(gap clock.Slot, length time.Duration, loc *time.Location) time.Time {
	start := r.onGrid(gap.Start, loc)
	if r.Policy.Step == 0 && start.Add(length).After(gap.End) {
		start = gap.Start.Add(time.Minute - time.Nanosecond).Truncate(time.Minute)
	}
	return start
}

// openHours returns the parts of span in which the room is open. A room in an unknown time zone
// never is.
func (r *Room) openHours(span clock.Slot) []clock.Slot {
	loc, err := fault.StoredZone(r.Zone)
	if err != nil {
		return nil
	}
	return r.Policy.OpenHours(span, loc)
}

// OpenHours returns the parts of span within the opening hours, adjacent ones joined. Without
// opening hours it returns the whole span.
func (p *Policy) OpenHours(span clock.Slot, loc *time.Location) []clock.Slot {
	if len(p.OpeningHours) == 0 {
		return []clock.Slot{span}
	}
	var open []clock.Slot
	for s := range p.intervals(span, loc) {
		s, ok := s.Intersect(span)
		if !ok {
			continue
		}
		if n := len(open); n > 0 && !s.Start.After(open[n-1].End) {
			open[n-1].End = clock.Later(open[n-1].End, s.End)
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
	if onGrid(t.In(loc), step) {
		return t
	}
	t = t.Add(step - sinceMidnight(t.In(loc))%step)
	if onGrid(t.In(loc), step) {
		return t
	}
	return t.Add(step - sinceMidnight(t.In(loc))%step) // clocks changed meanwhile, by no full step
}

// gaps are the parts of span that no busy slot touches, in order.
func gaps(span clock.Slot, busy []clock.Slot) []clock.Slot {
	slices.SortFunc(busy, func(a, b clock.Slot) int { return a.Start.Compare(b.Start) })
	var free []clock.Slot
	from := span.Start
	for _, b := range busy {
		if !b.Start.Before(span.End) {
			break
		}
		if b.Start.After(from) {
			free = append(free, clock.Slot{Start: from, End: b.Start})
		}
		from = clock.Later(from, b.End)
	}
	if from.Before(span.End) {
		free = append(free, clock.Slot{Start: from, End: span.End})
	}
	return free
}
