package clock

import (
	"slices"
	"time"
)

// A Slot is the half-open interval [Start, End).
type Slot struct{ Start, End time.Time }

// Equal reports whether both start and end at the same instants.
func (s Slot) Equal(o Slot) bool { return s.Start.Equal(o.Start) && s.End.Equal(o.End) }

// Overlaps reports whether the two share an instant.
func (s Slot) Overlaps(o Slot) bool { return s.Start.Before(o.End) && o.Start.Before(s.End) }

// Contains reports whether t lies in the slot.
func (s Slot) Contains(t time.Time) bool { return !t.Before(s.Start) && t.Before(s.End) }

// Duration returns the length of the slot.
func (s Slot) Duration() time.Duration { return s.End.Sub(s.Start) }

// Widen returns the slot with before added at its start and after at its end.
func (s Slot) Widen(before, after time.Duration) Slot {
	return Slot{Start: s.Start.Add(-before), End: s.End.Add(after)}
}

// Empty reports whether the slot contains no instant.
func (s Slot) Empty() bool { return !s.Start.Before(s.End) }

// Intersect returns the part of s that lies in other. ok is false if there is none.
func (s Slot) Intersect(other Slot) (part Slot, ok bool) {
	part = Slot{Start: Later(s.Start, other.Start), End: Earlier(s.End, other.End)}
	return part, !part.Empty()
}

// Without returns the parts of s that no other slot touches, in order. It sorts others by start.
func (s Slot) Without(others []Slot) []Slot {
	slices.SortFunc(others, func(a, b Slot) int { return a.Start.Compare(b.Start) })
	var free []Slot
	from := s.Start
	for _, o := range others {
		if !o.Start.Before(s.End) {
			break
		}
		if o.Start.After(from) {
			free = append(free, Slot{Start: from, End: o.Start})
		}
		from = Later(from, o.End)
	}
	if from.Before(s.End) {
		free = append(free, Slot{Start: from, End: s.End})
	}
	return free
}

// Earlier returns the earlier of two times.
func Earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// Later returns the later of two times.
func Later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
