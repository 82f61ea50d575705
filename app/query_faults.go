package app

import (
	"strings"
	"time"

	"punctual/account/fault"
	"punctual/meeting/clock"
)

// queryInstant parses a time with an offset. The empty string is the zero time.
func queryInstant(faults *fault.List, location, s string) time.Time {
	if s == "" {
		return time.Time{}
	}
	t, err := clock.ParseInstant(strings.Replace(s, " ", "+", 1))
	if err != nil {
		faults.Add(location, "invalid_time", "%s", err)
	}
	return t
}

func errCursor() error {
	return fault.Invalid("query.cursor", "invalid_cursor", "must be a cursor returned by this list")
}
