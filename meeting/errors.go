package meeting

import (
	"errors"
	"fmt"
	"time"

	"punctual/account/fault"
)

var (
	ErrNotFound  = errors.New("not found")
	ErrForbidden = errors.New("forbidden")

	// ErrOriginTaken is returned if the same event of a calendar was imported meanwhile.
	ErrOriginTaken = errors.New("the event was imported meanwhile")

	// ErrAddressTaken is returned if another room or site has the mail address.
	ErrAddressTaken error = &InvalidError{Faults: []Fault{fault.New("address", "taken", "belongs to another room or site")}}

	// ErrRoomsChanged is returned if blackouts or settings of the rooms changed after the meeting
	// was checked. Look the rooms up and check again.
	ErrRoomsChanged = errors.New("the rooms have changed")
)

// Faults of requests are those of every package. See package fault.
type (
	Fault        = fault.Fault
	Figures      = fault.Figures
	InvalidError = fault.InvalidError
	VersionError = fault.VersionError
)

// PolicyError lists all policy violations of a meeting.
type PolicyError struct {
	Violations []Fault
	Meetings   []ID // that exceed quotas, if several were saved together; the violations are those of the first
}

func (e *PolicyError) Error() string {
	return "policy: " + (&InvalidError{Faults: e.Violations}).Error()
}

// ConflictError lists the rooms that are taken, and when. It never reveals who booked them.
type ConflictError struct{ Conflicts []Occupancy }

func (e *ConflictError) Error() string {
	return fmt.Sprintf("%d room(s) taken", len(e.Conflicts))
}

// StateError says that a meeting's state does not allow what was requested.
type StateError struct {
	State  Status
	Action string    // what was requested, e.g. "approve"
	From   time.Time // possible from then on; zero: not in this state
}

func (e *StateError) Error() string {
	if !e.From.IsZero() {
		return fmt.Sprintf("cannot %s before %s: it is %s", e.Action, e.From.UTC().Format(time.RFC3339), e.State)
	}
	return fmt.Sprintf("cannot %s: it is %s", e.Action, e.State)
}

// InUseError says that something cannot be deleted because future meetings use it.
type InUseError struct {
	What  string
	Until time.Time // zero: no end
	Count int64     // of meetings that use it; 0: not counted
}

func (e *InUseError) Error() string {
	switch {
	case e.Count == 1:
		return e.What + " is in use by 1 meeting"
	case e.Count > 0:
		return fmt.Sprintf("%s is in use by %d meetings", e.What, e.Count)
	case e.Until.IsZero():
		return e.What + " is in use"
	}
	return fmt.Sprintf("%s is in use until %s", e.What, e.Until.Format(time.RFC3339))
}
