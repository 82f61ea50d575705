package booking

import (
	"context"

	"punctual/meeting"
)

// limitChanges sets [meeting.Meeting.ChangeUntil] for an actor who may change the meeting.
func (s *Service) limitChanges(ctx context.Context, by meeting.Actor, m *meeting.Meeting) error {
	if by.MayChangeLate() || !by.Manages(m) || !s.Now().Before(m.Slot.Start) {
		return nil
	}
	rooms, err := s.RoomsByID(ctx, m.RoomIDs)
	if err != nil {
		return err
	}
	m.ChangeUntil, _ = m.LatestChange(by, rooms, s.Settings().Limits)
	return nil
}
