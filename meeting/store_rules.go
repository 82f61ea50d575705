package meeting

import (
	"context"
	"time"

	"punctual/meeting/clock"
	"punctual/meeting/policy"
)

// RulesStore is the part of [Store] that rules need beyond rooms and meetings.
type RulesStore interface {
	// CreateBlackout, UpdateBlackout and DeleteBlackout exclude bookings in the rooms that the
	// blackout closes while they run: each of those either was saved before, or fails with
	// [ErrRoomsChanged]. [ErrNotFound], if the room or site is not there.
	CreateBlackout(ctx context.Context, b *policy.Blackout) error
	UpdateBlackout(ctx context.Context, id int64, fn func(*policy.Blackout) error) (*policy.Blackout, error)
	DeleteBlackout(ctx context.Context, id int64, at time.Time, fn func(*policy.Blackout) error) error // as it is, locked; an error keeps it
	Blackout(ctx context.Context, id int64) (*policy.Blackout, error)
	ListBlackouts(ctx context.Context, q BlackoutQuery, p Page) (bs []*policy.Blackout, next string, err error) // by start
	// BlackoutsAfter are all blackouts of these rooms, and of their sites, that end after an
	// instant, by start.
	BlackoutsAfter(ctx context.Context, rooms []int64, at time.Time) ([]policy.Blackout, error)

	// WaitingMoves returns the meetings with a move that waits for a decision.
	WaitingMoves(ctx context.Context) ([]*Meeting, error)

	// Held returns the slots, without buffers, of the claimant's meetings that hold the room within
	// the claim's span at an instant. It leaves out the meeting except. For a meeting that ended
	// early, the slot is the time that it took.
	Held(ctx context.Context, c policy.Claim, except ID, at time.Time) ([]clock.Slot, error)

	// Busy returns what overlaps span in each of the rooms, buffers included, by start.
	Busy(ctx context.Context, rooms []int64, span clock.Slot, at time.Time) (map[int64][]clock.Slot, error)
	// Occupants are the meetings that hold the room within span, by start. Those that have lapsed
	// are among them.
	Occupants(ctx context.Context, roomID int64, span clock.Slot) ([]*Meeting, error)
}

// BlackoutQuery filters blackouts; a zero field does not filter.
type BlackoutQuery struct {
	From, To time.Time // overlapping [From, To)
	RoomID   int64     // that close the room: its own and its site's
	SiteID   int64     // of the site and of its rooms
}
