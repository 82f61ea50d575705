package booking

import (
	"context"
	"time"

	"punctual/meeting"
)

// Directory knows the users of the installation; disabled ones count as unknown. Safe for
// concurrent use.
type Directory interface {
	// People returns users by ID, in any order. Unknown IDs are left out.
	People(ctx context.Context, ids []int64) ([]meeting.Person, error)
	// Absences returns the absences, with a deputy, of users who are away at an instant.
	Absences(ctx context.Context, at time.Time) ([]meeting.Absence, error)
	// Admins are all users with the role admin.
	Admins(ctx context.Context) ([]meeting.Person, error)
	// ByEmail finds users by address; the keys are lower-case addresses.
	ByEmail(ctx context.Context, emails []string) (map[string]meeting.Person, error)
}
