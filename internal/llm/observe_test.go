package llm_test

import (
	"maps"
	"net/http"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/slipboxhq/slipbox/internal/llm"
	"github.com/slipboxhq/slipbox/internal/llm/llmtest"
	"github.com/slipboxhq/slipbox/internal/telemetry"
	"github.com/slipboxhq/slipbox/test/must"
)

// watch makes the fixture's models and embedders observed.
func (f *fixture) watch(t *testing.T) (*tracetest.SpanRecorder, func() map[string]metricdata.Aggregation) {
	t.Helper()
	spans, reader := tracetest.NewSpanRecorder(), sdkmetric.NewManualReader()
	f.deps.Observer = must.Get(llm.NewObserver(sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)).Tracer("test"),
		sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)).Meter("test")))(t)
	return spans, func() map[string]metricdata.Aggregation {
		var all metricdata.ResourceMetrics
		must.Do(t, reader.Collect(t.Context(), &all))
		out := map[string]metricdata.Aggregation{}
		for _, sm := range all.ScopeMetrics {
			for _, m := range sm.Metrics {
				out[m.Name] = m.Data
			}
		}
		return out
	}
}

func valueOf(attrs []attribute.KeyValue, key attribute.Key) string {
	set := attribute.NewSet(attrs...)
	v, _ := set.Value(key)
	return v.String()
}

func TestObservedModel(t *testing.T) {
	t.Parallel()
	f := setup(t)
	spans, metrics := f.watch(t)
	m := must.Get(llm.NewModel(f.deps, f.cfg))(t)
	f.srv.Script("analyze", llmtest.JSON(goodAnalysis), llmtest.StatusText(http.StatusBadRequest, "cannot read: bees survive frost in straw"))
	must.Get(m.Ask(t.Context(), f.scope, analyzeCall()))(t)
	_, failed := m.Ask(t.Context(), f.scope, analyzeCall())
	if failed == nil || strings.Contains(failed.Error(), "frost") {
		t.Errorf("the endpoint's own words: %v", failed)
	}
	ended := spans.Ended()
	if len(ended) != 2 || ended[0].Name() != "chat fake" {
		t.Fatalf("%d spans", len(ended))
	}
	for key, want := range map[attribute.Key]string{
		telemetry.ModelOperation: "chat", telemetry.ModelProvider: "openai", telemetry.ModelName: "fake", telemetry.ModelPurpose: "analyze",
		telemetry.Tenant: f.scope.Tenant().String(), telemetry.Collection: collection.String(),
	} {
		if got := valueOf(ended[0].Attributes(), key); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	if in := valueOf(ended[0].Attributes(), telemetry.ModelInput); in == "" || in == "0" {
		t.Errorf("%q tokens", in)
	}
	if s := ended[1].Status(); s.Code != codes.Error || s.Description != "model_failed" {
		t.Errorf("status %+v", s)
	}
	for _, s := range ended {
		for _, a := range s.Attributes() {
			if strings.Contains(a.Value.String(), "frost") || strings.Contains(a.Value.String(), secret) {
				t.Errorf("%s says %v", s.Name(), a)
			}
		}
	}
	took, ok := metrics()["gen_ai.client.operation.duration"].(metricdata.Histogram[float64])
	if !ok || len(took.DataPoints) != 2 {
		t.Errorf("durations %+v", took)
	}
	tokens, ok := metrics()["gen_ai.client.token.usage"].(metricdata.Histogram[int64])
	in, out := f.srv.Tokens()
	if !ok || len(tokens.DataPoints) != 2 || tokens.DataPoints[0].Sum+tokens.DataPoints[1].Sum != in+out {
		t.Errorf("tokens %+v, want %d and %d", tokens, in, out)
	}
	if got := f.meter.all(); len(got) == 0 || got[0].Purpose != "analyze" {
		t.Errorf("the accounts are %+v", got)
	}
}

// The span of a chat lasts until its cost is known, which it has; that of a chat that fails ends with it.
func TestObservedChat(t *testing.T) {
	t.Parallel()
	f := setup(t)
	spans, _ := f.watch(t)
	f.srv.Script("", llmtest.Text("hi"), llmtest.Text("hi"), llmtest.StatusText(http.StatusBadRequest, "cannot read: hello there"))
	proxy := newChatProxy(t, f.srv, f.deps, nil)
	for _, body := range []string{hello, helloStream, hello} {
		_, _ = said(t.Context(), t, proxy, body)
	}
	ended := spans.Ended()
	if len(ended) != 3 || len(spans.Started()) != 3 {
		t.Fatalf("%d spans ended of %d", len(ended), len(spans.Started()))
	}
	for i, s := range ended {
		in, out, failed := "3", "2", codes.Unset
		if i == 2 {
			in, out, failed = "", "", codes.Error
		}
		if got := s.Attributes(); valueOf(got, telemetry.ModelInput) != in || valueOf(got, telemetry.ModelOutput) != out || s.Status().Code != failed {
			t.Errorf("chat %d has %v, status %v", i, got, s.Status())
		}
	}
}

// A cache hit is not a call.
func TestObservedEmbedder(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.cfg.EmbedProvider, f.cfg.EmbedModel, f.cfg.EmbedDim = llm.ProviderOpenAI, "fake-embed", 8
	f.srv.EmbedDim(8)
	spans, metrics := f.watch(t)
	r := must.Get(llm.NewRegistry(f.deps, f.cfg))(t)
	for range 2 {
		must.Get(r.Default().Embed(t.Context(), f.scope, []string{"bees survive frost"}))(t)
	}
	ended := spans.Ended()
	if len(ended) != 1 || ended[0].Name() != "embeddings fake-embed" || valueOf(ended[0].Attributes(), telemetry.ModelPurpose) != "embed" {
		t.Errorf("spans %v", ended)
	}
	if _, ok := metrics()["gen_ai.client.token.usage"].(metricdata.Histogram[int64]); !ok {
		t.Error("no tokens")
	}
	if hash, ok := r.ByName(llm.HashName); !ok || !hash.Fast() {
		t.Error("the hashed embedder is gone")
	}
}

// A call ends good, repaired, unusable or failed, which is counted by purpose.
func TestAnswersAreCounted(t *testing.T) {
	t.Parallel()
	f := setup(t)
	_, metrics := f.watch(t)
	m := must.Get(llm.NewModel(f.deps, f.cfg))(t)
	good, bad := llmtest.JSON(goodAnalysis), llmtest.Text("I would rather not say.")
	f.srv.Script("analyze", good, bad, good, bad, bad, llmtest.StatusText(http.StatusBadRequest, "no"), good)
	for range 5 {
		_, _ = m.Ask(t.Context(), f.scope, analyzeCall())
	}
	counted, ok := metrics()["slipbox.model.answers"].(metricdata.Sum[int64])
	if !ok {
		t.Fatal("answers are not counted")
	}
	got := map[string]int64{}
	for _, p := range counted.DataPoints {
		if of := valueOf(p.Attributes.ToSlice(), telemetry.ModelPurpose); of != "analyze" {
			t.Errorf("purpose %q", of)
		}
		got[valueOf(p.Attributes.ToSlice(), telemetry.ModelAnswer)] += p.Value
	}
	if want := map[string]int64{"good": 2, "repaired": 1, "unusable": 1, "failed": 1}; !maps.Equal(got, want) {
		t.Errorf("counted %v, want %v", got, want)
	}
}
