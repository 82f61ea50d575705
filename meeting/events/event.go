package events

import (
	"context"
	"time"

	"punctual/meeting"
)

// An Event is an entry in the history of a meeting.
type Event struct {
	ID        int64 // of the entry; rises with time, except among concurrent transactions
	Action    meeting.Action
	At        time.Time
	MeetingID meeting.ID
	Left      []int64 // rooms that the meeting left
	Requested []int64 // rooms of a change that was requested, or whose request was withdrawn
}

// Store reads events and their meetings.
type Store interface {
	// Events returns at most limit events with IDs after the given one, by ID. An event may appear
	// later than others with higher IDs, since transactions do not commit in the order in which
	// they begin. All transactions with numbers below ended had ended before the events were
	// read; ended is 0 if transactions run one at a time.
	Events(ctx context.Context, after int64, limit int) (events []Event, ended uint64, err error)
	// EventsByID returns the events that exist, by ID.
	EventsByID(ctx context.Context, ids []int64) ([]Event, error)
	// Mark returns a number above those of all transactions that have begun to write.
	Mark(ctx context.Context) (uint64, error)
	// LastEvent returns the highest ID of an event; 0 if there is none.
	LastEvent(ctx context.Context) (int64, error)
	// MeetingsByID returns the meetings that exist.
	MeetingsByID(ctx context.Context, ids []meeting.ID) ([]*meeting.Meeting, error)
	// Rooms returns the rooms that exist.
	Rooms(ctx context.Context, ids []int64) ([]*meeting.Room, error)
}
