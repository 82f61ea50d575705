package meeting

import (
	"context"
	"time"

	"punctual/meeting/clock"
)

// FindingStore is the part of [Store] that finds rooms. What has lapsed at an instant is left out;
// see [Meeting.Lapses].
type FindingStore interface {
	// Candidates are active rooms that have what the need asks for, those that fit best first:
	// least surplus capacity, unknown capacity last, then by name. after is the last one of those
	// seen before; nil: none was.
	Candidates(ctx context.Context, n Need, after *Room, limit int) ([]*Room, error)
	// Busy returns what overlaps span in each of the rooms, buffers included, by start.
	Busy(ctx context.Context, rooms []int64, span clock.Slot, at time.Time) (map[int64][]clock.Slot, error)
	// Kinds are all active rooms that have what the need asks for, by what decides when they are open.
	Kinds(ctx context.Context, n Need) ([]*Kind, error)
	// AllBusy calls each with what [FindingStore.Busy] would return for all rooms, the slots of a room
	// by start. It costs as much as all that takes place within span.
	AllBusy(ctx context.Context, span clock.Slot, at time.Time, each func(roomID int64, taken clock.Slot)) error
	// HeldBy returns when meetings of the user that hold or held each of the rooms take place
	// within span, without buffers. These count for the user's quotas.
	HeldBy(ctx context.Context, userID int64, rooms []int64, span clock.Slot, at time.Time) (map[int64][]clock.Slot, error)
	// Booked returns when meetings take place in each of the rooms within span, by start and
	// without buffers. A meeting that ended early counts until then. A pending meeting that does
	// not hold its slot does not count.
	Booked(ctx context.Context, rooms []int64, span clock.Slot, at time.Time) (map[int64][]clock.Slot, error)
	// Occupants are the meetings that hold the room within span, by start. Those that have lapsed
	// are among them.
	Occupants(ctx context.Context, roomID int64, span clock.Slot) ([]*Meeting, error)
}
