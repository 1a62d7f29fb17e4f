package telemetry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/slipboxhq/slipbox/internal/telemetry"
)

func start(t *testing.T, env map[string]string) *telemetry.Telemetry {
	t.Helper()
	tel, err := telemetry.Start(t.Context(), telemetry.Config{Version: "v1", Getenv: func(k string) string { return env[k] }})
	if err != nil {
		t.Fatal(err)
	}
	return tel
}

func scrape(t *testing.T, tel *telemetry.Telemetry) string {
	t.Helper()
	w := httptest.NewRecorder()
	tel.MetricsHandler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	return w.Body.String()
}

func TestMetricsAreServed(t *testing.T) {
	t.Parallel()
	tel := start(t, nil)
	c, err := tel.Meter("internal/test").Int64Counter("slipbox.test.things", metric.WithUnit("{thing}"))
	if err != nil {
		t.Fatal(err)
	}
	c.Add(t.Context(), 3, metric.WithAttributes(telemetry.ErrorType.String("not_found")))
	text := scrape(t, tel)
	for _, want := range []string{`slipbox_test_things_total{error_type="not_found"} 3`, `service_name="slipbox"`, `service_version="v1"`, "go_goroutines "} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in:\n%s", want, text)
		}
	}
	if err := tel.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	// The registry is private: a second process part does not clash.
	if strings.Contains(scrape(t, start(t, nil)), "slipbox_test_things_total") {
		t.Error("two setups share a registry")
	}
}

func TestHTTPMetricsFoldWhatStrangersSend(t *testing.T) {
	t.Parallel()
	tel := start(t, nil)
	h, err := telemetry.NewHTTPMetrics(tel.Meter("internal/api"))
	if err != nil {
		t.Fatal(err)
	}
	end := h.Begin(t.Context(), "GET")
	if text := scrape(t, tel); !strings.Contains(text, `http_server_active_requests{http_request_method="GET"} 1`) {
		t.Errorf("the request is not active in:\n%s", text)
	}
	end()
	h.RecordRequest(t.Context(), telemetry.Request{Method: "GET", Route: "/v1/agents/{agent}", Status: 200, Duration: time.Millisecond, Received: -1, Sent: 12})
	h.RecordRequest(t.Context(), telemetry.Request{Method: "BREW", Status: 404, Code: "not_found", Duration: time.Second, Received: 5, Sent: 1})
	text := scrape(t, tel)
	for _, want := range []string{
		`http_server_active_requests{http_request_method="GET"} 0`,
		`http_server_request_duration_seconds_count{http_request_method="GET",http_response_status_code="200",http_route="/v1/agents/{agent}"} 1`,
		`http_server_request_duration_seconds_count{error_type="not_found",http_request_method="_OTHER",http_response_status_code="404",http_route="unmatched"} 1`,
		`http_server_response_body_size_bytes_sum{http_request_method="GET",http_response_status_code="200",http_route="/v1/agents/{agent}"} 12`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in:\n%s", want, text)
		}
	}
	if strings.Contains(text, "BREW") || strings.Contains(text, `http_server_request_body_size_bytes_count{http_request_method="GET"`) {
		t.Errorf("an unknown method or size was recorded:\n%s", text)
	}
}

func TestTracesLeaveOnlyWithAnEndpoint(t *testing.T) {
	got := make(chan string, 1)
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		select {
		case got <- r.URL.Path + " " + string(b):
		default:
		}
	}))
	defer srv.Close()
	// The exporter itself reads the process environment.
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", srv.URL)

	for name, env := range map[string]map[string]string{
		"no endpoint": {},
		"disabled":    {"OTEL_EXPORTER_OTLP_ENDPOINT": srv.URL, "OTEL_SDK_DISABLED": "true"},
		"none":        {"OTEL_EXPORTER_OTLP_ENDPOINT": srv.URL, "OTEL_TRACES_EXPORTER": "none"},
	} {
		tel := start(t, env)
		_, span := tel.Tracer("internal/test").Start(t.Context(), "work")
		if span.IsRecording() {
			t.Errorf("%s: spans are recorded", name)
		}
		span.End()
		if err := tel.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	}
	tel := start(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": srv.URL})
	_, span := tel.Tracer("internal/test").Start(t.Context(), "the work")
	span.SetAttributes(telemetry.Tenant.String("t1"))
	span.End()
	if err := tel.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	body := <-got
	if !strings.HasPrefix(body, "/v1/traces ") || !strings.Contains(body, "the work") || !strings.Contains(body, "slipbox.tenant") {
		t.Errorf("sent %q", body)
	}
}

func TestStartRefusesWhatItCannotDo(t *testing.T) {
	t.Parallel()
	for _, env := range []map[string]string{
		{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x", "OTEL_TRACES_EXPORTER": "zipkin"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
		{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://x", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/json"},
	} {
		if _, err := telemetry.Start(t.Context(), telemetry.Config{Getenv: func(k string) string { return env[k] }}); err == nil {
			t.Errorf("%v was accepted", env)
		}
	}
	if _, err := telemetry.Start(t.Context(), telemetry.Config{}); err == nil {
		t.Error("started without an environment")
	}
}

func TestLogger(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log, err := telemetry.NewLogger(&out, telemetry.LogConfig{Level: "warn", Format: "json"})
	if err != nil {
		t.Fatal(err)
	}
	span := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}})
	ctx := trace.ContextWithSpanContext(t.Context(), span)
	log.InfoContext(ctx, "not this")
	log.With("part", "api").ErrorContext(ctx, "this", "error", errors.New("bad"))
	var got map[string]any
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatalf("%v in %q", err, out.String())
	}
	for k, want := range map[string]string{
		"msg": "this", "level": "ERROR", "part": "api", "error": "bad",
		"trace_id": span.TraceID().String(), "span_id": span.SpanID().String(),
	} {
		if got[k] != want {
			t.Errorf("%s is %v, want %s", k, got[k], want)
		}
	}
	out.Reset()
	text, err := telemetry.NewLogger(&out, telemetry.LogConfig{})
	if err != nil {
		t.Fatal(err)
	}
	text.DebugContext(t.Context(), "no")
	text.InfoContext(t.Context(), "yes")
	if s := out.String(); !strings.Contains(s, "msg=yes") || strings.Contains(s, "msg=no") {
		t.Errorf("wrote %q", s)
	}
	for _, c := range []telemetry.LogConfig{{Level: "loud"}, {Format: "xml"}} {
		if _, err := telemetry.NewLogger(&out, c); err == nil {
			t.Errorf("%+v was accepted", c)
		}
	}
}

func TestPropagator(t *testing.T) {
	t.Parallel()
	tel := start(t, nil)
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	ctx := tel.Propagator().Extract(context.Background(), propagation.MapCarrier{"traceparent": parent})
	if got := trace.SpanContextFromContext(ctx).TraceID().String(); got != "0af7651916cd43dd8448eb211c80319c" {
		t.Errorf("trace is %s", got)
	}
}
