package traces

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"punctual/delayjob"
)

func recorded(t *testing.T, use func(*Tracer)) tracetest.SpanStubs {
	t.Helper()
	memory := tracetest.NewInMemoryExporter()
	use(of(sdk.NewTracerProvider(sdk.WithSyncer(memory))))
	return memory.GetSpans()
}

// TestTracer_Jobs_failure: a span shows that a job failed and what follows, not the error, which names people.
func TestTracer_Jobs_failure(t *testing.T) {
	spans := recorded(t, func(tracer *Tracer) {
		fail := tracer.Jobs(func(context.Context, []delayjob.Message) []error {
			return []error{errors.New("550 <ada@example.org> is unknown")}
		})
		fail(t.Context(), []delayjob.Message{{Job: "notify.email", Key: "7"}})
	})
	if len(spans) != 1 || spans[0].Name != "notify.email" || spans[0].Status.Code != codes.Error || spans[0].Status.Description != "" {
		t.Fatalf("%+v", spans)
	}
	for _, a := range spans[0].Attributes {
		if strings.Contains(a.Value.String(), "@") {
			t.Errorf("%s: %s", a.Key, a.Value.String())
		}
	}
}

// TestTracer_Jobs_nothingToDo: it is no error that a message is dropped or waits; the one that failed counts.
func TestTracer_Jobs_nothingToDo(t *testing.T) {
	for want, errs := range map[codes.Code][]error{
		codes.Unset: {delayjob.Drop("sent before"), delayjob.Snooze(time.Second), nil},
		codes.Error: {delayjob.Drop("sent before"), errors.New("no")},
	} {
		spans := recorded(t, func(tracer *Tracer) {
			run := tracer.Jobs(func(context.Context, []delayjob.Message) []error { return errs })
			run(t.Context(), make([]delayjob.Message, len(errs)))
		})
		if len(spans) != 1 || spans[0].Status.Code != want {
			t.Errorf("%v: %+v, want %s", errs, spans, want)
		}
	}
}

// TestTracer_Jobs_batch: a batch has a trace of its own, with links to those that caused its messages.
func TestTracer_Jobs_batch(t *testing.T) {
	spans := recorded(t, func(tracer *Tracer) {
		ctx, request := tracer.tracer.Start(t.Context(), "request")
		headers := tracer.Headers(ctx)
		request.End()
		run := tracer.Jobs(func(context.Context, []delayjob.Message) []error { return nil })
		run(context.Background(), []delayjob.Message{{Job: "meeting.start", Key: "1", Headers: headers}, {Job: "meeting.start", Key: "2"}})
	})
	if len(spans) != 2 {
		t.Fatalf("%+v", spans)
	}
	request, batch := spans[0], spans[1]
	if batch.SpanContext.TraceID() == request.SpanContext.TraceID() || len(batch.Links) != 1 || batch.Links[0].SpanContext.TraceID() != request.SpanContext.TraceID() {
		t.Errorf("%+v", batch)
	}
}
