package booking

import (
	"context"
	"slices"
	"time"

	"punctual/meeting"
	"punctual/meeting/clock"
)

// blackoutsAhead is how far ahead rooms show their blackouts.
const blackoutsAhead = 90 * 24 * time.Hour

// ahead is the span of the blackouts that rooms show.
func (s *Service) ahead() clock.Slot {
	at := s.Now().UTC().Truncate(time.Microsecond)
	return clock.Slot{Start: at, End: at.Add(blackoutsAhead)}
}

// Room returns a room with its blackouts of now and the next 90 days.
func (s *Service) Room(ctx context.Context, id int64) (*meeting.Room, error) {
	rooms, err := s.RoomsByID(ctx, []int64{id})
	if err != nil {
		return nil, err
	}
	if len(rooms) == 0 {
		return nil, meeting.ErrNotFound
	}
	return rooms[0], s.addBlackouts(ctx, rooms, s.ahead())
}

// VisibleRoom returns a room as [Service.Room] does. It returns [meeting.ErrNotFound] also if the actor may not
// see it.
func (s *Service) VisibleRoom(ctx context.Context, by meeting.Actor, id int64) (*meeting.Room, error) {
	room, err := s.Room(ctx, id)
	if err == nil {
		by, err = s.WithDeputies(ctx, by)
	}
	switch {
	case err != nil:
		return nil, err
	case !by.MaySeeRoom(room):
		return nil, meeting.ErrNotFound
	}
	return room, nil
}

// Rooms lists rooms with their blackouts of now and the next 90 days.
func (s *Service) Rooms(ctx context.Context, q meeting.RoomQuery, p meeting.Page) (rooms []*meeting.Room, next string, err error) {
	if q.Viewer != nil {
		by, err := s.WithDeputies(ctx, *q.Viewer)
		if err != nil {
			return nil, "", err
		}
		q.Viewer = &by
	}
	rooms, next, err = s.store.ListRooms(ctx, q, p)
	if err != nil {
		return nil, "", err
	}
	return rooms, next, s.PrepareRooms(ctx, rooms, s.ahead())
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
