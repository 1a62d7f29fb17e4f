// Package telemetrytest receives the telemetry that a process exports over OTLP, so
// that a test can inspect it.
package telemetrytest

import (
	"bytes"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	logspb "go.opentelemetry.io/proto/otlp/collector/logs/v1"
	metricspb "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	tracepb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	spanpb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Receiver is an OTLP endpoint over HTTP that stores everything it receives.
type Receiver struct {
	URL string

	mu      sync.Mutex
	raw     bytes.Buffer
	spans   []Span
	metrics map[string]bool
	logs    []Record
}

// Span is a received span.
type Span struct {
	Service, Name     string
	Trace, ID, Parent string // in hexadecimal; Parent "" for a root
	Start             uint64 // in nanoseconds since 1970
	Failed            bool
	Status            string // its description
	Attributes        map[string]string
	Events            []string // attribute values of its events
}

// Record is a received log record.
type Record struct {
	Service, Body, Trace, Severity string
	Attributes                     map[string]string
}

// New starts a receiver that stops at the end of the test.
func New(tb testing.TB) *Receiver {
	tb.Helper()
	r := &Receiver{metrics: map[string]bool{}}
	mux := http.NewServeMux()
	mux.HandleFunc("/v1/traces", receive(r, &tracepb.ExportTraceServiceRequest{}, r.addSpans))
	mux.HandleFunc("/v1/metrics", receive(r, &metricspb.ExportMetricsServiceRequest{}, r.addMetrics))
	mux.HandleFunc("/v1/logs", receive(r, &logspb.ExportLogsServiceRequest{}, r.addLogs))
	srv := httptest.NewServer(mux)
	tb.Cleanup(srv.Close)
	r.URL = srv.URL
	return r
}

// Environment returns the environment variables that make a process export
// everything to r at short intervals.
func (r *Receiver) Environment() map[string]string {
	return map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT": r.URL, "OTEL_BSP_SCHEDULE_DELAY": "50", "OTEL_BLRP_SCHEDULE_DELAY": "50",
		"OTEL_METRIC_EXPORT_INTERVAL": "200",
	}
}

// Setenv makes this process export to r until the end of the test.
func (r *Receiver) Setenv(t *testing.T) {
	t.Helper()
	for k, v := range r.Environment() {
		t.Setenv(k, v)
	}
}

// Spans returns the spans received so far.
func (r *Receiver) Spans() []Span {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.spans)
}

// Metrics returns the names of the instruments received so far, sorted.
func (r *Receiver) Metrics() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]string, 0, len(r.metrics))
	for name := range r.metrics {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// Logs returns the log records received so far.
func (r *Receiver) Logs() []Record {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.logs)
}

// Contains reports whether a text occurs anywhere in the received data.
func (r *Receiver) Contains(text string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return bytes.Contains(r.raw.Bytes(), []byte(text)) // protobuf does not encode strings
}

func receive[M proto.Message](r *Receiver, empty M, add func(M)) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		m, ok := empty.ProtoReflect().New().Interface().(M)
		if !ok {
			http.Error(w, "another message", http.StatusInternalServerError)
			return
		}
		if err := proto.Unmarshal(body, m); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.raw.Write(body)
		add(m)
		w.Header().Set("Content-Type", "application/x-protobuf")
	}
}

func (r *Receiver) addSpans(m *tracepb.ExportTraceServiceRequest) {
	for _, rs := range m.GetResourceSpans() {
		service := texts(rs.GetResource().GetAttributes())["service.name"]
		for _, ss := range rs.GetScopeSpans() {
			for _, s := range ss.GetSpans() {
				out := Span{
					Service: service, Name: s.GetName(), Attributes: texts(s.GetAttributes()),
					Trace: hex.EncodeToString(s.GetTraceId()), ID: hex.EncodeToString(s.GetSpanId()), Parent: hex.EncodeToString(s.GetParentSpanId()),
					Start: s.GetStartTimeUnixNano(), Failed: s.GetStatus().GetCode() == spanpb.Status_STATUS_CODE_ERROR, Status: s.GetStatus().GetMessage(),
				}
				for _, e := range s.GetEvents() {
					for _, v := range texts(e.GetAttributes()) {
						out.Events = append(out.Events, v)
					}
				}
				r.spans = append(r.spans, out)
			}
		}
	}
}

func (r *Receiver) addMetrics(m *metricspb.ExportMetricsServiceRequest) {
	for _, rm := range m.GetResourceMetrics() {
		for _, sm := range rm.GetScopeMetrics() {
			for _, m := range sm.GetMetrics() {
				r.metrics[m.GetName()] = true
			}
		}
	}
}

func (r *Receiver) addLogs(m *logspb.ExportLogsServiceRequest) {
	for _, rl := range m.GetResourceLogs() {
		service := texts(rl.GetResource().GetAttributes())["service.name"]
		for _, sl := range rl.GetScopeLogs() {
			for _, l := range sl.GetLogRecords() {
				r.logs = append(r.logs, Record{
					Service: service, Body: l.GetBody().GetStringValue(), Trace: hex.EncodeToString(l.GetTraceId()),
					Severity: l.GetSeverityText(), Attributes: texts(l.GetAttributes()),
				})
			}
		}
	}
}

func texts(attributes []*commonpb.KeyValue) map[string]string {
	out := make(map[string]string, len(attributes))
	for _, a := range attributes {
		if s, ok := a.GetValue().GetValue().(*commonpb.AnyValue_StringValue); ok {
			out[a.GetKey()] = s.StringValue
		} else {
			out[a.GetKey()] = a.GetValue().String()
		}
	}
	return out
}
