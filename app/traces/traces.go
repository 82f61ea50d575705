// Package traces records what requests and delay jobs do as OpenTelemetry spans, and sends them to a
// collector by OTLP over HTTP. The spans of a request, of the jobs that it causes and of their mails
// belong to one trace: the queue's messages carry its ID (W3C Trace Context).
//
// Spans contain no values of statements, no queries of URLs, no bodies and no texts of errors, because these
// name people and hold secrets.
package traces

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"punctual/delayjob"
)

// Config of the collector.
type Config struct {
	URL     string            // such as http://127.0.0.1:4318/v1/traces
	Headers map[string]string // of each request to the collector
	Sample  float64           // part of the traces that is recorded, from 0 to 1
	Version string            // of the program
}

// Tracer records spans. Safe for concurrent use.
type Tracer struct {
	provider   *sdk.TracerProvider
	tracer     trace.Tracer
	propagator propagation.TraceContext
}

// complainEvery is how often a collector that does not answer is logged.
const complainEvery = time.Minute

// Start begins to send spans. It does not wait for the collector. If the collector does not answer, spans
// are lost, and nothing else.
func Start(ctx context.Context, c Config, log *slog.Logger) (*Tracer, error) {
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(c.URL), otlptracehttp.WithHeaders(c.Headers),
		otlptracehttp.WithTimeout(5*time.Second), otlptracehttp.WithRetry(otlptracehttp.RetryConfig{}))
	if err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}
	about, err := resource.New(ctx, resource.WithHost(), resource.WithAttributes(
		attribute.String("service.name", "punctual"), attribute.String("service.version", c.Version)))
	if err != nil && !errors.Is(err, resource.ErrPartialResource) {
		return nil, fmt.Errorf("traces: %w", err)
	}
	var complained atomic.Int64
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		now := time.Now().UnixNano()
		if last := complained.Load(); now-last > int64(complainEvery) && complained.CompareAndSwap(last, now) {
			log.Warn("sending traces failed, they are lost", "error", err)
		}
	}))
	return of(sdk.NewTracerProvider(sdk.WithBatcher(exporter), sdk.WithResource(about),
		sdk.WithSampler(sdk.ParentBased(sdk.TraceIDRatioBased(c.Sample))))), nil
}

func of(p *sdk.TracerProvider) *Tracer { return &Tracer{provider: p, tracer: p.Tracer("punctual")} }

// Close sends the remaining spans, until ctx ends.
func (t *Tracer) Close(ctx context.Context) error { return t.provider.Shutdown(ctx) }

// unrecorded are routes that machines ask for every few seconds.
var unrecorded = []string{"", "/healthz", "/readyz", "/metrics"} // "": invented paths, which would each be a name

// Requests is the middleware that records each request of a route. It links the trace of the client
// instead of continuing it, because otherwise anybody could have all of their requests recorded.
func (t *Tracer) Requests(c *gin.Context) {
	route, request := c.FullPath(), c.Request
	if slices.Contains(unrecorded, route) {
		c.Next()
		return
	}
	options := []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(
		attribute.String("http.request.method", request.Method), attribute.String("http.route", route))}
	client := trace.SpanContextFromContext(t.propagator.Extract(context.Background(), propagation.HeaderCarrier(request.Header)))
	if client.IsValid() {
		options = append(options, trace.WithLinks(trace.Link{SpanContext: client}))
	}
	ctx, span := t.tracer.Start(request.Context(), request.Method+" "+route, options...)
	defer span.End()
	c.Request = request.WithContext(ctx)
	c.Next()
	status := c.Writer.Status()
	span.SetAttributes(attribute.Int("http.response.status_code", status))
	if status >= http.StatusInternalServerError {
		span.SetStatus(codes.Error, http.StatusText(status))
	}
}

// Headers are what a message carries to continue the trace of ctx; nil if there is none.
func (t *Tracer) Headers(ctx context.Context) map[string]string {
	if !trace.SpanContextFromContext(ctx).IsSampled() {
		return nil
	}
	headers := propagation.MapCarrier{}
	t.propagator.Inject(ctx, headers)
	return headers
}

// Jobs is the middleware that records each execution of a delay job. A single message continues its trace.
// A batch has a trace of its own, with links to those of its messages.
func (t *Tracer) Jobs(next delayjob.Handler) delayjob.Handler {
	return func(ctx context.Context, ms []delayjob.Message) []error {
		job := ms[0].Job
		options := []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindConsumer), trace.WithAttributes(
			attribute.String("messaging.system", "punctual"), attribute.String("messaging.destination.name", job))}
		if len(ms) == 1 {
			ctx = t.propagator.Extract(ctx, propagation.MapCarrier(ms[0].Headers))
			options = append(options, trace.WithAttributes(
				attribute.String("messaging.message.id", ms[0].ID()), attribute.Int("punctual.attempt", ms[0].Attempt),
				attribute.Float64("punctual.late_seconds", max(0, ms[0].Claimed.Sub(ms[0].Ready).Seconds()))))
		} else {
			options = append(options, trace.WithAttributes(attribute.Int("messaging.batch.message_count", len(ms))), trace.WithLinks(t.links(ms)...))
		}
		ctx, span := t.tracer.Start(ctx, job, options...)
		defer span.End()
		errs := next(ctx, ms)
		for _, err := range errs {
			result := delayjob.ResultOf(err)
			if result == delayjob.ResultOK || result == delayjob.ResultDrop || result == delayjob.ResultSnooze { // there was nothing to do, or not yet
				continue
			}
			span.SetAttributes(attribute.String("punctual.result", string(result)))
			span.SetStatus(codes.Error, "") // the reply of a mail server names the recipient; the log has it
			break
		}
		return errs
	}
}

// maxLinks bounds the links of a batch.
const maxLinks = 100

func (t *Tracer) links(ms []delayjob.Message) (links []trace.Link) {
	for _, m := range ms {
		if len(m.Headers) == 0 || len(links) == maxLinks {
			continue
		}
		ctx := t.propagator.Extract(context.Background(), propagation.MapCarrier(m.Headers))
		if from := trace.SpanContextFromContext(ctx); from.IsValid() {
			links = append(links, trace.Link{SpanContext: from})
		}
	}
	return links
}

// ID returns the ID of the trace that ctx belongs to, as 32 hexadecimal digits; "" if none is recorded.
func ID(ctx context.Context) string {
	if span := trace.SpanContextFromContext(ctx); span.IsSampled() {
		return span.TraceID().String()
	}
	return ""
}
