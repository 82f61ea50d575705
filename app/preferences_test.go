package app

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"punctual/app/config"
	"punctual/delayjob"
	"punctual/migrations"
	"punctual/notify"
	ledger "punctual/notify/gormstore"
	"punctual/tests/testenv"
	"punctual/tests/testenv/testdb"
)

// told is an installation on both databases, whose mails go to a real server and whose text messages to
// the outbox. What is due is sent by send.
type told struct {
	*departing
	mails *testenv.MailServer
	bobs  string // token
}

func tellingOnBoth(t *testing.T, test func(d *told)) {
	for _, dialect := range []migrations.Dialect{migrations.Postgres, migrations.SQLite} {
		t.Run(string(dialect), func(t *testing.T) {
			mails := testenv.Mail(t)
			dbURL := testdb.URL(t, dialect)
			a, s := startApplication(t, func(c *config.Config) {
				c.Database.URL, c.HTTP.BaseURL, c.Booking.Undo, c.SMS.Driver = dbURL, "https://rooms.example.org", 0, "outbox"
				c.Email.Driver, c.Email.SMTP = "smtp", config.SMTP{Host: mails.Host(), Port: mails.Port(), TLS: "none"}
			})
			d := &departing{T: t, a: a, s: s, token: signIn(t, a, s), start: time.Now().AddDate(0, 0, 7).UTC().Truncate(24 * time.Hour)}
			d.bob = d.post("/users", `{"email":"bob@example.org","name":"Bob","role":"member","phone":"+4930999888","password":"a long password"}`)
			d.post("/rooms", `{"name":"Turing"}`)
			test(&told{departing: d, mails: mails, bobs: "Bearer " + d.tokenOf("bob@example.org")})
		})
	}
}

// deliver sends what is due. What is not sent is dropped with a reason, which the tests find in the ledger.
func (d *told) deliver() {
	d.Helper()
	for _, channel := range []notify.Channel{notify.Email, notify.SMS} {
		for _, j := range d.a.jobs {
			if j.Name() != channel.Job() {
				continue
			}
			for m, err := range j.Load(d.Context(), delayjob.Window{To: time.Now()}) {
				if err != nil {
					d.Fatal(err)
				}
				if err := j.Execute(d.Context(), m); err != nil {
					d.Logf("%s %s: %v", m.Job, m.Key, err)
				}
			}
		}
	}
}

// states of what a kind was recorded for, by channel.
func (d *told) states(meetingID int64, kind notify.Kind) string {
	d.Helper()
	page, err := d.a.notifications.List(d.Context(), notify.Filter{MeetingID: meetingID, Kind: kind, OldestFirst: true})
	if err != nil {
		d.Fatal(err)
	}
	var all []string
	for _, n := range page.Items {
		all = append(all, fmt.Sprintf("%s %s %s", n.Channel, n.To.Address, n.State))
	}
	return strings.Join(all, ", ")
}

func (d *departing) tokenOf(email string) string {
	d.Helper()
	var body struct{ Token string }
	res := send(d.T, d.s, "POST", "/api/v1/auth/login", fmt.Sprintf(`{"email":%q,"password":"a long password"}`, email))
	if err := json.Unmarshal([]byte(res.body), &body); err != nil {
		d.Fatal(err)
	}
	return body.Token
}

func (d *told) meet(day int) int64 {
	d.Helper()
	start := d.start.AddDate(0, 0, day).Add(9 * time.Hour)
	return d.post("/meetings", fmt.Sprintf(`{"title":"Review","room_ids":[1],"start":%q,"end":%q,"attendees":[{"email":"bob@example.org"},{"email":"guest@example.org"}]}`,
		start.Format(time.RFC3339), start.Add(time.Hour).Format(time.RFC3339)))
}

// Bob is notified as he chose: first by mail, then by SMS instead, then by both, then not at all.
func TestPreferences(t *testing.T) {
	tellingOnBoth(t, func(d *told) {
		as := func(method, path, body string, want int, headers ...string) answer {
			d.Helper()
			res := send(d.T, d.s, method, "/api/v1"+path, body, append(headers, "Authorization", d.bobs)...)
			if res.status != want {
				d.Fatalf("%s %s %s: %d, want %d: %s", method, path, body, res.status, want, res.body)
			}
			return res
		}
		got := as("GET", "/me/preferences", "", 200)
		if got.header.Get("ETag") != `"0"` || !strings.Contains(got.body, `{"kind":"invitation","channels":null,"default":null,"required":false}`) ||
			!strings.Contains(got.body, `{"kind":"approval_request","channels":null,"default":null,"required":true}`) ||
			!strings.Contains(got.body, `"channels":["email","sms","chat"],"quiet_hours":null`) {
			d.Fatalf("%s %s", got.header.Get("ETag"), got.body)
		}
		for body, fault := range map[string]string{
			`{"kinds":{"gossip":[]}}`:                                 "body.kinds.gossip",
			`{"kinds":{"reminder":["pigeon"]}}`:                       "body.kinds.reminder[0]",
			`{"kinds":{"reminder":["sms","sms"]}}`:                    "body.kinds.reminder[1]",
			`{"kinds":{"escalation":[]}}`:                             "body.kinds.escalation",
			`{"quiet_hours":{"from":"22:00","until":"25:00"}}`:        "body.quiet_hours.until",
			`{"quiet_hours":{"from":"22:00","until":"22:00"}}`:        "body.quiet_hours.until",
			`{"digest":{"period":"tomorrow","at":"5 pm"}}`:            "body.digest.at",
			`{"digest":{"period":"month"}}`:                           "body.digest.period",
			`{"quiet_hours":{"from":"22:00","until":"07:00"},"x":1}`:  "body.x",
			`{"kinds":{"invitation":"email"}}`:                        "body.kinds.invitation",
			`{"digest":{"period":"week","at":"17:00","weekday":"X"}}`: "body.digest.weekday",
		} {
			if res := as("PATCH", "/me/preferences", body, 422); !strings.Contains(res.body, fault) {
				d.Errorf("%s: %s", body, res.body)
			}
		}
		first := d.meet(0)
		d.deliver()
		if got, want := d.states(first, notify.Invitation), "email bob@example.org sent, email guest@example.org sent"; got != want {
			d.Errorf("without a choice: %s", got)
		}
		as("PATCH", "/me/preferences", `{"kinds":{"invitation":["sms"]}}`, 412, "If-Match", `"3"`)
		if got := as("PATCH", "/me/preferences", `{"kinds":{"invitation":["sms"]}}`, 200, "If-Match", `"0"`); got.header.Get("ETag") != `"1"` {
			d.Errorf("ETag %s", got.header.Get("ETag"))
		}
		second := d.meet(1)
		d.deliver()
		if got, want := d.states(second, notify.Invitation), "email bob@example.org skipped, email guest@example.org sent, sms +4930999888 sent"; got != want {
			d.Errorf("by SMS: %s", got)
		}
		// As if the process had died after it recorded the copy.
		d.exec("UPDATE notifications SET state = 'pending', last_error = '' WHERE meeting_id = ? AND state = 'skipped'", second)
		d.deliver()
		if again := d.states(second, notify.Invitation); again != "email bob@example.org skipped, email guest@example.org sent, sms +4930999888 sent" {
			d.Errorf("after a crash: %s", again)
		}
		as("PATCH", "/me/preferences", `{"kinds":{"invitation":["email","sms"],"cancellation":[]}}`, 200)
		third := d.meet(2)
		d.do("POST", fmt.Sprintf("/meetings/%d/cancel", third), `{}`, 200)
		d.deliver()
		if got, want := d.states(third, notify.Cancellation), "email bob@example.org skipped, email guest@example.org sent"; got != want {
			d.Errorf("none: %s", got)
		}
		fourth := d.meet(3)
		d.deliver()
		if got, want := d.states(fourth, notify.Invitation), "email bob@example.org sent, email guest@example.org sent, sms +4930999888 sent"; got != want {
			d.Errorf("by both: %s", got)
		}
		list := d.do("GET", fmt.Sprintf("/notifications?meeting_id=%d&state=skipped", second), "", 200)
		if !strings.Contains(list, "not sent: the recipient chose sms for this kind (invitation)") {
			d.Errorf("the reason: %s", list)
		}
		if audit := d.do("GET", "/audit?limit=50", "", 200); strings.Count(audit, "user.notifications_updated") != 2 {
			d.Errorf("the audit log: %s", audit)
		}
		if data := d.do("GET", fmt.Sprintf("/users/%d/data", d.bob), "", 200); !strings.Contains(data, `"choices":{"cancellation":[]`) {
			d.Errorf("the export lacks the choices: %s", data)
		}
	})
}

// What is not urgent waits until Bob's quiet hours end, and is then sent once.
func TestPreferences_quietHours(t *testing.T) {
	tellingOnBoth(t, func(d *told) {
		now := time.Now().UTC()
		clock := func(in time.Duration) string { return now.Add(in).Format("15:04") }
		body := fmt.Sprintf(`{"quiet_hours":{"from":%q,"until":%q}}`, clock(-2*time.Hour), clock(3*time.Hour))
		if res := send(d.T, d.s, "PATCH", "/api/v1/me/preferences", body, "Authorization", d.bobs); res.status != 200 {
			d.Fatal(res.body)
		}
		id := d.meet(0)
		d.deliver()
		if got, want := d.states(id, notify.Invitation), "email bob@example.org pending, email guest@example.org sent"; got != want {
			d.Fatalf("in quiet hours: %s", got)
		}
		page, err := d.a.notifications.List(d.Context(), notify.Filter{MeetingID: id, Address: "bob@example.org"})
		if err != nil {
			d.Fatal(err)
		}
		n := page.Items[0]
		if want := now.Add(3 * time.Hour).Truncate(time.Minute); !n.Due.Equal(want) || n.Attempts != 0 || len(n.Failures) != 0 || !strings.Contains(n.LastError, "quiet hours") {
			d.Errorf("waits until %v, want %v: %+v", n.Due, want, n)
		}
		// They are over.
		if err := d.a.db.Gorm.Exec("UPDATE notification_preferences SET quiet_from = NULL, quiet_until = NULL").Error; err != nil {
			d.Fatal(err)
		}
		if err := d.a.db.Gorm.Exec("UPDATE notifications SET due_at = ? WHERE id = ?", now, n.ID).Error; err != nil {
			d.Fatal(err)
		}
		d.deliver()
		if got, want := d.states(id, notify.Invitation), "email bob@example.org sent, email guest@example.org sent"; got != want {
			d.Errorf("after them: %s", got)
		}
	})
}

// choose changes the preferences of Bob.
func (d *told) choose(body string) {
	d.Helper()
	if res := send(d.T, d.s, "PATCH", "/api/v1/me/preferences", body, "Authorization", d.bobs); res.status != 200 {
		d.Fatalf("%s: %s", body, res.body)
	}
}

// night is a choice of quiet hours that contain now.
func night() string {
	now := time.Now().UTC()
	return fmt.Sprintf(`"quiet_hours":{"from":%q,"until":%q}`, now.Add(-2*time.Hour).Format("15:04"), now.Add(3*time.Hour).Format("15:04"))
}

// morning ends the quiet hours, and makes due what waited for their end.
func (d *told) morning() {
	d.Helper()
	d.exec("UPDATE notification_preferences SET quiet_from = NULL, quiet_until = NULL")
	d.exec("UPDATE notifications SET due_at = ? WHERE state = 'pending' AND due_at > ?", time.Now().UTC(), time.Now().UTC())
	d.deliver()
}

func (d *told) move(id int64, day, hour int) {
	d.Helper()
	start := d.start.AddDate(0, 0, day).Add(time.Duration(hour) * time.Hour)
	d.do("PATCH", fmt.Sprintf("/meetings/%d", id), fmt.Sprintf(`{"start":%q,"end":%q}`, start.Format(time.RFC3339), start.Add(time.Hour).Format(time.RFC3339)), 200)
}

// What waits follows the quiet hours when they change.
func TestPreferences_quietHoursChange(t *testing.T) {
	tellingOnBoth(t, func(d *told) {
		d.choose("{" + night() + "}")
		id := d.meet(0)
		d.deliver()
		until := time.Now().UTC().Add(90 * time.Minute).Truncate(time.Minute)
		d.choose(fmt.Sprintf(`{"quiet_hours":{"from":%q,"until":%q}}`, until.Add(-3*time.Hour).Format("15:04"), until.Format("15:04")))
		d.deliver()
		d.want("waiting until the new end", d.count("notifications WHERE state = 'pending' AND user_id = ? AND due_at = ?", d.bob, until), 1)
		d.choose(`{"quiet_hours":null}`)
		d.deliver()
		if got, want := d.states(id, notify.Invitation), "email bob@example.org sent, email guest@example.org sent"; got != want {
			d.Errorf("without quiet hours: %s", got)
		}
	})
}

// Bob wants invitations but no changes. A meeting moves before its invitation is sent: he is invited with the change,
// and not told of the next one.
func TestPreferences_changeReplacesInvitation(t *testing.T) {
	tellingOnBoth(t, func(d *told) {
		const guest = ", email guest@example.org "
		d.choose(`{"kinds":{"change":[]},` + night() + `}`)
		id := d.meet(0)
		d.deliver()
		d.move(id, 0, 11)
		d.deliver()
		if got := d.states(id, notify.Invitation); got != "email bob@example.org superseded"+guest+"sent" {
			d.Errorf("invitations: %s", got)
		}
		if got := d.states(id, notify.Change); got != "email bob@example.org pending"+guest+"sent" {
			d.Errorf("changes: %s", got)
		}
		d.morning()
		d.move(id, 0, 12)
		d.deliver()
		if got := d.states(id, notify.Change); got != "email bob@example.org sent"+guest+"sent, email bob@example.org skipped"+guest+"sent" {
			d.Errorf("changes: %s", got)
		}
		// The same by SMS.
		d.choose(`{"kinds":{"invitation":["sms"]},` + night() + `}`)
		id = d.meet(1)
		d.deliver()
		d.move(id, 1, 11)
		d.deliver()
		d.morning()
		d.move(id, 1, 12)
		d.deliver()
		if got := d.states(id, notify.Invitation); got != "email bob@example.org skipped"+guest+"sent, sms +4930999888 superseded, sms +4930999888 sent" {
			d.Errorf("invitations: %s", got)
		}
		if got := d.states(id, notify.Change); got != "email bob@example.org skipped"+guest+"sent, email bob@example.org skipped"+guest+"sent" {
			d.Errorf("changes: %s", got)
		}
		// A backlog: nothing is sent before the meeting moves.
		id = d.meet(2)
		d.move(id, 2, 11)
		d.deliver()
		d.deliver()
		if got := d.states(id, notify.Invitation); !strings.HasSuffix(got, "sms +4930999888 sent") {
			d.Errorf("invitations after a backlog: %s", got)
		}
	})
}

var unsubscribe = regexp.MustCompile(`^<https://rooms\.example\.org(/choose-mails\?token=[A-Za-z0-9_-]+)>$`)

// A guest switches reminders off with one click in the mail program, which works once for the address of
// the mail, and on again on the page. Reading the page changes nothing.
func TestPreferences_guestsUnsubscribe(t *testing.T) {
	tellingOnBoth(t, func(d *told) {
		form := []string{"Content-Type", "application/x-www-form-urlencoded"}
		start := time.Now().Add(time.Hour)
		meeting := d.meet(0)
		remind := func(minutes int64) {
			var ns []notify.Notification
			for _, to := range []string{"Guest@example.org", "other@example.org"} {
				ns = append(ns, notify.Notification{
					DedupeKey: fmt.Sprintf("test:%d:%s", minutes, to), Kind: notify.Reminder, Channel: notify.Email, To: notify.Recipient{Address: to}, Due: time.Now(),
					Facts: notify.Facts{Title: "Stand-up", Start: start, End: start.Add(time.Hour), Timezone: "UTC", Rooms: []string{"Turing"}, Before: "start", Offset: 60 * minutes},
				})
			}
			if err := d.a.ledger.Copy(d.Context(), ns); err != nil {
				d.Fatal(err)
			}
			d.deliver()
		}
		remind(15)
		var path string
		for _, m := range d.mails.Messages() {
			found := unsubscribe.FindStringSubmatch(m.Header.Get("List-Unsubscribe"))
			if calendar := m.Kind() == string(notify.Invitation); calendar != (found == nil) || !calendar && m.Header.Get("List-Unsubscribe-Post") != "List-Unsubscribe=One-Click" {
				d.Errorf("headers of a mail to %v: %v", m.To, m.Header)
			}
			if found != nil && slices.Contains(m.To, "Guest@example.org") {
				path = found[1]
			}
		}
		if path == "" {
			d.Fatal("no mail to the guest can be switched off")
		}
		optOuts := func() int64 { return d.count("notification_optouts") }
		for range 2 {
			if page := send(d.T, d.s, "GET", path, ""); page.status != 200 || !strings.Contains(page.body, "Turn off: Reminders") || optOuts() != 0 {
				d.Fatalf("%d %s", page.status, page.body)
			}
		}
		at, other := len(path)-8, "A" // the last characters may stand for the same bytes
		if path[at] == 'A' {
			other = "B"
		}
		forged := path[:at] + other + path[at+1:]
		if res := send(d.T, d.s, "POST", forged, "List-Unsubscribe=One-Click", form...); res.status != 404 || optOuts() != 0 {
			d.Errorf("a forged link: %d", res.status)
		}
		for range 2 {
			if res := send(d.T, d.s, "POST", path, "List-Unsubscribe=One-Click", form...); res.status != 200 || optOuts() != 1 {
				d.Errorf("one click: %d, %d switched off", res.status, optOuts())
			}
		}
		remind(5)
		if got, want := d.states(0, notify.Reminder), "email Guest@example.org sent, email other@example.org sent, email Guest@example.org skipped, email other@example.org sent"; got != want {
			d.Errorf("reminders: %s", got)
		}
		if got, want := d.states(meeting, notify.Invitation), "email bob@example.org sent, email guest@example.org sent"; got != want {
			d.Errorf("invitations: %s", got)
		}
		_, token, _ := strings.Cut(path, "token=")
		for _, c := range []struct {
			choice string
			off    int64
		}{{"reminder:on", 0}, {"invitations:off", 3}, {"decision:off", 3}, {"gossip", 3}} {
			body := url.Values{"token": {token}, "choice": {c.choice}}.Encode()
			send(d.T, d.s, "POST", "/choose-mails", body, form...)
			if got := optOuts(); got != c.off {
				d.Errorf("%s: %d kinds are switched off, want %d", c.choice, got, c.off)
			}
		}
	})
}

// A digest is recorded once, with what is in it, and nothing if there is nothing.
func TestPreferences_digest(t *testing.T) {
	tellingOnBoth(t, func(d *told) {
		bob := d.bobs
		if res := send(d.T, d.s, "PATCH", "/api/v1/me/preferences", `{"digest":{"period":"tomorrow","at":"17:00"}}`, "Authorization", bob); res.status != 200 || !strings.Contains(res.body, `T17:00:00Z`) {
			d.Fatal(res.body)
		}
		tomorrow := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, 1)
		// digest runs the job at an instant at which a digest of this version is due.
		digest := func(at time.Time, version int64) {
			d.exec("UPDATE notification_preferences SET digest_due_at = ?, digest_version = ?", at, version)
			job := &notify.Digests{
				Store: ledger.NewPreferences(d.a.db.Gorm, d.a.ledger), Agenda: d.a.agenda, Scheduler: d.a.scheduler,
				Now: func() time.Time { return at },
			}
			m := notify.DueDigest{UserID: d.bob, Version: version}.Message()
			for range 2 { // the second finds that another one is due
				if err := job.Execute(d.Context(), m); err != nil && !strings.Contains(err.Error(), "another digest is due") {
					d.Fatal(err)
				}
			}
		}
		digests := func() int64 { return d.count("notifications WHERE kind = 'digest'") }
		five := tomorrow.Add(-7 * time.Hour)
		digest(five, 20)
		d.want("digests of nothing", digests(), 0)
		at := tomorrow.Add(9 * time.Hour)
		d.post("/meetings", fmt.Sprintf(`{"title":"Launch","room_ids":[1],"start":%q,"end":%q,"attendees":[{"email":"bob@example.org"}]}`, at.Format(time.RFC3339), at.Add(time.Hour).Format(time.RFC3339)))
		d.post("/meetings", fmt.Sprintf(`{"title":"Not Bob's","room_ids":[1],"start":%q,"end":%q}`, at.Add(2*time.Hour).Format(time.RFC3339), at.Add(3*time.Hour).Format(time.RFC3339)))
		digest(five, 50)
		d.want("digests", digests(), 1)
		d.want("the next", d.count("notification_preferences WHERE digest_version = 51 AND digest_due_at = ?", tomorrow.Add(17*time.Hour).UTC()), 1)
		// A user who moves to the west is due again on the same date, but gets no second digest.
		d.exec("UPDATE users SET timezone = 'America/New_York' WHERE id = ?", d.bob)
		d.run(notify.JobDigest, 1)
		d.want("moved", d.count("notification_preferences WHERE digest_version = 52 AND digest_zone = 'America/New_York'"), 1)
		digest(five.Add(4*time.Hour), 60)
		d.want("digests", digests(), 1)
		// Another period is another digest, also on the same date.
		d.exec("UPDATE notification_preferences SET digest = 'week'")
		digest(five.Add(5*time.Hour), 70)
		d.want("digests of both periods", digests(), 2)
		d.exec("UPDATE notifications SET due_at = ? WHERE kind = 'digest'", time.Now().UTC())
		d.deliver()
		found := false
		for _, m := range d.mails.Messages() {
			text := string(m.Raw)
			found = found || strings.Contains(text, "X-Punctual-Kind: digest") && strings.Contains(text, "Launch") && !strings.Contains(text, "Not Bob")
		}
		if !found {
			d.Error("no digest with the meeting arrived")
		}
	})
}
