package tests

import (
	"maps"
	"net/http"
	"slices"
	"testing"
	"time"

	"punctual/tests/testenv"
)

// TestCustomFields: fields that admins define are asked for by the rooms of their sites, kept with
// meetings, series and the waiting list, and hidden from those for whom they are not.
func TestCustomFields(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		server := testenv.Server(t, on.Config)
		admin := server.Admin(t)
		alice, bob := admin.NewUser(t, "Alice", "member"), admin.NewUser(t, "Bob", "member")
		var site, center, budget struct{ ID int64 }
		admin.Want(t, http.StatusCreated, http.MethodPost, "/sites", with{"name": "Campus"}, &site)
		room, elsewhere := admin.NewRoom(t, "Lab", with{"site_id": site.ID}), admin.NewRoom(t, "Desk")
		admin.Want(t, http.StatusCreated, http.MethodPost, "/custom-fields", with{"name": "cost_center", "label": "Cost center", "labels": with{"de": "Kostenstelle"},
			"required": true, "in_mails": true, "site_ids": []int64{site.ID}}, &center)
		admin.Want(t, http.StatusCreated, http.MethodPost, "/custom-fields", with{"name": "budget", "label": "Budget", "kind": "number", "audience": "organizer", "position": 1}, &budget)
		if p := admin.WantProblem(t, http.StatusUnprocessableEntity, "invalid", http.MethodPost, "/custom-fields", with{"name": "budget", "label": "Again"}); p.Errors[0].Location != "body.name" {
			t.Errorf("a second field of the name: %+v", p.Errors)
		}
		alice.WantProblem(t, http.StatusForbidden, "forbidden", http.MethodPost, "/custom-fields", with{"name": "mine", "label": "Mine"})

		start := inSeconds(7200).Truncate(time.Hour)
		book := func(room int64, hours int, fields with) with {
			at := start.Add(time.Duration(hours) * time.Hour)
			return testenv.Booking(at, at.Add(time.Hour), []int64{room}, fields)
		}
		p := alice.WantProblem(t, http.StatusUnprocessableEntity, "invalid", http.MethodPost, "/meetings", book(room.ID, 0, with{"fields": with{"budget": "much"}}))
		if len(p.Errors) != 2 || p.Errors[0].Location != "body.fields.budget" || p.Errors[1].Location != "body.fields.cost_center" {
			t.Errorf("errors %+v", p.Errors)
		}
		alice.Book(t, book(elsewhere.ID, 0, nil))
		m := alice.Book(t, book(room.ID, 0, with{"fields": with{"cost_center": "4711", "budget": 12.5}}))
		fieldsOf := func(c *testenv.Client, path string) map[string]any {
			var got struct{ Fields map[string]any }
			c.Want(t, http.StatusOK, http.MethodGet, path, nil, &got)
			return got.Fields
		}
		wantFields := func(c *testenv.Client, id int64, want map[string]any) {
			t.Helper()
			if got := fieldsOf(c, at("/meetings/%d", id)); !maps.Equal(got, want) {
				t.Errorf("%s sees %v, want %v", c.User.Name, got, want)
			}
		}
		wantFields(alice, m.ID, map[string]any{"cost_center": "4711", "budget": 12.5})
		wantFields(bob, m.ID, map[string]any{"cost_center": "4711"})
		if listed := testenv.All[struct{ Fields map[string]any }](t, bob, at("/meetings?room_id=%d", room.ID)); len(listed) != 1 || !maps.Equal(listed[0].Fields, map[string]any{"cost_center": "4711"}) {
			t.Errorf("Bob's list: %v", listed)
		}
		alice.Want(t, http.StatusOK, http.MethodPatch, at("/meetings/%d", m.ID), with{"fields": with{"budget": nil, "cost_center": "0815"}}, nil)
		wantFields(alice, m.ID, map[string]any{"cost_center": "0815"})
		alice.Want(t, http.StatusOK, http.MethodPatch, at("/meetings/%d", m.ID), with{"fields": with{"budget": 1}}, nil)
		changes := func(c *testenv.Client) (names []string) {
			for _, e := range testenv.All[struct{ Changes map[string]any }](t, c, at("/meetings/%d/history", m.ID)) {
				for name := range e.Changes {
					if name != "status" {
						names = append(names, name)
					}
				}
			}
			slices.Sort(names)
			return names
		}
		if got, want := changes(alice), []string{"fields.cost_center", "organizer_fields.budget", "organizer_fields.budget"}; !slices.Equal(got, want) {
			t.Errorf("history %v, want %v", got, want)
		}
		if got, want := changes(bob), []string{"fields.cost_center"}; !slices.Equal(got, want) {
			t.Errorf("Bob's history %v, want %v", got, want)
		}

		var series struct {
			Series   struct{ ID int64 }
			Meetings []testenv.Meeting
		}
		alice.Want(t, http.StatusCreated, http.MethodPost, "/series", book(room.ID, 48, with{"rrule": "FREQ=DAILY;COUNT=3", "fields": with{"cost_center": "1"}}), &series)
		alice.Want(t, http.StatusOK, http.MethodPatch, at("/meetings/%d", series.Meetings[1].ID), with{"fields": with{"cost_center": "own"}}, nil)
		alice.Want(t, http.StatusOK, http.MethodPatch, at("/series/%d", series.Series.ID), with{"fields": with{"cost_center": "2"}}, nil)
		for i, want := range []string{"2", "own", "2"} {
			wantFields(alice, series.Meetings[i].ID, map[string]any{"cost_center": want})
		}

		bob.Want(t, http.StatusCreated, http.MethodPost, "/waitlist", book(room.ID, 0, with{"fields": with{"cost_center": "next"}}), nil)
		alice.Want(t, http.StatusOK, http.MethodPost, at("/meetings/%d/cancel", m.ID), with{}, nil)
		var served int64
		eventually(t, time.Now().Add(slack), "a booking from the waiting list", func() bool {
			for _, w := range testenv.All[struct {
				MeetingID int64 `json:"meeting_id"`
			}](t, bob, "/waitlist") {
				served = w.MeetingID
			}
			return served != 0
		})
		wantFields(bob, served, map[string]any{"cost_center": "next"})

		p = admin.WantProblem(t, http.StatusConflict, "state_conflict", http.MethodDelete, at("/custom-fields/%d", center.ID), nil)
		if p.Detail == "" {
			t.Errorf("problem %+v", p)
		}
		admin.Want(t, http.StatusOK, http.MethodPatch, at("/custom-fields/%d", center.ID), with{"active": false}, nil, testenv.Header("If-Match", `"1"`))
		bob.Book(t, book(room.ID, 5, nil))
	})
}
