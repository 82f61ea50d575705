package topics

import (
	"errors"
	"fmt"
	"time"

	"punctual/delayjob"
)

// ErrNotFound says that the topic has no such job.
var ErrNotFound = fmt.Errorf("topics: %w", delayjob.ErrNotFound)

// ErrQueueDown says that the queue does not answer. Nothing is lost by it.
var ErrQueueDown = errors.New("topics: the queue does not answer")

// Fault is one thing wrong with a request.
type Fault struct{ Location, Code, Message string }

// InvalidError says all that is wrong with a request.
type InvalidError struct{ Faults []Fault }

func (e *InvalidError) Error() string {
	if len(e.Faults) == 0 {
		return "topics: invalid"
	}
	return fmt.Sprintf("topics: %s %s", e.Faults[0].Location, e.Faults[0].Message)
}

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

// StaleError says that a change was based on another version of a webhook than the current
// one; 0: there is none.
type StaleError struct{ Current int64 }

func (e *StaleError) Error() string {
	return fmt.Sprintf("version %d of the webhook is there", e.Current)
}

// StateError says that the state which a job is in does not allow the change.
type StateError struct{ State State }

func (e *StateError) Error() string { return "the job is " + string(e.State) }
