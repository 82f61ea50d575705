package tests

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"punctual/tests/testenv"
)

var pathParameter = regexp.MustCompile(`\{[^}]+\}`)

// TestPrivacy_everyGet walks all GET operations of the description as a stranger, with every
// small id filled in: nothing of a private meeting but its time and rooms is told anywhere.
func TestPrivacy_everyGet(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		server := testenv.Server(t, on.Config)
		admin := server.Admin(t)
		bob := admin.NewUser(t, "Bob", "member")
		manager := admin.NewUser(t, "Mona", "manager") // approves another room
		alice := admin.NewUser(t, "Alice", "member", with{"email": "olga.secret@example.org", "name": "Olga Secret"})
		admin.NewRoom(t, "Other", with{"approval": with{"required": true, "approver_ids": []int64{manager.User.ID}}})
		var site struct{ ID int64 }
		admin.Want(t, http.StatusCreated, http.MethodPost, "/sites", with{"name": "Berlin"}, &site)
		room := admin.NewRoom(t, "Turing", with{"site_id": site.ID})
		start, end := inSeconds(3600), inSeconds(7200)
		m := alice.Book(t, testenv.Booking(start, end, []int64{room.ID}, with{
			"title": "Layoffs", "description": "who leaves first", "visibility": "private",
			"attendees": []any{with{"email": "carol.hidden@example.net", "name": "Carol Hidden", "phone": "+4930999888"}},
		}))
		alice.Want(t, http.StatusOK, http.MethodPatch, at("/meetings/%d", m.ID), with{"description": "who leaves second"}, nil)
		admin.Want(t, http.StatusCreated, http.MethodPost, "/blackouts", with{"room_id": room.ID, "start": start, "end": end}, nil)
		var description struct {
			Paths map[string]map[string]struct {
				Parameters []struct {
					Name, In string
					Required bool
				}
			}
		}
		admin.Want(t, http.StatusOK, http.MethodGet, server.URL+"/openapi.json", nil, &description)
		if _, ok := description.Paths["/series"]["post"]; ok {
			alice.Want(t, http.StatusCreated, http.MethodPost, "/series", testenv.Booking(start.AddDate(0, 0, 1), end.AddDate(0, 0, 1), []int64{room.ID}, with{
				"title": "Layoffs", "description": "who leaves first", "visibility": "private", "timezone": "UTC", "rrule": "FREQ=DAILY;COUNT=2",
				"attendees": []any{with{"email": "carol.hidden@example.net", "name": "Carol Hidden"}},
			}), nil)
		}
		values := map[string][]string{
			"q": {"Layoffs", "who"}, "organizer": {strconv.FormatInt(alice.User.ID, 10)}, "series_id": {"1"},
			"from": {start.Add(-time.Hour).Format(time.RFC3339)}, "to": {end.AddDate(0, 0, 5).Format(time.RFC3339)},
			"start": {start.Format(time.RFC3339)}, "end": {end.Format(time.RFC3339)}, "duration": {"1h"}, "attendees": {"1"}, "group": {"room"},
			"room_id": {strconv.FormatInt(room.ID, 10)}, "site_id": {strconv.FormatInt(site.ID, 10)}, "meeting_id": {strconv.FormatInt(m.ID, 10)},
		}
		spans := []string{"from", "to", "start", "end", "duration"}
		secrets := []string{"Layoffs", "who leaves", "carol.hidden", "Carol Hidden", "4930999888", "olga.secret", "Olga Secret"}
		asked, answered := 0, 0
		ask := func(c *testenv.Client, path string, query url.Values) {
			asked++
			status, body := stranger(t, c, path, query)
			if status == http.StatusOK {
				answered++
			}
			for _, secret := range secrets {
				if bytes.Contains(body, []byte(secret)) {
					t.Errorf("GET %s?%s tells %s %q: %d %s", path, query.Encode(), c.User.Name, secret, status, body)
				}
			}
		}
		for path, operations := range description.Paths {
			get, ok := operations["get"]
			if !ok || path == "/me" { // what somebody is told of themselves
				continue
			}
			for _, filled := range fill(path) {
				required, all, span := url.Values{}, url.Values{}, url.Values{}
				for _, p := range get.Parameters {
					if p.In == "query" && values[p.Name] != nil {
						if all[p.Name] = values[p.Name]; p.Required {
							required[p.Name] = values[p.Name][:1]
						}
						if p.Required || slices.Contains(spans, p.Name) {
							span[p.Name] = values[p.Name][:1]
						}
					}
				}
				for _, c := range []*testenv.Client{bob, manager} {
					for _, base := range []url.Values{required, span} { // some operations insist on a time
						ask(c, filled, base)
						for name, vs := range all { // each filter alone
							for _, v := range vs {
								query := maps.Clone(base)
								query[name] = []string{v}
								ask(c, filled, query)
							}
						}
					}
				}
			}
		}
		if answered < 20 {
			t.Errorf("of %d requests %d were answered: the walk walks nowhere", asked, answered)
		}
		t.Logf("%d requests, %d answered", asked, answered)

		// That a filter finds it says as much as its title.
		var grid struct {
			Rooms    []struct{ ID int64 }
			Meetings []struct{ Title string }
		}
		drawn := "/grid?" + url.Values{"from": values["from"], "to": values["to"]}.Encode()
		if bob.Want(t, http.StatusOK, http.MethodGet, drawn, nil, &grid); len(grid.Meetings) == 0 || grid.Meetings[0].Title != "Busy" {
			t.Errorf("the grid shows a stranger %+v", grid)
		}
		if bob.Want(t, http.StatusOK, http.MethodGet, drawn+"&q=Layoffs", nil, &grid); len(grid.Rooms) != 0 {
			t.Errorf("the grid finds a private title: %+v", grid)
		}
		for _, query := range []string{"q=Layoffs", at("organizer=%d", alice.User.ID)} {
			if found := testenv.All[testenv.Meeting](t, bob, "/meetings?"+query); len(found) != 0 {
				t.Errorf("%s finds %+v", query, found)
			}
		}
		if seen := bob.Meeting(t, m.ID); seen.Title != "Busy" || seen.Organizer != (testenv.User{}) || len(seen.Attendees) != 0 {
			t.Errorf("a stranger sees %+v", seen)
		}
		// Nor do refusals tell.
		for method, path := range map[string]string{
			http.MethodPatch: at("/meetings/%d", m.ID), http.MethodPost: at("/meetings/%d/cancel", m.ID),
		} {
			res := bob.Do(t, method, path, with{})
			if slices.ContainsFunc(secrets, func(s string) bool { return bytes.Contains(res.Body, []byte(s)) }) || res.Status != http.StatusForbidden {
				t.Errorf("%s %s: %d %s", method, path, res.Status, res.Body)
			}
		}
		for _, line := range strings.Split(server.Log(), "\n") {
			if strings.Contains(line, "Layoffs") || strings.Contains(line, "carol.hidden") {
				t.Errorf("the log tells: %s", line)
			}
		}
	})
}

// fill puts every small id in place of a path's parameters.
func fill(path string) []string {
	n := len(pathParameter.FindAllString(path, -1))
	if n == 0 {
		return []string{path}
	}
	var filled []string
	for id := 1; id <= 12; id++ {
		filled = append(filled, pathParameter.ReplaceAllString(path, strconv.Itoa(id)))
	}
	return filled
}

// stranger reads what comes within a moment: some answers do not end by themselves.
func stranger(t *testing.T, c *testenv.Client, path string, query url.Values) (status int, body []byte) {
	t.Helper()
	if !strings.HasPrefix(path, "http") {
		path = c.Base + "/api/v1" + path
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, path+"?"+query.Encode(), nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+c.Token)
	client := http.Client{Timeout: 5 * time.Second}
	res, err := client.Do(req)
	if err != nil {
		return 0, nil
	}
	defer res.Body.Close()
	body, _ = io.ReadAll(res.Body)
	return res.StatusCode, body
}
