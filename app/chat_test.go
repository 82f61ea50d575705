package app

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
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
			if err := ledger.NewChats(a.db.Gorm, audit.Trail{}).Save(t.Context(), chat.Target{UserID: bob, Service: "generic", URL: service.URL + "/secret"}); err != nil {
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
