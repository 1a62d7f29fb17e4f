package recall

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/telemetry"
)

// The spans of a search that take the time which is not the store's.
const (
	spanEncode  = "encode"        // the query's vector and tokens
	spanLoad    = "index.load"    // reading a layer's log into its index
	spanSearch  = "index.search"  // measuring notes by words and vector
	spanRank    = "rank"          // weighing the measures
	spanContext = "context.build" // writing the text of a context
)

// spans starts spans within the caller's trace.
type spans struct{ tracer trace.Tracer }

// start starts a span. end is deferred with the address of the error, which may be nil.
func (t spans) start(ctx context.Context, name string, attrs ...attribute.KeyValue) (_ context.Context, end func(*error)) {
	ctx, done := telemetry.StartSpan(ctx, t.tracer, name, attrs...)
	return ctx, func(err *error) {
		if err == nil || *err == nil {
			done("", false)
			return
		}
		done(string(fault.CodeOf(*err)), ctx.Err() == nil)
	}
}

// search starts the span of a search. It says that it is one in OpenInference's words too, and never what is asked or found.
func (t spans) search(ctx context.Context, mode Mode) (_ context.Context, end func(*error)) {
	return t.start(ctx, spanSearch, telemetry.SearchMode.String(string(mode)), telemetry.InferenceKind.String(telemetry.Retriever))
}
