package tests

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"punctual/tests/testenv"
)

// marker is in all that private meetings hide: titles, names, addresses, telephone numbers, what was said.
const marker = "hush98zq"

// carlsNumber is in carl's account. He and admins see it, nobody else.
const carlsNumber = "307654321"

// tells is the part of something that has the marker in it; empty: it has not.
func tells(body []byte) string {
	i := bytes.Index(bytes.ToLower(body), []byte(marker))
	if i < 0 {
		return ""
	}
	return string(body[max(0, i-200):min(len(body), i+60)])
}

// An affair is an installation with private meetings in every state, and the people around them.
type affair struct {
	server *testenv.ServerInstance
	mail   *testenv.MailServer

	admin, alice, carl, vera *testenv.Client // alice organizes, carl is invited, vera decides for the guarded room
	bob, mona, rita          *testenv.Client // strangers: bob is any, mona decides for another room, rita is not invited any more
	door, otherDoor          *testenv.Client // devices

	room, guarded, other testenv.Room
	site                 int64
	meetings             []testenv.Meeting
	series, wait         int64
	start                time.Time // of the first; each of the others is an hour later
	shared               int64     // a public meeting of alice's that was private before
}

func newAffair(t *testing.T, on setup) *affair {
	a := &affair{mail: testenv.Mail(t)}
	on.Mail = a.mail
	on.YAML += "sms: { driver: outbox }\n"
	a.server = testenv.Server(t, on.Config)
	a.admin = a.server.Admin(t)
	secret := func(name string) with {
		return with{"name": name + " " + marker, "email": strings.ToLower(name) + "." + marker + "@example.org", "phone": "+4930777888"}
	}
	a.alice = a.admin.NewUser(t, "Alice", "member", secret("Alice"))
	a.carl = a.admin.NewUser(t, "Carl", "member", secret("Carl"), with{"phone": "+49 " + carlsNumber})
	a.vera = a.admin.NewUser(t, "Vera", "manager")
	a.bob, a.mona, a.rita = a.admin.NewUser(t, "Bob", "member"), a.admin.NewUser(t, "Mona", "manager"), a.admin.NewUser(t, "Rita", "member")
	var site struct{ ID int64 }
	a.admin.Want(t, http.StatusCreated, http.MethodPost, "/sites", with{"name": "Berlin"}, &site)
	a.site = site.ID
	lounge := with{"check_in": with{"required": true, "opens": "1h", "grace": "1s"}}
	a.room = a.admin.NewRoom(t, "Turing", with{"site_id": site.ID})
	a.guarded = a.admin.NewRoom(t, "Guarded", with{"site_id": site.ID, "approval": with{"required": true, "approver_ids": []int64{a.vera.User.ID}}})
	a.other = a.admin.NewRoom(t, "Other", with{"approval": with{"required": true, "approver_ids": []int64{a.mona.User.ID}}})
	left := a.admin.NewRoom(t, "Lounge", lounge)

	a.start = inSeconds(4 * 3600)
	hour := 0
	book := func(room testenv.Room, fields ...with) testenv.Meeting {
		t.Helper()
		start := a.start.Add(time.Duration(hour) * time.Hour)
		hour++
		m := a.alice.Book(t, testenv.Booking(start, start.Add(time.Hour), []int64{room.ID}, append([]with{a.private()}, fields...)...))
		a.meetings = append(a.meetings, m)
		return m
	}
	post := func(c *testenv.Client, m testenv.Meeting, what string, body with) {
		t.Helper()
		c.Want(t, http.StatusOK, http.MethodPost, at("/meetings/%d/%s", m.ID, what), body, nil)
	}
	patch := func(c *testenv.Client, m testenv.Meeting, body with) {
		t.Helper()
		c.Want(t, http.StatusOK, http.MethodPatch, at("/meetings/%d", m.ID), body, nil)
	}
	said := "because of " + marker

	renamed := book(a.room, with{"attendees": []any{with{"email": "rita@example.org"}, with{"email": a.carl.User.Email}}})
	post(a.carl, renamed, "respond", with{"response": "tentative", "comment": said})
	patch(a.alice, renamed, with{"title": "Once more " + marker, "attendees": a.private()["attendees"]})
	patch(a.alice, renamed, with{"description": "all of " + marker})
	post(a.alice, book(a.room), "cancel", with{"reason": said})
	book(a.guarded) // waits
	post(a.vera, book(a.guarded), "reject", with{"comment": said})
	approved := book(a.guarded)
	post(a.vera, approved, "approve", with{"comment": said})
	hour++ // for it to move to
	patch(a.alice, approved, with{"end": a.start.Add(time.Duration(hour) * time.Hour)})
	now := inSeconds(0)
	running := a.alice.Book(t, testenv.Booking(now, now.Add(3*time.Hour), []int64{a.room.ID}, a.private()))
	released := a.alice.Book(t, testenv.Booking(now, now.Add(3*time.Hour), []int64{left.ID}, a.private()))
	a.meetings = append(a.meetings, running, released)
	a.admin.Want(t, http.StatusCreated, http.MethodPost, "/blackouts", with{"room_id": a.room.ID, "start": a.start.AddDate(0, 0, 40), "end": a.start.AddDate(0, 0, 41)}, nil)
	a.admin.Book(t, testenv.Booking(a.start.AddDate(0, 0, 40), a.start.AddDate(0, 0, 40).Add(time.Hour), []int64{a.room.ID}, a.private(),
		with{"override": with{"reason": said}}))
	var series seriesAnswer
	next := a.start.AddDate(0, 0, 1)
	a.alice.Want(t, http.StatusCreated, http.MethodPost, "/series", testenv.Booking(next, next.Add(time.Hour), []int64{a.room.ID}, a.private(),
		with{"timezone": "UTC", "rrule": "FREQ=DAILY;COUNT=3"}), &series)
	a.series = series.Series.ID
	a.alice.Want(t, http.StatusOK, http.MethodPatch, at("/series/%d", a.series), with{"title": "Other " + marker}, nil)
	for _, m := range series.Meetings {
		a.meetings = append(a.meetings, m.Meeting)
	}
	waits := join(t, a.alice, testenv.Booking(renamed.Start, renamed.End, []int64{a.room.ID}, a.private()))
	a.wait = waits.ID

	// Everybody may see this one, and nothing of the time when it was private.
	day := a.start.AddDate(0, 0, 10)
	shared := a.vera.Book(t, testenv.Booking(day, day.Add(time.Hour), []int64{a.room.ID}, a.private()))
	patch(a.vera, shared, with{"attendees": []any{with{"email": "guest@example.net"}}, "description": "", "title": "Open day", "visibility": "public"})
	patch(a.vera, shared, with{"title": "Open days"})
	a.shared = shared.ID

	eventually(t, now.Add(2*slack), "one began and one was released", func() bool {
		return len(entries(a.alice.History(t, running.ID), "started")) == 1 && len(entries(a.alice.History(t, released.ID), "released")) == 1
	})
	a.door, a.otherDoor = a.device(t, a.room), a.device(t, a.other)
	return a
}

// private are the fields of a private meeting.
func (a *affair) private() with {
	return with{"title": "Layoffs " + marker, "description": "who leaves " + marker, "visibility": "private", "attendees": []any{
		with{"email": "guest." + marker + "@example.net", "name": "Guest " + marker, "phone": "+4930999888"},
		with{"email": a.carl.User.Email},
	}}
}

// device is paired with the door of a room.
func (a *affair) device(t *testing.T, room testenv.Room) *testenv.Client {
	t.Helper()
	var pairing struct{ Code string }
	a.admin.Want(t, http.StatusCreated, http.MethodPost, at("/rooms/%d/door/pairing", room.ID), nil, &pairing)
	var paired struct{ Token string }
	device := a.server.Anonymous()
	device.Want(t, http.StatusOK, http.MethodPost, "/door/pair", with{"code": pairing.Code}, &paired)
	return &testenv.Client{Base: device.Base, Token: paired.Token, User: testenv.User{Name: "the door of " + room.Name}}
}

// narrow is the client with a token that may do less than they.
func narrow(t *testing.T, c *testenv.Client, scopes ...string) *testenv.Client {
	t.Helper()
	var made struct{ Token string }
	c.Want(t, http.StatusCreated, http.MethodPost, "/me/tokens", with{"name": "narrow", "scopes": scopes}, &made)
	return &testenv.Client{Base: c.Base, Token: made.Token, User: testenv.User{ID: c.User.ID, Name: c.User.Name + " with " + fmt.Sprint(scopes)}}
}

// TestPrivacy_everything walks all operations of the description as everybody who must not see
// private meetings, with every small id filled in: nothing of them but their time and rooms is told
// anywhere, also not in errors, streams, calendars, mails, the log and the metrics.
func TestPrivacy_everything(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		a := newAffair(t, on)
		d := describe(t, a.server)
		heard := listen(t, a.bob, "", "?after=0")
		hers := listen(t, a.carl, "", "?after=0")
		own := map[string]bool{"me": true, "session": true, "logout": true, "delete-my-session": true, "find-people": true} // what users see of themselves, and the directory

		strangers := []*testenv.Client{a.bob, a.mona, a.rita, a.door, a.otherDoor, narrow(t, a.carl, "rooms:read"), narrow(t, a.admin, "rooms:read", "rooms:write", "jobs:admin")}
		asked, answered := 0, map[string]bool{}
		check := func(c *testenv.Client, op *operation, path string, body any) {
			res := c.Do(t, op.method, path, body)
			asked++
			if res.Status < 300 {
				answered[op.ID] = true
			}
			if res.Status >= 500 || res.Status == http.StatusUnauthorized {
				t.Errorf("%s %s by %s: %d %s", op.method, path, c.User.Name, res.Status, res.Body)
			}
			if told := tells(fmt.Appendf(res.Body, "\n%v", res.Header)); told != "" && c != a.alice && c != a.vera {
				t.Errorf("%s %s tells %s: %d %s", op.method, path, c.User.Name, res.Status, told)
			}
			if bytes.Contains(res.Body, []byte(carlsNumber)) {
				t.Errorf("%s %s tells %s the number of a user: %d %s", op.method, path, c.User.Name, res.Status, res.Body)
			}
		}
		walk := func(c *testenv.Client, op *operation) {
			most := 1
			switch {
			case strings.HasPrefix(op.path, "/meetings/{"):
				most = int(a.meetings[len(a.meetings)-1].ID) + 3
			case strings.Contains(op.path, "{"):
				most = 6
			}
			for id := 1; id <= most; id++ {
				if op.method != http.MethodGet {
					check(c, op, op.at(id), a.body(d, op))
					continue
				}
				for _, query := range a.queries(op) {
					check(c, op, op.at(id)+query, nil)
				}
			}
		}
		for _, op := range d.operations() {
			if own[op.ID] || op.streams() {
				continue
			}
			for _, c := range strangers {
				walk(c, op)
			}
			if op.method == http.MethodGet || strings.HasSuffix(op.path, "/preview") { // organizer and approver see the meetings, but no number
				walk(a.alice, op)
				walk(a.vera, op)
			}
		}
		for _, id := range []string{"list-meetings", "get-meeting", "grid", "list-blackouts", "room-availability", "room-suggestions", "room-free-busy", "room-days",
			"get-door", "list-rooms", "meeting-history", "report-utilisation", "list-jobs"} {
			if !answered[id] {
				t.Errorf("%s was never answered: the walk walks nowhere", id)
			}
		}
		t.Logf("%d requests, %d of %d operations answered", asked, len(answered), len(d.operations()))

		// Nor which meetings belong together, and how many people answer.
		hidden := with{"series_id": nil, "original_start": nil, "booked_by": nil, "pending_change": nil, "attendees": []any{}, "reminders": []any{}, "description": "",
			"organizer": with{"id": 0.0, "name": "", "email": ""}}
		for _, c := range []*testenv.Client{a.bob, a.mona, a.rita} {
			c.WantProblem(t, http.StatusNotFound, "not_found", http.MethodGet, at("/series/%d", a.series), nil)
			for _, m := range a.meetings {
				var seen map[string]any
				c.Want(t, http.StatusOK, http.MethodGet, at("/meetings/%d", m.ID), nil, &seen)
				for field, want := range hidden {
					if got := seen[field]; !reflect.DeepEqual(got, want) {
						t.Errorf("%s of %d for %s: %v", field, m.ID, c.User.Name, got)
					}
				}
				c.WantProblem(t, http.StatusForbidden, "forbidden", http.MethodGet, at("/meetings/%d/history", m.ID), nil)
				c.WantProblem(t, http.StatusForbidden, "forbidden", http.MethodGet, at("/meetings/%d/notifications", m.ID), nil)
			}
		}
		a.conflicts(t)
		a.findsNothing(t)
		a.calendars(t)

		// What they heard meanwhile.
		eventually(t, time.Now().Add(slack), "the streams go on, and who is invited hears what it is about", func() bool {
			told := 0
			for _, e := range hers.all() {
				if tells([]byte(e.raw)) != "" {
					told++
				}
			}
			return len(heard.all()) > 20 && len(hers.all()) > 20 && told >= 10
		})
		for _, e := range slices.Concat(heard.all(), hers.all()) {
			if strings.Contains(e.raw, carlsNumber) {
				t.Errorf("the number of a user is heard: %s", e.raw)
			}
		}
		for _, e := range heard.all() {
			if told := tells([]byte(e.raw)); told != "" {
				t.Errorf("a stranger hears %s", told)
			}
			if e.name == "meeting.responded" && e.Data.Meeting.ID != a.shared {
				t.Errorf("a stranger hears that somebody answered: %s", e.raw)
			}
		}
		// Who may see them does.
		for _, c := range []*testenv.Client{a.admin, a.alice, a.carl} {
			for _, m := range a.meetings {
				for _, path := range []string{"", "/history"} {
					res := c.Want(t, http.StatusOK, http.MethodGet, at("/meetings/%d%s", m.ID, path), nil, nil)
					if path == "" && tells(res.Body) == "" {
						t.Errorf("%s does not see %d: %s", c.User.Name, m.ID, res.Body)
					}
					if sees := bytes.Contains(res.Body, []byte(carlsNumber)); path == "" && sees != (c != a.alice) {
						t.Errorf("%s sees the number of a user: %v: %s", c.User.Name, sees, res.Body)
					}
				}
			}
		}
		seen := 0
		for _, m := range a.meetings { // of her room alone
			if slices.Contains(m.RoomIDs, a.guarded.ID) == (a.vera.Meeting(t, m.ID).Title == "Busy") {
				t.Errorf("the approver sees %d as %q", m.ID, a.vera.Meeting(t, m.ID).Title)
			}
			if slices.Contains(m.RoomIDs, a.guarded.ID) {
				seen++
			}
		}
		if seen != 3 {
			t.Errorf("%d meetings in the guarded room", seen)
		}

		// Nor do mails, the log and the figures tell anybody else.
		for _, m := range a.mail.Messages() {
			to := strings.ToLower(strings.Join(m.To, ","))
			content := []byte(strings.Join([]string{m.Subject(), m.Part("text/plain"), m.Part("text/html"), m.Part("text/calendar")}, "\n"))
			invited := strings.Contains(to, marker) || to == "vera@example.org"
			if told := tells(content); told != "" && !invited && to != "rita@example.org" {
				t.Errorf("%s gets a mail: %s", to, told)
			}
			if to == "rita@example.org" && bytes.Contains(content, []byte("Once more")) {
				t.Errorf("who is not invited any more is told what it is now: %s", content)
			}
		}
		if n := len(a.mail.Where("rita@example.org", "cancellation")); n != 1 {
			t.Errorf("rita got %d cancellations", n)
		}
		for _, line := range strings.Split(a.server.Log(), "\n") {
			if tells([]byte(line)) != "" {
				t.Errorf("the log tells: %s", line)
			}
		}
		for _, path := range []string{"/metrics", "/", "/door", "/docs", "/healthz", "/readyz"} {
			if res := a.bob.Do(t, http.MethodGet, a.server.URL+path, nil); tells(res.Body) != "" {
				t.Errorf("%s tells", path)
			}
		}
	})
}

// queries are those with which an operation is asked: what it insists on, and each filter alone.
func (a *affair) queries(op *operation) []string {
	values := map[string][]string{
		"q": {marker, "Layoffs"}, "organizer": {strconv.FormatInt(a.alice.User.ID, 10)}, "organizer_id": {strconv.FormatInt(a.alice.User.ID, 10)},
		"user_id": {strconv.FormatInt(a.alice.User.ID, 10)}, "series_id": {strconv.FormatInt(a.series, 10)}, "attendee": {"me"}, "awaiting": {"me"},
		"from": {a.start.Add(-24 * time.Hour).Format(time.RFC3339)}, "to": {a.start.AddDate(0, 0, 5).Format(time.RFC3339)},
		"start": {a.start.Format(time.RFC3339)}, "end": {a.start.Add(time.Hour).Format(time.RFC3339)}, "duration": {"1h"}, "attendees": {"1"},
		"group": {"room", "hour"}, "room_id": {strconv.FormatInt(a.room.ID, 10)}, "site_id": {strconv.FormatInt(a.site, 10)},
		"email": {"alice@example.org"}, "meeting_id": {strconv.FormatInt(a.meetings[0].ID, 10)}, "status": {"pending", "cancelled"}, "state": {"sent"}, "limit": {"1", "500"},
	}
	if op.path == "/occupancy" {
		values["from"], values["to"] = []string{a.start.Format(time.DateOnly)}, []string{a.start.AddDate(0, 0, 5).Format(time.DateOnly)}
	}
	base := url.Values{} // some insist on a time without saying so
	for _, name := range []string{"from", "to", "start", "end", "duration"} {
		if op.takes(name) {
			base.Set(name, values[name][0])
		}
	}
	queries := []string{"?" + base.Encode()}
	for _, p := range op.Parameters {
		if p.In != "query" || base.Has(p.Name) {
			continue
		}
		for _, v := range values[p.Name] {
			query := maps.Clone(base)
			query.Set(p.Name, v)
			queries = append(queries, "?"+query.Encode())
		}
	}
	return queries
}

// body is one that an operation understands, as far as the names of its fields tell.
func (a *affair) body(d *description, op *operation) any {
	if op.RequestBody == nil {
		return nil
	}
	s := d.resolve(op.RequestBody.Content["application/json"].Schema)
	values := with{
		"title": "Mine", "room_ids": []int64{a.room.ID}, "start": a.start, "end": a.start.Add(time.Hour), "timezone": "UTC", "rrule": "FREQ=DAILY;COUNT=5",
		"comment": "mine", "response": "accepted", "minutes": 15, "scope": "all", "original_start": a.start.AddDate(0, 0, 1), "ids": []int64{1, 2},
		"room_id": a.room.ID, "name": "Mine", "email": "mine@example.org", "role": "member", "yaml": "booking: {}",
	}
	body := with{}
	for name := range s.Properties {
		if v, ok := values[name]; ok {
			body[name] = v
		}
	}
	return body
}

// conflicts tell that a room is taken, and no more.
func (a *affair) conflicts(t *testing.T) {
	t.Helper()
	his := a.bob.Book(t, testenv.Booking(a.start.AddDate(0, 0, 90), a.start.AddDate(0, 0, 90).Add(time.Hour), []int64{a.room.ID}))
	taken := 0
	for _, m := range a.meetings {
		booking := testenv.Booking(m.Start, m.End, m.RoomIDs)
		weekly := testenv.Booking(m.Start, m.End, m.RoomIDs, with{"timezone": "UTC", "rrule": "FREQ=DAILY;COUNT=5"})
		for _, res := range []*testenv.Response{
			a.bob.Do(t, http.MethodPost, "/meetings", booking), a.bob.Do(t, http.MethodPost, "/series", weekly), a.bob.Do(t, http.MethodPost, "/series/preview", weekly),
			a.bob.Do(t, http.MethodPatch, at("/meetings/%d", his.ID), with{"start": m.Start, "end": m.End, "room_ids": m.RoomIDs}),
		} {
			if res.Status == http.StatusConflict {
				taken++
			}
			if told := tells(res.Body); told != "" {
				t.Errorf("a conflict tells %s", told)
			}
		}
	}
	if taken < 6 {
		t.Errorf("%d conflicts", taken)
	}
}

// findsNothing: that a filter finds it says as much as its title.
func (a *affair) findsNothing(t *testing.T) {
	t.Helper()
	for _, c := range []*testenv.Client{a.bob, a.mona, a.rita} {
		for _, query := range []string{"q=" + marker, at("organizer=%d", a.alice.User.ID), at("series_id=%d", a.series), "attendee=me"} {
			for _, m := range testenv.All[testenv.Meeting](t, c, "/meetings?"+query) {
				if m.Title == "Busy" {
					t.Errorf("%s finds %+v by %s", c.User.Name, m, query)
				}
			}
		}
		var grid struct{ Rooms []struct{ ID int64 } }
		span := url.Values{"from": {a.start.AddDate(0, 0, -1).Format(time.RFC3339)}, "to": {a.start.AddDate(0, 0, 5).Format(time.RFC3339)}, "q": {marker}}
		if c.Want(t, http.StatusOK, http.MethodGet, "/grid?"+span.Encode(), nil, &grid); len(grid.Rooms) != 0 {
			t.Errorf("the grid finds a private title for %s: %+v", c.User.Name, grid)
		}
	}
}

// calendars of others' programs: whose address is passed on more easily than a password.
func (a *affair) calendars(t *testing.T) {
	t.Helper()
	for _, c := range []*testenv.Client{a.bob, a.mona, a.rita, a.alice} {
		for _, feed := range []with{{"room_id": a.room.ID}, {"room_id": a.guarded.ID}, {"private_titles": c != a.alice}} {
			var made struct{ URL string }
			c.Want(t, http.StatusCreated, http.MethodPost, "/me/feeds", feed, &made)
			res, err := http.Get(made.URL)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(res.Body)
			res.Body.Close()
			if err != nil || res.StatusCode != http.StatusOK || !bytes.Contains(body, []byte("BEGIN:VCALENDAR")) {
				t.Errorf("%d %v %s", res.StatusCode, err, body)
			}
			body = bytes.ReplaceAll(bytes.ReplaceAll(body, []byte("\r\n "), nil), []byte("X-WR-CALNAME:"+a.alice.User.Name), nil)
			if told := tells(body); told != "" {
				t.Errorf("%v of %s tells %s", feed, c.User.Name, told)
			}
		}
	}
}
