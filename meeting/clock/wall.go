package clock

import (
	"fmt"
	"time"

	"punctual/account/fault"
)

// ZoneOrUTC returns a time zone whose name was checked when it was stored, or UTC if the zone
// data no longer know it. Times that are only shown may be in UTC then; a booking must be refused.
func ZoneOrUTC(name string) *time.Location {
	if loc, err := fault.StoredZone(name); err == nil {
		return loc
	}
	return time.UTC
}

// Weekdays are the two-letter names of RFC 5545, by [time.Weekday].
var Weekdays = []string{"SU", "MO", "TU", "WE", "TH", "FR", "SA"}

// Wall returns what clocks in loc show at an instant, as a time in UTC.
func Wall(t time.Time, loc *time.Location) time.Time {
	t = t.In(loc)
	_, offset := t.Zone()
	return t.UTC().Add(time.Duration(offset) * time.Second)
}

// wallBefore returns what clocks in loc show when they reach an instant, before they change at it.
func wallBefore(t time.Time, loc *time.Location) time.Time {
	just := time.Nanosecond
	return Wall(t.Add(-just), loc).Add(just)
}

// SinceMidnight returns the time of day that clocks show.
func SinceMidnight(t time.Time) time.Duration {
	h, m, s := t.Clock()
	return time.Duration(h)*time.Hour + time.Duration(m)*time.Minute + time.Duration(s)*time.Second + time.Duration(t.Nanosecond())
}

// GapError reports a wall-clock time that clocks skip when they are put forward.
type GapError struct {
	Wall time.Time // its fields, in UTC
	Zone string
}

func (e *GapError) Error() string {
	return fmt.Sprintf("%s does not exist in %s: clocks are put forward over it", e.Wall.Format("2006-01-02 15:04:05"), e.Zone)
}

// Instant returns the instant at which clocks in loc show the date and time of wall, whose own
// location is ignored. If clocks show it twice, it returns the first pass. If they skip it,
// it returns a [*GapError].
func Instant(wall time.Time, loc *time.Location) (time.Time, error) {
	y, mo, d := wall.Date()
	h, mi, s := wall.Clock()
	t := time.Date(y, mo, d, h, mi, s, wall.Nanosecond(), loc)
	if !sameClock(t, wall) {
		utc := time.Date(y, mo, d, h, mi, s, wall.Nanosecond(), time.UTC)
		return time.Time{}, &GapError{Wall: utc, Zone: loc.String()}
	}
	if change, _ := t.ZoneBounds(); !change.IsZero() {
		_, before := change.Add(-time.Nanosecond).Zone()
		_, after := t.Zone()
		first := t.Add(time.Duration(after-before) * time.Second)
		if first.Before(change) && sameClock(first, wall) {
			return first, nil
		}
	}
	return t, nil
}

// InstantOrChange is [Instant] for times of day such as opening hours. If clocks skip the time, it
// returns the moment of the change.
func InstantOrChange(wall time.Time, loc *time.Location) time.Time {
	t, err := Instant(wall, loc)
	if err == nil {
		return t
	}
	y, mo, d := wall.Date()
	h, mi, s := wall.Clock()
	guess := time.Date(y, mo, d, h, mi, s, 0, loc) // next to the change
	from, to := guess.ZoneBounds()
	if guess.Sub(from).Abs() < to.Sub(guess).Abs() {
		return from
	}
	return to
}

// sameClock reports whether clocks show the same at a and at b, each in its own zone.
func sameClock(a, b time.Time) bool {
	_, ofA := a.Zone()
	_, ofB := b.Zone()
	return a.Unix()+int64(ofA) == b.Unix()+int64(ofB) && a.Nanosecond() == b.Nanosecond()
}

// InstantOrShift is [Instant] for dates of a recurrence. If clocks skip the time, it applies the
// offset before the change, as RFC 5545 requires: 02:30 becomes 03:30. The result is in UTC.
func InstantOrShift(wall time.Time, loc *time.Location) time.Time {
	t, err := Instant(wall, loc)
	if err == nil {
		return t.UTC()
	}
	_, before := InstantOrChange(wall, loc).Add(-time.Nanosecond).Zone()
	return wall.Add(-time.Duration(before) * time.Second)
}
