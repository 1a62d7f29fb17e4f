package telemetry

import (
	"context"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// StartSpan starts a span within the caller's trace. There is none while the caller's trace is not
// recorded, so background work starts no traces. end ends it; code is the fault's, "" for none, and
// failed says that it is a failure of this process and not an answer.
func StartSpan(ctx context.Context, t trace.Tracer, name string, attrs ...attribute.KeyValue) (_ context.Context, end func(code string, failed bool)) {
	if !trace.SpanFromContext(ctx).IsRecording() {
		return ctx, func(string, bool) {}
	}
	ctx, span := t.Start(ctx, name, trace.WithAttributes(attrs...)) //nolint:spancheck // the caller ends it with what is returned
	return ctx, func(code string, failed bool) {                    //nolint:spancheck // as above
		if code != "" {
			span.SetAttributes(ErrorType.String(code))
		}
		if failed {
			span.SetStatus(codes.Error, code)
		}
		span.End()
	}
}

// NameMemoryStore names the collection that a request is about, on the span of the request.
func NameMemoryStore(ctx context.Context, collection uuid.UUID) {
	if span := trace.SpanFromContext(ctx); span.IsRecording() {
		span.SetAttributes(MemoryStore.String(collection.String()))
	}
}
