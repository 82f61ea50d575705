// Package fault defines how the faults of a request are reported, and what a text, an email
// address, a phone number, a locale and a time zone must look like. Each rule exists only here, so
// that all entry points agree about a value.
package fault

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Fault is one invalid field of a request. Location names the field as in the REST resource, such
// as "attendees[2].email"; empty: the whole. Clients see its place in the request, such as
// "body.attendees[2].email" or "query.from". See [At].
type Fault struct {
	Location string
	Code     string // stable, such as "required", "too_long", "unknown_room"
	Message  string
	Figures  Figures // of a violated room policy; else zero
	Firm     bool    // of a policy that cannot be overridden
}

// Figures say what a violated policy allows and what was requested. Fields that do not apply are
// zero. Limit, Actual and Used are strings for durations ("4h"), times and times of day, and ints
// for counts, so that faults are comparable.
type Figures struct {
	RoomID     int64 // 0: of the installation
	Limit      any
	Actual     any    // what was requested
	Used       any    // of a quota: used by other meetings
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

// InvalidError contains all faults of a request.
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

// Plain returns an error that names the fields of an [*InvalidError] without their place in a request,
// for a command line, and any other error as it is.
func Plain(err error) error {
	e, ok := errors.AsType[*InvalidError](err)
	if !ok {
		return err
	}
	parts := make([]string, len(e.Faults))
	for i, f := range e.Faults {
		parts[i] = strings.TrimPrefix(f.Location, "body.") + " " + f.Message
	}
	return errors.New(strings.Join(parts, "; "))
}

// VersionError reports a change that was based on an older version (If-Match).
type VersionError struct{ Current int64 }

func (e *VersionError) Error() string { return fmt.Sprintf("the current version is %d", e.Current) }

// CheckVersion compares the current version with the one that a change is based on. nil means any.
func CheckVersion(based *int64, current int64) error {
	if based != nil && *based != current {
		return &VersionError{Current: current}
	}
	return nil
}

// MaxFaults is how many faults a [List] collects: more help nobody, and each one costs.
const MaxFaults = 200

// List collects faults, so that a caller learns about all of them at once.
type List []Fault

// Add appends a fault without figures.
func (l *List) Add(location, code, format string, args ...any) {
	l.Violate(location, code, Figures{}, format, args...)
}

// Violate appends a violated room policy with its figures.
func (l *List) Violate(location, code string, of Figures, format string, args ...any) {
	if len(*l) < MaxFaults {
		*l = append(*l, Fault{Location: location, Code: code, Message: fmt.Sprintf(format, args...), Figures: of})
	}
}

// AddAt appends the faults of a value at its location. Faults that have a location keep it.
func (l *List) AddAt(location string, found []Fault) {
	for _, f := range found {
		if len(*l) < MaxFaults {
			f.Location = cmp.Or(f.Location, location)
			*l = append(*l, f)
		}
	}
}

// Has reports whether a location has a fault.
func (l List) Has(location string) bool {
	return slices.ContainsFunc(l, func(f Fault) bool { return f.Location == location })
}

// Move changes the location of the faults of a field, and of what is in it.
func (l List) Move(field, location string) {
	for i := range l {
		if rest, ok := strings.CutPrefix(l[i].Location, field); ok {
			l[i].Location = location + rest
		}
	}
}

// Merge returns first, and then the faults of other fields. A field that could not be decoded is
// reported once, and not as missing too.
func Merge(first, then List) List {
	covered := func(f Fault) bool {
		return slices.ContainsFunc(first, func(by Fault) bool {
			rest, ok := strings.CutPrefix(f.Location, by.Location)
			return ok && (rest == "" || rest[0] == '.' || rest[0] == '[') && by.Location != ""
		})
	}
	return slices.Concat(first, slices.DeleteFunc(slices.Clone(then), covered))
}

// Index names an element of a list.
func Index(location string, i int) string { return fmt.Sprintf("%s[%d]", location, i) }

// At returns the faults with their places in a request: place is "body" or "query". A fault that
// already has one keeps it.
func At(place string, faults []Fault) []Fault {
	placed := slices.Clone(faults)
	for i, f := range placed {
		switch {
		case f.Location == "":
			placed[i].Location = place
		case f.Location != place && !strings.HasPrefix(f.Location, place+"."):
			placed[i].Location = place + "." + f.Location
		}
	}
	return placed
}

// Err returns an [*InvalidError] with all faults, or nil if there are none.
func (l List) Err() error {
	if len(l) == 0 {
		return nil
	}
	return &InvalidError{Faults: l}
}
