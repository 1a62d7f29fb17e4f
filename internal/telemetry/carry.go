package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/propagation"
)

const traceparent = "traceparent"

// Traceparent gives the span of a context in the form of the W3C header, ""
// when there is none. What is written down with it can go on in that trace.
func Traceparent(ctx context.Context) string {
	c := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, c)
	return c[traceparent]
}

// WithTraceparent gives a context whose spans are children of that one. A text
// that is no traceparent changes nothing.
func WithTraceparent(ctx context.Context, parent string) context.Context {
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{traceparent: parent})
}
