package tests

import (
	"encoding/csv"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"punctual/tests/testenv"
)

// TestReports: a meeting that ended early and one to which nobody came show in what rooms were
// used for, without their titles; and how late their jobs ran is known after a restart.
func TestReports(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		server := testenv.Server(t, on.Config)
		admin := server.Admin(t)
		manager, alice := admin.NewUser(t, "Mona", "manager"), admin.NewUser(t, "Alice", "member")
		begun := time.Now().UTC()
		room := admin.NewRoom(t, "Kept, small", with{"capacity": 4, "timezone": "Pacific/Kiritimati"})
		lost := admin.NewRoom(t, "=Lost", with{"check_in": with{"required": true, "opens": "1m", "grace": "1s"}})
		start := inSeconds(2)
		held := alice.Book(t, testenv.Booking(start, start.Add(time.Hour), []int64{room.ID}, with{
			"visibility": "private", "title": "Takeover of a rival", "attendees": []any{with{"email": "guest@example.net"}},
		}))
		missed := alice.Book(t, testenv.Booking(start, start.Add(time.Hour), []int64{lost.ID}))
		eventually(t, start.Add(slack), "one started, the other released", func() bool {
			return alice.Meeting(t, held.ID).StartedAt != nil && alice.Meeting(t, missed.ID).Status == "released" &&
				len(entries(alice.History(t, missed.ID), "released")) == 1
		})
		alice.Want(t, http.StatusOK, http.MethodPost, fmt.Sprintf("/meetings/%d/end", held.ID), nil, nil)

		type use struct {
			Room           *struct{ ID int64 }
			Day            string
			Weekday        string
			Hour           *int
			Released       int64 `json:"released_seconds"`
			Rejected       int
			BookedSeconds  int64    `json:"booked_seconds"`
			UsedSeconds    int64    `json:"used_seconds"`
			OpenSeconds    int64    `json:"open_seconds"`
			BookedShare    *float64 `json:"booked_share"`
			Meetings       int
			NoShows        int      `json:"no_shows"`
			AveragePersons *float64 `json:"average_persons"`
		}
		var rooms struct {
			Items      []use
			Total      use
			NextCursor *string `json:"next_cursor"`
		}
		at := func(t time.Time) string { return t.Format(time.RFC3339) }
		span := url.Values{"from": {at(start.Add(-time.Hour))}, "to": {at(start.Add(2 * time.Hour))}}
		path := "/reports/utilisation?" + span.Encode()
		raw := manager.Want(t, http.StatusOK, http.MethodGet, path, nil, &rooms)
		if strings.Contains(string(raw.Body), "rival") {
			t.Error("a private title is told")
		}
		if len(rooms.Items) != 2 || rooms.Items[1].Room.ID != room.ID || rooms.Total.Meetings != 2 || rooms.Total.NoShows != 1 || rooms.Total.OpenSeconds != 6*3600 {
			t.Fatalf("by room: %s", raw.Body)
		}
		u, n := rooms.Items[1], rooms.Items[0]
		if u.BookedSeconds != 3600 || u.UsedSeconds > 3000 || u.Meetings != 1 || u.NoShows != 0 || u.AveragePersons != nil || u.BookedShare == nil || *u.BookedShare != 0.3333 {
			t.Errorf("where somebody came: %+v", u)
		}
		admin.Want(t, http.StatusOK, http.MethodGet, path, nil, &rooms)
		if u := rooms.Items[1]; u.AveragePersons == nil || *u.AveragePersons != 2 {
			t.Errorf("how many came to a private meeting, for an admin: %+v", u)
		}
		if n.BookedSeconds != 3600 || n.UsedSeconds != 0 || n.NoShows != 1 {
			t.Errorf("where nobody came: %+v", n)
		}
		manager.Want(t, http.StatusOK, http.MethodGet, path+"&limit=1", nil, &rooms)
		if len(rooms.Items) != 1 || rooms.NextCursor == nil || rooms.Total.Meetings != 2 {
			t.Errorf("a page: %+v", rooms)
		}
		var days struct{ Items []use }
		manager.Want(t, http.StatusOK, http.MethodGet, path+"&group=day", nil, &days)
		there, err := time.LoadLocation("Pacific/Kiritimati") // 14 hours ahead
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(days.Items, func(u use) bool { return u.Day == start.In(there).Format(time.DateOnly) })
		if i < 0 || days.Items[i].Meetings == 0 {
			t.Errorf("by day: %+v", days)
		}

		// What was given back: nearly all of both, for one was ended at once and the other released.
		if rooms.Total.Released < 6600 || rooms.Total.Released > 7200 || rooms.Total.Rejected != 0 {
			t.Errorf("given back: %+v", rooms.Total)
		}
		var week struct {
			Items []use
			Total use
		}
		manager.Want(t, http.StatusOK, http.MethodGet, path+"&group=hour", nil, &week)
		local := start.In(there)
		weekday := strings.ToUpper(local.Weekday().String()[:2])
		i = slices.IndexFunc(week.Items, func(u use) bool { return u.Weekday == weekday && u.Hour != nil && *u.Hour == local.Hour() })
		if i < 0 || week.Items[i].Meetings == 0 || week.Total.Meetings != 2 || week.Total.BookedSeconds != 7200 || week.Total.OpenSeconds != 6*3600 {
			t.Errorf("by hour: %+v", week)
		}
		var site struct{ ID int64 }
		admin.Want(t, http.StatusCreated, http.MethodPost, "/sites", with{"name": "Elsewhere"}, &site)
		manager.Want(t, http.StatusOK, http.MethodGet, path+fmt.Sprintf("&site_id=%d", site.ID), nil, &week)
		if len(week.Items) != 0 || week.Total.Meetings != 0 {
			t.Errorf("of a site without rooms: %+v", week)
		}

		table := manager.Do(t, http.MethodGet, path, nil, testenv.Header("Accept", "text/csv"))
		lines, err := csv.NewReader(strings.NewReader(string(table.Body))).ReadAll()
		if err != nil || len(lines) != 3 || lines[1][1] != "'=Lost" || lines[2][1] != "Kept, small" || lines[2][4] != "3600" {
			t.Errorf("as a table: %v\n%s", err, table.Body)
		}

		alice.WantProblem(t, http.StatusForbidden, "forbidden", http.MethodGet, path, nil)
		manager.WantProblem(t, http.StatusForbidden, "forbidden", http.MethodGet, "/reports/punctuality", nil)
		for _, bad := range []string{"from=soon", "from=2027-02-10T00:00:00Z&to=2027-02-09T00:00:00Z", "from=2027-02-10T00:00:00Z&to=2028-02-12T00:00:00Z"} {
			for _, of := range []string{"utilisation", "punctuality"} {
				admin.WantProblem(t, http.StatusUnprocessableEntity, "invalid", http.MethodGet, "/reports/"+of+"?"+bad, nil)
			}
		}
		manager.WantProblem(t, http.StatusUnprocessableEntity, "invalid", http.MethodGet, "/reports/utilisation?cursor=x", nil)

		for _, when := range []string{"at once", "after a restart"} {
			type lateness struct {
				Job       string
				Count     int64
				P50       *float64 `json:"p50_seconds"`
				Max       *float64 `json:"max_seconds"`
				Histogram []struct{ Count int64 }
			}
			var late struct {
				Items    []lateness
				Meetings struct{ Started, Ended lateness }
			}
			admin.Want(t, http.StatusOK, http.MethodGet, "/reports/punctuality?"+url.Values{"from": {at(begun.Add(-time.Hour))}}.Encode(), nil, &late)
			i := slices.IndexFunc(late.Items, func(l lateness) bool { return l.Job == "meeting.start" })
			if i < 0 || late.Items[i].Count == 0 || late.Items[i].Max == nil || *late.Items[i].P50 > *late.Items[i].Max || len(late.Items[i].Histogram) < 10 {
				t.Errorf("%s: how late jobs ran: %+v", when, late.Items)
			}
			if late.Meetings.Started.Count == 0 || late.Meetings.Ended.Count != 0 {
				t.Errorf("%s: how late meetings began: %+v", when, late.Meetings)
			}
			if when == "at once" {
				server.Stop()
				server.Start(t)
			}
		}
	})
}
