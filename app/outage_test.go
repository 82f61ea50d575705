package app

import (
	"net/url"
	"testing"
	"time"

	"punctual/app/config"
	"punctual/migrations"
	"punctual/tests/testenv"
	"punctual/tests/testenv/testdb"
)

// While the database is away clients are told to try again, with nothing of the inside, and
// when it is back everything goes on by itself.
func TestOutageOfTheDatabase(t *testing.T) {
	u, err := url.Parse(testdb.URL(t, migrations.Postgres))
	if err != nil {
		t.Fatal(err)
	}
	p := testenv.NewProxy(t, u.Host)
	u.Host = p.Addr()
	a, s := startApplication(t, func(c *config.Config) { c.Database.URL = u.String() })
	token := signIn(t, a, s)
	ask := func(method, path, body string) answer {
		t.Helper()
		return send(t, s, method, path, body, "Authorization", "Bearer "+token, "Idempotency-Key", "k")
	}
	p.Set(testenv.Fault{Refuse: true})
	p.Reset()
	for _, r := range [][3]string{
		{"GET", "/api/v1/me", ""},
		{"GET", "/api/v1/rooms", ""},
		{"POST", "/api/v1/rooms", `{"name":"Turing"}`},
		{"POST", "/api/v1/auth/login", `{"email":"root@example.org","password":"a long password"}`},
		{"GET", "/readyz", ""},
	} {
		if res := ask(r[0], r[1], r[2]); res.status != 503 || res.Code != "unavailable" {
			t.Errorf("%s %s: %d %s", r[0], r[1], res.status, res.body)
		}
	}
	if res := ask("GET", "/healthz", ""); res.status != 200 {
		t.Errorf("healthz: %d", res.status)
	}
	p.Set(testenv.Fault{})
	for deadline := time.Now().Add(2 * time.Minute); ; {
		res := ask("POST", "/api/v1/rooms", `{"name":"Turing"}`)
		if res.status == 201 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("still %d %s", res.status, res.body)
		}
	}
}
