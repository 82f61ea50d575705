package app

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"punctual/app/audit"
	"punctual/app/config"
	"punctual/migrations"
	"punctual/notify"
	"punctual/notify/chat"
	ledger "punctual/notify/gormstore"
	"punctual/tests/testenv/testdb"
)

// An approver who chose chat gets requests there instead of by mail. The links of the message open a page, and
// only its button decides.
func TestChat_requestsAreDecidedFromMessages(t *testing.T) {
	for _, dialect := range []migrations.Dialect{migrations.Postgres, migrations.SQLite} {
		t.Run(string(dialect), func(t *testing.T) {
			var message string
			service := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				b, _ := io.ReadAll(r.Body)
				message = string(b)
			}))
			defer service.Close()
			dbURL := testdb.URL(t, dialect)
			a, s := startApplication(t, func(c *config.Config) {
				c.Database.URL, c.Booking.Undo, c.Topics.AllowNetworks = dbURL, 0, []string{"127.0.0.0/8"}
			})
			d := &departing{T: t, a: a, s: s, token: signIn(t, a, s), start: time.Now().AddDate(0, 0, 7).UTC().Truncate(24 * time.Hour).Add(9 * time.Hour)}
			bob := d.post("/users", `{"email":"bob@example.org","name":"Bob","role":"manager","password":"a long password"}`)
			bobs := "Bearer " + d.tokenOf("bob@example.org")
			d.post("/users", `{"email":"eve@example.org","name":"Eve","role":"member","password":"a long password"}`)
			room := d.post("/rooms", `{"name":"Turing","approval":{"required":true,"approver_ids":[`+strconv.FormatInt(bob, 10)+`]}}`)
			expect := func(method, path, body string, want int, contains string) {
				t.Helper()
				got := send(t, s, method, apiBase+path, body, "Authorization", bobs)
				if got.status != want || !strings.Contains(got.body, contains) {
					t.Errorf("%s %s: %d %s, want %d with %s", method, path, got.status, got.body, want, contains)
				}
			}
			expect("PATCH", "/me/preferences", `{"kinds":{"approval_request":["chat"]}}`, 422, `"no_chat"`)
			expect("POST", "/me/chat/test", "", 404, "")
			expect("PUT", "/me/chat", `{"service":"slack","url":"`+service.URL+`"}`, 422, `"body.url"`)
			if err := ledger.NewChats(a.db.Gorm, audit.Trail{}).Save(t.Context(), chat.Target{Owner: chat.Owner{UserID: bob}, Service: "generic", URL: service.URL + "/secret"}); err != nil {
				t.Fatal(err)
			}
			expect("GET", "/me/chat", "", 200, `"service":"generic"`)
			if got := send(t, s, "GET", apiBase+"/me/chat", "", "Authorization", bobs); strings.Contains(got.body, "secret") {
				t.Errorf("the address is in %s", got.body)
			}
			expect("POST", "/me/chat/test", "", 200, `"accepted":true`)
			expect("PATCH", "/me/preferences", `{"kinds":{"approval_request":["chat"]}}`, 200, "")

			eves := "Bearer " + d.tokenOf("eve@example.org")
			start := d.start.Format("2006-01-02T15:04:05Z07:00")
			end := d.start.Add(time.Hour).Format("2006-01-02T15:04:05Z07:00")
			if got := send(t, s, "POST", apiBase+"/meetings", `{"title":"Review","room_ids":[`+strconv.FormatInt(room, 10)+`],"start":"`+start+`","end":"`+end+`"}`, "Authorization", eves); got.status != 201 {
				t.Fatalf("%d %s", got.status, got.body)
			}
			sent := map[notify.Channel]notify.State{}
			for _, channel := range []notify.Channel{notify.Email, notify.Chat} {
				page, err := a.notifications.List(t.Context(), notify.Filter{Kind: notify.ApprovalRequest, Channel: channel})
				if err != nil || len(page.Items) != 1 {
					t.Fatalf("%s: %d requests, %v", channel, len(page.Items), err)
				}
				n := execute(t, a, page.Items[0])
				sent[channel] = n.State
				if strings.Contains(n.To.Address, "secret") {
					t.Errorf("the address is in the list: %s", n.To.Address)
				}
			}
			if sent[notify.Email] != notify.Skipped || sent[notify.Chat] != notify.Sent || !strings.Contains(message, "Review") {
				t.Fatalf("%v, message %s", sent, message)
			}
			link := regexp.MustCompile(`"(http[^"]*/decide\?[^"]*choice=approve)"`).FindStringSubmatch(message)
			if link == nil {
				t.Fatalf("no link in %s", message)
			}
			u, err := url.Parse(strings.ReplaceAll(link[1], `\u0026`, "&"))
			if err != nil {
				t.Fatal(err)
			}
			status := func() string {
				got := send(t, s, "GET", apiBase+"/meetings?status=pending&from="+url.QueryEscape(start)+"&to="+url.QueryEscape(end), "", "Authorization", bobs)
				return got.body
			}
			if page := send(t, s, "GET", u.RequestURI(), ""); page.status != 200 || !strings.Contains(status(), "Review") {
				t.Errorf("opening the link: %d, pending: %s", page.status, status())
			}
			form := url.Values{"token": {u.Query().Get("token")}, "choice": {"approve"}}.Encode()
			send(t, s, "POST", u.Path, form, "Content-Type", "application/x-www-form-urlencoded", "Origin", "http://localhost:8080")
			if strings.Contains(status(), "Review") {
				t.Error("the button did not decide")
			}
			expect("DELETE", "/me/chat", "", 204, "")
			expect("GET", "/me/chat", "", 200, `"service":null`)
		})
	}
}

// What happens in a room is posted in its channel, once for each event, as far as everyone may see it.
func TestChat_channels(t *testing.T) {
	for _, dialect := range []migrations.Dialect{migrations.Postgres, migrations.SQLite} {
		t.Run(string(dialect), func(t *testing.T) {
			var messages []string
			service := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				var body struct {
					Text  string
					Links []struct{ URL string }
				}
				if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
					t.Error(err)
				}
				text, _, _ := strings.Cut(body.Text, ", ")
				for _, l := range body.Links {
					text += " " + l.URL
				}
				messages = append(messages, text)
			}))
			defer service.Close()
			dbURL := testdb.URL(t, dialect)
			a, s := startApplication(t, func(c *config.Config) {
				c.Database.URL, c.Booking.Undo, c.Topics.AllowNetworks, c.HTTP.BaseURL = dbURL, 0, []string{"127.0.0.0/8"}, "https://r.example.org"
			})
			d := &departing{T: t, a: a, s: s, token: signIn(t, a, s), start: time.Now().AddDate(0, 0, 7).UTC().Truncate(24 * time.Hour).Add(9 * time.Hour)}
			site := d.post("/sites", `{"name":"Berlin"}`)
			room := strconv.FormatInt(d.post("/rooms", `{"name":"Turing","site_id":`+strconv.FormatInt(site, 10)+`}`), 10)
			chatOf := "/rooms/" + room + "/chat"
			d.do("PUT", chatOf, `{"service":"generic"}`, 422)
			d.do("PUT", "/rooms/99/chat", `{"service":"generic","url":"https://127.0.0.1/"}`, 404)
			d.do("GET", "/sites/99/chat", "", 404)
			d.do("POST", chatOf+"/test", "", 404)
			if got := d.do("GET", chatOf, "", 200); !strings.Contains(got, `"kinds":["invitation","change","cancellation","released"]`) {
				t.Errorf("by default: %s", got)
			}
			stored := ledger.NewChats(a.db.Gorm, audit.Trail{})
			for _, o := range []chat.Owner{{RoomID: 1}, {SiteID: site}} {
				if err := stored.Save(t.Context(), chat.Target{Owner: o, Service: "generic", URL: service.URL + "/secret", Kinds: notify.Postable(), Locale: "en"}); err != nil {
					t.Fatal(err)
				}
			}
			got := d.do("PUT", chatOf, `{"service":"generic","kinds":["invitation","change","cancellation"],"locale":"de"}`, 200) // keeps the address
			if strings.Contains(got, "secret") || !strings.Contains(got, `"locale":"de"`) {
				t.Errorf("connected: %s", got)
			}
			d.do("POST", chatOf+"/test", "", 200)

			at := func(hours int) string {
				from := d.start.Add(time.Duration(hours) * time.Hour)
				return `"room_ids":[` + room + `],"start":"` + from.Format(time.RFC3339) + `","end":"` + from.Add(time.Hour).Format(time.RFC3339) + `"`
			}
			review := "/meetings/" + strconv.FormatInt(d.post("/meetings", `{"title":"Review",`+at(0)+`}`), 10)
			d.post("/meetings", `{"title":"Salaries","visibility":"private",`+at(2)+`}`)
			d.do("POST", "/series", `{"title":"Weekly","timezone":"UTC","rrule":"FREQ=WEEKLY;COUNT=3",`+at(4)+`}`, 201)
			d.run("notify.chat", 5)
			d.do("PATCH", review, `{`+at(1)+`}`, 200)
			d.run("notify.chat", 5)
			d.do("POST", review+"/cancel", `{}`, 200)
			if err := a.db.Gorm.Exec("UPDATE meetings SET visibility = 'private' WHERE id = 1").Error; err != nil { // while the post waits
				t.Fatal(err)
			}
			d.do("POST", "/fault-reports", `{"room_id":`+room+`,"category":"other","text":"no chairs"}`, 201)
			d.run("notify.chat", 5)
			slices.Sort(messages)
			want := []string{
				"Abgesagt: Besprechung https://r.example.org/meetings/1", "Fault in Turing: something is broken\nWhere: Turing\nComment: no chairs", "Gebucht: Besprechung https://r.example.org/meetings/2", "Gebucht: Review https://r.example.org/meetings/1",
				"Gebucht: Weekly https://r.example.org/meetings/3", "Geändert: Review https://r.example.org/meetings/1", "Testnachricht von Punctual\nDieser Kanal ist mit Turing verbunden.",
			}
			if !slices.Equal(messages, want) {
				t.Errorf("posted %q\nwant   %q", messages, want)
			}
			if n := d.count("notifications WHERE channel = 'chat' AND state <> 'sent'"); n != 0 {
				t.Errorf("%d were not sent", n)
			}
			d.do("DELETE", "/sites/"+strconv.FormatInt(site, 10)+"/chat", "", 204)
			d.want("channels of sites", d.count("chat_targets WHERE site_id IS NOT NULL"), 0)
		})
	}
}
