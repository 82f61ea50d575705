package tests

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strings"
	"testing"

	"punctual/tests/testenv"
)

// forgedCursors have the form of the lists' own cursors, and what no database takes.
var forgedCursors = []string{
	`{"l":"meetings","t":-4550000000000000000,"i":1}`, `{"l":"meetings","t":9223372036854775807,"i":1}`, `{"l":"rooms","n":"a\u0000b","i":1}`,
	`{"At":-4550000000000000000,"Source":0,"ID":1}`, `{"At":"2027-02-10T09:00:00Z","ID":"a\u0000b"}`, `{"DeadAt":"2027-02-10T09:00:00Z","Job":"a","Key":"\u0000"}`,
	"id:-1", "n-1", "\x00 \x00",
}

// TestQueries: what is wrong with a query is told at once, whoever finds it; and a cursor of no list
// has one code, whichever list it is given to.
func TestQueries(t *testing.T) {
	t.Parallel()
	server := testenv.Server(t, testenv.Config{})
	admin := server.Admin(t)
	room := admin.NewRoom(t, "Turing")
	admin.Want(t, http.StatusCreated, http.MethodPost, at("/rooms/%d/door/pairing", room.ID), nil, nil) // or its list is that of no device
	for path, want := range map[string][]string{
		"/meetings?limit=0&from=soon&organizer=x&attendee=you&status=odd": {"query.attendee unknown_value",
			"query.from invalid_time", "query.limit too_small", "query.organizer unknown_value", "query.status unknown_value"},
		"/grid?limit=5000&from=soon&to=later&room_id=x":       {"query.from invalid_time", "query.limit too_large", "query.room_id invalid_type", "query.to invalid_time"},
		"/blackouts?limit=x&from=soon&to=later":               {"query.from invalid_time", "query.limit malformed", "query.to invalid_time"},
		"/waitlist?limit=0&state=odd":                         {"query.limit too_small", "query.state unknown_value"},
		"/occupancy?limit=0&to=soon":                          {"query.from required", "query.limit too_small", "query.to invalid_date"},
		"/availability?limit=0&start=soon":                    {"query.end required", "query.limit too_small", "query.start invalid_time"},
		"/suggestions?limit=0&from=soon&duration=long":        {"query.duration invalid_duration", "query.from invalid_time", "query.limit too_small"},
		at("/rooms/%d/free-busy?from=soon&to=later", room.ID): {"query.from invalid_time", "query.to invalid_time"},
		"/events?after=x":                                     {"query.after invalid_type"},
	} {
		p := admin.WantProblem(t, http.StatusUnprocessableEntity, "invalid", http.MethodGet, path, nil)
		var got []string
		for _, f := range p.Errors {
			got = append(got, f.Location+" "+f.Code)
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s:\ngot  %v\nwant %v", path, got, want)
		}
	}

	a := describe(t, server)
	lists := 0
	for _, op := range a.operations() {
		if op.method != http.MethodGet || !op.takes("cursor") || op.path == "/outbox" { // whose cursor is a name
			continue
		}
		query := "?cursor=x"
		switch op.path {
		case "/grid", "/occupancy":
			query += "&from=2027-02-10&to=2027-02-11"
		case "/availability":
			query += "&start=2027-02-10T09:00:00Z&end=2027-02-10T10:00:00Z"
		}
		path := strings.ReplaceAll(op.at(1), "/users/1/", at("/users/%d/", admin.User.ID)) + query
		res := admin.Do(t, http.MethodGet, path, nil)
		if res.Status == http.StatusNotFound {
			continue // nothing is there to be listed
		}
		p, _ := res.Problem()
		if len(p.Errors) != 1 || p.Errors[0].Location != "query.cursor" || p.Errors[0].Code != "invalid_cursor" {
			t.Errorf("%s: %d %s", path, res.Status, res.Body)
		}
		for _, forged := range forgedCursors {
			path := strings.Replace(path, "cursor=x", "cursor="+base64.RawURLEncoding.EncodeToString([]byte(forged)), 1)
			if res := admin.Do(t, http.MethodGet, path, nil); res.Status != http.StatusUnprocessableEntity {
				t.Errorf("%s, the cursor %q: %d %s", path, forged, res.Status, res.Body)
			}
		}
		lists++
	}
	if lists < 15 {
		t.Errorf("%d lists were asked", lists)
	}
}
