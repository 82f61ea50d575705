package approval

import (
	"context"

	"punctual/meeting"
)

// Store is the persistence of deciding, on the terms of [booking.Store].
type Store interface {
	ListRooms(ctx context.Context, q meeting.RoomQuery, p meeting.Page) (rooms []*meeting.Room, next string, err error)
	Meeting(ctx context.Context, id meeting.ID) (*meeting.Meeting, error)
	// Waiting returns, by ID, at most limit meetings after one with a pending request, or one whose
	// deadline has just passed.
	Waiting(ctx context.Context, after meeting.ID, limit int) ([]*meeting.Meeting, error)
	Series(ctx context.Context, id int64) (*meeting.Series, error)
	// SeriesMeetings returns all meetings of a series, by start, including canceled ones.
	SeriesMeetings(ctx context.Context, id int64) ([]*meeting.Meeting, error)
}
