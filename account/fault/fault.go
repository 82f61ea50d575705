// Package fault holds the rules that every kind of request shares: how faults are reported, and
// what a text, an e-mail address, a phone number, a locale and a time zone must look like. Each
// rule exists once, here, so that no two entry points disagree about a value.
package fault

import (
	"fmt"
	"strings"
	"time"
)

// Fault is one thing wrong with a request. Location names the field as the REST resource
// does, e.g. "body.attendees[2].email".
type Fault struct {
	Location string
	Code     string // stable, e.g. "required", "too_long", "unknown_room"
	Message  string
	Figures  Figures // of a violated room policy; else zero
	Firm     bool    // of a policy that no override can bypass
}

// Figures are what a violated policy allows and what was requested; what does not apply is
// zero. Limit, Actual and Used are durations ("4h"), times and times of day as strings, and
// counts as int, so that two faults can be compared.
type Figures struct {
	RoomID     int64 // 0: of the installation
	Limit      any
	Actual     any    // what it would be
	Used       any    // of a quota: what other meetings take
	Per        string // of a quota: day, week or month
	Span       Span   // the period of a quota, or the blackout
	BlackoutID int64
	Reason     string // of a blackout
}

// Span is a half-open interval of time.
type Span struct{ Start, End time.Time }

// New returns a fault without figures.
func New(location, code, format string, args ...any) Fault {
	return Fault{Location: location, Code: code, Message: fmt.Sprintf(format, args...)}
}

// InvalidError lists all faults of a request at once.
type InvalidError struct{ Faults []Fault }

func (e *InvalidError) Error() string {
	parts := make([]string, len(e.Faults))
	for i, f := range e.Faults {
		parts[i] = f.Location + ": " + f.Message
	}
	return "invalid: " + strings.Join(parts, "; ")
}

// Invalid returns an [*InvalidError] with one fault.
func Invalid(location, code, format string, args ...any) error {
	return &InvalidError{Faults: []Fault{New(location, code, format, args...)}}
}

// VersionError means that a change was based on an older version (If-Match).
type VersionError struct{ Current int64 }

func (e *VersionError) Error() string { return fmt.Sprintf("the current version is %d", e.Current) }

// List collects faults, so that a caller learns about all of them at once.
type List []Fault

// Add appends a fault without figures.
func (l *List) Add(location, code, format string, args ...any) {
	*l = append(*l, New(location, code, format, args...))
}

// Err returns an [*InvalidError] with all faults, or nil if there are none.
func (l List) Err() error {
	if len(l) == 0 {
		return nil
	}
	return &InvalidError{Faults: l}
}
