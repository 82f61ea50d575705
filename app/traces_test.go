package app

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"punctual/app/config"
)

// spans is a collector of OTLP over HTTP.
type spans struct {
	mu  sync.Mutex
	got []*otlp.Span
}

func (s *spans) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var export collector.ExportTraceServiceRequest
	if err == nil {
		err = proto.Unmarshal(body, &export)
	}
	if err != nil || r.Header.Get("X-Tenant") != "rooms" {
		http.Error(w, "", http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, resource := range export.ResourceSpans {
		for _, scope := range resource.ScopeSpans {
			s.got = append(s.got, scope.Spans...)
		}
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
}

func (s *spans) named(name string) (found []*otlp.Span) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, span := range s.got {
		if span.Name == name {
			found = append(found, span)
		}
	}
	return found
}

// TestTraces: a request, its statements and the mail that it causes are one trace, which names nobody.
func TestTraces(t *testing.T) {
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "20") // milliseconds between exports
	got := &spans{}
	server := httptest.NewServer(got)
	t.Cleanup(server.Close)
	a, s := startApplication(t, func(c *config.Config) {
		c.Traces.URL, c.Traces.Headers = server.URL+"/v1/traces", map[string]string{"X-Tenant": "rooms"}
	})
	token := signIn(t, a, s)
	ctx, cancel := context.WithCancel(t.Context())
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		_ = a.consumer.Run(ctx)
	}()
	t.Cleanup(func() { cancel(); <-stopped })

	const client = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	res := send(t, s, "POST", "/api/v1/notifications/test", "", "Authorization", "Bearer "+token, "Traceparent", client)
	if res.status != http.StatusAccepted {
		t.Fatalf("%d %s", res.status, res.body)
	}
	eventually(t, func() bool {
		return len(got.named("notify.email")) == 1 && len(got.named("POST /api/v1/notifications/test")) == 1
	})

	request, mail := got.named("POST /api/v1/notifications/test")[0], got.named("notify.email")[0]
	if string(mail.TraceId) != string(request.TraceId) || string(mail.ParentSpanId) != string(request.SpanId) {
		t.Errorf("the mail does not belong to the request:\n%v\n%v", request, mail)
	}
	if string(request.TraceId) == "\x0a\xf7\x65\x19\x16\xcd\x43\xdd\x84\x48\xeb\x21\x1c\x80\x31\x9c" || len(request.Links) != 1 {
		t.Errorf("the client's trace is not linked: %v", request)
	}
	statements := 0
	for _, span := range got.named("INSERT") {
		if string(span.TraceId) == string(request.TraceId) {
			statements++
		}
	}
	if statements == 0 {
		t.Error("no statement of the request")
	}
	got.mu.Lock()
	defer got.mu.Unlock()
	for _, span := range got.got {
		if text := span.String(); strings.Contains(text, "root@") || strings.Contains(text, token) || strings.Contains(text, "a long password") {
			t.Errorf("names somebody: %s", text)
		}
	}
}

// A collector that does not answer delays nothing.
func TestTraces_collectorDown(t *testing.T) {
	a, s := startApplication(t, func(c *config.Config) { c.Traces.URL = "http://127.0.0.1:1/v1/traces" })
	token := signIn(t, a, s)
	if res := send(t, s, "GET", "/api/v1/me", "", "Authorization", "Bearer "+token); res.status != http.StatusOK {
		t.Errorf("%d %s", res.status, res.body)
	}
}
