package tests

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"punctual/tests/testenv"
)

// TestMyRooms: favorites belong to one user, and recent rooms are those of the user's own meetings
// that have started, each once.
func TestMyRooms(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		server := testenv.Server(t, on.Config)
		admin := server.Admin(t)
		alice, bob := admin.NewUser(t, "Alice", "member"), admin.NewUser(t, "Bob", "member")
		near, far, unused := admin.NewRoom(t, "Near", nil), admin.NewRoom(t, "Far", nil), admin.NewRoom(t, "Unused", nil)

		type rooms struct {
			Favorites []int64
			Recent    []struct {
				RoomID int64     `json:"room_id"`
				UsedAt time.Time `json:"used_at"`
			}
		}
		mine := func(c *testenv.Client) (r rooms) {
			t.Helper()
			c.Want(t, http.StatusOK, http.MethodGet, "/me/rooms", nil, &r)
			return r
		}
		star := func(method string, roomID int64) {
			t.Helper()
			alice.Want(t, http.StatusNoContent, method, fmt.Sprintf("/me/favorites/%d", roomID), nil, nil)
		}
		star(http.MethodPut, far.ID)
		star(http.MethodPut, near.ID)
		star(http.MethodPut, near.ID) // again
		star(http.MethodDelete, unused.ID)
		alice.Want(t, http.StatusNotFound, http.MethodPut, "/me/favorites/999999", nil, nil)
		if got := mine(alice); cmp.Diff(got.Favorites, []int64{near.ID, far.ID}) != "" || len(got.Recent) != 0 {
			t.Errorf("Alice: %+v", got)
		}
		star(http.MethodDelete, near.ID)
		if got := mine(alice); cmp.Diff(got.Favorites, []int64{far.ID}) != "" {
			t.Errorf("without one: %+v", got)
		}

		now := time.Now().UTC().Truncate(time.Second)
		alice.Book(t, testenv.Booking(now, now.Add(30*time.Minute), []int64{near.ID}, nil))
		alice.Book(t, testenv.Booking(now.Add(time.Hour), now.Add(2*time.Hour), []int64{unused.ID}, nil)) // has not started
		bob.Book(t, testenv.Booking(now, now.Add(30*time.Minute), []int64{far.ID}, nil))
		if got := mine(alice).Recent; len(got) != 1 || got[0].RoomID != near.ID || !got[0].UsedAt.Equal(now) {
			t.Errorf("Alice's recent rooms: %+v", got)
		}
		if got := mine(bob); len(got.Favorites) != 0 || len(got.Recent) != 1 || got.Recent[0].RoomID != far.ID {
			t.Errorf("Bob: %+v", got)
		}
	})
}
