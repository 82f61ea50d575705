package meeting

import (
	"slices"
	"time"
)

// FlaggedAfter is the number of consecutive no-shows after which a series is flagged: people may
// have forgotten that it holds a room.
const FlaggedAfter = 3

// NoShowsInRow counts the consecutive no-shows among the latest dates of a series that begin before
// an instant. It ignores canceled dates and dates whose check-in is still open.
func NoShowsInRow(ms []*Meeting, before time.Time) int {
	n := 0
	for _, m := range slices.Backward(ms) {
		if !m.Slot.Start.Before(before) {
			continue
		}
		switch status := m.EffectiveStatus(before); {
		case status == Released:
			n++
		case status == Ended, status == InProgress && !m.AwaitsCheckIn():
			return n
		}
	}
	return n
}

// AwaitsCheckIn reports whether a required check-in is missing.
func (m *Meeting) AwaitsCheckIn() bool { return m.CheckedInAt.IsZero() && !m.CheckIn.Until.IsZero() }
