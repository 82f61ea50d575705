package topics

import (
	"errors"
	"fmt"
	"time"

	"punctual/account/fault"
	"punctual/delayjob"
)

// ErrNotFound says that the topic has no such job.
var ErrNotFound = fmt.Errorf("topics: %w", delayjob.ErrNotFound)

// ErrQueueDown says that the queue does not answer. Nothing is lost by it.
var ErrQueueDown = errors.New("topics: the queue does not answer")

// Faults of requests are those of every package. See package fault.
type (
	Fault        = fault.Fault
	InvalidError = fault.InvalidError
	VersionError = fault.VersionError
)

// AddError says why a job is not added: a newer version is stored, or the same version with
// another body.
type AddError struct {
	Result Result // Outdated or Differs
	There  *Job
	State  State // of There
}

func (e *AddError) Error() string {
	if e.Result == Differs {
		return fmt.Sprintf("version %d is stored with another body; a higher version replaces it", e.There.Version)
	}
	return fmt.Sprintf("a newer version is stored: %d", e.There.Version)
}

// Reason is a stable name of the error.
func (e *AddError) Reason() string {
	if e.Result == Differs {
		return "different_body"
	}
	return "newer_version"
}

// HookedError says that a topic is pushed to a webhook and so cannot be popped.
type HookedError struct{ Topic string }

func (e *HookedError) Error() string { return "topic " + e.Topic + " is pushed to a webhook" }

// QuotaError says that there is no room for what was to be added.
type QuotaError struct {
	Detail     string
	RetryAfter time.Duration
}

func (e *QuotaError) Error() string { return "topics: " + e.Detail }

// StateError says that the state which a job is in does not allow the change.
type StateError struct{ State State }

func (e *StateError) Error() string { return "the job is " + string(e.State) }
