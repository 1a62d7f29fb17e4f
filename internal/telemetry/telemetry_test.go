package telemetry_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/slipboxhq/slipbox/internal/app/command/commandtest"
	"github.com/slipboxhq/slipbox/internal/telemetry"
	"github.com/slipboxhq/slipbox/internal/telemetry/telemetrytest"
	"github.com/slipboxhq/slipbox/test/must"
)

func start(t *testing.T, env map[string]string) *telemetry.Telemetry {
	t.Helper()
	tel := must.Get(telemetry.Start(t.Context(), telemetry.Config{Version: "v1", Getenv: func(k string) string { return env[k] }}))(t)
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
	c := must.Get(tel.Meter("internal/test").Int64Counter("slipbox.test.things", metric.WithUnit("{thing}")))(t)
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
	// The registry is private: a second setup in the process does not conflict.
	if strings.Contains(scrape(t, start(t, nil)), "slipbox_test_things_total") {
		t.Error("two setups share a registry")
	}
}

func TestHTTPMetricsBoundAttributeValues(t *testing.T) {
	t.Parallel()
	tel := start(t, nil)
	h := must.Get(telemetry.NewHTTPMetrics(tel.Meter("internal/api")))(t)
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
		`http_server_response_body_size_bytes_sum{http_request_method="GET"} 12`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in:\n%s", want, text)
		}
	}
	if n := strings.Count(text, `http_server_request_duration_seconds_bucket{http_request_method="GET"`); n > 8 { // for each route and status
		t.Errorf("%d buckets of a route", n)
	}
	if strings.Contains(text, "BREW") || strings.Contains(text, `http_server_request_body_size_bytes_count{http_request_method="GET"`) {
		t.Errorf("an unknown method or size was recorded:\n%s", text)
	}
}

type slogKind string

// emit creates one record of each signal and shuts tel down.
func emit(t *testing.T, tel *telemetry.Telemetry, base *slog.Logger) {
	t.Helper()
	c := must.Get(tel.Meter("internal/test").Int64Counter("slipbox.test.things"))(t)
	ctx, span := tel.Tracer("internal/test").Start(t.Context(), "the work")
	span.SetAttributes(telemetry.Tenant.String("t1"))
	c.Add(ctx, 1)
	tel.Logger(base).With("part", "api").InfoContext(ctx, "worked", "error", errors.New("in part"), "id", uuid.UUID{1}, "kind", slogKind("a kind"))
	tel.Logger(base).DebugContext(ctx, "not at this level")
	span.End()
	if err := tel.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestSignalsAreExportedOnlyWhenConfigured(t *testing.T) {
	for name, c := range map[string]struct {
		env  map[string]string
		want string
	}{
		"nothing set":             {nil, ""},
		"an endpoint":             {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "%s"}, "traces metrics logs"},
		"an endpoint of traces":   {map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "%s/v1/traces"}, "traces"},
		"an endpoint of metrics":  {map[string]string{"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "%s/v1/metrics"}, "metrics"},
		"an endpoint of logs":     {map[string]string{"OTEL_EXPORTER_OTLP_LOGS_ENDPOINT": "%s/v1/logs"}, "logs"},
		"disabled":                {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "%s", "OTEL_SDK_DISABLED": "true"}, ""},
		"no traces":               {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "%s", "OTEL_TRACES_EXPORTER": "none"}, "metrics logs"},
		"metrics are served only": {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "%s", "OTEL_METRICS_EXPORTER": "prometheus"}, "traces logs"},
		"no sample":               {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "%s", "OTEL_TRACES_SAMPLER": "always_off"}, "metrics logs"},
		"chosen": {map[string]string{
			"OTEL_EXPORTER_OTLP_ENDPOINT": "%s", "OTEL_TRACES_EXPORTER": "otlp", "OTEL_METRICS_EXPORTER": "otlp", "OTEL_LOGS_EXPORTER": "otlp",
			"OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
		}, "traces metrics logs"},
	} {
		t.Run(name, func(t *testing.T) {
			r := telemetrytest.New(t)
			for k, v := range c.env {
				t.Setenv(k, strings.ReplaceAll(v, "%s", r.URL))
			}
			t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test")
			var local bytes.Buffer
			base := must.Get(telemetry.NewLogger(&local, telemetry.LogConfig{}))(t)
			tel := must.Get(telemetry.Start(t.Context(), telemetry.Config{Service: "slipbox-test", Version: "v1", Getenv: os.Getenv}))(t)
			emit(t, tel, base)
			var got []string
			if spans := r.Spans(); len(spans) > 0 {
				got = append(got, "traces")
				if s := spans[0]; s.Service != "slipbox-test" || s.Name != "the work" || s.Attributes["slipbox.tenant"] != "t1" {
					t.Errorf("the span is %+v", s)
				}
			}
			if slices.Contains(r.Metrics(), "slipbox.test.things") {
				got = append(got, "metrics")
			}
			if logs := r.Logs(); len(logs) > 0 {
				got = append(got, "logs")
				if l := logs[0]; len(logs) != 1 || l.Body != "worked" || l.Service != "slipbox-test" || l.Attributes["part"] != "api" ||
					l.Attributes["id"] != "01000000-0000-0000-0000-000000000000" || l.Attributes["kind"] != "a kind" || l.Attributes["exception.message"] != "in part" {
					t.Errorf("the records are %+v", logs)
				}
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("exported %v, want %s", got, c.want)
			}
			if len(got) == 3 && r.Logs()[0].Trace != r.Spans()[0].Trace {
				t.Error("the record does not have the id of its trace")
			}
			if !strings.Contains(local.String(), "msg=worked part=api") || strings.Contains(local.String(), "not at this level") {
				t.Errorf("the local log is %q", local.String())
			}
		})
	}
}

func TestServiceNameFromEnvironment(t *testing.T) {
	r := telemetrytest.New(t)
	r.Setenv(t)
	t.Setenv("OTEL_SERVICE_NAME", "mine")
	tel := must.Get(telemetry.Start(t.Context(), telemetry.Config{Service: "slipbox-test", Getenv: os.Getenv}))(t)
	if text := scrape(t, tel); !strings.Contains(text, `service_name="mine"`) || !strings.Contains(text, "service_instance_id=") {
		t.Errorf("the resource in:\n%s", text)
	}
	emit(t, tel, slog.New(slog.DiscardHandler))
	if spans := r.Spans(); len(spans) != 1 || spans[0].Service != "mine" {
		t.Errorf("spans are %+v", spans)
	}
}

// Langfuse takes traces in protobuf at a path of its own, and knows who sends them by a header.
func TestTracesGoToLangfuse(t *testing.T) {
	r := telemetrytest.New(t)
	behind := must.Get(url.Parse(r.URL))(t)
	proxy := &httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(behind) }}
	langfuse := httptest.NewServer(http.StripPrefix("/api/public/otel", http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if public, secret, ok := req.BasicAuth(); !ok || public != "pk-lf-1" || secret != "sk-lf-2>>>>" || req.Header.Get("Content-Type") != "application/x-protobuf" {
			t.Errorf("%s %v", req.URL, req.Header)
		}
		proxy.ServeHTTP(w, req)
	})))
	t.Cleanup(langfuse.Close)
	for k, v := range map[string]string{
		"OTEL_METRICS_EXPORTER": "none", "OTEL_LOGS_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": langfuse.URL + "/api/public/otel",
		"OTEL_EXPORTER_OTLP_HEADERS": "Authorization=Basic " + base64.StdEncoding.EncodeToString([]byte("pk-lf-1:sk-lf-2>>>>")), // has + and =
	} {
		t.Setenv(k, v)
	}
	tel := must.Get(telemetry.Start(t.Context(), telemetry.Config{Service: "slipbox-test", Getenv: os.Getenv}))(t)
	emit(t, tel, slog.New(slog.DiscardHandler))
	if spans := r.Spans(); len(spans) != 1 || spans[0].Name != "the work" || len(r.Metrics()) > 0 || len(r.Logs()) > 0 {
		t.Errorf("%+v, %v, %v", spans, r.Metrics(), r.Logs())
	}
}

func TestDriverErrorMessagesAreNotExported(t *testing.T) {
	r := telemetrytest.New(t)
	r.Setenv(t)
	tel := must.Get(telemetry.Start(t.Context(), telemetry.Config{Getenv: os.Getenv}))(t)
	secret := "content of a note"
	_, span := tel.Tracer("internal/test").Start(t.Context(), "SELECT")
	span.RecordError(fmt.Errorf("invalid input syntax: %q", secret))
	span.SetStatus(codes.Error, "invalid input syntax: "+secret)
	span.SetAttributes(telemetry.Operation.String(strings.Repeat("x", 5000)))
	span.End()
	_, span = tel.Tracer("internal/test").Start(t.Context(), "store.Write")
	span.SetStatus(codes.Error, "unavailable")
	span.End()
	must.Do(t, tel.Shutdown(t.Context()))
	spans := r.Spans()
	if len(spans) != 2 || !spans[0].Failed || spans[0].Status != "" || len(spans[0].Events) != 1 || spans[1].Status != "unavailable" {
		t.Errorf("spans are %+v", spans)
	}
	if n := len(spans[0].Attributes["slipbox.operation"]); n > 1100 {
		t.Errorf("an attribute of %d bytes", n)
	}
	if r.Contains(secret) {
		t.Error("the error message was exported")
	}
}

func TestExportErrorsAreLoggedRarely(t *testing.T) {
	var refused atomic.Int64
	down := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		refused.Add(1)
		http.Error(w, "no", http.StatusBadRequest)
	}))
	defer down.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", down.URL)
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "2")
	var local commandtest.Buffer
	tel := must.Get(telemetry.Start(t.Context(), telemetry.Config{Log: slog.New(slog.NewTextHandler(&local, nil)), Getenv: os.Getenv}))(t)
	deadline := time.After(5 * time.Minute)
	for refused.Load() < 10 {
		_, span := tel.Tracer("internal/test").Start(t.Context(), "work")
		span.End()
		select {
		case <-deadline:
			t.Fatal("nothing is exported")
		case <-time.After(time.Millisecond):
		}
	}
	_ = tel.Shutdown(t.Context())
	if n := strings.Count(local.String(), "telemetry cannot be exported"); n != 1 {
		t.Errorf("logged %d times:\n%s", n, local.String())
	}
}

func TestShutdownWithHangingEndpoint(t *testing.T) {
	hang := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-hang:
		case <-r.Context().Done():
		}
	}))
	defer srv.Close()
	defer close(hang)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", srv.URL)
	t.Setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "600000")
	tel := must.Get(telemetry.Start(t.Context(), telemetry.Config{Getenv: os.Getenv}))(t)
	_, span := tel.Tracer("internal/test").Start(t.Context(), "work")
	span.End()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	began := time.Now()
	if err := tel.Shutdown(ctx); err == nil {
		t.Error("Shutdown returned no error although nothing was exported")
	}
	if took := time.Since(began); took > 5*time.Minute {
		t.Errorf("Shutdown took %s", took)
	}
}

func TestTraceparent(t *testing.T) {
	t.Parallel()
	if got := telemetry.Traceparent(t.Context()); got != "" {
		t.Errorf("without a span: %q", got)
	}
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	if got := telemetry.Traceparent(telemetry.WithTraceparent(t.Context(), parent)); got != parent {
		t.Errorf("carried %q", got)
	}
	for _, bad := range []string{"", "x", "00-00000000000000000000000000000000-b7ad6b7169203331-01", strings.Repeat("0", 1000)} {
		if got := telemetry.Traceparent(telemetry.WithTraceparent(t.Context(), bad)); got != "" {
			t.Errorf("%q became %q", bad, got)
		}
	}
}

func TestStartRefusesInvalidSettings(t *testing.T) {
	for name, env := range map[string]map[string]string{
		"traces":  {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x", "OTEL_TRACES_EXPORTER": "zipkin"},
		"metrics": {"OTEL_METRICS_EXPORTER": "statsd"},
		"logs":    {"OTEL_EXPORTER_OTLP_LOGS_ENDPOINT": "http://x", "OTEL_EXPORTER_OTLP_LOGS_PROTOCOL": "http/json"},
	} {
		t.Run(name, func(t *testing.T) {
			for k, v := range env {
				t.Setenv(k, v)
			}
			_, err := telemetry.Start(t.Context(), telemetry.Config{Getenv: os.Getenv})
			if want := "OTEL_" + strings.ToUpper(name) + "_EXPORTER"; err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v: %v, which should name %s", env, err, want)
			}
		})
	}
	if _, err := telemetry.Start(t.Context(), telemetry.Config{}); err == nil {
		t.Error("started without an environment")
	}
}

func TestLogger(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := must.Get(telemetry.NewLogger(&out, telemetry.LogConfig{Level: "warn", Format: "json"}))(t)
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
	text := must.Get(telemetry.NewLogger(&out, telemetry.LogConfig{}))(t)
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
