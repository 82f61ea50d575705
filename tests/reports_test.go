package tests

import (
	"encoding/csv"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	ics "github.com/arran4/golang-ical"

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
		if err != nil || len(lines) != 4 || lines[1][1] != "'=Lost" || lines[2][1] != "Kept, small" || lines[2][4] != "3600" || lines[3][1] != "Total" || lines[3][4] != "7200" {
			t.Errorf("as a table: %v\n%s", err, table.Body)
		}
		if same := manager.Do(t, http.MethodGet, path+"&format=csv", nil); string(same.Body) != string(table.Body) {
			t.Errorf("asked for by its parameter: %s", same.Body)
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
			table := admin.Want(t, http.StatusOK, http.MethodGet, "/reports/punctuality?format=csv&"+url.Values{"from": {at(begun.Add(-time.Hour))}}.Encode(), nil, nil)
			lines, err := csv.NewReader(strings.NewReader(string(table.Body))).ReadAll()
			if err != nil || len(lines) < len(late.Items)+4 || lines[0][0] != "job" || lines[1][0] != late.Items[0].Job || lines[len(lines)-1][0] != "Total" {
				t.Errorf("%s: as a table: %v\n%s", when, err, table.Body)
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

// TestReports_meetings: what rooms were booked for, with sums that agree however they are grouped and filtered, as
// JSON, CSV and iCalendar, and without what private meetings hide.
func TestReports_meetings(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		server := testenv.Server(t, on.Config)
		admin := server.Admin(t)
		manager, alice := admin.NewUser(t, "Mona", "manager"), admin.NewUser(t, "Alice", "member")
		var site, exam struct{ ID int64 }
		admin.Want(t, http.StatusCreated, http.MethodPost, "/sites", with{"name": "Campus"}, &site)
		admin.Want(t, http.StatusCreated, http.MethodPost, "/types", with{"name": "Exam"}, &exam)
		admin.Want(t, http.StatusCreated, http.MethodPost, "/custom-fields", with{"name": "cost_center", "label": "Cost center"}, nil)
		admin.Want(t, http.StatusCreated, http.MethodPost, "/custom-fields", with{"name": "budget", "label": "Budget", "kind": "number", "audience": "organizer"}, nil)
		hall, lab := admin.NewRoom(t, "Hall", with{"site_id": site.ID, "timezone": "Europe/Berlin"}), admin.NewRoom(t, "=Lab", with{"site_id": site.ID, "timezone": "Europe/Berlin"})
		shed := admin.NewRoom(t, "Shed")

		start := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, 30).Add(9 * time.Hour)
		book := func(by *testenv.Client, hour, long int, rooms []int64, fields with) testenv.Meeting {
			from := start.Add(time.Duration(hour) * time.Hour)
			return by.Book(t, testenv.Booking(from, from.Add(time.Duration(long)*time.Hour), rooms, fields))
		}
		both := book(alice, 0, 2, []int64{hall.ID, lab.ID}, with{"title": "@SUM(1)", "type_id": exam.ID, "fields": with{"cost_center": "Köln 4711", "budget": -5}})
		book(admin, 3, 1, []int64{hall.ID}, with{"title": "Takeover", "visibility": "private", "fields": with{"cost_center": "Köln 4711"}})
		book(alice, 4, 1, []int64{shed.ID}, with{"title": "Plain", "description": "About bees"})
		gone := book(alice, 6, 1, []int64{shed.ID}, with{"title": "Called off"})
		alice.Want(t, http.StatusOK, http.MethodPost, fmt.Sprintf("/meetings/%d/cancel", gone.ID), nil, nil)

		type sum struct {
			Room, Site, Type, Organizer *struct {
				ID   int64
				Name string
			}
			Title, Value string
			Meetings     int
			Seconds      int `json:"booked_seconds"`
		}
		type report struct {
			Total      sum
			Items      []sum
			NextCursor *string `json:"next_cursor"`
		}
		span := url.Values{"from": {start.Add(-time.Hour).Format(time.RFC3339)}, "to": {start.Add(10 * time.Hour).Format(time.RFC3339)}}.Encode()
		sums := func(by *testenv.Client, query string) (report, map[string]string) {
			t.Helper()
			var r report
			by.Want(t, http.StatusOK, http.MethodGet, "/reports/meetings?"+span+query, nil, &r)
			got := map[string]string{}
			for _, s := range r.Items {
				name := s.Title + s.Value
				for _, ref := range []*struct {
					ID   int64
					Name string
				}{s.Room, s.Type, s.Organizer} {
					if ref != nil {
						name += ref.Name
					}
				}
				if s.Site != nil && s.Room == nil {
					name += s.Site.Name
				}
				got[name] = fmt.Sprintf("%d %d", s.Meetings, s.Seconds/3600)
			}
			return r, got
		}
		const total = "3 6" // meetings and hours: two hours in two rooms, and an hour each in two others
		for _, c := range []struct {
			name  string
			by    *testenv.Client
			query string
			total string
			want  map[string]string
		}{
			{"by room", manager, "", total, map[string]string{"Hall": "2 3", "=Lab": "1 2", "Shed": "1 1"}},
			{"by site", manager, "&group=site", total, map[string]string{"Campus": "2 5", "": "1 1"}},
			{"by type", manager, "&group=type", total, map[string]string{"Exam": "1 4", "": "2 2"}},
			{"by organizer, one of them private", manager, "&group=organizer", total, map[string]string{"Alice": "2 5", "": "1 1"}},
			{"by organizer, for an admin", admin, "&group=organizer", total, map[string]string{"Alice": "2 5", admin.User.Name: "1 1"}},
			{"by title", manager, "&group=title", total, map[string]string{"@SUM(1)": "1 4", "Busy": "1 1", "Plain": "1 1"}},
			{"by field", manager, "&group=field&group_field=cost_center", total, map[string]string{"Köln 4711": "1 4", "": "2 2"}},
			{"by field, for an admin", admin, "&group=field&group_field=cost_center", total, map[string]string{"Köln 4711": "2 5", "": "1 1"}},
			{"by hidden field", manager, "&group=field&group_field=budget", total, map[string]string{"": "3 6"}},
			{"of a room", manager, fmt.Sprintf("&room_id=%d", lab.ID), "1 2", map[string]string{"=Lab": "1 2"}},
			{"of two rooms", manager, fmt.Sprintf("&room_id=%d&room_id=%d&group=site", lab.ID, shed.ID), "2 3", map[string]string{"Campus": "1 2", "": "1 1"}},
			{"of a site", manager, fmt.Sprintf("&site_id=%d&group=title", site.ID), "2 5", map[string]string{"@SUM(1)": "1 4", "Busy": "1 1"}},
			{"of a type", manager, fmt.Sprintf("&type_id=%d", exam.ID), "1 4", map[string]string{"Hall": "1 2", "=Lab": "1 2"}},
			{"of an organizer", manager, fmt.Sprintf("&organizer=%d&group=type", admin.User.ID), "0 0", map[string]string{}},
			{"of a status", manager, "&status=cancelled", "1 1", map[string]string{"Shed": "1 1"}},
			{"with a text", manager, "&q=BEES&group=title", "1 1", map[string]string{"Plain": "1 1"}},
			{"with a field", manager, "&field=cost_center:k%C3%B6ln&group=title", "1 4", map[string]string{"@SUM(1)": "1 4"}},
			{"with a hidden field", manager, "&field=budget:-5", "0 0", map[string]string{}},
			{"with a hidden field, for an admin", admin, "&field=budget:-5&group=title", "1 4", map[string]string{"@SUM(1)": "1 4"}},
		} {
			r, got := sums(c.by, c.query)
			if sum := fmt.Sprintf("%d %d", r.Total.Meetings, r.Total.Seconds/3600); sum != c.total || !maps.Equal(got, c.want) {
				t.Errorf("%s: %v of %s, want %v of %s", c.name, got, sum, c.want, c.total)
			}
		}
		first, _ := sums(manager, "&limit=2")
		if len(first.Items) != 2 || first.NextCursor == nil || first.Total.Meetings != 3 {
			t.Fatalf("a page: %+v", first)
		}
		if last, _ := sums(manager, "&limit=2&cursor="+*first.NextCursor); len(last.Items) != 1 || last.NextCursor != nil {
			t.Errorf("the last page: %+v", last)
		}
		// A meeting counts as far as it is within the span.
		var half report
		manager.Want(t, http.StatusOK, http.MethodGet, "/reports/meetings?"+url.Values{"from": {start.Add(90 * time.Minute).Format(time.RFC3339)}, "to": {start.Add(2 * time.Hour).Format(time.RFC3339)}}.Encode(), nil, &half)
		if half.Total.Meetings != 1 || half.Total.Seconds != 3600 {
			t.Errorf("half an hour in two rooms: %+v", half.Total)
		}

		table := func(by *testenv.Client, path string) (lines [][]string) {
			t.Helper()
			raw := by.Want(t, http.StatusOK, http.MethodGet, path, nil, nil)
			lines, err := csv.NewReader(strings.NewReader(string(raw.Body))).ReadAll()
			if err != nil || len(lines) == 0 {
				t.Fatalf("%s: %v\n%s", path, err, raw.Body)
			}
			return lines
		}
		lines := table(manager, "/reports/meetings?format=csv&"+span)
		if len(lines) != 5 || !slices.Equal(lines[0], []string{"room_id", "room", "site_id", "site", "meetings", "booked_seconds", "hours"}) ||
			lines[2][1] != "'=Lab" || !slices.Equal(lines[4], []string{"", "Total", "", "", "3", "21600", "6"}) {
			t.Errorf("sums as a table: %q", lines)
		}
		lines = table(admin, "/reports/meetings/list?"+span)
		if len(lines) != 4 {
			t.Fatalf("the meetings as a table: %q", lines)
		}
		cells := map[string]string{}
		for i, name := range lines[0] {
			cells[name] = lines[1][i]
		}
		berlin, err := time.LoadLocation("Europe/Berlin")
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]string{
			"id": strconv.FormatInt(both.ID, 10), "title": "'@SUM(1)", "room": "Hall, =Lab", "site": "Campus", "start": start.In(berlin).Format("2006-01-02 15:04"), "timezone": "Europe/Berlin",
			"hours": "4", "type": "Exam", "organizer": "Alice", "organizer_email": alice.User.Email, "status": "confirmed", "private": "no", "series_id": "",
			"cost_center": "Köln 4711", "budget": "-5",
		} {
			if cells[name] != want {
				t.Errorf("%s is %q, want %q", name, cells[name], want)
			}
		}
		for _, format := range []string{"csv", "ics"} {
			raw := manager.Want(t, http.StatusOK, http.MethodGet, "/reports/meetings/list?format="+format+"&"+span, nil, nil)
			if text := string(raw.Body); strings.Contains(text, "Takeover") || !strings.Contains(text, "Busy") || strings.Contains(text, ",-5") {
				t.Errorf("what a manager must not see, as %s: %s", format, text)
			}
		}
		raw := admin.Do(t, http.MethodGet, "/reports/meetings/list?status=cancelled,confirmed&"+span, nil, testenv.Header("Accept", "text/calendar"))
		cal, err := ics.ParseCalendar(strings.NewReader(string(raw.Body)))
		if err != nil || len(cal.Events()) != 4 || !strings.Contains(string(raw.Body), "STATUS:CANCELLED") {
			t.Errorf("as a calendar: %v\n%s", err, raw.Body)
		}

		alice.WantProblem(t, http.StatusForbidden, "forbidden", http.MethodGet, "/reports/meetings", nil)
		alice.WantProblem(t, http.StatusForbidden, "forbidden", http.MethodGet, "/reports/meetings/list", nil)
		for bad, location := range map[string]string{
			"group=field": "query.group_field", "group_field=budget": "query.group_field", "group=field&group_field=colour": "query.group_field", "field=budget": "query.field[0]",
			"field=colour:red": "query.field[0]", "status=over": "query.status", "organizer=x": "query.organizer", "from=2027-02-10T00:00:00Z&to=2028-02-12T00:00:00Z": "query.to", "cursor=x": "query.cursor",
		} {
			p := manager.WantProblem(t, http.StatusUnprocessableEntity, "invalid", http.MethodGet, "/reports/meetings?"+bad, nil)
			if len(p.Errors) != 1 || p.Errors[0].Location != location {
				t.Errorf("%s: %+v", bad, p.Errors)
			}
		}
	})
}
