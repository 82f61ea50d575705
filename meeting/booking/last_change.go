package booking

import (
	"context"
	"fmt"
	"slices"

	"punctual/meeting"
)

// checkLastChange returns a [*PolicyError] if the change moves or cancels a date of the series after
// its last moment for changes.
func (e *revision) checkLastChange(ctx context.Context) error {
	if e.by.MayChangeLate() {
		return nil
	}
	before := map[meeting.ID]*meeting.Meeting{}
	for _, m := range e.all {
		before[m.ID] = m
	}
	var changed []*meeting.Meeting
	var roomIDs []int64
	for _, m := range e.change.Update {
		was := before[m.ID]
		if was == nil || was.Slot.Equal(m.Slot) && slices.Equal(was.RoomIDs, m.RoomIDs) && m.Status != meeting.Cancelled {
			continue
		}
		changed = append(changed, was)
		roomIDs = append(roomIDs, was.RoomIDs...)
	}
	if len(changed) == 0 {
		return nil
	}
	slices.Sort(roomIDs)
	rooms, err := e.store.Rooms(ctx, slices.Compact(roomIDs))
	if err != nil {
		return fmt.Errorf("look up rooms: %w", err)
	}
	for _, m := range changed {
		if v := m.LateChange(e.by, rooms, e.conf.Limits, e.at); len(v) > 0 {
			return &meeting.PolicyError{Violations: v}
		}
	}
	return nil
}

// limitChanges sets [Meeting.ChangeUntil] for an actor who may change the meeting.
func (s *Service) limitChanges(ctx context.Context, by meeting.Actor, m *meeting.Meeting) error {
	if by.MayChangeLate() || !by.MayEdit(m) || !s.clock().Before(m.Slot.Start) {
		return nil
	}
	rooms, err := s.rooms(ctx, m.RoomIDs)
	if err != nil {
		return err
	}
	m.ChangeUntil, _ = m.LatestChange(by, rooms, s.conf().Limits)
	return nil
}
