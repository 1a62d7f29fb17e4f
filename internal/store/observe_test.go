package store_test

import (
	"context"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/store/sqlite"
	"github.com/slipboxhq/slipbox/internal/telemetry"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
	"github.com/slipboxhq/slipbox/test/must"
)

// observation is an observed store with the spans and measurements that it made.
type observation struct {
	store.Store
	t      *testing.T
	s      tenant.Scope
	spans  *tracetest.SpanRecorder
	reader *sdkmetric.ManualReader
	tracer trace.Tracer
}

func observe(t *testing.T) *observation {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "slipbox.db")}, sqlite.Deps{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	ob := &observation{t: t, spans: tracetest.NewSpanRecorder(), reader: sdkmetric.NewManualReader()}
	ob.tracer = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(ob.spans)).Tracer("test")
	if ob.Store, err = store.Observe(db, ob.tracer, sdkmetric.NewMeterProvider(sdkmetric.WithReader(ob.reader)).Meter("test")); err != nil {
		t.Fatal(err)
	}
	acme := must.Get(ob.CreateTenant(t.Context(), grant.Operator("test"), tenant.Tenant{Name: "acme"}))(t)
	ob.s = grant.Scope(acme.ID, uuid.Nil, "test", tenant.AllPermissions()...)
	return ob
}

// measured returns how often each method was called, by "Method" or "Method code".
func (ob *observation) measured() map[string]uint64 {
	ob.t.Helper()
	var all metricdata.ResourceMetrics
	must.Do(ob.t, ob.reader.Collect(ob.t.Context(), &all))
	out := map[string]uint64{}
	for _, sm := range all.ScopeMetrics {
		for _, m := range sm.Metrics {
			h, ok := m.Data.(metricdata.Histogram[float64])
			if !ok || m.Name != "slipbox.store.duration" {
				ob.t.Fatalf("%s is %T", m.Name, m.Data)
			}
			for _, p := range h.DataPoints {
				name := text(p.Attributes, telemetry.Operation)
				if code := text(p.Attributes, telemetry.ErrorType); code != "" {
					name += " " + code
				}
				out[name] = p.Count
			}
		}
	}
	return out
}

func text(set attribute.Set, key attribute.Key) string {
	v, _ := set.Value(key)
	return v.AsString()
}

// A method of the contract that the decorator lacks would not be observed.
func TestObserveMissesNoMethod(t *testing.T) {
	t.Parallel()
	ob := observe(t)
	ctx, root := ob.tracer.Start(t.Context(), "request")
	defer root.End()
	contract := reflect.TypeFor[store.Store]()
	called := map[string]bool{}
	for m := range contract.Methods() {
		if m.Name == "Close" {
			continue
		}
		args := []reflect.Value{reflect.ValueOf(ctx)}
		for i := 1; i < m.Type.NumIn(); i++ {
			args = append(args, reflect.Zero(m.Type.In(i)))
		}
		reflect.ValueOf(ob.Store).MethodByName(m.Name).Call(args)
		called[m.Name] = true
	}
	for what := range ob.measured() {
		method, _, _ := strings.Cut(what, " ")
		delete(called, method)
	}
	if len(called) > 0 {
		t.Errorf("not measured: %v", called)
	}
	spans := map[string]bool{}
	for _, s := range ob.spans.Ended() {
		spans[s.Name()] = true
	}
	for m := range contract.Methods() {
		if m.Name != "Close" && !spans["store."+m.Name] {
			t.Errorf("%s has no span", m.Name)
		}
	}
}

func TestObserve(t *testing.T) {
	t.Parallel()
	ob := observe(t)
	// Outside of a trace there are no spans, and jobs carry no trace.
	made := must.Get(ob.CreateCollection(t.Context(), ob.s, memory.NewCollection{Collection: memory.Collection{Name: "private name"}}))(t)
	if n := len(ob.spans.Ended()); n != 0 {
		t.Errorf("%d spans without a trace", n)
	}
	if j := ob.enqueue(t.Context(), made.Collection.ID, memory.Job{}); j.Trace != "" {
		t.Errorf("the job is of the trace %q", j.Trace)
	}

	ctx, root := ob.tracer.Start(t.Context(), "request")
	j := ob.enqueue(ctx, made.Collection.ID, memory.Job{})
	own := "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	if got := ob.enqueue(ctx, made.Collection.ID, memory.Job{Trace: own}); got.Trace != own {
		t.Errorf("the job's own trace became %q", got.Trace)
	}
	if _, err := ob.OpenView(ctx, ob.s, "no such one", memory.At{}); !fault.Is(err, fault.NotFound) {
		t.Fatal(err)
	}
	copyJob := &memory.Job{Kind: memory.JobCopy, Stage: memory.StageTask}
	copied := must.Get(ob.CreateCollection(ctx, ob.s, memory.NewCollection{
		Collection: memory.Collection{Name: "copy", State: memory.CollectionCopying}, CopyJob: copyJob,
	}))(t)
	root.End()

	spans := ob.spans.Ended()
	if len(spans) != 5 {
		t.Fatalf("%d spans", len(spans))
	}
	for _, s := range spans[:4] {
		if s.Parent().SpanID() != root.SpanContext().SpanID() {
			t.Errorf("%s is no child of the request", s.Name())
		}
	}
	write := spans[0]
	set := attribute.NewSet(write.Attributes()...)
	if write.Name() != "store.Write" || text(set, telemetry.Tenant) != ob.s.Tenant().String() || text(set, telemetry.Collection) != made.Collection.ID.String() {
		t.Errorf("%s with %v", write.Name(), write.Attributes())
	}
	if j.Trace != telemetry.Traceparent(trace.ContextWithSpanContext(context.Background(), write.SpanContext())) {
		t.Errorf("the job is of the trace %q", j.Trace)
	}
	if copied.Job == nil || !strings.Contains(copied.Job.Trace, spans[3].SpanContext().SpanID().String()) || copyJob.Trace != "" {
		t.Errorf("the copy job is %+v, the caller's %+v", copied.Job, copyJob)
	}
	if set := attribute.NewSet(spans[2].Attributes()...); text(set, telemetry.ErrorType) != "not_found" || spans[2].Status().Description != "" {
		t.Errorf("an answer of the store: %v, %v", spans[2].Attributes(), spans[2].Status())
	}
	for _, s := range spans {
		for _, a := range s.Attributes() {
			if strings.Contains(a.Value.String(), "private name") || strings.Contains(a.Value.String(), "no such one") {
				t.Errorf("%s says %v", s.Name(), a)
			}
		}
	}
	if got := ob.measured(); got["Write"] != 3 || got["CreateCollection"] != 2 || got["OpenView not_found"] != 1 || got["OpenView"] != 0 {
		t.Errorf("measured %v", got)
	}
}

// enqueue adds a job and returns it as it is stored.
func (ob *observation) enqueue(ctx context.Context, collection uuid.UUID, j memory.Job) memory.Job {
	ob.t.Helper()
	j.Kind, j.Stage = memory.JobConsolidate, memory.StageTask
	var id uuid.UUID
	must.Get(ob.Write(ctx, ob.s, collection, memory.WriteOptions{Cause: memory.CauseAdd}, func(ctx context.Context, tx memory.Tx) error {
		made, err := tx.Enqueue(ctx, j)
		id = made.ID
		return err
	}))(ob.t)
	got := must.Get(ob.Job(context.Background(), ob.s, id))(ob.t)
	return got
}
