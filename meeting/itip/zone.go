package itip

import (
	_ "embed"
	"errors"
	"fmt"
	"path"
	"strings"
	"sync"
	"time"

	"punctual/account/fault"
)

// Zone is the meaning of a TZID.
type Zone struct {
	// Name is an IANA zone; empty: the rules are the calendar's own, and no IANA zone has them.
	Name     string
	Location *time.Location
}

var utcZone = &Zone{"UTC", time.UTC}

//go:embed windows_zones.txt
var windowsTable string

// windows maps the names of Windows, in lower case, to IANA zones. candidates are those zones, in the
// order of the table: between them they have all rules that are in use.
var windows = sync.OnceValues(func() (byName map[string]string, candidates []string) {
	byName = map[string]string{}
	for line := range strings.Lines(windowsTable) {
		name, zone, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		byName[strings.ToLower(name)] = zone
		candidates = append(candidates, zone)
	}
	return byName, candidates
})

// zones are the time zones of a file.
type zones struct {
	described map[string]*description // by TZID
	known     map[zoneYear]*Zone
}

type zoneYear struct {
	tzid string
	year int
}

func newZones() *zones {
	return &zones{described: map[string]*description{}, known: map[zoneYear]*Zone{}}
}

// resolve returns the zone of a TZID for a time in a year: by an IANA name, also within a longer one,
// by a Windows name, or by the rules in the calendar.
func (z *zones) resolve(tzid string, year int) (*Zone, error) {
	key := zoneYear{tzid, year}
	if found := z.known[key]; found != nil {
		return found, nil
	}
	found, err := z.find(tzid, year)
	if err == nil {
		z.known[key] = found
	}
	return found, err
}

func (z *zones) find(tzid string, year int) (*Zone, error) {
	if found := named(tzid); found != nil {
		return found, nil
	}
	d := z.described[tzid]
	if d == nil {
		return nil, fmt.Errorf("time zone %q is unknown: it is neither an IANA nor a Windows name, and the calendar has no VTIMEZONE for it", cut(tzid))
	}
	if found := named(d.location); found != nil {
		return found, nil
	}
	loc, err := d.load(tzid, year)
	if err != nil {
		return nil, fmt.Errorf("time zone %q: %w", cut(tzid), err)
	}
	if like := equal(loc, tzid, year); like != nil {
		return like, nil
	}
	return &Zone{"", loc}, nil
}

// equal returns an IANA zone with the offsets of loc from a year on, or nil. Of several it prefers one
// whose city is named in the TZID, as in "(UTC+01:00) Amsterdam, Berlin, Bern".
func equal(loc *time.Location, tzid string, year int) *Zone {
	var first *Zone
	from := time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)
	_, candidates := windows()
	for _, name := range candidates {
		city := strings.ReplaceAll(path.Base(name), "_", " ")
		if first != nil && !strings.Contains(tzid, city) {
			continue
		}
		like, err := fault.Zone(name)
		if err != nil || !sameOffsets(loc, like, from, from.AddDate(sameYears, 0, 0)) {
			continue
		}
		first = &Zone{name, like}
		if strings.Contains(tzid, city) {
			break
		}
	}
	return first
}

// sameYears is for how long the rules of a calendar must be those of an IANA zone to stand for it.
const sameYears = 4

// named returns the zone with an IANA or Windows name, or nil. Some programs put a prefix before the
// IANA name, such as /freeassociation.sourceforge.net/Europe/Berlin.
func named(tzid string) *Zone {
	tzid = strings.Trim(tzid, `"' `)
	if strings.EqualFold(tzid, "tzone://Microsoft/Utc") || strings.EqualFold(tzid, "Z") {
		return utcZone
	}
	if strings.HasPrefix(tzid, "/") {
		for _, rest, ok := strings.Cut(tzid[1:], "/"); ok; _, rest, ok = strings.Cut(rest, "/") {
			if loc, err := fault.Zone(rest); err == nil {
				return &Zone{rest, loc}
			}
		}
		return nil
	}
	if loc, err := fault.Zone(tzid); err == nil {
		return &Zone{tzid, loc}
	}
	byName, _ := windows()
	if name := byName[strings.ToLower(tzid)]; name != "" {
		if loc, err := fault.Zone(name); err == nil {
			return &Zone{name, loc}
		}
	}
	return nil
}

// floating returns the zone in which floating times count: that of the calendar, or else loc.
func (e *Event) floating(loc *time.Location) *Zone {
	if found := named(e.zone); e.zone != "" && found != nil {
		return found
	}
	return &Zone{loc.String(), loc}
}

// sameOffsets reports whether clocks show the same in two zones from one instant up to another.
func sameOffsets(a, b *time.Location, from, to time.Time) bool {
	for t := from; t.Before(to); {
		_, ofA := t.In(a).Zone()
		_, ofB := t.In(b).Zone()
		if ofA != ofB {
			return false
		}
		next := to
		for _, loc := range []*time.Location{a, b} {
			if _, end := t.In(loc).ZoneBounds(); !end.IsZero() && end.Before(next) {
				next = end
			}
		}
		t = next
	}
	return true
}

var errNoRules = errors.New("its VTIMEZONE has no usable STANDARD or DAYLIGHT part")
