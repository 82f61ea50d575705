package finding

import (
	"context"
	"fmt"
	"slices"
	"time"

	"punctual/account/fault"
	"punctual/meeting"
)

// MyRooms are the rooms that a user needs most often.
type MyRooms struct {
	Favorites []int64 // room IDs, in order
	Recent    []RecentRoom
}

// RecentRoom is a room of one of the user's latest meetings.
type RecentRoom struct {
	RoomID int64
	UsedAt time.Time // start of the latest of them
}

const (
	maxFavorites   = 100
	recentMeetings = 100 // latest meetings that count
	recentRooms    = 10  // at most
)

// MyRooms returns the favorite rooms of the actor, and the rooms of the meetings that the actor
// organized last, latest first. Rooms that the actor may no longer see are left out.
func (s *Service) MyRooms(ctx context.Context, by meeting.Actor) (MyRooms, error) {
	favorites, err := s.store.FavoriteRooms(ctx, by.ID)
	if err != nil {
		return MyRooms{}, fmt.Errorf("look up favorite rooms: %w", err)
	}
	if by, err = s.meetings.WithDeputies(ctx, by); err != nil {
		return MyRooms{}, err
	}
	hidden, err := s.store.HiddenRooms(ctx, by)
	if err != nil {
		return MyRooms{}, err
	}
	hides := func(id int64) bool { return slices.Contains(hidden, id) }
	used, err := s.store.UsedRooms(ctx, by.ID, s.clock(), recentMeetings)
	if err != nil {
		return MyRooms{}, fmt.Errorf("look up recent rooms: %w", err)
	}
	recent := make([]RecentRoom, 0, recentRooms)
	for _, r := range used {
		known := slices.ContainsFunc(recent, func(o RecentRoom) bool { return o.RoomID == r.RoomID })
		if !known && !hides(r.RoomID) && len(recent) < recentRooms {
			recent = append(recent, r)
		}
	}
	return MyRooms{Favorites: slices.DeleteFunc(favorites, hides), Recent: recent}, nil
}

// AddFavorite marks a room as a favorite of the actor. Adding it again changes nothing.
func (s *Service) AddFavorite(ctx context.Context, by meeting.Actor, roomID int64) error {
	if _, err := s.meetings.VisibleRoom(ctx, by, roomID); err != nil {
		return err
	}
	favorites, err := s.store.FavoriteRooms(ctx, by.ID)
	switch {
	case err != nil:
		return fmt.Errorf("look up favorite rooms: %w", err)
	case slices.Contains(favorites, roomID):
		return nil
	case len(favorites) >= maxFavorites:
		return fault.Invalid("room_id", "too_many", "must be one of at most %d favorite rooms", maxFavorites)
	}
	return s.store.AddFavoriteRoom(ctx, by.ID, roomID)
}

// RemoveFavorite removes a room from the favorites of the actor. Removing one that is none changes
// nothing.
func (s *Service) RemoveFavorite(ctx context.Context, by meeting.Actor, roomID int64) error {
	return s.store.RemoveFavoriteRoom(ctx, by.ID, roomID)
}
