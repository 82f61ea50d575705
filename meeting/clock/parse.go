package clock

import (
	"errors"
	"strings"
	"time"
)

// WallLayout is the format of a wall-clock time, in whole seconds.
const WallLayout = "2006-01-02T15:04:05"

// A Time is a time in a request: an instant, or a date or local time in a zone that is determined
// later. The zero Time is an invalid text.
type Time struct {
	kind timeKind
	time time.Time // in UTC; a wall-clock time has the fields that clocks show
}

type timeKind int8

const (
	invalid timeKind = iota
	instant
	local
	date
)

// At returns an instant, to the microsecond.
func At(t time.Time) Time { return Time{instant, t.UTC().Truncate(time.Microsecond)} }

// Parse parses RFC 3339 with an offset, or a local time such as 2027-02-10T10:00:00, with optional
// seconds. It does not fail: [Time.In] reports a text that is neither, or not in the years 1 to 9999.
func Parse(s string) Time {
	s = strings.ToUpper(s) // RFC 3339 allows a lower-case t and z
	if t, err := time.Parse(time.RFC3339Nano, s); err == nil && hasYear(t.UTC()) {
		return At(t)
	}
	for _, layout := range []string{WallLayout, "2006-01-02T15:04"} {
		if t, err := time.Parse(layout, s); err == nil && hasYear(t) {
			return Time{local, t}
		}
	}
	return Time{}
}

// hasYear reports whether answers can show the time: RFC 3339 has four digits for the year, and no year 0 is meant.
func hasYear(t time.Time) bool { return t.Year() >= 1 && t.Year() <= 9999 }

// ParseDate is [Parse] for times that may also be dates such as 2027-02-10.
func ParseDate(s string) Time {
	if t, err := time.Parse(time.DateOnly, s); err == nil && hasYear(t) {
		return Time{date, t}
	}
	return Parse(s)
}

// Instant returns the instant, and reports whether t is one.
func (t Time) Instant() (time.Time, bool) { return t.time, t.kind == instant }

// Local returns the wall-clock time, and reports whether t is one.
func (t Time) Local() (time.Time, bool) { return t.time, t.kind == local }

// Date returns the start of the date, in UTC, and reports whether t is a date.
func (t Time) Date() (time.Time, bool) { return t.time, t.kind == date }

// A Moment is a time in a zone.
type Moment struct {
	At   time.Time // in UTC, to the microsecond
	Wall time.Time // what clocks show then, as a time in UTC
}

// In returns the moment that t is in a zone. If t is a local time that does not exist there, the
// error is a [*GapError].
func (t Time) In(loc *time.Location) (Moment, error) {
	switch t.kind {
	case instant:
		return Moment{t.time, Wall(t.time, loc)}, nil
	case local:
		at, err := Instant(t.time, loc)
		return Moment{at.UTC().Truncate(time.Microsecond), t.time.Truncate(time.Microsecond)}, err
	default:
		return Moment{}, errors.New("must be a time like 2027-02-10T09:00:00Z, or like 2027-02-10T09:00:00 with a timezone")
	}
}

// EndIn is [Time.In] for the end of an interval. If clocks go from 02:00 to 03:00, a local end of
// 02:00 is the instant of the change.
func (t Time) EndIn(loc *time.Location) (Moment, error) {
	m, err := t.In(loc)
	if _, gap := err.(*GapError); gap {
		if change := InstantOrChange(m.Wall, loc); wallBefore(change, loc).Equal(m.Wall) {
			return Moment{change.UTC(), m.Wall}, nil
		}
	}
	return m, err
}

// ParseInstant parses a time that must have an offset. The result is in UTC, to the microsecond.
func ParseInstant(s string) (time.Time, error) {
	t, ok := Parse(s).Instant()
	if !ok {
		return time.Time{}, errors.New("must be a time with an offset, like 2027-02-10T09:00:00Z or 2027-02-10T10:00:00+01:00")
	}
	return t, nil
}
