package app

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"punctual/app/problem"

	"github.com/danielgtaylor/huma/v2"
	"github.com/gin-gonic/gin"
)

// The cost of a faulty body grows with its length at most, whatever the operation and the faults,
// and the answer stays short.
func TestBody_costOfFaults(t *testing.T) {
	a, s := startApplication(t, nil)
	token := signIn(t, a, s)
	a.log = slog.New(slog.DiscardHandler)
	h, err := newRouter(a)
	if err != nil {
		t.Fatal(err)
	}
	var doc bodyDoc
	if err := json.Unmarshal([]byte(send(t, s, "GET", "/openapi.json", "").body), &doc); err != nil {
		t.Fatal(err)
	}
	request := func(method, path, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), method, "/api/v1"+path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+token)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	operations, sent := 0, 0
	for path, item := range doc.Paths {
		for method, op := range item {
			if op.RequestBody == nil {
				continue
			}
			operations++
			at := pathParameter.ReplaceAllString(path, "7")
			hostile := map[string]string{}
			doc.hostile(hostile, op.RequestBody.Content["application/json"].Schema, "body", "", "", 0)
			for what, body := range hostile {
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				w := request(strings.ToUpper(method), at, body)
				runtime.ReadMemStats(&after)
				sent++
				if cost := after.TotalAlloc - before.TotalAlloc; cost > 12<<20 {
					t.Errorf("%s: %s: %d bytes of body cost %d bytes of memory", op.OperationID, what, len(body), cost)
				}
				if w.Body.Len() > 64<<10 {
					t.Errorf("%s: %s: status %d, %d bytes", op.OperationID, what, w.Code, w.Body.Len())
				}
				if place, _, _ := strings.Cut(what, ":"); place != "body" && strings.Contains(w.Body.String(), `"location":"body","message":"must have values`) {
					t.Errorf("%s: %s: the answer does not name the place: %s", op.OperationID, what, w.Body)
				}
				if w.Code == http.StatusUnauthorized && op.OperationID != "passkey-login" || w.Code == http.StatusForbidden && !strings.HasPrefix(op.OperationID, "door-") {
					t.Errorf("%s: %s: status %d, so its body was not read", op.OperationID, what, w.Code)
				}
			}
		}
	}
	t.Logf("%d operations with a body, %d requests", operations, sent)
	if operations < 40 || sent < 1000 {
		t.Errorf("%d operations with a body, %d requests", operations, sent)
	}
}

var pathParameter = regexp.MustCompile(`{[^}]*}`)

type bodyDoc struct {
	Paths map[string]map[string]struct {
		OperationID string `json:"operationId"`
		RequestBody *struct {
			Content map[string]struct{ Schema bodySchema }
		}
	}
	Components struct{ Schemas map[string]bodySchema }
}

type bodySchema struct {
	Ref                  string `json:"$ref"`
	Properties           map[string]bodySchema
	Items                *bodySchema
	AnyOf, OneOf         []bodySchema
	AdditionalProperties json.RawMessage `json:"additionalProperties"`
}

// hostile adds bodies with many faults at each place of the schema; before and behind are the text
// around the place.
func (d *bodyDoc) hostile(into map[string]string, s bodySchema, at, before, behind string, depth int) {
	if s.Ref != "" {
		s = d.Components.Schemas[s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]]
	}
	leaf := s.Properties == nil && s.Items == nil && s.AnyOf == nil && s.OneOf == nil && !bytes.HasPrefix(s.AdditionalProperties, []byte("{"))
	for what, value := range hostileValues {
		if !leaf || slices.Contains(hostileToLeaves, what) {
			into[at+": "+what] = before + value + behind
		}
	}
	if depth > 4 {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		d.hostile(into, s.Properties[name], at+"."+name, before+`{"`+name+`":`, "}"+behind, depth+1)
	}
	if s.Items != nil {
		d.hostile(into, *s.Items, at+"[]", before+"[", "]"+behind, depth+1)
	}
	for _, alternative := range append(s.AnyOf, s.OneOf...) {
		d.hostile(into, alternative, at, before, behind, depth+1)
	}
	var values bodySchema
	if json.Unmarshal(s.AdditionalProperties, &values) == nil {
		d.hostile(into, values, at+".{long}", before+`{"`+strings.Repeat("n", 8000)+`":`, "}"+behind, depth+1)
	}
}

// hostileValues fit into the body of an operation that needs no sign-in.
var hostileValues = map[string]string{
	"unknown keys":            object(1400, "1"),
	"numbers":                 list(7000, "1"),
	"equal texts":             list(3500, `"a"`),
	"objects of unknown keys": list(70, object(20, "{}")),
	"lists":                   list(5000, "[]"),
	"deep":                    strings.Repeat(`{"a":`, 2500) + "1" + strings.Repeat("}", 2500),
	"long key":                `{"` + strings.Repeat("n", 8000) + `":` + object(800, "1") + `}`,
	"long text":               `"` + strings.Repeat("n", 15000) + `"`,
	"number of many digits":   strings.Repeat("9", 15000),
	"text that is not a time": `"` + strings.Repeat("2027-01-01T", 1300) + `"`,
	"text of escapes":         `"` + strings.Repeat(`\u0000`, 2500) + `"`,
}

var hostileToLeaves = []string{"unknown keys", "number of many digits", "text that is not a time"}

func object(n int, value string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"k%d":%s`, i, value)
	}
	return "{" + b.String()[1:] + "}"
}

func list(n int, value string) string {
	return "[" + strings.TrimSuffix(strings.Repeat(value+",", n), ",") + "]"
}

// A body may be as long as a request needs, and no longer: a caller without sign-in gets less.
func TestBody_limits(t *testing.T) {
	a, s := startApplication(t, nil)
	token := signIn(t, a, s)
	for _, c := range []struct {
		name, path, body string
		status           int
		location, code   string
	}{
		{"sign-in", "/auth/login", `{"email":"` + strings.Repeat("x", maxAnonymousBody) + `"}`, 413, "", ""},
		{"set-up", "/setup", object(3000, "1"), 413, "", ""},
		{"door", "/door/pair", object(3000, "1"), 413, "", ""},
		{"many values", "/sites", `{"name":` + list(maxBodyValues, "1") + `}`, 422, "body", "too_many"},
		{"deep", "/sites", strings.Repeat("[", maxBodyDepth+1), 422, "body", "too_deep"},
		{"long key", "/sites", `{"` + strings.Repeat("n", maxBodyName+1) + `" :1}`, 422, "body", "too_long"},
		{"brackets in a text", "/sites", `{"name":"` + strings.Repeat(`[{,\"`, 150) + `"}`, 422, "body.name", "too_long"},
	} {
		got := send(t, s, "POST", "/api/v1"+c.path, c.body, "Authorization", "Bearer "+token)
		if got.status != c.status {
			t.Errorf("%s: %d %.300s", c.name, got.status, got.body)
			continue
		}
		if c.code != "" && (len(got.Errors) == 0 || got.Errors[0].Location != c.location || got.Errors[0].Code != c.code) {
			t.Errorf("%s: %.300s", c.name, got.body)
		}
	}
	got := send(t, s, "POST", "/api/v1/sites", object(1000, "1"), "Authorization", "Bearer "+token)
	if len(got.Errors) != problem.MaxErrors || got.Omitted < 100 {
		t.Errorf("%d errors, %d omitted", len(got.Errors), got.Omitted)
	}
	for _, page := range []string{"/decide", "/respond", "/arrive", "/offer"} {
		form := send(t, s, "POST", page, "token="+strings.Repeat("x", 2*maxAnonymousBody), "Content-Type", "application/x-www-form-urlencoded")
		if form.status >= 500 || len(form.body) > 64<<10 {
			t.Errorf("%s: %d, %d bytes", page, form.status, len(form.body))
		}
	}
}

// A request may take longer than its body had time to arrive: an event stream, or a slow booking.
func TestBody_timeLimitEndsWithTheBody(t *testing.T) {
	before := bodyTimeout
	bodyTimeout = 50 * time.Millisecond
	defer func() { bodyTimeout = before }()
	type empty struct{}
	type thing struct{ Body struct{ Name string } }
	wait := func(ctx context.Context) error {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(2 * bodyTimeout):
			return nil
		}
	}
	s, _ := testServer(t, func(api huma.API, _ *gin.Engine) {
		huma.Register(api, huma.Operation{OperationID: "create-room", Method: http.MethodPost, Path: "/slow"},
			func(ctx context.Context, _ *thing) (*empty, error) { return nil, wait(ctx) })
		huma.Register(api, huma.Operation{OperationID: "list-jobs", Method: http.MethodGet, Path: "/slow"},
			func(ctx context.Context, _ *empty) (*empty, error) { return nil, wait(ctx) })
	})
	for range 2 { // on one connection
		a := send(t, s, http.MethodPost, "/api/v1/slow", `{"Name":"x"}`)
		for ; a.status == http.StatusRequestTimeout && bodyTimeout < time.Minute; bodyTimeout *= 2 { // the machine is slow
			a = send(t, s, http.MethodPost, "/api/v1/slow", `{"Name":"x"}`)
		}
		if a.status != http.StatusNoContent {
			t.Errorf("POST: %d %s", a.status, a.body)
		}
		if a := send(t, s, http.MethodGet, "/api/v1/slow", ""); a.status != http.StatusNoContent {
			t.Errorf("GET: %d %s", a.status, a.body)
		}
	}
}

// A client that stops in the middle of its body gets an answer, and its connection ends: of a body
// that arrives too slowly, and of one that is too large.
func TestBody_slowClientsAreAnswered(t *testing.T) {
	before := bodyTimeout
	defer func() { bodyTimeout = before }()
	s, _ := testServer(t, func(api huma.API, _ *gin.Engine) {
		type thing struct{ Body struct{ Name string } }
		huma.Register(api, huma.Operation{OperationID: "create-room", Method: http.MethodPost, Path: "/things"},
			func(context.Context, *thing) (*struct{}, error) { return nil, nil })
	})
	for _, c := range []struct {
		name           string
		announced, got int
		timeout        time.Duration
		status         int
	}{
		{"no body", 100, 0, 20 * time.Millisecond, http.StatusRequestTimeout},
		{"a part of the body", 100, 50, 20 * time.Millisecond, http.StatusRequestTimeout},
		{"too much of a larger body", maxBody + 1000, maxBody + 1, time.Second, http.StatusRequestEntityTooLarge},
	} {
		var r *bufio.Reader
		ask := func() (*http.Response, error) {
			conn, err := net.Dial("tcp", s.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { conn.Close() })
			fmt.Fprintf(conn, "POST /api/v1/things HTTP/1.1\r\nHost: punctual\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
				c.announced, strings.Repeat("[", c.got))
			r = bufio.NewReader(conn)
			return http.ReadResponse(r, nil)
		}
		bodyTimeout = c.timeout
		got, err := ask()
		for ; (err != nil || got.StatusCode != c.status) && bodyTimeout < time.Minute; bodyTimeout *= 2 { // the machine is slow
			got, err = ask()
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if _, err := io.Copy(io.Discard, got.Body); err != nil || got.StatusCode != c.status {
			t.Errorf("%s: %d, %v", c.name, got.StatusCode, err)
		}
		if _, err := r.ReadByte(); err == nil {
			t.Errorf("%s: the connection stays", c.name)
		}
	}
}
