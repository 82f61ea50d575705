package fault

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // for machines without zone files
)

// zones caches loaded zones: time.LoadLocation reads a file each time.
var zones sync.Map // string -> *time.Location

// zonePattern rejects other names that a file system would find, such as "Europe//Berlin".
var zonePattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+){0,2}$`)

// notZones are files next to the zones that have no fixed meaning.
var notZones = map[string]bool{"Local": true, "localtime": true, "posixrules": true, "Factory": true}

// Zone returns the IANA time zone with a name, such as "Europe/Berlin". It rejects names that
// depend on the machine ("Local", "localtime") and copies of zones ("posix/Europe/Berlin", and
// "right/Europe/Berlin", which counts leap seconds).
func Zone(name string) (*time.Location, error) {
	if !zonePattern.MatchString(name) || notZones[name] || strings.HasPrefix(name, "posix/") || strings.HasPrefix(name, "right/") {
		return nil, zoneError(name)
	}
	return StoredZone(name)
}

// StoredZone returns a time zone that an earlier version may have accepted, so that existing
// bookings keep their zone. New names must pass [Zone].
func StoredZone(name string) (*time.Location, error) {
	if loc, ok := zones.Load(name); ok {
		return loc.(*time.Location), nil
	}
	if name == "" || name == "Local" { // UTC, and another zone on each machine
		return nil, zoneError(name)
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		return nil, zoneError(name)
	}
	zones.Store(name, loc)
	return loc, nil
}

func zoneError(name string) error {
	if len(name) > 60 {
		name = strings.ToValidUTF8(name[:60], "") + "..."
	}
	return fmt.Errorf("must be an IANA time zone such as Europe/Berlin, not %q", name)
}

// Zone adds a fault if name is not a time zone. See the function [Zone].
func (l *List) Zone(location, name string) {
	if _, err := Zone(name); err != nil {
		l.Add(location, "unknown_timezone", "%v", err)
	}
}
