package series

import (
	"context"
	"time"

	"punctual/meeting"
	"punctual/meeting/clock"
	"punctual/meeting/policy"
)

// Store is the persistence of series, on the terms of [booking.Store].
type Store interface {
	Types(ctx context.Context) ([]*meeting.Type, error)              // by name
	Rooms(ctx context.Context, ids []int64) ([]*meeting.Room, error) // in the order of ids, without unknown ones
	ListRooms(ctx context.Context, q meeting.RoomQuery, p meeting.Page) (rooms []*meeting.Room, next string, err error)
	Meeting(ctx context.Context, id meeting.ID) (*meeting.Meeting, error)
	// Held returns the slots, without buffers, of the claimant's meetings that hold the room within
	// the claim's span at an instant. It leaves out the meeting except. For a meeting that ended
	// early, the slot is the time that it took.
	Held(ctx context.Context, c policy.Claim, except meeting.ID, at time.Time) ([]clock.Slot, error)
	Series(ctx context.Context, id int64) (*meeting.Series, error)
	// ListSeries lists series that were not canceled as a whole, latest first.
	ListSeries(ctx context.Context, q meeting.SeriesQuery, p meeting.Page) (series []*meeting.Series, next string, err error)
	// SeriesMeetings returns all meetings of a series, by start, including canceled ones.
	SeriesMeetings(ctx context.Context, id int64) ([]*meeting.Meeting, error)
	// Taken returns for each wanted occupancy what conflicts with it, and when that lapses. It
	// ignores the meetings of except.
	Taken(ctx context.Context, wanted []meeting.Occupancy, except []meeting.ID) ([][]meeting.Occupancy, error)
	// Origin returns where a meeting or its series came from, or nil if it was made here.
	Origin(ctx context.Context, id meeting.ID, seriesID int64) (*meeting.Origin, error)
	// SaveTransfers saves new meetings and series, all or nothing. A change without a series is one
	// meeting. Their Origins are noted; it fails with [meeting.ErrOriginTaken] if one of them is known.
	SaveTransfers(ctx context.Context, cs []*meeting.SeriesChange) error
}
