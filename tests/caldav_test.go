package tests

import (
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
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
			"/":          principal,
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

		// Everyone names and colors calendars for themselves.
		patch := func(path, change string) string {
			t.Helper()
			_, text := dav.want(t, http.StatusMultiStatus, "PROPPATCH", path, `<propertyupdate xmlns="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav" xmlns:a="http://apple.com/ns/ical/">`+change+`</propertyupdate>`)
			return text
		}
		shown := func(d *davUser, path string) string {
			t.Helper()
			_, text := d.want(t, http.StatusMultiStatus, "PROPFIND", path, `<propfind xmlns="DAV:" xmlns:a="http://apple.com/ns/ical/"><prop><displayname/><a:calendar-color/></prop></propfind>`, "Depth", "0")
			return text
		}
		for _, path := range []string{dav.calendar, ofRoom} {
			if text := patch(path, `<set><prop><a:calendar-color symbolic-color="red">#FF2968FF</a:calendar-color><displayname>Mine &amp; more</displayname></prop></set>`); strings.Count(text, "200 OK") != 1 {
				t.Errorf("a color: %s", text)
			}
			if text := shown(dav, path); !strings.Contains(text, "#FF2968FF") || !strings.Contains(text, "Mine &amp; more") {
				t.Errorf("a color: %s", text)
			}
			if text := patch(path, `<set><prop><getetag>x</getetag><displayname>Other</displayname></prop></set>`); !strings.Contains(text, "403") || !strings.Contains(text, "424") {
				t.Errorf("a property of the server: %s", text)
			}
		}
		if text := shown(other, ofRoom); !strings.Contains(text, ">Turing<") || strings.Contains(text, "#FF2968FF") {
			t.Errorf("bob sees ada's color: %s", text)
		}
		patch(ofRoom, `<remove><prop><a:calendar-color/></prop></remove><set><prop><displayname>Room</displayname></prop></set>`)
		if text := shown(dav, ofRoom); !strings.Contains(text, ">Room<") || strings.Contains(text, "#FF2968FF") {
			t.Errorf("a removed color: %s", text)
		}
		if text := patch(principal, `<set><prop><displayname>x</displayname></prop></set>`); !strings.Contains(text, "403") {
			t.Errorf("a person: %s", text)
		}
		dav.want(t, http.StatusInsufficientStorage, "PROPPATCH", ofRoom, `<propertyupdate xmlns="DAV:"><set><prop><x xmlns="y">`+strings.Repeat("z", 20_000)+`</x></prop></set></propertyupdate>`)

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
		theirsOfRoom := other.multi(t, "REPORT", ofRoom, `<c:calendar-query xmlns="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav"><prop><c:calendar-data/></prop></c:calendar-query>`)
		if all := fmt.Sprint(theirsOfRoom); len(theirsOfRoom.Responses) != 6 || strings.Contains(all, "Bonuses") || !strings.Contains(all, "SUMMARY:Busy") || strings.Contains(all, "RECURRENCE-ID") {
			t.Errorf("the room: %s", all)
		}
		if gone, _ := dav.changes(t, dav.calendar, last); len(gone) != 2 {
			t.Errorf("at last: %v", gone)
		}
	})
}

// eventText is an event as programs write it, with an alarm.
// everything asks for all events of a calendar.
const everything = `<c:calendar-query xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav"><d:prop><c:calendar-data/></d:prop>` +
	`<c:filter><c:comp-filter name="VCALENDAR"/></c:filter></c:calendar-query>`

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
		c.YAML += davOn + mailroomYAML + "  conflicts: { percent: 30, count: 1 }\n"
		server := testenv.Server(t, c)
		admin := server.Admin(t)
		ada, bob := admin.NewUser(t, "Ada", "member"), admin.NewUser(t, "Bob", "member")
		room := admin.NewRoom(t, "Turing", with{"timezone": "UTC", "address": "turing"})
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
		if put(http.StatusCreated, "old.ics", strings.NewReplacer("uid-3", "uid-3-old", start.Format("20060102"), "20010203").Replace(private)); !strings.Contains(get("old.ics"), "20010203") {
			t.Error("an old event of one's own is lost")
		}
		put(http.StatusForbidden, "null.ics", strings.Replace(strings.Replace(private, "uid-3", "uid-null", 1), "Dentist", "Den\x00tist", 1))
		put(http.StatusForbidden, "latin.ics", strings.Replace(strings.Replace(private, "uid-3", "uid-latin", 1), "Dentist", "Z\xe4hne", 1))
		put(http.StatusForbidden, "long.ics", strings.Replace(private, "uid-3", strings.Repeat("u", 1001), 1))
		put(http.StatusCreated, "mail.ics", eventText("uid-4", "By mail", hour(2), hour(3), "ATTENDEE;CUTYPE=ROOM;SCHEDULE-AGENT=CLIENT:mailto:"+address))
		if ms := meetings(); len(ms) != 1 {
			t.Errorf("booked %+v", ms)
		}
		// The mail address of a room invites it, too.
		mailed := eventText("uid-7", "Mailed", hour(3), hour(4), "ATTENDEE;CN=Turing:MAILTO:Turing@rooms.example.org")
		put(http.StatusCreated, "mailed.ics", mailed)
		if text := get("mailed.ics"); strings.Count(text, "CUTYPE=ROOM") != 1 || !strings.Contains(text, "PARTSTAT=ACCEPTED") || len(meetings()) != 2 {
			t.Errorf("the mail address of a room: %s", text)
		}
		put(http.StatusNoContent, "mailed.ics", strings.Replace(mailed, "Mailed", "Mailed again", 1))
		if ms := meetings(); len(ms) != 2 || ms[1].Title != "Mailed again" {
			t.Errorf("changed to %+v", ms)
		}
		put(http.StatusCreated, "taken.ics", eventText("uid-8", "Taken", hour(3), hour(4), "ATTENDEE;CN=Turing:mailto:turing@rooms.example.org"))
		if text := get("taken.ics"); !strings.Contains(text, "PARTSTAT=DECLINED") {
			t.Errorf("the mail address of a taken room: %s", text)
		}
		dav.want(t, http.StatusNoContent, http.MethodDelete, dav.calendar+"mailed.ics", "")

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

		ask := func(days, people int) string {
			lines := []string{"BEGIN:VCALENDAR", "METHOD:REQUEST", "BEGIN:VFREEBUSY", "UID:f", "DTSTART:20270301T000000Z", "DTEND:" + time.Date(2027, 3, 1+days, 0, 0, 0, 0, time.UTC).Format("20060102T150405Z")}
			for range people {
				lines = append(lines, "ATTENDEE:mailto:bob@example.org")
			}
			return strings.Join(append(lines, "END:VFREEBUSY", "END:VCALENDAR", ""), "\r\n")
		}
		dav.want(t, http.StatusOK, http.MethodPost, outbox, ask(31, 100))
		dav.want(t, http.StatusForbidden, http.MethodPost, outbox, ask(32, 1))
		dav.want(t, http.StatusForbidden, http.MethodPost, outbox, ask(1, 101))
		status := 0
		for range 130 { // of the 120 searches for people that GET /people/busy counts, too
			if status, _, _ = dav.do(t, http.MethodPost, outbox, ask(1, 41)); status != http.StatusOK {
				break
			}
		}
		if status != http.StatusTooManyRequests {
			t.Errorf("%d after many searches for people", status)
		}

		day := func(h int) time.Time { return hour(24 + h) }
		// One answer is limited.
		long := slices.Repeat([]string{"X-NOTE:" + strings.Repeat("x", 60_000)}, 16)
		for i := range 18 {
			put(http.StatusCreated, fmt.Sprintf("long%d.ics", i), eventText(fmt.Sprintf("long-%d", i), "Long", day(0), day(1), long...))
		}
		if _, refused := dav.want(t, http.StatusForbidden, "REPORT", dav.calendar, everything); !strings.Contains(refused, "number-of-matches-within-limits") {
			t.Error(refused)
		}
		for i := range 18 {
			dav.want(t, http.StatusNoContent, http.MethodDelete, dav.calendar+fmt.Sprintf("long%d.ics", i), "")
		}

		// Of several rooms, each answers for itself; one that declined is asked again when the meeting moves.
		hopper := admin.NewRoom(t, "Hopper", with{"timezone": "UTC", "address": "hopper"})
		invited := func(title string) (found []testenv.Meeting) {
			for _, m := range meetings() {
				if m.Title == title {
					found = append(found, m)
				}
			}
			return found
		}
		both := []string{"ORGANIZER:mailto:ada@example.org", inRoom, "ATTENDEE;CN=Hopper:mailto:hopper@rooms.example.org"}
		blocker := bob.Book(t, testenv.Booking(day(0), day(1), []int64{room.ID}))
		put(http.StatusCreated, "both.ics", eventText("uid-9", "Both", day(0), day(1), both...))
		for range 2 {
			if ms := invited("Both"); len(ms) != 1 || len(ms[0].RoomIDs) != 1 || ms[0].RoomIDs[0] != hopper.ID {
				t.Fatalf("booked %+v", ms)
			}
			if text := get("both.ics"); strings.Count(text, "PARTSTAT=ACCEPTED") != 1 || strings.Count(text, "PARTSTAT=DECLINED") != 1 || !strings.Contains(text, "LOCATION:Hopper") {
				t.Errorf("two rooms, one taken: %s", text)
			}
			put(http.StatusNoContent, "both.ics", eventText("uid-9", "Both", day(0), day(1), append(both, "COMMENT:x")...))
		}
		put(http.StatusNoContent, "both.ics", eventText("uid-9", "Both", day(2), day(3), both...))
		if text := get("both.ics"); strings.Count(text, "PARTSTAT=ACCEPTED") != 2 || strings.Contains(text, "PARTSTAT=DECLINED") {
			t.Errorf("two free rooms: %s", text)
		}
		// If a meeting moves, rooms that it holds answer again. If none is left, the event stays and books nothing.
		header = put(http.StatusNoContent, "both.ics", eventText("uid-9", "Both", day(0), day(1), both...))
		if ms := invited("Both"); len(ms) != 1 || !slices.Equal(ms[0].RoomIDs, []int64{hopper.ID}) || !ms[0].Start.Equal(day(0)) {
			t.Errorf("moved to where one of two rooms is taken: %+v", ms)
		}
		if text := get("both.ics"); strings.Count(text, "PARTSTAT=DECLINED") != 1 || header.Get("ETag") != "" || header.Get("Schedule-Tag") == "" {
			t.Errorf("moved to where one of two rooms is taken: %v %s", header, text)
		}
		bob.Book(t, testenv.Booking(day(2), day(3), []int64{room.ID})) // its old time is free
		put(http.StatusNoContent, "both.ics", eventText("uid-9", "Both", day(0), day(1), "ORGANIZER:mailto:ada@example.org", inRoom))
		if text := get("both.ics"); len(invited("Both")) != 0 || strings.Count(text, "PARTSTAT=DECLINED") != 1 {
			t.Errorf("moved to a taken room: %+v %s", invited("Both"), text)
		}
		cancel(t, bob, blocker.ID)
		put(http.StatusNoContent, "both.ics", eventText("uid-9", "Both", day(0), day(1), both...))
		put(http.StatusForbidden, "both.ics", eventText("uid-9", "Both", day(0), day(1)))
		put(http.StatusNoContent, "both.ics", eventText("uid-9", "Both", day(0), day(1), "ORGANIZER:mailto:ada@example.org", "ATTENDEE:mailto:bob@example.org"))
		if text := get("both.ics"); len(invited("Both")) != 0 || !strings.Contains(text, "SUMMARY:Both") {
			t.Errorf("without its rooms: %+v %s", invited("Both"), text)
		}

		// A meeting becomes a series, and stays its first date.
		single := eventText("uid-10", "Grows", day(4), day(5), both...)
		put(http.StatusCreated, "grows.ics", single)
		first := invited("Grows")
		put(http.StatusNoContent, "grows.ics", eventText("uid-10", "Grows", day(4), day(5), append([]string{"RRULE:FREQ=WEEKLY;COUNT=3"}, both...)...))
		if ms := invited("Grows"); len(ms) != 3 || ms[0].ID != first[0].ID {
			t.Errorf("a series of %+v, which began as %+v", ms, first)
		}
		if text := get("grows.ics"); !strings.Contains(text, "RRULE:FREQ=WEEKLY;COUNT=3") || !strings.Contains(text, "UID:uid-10") || strings.Count(text, "PARTSTAT=ACCEPTED") != 2 {
			t.Errorf("a meeting that became a series: %s", text)
		}
		// A series becomes a single meeting, again a series, and moves back and forth.
		for range 2 {
			put(http.StatusNoContent, "grows.ics", single)
			if ms := invited("Grows"); len(ms) != 1 || ms[0].ID != first[0].ID || !ms[0].Start.Equal(day(4)) {
				t.Errorf("a single meeting of %+v, which began as %+v", ms, first)
			}
			if text := get("grows.ics"); strings.Contains(text, "RRULE") || strings.Contains(text, "RECURRENCE-ID") || !strings.Contains(text, "UID:uid-10") {
				t.Errorf("a series that became a meeting: %s", text)
			}
			put(http.StatusNoContent, "grows.ics", eventText("uid-10", "Grows", day(4), day(5), append([]string{"RRULE:FREQ=WEEKLY;COUNT=3"}, both...)...))
			if ms := invited("Grows"); len(ms) != 3 || ms[0].ID != first[0].ID {
				t.Errorf("again a series of %+v, which began as %+v", ms, first)
			}
		}
		// Dates differ, no longer differ, are excluded and come back; one that is taken declines and is kept.
		later := func(n, h int) time.Time { return day(h).AddDate(0, 0, 7*n) }
		grown := func(dates string, more ...string) string {
			text := eventText("uid-10", "Grows", day(4), day(5), append(append([]string{"RRULE:FREQ=WEEKLY;COUNT=3"}, more...), both...)...)
			return strings.Replace(text, "END:VCALENDAR\r\n", dates+"END:VCALENDAR\r\n", 1)
		}
		differing := func(n, h int, more ...string) string {
			text := eventText("uid-10", "Grows", later(n, h), later(n, h+1), append(append([]string{"RECURRENCE-ID:" + later(n, 4).Format("20060102T150405Z")}, more...), both...)...)
			_, text, _ = strings.Cut(text, "PRODID:-//Test//EN\r\n")
			return strings.TrimSuffix(text, "END:VCALENDAR\r\n")
		}
		blocker = bob.Book(t, testenv.Booking(later(1, 9), later(1, 10), []int64{room.ID, hopper.ID}))
		exclude := "EXDATE:" + later(1, 4).Format("20060102T150405Z")
		for _, step := range []struct {
			name, text string
			starts     []time.Time
			declined   int
		}{
			{"a date moves", grown(differing(1, 6)), []time.Time{day(4), later(1, 6), later(2, 4)}, 0},
			{"it moves back", grown(""), []time.Time{day(4), later(1, 4), later(2, 4)}, 0},
			{"it is excluded", grown("", exclude), []time.Time{day(4), later(2, 4)}, 0},
			{"it is back", grown(""), []time.Time{day(4), later(1, 4), later(2, 4)}, 0},
			{"it moves to where the rooms are taken", grown(differing(1, 9)), []time.Time{day(4), later(2, 4)}, 2},
			{"nothing changes", grown(differing(1, 9)), []time.Time{day(4), later(2, 4)}, 2},
			{"it moves to where they are free", grown(differing(1, 6)), []time.Time{day(4), later(1, 6), later(2, 4)}, 0},
			{"it is cancelled", grown(differing(1, 6, "STATUS:CANCELLED")), []time.Time{day(4), later(2, 4)}, 0},
			{"the series moves", strings.Replace(grown(""), "COUNT=3", "COUNT=4", 1), []time.Time{day(4), later(1, 4), later(2, 4), later(3, 4)}, 0},
		} {
			put(http.StatusNoContent, "grows.ics", step.text)
			var starts []time.Time
			for _, m := range invited("Grows") {
				starts = append(starts, m.Start.UTC())
			}
			text := get("grows.ics")
			if !slices.Equal(starts, step.starts) || strings.Count(text, "PARTSTAT=DECLINED") != step.declined {
				t.Errorf("%s: at %v, want %v: %s", step.name, starts, step.starts, text)
			}
			if step.declined > 0 && (strings.Count(text, "BEGIN:VEVENT") != 2 || strings.Contains(text, "EXDATE")) {
				t.Errorf("%s: the date is lost: %s", step.name, text)
			}
		}

		// A date whose usual time is taken by now is judged at its own, in each of its rooms.
		put(http.StatusNoContent, "grows.ics", grown("", exclude))
		bob.Book(t, testenv.Booking(later(1, 4), later(1, 5), []int64{room.ID, hopper.ID}))
		bob.Book(t, testenv.Booking(later(1, 6), later(1, 7), []int64{room.ID}))
		put(http.StatusNoContent, "grows.ics", grown(differing(1, 6)))
		if ms, text := invited("Grows"), get("grows.ics"); len(ms) != 3 || !ms[1].Start.Equal(later(1, 6)) || !slices.Equal(ms[1].RoomIDs, []int64{hopper.ID}) || strings.Count(text, "PARTSTAT=DECLINED") != 1 {
			t.Errorf("a date at its own time in one of two rooms: %+v %s", ms, text)
		}

		// A change is made as a whole, or not at all.
		kept0, shown0 := invited("Grows"), get("grows.ics")
		past := strings.Replace(differing(2, 6), "DTSTART:"+later(2, 6).Format("20060102"), "DTSTART:20260101", 1)
		past = strings.Replace(past, "DTEND:"+later(2, 6).Format("20060102"), "DTEND:20260101", 1)
		half := strings.Replace(grown(differing(1, 6)+past), "SUMMARY:Grows", "SUMMARY:Half", 1)
		if _, why := dav.want(t, http.StatusForbidden, http.MethodPut, dav.calendar+"grows.ics", half); !strings.Contains(why, "start must be in the future") {
			t.Errorf("a date in the past: %s", why)
		}
		if ms := invited("Grows"); len(ms) != len(kept0) || ms[0].Version != kept0[0].Version || len(invited("Half")) != 0 || get("grows.ics") != shown0 {
			t.Errorf("a refused change left %+v and %+v", ms, invited("Half"))
		}

		// The address of a site invites any of its rooms. The event keeps its room, and shows it.
		var site struct{ ID int64 }
		admin.Want(t, http.StatusCreated, http.MethodPost, "/sites", with{"name": "Berlin", "timezone": "UTC", "address": "berlin"}, &site)
		var rooms []int64
		for _, name := range []string{"Lovelace", "Noether"} {
			rooms = append(rooms, admin.NewRoom(t, name, with{"site_id": site.ID, "capacity": 4}).ID)
		}
		anyRoom := "ATTENDEE;CN=Berlin:mailto:berlin@rooms.example.org"
		for i, name := range []string{"any-1", "any-2", "any-3"} {
			put(http.StatusCreated, name+".ics", eventText(name, name, day(6), day(7), anyRoom))
			text, booked := get(name+".ics"), invited(name)
			if i == 2 {
				if len(booked) != 0 || !strings.Contains(text, "PARTSTAT=DECLINED") || !strings.Contains(text, "berlin@rooms.example.org") {
					t.Errorf("without a free room: %+v, %s", booked, text)
				}
				continue
			}
			if len(booked) != 1 || len(booked[0].Attendees) != 0 || !strings.Contains(text, "LOCATION:"+booked[0].Rooms[0].Name) || strings.Contains(text, "berlin@") {
				t.Fatalf("any room: %+v, %s", booked, text)
			}
		}
		admin.Want(t, http.StatusOK, http.MethodPatch, fmt.Sprintf("/rooms/%d", rooms[1]), with{"features": []string{"Video wall"}}, nil)
		for i, wall := range []string{"berlin+video-wall", "berlin+piano"} {
			name := fmt.Sprint("wall-", i)
			put(http.StatusCreated, name+".ics", eventText(name, name, day(20), day(21), strings.Replace(anyRoom, "berlin@", wall+"@", 1)))
			if ms := invited(name); i == 0 && (len(ms) != 1 || ms[0].RoomIDs[0] != rooms[1]) || i == 1 && (len(ms) != 0 || !strings.Contains(get(name+".ics"), "PARTSTAT=DECLINED")) {
				t.Errorf("any room with a feature: %+v", ms)
			}
		}
		kept := invited("any-1")[0].RoomIDs[0]
		put(http.StatusNoContent, "any-1.ics", eventText("any-1", "any-1", day(7), day(8), anyRoom))
		if ms := invited("any-1"); len(ms) != 1 || ms[0].RoomIDs[0] != kept || !ms[0].Start.Equal(day(7)) {
			t.Errorf("any room was %d, and moved to %+v", kept, ms)
		}
		put(http.StatusNoContent, "any-3.ics", eventText("any-3", "any-3", day(6), day(7), anyRoom))
		if ms := invited("any-3"); len(ms) != 1 || ms[0].RoomIDs[0] != kept {
			t.Errorf("the room that became free is %d: %+v", kept, ms)
		}
		// Of a series it is a room that is free on all dates. Then none is.
		for i, n := range []int{2, 1} { // the week in which a room is taken
			bob.Book(t, testenv.Booking(later(n, 9), later(n, 10), []int64{rooms[i]}))
			name := "any-series-" + strconv.Itoa(i)
			put(http.StatusCreated, name+".ics", eventText(name, name, later(0, 9), later(0, 10), "RRULE:FREQ=WEEKLY;COUNT=3", anyRoom))
			ms, text := invited(name), get(name+".ics")
			if i == 0 && (len(ms) != 3 || ms[0].RoomIDs[0] != rooms[1] || !strings.Contains(text, "PARTSTAT=ACCEPTED")) || i == 1 && (len(ms) != 0 || !strings.Contains(text, "PARTSTAT=DECLINED")) {
				t.Errorf("any room for a series: %+v %s", ms, text)
			}
			for _, m := range ms {
				cancel(t, ada, m.ID)
			}
		}

		// As many dates of a series may be taken as mailroom.conflicts says. They decline.
		bob.Book(t, testenv.Booking(later(1, 11), later(1, 12), []int64{room.ID}))
		partly := eventText("partly", "Partly", later(0, 11), later(0, 12), "RRULE:FREQ=WEEKLY;COUNT=4", "ORGANIZER:mailto:ada@example.org", inRoom)
		put(http.StatusCreated, "partly.ics", partly)
		for range 2 {
			text := get("partly.ics")
			if ms := invited("Partly"); len(ms) != 3 || strings.Count(text, "PARTSTAT=DECLINED") != 1 || !strings.Contains(text, "RECURRENCE-ID:"+later(1, 11).Format("20060102T150405Z")) || strings.Contains(text, "EXDATE") {
				t.Errorf("a series with a date that is taken: %+v %s", ms, text)
			}
			put(http.StatusNoContent, "partly.ics", text)
		}
		// So may those of a series that moves: the date is not left at its former time.
		bob.Book(t, testenv.Booking(later(2, 13), later(2, 14), []int64{room.ID}))
		for i, h := range []int{12, 13} {
			status := []int{http.StatusCreated, http.StatusNoContent}[i]
			put(status, "moving.ics", eventText("moving", "Moving", later(0, h), later(0, h+1), "RRULE:FREQ=WEEKLY;COUNT=4", "ORGANIZER:mailto:ada@example.org", inRoom))
		}
		if ms, text := invited("Moving"), get("moving.ics"); len(ms) != 3 || !ms[0].Start.Equal(later(0, 13)) || !ms[2].Start.Equal(later(3, 13)) ||
			strings.Count(text, "PARTSTAT=DECLINED") != 1 || !strings.Contains(text, "RECURRENCE-ID:"+later(2, 13).Format("20060102T150405Z")) {
			t.Errorf("a series that moves to where a date is taken: %+v %s", ms, text)
		}

		// A program that mails its invitation, too, is answered with what is booked. Nothing is booked twice.
		put(http.StatusCreated, "mailed.ics", eventText("mailed", "Mailed", day(22), day(23), "ORGANIZER:mailto:ada@example.org", inRoom))
		byMail := invite{uid: "mailed", from: "ada@example.org", to: "turing@rooms.example.org", start: day(22)}
		for _, method := range []string{"REQUEST", "CANCEL"} {
			byMail.method = method
			if code := deliver(t, server, byMail.to, byMail.eml()); code != 250 {
				t.Fatalf("%s: %d", method, code)
			}
		}
		var received []receivedMail
		eventually(t, time.Now().Add(slack), "both mails are processed", func() bool {
			received = testenv.All[receivedMail](t, admin, "/mailroom/messages?q=mailed")
			return len(received) == 2 && received[0].State != "new" && received[1].State != "new"
		})
		for _, m := range received {
			if o := m.Outcome; len(o.MeetingIDs) != 1 || len(o.Answers) > 0 && o.Answers[0].Status != "ACCEPTED" {
				t.Errorf("mailed: %+v", o)
			}
		}
		if ms := invited("Mailed"); len(ms) != 1 || len(invited("Review")) != 0 {
			t.Errorf("booked over CalDAV and by mail: %+v", ms)
		}

		// So is one whose mail comes first. Its program keeps the meeting then, and notifies its attendees.
		byMail = invite{uid: "first", from: "ada@example.org", to: "turing@rooms.example.org", start: day(24)}
		if code := deliver(t, server, byMail.to, byMail.eml()); code != 250 {
			t.Fatalf("an invitation: %d", code)
		}
		eventually(t, time.Now().Add(slack), "the invitation is booked", func() bool { return len(invited("Review")) > 0 })
		ofMail := invited("Review")[0]
		for i, h := range []int{24, 25} {
			status := []int{http.StatusCreated, http.StatusNoContent}[i]
			put(status, "first.ics", eventText("first", "Review", day(h), day(h+1), append([]string{"RRULE:FREQ=DAILY;COUNT=2"}, people...)...))
			if ms := invited("Review"); len(ms) != 2 || ms[0].ID != ofMail.ID || !ms[0].Start.Equal(day(h)) {
				t.Errorf("by mail and then over CalDAV: %+v, which began as %+v", ms, ofMail)
			}
			if text := get("first.ics"); !strings.Contains(text, "PARTSTAT=ACCEPTED") || !strings.Contains(text, "UID:first\r\n") {
				t.Errorf("by mail and then over CalDAV: %s", text)
			}
		}
		byMail.method = "CANCEL"
		deliver(t, server, byMail.to, byMail.eml())
		eventually(t, time.Now().Add(slack), "the cancellation is processed", func() bool {
			received = testenv.All[receivedMail](t, admin, "/mailroom/messages?q=first")
			return len(received) == 2 && received[0].State != "new" && received[1].State != "new"
		})
		var origin struct{ Origin struct{ Kind, UID string } }
		ada.Want(t, http.StatusOK, http.MethodGet, fmt.Sprintf("/meetings/%d", ofMail.ID), nil, &origin)
		if len(invited("Review")) != 2 || origin.Origin.Kind != "caldav" || origin.Origin.UID != "first" {
			t.Errorf("cancelled by mail: %+v, %+v", invited("Review"), origin)
		}
		dav.want(t, http.StatusNoContent, http.MethodDelete, dav.calendar+"first.ics", "")

		// Only its organizer's calendar can change a meeting that came by mail.
		if code := deliver(t, server, "turing@rooms.example.org", invite{uid: "foreign", from: "ada@example.org", to: "turing@rooms.example.org", start: day(9)}.eml()); code != 250 {
			t.Fatalf("an invitation: %d", code)
		}
		eventually(t, time.Now().Add(slack), "the invitation is booked", func() bool { return len(invited("Review")) > 0 })
		name := fmt.Sprintf("meeting-%d.ics", invited("Review")[0].ID)
		if _, text := dav.want(t, http.StatusForbidden, http.MethodPut, dav.calendar+name, strings.Replace(get(name), "SUMMARY:Review", "SUMMARY:Other", 1)); !strings.Contains(text, "only the organizer") {
			t.Errorf("a meeting that came by mail: %s", text)
		}
		// If their program keeps the event here as well and invites the room by mail, the calendar shows it once.
		put(http.StatusCreated, "outlook.ics", eventText("foreign", "Review", day(9), day(10), "ORGANIZER:mailto:ada@example.org", "ATTENDEE;CUTYPE=ROOM;SCHEDULE-AGENT=CLIENT:mailto:turing@rooms.example.org"))
		names := func() []string {
			found, _ := dav.changes(t, dav.calendar, "")
			return slices.DeleteFunc(slices.Collect(maps.Keys(found)), func(n string) bool { return n != name && n != "outlook.ics" })
		}
		if n := names(); !slices.Equal(n, []string{"outlook.ics"}) || len(invited("Review")) != 1 {
			t.Errorf("an event that came by mail and over CalDAV: %v, %+v", n, invited("Review"))
		}
		dav.want(t, http.StatusNoContent, http.MethodDelete, dav.calendar+"outlook.ics", "")
		if n := names(); !slices.Equal(n, []string{name}) || len(invited("Review")) != 1 {
			t.Errorf("after the event was deleted: %v, %+v", n, invited("Review"))
		}
	})
}
