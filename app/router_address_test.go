package app

import (
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"punctual/app/config"
	"punctual/tests/testenv"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gin-gonic/gin"
)

// Unknown paths that programs ask for are a problem, whatever their case, and never the page.
func TestRouter_unknownPathsOfTheAPI(t *testing.T) {
	s, _ := testServer(t, func(huma.API, *gin.Engine) {})
	for _, path := range []string{"/api", "/API", "/Api/v1", "/API/v1/rooms", "/api/v2/rooms", "/aPi/",
		"/readyz/", "/Healthz", "/healthz/live", "/metrics/", "/dav/nobody", "/.well-known/nothing"} {
		if a := send(t, s, "GET", path, ""); a.status != 404 || a.Code != "not_found" {
			t.Errorf("%s: %d %.100s", path, a.status, a.body)
		}
	}
	if a := send(t, s, "GET", "/apiary", ""); a.status != 200 {
		t.Errorf("a path of the page: %d", a.status)
	}
}

func TestRouter_ifMatchIsOneETag(t *testing.T) {
	s, _ := testServer(t, registerEcho(nil))
	a := send(t, s, "POST", "/api/v1/echo/1", `{"title":"t"}`, "If-Match", `"1", "2"`)
	if a.status != 422 || a.Errors[0].Location != "header.If-Match" {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// Behind a proxy that is not trusted everybody has its address; the log says so once. X-Real-IP,
// which a proxy passes on as it came, is never believed.
func TestRouter_clientAddress(t *testing.T) {
	address := func(trusted string, headers ...string) (string, *testenv.LogBuffer) {
		c := config.Default().HTTP
		if trusted != "" {
			c.TrustedProxies = []string{trusted}
		}
		return clientAddress(t, c, headers...)
	}
	for _, c := range []struct {
		trusted, header, value, want string
		warns                        int
	}{
		{"", "X-Real-IP", "192.0.2.9", "127.0.0.1", 0},
		{"127.0.0.1", "X-Real-IP", "192.0.2.9", "127.0.0.1", 0},
		{"127.0.0.1", "X-Forwarded-For", "192.0.2.9", "192.0.2.9", 0},
		{"", "X-Forwarded-For", "192.0.2.9", "127.0.0.1", 1},
		{"10.0.0.0/8", "X-Forwarded-For", "192.0.2.9", "127.0.0.1", 1},
	} {
		got, log := address(c.trusted, c.header, c.value)
		if n := strings.Count(log.String(), "http.trusted_proxies"); got != c.want || n != c.warns {
			t.Errorf("%+v: client %s, %d warnings", c, got, n)
		}
	}
}

// clientAddress is what the program takes for the client's address.
func clientAddress(t *testing.T, c config.HTTP, headers ...string) (string, *testenv.LogBuffer) {
	log := &testenv.LogBuffer{}
	r, err := newEngine(c, NewLogger(log, "text", slog.LevelInfo), newMetrics(), nil)
	if err != nil {
		t.Fatal(err)
	}
	r.GET("/who", func(c *gin.Context) { c.String(200, c.ClientIP()) })
	s := httptest.NewServer(r)
	defer s.Close()
	got := ""
	for range 3 {
		got = send(t, s, "GET", "/who", "", headers...).body
	}
	return got, log
}
