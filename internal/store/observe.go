package store

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
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
		metric.WithExplicitBucketBoundaries(.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30))
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
	var span trace.Span // nil: none
	if trace.SpanFromContext(ctx).IsRecording() {
		attrs := make([]attribute.KeyValue, 0, 2)
		if tenantID != uuid.Nil {
			attrs = append(attrs, telemetry.Tenant.String(tenantID.String()))
		}
		if collection != uuid.Nil {
			attrs = append(attrs, telemetry.Collection.String(collection.String()))
		}
		ctx, span = ob.tracer.Start(ctx, "store."+method, trace.WithAttributes(attrs...))
	}
	return ctx, func(err *error) {
		attrs := []attribute.KeyValue{telemetry.Operation.String(method)}
		code := fault.CodeOf(*err)
		if code != "" {
			attrs = append(attrs, telemetry.ErrorType.String(string(code)))
		}
		ob.duration.Record(ctx, time.Since(began).Seconds(), metric.WithAttributeSet(attribute.NewSet(attrs...)))
		if span == nil {
			return
		}
		if code != "" {
			span.SetAttributes(telemetry.ErrorType.String(string(code)))
		}
		if isStoreFailure(code) && !errors.Is(*err, context.Canceled) {
			span.SetStatus(codes.Error, string(code))
		}
		span.End()
	}
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
	parent := telemetry.Traceparent(ctx)
	return ob.Store.Write(ctx, s, collection, o, func(ctx context.Context, tx memory.Tx) error {
		return fn(ctx, tracedTx{tx, parent})
	})
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
	return ob.Store.CreateCollection(ctx, s, c)
}
