package httpapi_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/humatest"

	"punctual/delayjob"
	post "punctual/delayjob/webhook"
	"punctual/migrations"
	"punctual/notify/webhook"
	"punctual/notify/webhook/gormstore"
	"punctual/notify/webhook/httpapi"
	"punctual/tests/testenv/testdb"
)

// problem is what these tests make of errors; the program's map is in app.
type problem struct {
	huma.ErrorModel
	Faults []string `json:"faults"` // location and code
}

func TestMain(m *testing.M) {
	huma.NewErrorWithContext = func(_ huma.Context, status int, detail string, errs ...error) huma.StatusError {
		p := &problem{ErrorModel: huma.ErrorModel{Status: status, Detail: detail}}
		for _, err := range errs {
			if e, ok := errors.AsType[*webhook.InvalidError](err); ok {
				p.Status = http.StatusUnprocessableEntity
				for _, f := range e.Faults {
					p.Faults = append(p.Faults, f.Location+" "+f.Code)
				}
			}
			if e, ok := err.(huma.ErrorDetailer); ok {
				p.Faults = append(p.Faults, e.ErrorDetail().Location)
			}
			if _, ok := errors.AsType[*webhook.VersionError](err); ok {
				p.Status = http.StatusPreconditionFailed
			}
			if _, ok := errors.AsType[*webhook.StateError](err); ok || errors.Is(err, webhook.ErrTooMany) {
				p.Status = http.StatusConflict
			}
			if errors.Is(err, webhook.ErrNotFound) {
				p.Status = http.StatusNotFound
			}
		}
		return p
	}
	os.Exit(m.Run())
}

type scheduler []delayjob.Message

func (s *scheduler) Schedule(_ context.Context, ms ...delayjob.Message) { *s = append(*s, ms...) }

// server is the API on an empty database.
type server struct {
	t     *testing.T
	api   humatest.TestAPI
	store *gormstore.Store
	queue scheduler
	sql   func(query string, args ...any)
}

func newServer(t *testing.T) *server {
	t.Helper()
	t.Parallel()
	db := testdb.Open(t, migrations.SQLite)
	s := &server{t: t, store: gormstore.New(db.Gorm), sql: func(query string, args ...any) {
		t.Helper()
		if err := db.Gorm.WithContext(t.Context()).Exec(query, args...).Error; err != nil {
			t.Fatal(err)
		}
	}}
	sender := post.NewSender("test", []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")})
	t.Cleanup(sender.Close)
	cfg := huma.DefaultConfig("test", "1")
	cfg.CreateHooks = nil
	cfg.Servers = []*huma.Server{{URL: "/api/v1"}}
	_, s.api = humatest.New(t, cfg)
	httpapi.Register(s.api, webhook.NewService(s.store, &s.queue, sender, []string{"meeting.started", "meeting.ended"}, time.Now))
	return s
}

// call makes a request and wants a status.
func (s *server) call(want int, method, path, body string, headers ...string) (res *httptest.ResponseRecorder) {
	s.t.Helper()
	args := []any{}
	for _, h := range headers {
		args = append(args, h)
	}
	if body != "" {
		args = append(args, "Content-Type: application/json", strings.NewReader(body))
	}
	if res = s.api.Do(method, path, args...); res.Code != want {
		s.t.Errorf("%s %s %s: %d, want %d: %s", method, path, body, res.Code, want, res.Body)
	}
	return res
}

// refused wants a request to be told of exactly these faults.
func (s *server) refused(want, method, path, body string) {
	s.t.Helper()
	p := decode[problem](s.t, s.call(http.StatusUnprocessableEntity, method, path, body))
	if got := strings.Join(p.Faults, ", "); got != want {
		s.t.Errorf("%s %s %.200s:\n  got %s\n want %s", method, path, body, got, want)
	}
}

func decode[T any](t *testing.T, res *httptest.ResponseRecorder) (v T) {
	t.Helper()
	if err := json.Unmarshal(res.Body.Bytes(), &v); err != nil {
		t.Errorf("%v in %s", err, res.Body)
	}
	return v
}

// TestInput: what is wrong with a request is told, all of it, where it is.
func TestInput(t *testing.T) {
	s := newServer(t)
	const one, url = "/webhooks/1", `"url":"https://8.8.8.8/in"`
	s.call(http.StatusCreated, "POST", "/webhooks", "{"+url+"}")
	long := func(n int) string { return strings.Repeat("x", n) }
	for _, row := range []struct{ method, path, body, want string }{
		{"POST", "", `{}`, "body"}, {"POST", "", `[]`, "body"}, {"POST", "", `{"url":7}`, "body.url"}, {"POST", "", `{"url":null}`, "body.url"},
		{"POST", "", `{"url":""}`, "body.url refused"}, {"POST", "", `{"url":"desk.example.org"}`, "body.url refused"},
		{"POST", "", `{"url":"ftp://8.8.8.8/"}`, "body.url refused"}, {"POST", "", `{"url":"https://u:p@8.8.8.8/"}`, "body.url refused"},
		{"POST", "", `{"url":"https://10.0.0.1/"}`, "body.url refused"}, {"POST", "", `{"url":"https://[::1]/"}`, "body.url refused"},
		{"POST", "", `{"url":"https://8.8.8.8/` + long(2000) + `"}`, "body.url refused"},
		{"POST", "", `{` + url + `,"colour":"red"}`, "body.colour"}, {"POST", "", `{` + url + `,"version":3}`, "body.version"},
		{"POST", "", `{` + url + `,"active":"yes"}`, "body.active"},
		{"POST", "", `{` + url + `,"secret":"` + long(15) + `"}`, "body.secret out_of_range"}, {"POST", "", `{` + url + `,"secret":"` + long(201) + `"}`, "body.secret out_of_range"},
		{"POST", "", `{` + url + `,"secret":"sixteen letters\n"}`, "body.secret out_of_range"}, {"POST", "", `{` + url + `,"secret":"sixteen letterß"}`, "body.secret out_of_range"},
		{"POST", "", `{` + url + `,"events":"meeting.started"}`, "body.events"}, {"POST", "", `{` + url + `,"events":[1]}`, "body.events[0]"},
		{"POST", "", `{` + url + `,"events":["meeting.started","started","","meeting.started"]}`, "body.events[1] unknown, body.events[2] unknown, body.events[3] duplicate"},
		{"POST", "", `{"url":"x","secret":"x","events":["x"]}`, "body.url refused, body.secret out_of_range, body.events[0] unknown"},
		{"PATCH", "/1", `{"url":"http://192.168.0.1/","secret":"","events":["x"]}`, "body.url refused, body.secret out_of_range, body.events[0] unknown"},
		{"PATCH", "/1", `{"id":2}`, "body.id"}, {"PATCH", "/1", `{"stopped":"x"}`, "body.stopped"},
		{"GET", "/0", "", "path.id"}, {"GET", "/x", "", "path.id"}, {"DELETE", "/-1", "", "path.id"},
		{"GET", "/1/deliveries?state=lost", "", "query.state"}, {"GET", "/1/deliveries?limit=0", "", "query.limit"}, {"GET", "/1/deliveries?limit=501", "", "query.limit"},
		{"GET", "/1/deliveries?cursor=0", "", "query.cursor invalid_cursor"}, {"GET", "/1/deliveries?cursor=-1", "", "query.cursor invalid_cursor"},
		{"GET", "/1/deliveries?cursor=%20", "", "query.cursor invalid_cursor"}, {"GET", "/1/deliveries?cursor=zzzzzzzzzzzzzzzz", "", "query.cursor invalid_cursor"},
		{"POST", "/1/deliveries/0/resend", "", "path.delivery"},
	} {
		s.refused(row.want, row.method, "/webhooks"+row.path, row.body)
	}
	for _, secret := range []string{long(webhook.MinSecret), long(webhook.MaxSecret), " !\\\"#$%&'()*+,-./0~"} {
		s.call(http.StatusOK, "PATCH", one, `{"secret":"`+secret+`"}`)
	}
	if w := decode[httpapi.Webhook](t, s.call(http.StatusOK, "GET", one, "")); w.Version != 4 || w.URL != "https://8.8.8.8/in" || w.Secret != "" {
		t.Errorf("after refusals and three changes: %+v", w)
	}
	for _, path := range []string{"", "/deliveries"} {
		s.call(http.StatusNotFound, "GET", "/webhooks/9"+path, "")
	}
	s.call(http.StatusNotFound, "PATCH", "/webhooks/9", `{}`)
	s.call(http.StatusNotFound, "DELETE", "/webhooks/9", "")
	s.call(http.StatusNotFound, "POST", "/webhooks/9/ping", "")
	s.call(http.StatusNotFound, "POST", one+"/deliveries/9/resend", "")
}

// TestVersion: a change that is based on another version than the current one is refused.
func TestVersion(t *testing.T) {
	s := newServer(t)
	if tag := s.call(http.StatusCreated, "POST", "/webhooks", `{"url":"https://8.8.8.8/in"}`).Header().Get("ETag"); tag != `"1"` {
		t.Errorf("ETag %s", tag)
	}
	version := 1
	for _, row := range []struct {
		tag  string
		want int
	}{
		{`"1"`, 200}, {`"1"`, 412}, {`W/"2"`, 200}, {"3", 200}, {"*", 200}, {"", 200}, {` "6" `, 200}, {`"8"`, 412}, {"yesterday", 412}, {`""`, 412}, {"W/", 412}, {"W/*", 412}, {`"7"`, 200},
	} {
		res := s.call(row.want, "PATCH", "/webhooks/1", `{"active":true}`, "If-Match: "+row.tag)
		if row.want == 200 {
			version++
			if tag := res.Header().Get("ETag"); tag != fmt.Sprintf("%q", fmt.Sprint(version)) {
				t.Errorf("based on %q: ETag %s, want version %d", row.tag, tag, version)
			}
		}
	}
	s.call(http.StatusPreconditionFailed, "DELETE", "/webhooks/1", "", `If-Match: "1"`)
	s.call(http.StatusNoContent, "DELETE", "/webhooks/1", "", fmt.Sprintf(`If-Match: "%d"`, version))
}

// TestTooMany: there are at most so many webhooks.
func TestTooMany(t *testing.T) {
	s := newServer(t)
	for range webhook.MaxWebhooks {
		s.call(http.StatusCreated, "POST", "/webhooks", `{"url":"https://8.8.8.8/in"}`)
	}
	s.call(http.StatusConflict, "POST", "/webhooks", `{"url":"https://8.8.8.8/in"}`)
}

// TestDeliveries: the list is read page by page, and what has ended is sent again, at once and for
// three days more.
func TestDeliveries(t *testing.T) {
	s := newServer(t)
	for range 2 {
		s.call(http.StatusCreated, "POST", "/webhooks", `{"url":"https://8.8.8.8/in"}`)
	}
	for i := range 5 {
		s.sql(`INSERT INTO webhook_deliveries (webhook_id, event_id, event, state, due_at, expires_at, attempts, created_at, updated_at)
			VALUES (1, ?, 'meeting.started', ?, 0, 0, 2, 0, 0)`, 100+i, []webhook.State{webhook.Failed, webhook.Pending}[i%2])
	}
	type page struct {
		Items      []httpapi.Delivery
		NextCursor *string `json:"next_cursor"`
	}
	var ids []int64
	for url := "/webhooks/1/deliveries?limit=2"; url != ""; {
		p := decode[page](t, s.call(http.StatusOK, "GET", url, ""))
		for _, d := range p.Items {
			ids = append(ids, d.ID)
		}
		url = ""
		if p.NextCursor != nil {
			url = "/webhooks/1/deliveries?limit=2&cursor=" + *p.NextCursor
		}
	}
	if fmt.Sprint(ids) != "[5 4 3 2 1]" {
		t.Errorf("page by page: %v", ids)
	}
	if p := decode[page](t, s.call(http.StatusOK, "GET", "/webhooks/1/deliveries?state=pending&limit=2", "")); len(p.Items) != 2 || p.NextCursor != nil {
		t.Errorf("those that wait: %+v", p)
	}
	if res := s.call(http.StatusOK, "GET", "/webhooks/2/deliveries", ""); !strings.Contains(res.Body.String(), `"items":[]`) {
		t.Errorf("of another: %s", res.Body)
	}
	s.call(http.StatusConflict, "POST", "/webhooks/1/deliveries/2/resend", "") // it waits
	s.call(http.StatusNotFound, "POST", "/webhooks/2/deliveries/1/resend", "") // it is another's
	begun := time.Now().Add(-time.Second)
	d := decode[httpapi.Delivery](t, s.call(http.StatusOK, "POST", "/webhooks/1/deliveries/1/resend", ""))
	if d.State != "pending" || d.Attempts != 2 || d.Expires.Before(begun.Add(webhook.Patience)) {
		t.Errorf("sent again: %+v", d)
	}
	if len(s.queue) != 1 || s.queue[0].ID() != webhook.Job+":1" || s.queue[0].Version != 2 || s.queue[0].Due.Before(begun) {
		t.Errorf("scheduled %+v", s.queue)
	}
}

// TestPing: whoever sets a webhook learns what its server says, or why it says nothing.
func TestPing(t *testing.T) {
	s := newServer(t)
	desk := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got := cmp.Or(r.Header.Get("X-Punctual-Event"), "none"); got != "ping" || r.Header.Get("X-Punctual-Signature") == "" {
			t.Errorf("event %s, signature %q", got, r.Header.Get("X-Punctual-Signature"))
		}
		w.WriteHeader(http.StatusTeapot)
	}))
	s.call(http.StatusCreated, "POST", "/webhooks", `{"url":"`+desk.URL+`/?key=secret","active":false}`)
	type pong struct {
		Status *int
		Error  *string
	}
	if p := decode[pong](t, s.call(http.StatusOK, "POST", "/webhooks/1/ping", "")); p.Status == nil || *p.Status != 418 || p.Error == nil || *p.Error != "the server answered 418 I'm a teapot" {
		t.Errorf("%+v", p)
	}
	desk.Close()
	if p := decode[pong](t, s.call(http.StatusOK, "POST", "/webhooks/1/ping", "")); p.Status != nil || p.Error == nil || strings.Contains(*p.Error, "secret") {
		t.Errorf("%+v", p)
	}
}
