package notify

import (
	"errors"
	"fmt"
	"time"
)

// ErrNotFound reports that a notification does not exist.
var ErrNotFound = errors.New("notify: no such notification")

// A StateError reports that the state of a notification does not allow the operation.
type StateError struct{ State State }

func (e *StateError) Error() string {
	return fmt.Sprintf("notify: the notification is %s", e.State)
}

// Permanent marks an error that a retry cannot fix: the provider rejected the recipient or the
// content.
func Permanent(err error) error { return &sendError{class: permanent, err: err} }

// Unavailable marks an error that is not the notification's fault: the provider cannot be reached
// or rejects all our requests. The attempt does not count, and the whole channel backs off.
func Unavailable(err error) error { return &sendError{class: unavailable, err: err} }

// After marks an error after which the provider wants to be called again in d. The attempt counts.
func After(d time.Duration, err error) error { return &sendError{class: temporary, after: d, err: err} }

// Later marks a refusal by which the notification has to wait for d, such as when there were too many. The attempt does
// not count within a day after it was due.
func Later(d time.Duration, err error) error { return &sendError{class: later, after: d, err: err} }

// Off reports that the channel is switched off. The notification is recorded as [Skipped].
func Off(reason string) error { return &sendError{class: off, err: errors.New(reason)} }

type class int

const (
	temporary class = iota // any other error
	permanent
	unavailable
	off
	later
)

type sendError struct {
	class class
	after time.Duration // 0: the backoff of the job
	err   error
}

func (r *sendError) Error() string { return r.err.Error() }
func (r *sendError) Unwrap() error { return r.err }

// IsPermanent reports whether err was marked by [Permanent].
func IsPermanent(err error) bool { return classify(err).class == permanent }

// IsOff reports whether err says that there is nothing to send, see [Off].
func IsOff(err error) bool { return classify(err).class == off }

// IsLater reports whether err was marked by [Later].
func IsLater(err error) bool { return classify(err).class == later }

// IsUnavailable reports whether err was marked by [Unavailable].
func IsUnavailable(err error) bool { return classify(err).class == unavailable }

func classify(err error) sendError {
	if r, ok := errors.AsType[*sendError](err); ok {
		return *r
	}
	return sendError{class: temporary, err: err}
}
