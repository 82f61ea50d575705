package meeting

import (
	"slices"
	"time"
)

// FlaggedAfter is how many times in a row nobody came to a series until it is flagged: people
// may have forgotten that it holds a room.
const FlaggedAfter = 3

// noShowsInRow counts to how many of the latest dates of a series nobody came, looking at
// those that began before an instant. Dates that were called off do not count either way.
func noShowsInRow(ms []*Meeting, before time.Time) int {
	n := 0
	for _, m := range slices.Backward(ms) {
		if !m.Slot.Start.Before(before) {
			continue
		}
		switch m.EffectiveStatus(before) {
		case Released:
			n++
		case InProgress, Ended:
			return n
		}
	}
	return n
}
