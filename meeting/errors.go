package meeting

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

var (
	ErrNotFound  = errors.New("not found")
	ErrForbidden = errors.New("forbidden")

	// ErrRoomsChanged says that a meeting was judged by blackouts, or by a check-in, that have
	// changed since. Look the rooms up and judge again.
	ErrRoomsChanged = errors.New("the rooms have changed")
)

// Fault is one thing wrong with a request. Location names the field as the REST resource
// does, e.g. "body.attendees[2].email".
type Fault struct {
	Location string
	Code     string // stable, e.g. "required", "too_long", "unknown_room"
	Message  string
	Figures  Figures // of a rule that would be broken; else zero
	Firm     bool    // a rule that no override passes over
}

// Figures are what a broken rule allows and what was wanted; what does not apply is
// zero. Limit, Actual and Used are durations ("4h"), times and times of day as strings, and
// counts as int, so that two faults can be compared.
type Figures struct {
	RoomID     int64 // 0: of the installation
	Limit      any
	Actual     any    // what it would be
	Used       any    // of a quota: what other meetings take
	Per        string // of a quota: day, week or month
	Span       Slot   // the period of a quota, or the blackout
	BlackoutID int64
	Reason     string // of a blackout
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

// PolicyError lists all rules of the rooms that a meeting would break.
type PolicyError struct{ Violations []Fault }

func (e *PolicyError) Error() string {
	return "policy: " + (&InvalidError{e.Violations}).Error()
}

// ConflictError says which rooms are taken, and when. It never tells by whom.
type ConflictError struct{ Conflicts []Occupancy }

func (e *ConflictError) Error() string {
	return fmt.Sprintf("%d room(s) taken", len(e.Conflicts))
}

// StateError says that a meeting's state does not allow what was asked.
type StateError struct {
	State  Status
	Wanted string    // what was asked, e.g. "approve"
	From   time.Time // it will be possible from then on; zero: not in this state
}

func (e *StateError) Error() string {
	if !e.From.IsZero() {
		return fmt.Sprintf("cannot %s before %s: it is %s", e.Wanted, e.From.UTC().Format(time.RFC3339), e.State)
	}
	return fmt.Sprintf("cannot %s: it is %s", e.Wanted, e.State)
}

// InUseError says that something cannot be deleted because future meetings need it.
type InUseError struct {
	What  string
	Until time.Time // zero: for as long as it stands
}

func (e *InUseError) Error() string {
	if e.Until.IsZero() {
		return e.What + " is in use"
	}
	return fmt.Sprintf("%s is in use until %s", e.What, e.Until.Format(time.RFC3339))
}

// VersionError says that a change was based on an older version (If-Match).
type VersionError struct{ Current int64 }

func (e *VersionError) Error() string { return fmt.Sprintf("the current version is %d", e.Current) }
