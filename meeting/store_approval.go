package meeting

import (
	"context"
	"time"

	"punctual/meeting/clock"
)

// ApprovalStore is what requests for a decision need from persistence besides their meetings.
type ApprovalStore interface {
	// HeldForChanges returns which slots of a room are held for changes that wait, and
	// for offers of the waiting list, in a span, in order.
	HeldForChanges(ctx context.Context, roomID int64, span clock.Slot, at time.Time) ([]HeldSlot, error)
	// RequestsAskedWith are the meetings whose requests wait and were made in the moment in which
	// one of the given was made for another date of the same series; the given are among them
	// if they wait themselves. They come by start.
	RequestsAskedWith(ctx context.Context, ids []ID) ([]*Meeting, error)
	// Lapsed are the meetings, and the offers to those who wait, that hold any of these places but
	// have lapsed at an instant, by ID.
	Lapsed(ctx context.Context, places []Occupancy, at time.Time) (meetings []ID, waits []int64, err error)
	// Waiting are meetings that wait for a decision, or whose deadline has just passed, by ID
	// after one, at most limit.
	Waiting(ctx context.Context, after ID, limit int) ([]*Meeting, error)
}

// HeldSlot is a part of a room's time that a meeting's pending change holds, or an offer.
type HeldSlot struct {
	MeetingID ID // 0: an offer
	Slot      clock.Slot
}
