package account

import (
	"errors"
	"fmt"
	"time"

	"punctual/account/fault"
)

var (
	ErrNotFound     = errors.New("not found")
	ErrForbidden    = errors.New("forbidden")
	ErrUnauthorized = errors.New("unauthorized") // the caller is unknown; never gives a reason

	// ErrWrongCredentials is an [ErrUnauthorized] for an unknown address, a wrong password or a
	// disabled user. It does not reveal which.
	ErrWrongCredentials = fmt.Errorf("wrong address or password: %w", ErrUnauthorized)

	// ErrDirectoryDown means that a directory of the company did not answer.
	ErrDirectoryDown = errors.New("the directory is unavailable")

	// ErrLinkInvalid is an [ErrUnauthorized] for a link that is wrong, used or expired. It does not
	// reveal which.
	ErrLinkInvalid = fmt.Errorf("invalid password link: %w", ErrUnauthorized)
)

type (
	Fault        = fault.Fault
	InvalidError = fault.InvalidError
	VersionError = fault.VersionError
)

var emailTaken = fault.New("body.email", "taken", "belongs to another user")

// ErrEmailTaken is what a [Store] returns when another user has the address.
var ErrEmailTaken error = &InvalidError{Faults: []Fault{emailTaken}}

// RateLimitError reports too many attempts and when the next may succeed.
type RateLimitError struct{ RetryAfter time.Duration }

func (e *RateLimitError) Error() string {
	return fmt.Sprintf("too many attempts; try again in %v", e.RetryAfter.Round(time.Second))
}
