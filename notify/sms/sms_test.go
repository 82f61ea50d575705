package sms

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"punctual/notify"
	"punctual/notify/outbox"
	"punctual/notify/render"
	"punctual/tests/testenv"
)

const body = `{"id":"{{.ID}}","to":"{{.To}}","text":{{json .Text}}}`

func renderer(t *testing.T) *render.Renderer {
	t.Helper()
	r, err := render.New(render.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func newHTTP(t *testing.T, g Gateway) *Sender {
	t.Helper()
	s, err := NewHTTP(g, renderer(t))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func reminder(id int64) notify.Notification {
	start := time.Now().Add(15 * time.Minute)
	return notify.Notification{
		ID: id, Kind: notify.Reminder, Channel: notify.SMS, Version: 1, MessageID: fmt.Sprintf("<punctual-notification-%d-abc@example.org>", id),
		To: notify.Recipient{Address: "+49 (30) 123-45", Locale: "zh-CN"},
		Facts: notify.Facts{
			Title: `Say "hi"` + "\nto \\ Zoë", Start: start, End: start.Add(time.Hour), Rooms: []string{"Turing"}, Before: "start", Offset: 900,
		},
	}
}

func TestGateway(t *testing.T) {
	gateway := testenv.SMS(t)
	s := newHTTP(t, Gateway{URL: gateway.URL, Headers: map[string]string{"Authorization": "Bearer secret", "x-id": "{{.ID}}"}, Body: body})
	if err := s.Send(t.Context(), reminder(42)); err != nil {
		t.Fatal(err)
	}
	got := gateway.Messages()
	if len(got) != 1 || got[0].ID != "42" || got[0].To != "+493012345" || !strings.HasPrefix(got[0].Text, `【会议提醒】Say "hi" to \ Zoë`) {
		t.Fatalf("arrived: %+v", got)
	}
	for k, want := range map[string]string{
		"Authorization": "Bearer secret", "X-Id": "42", "Idempotency-Key": "42", "Content-Type": "application/json",
	} {
		if v := got[0].Header.Get(k); v != want {
			t.Errorf("%s: %q, want %q", k, v, want)
		}
	}
	again := reminder(42)
	again.Version = 2
	if err := s.Send(t.Context(), again); err != nil || gateway.Messages()[1].ID != "42-2" {
		t.Errorf("a resend must not look like a copy: %v", err)
	}
}

func TestAnswersAreClassified(t *testing.T) {
	for code, want := range map[int]string{
		200: "ok", 204: "ok", 301: "unavailable", 304: "unavailable",
		400: "permanent", 404: "permanent", 422: "permanent", 401: "unavailable", 403: "unavailable",
		408: "temporary", 425: "temporary", 429: "temporary", 500: "temporary", 502: "temporary", 503: "temporary",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(code)
			if code >= 400 {
				io.WriteString(w, strings.Repeat("no\n", 1<<20))
			}
		}))
		err := newHTTP(t, Gateway{URL: server.URL, Body: body}).Send(t.Context(), reminder(1))
		server.Close()
		got := "temporary"
		switch {
		case err == nil:
			got = "ok"
		case notify.IsPermanent(err):
			got = "permanent"
		case notify.IsUnavailable(err):
			got = "unavailable"
		}
		if got != want {
			t.Errorf("%d is %s, want %s (%v)", code, got, want, err)
		}
		if err != nil && len(err.Error()) > 1000 {
			t.Errorf("%d: an error of %d bytes", code, len(err.Error()))
		}
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2027, 2, 10, 9, 0, 0, 0, time.UTC)
	for in, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, "-7": 0, "soon": 0, "999999": time.Hour,
		"Wed, 10 Feb 2027 09:01:30 GMT": 90 * time.Second, "Wed, 10 Feb 2027 08:00:00 GMT": 0,
	} {
		if got := retryAfter(in, now); got != want {
			t.Errorf("%q is %v, want %v", in, got, want)
		}
	}
}

func TestGatewayThatDoesNotAnswer(t *testing.T) {
	gateway := testenv.SMS(t)
	hangs := func(send func(timeout time.Duration) error) (err error) {
		gateway.Script(slices.Repeat([]int{testenv.SMSHang}, 50)...) // a request that was given up may still arrive
		before := gateway.Tried()
		for timeout := 50 * time.Millisecond; gateway.Tried() == before; timeout *= 2 { // again on a slow machine
			err = send(timeout)
		}
		return err
	}
	err := hangs(func(timeout time.Duration) error {
		return newHTTP(t, Gateway{URL: gateway.URL, Body: body, Timeout: timeout}).Send(t.Context(), reminder(1))
	})
	if err == nil || notify.IsPermanent(err) || notify.IsUnavailable(err) {
		t.Errorf("time-out: %v", err)
	}
	err = hangs(func(timeout time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		defer cancel()
		return newHTTP(t, Gateway{URL: gateway.URL, Body: body}).Send(ctx, reminder(1))
	})
	if err == nil {
		t.Error("no error when the context ended")
	}
	for _, url := range []string{"http://127.0.0.1:1/", "http://gateway.invalid/"} {
		err := newHTTP(t, Gateway{URL: url + "?password=secret", Body: body}).Send(t.Context(), reminder(1))
		if !notify.IsUnavailable(err) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", url, err)
		}
	}
}

func TestRedirects(t *testing.T) {
	elsewhere := testenv.SMS(t)
	var target string
	gateway := http.NewServeMux()
	gateway.HandleFunc("/elsewhere", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
	})
	gateway.HandleFunc("/here", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/new", http.StatusPermanentRedirect)
	})
	gateway.HandleFunc("/new", func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		target = string(b)
	})
	server := httptest.NewServer(gateway)
	defer server.Close()
	if err := newHTTP(t, Gateway{URL: server.URL + "/elsewhere", Body: body}).Send(t.Context(), reminder(1)); !notify.IsUnavailable(err) {
		t.Errorf("to another host: %v", err)
	}
	if elsewhere.Tried() != 0 {
		t.Error("the message was carried to another host")
	}
	if err := newHTTP(t, Gateway{URL: server.URL + "/here", Body: body}).Send(t.Context(), reminder(1)); err != nil || !json.Valid([]byte(target)) {
		t.Errorf("within the host: %v, %q arrived", err, target)
	}
}

func TestDescriptionsOfGateways(t *testing.T) {
	ok := Gateway{URL: "https://sms.example.org/{{urlquery .To}}", Body: body}
	if _, err := NewHTTP(ok, renderer(t)); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(*Gateway)
		want   string
	}{
		"no url":             {func(g *Gateway) { g.URL = "" }, "no url"},
		"not a url":          {func(g *Gateway) { g.URL = "sms.example.org" }, "http"},
		"other scheme":       {func(g *Gateway) { g.URL = "ftp://sms.example.org" }, "http"},
		"syntax":             {func(g *Gateway) { g.Body = "{{.Text" }, "body:1"},
		"unknown field":      {func(g *Gateway) { g.Body = `{"n":"{{.Number}}"}` }, "Number"},
		"unknown function":   {func(g *Gateway) { g.Body = "{{xml .Text}}" }, "xml"},
		"text without json":  {func(g *Gateway) { g.Body = `{"text":"{{.Text}}"}` }, "{{json .Text}}"},
		"header name":        {func(g *Gateway) { g.Headers = map[string]string{"X Y": "1"} }, "X Y"},
		"header value":       {func(g *Gateway) { g.Headers = map[string]string{"X-Text": "{{.Text}}"} }, "X-Text"},
		"method":             {func(g *Gateway) { g.Method = "PO ST" }, "method"},
		"syntax of a header": {func(g *Gateway) { g.Headers = map[string]string{"X-Y": "{{"} }, "X-Y"},
	} {
		g := ok
		c.change(&g)
		if _, err := NewHTTP(g, renderer(t)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want it to name %q", name, err, c.want)
		}
	}
}

func TestPhoneNumbers(t *testing.T) {
	for _, address := range []string{"nobody", "", "030/12345", "15550100", "+15550100", "+999123456"} {
		n := reminder(1)
		n.To.Address = address
		if err := newHTTP(t, Gateway{URL: "http://127.0.0.1:1", Body: body}).Send(t.Context(), n); !notify.IsPermanent(err) {
			t.Errorf("%q: %v", address, err)
		}
	}
}

func TestOutbox(t *testing.T) {
	box, err := outbox.Open(filepath.Join(t.TempDir(), "outbox"))
	if err != nil {
		t.Fatal(err)
	}
	s := NewOutbox(box, renderer(t))
	for _, id := range []int64{1, 1, 2} {
		if err := s.Send(t.Context(), reminder(id)); err != nil {
			t.Fatal(err)
		}
	}
	items, err := box.List("", 10)
	if err != nil || len(items) != 2 {
		t.Fatalf("%d items, %v", len(items), err)
	}
	m, err := box.Read(items[0].Name)
	if err != nil || m.To != "+493012345" || m.Kind != "reminder" || !strings.Contains(m.Text, "【会议提醒】") {
		t.Errorf("%+v, %v", m, err)
	}
}
