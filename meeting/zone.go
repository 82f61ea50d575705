package meeting

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"punctual/account/fault"
)

// Zone loads a time zone that is stored already. A new name must pass [fault.Zone].
func Zone(name string) (*time.Location, error) { return fault.StoredZone(name) }

// zoneOf loads the zone in which local times of a request count: the one that the request
// names, or else the one in force.
func zoneOf(named *string, inForce string) (*time.Location, error) {
	if named != nil && *named != "" {
		return fault.Zone(*named)
	}
	return Zone(inForce)
}

// mustZone is for names that were checked when they were stored. Should the zone data have lost
// one since, what is shown is in UTC. What is booked must not be: see [Room.Check].
func mustZone(name string) *time.Location {
	if loc, err := fault.StoredZone(name); err == nil {
		return loc
	}
	return time.UTC
}

// unknownZone refuses to calculate with a stored time zone that the zone data have lost.
func (s *Service) unknownZone(name string) error {
	s.logUnknown(name)
	return invalid("body.timezone", "unknown_timezone", fmt.Sprintf("must be a known time zone: %q is unknown on this server", name))
}

// logUnknown logs each name once.
func (s *Service) logUnknown(name string) {
	if _, logged := s.unknown.LoadOrStore(name, true); !logged {
		s.log.Error("time zone unknown, its rooms and series cannot be booked", "timezone", name)
	}
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

// sameClock reports whether clocks show the same at a and at b, each in its own zone.
func sameClock(a, b time.Time) bool {
	_, ofA := a.Zone()
	_, ofB := b.Zone()
	return a.Unix()+int64(ofA) == b.Unix()+int64(ofB) && a.Nanosecond() == b.Nanosecond()
}

// ParseTime reads a time as the REST resource has it: RFC 3339 with an offset, or local
// (2027-02-10T10:00:00, seconds optional) to be read in loc. The result is in UTC, to the
// microsecond. A local time that does not exist is a [*GapError].
func ParseTime(s string, loc *time.Location) (time.Time, error) {
	m, err := readMoment(s, loc)
	return m.at, err
}

// ParseEnd is ParseTime for the end of a span. Where clocks are put forward from 02:00 to 03:00,
// a local 02:00 is the instant of the change: what ends then loses nothing.
func ParseEnd(s string, loc *time.Location) (time.Time, error) {
	m, err := readEnd(s, loc)
	return m.at, err
}

// ParseInstant reads a time that must have an offset.
func ParseInstant(s string) (time.Time, error) {
	t, ok := parseOffset(s)
	if !ok {
		return time.Time{}, errors.New("must be a time with an offset, like 2027-02-10T09:00:00Z or 2027-02-10T10:00:00+01:00")
	}
	return t, nil
}

// IsLocal reports whether s is a time without an offset.
func IsLocal(s string) bool {
	_, ok := parseLocal(s)
	return ok
}

// moment is a time that somebody gave: the instant, and what clocks show then.
type moment struct {
	at   time.Time // UTC, to the microsecond
	wall time.Time // as it was given, if it was local; in UTC
}

func readMoment(s string, loc *time.Location) (moment, error) {
	if t, ok := parseOffset(s); ok {
		return moment{t, clock(t, loc)}, nil
	}
	wall, ok := parseLocal(s)
	if !ok {
		return moment{}, errors.New("must be a time like 2027-02-10T09:00:00Z, or like 2027-02-10T09:00:00 with a timezone")
	}
	t, err := Instant(wall, loc)
	return moment{t.UTC().Truncate(time.Microsecond), wall.Truncate(time.Microsecond)}, err
}

func readEnd(s string, loc *time.Location) (moment, error) {
	m, err := readMoment(s, loc)
	if _, gap := err.(*GapError); gap {
		if change := edge(m.wall, loc); clockBefore(change, loc).Equal(m.wall) {
			return moment{change.UTC(), m.wall}, nil
		}
	}
	return m, err
}

// parseOffset reads RFC 3339, which allows a lower-case t and z.
func parseOffset(s string) (time.Time, bool) {
	t, err := time.Parse(time.RFC3339Nano, strings.ToUpper(s))
	return t.UTC().Truncate(time.Microsecond), err == nil
}

func parseLocal(s string) (wall time.Time, ok bool) {
	for _, layout := range []string{"2006-01-02T15:04:05", "2006-01-02T15:04"} {
		if t, err := time.Parse(layout, strings.ToUpper(s)); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// clockBefore is what clocks in loc show when they reach an instant, before they are changed at it.
func clockBefore(t time.Time, loc *time.Location) time.Time {
	just := time.Nanosecond
	return clock(t.Add(-just), loc).Add(just)
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
