package meeting

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"punctual/account/fault"
)

// accept accepts the terms if they violate no policy, or by an override, which they then carry.
func (t *Terms) accept(violations []Fault, o *Override) error {
	firm := func(f Fault) bool { return f.Firm }
	switch {
	case o != nil && !slices.ContainsFunc(violations, firm):
		t.Override = &Override{Reason: o.Reason, Violations: violations}
		return nil
	case len(violations) > 0:
		return &PolicyError{Violations: violations}
	default:
		return nil
	}
}

// validate returns all violations of a new meeting.
func (s *Service) validate(ctx context.Context, by Actor, t *Terms, o *Override, at time.Time) error {
	violations := t.violations(nil, by, s.conf().Limits, at)
	if len(violations) > 0 || o != nil {
		quotas, err := s.overQuota(ctx, cmp.Or(t.Organizer.UserID, by.ID), t, nil)
		if err != nil {
			return err
		}
		violations = append(violations, quotas...)
	}
	return t.accept(violations, o)
}

// overQuota returns which quotas the terms currently exceed. It is called if other rules
// are broken or overridden, so that all are reported at once. Otherwise the check on saving the
// meeting is enough, and only that check is certain.
func (s *Service) overQuota(ctx context.Context, userID int64, t *Terms, base *Meeting) ([]Fault, error) {
	if t.Type.exempt() {
		return nil, nil
	}
	var id ID
	if base != nil {
		id = base.ID
		if base.Slot.Start.Equal(t.Slot.Start) && base.Slot.End.Equal(t.Slot.End) && slices.Equal(base.RoomIDs, ids(t.Rooms)) {
			return nil, nil
		}
	}
	var found []Fault
	for _, c := range claims(userID, t.Rooms, t.Slot, base) {
		others, err := s.store.Held(ctx, c, id, s.clock())
		if err != nil {
			return nil, fmt.Errorf("look up quotas: %w", err)
		}
		found = append(found, c.Check(others)...)
	}
	return found, nil
}

// quotasOfChange is overQuota for a change. It runs before the meeting is locked.
func (s *Service) quotasOfChange(ctx context.Context, by Actor, f *Fields, m *Meeting, k known, at time.Time) ([]Fault, error) {
	t, err := f.terms(m, k)
	if err != nil {
		return nil, nil // reported with the meeting locked
	}
	if f.Override == nil && len(t.violations(m, by, s.conf().Limits, at)) == 0 {
		return nil, nil
	}
	return s.overQuota(ctx, t.organizer(m).UserID, &t, m.heldBy(t.organizer(m)))
}

// PrepareRooms completes rooms that were just read with what policies need: their zones in force,
// the limits per user, and the blackouts that end after an instant.
func (s *Service) PrepareRooms(ctx context.Context, rooms []*Room, after time.Time) error {
	return s.withBlackouts(ctx, s.zoned(rooms), after)
}

// withBlackouts adds the blackouts that end after an instant. Rooms without any cost nothing.
// Blackouts are read after the rooms, so a change in between makes the rooms' number outdated and
// is noticed.
func (s *Service) withBlackouts(ctx context.Context, rooms []*Room, at time.Time) error {
	var closed []int64
	for _, r := range rooms {
		if r.Closures > 0 {
			closed = append(closed, r.ID)
		}
	}
	if len(closed) == 0 {
		return nil
	}
	bs, err := s.store.BlackoutsAfter(ctx, closed, at)
	if err != nil {
		return fmt.Errorf("look up blackouts: %w", err)
	}
	for _, r := range rooms {
		for _, b := range bs {
			if b.Covers(&r.Room) {
				r.Blackouts = append(r.Blackouts, b)
			}
		}
	}
	return nil
}

// zoned sets the installation's zone in rooms that have none, and whose site has none.
func (s *Service) zoned(rooms []*Room) []*Room {
	for _, r := range rooms {
		r.Zone = cmp.Or(r.Zone, s.conf().Timezone, "UTC")
		if limits := s.conf().Limits.Person; !limits.None() {
			r.Person = limits.At(s.clock())
		}
		if _, err := fault.StoredZone(r.Zone); err != nil {
			s.logUnknown(r.Zone)
		}
	}
	return rooms
}
