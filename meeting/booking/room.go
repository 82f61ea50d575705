package booking

import (
	"context"
	"slices"

	"punctual/meeting"
)

// Room returns a room with its current and future blackouts.
func (s *Service) Room(ctx context.Context, id int64) (*meeting.Room, error) {
	rooms, err := s.RoomsByID(ctx, []int64{id})
	if err != nil {
		return nil, err
	}
	if len(rooms) == 0 {
		return nil, meeting.ErrNotFound
	}
	return rooms[0], s.AddBlackouts(ctx, rooms, s.Now())
}

// Rooms lists rooms with their current and future blackouts.
func (s *Service) Rooms(ctx context.Context, q meeting.RoomQuery, p meeting.Page) (rooms []*meeting.Room, next string, err error) {
	rooms, next, err = s.store.ListRooms(ctx, q, p)
	if err != nil {
		return nil, "", err
	}
	return s.Zoned(rooms), next, s.AddBlackouts(ctx, rooms, s.Now())
}

// RoomsByID returns rooms by ID, in order, without unknown ones.
func (s *Service) RoomsByID(ctx context.Context, ids []int64) ([]*meeting.Room, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	rooms, err := s.store.Rooms(ctx, ids)
	return s.Zoned(rooms), err
}

// RoomsOf returns the rooms of meetings, each once.
func (s *Service) RoomsOf(ctx context.Context, ms []*meeting.Meeting) ([]*meeting.Room, error) {
	var want []int64
	for _, m := range ms {
		want = append(want, m.RoomIDs...)
	}
	slices.Sort(want)
	return s.RoomsByID(ctx, slices.Compact(want))
}
