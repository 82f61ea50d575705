package account

import (
	"context"
	"errors"
	"slices"
	"time"
)

// maxAway limits an absence. A permanent deputy should be an approver.
const maxAway = 366 * 24 * time.Hour

// checkAway checks an absence and rounds it to the precision of the databases. The deputy may be
// away too: then the deputy's deputy decides.
func (s *Service) checkAway(ctx context.Context, id int64, a *Away, fs *faults) error {
	if *a == (Away{}) {
		return nil
	}
	a.From, a.Until = a.From.UTC().Truncate(time.Microsecond), a.Until.UTC().Truncate(time.Microsecond)
	switch {
	case a.From.IsZero():
		fs.add("away.from", "required", "is required")
	case a.Until.IsZero():
		fs.add("away.until", "required", "is required")
	case !a.From.Before(a.Until):
		fs.add("away.until", "not_after_from", "must be after from")
	case !s.now().Before(a.Until):
		fs.add("away.until", "in_past", "must be in the future")
	case a.Until.Sub(a.From) > maxAway:
		fs.add("away.until", "too_long", "must be at most 366 days after from")
	}
	if a.DeputyID == 0 {
		return nil
	}
	if a.DeputyID == id {
		fs.add("away.deputy_id", "invalid_deputy", "is the one who is away")
		return nil
	}
	switch u, err := s.store.User(ctx, a.DeputyID); {
	case errors.Is(err, ErrNotFound), err == nil && !u.Active():
		fs.add("away.deputy_id", "unknown_user", "is not an active user")
	case err != nil:
		return err
	case !u.Role.Covers(Manager):
		fs.add("away.deputy_id", "not_a_manager", "is a member and cannot decide; an admin can make them manager")
	}
	return nil
}

// Deputies returns all users who can decide for p's user: the other managers and admins.
func (s *Service) Deputies(ctx context.Context, p *Principal) ([]*User, error) {
	users, err := s.store.ActiveDeciders(ctx)
	return slices.DeleteFunc(users, func(u *User) bool { return u.ID == p.UserID }), wrap("list deputies", err)
}
