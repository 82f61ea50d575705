package httpapi

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

// MyRooms are the rooms that the caller needs most often.
type MyRooms struct {
	Favorites []int64      `json:"favorites" nullable:"false" doc:"IDs of the rooms that you marked as favorites"`
	Recent    []RecentRoom `json:"recent" nullable:"false" doc:"Rooms of your latest meetings, newest first; at most 10"`
}

// RecentRoom is a room of one of the caller's latest meetings.
type RecentRoom struct {
	RoomID int64     `json:"room_id"`
	UsedAt time.Time `json:"used_at" doc:"Start of your latest meeting in the room"`
}

func (h *handlers) registerMyRooms(api huma.API) {
	const tag = "Finding rooms"
	list := operation("list-my-rooms", http.MethodGet, "/me/rooms", "List your favorite and recent rooms", tag)
	list.Description = "Recent rooms come from the latest 100 meetings that you organized and that have started."
	register(api, list, h.myRooms)
	register(api, deletes(operation("add-favorite-room", http.MethodPut, "/me/favorites/{room_id}", "Mark a room as a favorite", tag)), h.addFavorite)
	register(api, deletes(operation("remove-favorite-room", http.MethodDelete, "/me/favorites/{room_id}", "Remove a room from your favorites", tag)), h.removeFavorite)
}

type myRoomsOutput struct{ Body MyRooms }

func (h *handlers) myRooms(ctx context.Context, _ *struct{}) (*myRoomsOutput, error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	mine, err := h.finding.MyRooms(ctx, by)
	if err != nil {
		return nil, err
	}
	out := &myRoomsOutput{Body: MyRooms{Favorites: mine.Favorites, Recent: make([]RecentRoom, len(mine.Recent))}}
	for i, r := range mine.Recent {
		out.Body.Recent[i] = RecentRoom{RoomID: r.RoomID, UsedAt: r.UsedAt.UTC()}
	}
	return out, nil
}

type favoriteInput struct {
	RoomID int64 `path:"room_id"`
}

func (h *handlers) addFavorite(ctx context.Context, in *favoriteInput) (*struct{}, error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	return nil, h.finding.AddFavorite(ctx, by, in.RoomID)
}

func (h *handlers) removeFavorite(ctx context.Context, in *favoriteInput) (*struct{}, error) {
	by, err := actorOf(ctx)
	if err != nil {
		return nil, err
	}
	return nil, h.finding.RemoveFavorite(ctx, by, in.RoomID)
}
