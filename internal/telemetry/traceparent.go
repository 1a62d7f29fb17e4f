package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/propagation"
)

const traceparent = "traceparent"

// Traceparent returns the span of the context as a W3C traceparent header, "" when
// there is none. It is stored with a job, so that the job's spans join the trace.
func Traceparent(ctx context.Context) string {
	c := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, c)
	return c[traceparent]
}

// WithTraceparent returns a context whose spans are children of the span in parent.
// It ignores an invalid traceparent.
func WithTraceparent(ctx context.Context, parent string) context.Context {
	return propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{traceparent: parent})
}
