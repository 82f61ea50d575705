package booking_test

import (
	"context"
	"errors"
	"slices"
	"time"

	"punctual/meeting"
	"punctual/meeting/clock"
	"punctual/meeting/policy"
)

// fakeRules keeps blackouts; what they close is looked up in the store.
type fakeRules struct{ blackouts map[int64]*policy.Blackout }

func (s *fakeStore) CreateBlackout(_ context.Context, b *policy.Blackout) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	b.ID, b.Version = s.next(), 1
	s.keep(b)
	return nil
}

func (s *fakeStore) keep(b *policy.Blackout) {
	if s.blackouts == nil {
		s.blackouts = map[int64]*policy.Blackout{}
	}
	s.blackouts[b.ID] = new(*b)
	for _, r := range s.rooms {
		if b.Covers(&r.Room) {
			r.Closures++
			s.closeRequests(r.ID, func(m *meeting.Meeting) bool { return m.Slot.Overlaps(b.Slot) })
		}
	}
}

// closeRequests makes the time-outs of requests reject what has been closed.
func (s *fakeStore) closeRequests(room int64, closed func(*meeting.Meeting) bool) {
	for _, m := range s.meetings {
		if m.Request != nil && m.Request.Change == nil && slices.Contains(m.RoomIDs, room) && closed(m) {
			m.Approval.OnTimeout = meeting.Rejected
		}
	}
}

func (s *fakeStore) UpdateBlackout(_ context.Context, id int64, fn func(*policy.Blackout) error) (*policy.Blackout, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, ok := s.blackouts[id]
	if !ok {
		return nil, meeting.ErrNotFound
	}
	b = new(*b)
	if err := fn(b); err != nil {
		return nil, err
	}
	b.Version++
	s.keep(b)
	return b, nil
}

func (s *fakeStore) DeleteBlackout(_ context.Context, id int64, _ time.Time, fn func(*policy.Blackout) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, ok := s.blackouts[id]
	if !ok {
		return meeting.ErrNotFound
	}
	if err := fn(b); err != nil {
		return err
	}
	delete(s.blackouts, id)
	return nil
}

func (s *fakeStore) Blackout(_ context.Context, id int64) (*policy.Blackout, error) {
	if b, ok := s.blackouts[id]; ok {
		return new(*b), nil
	}
	return nil, meeting.ErrNotFound
}

func (s *fakeStore) ListBlackouts(_ context.Context, q meeting.BlackoutQuery, _ meeting.Page) ([]*policy.Blackout, string, error) {
	var bs []*policy.Blackout
	for _, b := range s.blackouts {
		room := s.rooms[q.RoomID]
		if (q.To.IsZero() || b.Slot.Start.Before(q.To)) && b.Slot.End.After(q.From) && (room == nil || b.Covers(&room.Room)) {
			bs = append(bs, new(*b))
		}
	}
	slices.SortFunc(bs, func(a, b *policy.Blackout) int { return a.Slot.Start.Compare(b.Slot.Start) })
	return bs, "", nil
}

func (s *fakeStore) BlackoutsWithin(_ context.Context, rooms []int64, span clock.Slot) ([]policy.Blackout, error) {
	var bs []policy.Blackout
	for _, b := range s.blackouts {
		closes := func(id int64) bool { return b.Covers(&s.rooms[id].Room) }
		if b.Slot.End.After(span.Start) && (span.End.IsZero() || b.Slot.Start.Before(span.End)) && slices.ContainsFunc(rooms, closes) {
			bs = append(bs, *b)
		}
	}
	slices.SortFunc(bs, func(a, b policy.Blackout) int { return a.Slot.Start.Compare(b.Slot.Start) })
	return bs, nil
}

func (s *fakeStore) WaitingMoves(context.Context) ([]*meeting.Meeting, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ms []*meeting.Meeting
	for _, m := range s.meetings {
		if m.Request != nil && m.Request.Change != nil {
			ms = append(ms, new(*m))
		}
	}
	return ms, nil
}

func (s *fakeStore) Held(_ context.Context, c policy.Claim, except meeting.ID, at time.Time) ([]clock.Slot, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held(c, except, at), nil
}

func (s *fakeStore) held(c policy.Claim, except meeting.ID, at time.Time) []clock.Slot {
	var slots []clock.Slot
	for _, m := range s.meetings {
		for _, o := range meeting.Unlapsed(occupiedBy(m), at) {
			if m.ID != except && (c.RoomID == 0 || c.RoomID == o.RoomID) && m.Organizer.UserID == c.UserID && !s.types[m.TypeID].Exempt() && m.Slot.Overlaps(c.Span) {
				slots = append(slots, m.Slot)
			}
		}
	}
	return slots
}

// allowed is what a store checks before it saves a meeting, besides overlaps.
func (s *fakeStore) allowed(m *meeting.Meeting) error {
	for _, id := range m.RoomIDs {
		if n, ok := m.CheckedClosures(id); ok && s.rooms[id] != nil && n != s.rooms[id].Closures {
			return meeting.ErrRoomsChanged
		}
	}
	var violations []meeting.Fault
	if s.types[m.TypeID].Exempt() {
		return nil
	}
	for _, c := range m.Claims() {
		violations = append(violations, c.Check(s.held(c, m.ID, m.UpdatedAt))...)
	}
	if len(violations) > 0 {
		return &meeting.PolicyError{Violations: violations}
	}
	asked := *m
	if m.Requested() != nil {
		asked.Occupied = m.Requested()
	}
	return s.free(&asked)
}

func (s *fakeStore) HolidayCalendars(context.Context) ([]*meeting.HolidayCalendar, error) {
	return nil, nil
}

func (s *fakeStore) HolidayCalendar(context.Context, int64) (*meeting.HolidayCalendar, error) {
	return nil, meeting.ErrNotFound
}

func (s *fakeStore) CreateHolidays(context.Context, *meeting.HolidayCalendar, []meeting.HolidayPlace) error {
	return errors.ErrUnsupported
}

func (s *fakeStore) UpdateHolidays(context.Context, int64, []meeting.HolidayPlace, func(*meeting.HolidayCalendar) error) (*meeting.HolidayCalendar, error) {
	return nil, meeting.ErrNotFound
}

func (s *fakeStore) DeleteHolidays(context.Context, int64, time.Time, func(*meeting.HolidayCalendar) error) error {
	return meeting.ErrNotFound
}

func (s *fakeStore) FollowHolidays(context.Context, []meeting.HolidayPlace, time.Time) error {
	return nil
}

func (s *fakeStore) PublicAccess(context.Context) ([]meeting.PublicAccess, error) { return nil, nil }

func (s *fakeStore) SetPublicAccess(context.Context, meeting.PublicAccess) error {
	return meeting.ErrNotFound
}
