package account

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

var (
	ErrNotFound     = errors.New("not found")
	ErrForbidden    = errors.New("forbidden")
	ErrUnauthorized = errors.New("unauthorized") // nobody knows the caller; never says why

	// ErrWrongCredentials is an [ErrUnauthorized]: an unknown address, a wrong password or a
	// disabled user. It does not say which.
	ErrWrongCredentials = fmt.Errorf("wrong address or password: %w", ErrUnauthorized)
)

// Fault is one thing wrong with a request. Location names the field as the REST resource
// does, e.g. "body.email".
type Fault struct {
	Location string
	Code     string // stable, e.g. "required", "too_long", "taken"
	Message  string
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

var emailTaken = Fault{"body.email", "taken", "belongs to another user"}

// ErrEmailTaken is what a [Store] returns when another user has the address.
var ErrEmailTaken error = &InvalidError{[]Fault{emailTaken}}

// RateLimitError says that there were too many attempts, and when the next may succeed.
type RateLimitError struct{ RetryAfter time.Duration }

func (e *RateLimitError) Error() string {
	return fmt.Sprintf("too many attempts; try again in %v", e.RetryAfter.Round(time.Second))
}

// VersionError says that a change was based on an older version (If-Match).
type VersionError struct{ Current int64 }

func (e *VersionError) Error() string { return fmt.Sprintf("the current version is %d", e.Current) }
