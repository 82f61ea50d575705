package public

import (
	"context"

	"punctual/meeting"
)

// Store is the persistence of the public calendar, on the terms of [booking.Store].
type Store interface {
	// PublicAccess returns what admins chose for the public calendar, sites first.
	PublicAccess(ctx context.Context) ([]meeting.PublicAccess, error)
	SetPublicAccess(ctx context.Context, a meeting.PublicAccess) error // an empty Show removes it; [meeting.ErrNotFound] without its site or room
	Site(ctx context.Context, id int64) (*meeting.Site, error)
	Rooms(ctx context.Context, ids []int64) ([]*meeting.Room, error) // in the order of ids, without unknown ones
	ListRooms(ctx context.Context, q meeting.RoomQuery, p meeting.Page) (rooms []*meeting.Room, next string, err error)
	ListMeetings(ctx context.Context, q meeting.MeetingQuery, p meeting.Page) (ms []*meeting.Meeting, next string, err error)
}
