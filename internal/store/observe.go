package store

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/telemetry"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

//go:generate go run ../../tools/observestore

// Observe returns a store whose calls are measured, by method and outcome, and are spans of the
// caller's trace, if there is one: polling the outbox every second starts no traces. Spans name the
// tenant and the collection, and nothing of what is stored.
//
// Enqueued jobs carry the caller's trace context, so that worker spans join its trace. Jobs that
// the store itself enqueues (adopt, remove) carry none.
//
// Optional roles of engines, such as Backuper, have to be asked of the engine below.
func Observe(s Store, t trace.Tracer, m metric.Meter) (Store, error) {
	duration, err := m.Float64Histogram("slipbox.store.duration", metric.WithUnit("s"),
		metric.WithDescription("Time that calls of the store took."),
		metric.WithExplicitBucketBoundaries(.0005, .0025, .01, .05, .25, 1, 5))
	if err != nil {
		return nil, err
	}
	return &observed{Store: s, tracer: t, duration: duration}, nil
}

type observed struct {
	Store

	tracer   trace.Tracer
	duration metric.Float64Histogram
}

// begin starts the span and the clock of a call. The function that it returns ends both, with the
// call's error. Zero ids are left out of the span.
func (ob *observed) begin(ctx context.Context, method string, tenantID, collection uuid.UUID) (context.Context, func(*error)) {
	began := time.Now()
	end := func(string, bool) {}
	var trips *roundTrips                         // nil: no span
	if trace.SpanFromContext(ctx).IsRecording() { // otherwise no attributes are made
		attrs := make([]attribute.KeyValue, 0, 2)
		if tenantID != uuid.Nil {
			attrs = append(attrs, telemetry.Tenant.String(tenantID.String()))
		}
		if collection != uuid.Nil {
			attrs = append(attrs, telemetry.Collection.String(collection.String()))
		}
		ctx, end = telemetry.StartSpan(ctx, ob.tracer, "store."+method, attrs...)
		trips = &roundTrips{call: trace.SpanFromContext(ctx)}
		ctx = context.WithValue(ctx, roundTripsKey{}, trips)
	}
	return ctx, func(err *error) {
		attrs := []attribute.KeyValue{telemetry.Operation.String(method)}
		code := fault.CodeOf(*err)
		if code != "" {
			attrs = append(attrs, telemetry.ErrorType.String(string(code)))
		}
		ob.duration.Record(ctx, time.Since(began).Seconds(), metric.WithAttributeSet(attribute.NewSet(attrs...)))
		if trips != nil {
			if n := trips.sent.Load(); n > 1 {
				trips.call.SetAttributes(telemetry.RoundTrips.Int64(n))
			}
		}
		end(string(code), isStoreFailure(code) && !errors.Is(*err, context.Canceled))
	}
}

// roundTrips counts the round trips of a call that is a span.
type roundTrips struct {
	call trace.Span
	sent atomic.Int64
}

type roundTripsKey struct{}

// RoundTrip returns the span of the call for which an engine is about to make a round trip, and
// whether it is the first one. Most calls have only one: its statements are then described on the call's
// span, and a second span of the same time is saved. The span is nil outside of calls that are spans.
func RoundTrip(ctx context.Context) (call trace.Span, first bool) {
	r, ok := ctx.Value(roundTripsKey{}).(*roundTrips)
	if !ok || trace.SpanFromContext(ctx) != r.call {
		return nil, false
	}
	return r.call, r.sent.Add(1) == 1
}

// isStoreFailure reports whether a fault is a failure of the store, not an answer such as NotFound.
func isStoreFailure(c fault.Code) bool {
	switch c {
	case fault.Internal, fault.Unavailable, fault.Timeout, fault.StorageFull:
		return true
	default:
		return false
	}
}

// Write implements memory.Writer.
func (ob *observed) Write(ctx context.Context, s tenant.Scope, collection uuid.UUID, o memory.WriteOptions, fn func(ctx context.Context, tx memory.Tx) error) (w memory.Written, err error) {
	ctx, finish := ob.begin(ctx, "Write", s.Tenant(), collection)
	defer finish(&err)
	return ob.Store.Write(ctx, s, collection, o, traced(ctx, fn))
}

// traced returns a closure of a write whose jobs have the trace of the call.
func traced(ctx context.Context, fn func(ctx context.Context, tx memory.Tx) error) func(context.Context, memory.Tx) error {
	parent := telemetry.Traceparent(ctx)
	return func(ctx context.Context, tx memory.Tx) error { return fn(ctx, tracedTx{tx, parent}) }
}

// tracedTx adds the trace context to enqueued jobs.
type tracedTx struct {
	memory.Tx

	parent string
}

// Enqueue implements memory.Tx.
func (t tracedTx) Enqueue(ctx context.Context, j memory.Job) (memory.Job, error) {
	if j.Trace == "" {
		j.Trace = t.parent
	}
	return t.Tx.Enqueue(ctx, j)
}

// CreateCollection implements memory.CollectionStore.
func (ob *observed) CreateCollection(ctx context.Context, s tenant.Scope, c memory.NewCollection) (made memory.CollectionCreated, err error) {
	ctx, finish := ob.begin(ctx, "CreateCollection", s.Tenant(), uuid.Nil)
	defer finish(&err)
	if c.CopyJob != nil && c.CopyJob.Trace == "" {
		job := *c.CopyJob // the caller's job is not changed
		job.Trace = telemetry.Traceparent(ctx)
		c.CopyJob = &job
	}
	if c.First != nil {
		c.First = &memory.FirstWrite{Options: c.First.Options, Do: traced(ctx, c.First.Do)}
	}
	return ob.Store.CreateCollection(ctx, s, c)
}
