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
