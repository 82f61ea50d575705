package notify

import (
	"errors"
	"fmt"
	"time"
)

// ErrNotFound says that the ledger has no such notification.
var ErrNotFound = errors.New("notify: no such notification")

// A StateError says that a notification is in a state that does not allow what was asked.
type StateError struct{ State State }

func (e *StateError) Error() string {
	return fmt.Sprintf("notify: the notification is %s", e.State)
}

// Permanent says that no further attempt can succeed: the recipient or the content is refused.
func Permanent(err error) error { return &refusal{class: permanent, err: err} }

// Unavailable says that the provider cannot be reached or refuses us altogether, which is not
// the notification's fault: no attempt is charged and the whole channel backs off.
func Unavailable(err error) error { return &refusal{class: unavailable, err: err} }

// After says when the provider wants to be asked again; the attempt is charged.
func After(d time.Duration, err error) error { return &refusal{class: temporary, after: d, err: err} }

// Off says that the channel is switched off: the notification is recorded as [Skipped].
func Off(reason string) error { return &refusal{class: off, err: errors.New(reason)} }

type class int

const (
	temporary class = iota // any other error
	permanent
	unavailable
	off
)

type refusal struct {
	class class
	after time.Duration // 0: the job's own back-off
	err   error
}

func (r *refusal) Error() string { return r.err.Error() }
func (r *refusal) Unwrap() error { return r.err }

// IsPermanent reports whether err was made by [Permanent].
func IsPermanent(err error) bool { return classify(err).class == permanent }

// IsUnavailable reports whether err was made by [Unavailable].
func IsUnavailable(err error) bool { return classify(err).class == unavailable }

func classify(err error) refusal {
	if r, ok := errors.AsType[*refusal](err); ok {
		return *r
	}
	return refusal{class: temporary, err: err}
}
