package recurrence

import (
	"slices"
	"time"

	"punctual/meeting/clock"
)

// A WallTime is a date, or a date and a time, by the clocks of some zone.
type WallTime struct {
	time.Time      // in UTC
	Day       bool // the whole day

	// At is the instant that was parsed; zero: the text had no offset. It is not stored.
	At time.Time
}

// ParseWallTime parses 2027-02-10, 2027-02-10T09:00:00, or a time with an offset, which becomes
// what clocks in loc show then.
func ParseWallTime(s string, loc *time.Location) (WallTime, bool) {
	if t, err := time.Parse(time.DateOnly, s); err == nil {
		return WallTime{Time: t, Day: true}, true
	}
	if t, ok := clock.ParseLocal(s); ok && t.Nanosecond() == 0 {
		return WallTime{Time: t}, true
	}
	if t, err := clock.ParseInstant(s); err == nil && t.Nanosecond() == 0 {
		return WallTime{Time: clock.Wall(t, loc), At: t}, true
	}
	return WallTime{}, false
}

// String returns the text that [ParseWallTime] parses.
func (w WallTime) String() string {
	if w.Day {
		return w.Format(time.DateOnly)
	}
	return w.Format(clock.WallLayout)
}

// On returns the wall-clock time, or the given time of day if w is a whole day.
func (w WallTime) On(timeOfDay time.Time) time.Time {
	if !w.Day {
		return w.Time
	}
	h, m, s := timeOfDay.Clock()
	return w.Time.Add(time.Duration(h)*time.Hour + time.Duration(m)*time.Minute + time.Duration(s)*time.Second)
}

// Matches reports whether w is the wall-clock time, or its day.
func (w WallTime) Matches(wall time.Time) bool {
	if w.Day {
		return w.Format(time.DateOnly) == wall.Format(time.DateOnly)
	}
	return w.Equal(wall)
}

// ShiftAll returns the times for a first date that moves from one wall-clock time to another.
func ShiftAll(ws []WallTime, from, to time.Time) []WallTime {
	out := slices.Clone(ws)
	for i, w := range out {
		if w.Day {
			out[i].Time = w.Time.Add(dayOf(to).Sub(dayOf(from)))
		} else {
			out[i].Time = w.Time.Add(to.Sub(from))
		}
	}
	return out
}
