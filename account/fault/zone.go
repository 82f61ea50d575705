package fault

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // zones on machines that have none
)

// zones that were loaded before; time.LoadLocation reads a file every time.
var zones sync.Map // string -> *time.Location

// zonePattern refuses what a file system would also find, such as "Europe//Berlin".
var zonePattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+){0,2}$`)

// notZones are files beside the zones that mean something else on each machine, or nothing.
var notZones = map[string]bool{"Local": true, "localtime": true, "posixrules": true, "Factory": true}

// Zone returns the IANA time zone with a name, e.g. "Europe/Berlin". It refuses names that
// depend on the machine ("Local", "localtime") and copies of zones ("posix/Europe/Berlin", and
// "right/Europe/Berlin", which counts leap seconds).
func Zone(name string) (*time.Location, error) {
	if !zonePattern.MatchString(name) || notZones[name] || strings.HasPrefix(name, "posix/") || strings.HasPrefix(name, "right/") {
		return nil, zoneError(name)
	}
	return StoredZone(name)
}

// StoredZone returns the time zone with a name that an earlier version may have accepted: what
// was booked in it stays there. A new name must pass [Zone].
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

// Zone reports a name that is not a time zone. See the function [Zone].
func (l *List) Zone(location, name string) {
	if _, err := Zone(name); err != nil {
		l.Add(location, "unknown_timezone", "%v", err)
	}
}
