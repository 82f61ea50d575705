package render

import (
	"time"

	"punctual/account/fault"
)

// zone returns the IANA time zone with a name, or nil.
func zone(name string) *time.Location {
	l, err := fault.StoredZone(name)
	if err != nil {
		return nil
	}
	return l
}
