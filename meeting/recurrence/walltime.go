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

	// At is the instant that was given; zero: it was a local time or a date. It is not stored.
	At time.Time
}

// WallTimeOf returns a date, a wall-clock time, or what clocks in loc show at an instant. It reports
// whether t is one of them, in whole seconds.
func WallTimeOf(t clock.Time, loc *time.Location) (WallTime, bool) {
	if day, ok := t.Date(); ok {
		return WallTime{Time: day, Day: true}, true
	}
	if wall, ok := t.Local(); ok {
		return WallTime{Time: wall}, wall.Nanosecond() == 0
	}
	at, ok := t.Instant()
	return WallTime{Time: clock.Wall(at, loc), At: at}, ok && at.Nanosecond() == 0
}

// String returns the text that [clock.ParseDate] parses.
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
