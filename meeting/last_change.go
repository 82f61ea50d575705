package meeting

import (
	"context"
	"fmt"
	"slices"
	"time"

	"punctual/account/fault"
	"punctual/meeting/policy"
)

// mayChangeLate reports whether the actor may move and cancel meetings until they start, whatever
// their rooms say.
func (a Actor) mayChangeLate() bool {
	return a.Kind != ActorUser || a.Role == Manager || a.Role == Admin
}

// changeUntil returns until when the actor may move or cancel the meeting by the rules of its rooms,
// and the room with the strictest rule; nil: the installation's. Zero means that nothing limits them:
// the meeting is not confirmed, or the actor is exempt.
func (m *Meeting) changeUntil(by Actor, rooms []*Room, limits policy.Limits) (time.Time, *Room) {
	if m.Status != Confirmed && m.Status != InProgress || by.mayChangeLate() {
		return time.Time{}, nil
	}
	longest, strictest := limits.LastChange, (*Room)(nil)
	for _, r := range rooms {
		if slices.Contains(m.RoomIDs, r.ID) && r.Policy.LastChange > longest {
			longest, strictest = r.Policy.LastChange, r
		}
	}
	if longest == 0 {
		return time.Time{}, nil
	}
	return m.Slot.Start.Add(-longest), strictest
}

// lateChange returns the violation of moving or canceling the meeting at an instant.
func (m *Meeting) lateChange(by Actor, rooms []*Room, limits policy.Limits, at time.Time) []Fault {
	until, room := m.changeUntil(by, rooms, limits)
	if until.IsZero() || !at.After(until) {
		return nil
	}
	var v fault.List
	length := m.Slot.Start.Sub(until)
	figures := Figures{Limit: fault.FormatDuration(length)}
	if room == nil {
		v.Violate("start", "last_change", figures, "a meeting can be moved or cancelled until %s before its start", fault.FormatDuration(length))
		return v
	}
	figures.RoomID = room.ID
	v.Violate("start", "last_change", figures, "meetings in %s can be moved or cancelled until %s before their start", room.Name, fault.FormatDuration(length))
	return v
}

// moves reports whether the terms change the time or the rooms of a meeting that has not started.
func (t *Terms) moves(m *Meeting, at time.Time) bool {
	return at.Before(m.Slot.Start) && (!t.Slot.Equal(m.Slot) || !slices.Equal(ids(t.Rooms), m.RoomIDs))
}

// checkLastChange returns a [*PolicyError] if the change moves or cancels a date of the series after
// its last moment for changes.
func (e *revision) checkLastChange(ctx context.Context) error {
	if e.by.mayChangeLate() {
		return nil
	}
	before := map[ID]*Meeting{}
	for _, m := range e.all {
		before[m.ID] = m
	}
	var changed []*Meeting
	var roomIDs []int64
	for _, m := range e.change.Update {
		was := before[m.ID]
		if was == nil || was.Slot.Equal(m.Slot) && slices.Equal(was.RoomIDs, m.RoomIDs) && m.Status != Cancelled {
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
		if v := m.lateChange(e.by, rooms, e.conf.Limits, e.at); len(v) > 0 {
			return &PolicyError{Violations: v}
		}
	}
	return nil
}

// limitChanges sets [Meeting.ChangeUntil] for an actor who may change the meeting.
func (s *Service) limitChanges(ctx context.Context, by Actor, m *Meeting) error {
	if by.mayChangeLate() || !by.MayEdit(m) || !s.clock().Before(m.Slot.Start) {
		return nil
	}
	rooms, err := s.rooms(ctx, m.RoomIDs)
	if err != nil {
		return err
	}
	m.ChangeUntil, _ = m.changeUntil(by, rooms, s.conf().Limits)
	return nil
}
