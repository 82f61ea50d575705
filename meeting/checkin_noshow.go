package meeting

import (
	"slices"
	"time"
)

// FlaggedAfter is how many times in a row nobody came to a series until it is flagged: people
// may have forgotten that it holds a room.
const FlaggedAfter = 3

// noShowsInRow counts to how many of the latest dates of a series nobody came, looking at
// those that began before an instant. Dates that were called off do not count either way, nor
// does one to which people may still come.
func noShowsInRow(ms []*Meeting, before time.Time) int {
	n := 0
	for _, m := range slices.Backward(ms) {
		if !m.Slot.Start.Before(before) {
			continue
		}
		switch status := m.EffectiveStatus(before); {
		case status == Released:
			n++
		case status == Ended, status == InProgress && !m.awaited():
			return n
		}
	}
	return n
}

// awaited reports whether somebody has to check in to the meeting, and nobody did.
func (m *Meeting) awaited() bool { return m.CheckedInAt.IsZero() && !m.CheckIn.Until.IsZero() }
