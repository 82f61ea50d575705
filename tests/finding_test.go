package tests

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"time"

	"punctual/tests/testenv"
)

// TestFinding: who needs a room is told which are free and why others are not, and every time
// and room that is suggested to them can be booked.
func TestFinding(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		server := testenv.Server(t, on.Config)
		admin := server.Admin(t)
		alice, bob := admin.NewUser(t, "Alice", "member"), admin.NewUser(t, "Bob", "member")
		small := admin.NewRoom(t, "Small", with{"capacity": 2})
		fits := admin.NewRoom(t, "Fits", with{"capacity": 6, "features": []string{"video"}})
		large := admin.NewRoom(t, "Large", with{"capacity": 30, "features": []string{"video", "piano"}, "policy": with{"buffer_after": "15m"}})
		start := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, 2).Add(10 * time.Hour) // by day: nights are not suggested
		bob.Book(t, testenv.Booking(start, start.Add(time.Hour), []int64{large.ID}, with{"visibility": "private", "title": "Secret plans"}))

		type item struct {
			Room    struct{ ID int64 }
			Free    bool
			Reasons []struct {
				Code       string
				Start, End *time.Time

				Limit, Actual int
				Feature       string
			}
		}
		look := func(q url.Values) map[int64]item {
			t.Helper()
			var page struct{ Items []item }
			alice.Want(t, http.StatusOK, http.MethodGet, "/availability?"+q.Encode(), nil, &page)
			found := map[int64]item{}
			for _, i := range page.Items {
				found[i.Room.ID] = i
			}
			return found
		}
		at := func(t time.Time) string { return t.Format(time.RFC3339) }
		q := url.Values{"start": {at(start.Add(time.Hour))}, "end": {at(start.Add(2 * time.Hour))}, "attendees": {"a@example.org,b@example.org,c@example.org"}, "features": {"video"}}
		found := look(q)
		if len(found) != 3 || !found[fits.ID].Free {
			t.Errorf("found %+v", found)
		}
		if r := found[small.ID].Reasons; len(r) != 2 || r[0].Code != "features" || r[1].Code != "capacity" {
			t.Errorf("the small one: %+v", r)
		} else if r[0].Feature != "video" || r[1].Limit != 2 || r[1].Actual != 3 {
			t.Errorf("the small one's figures: %+v", r)
		}
		if r := found[large.ID].Reasons; len(r) != 1 || r[0].Code != "room_conflict" || r[0].End == nil || !r[0].End.Equal(start.Add(75*time.Minute)) {
			t.Errorf("the large one: %+v", r)
		}
		q.Set("free", "true")
		if found := look(q); len(found) != 1 || !found[fits.ID].Free {
			t.Errorf("free: %+v", found)
		}

		var suggested struct {
			Items []struct {
				Room       struct{ ID int64 }
				Start, End time.Time
			}
		}
		q = url.Values{"duration": {"1h"}, "from": {at(start)}, "to": {at(start.Add(4 * time.Hour))}, "attendees": {"5"}}
		alice.Want(t, http.StatusOK, http.MethodGet, "/suggestions?"+q.Encode(), nil, &suggested)
		if len(suggested.Items) < 4 || suggested.Items[0].Room.ID != fits.ID || !suggested.Items[0].Start.Equal(start) {
			t.Fatalf("suggested %+v", suggested)
		}
		for _, s := range suggested.Items {
			if s.Room.ID == small.ID {
				t.Error("a room is suggested that is too small")
			}
			m := alice.Book(t, testenv.Booking(s.Start, s.End, []int64{s.Room.ID}))
			if m.Status != "confirmed" {
				t.Errorf("%+v is %s", s, m.Status)
			}
			alice.Want(t, http.StatusOK, http.MethodPost, fmt.Sprintf("/meetings/%d/cancel", m.ID), nil, nil) // each is offered by itself
		}
		q.Set("room_id", fmt.Sprint(large.ID))
		q.Set("attendees", "31")
		alice.Want(t, http.StatusOK, http.MethodGet, "/suggestions?"+q.Encode(), nil, &suggested)
		if len(suggested.Items) != 0 {
			t.Errorf("more people than places: %+v", suggested)
		}

		for path, locations := range map[string][]string{
			"/availability":                      {"query.start", "query.end"},
			"/availability?start=soon&end=later": {"query.start", "query.end"},
			"/availability?start=2027-02-10T10:00:00Z&end=2027-02-10T09:00:00Z":                       {"query.end"},
			"/suggestions?attendees=many":                                                             {"query.duration", "query.attendees"},
			"/suggestions?duration=-1h":                                                               {"query.duration"},
			"/suggestions?duration=1h&from=2027-02-10T09:00:00Z&to=2027-05-10T09:00:00Z":              {"query.to"},
			"/availability?start=2027-02-10T09:00:00Z&end=2027-02-10T10:00:00Z&attendees=99999999999": {"query.attendees"},
		} {
			p := alice.WantProblem(t, http.StatusUnprocessableEntity, "invalid", http.MethodGet, path, nil)
			var got []string
			for _, e := range p.Errors {
				got = append(got, e.Location)
			}
			if fmt.Sprint(got) != fmt.Sprint(locations) {
				t.Errorf("%s: faults at %v, want %v", path, got, locations)
			}
		}
	})
}

// TestGrid_unchanged: a known grid is confirmed exactly as long as it is the same, whatever changes, and for
// each viewer.
func TestGrid_unchanged(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		server := testenv.Server(t, on.Config)
		admin := server.Admin(t)
		alice, bob := admin.NewUser(t, "Alice", "member"), admin.NewUser(t, "Bob", "member")
		room := admin.NewRoom(t, "Grid")
		start := time.Now().UTC().Truncate(time.Second).Add(time.Hour)
		m := alice.Book(t, testenv.Booking(start, start.Add(time.Hour), []int64{room.ID}, with{"title": "Mine", "visibility": "private"}))
		path := "/grid?" + url.Values{"from": {start.Add(-time.Hour).Format(time.RFC3339)}, "to": {start.Add(4 * time.Hour).Format(time.RFC3339)}}.Encode()
		known := map[*testenv.Client]string{}
		look := func(what string) {
			t.Helper()
			for _, viewer := range []*testenv.Client{admin, alice, bob} {
				for range 3 { // a state that is the same before and after is remembered
					tag := viewer.Do(t, http.MethodGet, path, nil).Header.Get("ETag")
					again := viewer.Do(t, http.MethodGet, path, nil, testenv.Header("If-None-Match", known[viewer]))
					fresh := viewer.Do(t, http.MethodGet, path, nil)
					if tag != fresh.Header.Get("ETag") {
						continue // it changed meanwhile
					}
					if (again.Status == http.StatusNotModified) != (tag == known[viewer]) || again.Header.Get("ETag") != tag {
						t.Errorf("%s: status %d of %s, which was %s and is %s", what, again.Status, again.Header.Get("ETag"), known[viewer], tag)
					}
					known[viewer] = tag
				}
			}
		}
		look("at first")
		look("after nothing")
		for _, c := range []struct {
			what   string
			by     *testenv.Client
			method string
			path   string
			body   with
		}{
			{"after a new title", alice, http.MethodPatch, fmt.Sprintf("/meetings/%d", m.ID), with{"title": "Ours"}},
			{"after it was opened", alice, http.MethodPatch, fmt.Sprintf("/meetings/%d", m.ID), with{"visibility": "public"}},
			{"after another booking", bob, http.MethodPost, "/meetings", testenv.Booking(start.Add(2*time.Hour), start.Add(3*time.Hour), []int64{room.ID}, nil)},
			{"after a new name of the room", admin, http.MethodPatch, fmt.Sprintf("/rooms/%d", room.ID), with{"name": "Renamed"}},
			{"after new access", admin, http.MethodPatch, fmt.Sprintf("/rooms/%d", room.ID), with{"approval": with{"required": true, "approver_ids": []int64{}}}},
			{"after a blackout", admin, http.MethodPost, "/blackouts", with{"room_id": room.ID, "start": start.Add(3 * time.Hour), "end": start.Add(4 * time.Hour), "reason": "Paint"}},
			{"after a new role", admin, http.MethodPatch, fmt.Sprintf("/users/%d", bob.User.ID), with{"role": "admin"}},
			{"after a cancellation", alice, http.MethodPost, fmt.Sprintf("/meetings/%d/cancel", m.ID), with{}},
		} {
			if c.by.Do(t, c.method, c.path, c.body).Status >= 300 {
				t.Fatal(c.what)
			}
			look(c.what)
		}
		soon := time.Now().UTC().Truncate(time.Second).Add(3 * time.Second)
		second := alice.Book(t, testenv.Booking(soon, soon.Add(time.Hour), []int64{admin.NewRoom(t, "Soon").ID}, nil))
		for alice.Meeting(t, second.ID).Status != "in_progress" {
			look("around a start")
		}
		look("after a start")
	})
}
