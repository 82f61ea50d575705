package app

import (
	"strings"
	"time"

	"punctual/meeting"
	"punctual/meeting/clock"
)

type queryFaults []meeting.Fault

func (f *queryFaults) add(location, code, message string) {
	*f = append(*f, meeting.Fault{Location: location, Code: code, Message: message})
}

// instant reads a time with an offset; empty is the zero time.
func (f *queryFaults) instant(location, s string) time.Time {
	if s == "" {
		return time.Time{}
	}
	t, err := clock.ParseInstant(strings.Replace(s, " ", "+", 1))
	if err != nil {
		f.add(location, "invalid_time", err.Error())
	}
	return t
}

func (f queryFaults) err() error {
	if len(f) == 0 {
		return nil
	}
	return &meeting.InvalidError{Faults: f}
}

// errCursor is the fault of a cursor that no list has returned.
func errCursor() error {
	var f queryFaults
	f.add("query.cursor", "invalid_cursor", "must be a cursor returned by this list")
	return f.err()
}
