package door

import (
	"context"
	"time"

	"punctual/meeting"
	"punctual/meeting/clock"
)

// Store is the persistence of the door, on the terms of [booking.Store].
type Store interface {
	// CreateMeeting sets ID and versions, and completes the notices, to which it may add some.
	CreateMeeting(ctx context.Context, m *meeting.Meeting) error
	Meeting(ctx context.Context, id meeting.ID) (*meeting.Meeting, error)
	// Busy returns what overlaps span in each of the rooms, buffers included, by start.
	Busy(ctx context.Context, rooms []int64, span clock.Slot, at time.Time) (map[int64][]clock.Slot, error)
	// Occupants returns, by start, the meetings that hold the room within span, including lapsed
	// ones.
	Occupants(ctx context.Context, roomID int64, span clock.Slot) ([]*meeting.Meeting, error)
}
