package meeting

import (
	"fmt"
	"sync"
	"time"
	_ "time/tzdata" // zones on machines that have none
)

// zones that were loaded before; time.LoadLocation reads a file every time.
var zones sync.Map // string -> *time.Location

// Zone loads an IANA time zone, e.g. "Europe/Berlin". The name "Local" and the empty one
// are no zones: what they mean depends on the machine.
func Zone(name string) (*time.Location, error) {
	if loc, ok := zones.Load(name); ok {
		return loc.(*time.Location), nil
	}
	if name == "" || name == "Local" {
		return nil, fmt.Errorf("%q is not a time zone", name)
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("%q is not a time zone", name)
	}
	zones.Store(name, loc)
	return loc, nil
}

// mustZone is for names that were checked when they were stored; should the zone data have
// lost one since, UTC is better than no answer.
func mustZone(name string) *time.Location {
	if loc, err := Zone(name); err == nil {
		return loc
	}
	return time.UTC
}

// GapError says that clocks skip a wall-clock time: they were put forward over it.
type GapError struct {
	Wall time.Time // its fields, in UTC
	Zone string
}

func (e *GapError) Error() string {
	return fmt.Sprintf("%s does not exist in %s: clocks are put forward over it", e.Wall.Format("2006-01-02 15:04:05"), e.Zone)
}

// Instant at which clocks in loc show the date and time of wall, whose own location is
// ignored. If they show it twice it is the first pass; if they never do, a [*GapError].
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

// edge is Instant for times of day that recur, such as opening hours: on the day on which
// clocks skip it, it is the moment of the change.
func edge(wall time.Time, loc *time.Location) time.Time {
	t, err := Instant(wall, loc)
	if err == nil {
		return t
	}
	y, mo, d := wall.Date()
	h, mi, s := wall.Clock()
	guess := time.Date(y, mo, d, h, mi, s, 0, loc) // by the offset before or after the change: next to it
	from, to := guess.ZoneBounds()
	if guess.Sub(from).Abs() < to.Sub(guess).Abs() {
		return from
	}
	return to
}

func sameClock(a, b time.Time) bool {
	const layout = "2006-01-02T15:04:05.999999999"
	return a.Format(layout) == b.Format(layout)
}

// ParseTime reads a time as the REST resource has it: RFC 3339 with an offset, or local
// (2027-02-10T10:00:00, seconds optional) to be read in loc. The result is in UTC, to the
// microsecond. A local time that does not exist is a [*GapError].
func ParseTime(s string, loc *time.Location) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339Nano, s); err == nil {
		return t.UTC().Truncate(time.Microsecond), nil
	}
	for _, layout := range []string{"2006-01-02T15:04:05", "2006-01-02T15:04"} {
		wall, err := time.Parse(layout, s)
		if err != nil {
			continue
		}
		t, err := Instant(wall, loc)
		if err != nil {
			return time.Time{}, err
		}
		return t.UTC().Truncate(time.Microsecond), nil
	}
	return time.Time{}, fmt.Errorf("is not a time; write 2027-02-10T09:00:00Z, or 2027-02-10T09:00:00 with a timezone")
}

// occurs is Instant for dates that recur. On the day on which clocks skip the time it counts
// by the offset before the change, as RFC 5545 has it: 02:30 becomes 03:30.
func occurs(wall time.Time, loc *time.Location) time.Time {
	t, err := Instant(wall, loc)
	if err == nil {
		return t.UTC()
	}
	_, before := edge(wall, loc).Add(-time.Nanosecond).Zone()
	return wall.Add(-time.Duration(before) * time.Second)
}
