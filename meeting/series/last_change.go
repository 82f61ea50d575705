package series

import (
	"context"
	"fmt"
	"slices"

	"punctual/meeting"
)

// checkLastChange returns a [*meeting.PolicyError] if the change moves or cancels a date of the series after
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
