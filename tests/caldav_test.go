package tests

import (
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"punctual/tests/testenv"
)

// davUser is a calendar program of a user.
type davUser struct {
	base, email, password string
	calendar              string // path
}

// newDavUser creates an app password.
func newDavUser(t *testing.T, c *testenv.Client, email string) *davUser {
	t.Helper()
	var token struct{ Token string }
	c.Want(t, http.StatusCreated, http.MethodPost, "/me/tokens", with{"name": "Phone", "scopes": []string{"caldav"}}, &token)
	var me struct{ ID int64 }
	c.Want(t, http.StatusOK, http.MethodGet, "/me", nil, &me)
	return &davUser{c.Base, email, token.Token, fmt.Sprintf("/dav/calendars/users/%d/meetings/", me.ID)}
}

// do sends a request; headers are pairs.
func (d *davUser) do(t *testing.T, method, path, body string, headers ...string) (int, http.Header, string) {
	t.Helper()
	req, err := http.NewRequest(method, strings.TrimSuffix(d.base, "/api/v1")+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if d.password != "" {
		req.SetBasicAuth(d.email, d.password)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, res.Header, string(text)
}

func (d *davUser) want(t *testing.T, status int, method, path, body string, headers ...string) (http.Header, string) {
	t.Helper()
	got, header, text := d.do(t, method, path, body, headers...)
	if got != status {
		t.Fatalf("%s %s: %d %s, want %d", method, path, got, text, status)
	}
	return header, text
}

// multistatus is what the tests read of an answer.
type multistatus struct {
	Token     string `xml:"DAV: sync-token"`
	Responses []struct {
		Href   string `xml:"DAV: href"`
		Status string `xml:"DAV: status"`
		Stats  []struct {
			Status string `xml:"DAV: status"`
			Prop   struct {
				ETag string `xml:"DAV: getetag"`
				Data string `xml:"urn:ietf:params:xml:ns:caldav calendar-data"`
				Any  string `xml:",innerxml"`
			} `xml:"DAV: prop"`
		} `xml:"DAV: propstat"`
	} `xml:"DAV: response"`
}

func (d *davUser) multi(t *testing.T, method, path, body string, headers ...string) multistatus {
	t.Helper()
	_, text := d.want(t, http.StatusMultiStatus, method, path, body, headers...)
	var m multistatus
	if err := xml.Unmarshal([]byte(text), &m); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return m
}

// changes since a token: the ETag of each name, empty if it is gone.
func (d *davUser) changes(t *testing.T, calendar, token string) (map[string]string, string) {
	t.Helper()
	m := d.multi(t, "REPORT", calendar, `<sync-collection xmlns="DAV:"><sync-token>`+token+`</sync-token><sync-level>1</sync-level><prop><getetag/></prop></sync-collection>`)
	found := map[string]string{}
	for _, r := range m.Responses {
		tag := ""
		if len(r.Stats) > 0 {
			tag = r.Stats[0].Prop.ETag
		}
		found[strings.TrimPrefix(r.Href, calendar)] = tag
	}
	return found, m.Token
}

const davOn = "caldav: { enabled: true }\n"

// A calendar program finds the calendars, reads them, and learns what changed since.
func TestCalDAV_reads(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		c := on.Config
		c.YAML += davOn
		server := testenv.Server(t, c)
		admin := server.Admin(t)
		ada, bob := admin.NewUser(t, "Ada", "member"), admin.NewUser(t, "Bob", "member")
		room := admin.NewRoom(t, "Turing", with{"timezone": "Europe/Berlin"})
		dav, other := newDavUser(t, ada, "ada@example.org"), newDavUser(t, bob, "bob@example.org")
		ofRoom := fmt.Sprintf("/dav/calendars/rooms/%d/meetings/", room.ID)

		for _, wrong := range []davUser{{dav.base, "", "", ""}, {dav.base, dav.email, "wrong", ""}, {dav.base, dav.email, other.password, ""}} {
			header, _ := wrong.want(t, http.StatusUnauthorized, "PROPFIND", "/dav/", "")
			if !strings.HasPrefix(header.Get("WWW-Authenticate"), "Basic ") {
				t.Errorf("%+v: %v", wrong, header)
			}
		}
		if header, _ := dav.want(t, http.StatusMovedPermanently, "PROPFIND", "/.well-known/caldav", ""); header.Get("Location") != "/dav/" {
			t.Errorf("redirects to %v", header)
		}
		if header, _ := dav.want(t, http.StatusOK, http.MethodOptions, dav.calendar, ""); !strings.Contains(header.Get("DAV"), "calendar-auto-schedule") {
			t.Errorf("OPTIONS: %v", header)
		}
		principal := strings.NewReplacer("calendars", "principals", "meetings/", "").Replace(dav.calendar)
		for path, want := range map[string]string{
			"/dav/":      principal,
			principal:    strings.TrimSuffix(dav.calendar, "meetings/"),
			dav.calendar: "calendar-query",
			ofRoom:       "Turing",
			fmt.Sprintf("/dav/principals/rooms/%d/", room.ID): "ROOM",
		} {
			_, text := dav.want(t, http.StatusMultiStatus, "PROPFIND", path, `<propfind xmlns="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav"><prop><current-user-principal/><displayname/><supported-report-set/>
				<c:calendar-home-set/><c:calendar-user-type/><resourcetype/><unheard xmlns="of"/></prop></propfind>`, "Depth", "0")
			if !strings.Contains(text, want) || !strings.Contains(text, "404 Not Found") {
				t.Errorf("%s lacks %s: %s", path, want, text)
			}
		}
		for _, path := range []string{other.calendar, "/dav/nothing", "/dav/calendars/rooms/999/meetings/", dav.calendar + "meeting-999.ics"} {
			dav.want(t, http.StatusNotFound, "PROPFIND", path, "", "Depth", "0")
		}
		dav.want(t, http.StatusForbidden, "PROPFIND", dav.calendar, "", "Depth", "infinity")
		for _, hostile := range []string{`<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>`, strings.Repeat("<a>", 100), "<a>&nbsp;</a>", "<a/><b/>"} {
			dav.want(t, http.StatusBadRequest, "REPORT", dav.calendar, hostile)
		}

		start := time.Now().UTC().AddDate(0, 0, 3).Truncate(24 * time.Hour).Add(9 * time.Hour)
		invited := with{"attendees": []any{with{"email": "bob@example.org"}}}
		first, token := dav.changes(t, dav.calendar, "")
		if len(first) != 0 {
			t.Errorf("at first: %v", first)
		}
		secret := ada.Book(t, testenv.Booking(start, start.Add(time.Hour), []int64{room.ID}, with{"title": "Salaries", "visibility": "private"}))
		var series struct {
			Series   struct{ ID int64 }
			Meetings []testenv.Meeting
		}
		ada.Want(t, http.StatusCreated, http.MethodPost, "/series", testenv.Booking(start.Add(2*time.Hour), start.Add(3*time.Hour), []int64{room.ID}, invited,
			with{"title": "Weekly", "rrule": "FREQ=WEEKLY;COUNT=6", "timezone": "Europe/Berlin"}), &series)
		single, weekly := fmt.Sprintf("meeting-%d.ics", secret.ID), fmt.Sprintf("series-%d.ics", series.Series.ID)
		changed, next := dav.changes(t, dav.calendar, token)
		if len(changed) != 2 || changed[single] == "" || changed[weekly] == "" || next == token {
			t.Errorf("after two bookings: %v, %s", changed, next)
		}
		if again, same := dav.changes(t, dav.calendar, next); len(again) != 0 || same != next {
			t.Errorf("without a change: %v, %s", again, same)
		}

		ada.Want(t, http.StatusOK, http.MethodPatch, at("/meetings/%d", series.Meetings[2].ID), with{"title": "Moved", "start": series.Meetings[2].Start.Add(4 * time.Hour), "end": series.Meetings[2].Start.Add(5 * time.Hour)}, nil)
		cancel(t, ada, series.Meetings[3].ID)
		cancel(t, ada, secret.ID)
		changed, last := dav.changes(t, dav.calendar, next)
		if tag, reported := changed[single]; len(changed) != 2 || !reported || tag != "" {
			t.Errorf("after changes: %v", changed)
		}
		header, text := dav.want(t, http.StatusOK, http.MethodGet, dav.calendar+weekly, "")
		if header.Get("ETag") != changed[weekly] || strings.Count(text, "BEGIN:VEVENT") != 2 || strings.Count(text, "RECURRENCE-ID") != 1 || strings.Count(text, "EXDATE") != 1 ||
			!strings.Contains(text, "RRULE:FREQ=WEEKLY;COUNT=6") || !strings.Contains(text, "CUTYPE=ROOM;PARTSTAT=ACCEPTED") {
			t.Errorf("%v, want the tag %s: %s", header, changed[weekly], text)
		}
		dav.want(t, http.StatusNotModified, http.MethodGet, dav.calendar+weekly, "", "If-None-Match", changed[weekly])
		for _, unknown := range []string{"urn:punctual:sync:99", "urn:punctual:sync:-1", "x"} {
			_, text := dav.want(t, http.StatusForbidden, "REPORT", dav.calendar, `<sync-collection xmlns="DAV:"><sync-token>`+unknown+`</sync-token><sync-level>1</sync-level><prop/></sync-collection>`)
			if !strings.Contains(text, "valid-sync-token") {
				t.Errorf("%s: %s", unknown, text)
			}
		}

		query := func(filter, data string) multistatus {
			return dav.multi(t, "REPORT", dav.calendar, `<c:calendar-query xmlns="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav"><prop><getetag/>`+data+`</prop>
				<c:filter><c:comp-filter name="VCALENDAR">`+filter+`</c:comp-filter></c:filter></c:calendar-query>`, "Depth", "1")
		}
		span := func(from, to time.Time) string {
			return fmt.Sprintf(`start="%s" end="%s"`, from.Format("20060102T150405Z"), to.Format("20060102T150405Z"))
		}
		inSpan := func(from, to time.Time) string {
			return `<c:comp-filter name="VEVENT"><c:time-range ` + span(from, to) + `/></c:comp-filter>`
		}
		for filter, want := range map[string]int{
			inSpan(series.Meetings[0].Start, series.Meetings[0].End): 1,
			inSpan(series.Meetings[3].Start, series.Meetings[3].End): 0, // canceled
			inSpan(series.Meetings[2].Start, series.Meetings[2].End): 0, // moved
			`<c:comp-filter name="VTODO"/>`:                          0,
			`<c:comp-filter name="VEVENT"><c:prop-filter name="SUMMARY"><c:text-match>moved</c:text-match></c:prop-filter></c:comp-filter>`:                     1,
			`<c:comp-filter name="VEVENT"><c:prop-filter name="SUMMARY"><c:text-match collation="i;octet">moved</c:text-match></c:prop-filter></c:comp-filter>`: 0,
			`<c:comp-filter name="VEVENT"><c:prop-filter name="CLASS"><c:is-not-defined/></c:prop-filter></c:comp-filter>`:                                      1,
			`<c:comp-filter name="VEVENT"><c:comp-filter name="VALARM"/></c:comp-filter>`:                                                                       0,
		} {
			if got := query(filter, ""); len(got.Responses) != want {
				t.Errorf("%s finds %d, want %d", filter, len(got.Responses), want)
			}
		}
		expanded := query(inSpan(start, start.AddDate(0, 0, 30)), `<c:calendar-data><c:expand `+span(start, start.AddDate(0, 0, 20))+`/></c:calendar-data>`)
		if len(expanded.Responses) != 1 || strings.Count(expanded.Responses[0].Stats[0].Prop.Data, "BEGIN:VEVENT") != 3 || strings.Contains(expanded.Responses[0].Stats[0].Prop.Data, "RRULE") {
			t.Errorf("expanded: %+v", expanded)
		}
		many := dav.multi(t, "REPORT", dav.calendar, `<c:calendar-multiget xmlns="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav"><prop><getetag/><c:calendar-data/></prop>
			<href>`+dav.calendar+weekly+`</href><href>`+dav.calendar+single+`</href><href>`+other.calendar+weekly+`</href></c:calendar-multiget>`)
		if len(many.Responses) != 3 || many.Responses[0].Stats[0].Prop.Data != text || !strings.Contains(many.Responses[1].Status, "404") || !strings.Contains(many.Responses[2].Status, "404") {
			t.Errorf("multiget: %+v", many)
		}
		_, busy := dav.want(t, http.StatusOK, "REPORT", ofRoom, `<c:free-busy-query xmlns:c="urn:ietf:params:xml:ns:caldav"><c:time-range `+span(start, start.AddDate(0, 0, 10))+`/></c:free-busy-query>`)
		if strings.Count(busy, "FREEBUSY;FBTYPE=BUSY:") != 2 {
			t.Errorf("free-busy: %s", busy)
		}

		// Bob was invited and declines; the room shows everybody the same.
		if theirs, _ := other.changes(t, other.calendar, ""); len(theirs) != 1 {
			t.Errorf("bob's: %v", theirs)
		}
		for _, m := range series.Meetings {
			if m.ID != series.Meetings[3].ID && m.ID != series.Meetings[0].ID {
				bob.Want(t, http.StatusOK, http.MethodPost, at("/meetings/%d/respond", m.ID), with{"response": "declined"}, nil)
			}
		}
		_, theirs := other.want(t, http.StatusOK, http.MethodGet, other.calendar+weekly, "")
		if strings.Contains(theirs, "RRULE") || strings.Count(theirs, "RECURRENCE-ID") != 1 {
			t.Errorf("bob comes to one date: %s", theirs)
		}
		ada.Book(t, testenv.Booking(start, start.Add(time.Hour), []int64{room.ID}, with{"title": "Bonuses", "visibility": "private"}))
		shown := other.multi(t, "REPORT", ofRoom, `<c:calendar-query xmlns="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav"><prop><c:calendar-data/></prop></c:calendar-query>`)
		if all := fmt.Sprint(shown); len(shown.Responses) != 6 || strings.Contains(all, "Bonuses") || !strings.Contains(all, "SUMMARY:Busy") || strings.Contains(all, "RECURRENCE-ID") {
			t.Errorf("the room: %s", all)
		}
		if gone, _ := dav.changes(t, dav.calendar, last); len(gone) != 2 {
			t.Errorf("at last: %v", gone)
		}
	})
}

// eventText is an event as programs write it, with an alarm.
func eventText(uid, title string, start, end time.Time, more ...string) string {
	const form = "20060102T150405Z"
	lines := append([]string{"BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//Test//EN", "BEGIN:VEVENT", "UID:" + uid, "DTSTAMP:20261123T050000Z",
		"DTSTART:" + start.UTC().Format(form), "DTEND:" + end.UTC().Format(form), "SUMMARY:" + title}, more...)
	return strings.Join(append(lines, "X-MINE:kept", "BEGIN:VALARM", "ACTION:DISPLAY", "TRIGGER:-PT5M", "DESCRIPTION:soon", "END:VALARM", "END:VEVENT", "END:VCALENDAR", ""), "\r\n")
}

// What a program stores books rooms, changes and cancels meetings, answers invitations, or is kept.
func TestCalDAV_writes(t *testing.T) {
	onBoth(t, func(t *testing.T, on setup) {
		c := on.Config
		c.YAML += davOn
		server := testenv.Server(t, c)
		admin := server.Admin(t)
		ada, bob := admin.NewUser(t, "Ada", "member"), admin.NewUser(t, "Bob", "member")
		room := admin.NewRoom(t, "Turing", with{"timezone": "UTC"})
		dav, other := newDavUser(t, ada, "ada@example.org"), newDavUser(t, bob, "bob@example.org")
		_, principal := dav.want(t, http.StatusMultiStatus, "PROPFIND", fmt.Sprintf("/dav/principals/rooms/%d/", room.ID), `<propfind xmlns="DAV:"><prop><c:calendar-user-address-set xmlns:c="urn:ietf:params:xml:ns:caldav"/></prop></propfind>`)
		_, address, _ := strings.Cut(principal, "mailto:")
		address, _, _ = strings.Cut(address, "<")
		inRoom := "ATTENDEE;CUTYPE=ROOM;CN=Turing:mailto:" + address
		people := []string{"ORGANIZER:mailto:ada@example.org", "ATTENDEE;CN=Bob:mailto:bob@example.org", inRoom}
		start := time.Now().UTC().AddDate(0, 0, 3).Truncate(24 * time.Hour).Add(9 * time.Hour)
		put := func(status int, name, text string, headers ...string) http.Header {
			t.Helper()
			header, _ := dav.want(t, status, http.MethodPut, dav.calendar+name, text, append(headers, "Content-Type", "text/calendar; charset=utf-8")...)
			return header
		}
		get := func(name string) string {
			t.Helper()
			_, text := dav.want(t, http.StatusOK, http.MethodGet, dav.calendar+name, "")
			return strings.ReplaceAll(text, "\r\n ", "")
		}
		meetings := func() []testenv.Meeting {
			return testenv.All[testenv.Meeting](t, ada, "/meetings?organizer=me&status=confirmed&from="+start.AddDate(0, 0, -1).Format(time.RFC3339)+"&to="+start.AddDate(0, 0, 40).Format(time.RFC3339))
		}
		hour := func(n int) time.Time { return start.Add(time.Duration(n) * time.Hour) }

		// A free room is booked, and what only the program knows is kept.
		header := put(http.StatusCreated, "one.ics", eventText("uid-1", "Review", hour(0), hour(1), people...), "If-None-Match", "*")
		if header.Get("ETag") != "" || header.Get("Schedule-Tag") == "" {
			t.Errorf("a booking: %v", header)
		}
		text := get("one.ics")
		for _, want := range []string{"UID:uid-1", "LOCATION:Turing", "PARTSTAT=ACCEPTED", "SCHEDULE-STATUS=2.0", "TRIGGER:-PT5M", "X-MINE:kept"} {
			if !strings.Contains(text, want) {
				t.Errorf("lacks %s: %s", want, text)
			}
		}
		if ms := meetings(); len(ms) != 1 || ms[0].Title != "Review" || !ms[0].Start.Equal(hour(0)) {
			t.Fatalf("booked %+v", ms)
		}
		// A taken room declines; an event without a room is nobody's business. Both are kept.
		put(http.StatusCreated, "two.ics", eventText("uid-2", "Too late", hour(0), hour(1), people...))
		if text := get("two.ics"); !strings.Contains(text, "PARTSTAT=DECLINED") || !strings.Contains(text, "SUMMARY:Too late") {
			t.Errorf("a taken room: %s", text)
		}
		private := eventText("uid-3", "Dentist", hour(0), hour(1))
		if header := put(http.StatusCreated, "three.ics", private); header.Get("ETag") == "" {
			t.Errorf("an event of one's own: %v", header)
		}
		if _, text := dav.want(t, http.StatusOK, http.MethodGet, dav.calendar+"three.ics", ""); text != private {
			t.Errorf("an event of one's own became %s", text)
		}
		put(http.StatusCreated, "mail.ics", eventText("uid-4", "By mail", hour(2), hour(3), "ATTENDEE;CUTYPE=ROOM;SCHEDULE-AGENT=CLIENT:mailto:"+address))
		if ms := meetings(); len(ms) != 1 {
			t.Errorf("booked %+v", ms)
		}

		// Changes, and conditions.
		put(http.StatusPreconditionFailed, "one.ics", eventText("uid-1", "x", hour(0), hour(1), people...), "If-Match", `"old"`)
		put(http.StatusPreconditionFailed, "one.ics", eventText("uid-1", "x", hour(0), hour(1), people...), "If-None-Match", "*")
		put(http.StatusPreconditionFailed, "one.ics", eventText("uid-1", "x", hour(0), hour(1), people...), "If-Schedule-Tag-Match", `"old"`)
		put(http.StatusNoContent, "one.ics", eventText("uid-1", "Review, later", hour(1), hour(2), people...), "If-Schedule-Tag-Match", header.Get("Schedule-Tag"))
		if ms := meetings(); len(ms) != 1 || ms[0].Title != "Review, later" || !ms[0].Start.Equal(hour(1)) {
			t.Errorf("moved to %+v", ms)
		}
		put(http.StatusNoContent, "two.ics", eventText("uid-2", "Now", hour(0), hour(1), people...))
		if text := get("two.ics"); !strings.Contains(text, "PARTSTAT=ACCEPTED") || len(meetings()) != 2 {
			t.Errorf("the room became free: %s", text)
		}
		put(http.StatusForbidden, "one.ics", eventText("uid-1", "Back", hour(0), hour(1), people...))
		for want, text := range map[string]string{
			"no-uid-conflict":                "other" + eventText("uid-1", "x", hour(0), hour(1)),
			"valid-calendar-data":            "other" + "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nUID:x\r\n",
			"supported-calendar-component":   "other" + "BEGIN:VCALENDAR\r\nBEGIN:VTODO\r\nUID:x\r\nEND:VTODO\r\nEND:VCALENDAR\r\n",
			"valid-calendar-object-resource": "other" + "BEGIN:VCALENDAR\r\nMETHOD:REQUEST\r\nBEGIN:VEVENT\r\nUID:x\r\nDTSTART:20270101T090000Z\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n",
		} {
			if _, got := dav.want(t, http.StatusForbidden, http.MethodPut, dav.calendar+"other.ics", strings.TrimPrefix(text, "other")); !strings.Contains(got, want) {
				t.Errorf("%s: %s", want, got)
			}
		}
		dav.want(t, http.StatusForbidden, http.MethodPut, fmt.Sprintf("/dav/calendars/rooms/%d/meetings/x.ics", room.ID), private)
		// calcurse gives neither UID nor DTSTAMP.
		put(http.StatusCreated, "calcurse.ics", strings.NewReplacer("UID:uid-5\r\n", "", "DTSTAMP:20261123T050000Z\r\n", "").Replace(eventText("uid-5", "From calcurse", hour(5), hour(6), inRoom)))
		if len(meetings()) != 3 {
			t.Errorf("calcurse booked nothing: %+v", meetings())
		}

		// A series, with a date that is elsewhere; then a date is canceled and another moved.
		rule := append([]string{"RRULE:FREQ=WEEKLY;COUNT=4"}, people...)
		put(http.StatusCreated, "series.ics", eventText("uid-6", "Weekly", hour(7), hour(8), rule...))
		if n := len(meetings()); n != 7 {
			t.Errorf("%d meetings, want 4 of a series and 3", n)
		}
		week := func(n, h int) time.Time { return hour(h).AddDate(0, 0, 7*n) }
		series := eventText("uid-6", "Weekly", hour(7), hour(8), append([]string{"EXDATE:" + week(1, 7).Format("20060102T150405Z")}, rule...)...)
		override := eventText("uid-6", "Moved", week(2, 8), week(2, 9), append([]string{"RECURRENCE-ID:" + week(2, 7).Format("20060102T150405Z")}, people...)...)
		_, override, _ = strings.Cut(override, "PRODID:-//Test//EN\r\n")
		put(http.StatusNoContent, "series.ics", strings.Replace(series, "END:VCALENDAR\r\n", override, 1))
		titles := map[string]int{}
		for _, m := range meetings() {
			titles[m.Title]++
			if m.Title == "Moved" && !m.Start.Equal(week(2, 8)) {
				t.Errorf("moved to %v", m.Start)
			}
		}
		if titles["Weekly"] != 2 || titles["Moved"] != 1 {
			t.Errorf("the series: %v in %s", titles, get("series.ics"))
		}

		// Bob answers with his program; only the organizer can move the meeting.
		theirs, _ := other.changes(t, other.calendar, "")
		var invitation string
		for name := range theirs {
			if _, text := other.want(t, http.StatusOK, http.MethodGet, other.calendar+name, ""); strings.Contains(text, "Review") {
				invitation = name
				text = strings.ReplaceAll(text, "\r\n ", "")
				mine := strings.Replace(text, "PARTSTAT=NEEDS-ACTION;ROLE=REQ-PARTICIPANT;RSVP=TRUE:mailto:bob@", "PARTSTAT=TENTATIVE:mailto:bob@", 1)
				other.want(t, http.StatusForbidden, http.MethodPut, other.calendar+name, strings.Replace(mine, "DTSTART:"+hour(1).Format("20060102T150405Z"), "DTSTART:"+hour(0).Format("20060102T150405Z"), 1))
				other.want(t, http.StatusNoContent, http.MethodPut, other.calendar+name, mine)
			}
		}
		if text := get("one.ics"); !strings.Contains(text, "PARTSTAT=TENTATIVE") {
			t.Errorf("bob answered: %s", text)
		}
		other.want(t, http.StatusNoContent, http.MethodDelete, other.calendar+invitation, "")
		other.want(t, http.StatusNotFound, http.MethodGet, other.calendar+invitation, "")
		if text := get("one.ics"); !strings.Contains(text, "PARTSTAT=DECLINED") {
			t.Errorf("bob deleted: %s", text)
		}

		// Deleting cancels.
		dav.want(t, http.StatusPreconditionFailed, http.MethodDelete, dav.calendar+"one.ics", "", "If-Match", `"old"`)
		for _, name := range []string{"one.ics", "three.ics", "series.ics"} {
			dav.want(t, http.StatusNoContent, http.MethodDelete, dav.calendar+name, "")
			dav.want(t, http.StatusNotFound, http.MethodDelete, dav.calendar+name, "")
		}
		if ms := meetings(); len(ms) != 2 {
			t.Errorf("left: %+v", ms)
		}

		// Busy times of rooms and people.
		outbox := strings.Replace(dav.calendar, "meetings", "outbox", 1)
		_, busy := dav.want(t, http.StatusOK, http.MethodPost, outbox, strings.Join([]string{"BEGIN:VCALENDAR", "METHOD:REQUEST", "BEGIN:VFREEBUSY", "UID:f", "DTSTAMP:20261123T050000Z",
			"DTSTART:" + hour(-9).Format("20060102T150405Z"), "DTEND:" + hour(15).Format("20060102T150405Z"), "ORGANIZER:mailto:ada@example.org",
			"ATTENDEE:mailto:" + address, "ATTENDEE:mailto:bob@example.org", "ATTENDEE:mailto:nobody@example.com", "END:VFREEBUSY", "END:VCALENDAR", ""}, "\r\n"))
		if strings.Count(busy, "FREEBUSY;FBTYPE=BUSY:") != 3 || strings.Count(busy, "2.0;Success") != 2 || strings.Count(busy, "3.7;") != 1 {
			t.Errorf("busy: %s", busy)
		}
	})
}
