package app

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"punctual/account"
	"punctual/app/config"
	"punctual/app/idempotency"
	"punctual/migrations"
	"punctual/tests/testenv/testdb"
)

// A client that loses its connection at any instant and retries has one meeting, and the same answer
// each time, whichever instance it asks. PUNCTUAL_RETRIES is the number of meetings, 60 by default.
func TestIdempotency_lostConnections(t *testing.T) {
	n := 60
	if v := os.Getenv("PUNCTUAL_RETRIES"); v != "" {
		var err error
		if n, err = strconv.Atoi(v); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		dialect   migrations.Dialect
		instances int
	}{{migrations.SQLite, 1}, {migrations.Postgres, 2}} {
		t.Run(string(c.dialect), func(t *testing.T) {
			url := testdb.URL(t, c.dialect)
			var servers []*httptest.Server
			var token string
			for i := range c.instances {
				a, s := startApplication(t, func(c *config.Config) { c.Database.URL = url })
				a.level.Set(slog.LevelError)
				servers = append(servers, s)
				if i == 0 {
					token = signIn(t, a, s)
				}
			}
			room := send(t, servers[0], "POST", "/api/v1/rooms", `{"name":"Room","capacity":4}`, "Authorization", "Bearer "+token)
			if room.status != 201 {
				t.Fatalf("%d %s", room.status, room.body)
			}
			begin := time.Now().UTC().AddDate(0, 1, 0).Truncate(24 * time.Hour)
			body := func(i int) (path, text string) {
				start := begin.Add(time.Duration(i) * time.Hour)
				text = fmt.Sprintf(`{"room_ids":[1],"title":"Meeting %d","start":%q,"end":%q`, i, start.Format(time.RFC3339), start.Add(30*time.Minute).Format(time.RFC3339))
				if i%20 == 19 { // another time of day on 100 days
					start = begin.AddDate(0, 0, 60).Add(time.Duration(i/20) * 45 * time.Minute)
					text = fmt.Sprintf(`{"room_ids":[1],"title":"Meeting %d","start":%q,"end":%q`, i, start.Format(time.RFC3339), start.Add(30*time.Minute).Format(time.RFC3339))
					return "/api/v1/series", text + `,"timezone":"UTC","rrule":"FREQ=DAILY;COUNT=100"}`
				}
				return "/api/v1/meetings", text + "}"
			}
			var wg sync.WaitGroup
			places := make(chan struct{}, 8)
			var mu sync.Mutex
			ids := map[string]int{}
			for i := range n {
				wg.Go(func() {
					places <- struct{}{}
					defer func() { <-places }()
					path, text := body(i)
					key := fmt.Sprintf("retry-%d", i)
					for range 1 + i%3 {
						loseConnection(t, servers[rand.N(len(servers))], path, text, key, token)
					}
					var first answer
					for attempt := range 3 {
						a := send(t, servers[(i+attempt)%len(servers)], "POST", path, text, "Authorization", "Bearer "+token, "Idempotency-Key", key)
						if a.status != 201 {
							t.Errorf("%s %s: %d %.300s", path, key, a.status, a.body)
							return
						}
						if attempt == 0 {
							first = a
						} else if a.body != first.body || a.header.Get("ETag") != first.header.Get("ETag") || a.header.Get("Location") != first.header.Get("Location") {
							t.Errorf("%s: answers differ: replayed %q, then %q, ETag %s and %s:\n%s", key, first.header.Get("Idempotent-Replayed"),
								a.header.Get("Idempotent-Replayed"), first.header.Get("ETag"), a.header.Get("ETag"), cmp.Diff(first.body, a.body))
						}
					}
					mu.Lock()
					ids[first.header.Get("Location")]++
					mu.Unlock()
				})
			}
			wg.Wait()
			if len(ids) != n {
				t.Errorf("%d meetings, want %d", len(ids), n)
			}
			list := send(t, servers[0], "GET", "/api/v1/meetings?limit=500&from="+begin.Format(time.RFC3339)+"&to="+begin.AddDate(0, 0, 59).Format(time.RFC3339), "", "Authorization", "Bearer "+token)
			var page struct{ Items []struct{ Title string } }
			if err := json.Unmarshal([]byte(list.body), &page); err != nil || len(page.Items) != n-n/20 {
				t.Errorf("%d meetings in the list, want %d: %v %d %.200s", len(page.Items), n-n/20, err, list.status, list.body)
			}
		})
	}
}

// loseConnection sends a request and closes the connection within 8 ms.
func loseConnection(t *testing.T, s *httptest.Server, path, body, key, token string) {
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		t.Error(err)
		return
	}
	fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nIdempotency-Key: %s\r\nContent-Length: %d\r\n\r\n%s",
		path, token, key, len(body), body)
	time.Sleep(rand.N(8 * time.Millisecond))
	_ = conn.Close()
}

// TestIdempotency_lostResponses: if the process dies after it saved a change and before it stored the
// response, a retry gets the same status and the current body, and changes nothing. What cannot be
// read again is answered with 409 and, if it has one, its Location.
func TestIdempotency_lostResponses(t *testing.T) {
	for _, dialect := range []migrations.Dialect{migrations.SQLite, migrations.Postgres} {
		t.Run(string(dialect), func(t *testing.T) {
			a, s := startApplication(t, func(c *config.Config) {
				c.Database.URL, c.Booking.Undo = testdb.URL(t, dialect), 5*time.Minute
			})
			a.level.Set(slog.LevelError)
			auth := []string{"Authorization", "Bearer " + signIn(t, a, s)}
			counted := func() (n [3]int64) {
				t.Helper()
				for i, table := range []string{"audit", "history", "notifications"} {
					if err := a.db.Gorm.Table(table).Count(&n[i]).Error; err != nil {
						t.Fatal(err)
					}
				}
				return n
			}
			day := time.Now().UTC().AddDate(0, 0, 30).Format(time.DateOnly)
			at := func(hour int) string { return fmt.Sprintf("%sT%02d:00:00Z", day, hour) }
			slot := func(hour int) string { return fmt.Sprintf(`"start":%q,"end":%q`, at(hour), at(hour+1)) }
			secondDate := time.Now().UTC().AddDate(0, 0, 37).Format(time.DateOnly) + "T12:00:00Z"
			last := "" // meeting
			for i, c := range []struct {
				path, body string
				status     int  // of the retry
				located    bool // with 409: by its Location
			}{
				{"/sites", `{"name":"Site"}`, 201, false},
				{"/rooms", `{"name":"Room","capacity":4}`, 201, false},
				{"/rooms", `{"name":"Strict","capacity":4,"approval":{"required":true}}`, 201, false},
				{"/users", `{"name":"Eve","email":"eve@example.org","role":"member","password":"a long password"}`, 201, false},
				{"/groups", `{"name":"Group"}`, 201, false},
				{"/types", `{"name":"Exam"}`, 201, false},
				{"/custom-fields", `{"name":"cost","label":"Cost","kind":"text"}`, 201, false},
				{"/fault-reports", `{"room_id":1,"text":"The lamp is broken","category":"equipment"}`, 201, false},
				{"/meetings", `{"room_ids":[1],"title":"One",` + slot(9) + `,"attendees":[{"email":"a@example.org"}]}`, 201, false},
				{"/meetings", `{"room_ids":[1],"title":"Waits",` + slot(9) + `,"wait":true}`, 202, false},
				{"/waitlist", `{"room_ids":[1],"title":"Waits, too",` + slot(9) + `}`, 201, false},
				{"/meetings/{last}/cancel", `{"reason":"Rain"}`, 200, false},
				{"/meetings/{last}/undo", ``, 200, false},
				{"/series", `{"room_ids":[1],"title":"Weekly",` + slot(12) + `,"timezone":"UTC","rrule":"FREQ=WEEKLY;COUNT=3"}`, 201, false},
				{"/meetings", `{"room_ids":[1],"title":"Repeated",` + slot(15) + `,"timezone":"UTC"}`, 201, false},
				{"/meetings/{last}/repeat", `{"rrule":"FREQ=DAILY;COUNT=2"}`, 201, false},
				{"/series/1/cancel", `{"scope":"following","from":` + strconv.Quote(secondDate) + `}`, 200, false},
				{"/series/1/undo", ``, 200, false},
				{"/blackouts", `{"room_id":1,` + slot(20) + `,"reason":"Paint"}`, 409, true},
				{"/me/tokens", `{"name":"Token"}`, 409, false},
			} {
				c.path = strings.Replace(c.path, "{last}", last, 1)
				t.Run(strings.ReplaceAll(c.path[1:], "/", " "), func(t *testing.T) {
					key := append(auth, "Idempotency-Key", strconv.Itoa(i))
					first := send(t, s, "POST", "/api/v1"+c.path, c.body, key...)
					if first.status != c.status && (c.status != 409 || first.status/100 != 2) {
						t.Fatalf("%d %s", first.status, first.body)
					}
					location := first.header.Get("Location")
					if id, ok := strings.CutPrefix(location, "/api/v1/meetings/"); ok {
						last = id
					}
					lost := a.db.Gorm.Exec("UPDATE idempotency_keys SET status = 0, body = NULL, headers = '{}', lease_until = ? WHERE status <> 0 AND path = ?",
						time.Now().UTC().Add(-time.Second), "/api/v1"+c.path)
					if lost.Error != nil || lost.RowsAffected == 0 {
						t.Fatal(lost.RowsAffected, lost.Error)
					}
					before := counted()
					for range 2 {
						again := send(t, s, "POST", "/api/v1"+c.path, c.body, key...)
						if again.status != c.status || again.header.Get("Location") != location {
							t.Fatalf("%d, Location %q; want %d, %q: %s", again.status, again.header.Get("Location"), c.status, location, again.body)
						}
						if c.status == 409 {
							if c.located != (location != "") {
								t.Errorf("Location %q", location)
							}
							if !strings.Contains(again.body, `"state":"answered"`) {
								t.Errorf("%s", again.body)
							}
							continue
						}
						if diff := cmp.Diff(parsed(t, first.body), parsed(t, again.body)); diff != "" {
							t.Errorf("another body (- first, + again):\n%s", diff)
						}
						if again.header.Get("ETag") != first.header.Get("ETag") {
							t.Errorf("ETag %s, want %s", again.header.Get("ETag"), first.header.Get("ETag"))
						}
					}
					if after := counted(); after != before {
						t.Errorf("audit, history and notifications had %v rows, now %v", before, after)
					}
				})
			}
		})
	}
}

// parsed returns a body without what holds for some seconds only.
func parsed(t *testing.T, body string) (v map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(body), &v); err != nil {
		t.Errorf("%s: %v", body, err)
	}
	delete(v, "undo_until")
	return v
}

// Previews change nothing, so nothing is kept of them.
func TestIdempotency_keepsNothingOfPreviews(t *testing.T) {
	a, s := startApplication(t, nil)
	token := signIn(t, a, s)
	for _, path := range []string{"/series/preview", "/series/1/preview", "/meetings/1/repeat/preview", "/holidays/preview", "/config/plan"} {
		send(t, s, "POST", "/api/v1"+path, `{}`, "Authorization", "Bearer "+token, "Idempotency-Key", path)
	}
	var n int64
	if err := a.db.Gorm.Table("idempotency_keys").Count(&n).Error; err != nil || n != 0 {
		t.Errorf("%d keys are kept, %v", n, err)
	}
}

// Every POST with a secret in its request or its answer needs the caller's sign-in to open what is kept.
func TestIdempotency_everySecretIsBound(t *testing.T) {
	_, s := startApplication(t, nil)
	type content map[string]struct {
		Schema struct {
			Ref string `json:"$ref"`
		}
	}
	var api struct {
		Paths map[string]struct {
			Post *struct {
				OperationID string
				RequestBody struct{ Content content }
				Responses   map[string]struct{ Content content }
			}
		}
		Components struct {
			Schemas map[string]struct{ Properties map[string]any }
		}
	}
	if err := json.Unmarshal([]byte(send(t, s, "GET", "/openapi.json", "").body), &api); err != nil {
		t.Fatal(err)
	}
	secrets := []string{"password", "token", "secret", "code", "config"}
	holdsSecret := func(c content) bool {
		for _, m := range c {
			name := m.Schema.Ref[strings.LastIndexByte(m.Schema.Ref, '/')+1:]
			for property := range api.Components.Schemas[name].Properties {
				if slices.Contains(secrets, property) {
					return true
				}
			}
		}
		return false
	}
	for _, path := range api.Paths {
		op := path.Post
		if op == nil || account.Public(op.OperationID) || !idempotency.HasEffect(op.OperationID) {
			continue
		}
		secret := holdsSecret(op.RequestBody.Content)
		for status, res := range op.Responses {
			secret = secret || status[0] == '2' && holdsSecret(res.Content)
		}
		if bound := idempotency.BoundToSignIn(op.OperationID); bound != secret {
			t.Errorf("%s: bound to the sign-in: %v, want %v", op.OperationID, bound, secret)
		}
	}
}
