package booking_test

import (
	"context"
	"slices"
	"time"

	"punctual/meeting"
	"punctual/meeting/clock"
)

func (s *fakeStore) Busy(_ context.Context, rooms []int64, span clock.Slot, at time.Time) (map[int64][]clock.Slot, error) {
	taken := map[int64][]clock.Slot{}
	for _, m := range s.meetings {
		for _, o := range meeting.Unlapsed(takenBy(m), at) {
			if slices.Contains(rooms, o.RoomID) && o.Slot.Overlaps(span) {
				taken[o.RoomID] = append(taken[o.RoomID], o.Slot)
			}
		}
	}
	return taken, nil
}

func (s *fakeStore) Occupants(_ context.Context, roomID int64, span clock.Slot) ([]*meeting.Meeting, error) {
	var ms []*meeting.Meeting
	for _, m := range s.meetings {
		if slices.ContainsFunc(m.Occupied, func(o meeting.Occupancy) bool { return o.RoomID == roomID && o.Slot.Overlaps(span) }) {
			ms = append(ms, new(*m))
		}
	}
	slices.SortFunc(ms, func(a, b *meeting.Meeting) int { return a.Slot.Start.Compare(b.Slot.Start) })
	return ms, nil
}
