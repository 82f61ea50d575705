package tests

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	ics "github.com/arran4/golang-ical"

	"punctual/tests/testenv"
)

// feed is an address at which a calendar reads, as the API tells of a new one.
type feed struct {
	ID    int64  `json:"id"`
	Name  string `json:"name"`
	Token string `json:"token"`
	URL   string `json:"url"`
}

// read fetches a calendar as a program would, without signing in.
func (f feed) read(t *testing.T, c *testenv.Client, known string) (status int, etag string, cal *ics.Calendar) {
	t.Helper()
	u, err := url.Parse(f.URL)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequest(http.MethodGet, c.Base+u.Path+"?"+u.RawQuery, nil)
	if err != nil {
		t.Fatal(err)
	}
	if known != "" {
		req.Header.Set("If-None-Match", known)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return res.StatusCode, res.Header.Get("ETag"), nil
	}
	if kind := res.Header.Get("Content-Type"); !strings.HasPrefix(kind, "text/calendar") {
		t.Errorf("a calendar of the type %s", kind)
	}
	if cal, err = ics.ParseCalendar(res.Body); err != nil {
		t.Fatalf("the calendar cannot be read: %v", err)
	}
	return res.StatusCode, res.Header.Get("ETag"), cal
}

// titles of the events with their starts.
func titles(t *testing.T, cal *ics.Calendar) map[string][]time.Time {
	t.Helper()
	found := map[string][]time.Time{}
	for _, e := range cal.Events() {
		start, err := e.GetStartAt()
		if err != nil {
			t.Fatalf("%s: %v", e.Id(), err)
		}
		title := e.GetProperty(ics.ComponentPropertySummary).Value
		found[title] = append(found[title], start.UTC())
	}
	return found
}

// TestCalendar: a program reads somebody's meetings, and those of a room, by an address that can
// be ended; of private meetings it learns nothing but the time.
func TestCalendar(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		server := testenv.Server(t, on.Config)
		admin := server.Admin(t)
		alice, bob := admin.NewUser(t, "Alice", "member"), admin.NewUser(t, "Bob", "member")
		room := admin.NewRoom(t, "Turing", with{"timezone": "Europe/Berlin"})
		berlin, err := time.LoadLocation("Europe/Berlin")
		if err != nil {
			t.Fatal(err)
		}
		day := time.Now().In(berlin).AddDate(0, 0, 3)
		start := time.Date(day.Year(), day.Month(), day.Day(), 9, 0, 0, 0, berlin)
		invited := with{"attendees": []any{with{"email": "bob@example.org"}}}
		book := func(c *testenv.Client, hour int, title string, more ...map[string]any) testenv.Meeting {
			t.Helper()
			at := start.Add(time.Duration(hour) * time.Hour)
			return c.Book(t, testenv.Booking(at, at.Add(time.Hour), []int64{room.ID}, append(more, with{"title": title})...))
		}
		open := book(alice, 0, "Review; all, of it", invited)
		book(alice, 2, "Salaries", invited, with{"visibility": "private"})
		declined := book(alice, 4, "Not for Bob", invited)
		bob.Want(t, http.StatusOK, http.MethodPost, at("/meetings/%d/respond", declined.ID), with{"response": "declined"}, nil)
		cancel(t, alice, book(alice, 6, "Called off", invited).ID)
		weekly := testenv.Booking(start.Add(8*time.Hour), start.Add(9*time.Hour), []int64{room.ID}, invited,
			with{"title": "Weekly", "rrule": "FREQ=WEEKLY;COUNT=30", "timezone": "Europe/Berlin"}) // over a change of the clocks
		var series struct{ Meetings []testenv.Meeting }
		alice.Want(t, http.StatusCreated, http.MethodPost, "/series", weekly, &series)

		var mine, plain, ofRoom feed
		res := bob.Want(t, http.StatusCreated, http.MethodPost, "/me/feeds", with{"name": "Phone"}, &mine)
		bob.Want(t, http.StatusCreated, http.MethodPost, "/me/feeds", with{"private_titles": true}, &plain)
		bob.Want(t, http.StatusCreated, http.MethodPost, "/me/feeds", with{"name": "Door", "room_id": room.ID}, &ofRoom)
		if mine.Token == "" || !strings.HasSuffix(mine.URL, "/api/v1/me/calendar.ics?token="+mine.Token) || res.Header.Get("Location") != at("/api/v1/me/feeds/%d", mine.ID) || res.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("made %+v, %v", mine, res.Header)
		}
		for _, bad := range []with{{"room_id": 999}, {"room_id": room.ID, "private_titles": true}, {"name": strings.Repeat("x", 300)}, {"colour": 1}} {
			bob.WantProblem(t, http.StatusUnprocessableEntity, "invalid", http.MethodPost, "/me/feeds", bad)
		}

		_, tag, cal := mine.read(t, bob, "")
		if res := server.Anonymous().Do(t, http.MethodHead, mine.URL, nil); res.Status != http.StatusOK || res.Header.Get("ETag") != strings.TrimPrefix(tag, "W/") || len(res.Body) != 0 {
			t.Errorf("HEAD: %d %v %q, want the tag %s", res.Status, res.Header, res.Body, tag)
		}
		for path, status := range map[string]int{"/me/calendar.ics?token=x": 404, "/rooms": 200, "/rooms/999": 404, "/events": 405} {
			if res := bob.Do(t, http.MethodHead, path, nil); res.Status != status || len(res.Body) != 0 {
				t.Errorf("HEAD %s: %d, want %d", path, res.Status, status)
			}
		}
		got := titles(t, cal)
		if len(got["Review; all, of it"]) != 1 || !got["Review; all, of it"][0].Equal(open.Start) || len(got["Busy"]) != 1 || len(got["Weekly"]) != len(series.Meetings) || len(got) != 3 {
			t.Errorf("bob's calendar: %v", got)
		}
		for i, m := range series.Meetings {
			if !got["Weekly"][i].Equal(m.Start) {
				t.Errorf("date %d at %v, want %v", i, got["Weekly"][i], m.Start)
			}
		}
		ids := map[string]bool{}
		for _, e := range cal.Events() {
			ids[e.Id()] = true
			if e.GetProperty(ics.ComponentPropertySummary).Value == "Busy" && (e.GetProperty(ics.ComponentPropertyOrganizer) != nil || e.GetProperty(ics.ComponentPropertyDescription) != nil) {
				t.Errorf("a private meeting tells: %s", e.Serialize(&ics.SerializationConfiguration{MaxLength: 75, NewLine: "\n"}))
			}
		}
		if len(ids) != len(cal.Events()) {
			t.Error("two events have one UID")
		}
		if zones := cal.Timezones(); len(zones) != 1 || zones[0].GetProperty(ics.ComponentPropertyTzid).Value != "Europe/Berlin" || len(zones[0].Components) < 2 {
			t.Errorf("zones: %+v", zones)
		}
		if _, _, cal := plain.read(t, bob, ""); len(titles(t, cal)["Salaries"]) != 1 {
			t.Errorf("with private titles: %v", titles(t, cal))
		}
		_, _, cal = ofRoom.read(t, bob, "")
		if got := titles(t, cal); len(got["Busy"]) != 1 || len(got["Not for Bob"]) != 1 || len(got["Salaries"]) != 0 {
			t.Errorf("the room's calendar: %v", got)
		}

		// What has not changed is not told again.
		if status, same, _ := mine.read(t, bob, tag); status != http.StatusNotModified || strings.TrimPrefix(same, "W/") != strings.TrimPrefix(tag, "W/") { // weak where the answer was compressed
			t.Errorf("asked again: %d, %s", status, same)
		}
		alice.Want(t, http.StatusOK, http.MethodPatch, at("/meetings/%d", open.ID), with{"title": "Renamed"}, nil)
		status, other, cal := mine.read(t, bob, tag)
		if status != http.StatusOK || other == tag || len(titles(t, cal)["Renamed"]) != 1 {
			t.Errorf("after a change: %d, %s", status, other)
		}

		// A token is for its calendar alone, and for as long as it stands.
		for _, wrong := range []feed{
			{URL: strings.Replace(mine.URL, "/me/", at("/rooms/%d/", room.ID), 1)}, {URL: strings.Replace(ofRoom.URL, at("/rooms/%d/", room.ID), "/me/", 1)},
			{URL: mine.URL[:len(mine.URL)-2] + "xx"}, {URL: strings.Split(mine.URL, "?")[0] + "?token="}, {URL: strings.Split(mine.URL, "?")[0] + "?token=" + bob.Token},
		} {
			if status, _, _ := wrong.read(t, bob, ""); status != http.StatusNotFound {
				t.Errorf("%s: %d", wrong.URL, status)
			}
		}
		byFeed := &testenv.Client{Base: bob.Base, Token: mine.Token}
		byFeed.WantProblem(t, http.StatusUnauthorized, "unauthorized", http.MethodGet, "/me", nil)
		if feeds := testenv.All[feed](t, bob, "/me/feeds"); len(feeds) != 3 || feeds[0].Name != "Phone" || feeds[0].Token != "" {
			t.Errorf("bob's feeds: %+v", feeds)
		}
		alice.WantProblem(t, http.StatusNotFound, "not_found", http.MethodDelete, at("/me/feeds/%d", mine.ID), nil)
		bob.Want(t, http.StatusNoContent, http.MethodDelete, at("/me/feeds/%d", mine.ID), nil, nil)
		if status, _, _ := mine.read(t, bob, ""); status != http.StatusNotFound {
			t.Errorf("an address that was ended: %d", status)
		}
		ofBob := at("/users/%d/feeds", bob.User.ID)
		alice.WantProblem(t, http.StatusForbidden, "forbidden", http.MethodGet, ofBob, nil)
		if feeds := testenv.All[feed](t, admin, ofBob); len(feeds) != 2 || feeds[0].Token != "" || feeds[1].Name != "Door" {
			t.Errorf("bob's feeds, for an admin: %+v", feeds)
		}
		admin.WantProblem(t, http.StatusNotFound, "not_found", http.MethodDelete, at("/users/%d/feeds/%d", alice.User.ID, ofRoom.ID), nil)
		admin.Want(t, http.StatusNoContent, http.MethodDelete, at("%s/%d", ofBob, ofRoom.ID), nil, nil)
		if status, _, _ := ofRoom.read(t, bob, ""); status != http.StatusNotFound {
			t.Errorf("an address that an admin ended: %d", status)
		}
		admin.Want(t, http.StatusOK, http.MethodPatch, at("/users/%d", bob.User.ID), with{"disabled": true}, nil)
		if status, _, _ := plain.read(t, bob, ""); status != http.StatusNotFound {
			t.Errorf("of somebody who is disabled: %d", status)
		}
	})
}
