package app

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"punctual/app/config"
	"punctual/migrations"
	"punctual/notify"
	"punctual/tests/testenv/testdb"
)

// Every list that can be searched finds text in either case, of any alphabet, and without the spaces
// around it.
func TestSearch_eitherCase(t *testing.T) {
	day := time.Now().UTC().AddDate(0, 0, 7).Truncate(24 * time.Hour)
	at := func(d time.Duration) string { return day.Add(d).Format(time.RFC3339) }
	span := "from=" + at(0) + "&to=" + at(24*time.Hour)
	lists := map[string]string{
		"/meetings": span, "/rooms": "", "/grid": span, "/occupancy": "from=" + day.Format(time.DateOnly) + "&to=" + day.AddDate(0, 0, 1).Format(time.DateOnly), "/people": "", "/users": "", "/groups": "", "/notifications": "", "/notifications/bounces": "", "/audit": "", "/audit/export": "", "/mailroom/messages": "",
		"/reports/meetings": span + "&group=title", "/reports/meetings/list": span + "&format=csv",
	}
	for _, dialect := range []migrations.Dialect{migrations.SQLite, migrations.Postgres} {
		a, s := startApplication(t, func(c *config.Config) {
			c.Database.URL, c.Mailroom.Domain = testdb.URL(t, dialect), "rooms.example.org"
		})
		token := signIn(t, a, s)
		post := func(path, body string) {
			t.Helper()
			if res := send(t, s, "POST", "/api/v1"+path, body, "Authorization", "Bearer "+token); res.status != 201 {
				t.Fatalf("%s: %d %s", path, res.status, res.body)
			}
		}
		post("/users", `{"email":"e@example.org","name":"Émile Übung","role":"member","password":"a long password"}`)
		post("/rooms", `{"name":"ÜBUNG Émile","capacity":4,"address":"uebung"}`)
		post("/groups", `{"name":"ÜBUNG Émile"}`)
		post("/meetings", `{"room_ids":[1],"title":"Émile ÜBUNG","start":"`+at(9*time.Hour)+`","end":"`+at(10*time.Hour)+`","attendees":[{"email":"e@example.org"}]}`)

		mail := base64.StdEncoding.EncodeToString([]byte("From: <e@example.org>\r\nTo: <uebung@rooms.example.org>\r\nSubject: Émile ÜBUNG\r\n\r\n"))
		if res := send(t, s, "POST", "/api/v1/mailroom/messages", `{"raw":"`+mail+`"}`, "Authorization", "Bearer "+token); res.status != 200 {
			t.Fatalf("mail: %d %s", res.status, res.body)
		}

		if _, err := a.bounceStore.Mark(t.Context(), notify.Bounce{Address: "émile.übung@example.org", Source: "smtp", At: time.Now()}); err != nil {
			t.Fatal(err)
		}

		var doc struct {
			Paths map[string]map[string]struct {
				Parameters []struct{ Name, In string }
			}
		}
		if err := json.Unmarshal([]byte(send(t, s, "GET", "/openapi.json", "").body), &doc); err != nil {
			t.Fatal(err)
		}
		for path, item := range doc.Paths {
			for _, p := range item["get"].Parameters {
				if _, known := lists[path]; p.Name == "q" && !known && !strings.Contains(path, "{") {
					t.Errorf("%s can be searched, but this test does not know it", path)
				}
			}
		}
		for _, path := range slices.Sorted(maps.Keys(lists)) {
			if doc.Paths["/api/v1"+path] == nil && doc.Paths[path] == nil {
				continue
			}
			find := func(q string) string {
				res := send(t, s, "GET", "/api/v1"+path+"?"+lists[path]+"&q="+url.QueryEscape(q), "", "Authorization", "Bearer "+token)
				if res.status != 200 {
					t.Errorf("%s: %d %s", path, res.status, res.body)
				}
				return res.body
			}
			for _, q := range []string{"émile", "ÉMILE", "übung", "ÜBUNG", " Übung "} {
				if got := find(q); !strings.Contains(got, "mile") && !strings.Contains(got, `"room_id":1`) {
					t.Errorf("%s %s: %q finds nothing: %.200s", dialect, path, q, got)
				}
			}
		}
	}
}
