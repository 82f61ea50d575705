package booking

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"punctual/account/fault"
	"punctual/meeting"
	"punctual/meeting/clock"
	"punctual/meeting/policy"
)

// MaxBuffer limits the buffers of a room.
const MaxBuffer = 24 * time.Hour

// Validate returns all violations of a new meeting.
func (s *Service) Validate(ctx context.Context, by meeting.Actor, t *meeting.Terms, o *meeting.Override, at time.Time) error {
	violations := t.Violations(nil, by, s.Settings().Limits, at)
	if len(violations) > 0 || o != nil {
		quotas, err := s.OverQuota(ctx, cmp.Or(t.Organizer.UserID, by.ID), t, nil)
		if err != nil {
			return err
		}
		violations = append(violations, quotas...)
	}
	return t.Accept(violations, o)
}

// OverQuota returns which quotas the terms currently exceed. It is called if other rules
// are broken or overridden, so that all are reported at once. Otherwise the check on saving the
// meeting is enough, and only that check is certain.
func (s *Service) OverQuota(ctx context.Context, userID int64, t *meeting.Terms, base *meeting.Meeting) ([]meeting.Fault, error) {
	if t.Type.Exempt() {
		return nil, nil
	}
	var id meeting.ID
	if base != nil {
		id = base.ID
		if base.Slot.Start.Equal(t.Slot.Start) && base.Slot.End.Equal(t.Slot.End) && slices.Equal(base.RoomIDs, meeting.RoomIDs(t.Rooms)) {
			return nil, nil
		}
	}
	var found []meeting.Fault
	for _, c := range meeting.QuotaClaims(userID, t.Rooms, t.Slot, base) {
		c, err := s.OwnQuota(ctx, c)
		if err != nil {
			return nil, err
		}
		others, err := s.store.Held(ctx, c, id, s.Now())
		if err != nil {
			return nil, fmt.Errorf("look up quotas: %w", err)
		}
		found = append(found, c.Check(others)...)
	}
	return found, nil
}

// OwnQuota returns the claim by the quota of its user, whose groups may have another one.
func (s *Service) OwnQuota(ctx context.Context, c policy.Claim) (policy.Claim, error) {
	if !c.ByGroup() {
		return c, nil
	}
	groups, err := s.GroupsOf(ctx, c.UserID)
	return c.In(groups), err
}

// GroupsOf returns the groups of a user.
func (s *Service) GroupsOf(ctx context.Context, userID int64) ([]int64, error) {
	groups, err := s.store.GroupsOf(ctx, userID)
	if err != nil {
		return nil, fmt.Errorf("look up groups: %w", err)
	}
	return groups, nil
}

// quotasOfChange is overQuota for a change. It runs before the meeting is locked.
func (s *Service) quotasOfChange(ctx context.Context, by meeting.Actor, f *Fields, m *meeting.Meeting, k Known, at time.Time) ([]meeting.Fault, error) {
	t, err := f.Terms(m, k)
	if err != nil {
		return nil, nil // reported with the meeting locked
	}
	if f.Override == nil && len(t.Violations(m, by, s.Settings().Limits, at)) == 0 {
		return nil, nil
	}
	return s.OverQuota(ctx, t.OrganizerOf(m).UserID, &t, m.HeldBy(t.OrganizerOf(m)))
}

// PrepareRooms completes rooms that were just read with what policies need: their zones in force,
// the limits per user, and the blackouts that overlap a span. A zero end means no end.
func (s *Service) PrepareRooms(ctx context.Context, rooms []*meeting.Room, span clock.Slot) error {
	return s.addBlackouts(ctx, s.Zoned(rooms), span)
}

// AddBlackouts adds the blackouts that end after an instant. Rooms without any cost nothing.
// Blackouts are read after the rooms, so a change in between makes the rooms' number outdated and
// is noticed.
func (s *Service) AddBlackouts(ctx context.Context, rooms []*meeting.Room, at time.Time) error {
	return s.addBlackouts(ctx, rooms, clock.Slot{Start: at})
}

func (s *Service) addBlackouts(ctx context.Context, rooms []*meeting.Room, span clock.Slot) error {
	var closed []int64
	for _, r := range rooms {
		if r.Closures > 0 {
			closed = append(closed, r.ID)
		}
	}
	if len(closed) == 0 {
		return nil
	}
	bs, err := s.store.BlackoutsWithin(ctx, closed, span)
	if err != nil {
		return fmt.Errorf("look up blackouts: %w", err)
	}
	type place struct{ roomID, siteID int64 }
	of := map[place][]policy.Blackout{}
	for _, b := range bs {
		at := place{b.RoomID, b.SiteID}
		of[at] = append(of[at], b)
	}
	for _, r := range rooms {
		if r.Closures == 0 {
			continue // all of its blackouts, none, are listed
		}
		r.Blackouts = append(r.Blackouts, of[place{roomID: r.ID}]...)
		if r.SiteID != 0 {
			r.Blackouts = append(r.Blackouts, of[place{siteID: r.SiteID}]...)
		}
		slices.SortStableFunc(r.Blackouts, func(a, b policy.Blackout) int {
			return cmp.Or(a.Slot.Start.Compare(b.Slot.Start), cmp.Compare(a.ID, b.ID))
		})
		r.BlackoutsUntil = span.End
	}
	return nil
}

// Zoned sets the installation's zone in rooms that have none, and whose site has none.
func (s *Service) Zoned(rooms []*meeting.Room) []*meeting.Room {
	for _, r := range rooms {
		r.Zone = cmp.Or(r.Zone, s.Settings().Timezone, "UTC")
		if limits := s.Settings().Limits.Person; !limits.None() {
			r.Person = limits.At(s.Now())
		}
		if _, err := fault.StoredZone(r.Zone); err != nil {
			s.logUnknown(r.Zone)
		}
	}
	return rooms
}

// ViolationNeedsApproval is the code of a booking at a door, or a change of a meeting in progress,
// that would need approval first.
const ViolationNeedsApproval = "needs_approval"

// NeedsDecision returns the error for an action that would need approval first.
func NeedsDecision(location string, rooms []*meeting.Room) error {
	var found []meeting.Fault
	for _, r := range meeting.LevelsOf(rooms).At(meeting.FirstLevel) {
		found = append(found, meeting.Fault{
			Location: location, Code: ViolationNeedsApproval, Message: r.Name + " is not given out at once: somebody has to agree",
			Figures: meeting.Figures{RoomID: r.ID},
		})
	}
	if len(found) == 0 {
		return nil
	}
	return &meeting.PolicyError{Violations: found}
}
