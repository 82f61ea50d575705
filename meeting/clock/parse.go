package clock

import (
	"errors"
	"strings"
	"time"
)

// WallLayout is the format of a wall-clock time, in whole seconds.
const WallLayout = "2006-01-02T15:04:05"

// A Moment is a time that a caller gave.
type Moment struct {
	At   time.Time // in UTC, to the microsecond
	Wall time.Time // what clocks show then, as a time in UTC
}

// ParseTime parses a time of the REST API: RFC 3339 with an offset, or a local time in loc such
// as 2027-02-10T10:00:00, with optional seconds. If the local time does not exist, the error
// is a [*GapError].
func ParseTime(s string, loc *time.Location) (Moment, error) {
	if t, ok := parseOffset(s); ok {
		return Moment{t, Wall(t, loc)}, nil
	}
	wall, ok := ParseLocal(s)
	if !ok {
		return Moment{}, errors.New("must be a time like 2027-02-10T09:00:00Z, or like 2027-02-10T09:00:00 with a timezone")
	}
	t, err := Instant(wall, loc)
	return Moment{t.UTC().Truncate(time.Microsecond), wall.Truncate(time.Microsecond)}, err
}

// ParseEnd is [ParseTime] for the end of an interval. If clocks go from 02:00 to 03:00, a local
// end of 02:00 is the instant of the change.
func ParseEnd(s string, loc *time.Location) (Moment, error) {
	m, err := ParseTime(s, loc)
	if _, gap := err.(*GapError); gap {
		if change := InstantOrChange(m.Wall, loc); wallBefore(change, loc).Equal(m.Wall) {
			return Moment{change.UTC(), m.Wall}, nil
		}
	}
	return m, err
}

// ParseInstant parses a time that must have an offset. The result is in UTC, to the microsecond.
func ParseInstant(s string) (time.Time, error) {
	t, ok := parseOffset(s)
	if !ok {
		return time.Time{}, errors.New("must be a time with an offset, like 2027-02-10T09:00:00Z or 2027-02-10T10:00:00+01:00")
	}
	return t, nil
}

// ParseLocal parses a time without an offset, and reports whether s is one. The result is in UTC.
func ParseLocal(s string) (wall time.Time, ok bool) {
	for _, layout := range []string{WallLayout, "2006-01-02T15:04"} {
		if t, err := time.Parse(layout, strings.ToUpper(s)); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// parseOffset parses RFC 3339, which allows a lower-case t and z.
func parseOffset(s string) (time.Time, bool) {
	t, err := time.Parse(time.RFC3339Nano, strings.ToUpper(s))
	return t.UTC().Truncate(time.Microsecond), err == nil
}
