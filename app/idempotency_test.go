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

// Previews change nothing, so nothing is kept of them.
func TestIdempotency_keepsNothingOfPreviews(t *testing.T) {
	a, s := startApplication(t, nil)
	token := signIn(t, a, s)
	for _, path := range []string{"/series/preview", "/series/1/preview", "/config/plan"} {
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
