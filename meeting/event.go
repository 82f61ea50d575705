package meeting

import (
	"context"
	"time"
)

// Event tells that something happened to a meeting. Every entry of a history is one.
type Event struct {
	ID        int64 // of the entry; rises with time, but for entries that are committed side by side
	Action    Action
	At        time.Time
	MeetingID ID
	Left      []int64 // rooms in which the meeting was before it
	Asked     []int64 // rooms of a change that it asked for, or that is not asked for any more
}

// EventStore is the part of [Store] that a [Feed] reads.
type EventStore interface {
	// Events are the entries of all histories behind an ID, at most limit, in their order. An
	// entry may appear behind others with higher IDs, since transactions end in another order
	// than they begin. Before the entries were read, all transactions with numbers below ended
	// had ended; 0 where transactions run one by one.
	Events(ctx context.Context, after int64, limit int) (events []Event, ended uint64, err error)
	// Mark is a number above those of all transactions that have begun to write.
	Mark(ctx context.Context) (uint64, error)
	// LastEvent is the highest ID of an entry; 0: there is none.
	LastEvent(ctx context.Context) (int64, error)
	// MeetingsByID finds meetings; those not there are left out.
	MeetingsByID(ctx context.Context, ids []ID) ([]*Meeting, error)
	// Rooms finds rooms; those not there are left out.
	Rooms(ctx context.Context, ids []int64) ([]*Room, error)
}
