package traces

import (
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	"gorm.io/gorm"
)

const (
	spanKey      = "punctual:span"
	maxStatement = 2_000 // bytes of a statement that a span shows
)

// Statements records each statement within a recorded request or job. Their values stay out.
func (t *Tracer) Statements(db *gorm.DB) error {
	begin := func(tx *gorm.DB) {
		if !trace.SpanFromContext(tx.Statement.Context).IsRecording() {
			return
		}
		_, span := t.tracer.Start(tx.Statement.Context, "database", trace.WithSpanKind(trace.SpanKindClient),
			trace.WithAttributes(attribute.String("db.system.name", system(tx.Name()))))
		tx.InstanceSet(spanKey, span)
	}
	end := func(tx *gorm.DB) {
		value, found := tx.InstanceGet(spanKey)
		span, isSpan := value.(trace.Span)
		if !found || !isSpan {
			return
		}
		text := tx.Statement.SQL.String()
		if operation, _, _ := strings.Cut(strings.TrimSpace(text), " "); operation != "" {
			span.SetName(strings.ToUpper(operation))
		}
		span.SetAttributes(attribute.String("db.query.text", text[:min(len(text), maxStatement)]), attribute.Int64("db.response.returned_rows", max(0, tx.RowsAffected)))
		if tx.Error != nil {
			span.SetStatus(codes.Error, "") // the error may quote a value
		}
		span.End()
	}
	on := db.Callback()
	for _, err := range []error{
		on.Create().Before("gorm:create").Register("traces:begin", begin), on.Create().After("gorm:create").Register("traces:end", end),
		on.Query().Before("gorm:query").Register("traces:begin", begin), on.Query().After("gorm:query").Register("traces:end", end),
		on.Update().Before("gorm:update").Register("traces:begin", begin), on.Update().After("gorm:update").Register("traces:end", end),
		on.Delete().Before("gorm:delete").Register("traces:begin", begin), on.Delete().After("gorm:delete").Register("traces:end", end),
		on.Row().Before("gorm:row").Register("traces:begin", begin), on.Row().After("gorm:row").Register("traces:end", end),
		on.Raw().Before("gorm:raw").Register("traces:begin", begin), on.Raw().After("gorm:raw").Register("traces:end", end),
	} {
		if err != nil {
			return err
		}
	}
	return nil
}

// system is the name of a dialect in OpenTelemetry's conventions.
func system(dialect string) string {
	if dialect == "postgres" {
		return "postgresql"
	}
	return dialect
}
