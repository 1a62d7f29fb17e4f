package postgres

import (
	"context"
	"slices"
	"strings"

	"github.com/exaring/otelpgx"
	"github.com/jackc/pgx/v5"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.40.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/slipboxhq/slipbox/internal/store"
)

// Tracer is called for every statement; see NewTracer.
type Tracer = pgx.QueryTracer

// NewTracer returns a Tracer that makes statements spans and measures them. A span has the texts of
// its statements, in which all values are parameters, and no values. Spans are only made within a
// trace, for round trips: the statements of a batch are sent and answered together. In a call of the
// store, only those are spans that write. Its first round trip is described on the span of the call,
// and further ones that only read are counted there.
func NewTracer(t trace.TracerProvider, m metric.MeterProvider) Tracer {
	return &tracer{otelpgx.NewTracer(otelpgx.WithTracerProvider(t), otelpgx.WithMeterProvider(m),
		otelpgx.WithDisableConnectionDetailsInAttributes(), // one server, which telemetry's resource may name
		otelpgx.WithDisableAcquireTracer())}                // the pool is measured as a whole
}

// tracer decides what is a span, and names batches as OpenTelemetry's conventions for databases do.
type tracer struct{ *otelpgx.Tracer }

// withoutSpan returns a context in which the instrumentation only measures.
func withoutSpan(ctx context.Context) context.Context { return trace.ContextWithSpan(ctx, nil) }

// spanOf returns the context of a round trip: the given one if it is a span of its own.
func spanOf(ctx context.Context, texts ...string) context.Context {
	call, first := store.RoundTrip(ctx)
	switch {
	case call == nil:
		return ctx
	case first:
		describe(ctx, call, texts...)
	case slices.ContainsFunc(texts, func(text string) bool { return otelpgx.SQLOperationName(ctx, text) != "SELECT" }):
		return ctx
	}
	return withoutSpan(ctx)
}

// TraceQueryStart implements pgx.QueryTracer.
func (t *tracer) TraceQueryStart(ctx context.Context, conn *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	return t.Tracer.TraceQueryStart(spanOf(ctx, data.SQL), conn, data)
}

// TraceBatchStart implements pgx.BatchTracer.
func (t *tracer) TraceBatchStart(ctx context.Context, conn *pgx.Conn, data pgx.TraceBatchStartData) context.Context {
	if !trace.SpanFromContext(ctx).IsRecording() || data.Batch == nil {
		return t.Tracer.TraceBatchStart(ctx, conn, data)
	}
	texts := make([]string, len(data.Batch.QueuedQueries))
	for i, q := range data.Batch.QueuedQueries {
		texts[i] = q.SQL
	}
	ctx = t.Tracer.TraceBatchStart(spanOf(ctx, texts...), conn, data)
	if span := trace.SpanFromContext(ctx); span.IsRecording() {
		span.SetName(describe(ctx, span, texts...))
	}
	return ctx
}

// TraceBatchQuery implements pgx.BatchTracer. It counts errors.
func (t *tracer) TraceBatchQuery(ctx context.Context, conn *pgx.Conn, data pgx.TraceBatchQueryData) {
	t.Tracer.TraceBatchQuery(withoutSpan(ctx), conn, data)
}

// TracePrepareStart implements pgx.PrepareTracer. Preparing is part of the first use of a statement.
func (t *tracer) TracePrepareStart(ctx context.Context, conn *pgx.Conn, data pgx.TracePrepareStartData) context.Context {
	return t.Tracer.TracePrepareStart(withoutSpan(ctx), conn, data)
}

// TraceConnectStart implements pgx.ConnectTracer. A connection serves many calls; its making is measured.
func (t *tracer) TraceConnectStart(ctx context.Context, data pgx.TraceConnectStartData) context.Context {
	return t.Tracer.TraceConnectStart(withoutSpan(ctx), data)
}

// describe adds the statements of a round trip to a span and returns their name: the operation of a
// single one, or BATCH with the operation that all have.
func describe(ctx context.Context, span trace.Span, texts ...string) (name string) {
	for i, text := range texts {
		switch op := otelpgx.SQLOperationName(ctx, text); {
		case i == 0:
			name = op
		case name != op:
			name = ""
		}
	}
	if len(texts) > 1 { // one statement is not a batch
		name = strings.TrimSpace("BATCH " + name)
		span.SetAttributes(semconv.DBOperationBatchSize(len(texts)))
	}
	span.SetAttributes(semconv.DBSystemNamePostgreSQL, semconv.DBOperationName(name), semconv.DBQueryText(strings.Join(texts, "; ")))
	return name
}

// MeasurePool exports the metrics of the connection pool. The instrumentation's own times are in
// nanoseconds, and dropped by internal/telemetry.
func (s *Store) MeasurePool(m metric.MeterProvider) error {
	if err := otelpgx.RecordStats(s.pool, otelpgx.WithStatsMeterProvider(m)); err != nil {
		return err
	}
	_, err := m.Meter("slipbox/store/postgres").Float64ObservableCounter("slipbox.database.wait", metric.WithUnit("s"),
		metric.WithDescription("Time that calls waited for a connection because the pool had none left."),
		metric.WithFloat64Callback(func(_ context.Context, o metric.Float64Observer) error {
			o.Observe(s.pool.Stat().EmptyAcquireWaitTime().Seconds())
			return nil
		}))
	return err
}
