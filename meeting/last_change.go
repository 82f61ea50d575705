package meeting

import (
	"slices"
	"time"

	"punctual/account/fault"
	"punctual/meeting/policy"
)

// LatestChange returns until when the actor may move or cancel the meeting by the rules of its rooms,
// and the room with the strictest rule; nil: the installation's. Zero means that nothing limits them:
// the meeting is not confirmed, or the actor is exempt.
func (m *Meeting) LatestChange(by Actor, rooms []*Room, limits policy.Limits) (time.Time, *Room) {
	if m.Status != Confirmed && m.Status != InProgress || by.MayChangeLate() {
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

// LateChange returns the violation of moving or canceling the meeting at an instant.
func (m *Meeting) LateChange(by Actor, rooms []*Room, limits policy.Limits, at time.Time) []Fault {
	until, room := m.LatestChange(by, rooms, limits)
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
