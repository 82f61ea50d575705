package itip

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"punctual/meeting/clock"
	"punctual/meeting/recurrence"
)

// Time is a time as a calendar gives it: by the clocks of a zone, in UTC, or a whole day.
type Time struct {
	Wall time.Time // what clocks show, as a time in UTC
	Day  bool      // the whole day; Wall is its first moment
	Zone *Zone     // nil: floating, that is wherever the event takes place
}

// Period is a date that is added to a series.
type Period struct {
	Start Time
	End   *Time // nil: as long as the others
}

// In returns the instant. Floating times and days count in loc.
func (t Time) In(loc *time.Location) time.Time {
	if t.Zone != nil {
		loc = t.Zone.Location
	}
	return clock.InstantOrShift(t.Wall, loc)
}

// same reports whether two times of one calendar are the same, whatever zone they are given in.
func (t Time) same(o Time) bool {
	return t.Day == o.Day && t.In(time.UTC).Equal(o.In(time.UTC))
}

// add returns the time after days by the calendar and an exact rest.
func (t Time) add(d duration) Time {
	t.Wall = t.Wall.AddDate(0, 0, d.days)
	if d.exact == 0 {
		return t
	}
	if t.Day {
		t.Wall = t.Wall.Add(d.exact)
		return t
	}
	loc := time.UTC
	if t.Zone != nil {
		loc = t.Zone.Location
	}
	t.Wall = clock.Wall(clock.InstantOrShift(t.Wall, loc).Add(d.exact), loc)
	return t
}

// time reads a value of p. start is when the event begins, as far as it is known.
func (z *zones) time(p *property, value string, start Time) (Time, error) {
	tzid := strings.TrimSpace(p.param("TZID"))
	if i := strings.LastIndexByte(value, ':'); i >= 0 && tzid != "" { // TZID=tzone://Microsoft/Utc without quotes
		tzid, value = tzid+":"+value[:i], value[i+1:]
	}
	value = strings.ToUpper(strings.TrimSpace(value))
	utc := strings.HasSuffix(value, "Z")
	value = strings.TrimSuffix(value, "Z")
	var t Time
	var err error
	switch len(value) {
	case len("20060102"):
		t.Wall, err = time.Parse("20060102", value)
		t.Day = true
	case len("20060102T1504"):
		t.Wall, err = time.Parse("20060102T1504", value)
	default:
		leap := strings.HasSuffix(value, "60") // a leap second
		if leap {
			value = strings.TrimSuffix(value, "60") + "59"
		}
		t.Wall, err = time.Parse("20060102T150405", value)
	}
	if err != nil || t.Wall.Year() < recurrence.FirstYear {
		return t, fmt.Errorf("must be a date like 20270210 or a time like 20270210T090000, not %q", cut(value))
	}
	if t.Day {
		return t, nil
	}
	if utc {
		t.Zone = utcZone
		return t, nil
	}
	if tzid == "" {
		if p.name != "DTSTART" && start.Zone != nil && start.Zone != utcZone { // some programs name the zone once
			t.Zone = start.Zone
		}
		return t, nil
	}
	t.Zone, err = z.resolve(tzid, t.Wall.Year())
	return t, err
}

// stamp reads a time in UTC; zero: it is none.
func stamp(value string) time.Time {
	t, _ := time.Parse("20060102T150405", strings.TrimSuffix(strings.ToUpper(strings.TrimSpace(value)), "Z"))
	return t
}

// duration has days, which follow the calendar, and an exact rest.
type duration struct {
	days  int
	exact time.Duration
}

var durationPattern = regexp.MustCompile(`^([+-])?P(?:(\d{1,4})W)?(?:(\d{1,5})D)?(?:T(?:(\d{1,5})H)?(?:(\d{1,6})M)?(?:(\d{1,8})S)?)?$`)

func parseDuration(value string) (duration, error) {
	m := durationPattern.FindStringSubmatch(strings.ToUpper(strings.TrimSpace(value)))
	if m == nil || cmp.Or(m[2:]...) == "" {
		return duration{}, fmt.Errorf("must be a duration like PT1H30M, not %q", cut(value))
	}
	number := func(i int) int { n, _ := strconv.Atoi(m[i]); return n }
	d := duration{
		days:  7*number(2) + number(3),
		exact: time.Duration(number(4))*time.Hour + time.Duration(number(5))*time.Minute + time.Duration(number(6))*time.Second,
	}
	if m[1] == "-" {
		return duration{}, fmt.Errorf("must not be negative, as %q is", cut(value))
	}
	return d, nil
}
