package render

import (
	"time"

	"punctual/account/fault"
)

func zone(name string) *time.Location {
	l, err := fault.StoredZone(name)
	if err != nil {
		return nil
	}
	return l
}
