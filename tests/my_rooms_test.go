package tests

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
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

// TestPeopleBusy: colleagues see when users are busy, also by private meetings, and nothing else.
func TestPeopleBusy(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		server := testenv.Server(t, on.Config)
		admin := server.Admin(t)
		alice, grace, bob := admin.NewUser(t, "Alice", "member"), admin.NewUser(t, "Grace", "member"), admin.NewUser(t, "Bob", "member")
		one, two := admin.NewRoom(t, "One"), admin.NewRoom(t, "Two")
		ten := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, 3).Add(10 * time.Hour)
		hour := func(n int) time.Time { return ten.Add(time.Duration(n) * time.Hour) }
		guests := with{"title": "Secret plans", "visibility": "private", "attendees": []any{with{"email": "Bob@Example.org"}, with{"email": "guest@elsewhere.example"}}}
		declined := grace.Book(t, testenv.Booking(hour(4), hour(5), []int64{two.ID}, guests))
		grace.Book(t, testenv.Booking(hour(0), hour(1), []int64{one.ID}, guests))
		grace.Book(t, testenv.Booking(hour(1), hour(2), []int64{two.ID}, nil)) // joined with the first
		bob.Want(t, http.StatusOK, http.MethodPost, fmt.Sprintf("/meetings/%d/respond", declined.ID), with{"response": "declined"}, nil)

		query := fmt.Sprintf("/people/busy?from=%s&to=%s", hour(-10).Format(time.RFC3339), hour(14).Format(time.RFC3339))
		res := alice.Want(t, http.StatusOK, http.MethodGet, query+"&email=grace@example.org&email=bob@example.org&email=guest@elsewhere.example&email=alice@example.org", nil, nil)
		span := func(from, to int) string {
			return fmt.Sprintf(`{"start":%q,"end":%q}`, hour(from).Format(time.RFC3339), hour(to).Format(time.RFC3339))
		}
		for _, want := range []string{
			`{"email":"grace@example.org","known":true,"busy":[` + span(0, 2) + "," + span(4, 5) + `]}`,
			`{"email":"bob@example.org","known":true,"busy":[` + span(0, 1) + `]}`,
			`{"email":"guest@elsewhere.example","known":false,"busy":[]}`,
			`{"email":"alice@example.org","known":true,"busy":[]}`,
		} {
			if !bytes.Contains(res.Body, []byte(want)) {
				t.Errorf("%s is not in %s", want, res.Body)
			}
		}
		alice.Want(t, http.StatusUnprocessableEntity, http.MethodGet, query, nil, nil)
		alice.Want(t, http.StatusUnprocessableEntity, http.MethodGet, query+strings.Repeat("&email=a@b.example", 21), nil, nil)
	})
}
