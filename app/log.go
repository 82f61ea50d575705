package app

import (
	"context"
	"io"
	"log/slog"

	"punctual/app/traces"
	"punctual/delayjob"
)

// NewLogger writes text or JSON lines; level may change later. Lines about a request carry its ID, lines
// about a job that of its message, and both that of their trace, if one is recorded.
func NewLogger(w io.Writer, format string, level slog.Leveler) *slog.Logger {
	opts := &slog.HandlerOptions{Level: level}
	if format == "json" {
		return slog.New(requestHandler{slog.NewJSONHandler(w, opts)})
	}
	return slog.New(requestHandler{slog.NewTextHandler(w, opts)})
}

type requestIDKey struct{}

func withRequestID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestIDKey{}, id)
}

type requestHandler struct{ slog.Handler }

func (h requestHandler) Handle(ctx context.Context, r slog.Record) error {
	if id, ok := ctx.Value(requestIDKey{}).(string); ok {
		r.AddAttrs(slog.String("request_id", id))
	}
	if m, ok := delayjob.MessageFrom(ctx); ok {
		r.AddAttrs(slog.String("message", m.ID()))
	}
	if id := traces.ID(ctx); id != "" {
		r.AddAttrs(slog.String("trace_id", id))
	}
	return h.Handler.Handle(ctx, r)
}

func (h requestHandler) WithAttrs(as []slog.Attr) slog.Handler {
	return requestHandler{h.Handler.WithAttrs(as)}
}

func (h requestHandler) WithGroup(name string) slog.Handler {
	return requestHandler{h.Handler.WithGroup(name)}
}
