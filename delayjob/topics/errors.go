package topics

import (
	"errors"
	"fmt"
	"time"

	"punctual/account/fault"
	"punctual/delayjob"
)

// ErrNotFound means that the topic has no such job.
var ErrNotFound = fmt.Errorf("topics: %w", delayjob.ErrNotFound)

// ErrQueueDown means that the queue does not answer. No job is lost.
var ErrQueueDown = errors.New("topics: the queue does not answer")

type (
	Fault        = fault.Fault
	InvalidError = fault.InvalidError
	VersionError = fault.VersionError
)

// AddError is the reason why a job was not added: a newer version is stored, or the same version
// with another body.
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

// Reason returns a stable name of the error.
func (e *AddError) Reason() string {
	if e.Result == Differs {
		return "different_body"
	}
	return "newer_version"
}

// HookedError means that the topic has a webhook, so its jobs cannot be popped.
type HookedError struct{ Topic string }

func (e *HookedError) Error() string { return "topic " + e.Topic + " is pushed to a webhook" }

// QuotaError means that new jobs would exceed a limit.
type QuotaError struct {
	Detail     string
	RetryAfter time.Duration
}

func (e *QuotaError) Error() string { return "topics: " + e.Detail }

// StateError means that the job's state does not allow the change.
type StateError struct{ State State }

func (e *StateError) Error() string { return "the job is " + string(e.State) }
