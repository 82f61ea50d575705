package app

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gin-gonic/gin"

	"punctual/app/config"
	"punctual/app/idempotency"
	"punctual/app/problem"
	"punctual/meeting"
	"punctual/tests/testenv"
)

// testServer is the engine with an API of a few operations, and its log.
func testServer(t *testing.T, register func(huma.API, *gin.Engine)) (*httptest.Server, *testenv.LogBuffer) {
	t.Helper()
	log := &testenv.LogBuffer{}
	r, err := newEngine(config.Default().HTTP, NewLogger(log, "text", slog.LevelInfo), newMetrics(), nil)
	if err != nil {
		t.Fatal(err)
	}
	page(r)
	api := newAPI(r, false)
	api.UseMiddleware(receiveBody)
	register(api, r)
	s := httptest.NewServer(r)
	t.Cleanup(s.Close)
	return s, log
}

type answer struct {
	status int
	header http.Header
	body   string
	problem.Problem
}

func send(t *testing.T, s *httptest.Server, method, path, body string, headers ...string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := s.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	a := answer{status: res.StatusCode, header: res.Header, body: string(b)}
	if strings.HasPrefix(res.Header.Get("Content-Type"), "application/problem+json") {
		if err := json.Unmarshal(b, &a.Problem); err != nil {
			t.Errorf("%s: %v", b, err)
		}
	}
	return a
}

type echoInput struct {
	ID   int64 `path:"id"`
	Body struct {
		Title string `json:"title" minLength:"1" maxLength:"10"`
		Count int    `json:"count,omitempty" minimum:"1"`
	}
}

// registerEcho fails with fail, or answers.
func registerEcho(fail error) func(huma.API, *gin.Engine) {
	return func(api huma.API, _ *gin.Engine) {
		huma.Register(api, huma.Operation{OperationID: "echo", Method: http.MethodPost, Path: "/echo/{id}", DefaultStatus: http.StatusCreated},
			func(context.Context, *echoInput) (*struct{}, error) { return nil, fail })
	}
}

func TestRouter_requestsThatMakeNoSense(t *testing.T) {
	s, _ := testServer(t, registerEcho(nil))
	for _, c := range []struct {
		name, method, path, body string
		status                   int
		code, location, fault    string
	}{
		{"unknown path", "GET", "/api/v1/nothing", "", 404, "not_found", "", ""},
		{"unknown method", "DELETE", "/api/v1/echo/1", "", 405, "method_not_allowed", "", ""},
		{"post outside the API", "POST", "/nothing", "", 404, "not_found", "", ""},
		{"no JSON", "POST", "/api/v1/echo/1", "{", 422, "invalid", "body", "invalid"},
		{"no body", "POST", "/api/v1/echo/1", "", 422, "invalid", "body", "required"},
		{"path", "POST", "/api/v1/echo/x", `{"title":"t"}`, 422, "invalid", "path.id", "malformed"},
		{"required", "POST", "/api/v1/echo/1", `{}`, 422, "invalid", "body.title", "required"},
		{"too long", "POST", "/api/v1/echo/1", `{"title":"12345678901"}`, 422, "invalid", "body.title", "too_long"},
		{"unknown field", "POST", "/api/v1/echo/1", `{"title":"t","x":1}`, 422, "invalid", "body.x", "unknown_field"},
		{"case", "POST", "/api/v1/echo/1", `{"Title":"t"}`, 422, "invalid", "body.Title", "unknown_field"},
		{"type", "POST", "/api/v1/echo/1", `{"title":5}`, 422, "invalid", "body.title", "wrong_type"},
		{"query", "POST", "/api/v1/echo/1?x=1", `{"title":"t"}`, 422, "invalid", "query.x", "unknown_parameter"},
		{"NUL", "GET", "/api/v1/nothing?q=a%00b", "", 422, "invalid", "query.q", "malformed"},
		{"not UTF-8", "GET", "/api/v1/nothing?q=%FF", "", 422, "invalid", "query.q", "malformed"},
		{"no query", "GET", "/api/v1/nothing?q=%zz", "", 422, "invalid", "query", "malformed"},
		{"path with NUL", "GET", "/api/v1/nothing/%00", "", 422, "invalid", "path", "malformed"},
		{"too large", "POST", "/api/v1/echo/1", `{"title":"` + strings.Repeat("x", maxBody) + `"}`, 413, "too_large", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := send(t, s, c.method, c.path, c.body)
			if a.status != c.status || a.Code != c.code || a.Status != c.status || a.Title == "" {
				t.Fatalf("%d %s", a.status, a.body)
			}
			for _, f := range a.Errors {
				if f.Location == c.location && f.Code == c.fault {
					return
				}
			}
			if c.location != "" {
				t.Errorf("no fault %s at %s: %s", c.fault, c.location, a.body)
			}
		})
	}
	if a := send(t, s, "POST", "/api/v1/echo/1", "{}", "Content-Type", "text/csv"); a.status != 415 || a.Code != "unsupported_media_type" {
		t.Errorf("%d %s", a.status, a.body)
	}
}

func TestRouter_tellsNothingOfTheInside(t *testing.T) {
	s, log := testServer(t, registerEcho(errors.New("secret of the database")))
	a := send(t, s, "POST", "/api/v1/echo/1", `{"title":"t"}`, "X-Request-ID", "my-request")
	if a.status != 500 || a.Code != "internal" || strings.Contains(a.body, "secret") {
		t.Errorf("%d %s", a.status, a.body)
	}
	if !strings.Contains(log.String(), "secret of the database") || !strings.Contains(log.String(), "request_id=my-request") {
		t.Errorf("the log does not tell: %s", log)
	}
	if a.header.Get("X-Request-ID") != "my-request" {
		t.Errorf("request id %q", a.header.Get("X-Request-ID"))
	}
}

func TestRouter_survivesPanics(t *testing.T) {
	s, log := testServer(t, func(api huma.API, r *gin.Engine) {
		huma.Register(api, huma.Operation{OperationID: "panic", Method: http.MethodGet, Path: "/panic"},
			func(context.Context, *struct{}) (*struct{}, error) { panic("secret") })
	})
	a := send(t, s, "GET", "/api/v1/panic", "")
	if a.status != 500 || a.Code != "internal" || strings.Contains(a.body, "secret") {
		t.Errorf("%d %s", a.status, a.body)
	}
	if !strings.Contains(log.String(), "request panicked") {
		t.Errorf("the log does not tell: %s", log)
	}
}

func TestRouter_domainErrors(t *testing.T) {
	s, _ := testServer(t, registerEcho(&meeting.StateError{State: meeting.Ended, Action: "cancel"}))
	a := send(t, s, "POST", "/api/v1/echo/1", `{"title":"t"}`)
	if a.status != 409 || a.Code != "state_conflict" || a.State != "ended" {
		t.Errorf("%d %s", a.status, a.body)
	}
	if ct := a.header.Get("Content-Type"); ct != "application/problem+json" {
		t.Errorf("content type %s", ct)
	}
}

func TestRouter_otherSites(t *testing.T) {
	s, _ := testServer(t, registerEcho(nil))
	for _, c := range []struct {
		headers []string
		status  int
	}{
		{nil, 201}, // no browser
		{[]string{"Sec-Fetch-Site", "same-origin"}, 201},
		{[]string{"Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example"}, 403},
		{[]string{"Origin", "https://evil.example"}, 403},
		{[]string{"Origin", "http://localhost:8080"}, 201}, // the base URL, behind a proxy
		{[]string{"Sec-Fetch-Site", "cross-site", "Authorization", "Bearer x"}, 201},
	} {
		a := send(t, s, "POST", "/api/v1/echo/1", `{"title":"t"}`, c.headers...)
		if a.status != c.status || (c.status == 403 && a.Code != "forbidden") {
			t.Errorf("%v: %d %s", c.headers, a.status, a.body)
		}
	}
}

func TestRouter_page(t *testing.T) {
	s, _ := testServer(t, func(huma.API, *gin.Engine) {})
	for _, path := range []string{"/", "/docs", "/meetings/5", "/setup?token=pq_x"} {
		a := send(t, s, "GET", path, "")
		if a.status != 200 || !strings.HasPrefix(a.header.Get("Content-Type"), "text/html") {
			t.Errorf("%s: %d %s", path, a.status, a.header)
		}
		if !strings.Contains(a.header.Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%s: %s", path, a.header)
		}
	}
	for _, path := range []string{"/assets/none.js", "/.gitkeep", "/../go.mod", "/api/none"} {
		if a := send(t, s, "GET", path, ""); a.status != 404 || a.Code != "not_found" {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
}

// The whole program has routes that the page knows nothing of. None hides one of its paths.
func TestRouter_pageOfTheProgram(t *testing.T) {
	_, s := startApplication(t, nil)
	for _, path := range []string{"/", "/docs", "/door", "/list", "/meetings/5", "/admin/rooms"} {
		for _, method := range []string{"GET", "HEAD"} {
			if a := send(t, s, method, path, ""); a.status != 200 || !strings.HasPrefix(a.header.Get("Content-Type"), "text/html") {
				t.Errorf("%s %s: %d %s", method, path, a.status, a.header)
			}
		}
	}
}

func TestRouter_requestIDsOfOthersAreChecked(t *testing.T) {
	s, _ := testServer(t, func(huma.API, *gin.Engine) {})
	a := send(t, s, "GET", "/", "", "X-Request-ID", "forged level=ERROR")
	if got := a.header.Get("X-Request-ID"); got == "" || strings.Contains(got, " ") {
		t.Errorf("request id %q", got)
	}
}

func TestRouter_describesWhatAllOperationsShare(t *testing.T) {
	var description *huma.OpenAPI
	testServer(t, func(api huma.API, _ *gin.Engine) {
		type empty struct{}
		type thing struct {
			ID   int64 `path:"id"`
			Body struct{ Name string }
		}
		huma.Register(api, huma.Operation{OperationID: "list-jobs", Method: http.MethodGet, Path: "/things"},
			func(context.Context, *empty) (*empty, error) { return nil, nil })
		huma.Register(api, huma.Operation{OperationID: "create-room", Method: http.MethodPost, Path: "/things/{id}", Errors: []int{409}},
			func(context.Context, *thing) (*empty, error) { return nil, nil })
		huma.Register(api, huma.Operation{OperationID: "login", Method: http.MethodPost, Path: "/login"},
			func(context.Context, *empty) (*empty, error) { return nil, nil })
		description = api.OpenAPI()
	})
	for _, c := range []struct {
		op       *huma.Operation
		statuses string
		key      bool
	}{
		{description.Paths["/things"].Get, "204 401 403 422 429 500 503 default", false},
		{description.Paths["/things/{id}"].Post, "204 401 403 404 408 409 413 415 422 429 500 503", true},
		{description.Paths["/login"].Post, "204 403 422 429 500 503 default", false}, // nobody is known yet whose key it could be
	} {
		if c.op.BodyReadTimeout >= 0 {
			t.Errorf("%s leaves a deadline on the connection", c.op.OperationID)
		}
		if got := strings.Join(slices.Sorted(maps.Keys(c.op.Responses)), " "); got != c.statuses {
			t.Errorf("%s answers %s, want %s", c.op.OperationID, got, c.statuses)
		}
		key := slices.ContainsFunc(c.op.Parameters, func(p *huma.Param) bool { return p.Name == idempotency.Header && p.In == "header" && !p.Required })
		if key != c.key {
			t.Errorf("%s: takes a key is %t, want %t", c.op.OperationID, key, c.key)
		}
	}
}
