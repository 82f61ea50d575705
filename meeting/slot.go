package meeting

import "time"

// Slot is the half-open interval [Start, End).
type Slot struct{ Start, End time.Time }

// Overlaps reports whether the two share an instant.
func (s Slot) Overlaps(o Slot) bool { return s.Start.Before(o.End) && o.Start.Before(s.End) }

// Contains reports whether t lies in the slot.
func (s Slot) Contains(t time.Time) bool { return !t.Before(s.Start) && t.Before(s.End) }

// Duration of the slot.
func (s Slot) Duration() time.Duration { return s.End.Sub(s.Start) }

// Widen returns the slot with before added in front and after behind.
func (s Slot) Widen(before, after time.Duration) Slot {
	return Slot{Start: s.Start.Add(-before), End: s.End.Add(after)}
}

func (s Slot) empty() bool { return !s.Start.Before(s.End) }

// within is the part of s that lies in other, if there is one.
func (s Slot) within(other Slot) (part Slot, ok bool) {
	part = Slot{Start: later(s.Start, other.Start), End: earlier(s.End, other.End)}
	return part, !part.empty()
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
