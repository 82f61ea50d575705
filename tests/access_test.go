package tests

import (
	"bytes"
	"flag"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"punctual/tests/testenv"
)

var updateGolden = flag.Bool("update", false, "write golden files")

// A vault is an installation with a room that few may see, whose name has the marker, and with a room
// that everyone sees and in which few see what meetings are about. Their titles have the marker.
type vault struct {
	*affair // its meetings are those of the hidden room and of the quiet one, its room is the hidden one
	groups  map[string]int64
	quiet   testenv.Room
	open    testenv.Room

	viewer, reader, booker, approver *testenv.Client // members of the groups see, details, and book, and the approver of both rooms
	plan, fault, blackout            int64
	both                             testenv.Meeting // in the open room and the hidden one
	next                             int             // hours after start at which something can be booked
}

func newVault(t *testing.T, on setup) *vault {
	t.Helper()
	v := &vault{affair: &affair{mail: testenv.Mail(t)}, groups: map[string]int64{}}
	on.Mail = v.mail
	on.YAML += davOn + "public: { enabled: true }\n"
	v.server = testenv.Server(t, on.Config)
	v.admin = v.server.Admin(t)
	v.bob, v.mona = v.admin.NewUser(t, "Bob", "member"), v.admin.NewUser(t, "Mona", "manager") // strangers
	v.alice, v.viewer, v.reader, v.booker = v.admin.NewUser(t, "Alice", "member"), v.admin.NewUser(t, "Viola", "member"), v.admin.NewUser(t, "Rita", "member"), v.admin.NewUser(t, "Boris", "member")
	v.approver = v.admin.NewUser(t, "Vera", "manager")
	for name, members := range map[string][]*testenv.Client{"see": {v.viewer, v.alice}, "details": {v.reader}, "book": {v.booker}, "nobody": {}} {
		var made struct{ ID int64 }
		v.admin.Want(t, http.StatusCreated, http.MethodPost, "/groups", with{"name": name}, &made)
		v.groups[name] = made.ID
		for _, m := range members {
			v.member(t, m, name, true)
		}
	}
	var site struct{ ID int64 }
	v.admin.Want(t, http.StatusCreated, http.MethodPost, "/sites", with{"name": "Berlin"}, &site)
	v.site = site.ID
	of := func(names ...string) (ids []int64) {
		for _, n := range names {
			ids = append(ids, v.groups[n])
		}
		return ids
	}
	approved := with{"required": false, "approver_ids": []int64{v.approver.User.ID}}
	v.open = v.admin.NewRoom(t, "Open", with{"site_id": v.site, "capacity": 8})
	v.room = v.admin.NewRoom(t, "Vault "+marker, with{"site_id": v.site, "capacity": 8, "floor": "floor " + marker, "features": []string{marker}, "address": "vault-" + marker,
		"approval": approved, "access": with{"see": of("see"), "details": of("see", "details"), "book": of("see", "book")}})
	v.quiet = v.admin.NewRoom(t, "Quiet", with{"site_id": v.site, "capacity": 8, "approval": approved, "access": with{"details": of("details", "see")}})

	v.start = inSeconds(48 * 3600).Truncate(time.Hour)
	secret := with{"title": "Merger " + marker, "description": "all of " + marker, "attendees": []any{with{"email": "guest." + marker + "@example.net", "name": "Guest " + marker}}}
	book := func(rooms ...testenv.Room) testenv.Meeting {
		t.Helper()
		var ids []int64
		for _, r := range rooms {
			ids = append(ids, r.ID)
		}
		at := v.start.Add(time.Duration(v.next) * time.Hour)
		v.next += 2
		m := v.alice.Book(t, testenv.Booking(at, at.Add(time.Hour), ids, secret))
		v.meetings = append(v.meetings, m)
		return m
	}
	book(v.room)
	book(v.quiet)
	v.both = book(v.open, v.room)
	left := book(v.room) // moves to the open room: what it was before stays hidden
	v.alice.Want(t, http.StatusOK, http.MethodPatch, at("/meetings/%d", left.ID), with{"room_ids": []int64{v.open.ID}, "title": "Open day", "description": "", "attendees": []any{}}, nil)
	cancelled := book(v.room)
	v.alice.Want(t, http.StatusOK, http.MethodPost, at("/meetings/%d/cancel", cancelled.ID), with{"reason": "because of " + marker}, nil)
	var series seriesAnswer
	day := v.start.AddDate(0, 0, 2)
	v.alice.Want(t, http.StatusCreated, http.MethodPost, "/series", testenv.Booking(day, day.Add(time.Hour), []int64{v.room.ID}, secret, with{"timezone": "UTC", "rrule": "FREQ=DAILY;COUNT=3"}), &series)
	v.series = series.Series.ID
	for _, m := range series.Meetings {
		v.meetings = append(v.meetings, m.Meeting)
	}
	v.wait = join(t, v.alice, testenv.Booking(v.meetings[0].Start, v.meetings[0].End, []int64{v.room.ID}, secret)).ID
	var made struct{ ID int64 }
	v.admin.Want(t, http.StatusCreated, http.MethodPost, "/blackouts", with{"room_id": v.room.ID, "start": v.start.AddDate(0, 0, 1), "end": v.start.AddDate(0, 0, 1).Add(time.Hour), "reason": "closed " + marker}, &made)
	v.blackout = made.ID
	v.viewer.Want(t, http.StatusCreated, http.MethodPost, "/fault-reports", with{"room_id": v.room.ID, "category": "other", "text": "broken " + marker}, &made)
	v.fault = made.ID
	v.admin.Want(t, http.StatusOK, http.MethodPut, at("/rooms/%d/photo", v.room.ID), with{"image": picture(t, 100, 100)}, nil)
	v.admin.Want(t, http.StatusCreated, http.MethodPost, "/floor-plans", with{"site_id": v.site, "image": picture(t, 100, 100), "rooms": []any{
		with{"room_id": v.room.ID, "x": 0.5, "y": 0.5}, with{"room_id": v.open.ID, "x": 0.7, "y": 0.5}}}, &made)
	v.plan = made.ID
	v.admin.Want(t, http.StatusOK, http.MethodPut, "/public-access", with{"site_id": v.site, "show": "titles"}, nil)
	v.admin.Want(t, http.StatusCreated, http.MethodPost, "/types", with{"name": "Type " + marker, "room_ids": []int64{v.room.ID}}, nil)
	return v
}

// member adds a user to a group, or removes them.
func (v *vault) member(t *testing.T, c *testenv.Client, group string, is bool) {
	t.Helper()
	method := http.MethodPut
	if !is {
		method = http.MethodDelete
	}
	v.admin.Want(t, http.StatusNoContent, method, at("/groups/%d/members/%d", v.groups[group], c.User.ID), nil, nil)
}

// TestAccess_nothingLeaks walks all operations of the description as strangers, with every small ID
// filled in: they learn neither that the hidden room exists nor what meets in the quiet one. So it is in
// streams, calendars, the public calendar, mails and the log.
func TestAccess_nothingLeaks(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		v := newVault(t, on)
		d := describe(t, v.server)
		heard := listen(t, v.bob, "", "?after=0")
		answered := map[string]bool{}
		id := fmt.Sprintf(`"room_id":%d`, v.room.ID)
		for _, c := range []*testenv.Client{v.bob, v.mona, narrow(t, v.viewer, "users:read")} {
			for _, op := range d.operations() {
				if op.streams() || slices.Contains([]string{"logout", "delete-my-session", "list-my-sessions"}, op.ID) {
					continue
				}
				most := 1
				switch {
				case strings.HasPrefix(op.path, "/meetings/{"):
					most = int(v.meetings[len(v.meetings)-1].ID) + 1
				case strings.Contains(op.path, "{"):
					most = 6
				}
				for n := 1; n <= most; n++ {
					queries, body := []string{""}, any(nil)
					if op.method == http.MethodGet {
						queries = v.queries(op)
					} else {
						body = v.body(d, op)
					}
					for _, query := range queries {
						res := c.Do(t, op.method, op.at(n)+query, body)
						answered[op.ID] = answered[op.ID] || res.Status < 300
						if res.Status >= 500 || res.Status == http.StatusUnauthorized {
							t.Errorf("%s %s by %s: %d %s", op.method, op.at(n)+query, c.User.Name, res.Status, res.Body)
						}
						if told := tells(fmt.Appendf(res.Body, "\n%v", res.Header)); told != "" {
							t.Errorf("%s %s tells %s: %d %s", op.method, op.at(n)+query, c.User.Name, res.Status, told)
						}
						if op.method == http.MethodGet && bytes.Contains(res.Body, []byte(id)) {
							t.Errorf("%s %s names the room to %s: %s", op.method, op.at(n)+query, c.User.Name, res.Body)
						}
					}
				}
			}
		}
		for _, id := range []string{"list-meetings", "get-meeting", "grid", "list-blackouts", "room-availability", "room-suggestions", "room-free-busy", "room-days", "list-rooms",
			"meeting-history", "report-utilisation", "list-floor-plans", "list-fault-reports", "list-types", "list-my-rooms", "public-meetings"} {
			if !answered[id] {
				t.Errorf("%s was never answered: the walk walks nowhere", id)
			}
		}
		v.refuses(t)
		for _, of := range []with{{"room_id": v.quiet.ID}, {"room_id": v.open.ID}, {"private_titles": true}} {
			var made struct{ URL string }
			v.bob.Want(t, http.StatusCreated, http.MethodPost, "/me/feeds", of, &made)
			if status, body, _ := visit(t, made.URL); status != http.StatusOK || tells([]byte(strings.ReplaceAll(body, "\r\n ", ""))) != "" {
				t.Errorf("the feed of %v: %d %s", of, status, body)
			}
		}

		eventually(t, time.Now().Add(slack), "the stream goes on", func() bool { return len(heard.all()) > 3 })
		for _, e := range heard.all() {
			if told := tells([]byte(e.raw)); told != "" || strings.Contains(e.raw, fmt.Sprintf(`"room_ids":[%d`, v.room.ID)) {
				t.Errorf("a stranger hears %s", e.raw)
			}
		}
		for _, path := range []string{"/public", at("/public/sites/%d", v.site), at("/public/rooms/%d", v.quiet.ID), at("/public/rooms/%d", v.room.ID),
			"/api/v1/public/rooms", "/api/v1/public/meetings?from=" + v.start.Format(time.RFC3339) + "&to=" + v.start.AddDate(0, 0, 5).Format(time.RFC3339)} {
			if _, body, _ := visit(t, v.server.URL+path+""); tells([]byte(body)) != "" {
				t.Errorf("%s tells %s", path, tells([]byte(body)))
			}
		}
		for _, m := range v.mail.Messages() {
			to := strings.ToLower(strings.Join(m.To, ","))
			if told := tells([]byte(m.Subject() + m.Part("text/plain") + m.Part("text/calendar"))); told != "" && !strings.Contains(to, marker) && !strings.Contains(to, "alice") {
				t.Errorf("%s gets a mail: %s", to, told)
			}
		}
		for _, line := range strings.Split(v.server.Log(), "\n") {
			if tells([]byte(line)) != "" {
				t.Errorf("the log tells: %s", line)
			}
		}

		// Who may see it does.
		for _, c := range []*testenv.Client{v.admin, v.alice, v.viewer, v.approver} {
			for _, path := range []string{at("/rooms/%d", v.room.ID), at("/meetings/%d", v.meetings[0].ID), at("/meetings/%d", v.meetings[1].ID), at("/meetings/%d", v.both.ID), "/rooms",
				at("/blackouts/%d", v.blackout), at("/fault-reports/%d", v.fault), "/meetings?q=" + marker} {
				if res := c.Want(t, http.StatusOK, http.MethodGet, path, nil, nil); tells(res.Body) == "" {
					t.Errorf("%s does not see %s: %s", c.User.Name, path, res.Body)
				}
			}
		}
		guest := v.admin.NewUser(t, "Guest", "member", with{"email": "guest." + marker + "@example.net"})
		if res := guest.Want(t, http.StatusOK, http.MethodGet, at("/meetings/%d", v.meetings[0].ID), nil, nil); !strings.Contains(string(res.Body), "Vault") {
			t.Errorf("who is invited does not learn where: %s", res.Body)
		}
		guest.WantProblem(t, http.StatusNotFound, "not_found", http.MethodGet, at("/rooms/%d", v.room.ID), nil)
	})
}

// refuses: a hidden room is refused like one that does not exist.
func (v *vault) refuses(t *testing.T) {
	t.Helper()
	his := v.bob.Book(t, testenv.Booking(v.start.AddDate(0, 0, 30), v.start.AddDate(0, 0, 30).Add(time.Hour), []int64{v.open.ID}))
	const unknown = 4711
	same := func(method, path string, body func(room int64) any) {
		t.Helper()
		hidden, none := v.bob.Do(t, method, strings.ReplaceAll(path, "{room}", fmt.Sprint(v.room.ID)), body(v.room.ID)), v.bob.Do(t, method, strings.ReplaceAll(path, "{room}", fmt.Sprint(unknown)), body(unknown))
		a := strings.ReplaceAll(string(hidden.Body), fmt.Sprint(v.room.ID), "N")
		b := strings.ReplaceAll(strings.ReplaceAll(string(none.Body), fmt.Sprint(unknown), "N"), fmt.Sprint(v.room.ID), "N")
		if hidden.Status != none.Status || a != b {
			t.Errorf("%s %s of the hidden room: %d %s, of none: %d %s", method, path, hidden.Status, hidden.Body, none.Status, none.Body)
		}
	}
	start, end := v.start.AddDate(0, 0, 40), v.start.AddDate(0, 0, 40).Add(time.Hour)
	booking := func(room int64) any { return testenv.Booking(start, end, []int64{room}) }
	weekly := func(room int64) any {
		return testenv.Booking(start, end, []int64{room}, with{"timezone": "UTC", "rrule": "FREQ=WEEKLY;COUNT=3"})
	}
	nothing := func(int64) any { return nil }
	same(http.MethodPost, "/meetings", booking)
	same(http.MethodPost, "/waitlist", booking)
	same(http.MethodPost, "/series", weekly)
	same(http.MethodPost, "/series/preview", weekly)
	same(http.MethodPatch, at("/meetings/%d", his.ID), func(room int64) any { return with{"room_ids": []int64{room}} })
	same(http.MethodPost, "/fault-reports", func(room int64) any { return with{"room_id": room, "category": "temperature"} })
	same(http.MethodPost, "/me/feeds", func(room int64) any { return with{"room_id": room} })
	same(http.MethodPut, "/me/favorites/{room}", nothing)
	for _, path := range []string{"/rooms/{room}", "/rooms/{room}/photo", "/rooms/{room}/free-busy", "/meetings?room_id={room}", "/blackouts?room_id={room}", "/fault-reports?room_id={room}",
		"/occupancy?from=2027-02-01&room_id={room}", "/availability?start=" + start.Format(time.RFC3339) + "&end=" + end.Format(time.RFC3339) + "&room_id={room}"} {
		same(http.MethodGet, path, nothing)
	}

	dav := newDavUser(t, v.bob, "bob@example.org")
	for _, path := range []string{at("/dav/calendars/rooms/%d/meetings/", v.room.ID), at("/dav/principals/rooms/%d/", v.room.ID), at("/dav/calendars/rooms/%d/meetings/meeting-%d.ics", v.room.ID, v.meetings[0].ID)} {
		dav.want(t, http.StatusNotFound, "PROPFIND", path, "", "Depth", "0")
	}
	_, text := dav.want(t, http.StatusMultiStatus, "REPORT", "/dav/principals/", `<principal-property-search xmlns="DAV:"><property-search><prop><displayname/></prop><match>u</match></property-search><prop><displayname/></prop></principal-property-search>`)
	if tells([]byte(text)) != "" || !strings.Contains(text, "Quiet") {
		t.Errorf("the search finds %s", text)
	}
	_, text = dav.want(t, http.StatusMultiStatus, "REPORT", at("/dav/calendars/rooms/%d/meetings/", v.quiet.ID),
		`<c:calendar-query xmlns="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav"><prop><c:calendar-data/></prop><c:filter><c:comp-filter name="VCALENDAR"/></c:filter></c:calendar-query>`)
	if tells([]byte(text)) != "" || !strings.Contains(text, "SUMMARY:Busy") {
		t.Errorf("the calendar of the quiet room has %s", text)
	}
}

// Rights are those of now: a change of groups ends streams, and a change of access changes what a stream, a grid,
// a feed and a calendar show.
func TestAccess_changes(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		v := newVault(t, on)
		v.admin.Want(t, http.StatusOK, http.MethodPatch, at("/rooms/%d", v.quiet.ID), with{"access": with{}}, nil)
		dav := newDavUser(t, v.bob, "bob@example.org")
		calendar := at("/dav/calendars/rooms/%d/meetings/", v.quiet.ID)
		before, token := dav.changes(t, calendar, "")
		grid := "/grid?" + at("room_id=%d&from=%s&to=%s", v.quiet.ID, v.start.Format(time.DateOnly), v.start.AddDate(0, 0, 2).Format(time.DateOnly))
		first := v.bob.Want(t, http.StatusOK, http.MethodGet, grid, nil, nil)
		var feed struct{ URL string }
		v.viewer.Want(t, http.StatusCreated, http.MethodPost, "/me/feeds", with{"room_id": v.room.ID}, &feed)
		v.viewer.Want(t, http.StatusNoContent, http.MethodPut, at("/me/favorites/%d", v.room.ID), nil, nil)
		if status, body, _ := visit(t, feed.URL); status != http.StatusOK || tells([]byte(body)) == "" {
			t.Errorf("the feed of who sees the room: %d %s", status, body)
		}
		if tells(first.Body) == "" || len(before) == 0 {
			t.Fatalf("before: %s, %v", first.Body, before)
		}
		heard := listen(t, v.viewer, "", "")

		v.admin.Want(t, http.StatusOK, http.MethodPatch, at("/rooms/%d", v.quiet.ID), with{"access": with{"details": []int64{v.groups["nobody"]}}}, nil)
		res := v.bob.Want(t, http.StatusOK, http.MethodGet, grid, nil, nil, testenv.Header("If-None-Match", first.Header.Get("ETag")))
		if tells(res.Body) != "" || !strings.Contains(string(res.Body), "Busy") {
			t.Errorf("the grid tells %s", res.Body)
		}
		if after, _ := dav.changes(t, calendar, token); len(after) != len(before) {
			t.Errorf("a calendar program learns of %v, and knew %v", after, before)
		}

		v.member(t, v.viewer, "see", false)
		eventually(t, time.Now().Add(slack), "the stream ends", func() bool {
			select {
			case <-heard.ended:
				return true
			default:
				return false
			}
		})
		if status, body, _ := visit(t, feed.URL); status != http.StatusNotFound || tells([]byte(body)) != "" {
			t.Errorf("the feed of who saw the room: %d %s", status, body)
		}
		var mine struct{ Favorites []int64 }
		v.viewer.Want(t, http.StatusOK, http.MethodGet, "/me/rooms", nil, &mine)
		if len(mine.Favorites) != 0 {
			t.Errorf("favorites: %v", mine.Favorites)
		}
		v.viewer.WantProblem(t, http.StatusNotFound, "not_found", http.MethodGet, at("/meetings/%d", v.meetings[0].ID), nil)
		var feeds struct {
			Items []struct{ Room *struct{ Name string } }
		}
		v.viewer.Want(t, http.StatusOK, http.MethodGet, "/me/feeds", nil, &feeds)
		if len(feeds.Items) != 1 || feeds.Items[0].Room.Name != "" {
			t.Errorf("feeds: %+v", feeds)
		}

		// A meeting that moves into the hidden room leaves the view of strangers.
		strangers := listen(t, v.bob, "", "")
		v.alice.Want(t, http.StatusOK, http.MethodPatch, at("/meetings/%d", v.meetings[1].ID), with{"room_ids": []int64{v.room.ID}}, nil)
		eventually(t, time.Now().Add(slack), "strangers hear that it left", func() bool {
			return slices.ContainsFunc(strangers.all(), func(e event) bool {
				return e.name == "meeting.changed" && strings.Contains(e.raw, fmt.Sprintf(`"left_room_ids":[%d]`, v.quiet.ID)) && strings.Contains(e.raw, `"room_ids":[]`)
			})
		})

		// The site's rules hold for rooms without their own, and those of a deleted room for what took place there.
		v.admin.Want(t, http.StatusOK, http.MethodPatch, at("/rooms/%d", v.open.ID), with{"access": nil}, nil)
		v.admin.Want(t, http.StatusOK, http.MethodPatch, at("/sites/%d", v.site), with{"access": with{"see": []int64{v.groups["see"]}}}, nil)
		v.bob.WantProblem(t, http.StatusNotFound, "not_found", http.MethodGet, at("/rooms/%d", v.open.ID), nil)
		v.alice.Want(t, http.StatusOK, http.MethodGet, at("/rooms/%d", v.open.ID), nil, nil)
	})
}

// TestAccess_table: what each operation on a room, its meetings and what belongs to it answers to whom. It
// changes nothing: what would be allowed is refused for its version or for what it lacks.
func TestAccess_table(t *testing.T) {
	v := newVault(t, setup{})
	d := describe(t, v.server)
	objects := []struct {
		prefix string
		name   string
		id     int64
	}{
		{"/rooms/{", "hidden", v.room.ID}, {"/rooms/{", "quiet", v.quiet.ID}, {"/me/favorites/{", "hidden", v.room.ID},
		{"/meetings/{", "in hidden", v.meetings[0].ID}, {"/meetings/{", "in quiet", v.meetings[1].ID}, {"/meetings/{", "in both", v.both.ID},
		{"/series/{", "in hidden", v.series}, {"/waitlist/{", "for hidden", v.wait}, {"/blackouts/{", "of hidden", v.blackout},
		{"/fault-reports/{", "on hidden", v.fault}, {"/floor-plans/{", "with hidden", v.plan}, {"/types/{", "of hidden", 1},
	}
	callers := []*testenv.Client{v.bob, v.mona, v.viewer, v.reader, v.booker, v.alice, v.approver, v.admin}
	var b strings.Builder
	fmt.Fprintf(&b, "%-24s %-12s %s\n", "operation", "object", "stranger manager see details book organizer approver admin")
	ops := d.operations()
	slices.SortFunc(ops, func(x, y *operation) int { return strings.Compare(x.ID, y.ID) })
	for _, op := range ops {
		for _, o := range objects {
			if !strings.HasPrefix(op.path, o.prefix) || op.ID == "room-calendar" { // by its token
				continue
			}
			fmt.Fprintf(&b, "%-24s %-12s", op.ID, o.name)
			for _, c := range callers {
				var body any
				switch {
				case strings.HasPrefix(op.ID, "respond-"):
					body = with{"response": "accepted"}
				case op.ID == "add-series-date":
					body = with{"original_start": v.start.AddDate(0, 0, 9)}
				case op.ID == "extend-meeting":
					body = with{"end": v.start.AddDate(0, 0, 9)}
				case op.ID == "set-room-photo":
					body = with{"image": []byte("no picture")}
				case op.RequestBody != nil:
					body = with{}
				}
				res := c.Do(t, op.method, op.at(o.id), body, testenv.Header("If-Match", `"999999"`))
				fmt.Fprintf(&b, " %d", res.Status)
			}
			b.WriteString("\n")
		}
	}
	const golden = "testdata/access.golden"
	if *updateGolden {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("the table changed (-want +got); if it is meant so, run with -update:\n%s", diff)
	}
}
