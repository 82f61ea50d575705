package tests

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"punctual/tests/testenv"
)

// visit reads a page without signing in.
func visit(t *testing.T, url string, header ...string) (status int, body string, h http.Header) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(b), res.Header
}

// TestPublicCalendar: everybody sees the rooms that admins chose, with as much as they chose, and nobody
// sees people, private titles, requests or other rooms.
func TestPublicCalendar(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		on.YAML += "public: { enabled: true, frame_origins: [ 'https://intranet.example.org' ] }\n"
		server := testenv.Server(t, on.Config)
		admin := server.Admin(t)
		alice := admin.NewUser(t, "Alice", "member", with{"email": "alice." + marker + "@example.org", "name": "Alice " + marker})
		var site struct{ ID int64 }
		admin.Want(t, http.StatusCreated, http.MethodPost, "/sites", with{"name": "Campus", "timezone": "Asia/Tokyo"}, &site)
		hall, lab := admin.NewRoom(t, "Hall", with{"site_id": site.ID}), admin.NewRoom(t, "Lab", with{"site_id": site.ID})
		hidden := admin.NewRoom(t, "Hidden"+marker, with{"site_id": site.ID})
		other := admin.NewRoom(t, "Other"+marker)
		guarded := admin.NewRoom(t, "Guarded", with{"site_id": site.ID, "approval": with{"required": true}})
		// The day after tomorrow at 10:00 in Tokyo.
		start := inSeconds(0).UTC().Truncate(24*time.Hour).AddDate(0, 0, 2).Add(time.Hour)
		day := start.Add(9 * time.Hour).Format(time.DateOnly)
		book := func(room testenv.Room, hours int, fields ...with) testenv.Meeting {
			at := start.Add(time.Duration(hours) * time.Hour)
			return alice.Book(t, testenv.Booking(at, at.Add(time.Hour), []int64{room.ID}, append([]with{{"description": "what " + marker,
				"attendees": []any{with{"email": "guest." + marker + "@example.net"}}}}, fields...)...))
		}
		book(hall, 0, with{"title": "Open lecture <b>"})
		book(hall, 2, with{"title": "Layoffs " + marker, "visibility": "private"})
		book(lab, 0, with{"title": "Experiment " + marker})
		book(hidden, 0, with{"title": "Secret " + marker})
		book(other, 0, with{"title": "Elsewhere " + marker})
		book(guarded, 0, with{"title": "Request " + marker})
		gone := book(hall, 4, with{"title": "Gone " + marker})
		alice.Want(t, http.StatusOK, http.MethodPost, at("/meetings/%d/cancel", gone.ID), with{}, nil)

		query := "?from=" + start.Format(time.RFC3339) + "&to=" + start.AddDate(0, 0, 1).Format(time.RFC3339)
		if status, body, _ := visit(t, server.URL+"/api/v1/public/rooms"); status != http.StatusOK || !strings.Contains(body, `"items":[]`) {
			t.Errorf("before anything is chosen: %d %s", status, body)
		}
		alice.WantProblem(t, http.StatusForbidden, "forbidden", http.MethodPut, "/public-access", with{"site_id": site.ID, "show": "busy"})
		admin.WantProblem(t, http.StatusUnprocessableEntity, "invalid", http.MethodPut, "/public-access", with{"site_id": 4711, "show": "busy"})
		admin.WantProblem(t, http.StatusUnprocessableEntity, "invalid", http.MethodPut, "/public-access", with{"room_id": hall.ID, "show": "all"})
		for _, choice := range []with{{"site_id": site.ID, "show": "busy"}, {"room_id": hall.ID, "show": "titles"}, {"room_id": hidden.ID, "show": "off"}} {
			admin.Want(t, http.StatusOK, http.MethodPut, "/public-access", choice, nil)
		}
		status, body, header := visit(t, server.URL+"/api/v1/public/meetings"+query)
		if status != http.StatusOK || header.Get("Cache-Control") != "public, max-age=60" || strings.Count(body, `"room_id"`) != 3 ||
			strings.Count(body, `"title":null`) != 2 || !strings.Contains(body, "Open lecture") || tells([]byte(body)) != "" {
			t.Errorf("meetings: %d %v %s", status, header, body)
		}
		for _, path := range []string{"/public?date=" + day, "/public/sites/1?view=week&date=" + day, at("/public/rooms/%d?date=%s", hall.ID, day)} {
			status, body, header := visit(t, server.URL+path, "Accept-Language", "de-DE,de;q=0.9")
			if status != http.StatusOK || !strings.Contains(body, "Open lecture &lt;b&gt;") || !strings.Contains(body, "10:00–11:00") || !strings.Contains(body, "Belegt") ||
				!strings.Contains(header.Get("Content-Security-Policy"), "frame-ancestors https://intranet.example.org") || tells([]byte(body)) != "" {
				t.Errorf("%s: %d %v %s", path, status, header, body)
			}
		}
		for path, want := range map[string]int{
			at("/public/rooms/%d", hidden.ID): http.StatusNotFound, at("/public/rooms/%d", other.ID): http.StatusNotFound, "/public/rooms/x": http.StatusNotFound,
			"/public/sites/4711": http.StatusNotFound, "/public?date=2999-01-01": http.StatusNotFound,
			at("/api/v1/public/rooms?room_id=%d", hidden.ID):                            http.StatusNotFound,
			"/api/v1/public/meetings?from=2027-01-01T00:00:00Z&to=2027-02-01T00:00:00Z": http.StatusUnprocessableEntity,
		} {
			if status, body, _ := visit(t, server.URL+path); status != want || tells([]byte(body)) != "" {
				t.Errorf("%s: %d, want %d: %s", path, status, want, body)
			}
		}
		admin.Want(t, http.StatusOK, http.MethodPut, "/public-access", with{"room_id": hall.ID, "show": nil}, nil)
		if _, body, _ := visit(t, server.URL+"/public?date="+day); strings.Contains(body, "Open lecture") {
			t.Error("the room follows its site, and shows titles")
		}
	})
}

func TestPublicCalendar_off(t *testing.T) {
	t.Parallel()
	server := testenv.Server(t, testenv.Config{Database: testenv.SQLite(t)})
	admin := server.Admin(t)
	room := admin.NewRoom(t, "Hall")
	admin.Want(t, http.StatusOK, http.MethodPut, "/public-access", with{"room_id": room.ID, "show": "titles"}, nil)
	for _, path := range []string{"/public", at("/public/rooms/%d", room.ID), "/api/v1/public/rooms", "/api/v1/public/meetings?from=2027-01-01T00:00:00Z&to=2027-01-02T00:00:00Z"} {
		if status, body, header := visit(t, server.URL+path); status != http.StatusNotFound || strings.Contains(body, "Hall") || !strings.Contains(header.Get("Content-Security-Policy"), "frame-ancestors 'none'") {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
}
