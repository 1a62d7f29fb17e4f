package telemetry

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/contrib/exporters/autoexport"
	otelprom "go.opentelemetry.io/otel/exporters/prometheus"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// exported reports whether a signal ("TRACES", "METRICS" or "LOGS") is exported:
// when its exporter is set, or an endpoint for it.
func (c Config) exported(signal string) bool {
	if strings.EqualFold(c.Getenv("OTEL_SDK_DISABLED"), "true") {
		return false
	}
	switch kind := c.Getenv("OTEL_" + signal + "_EXPORTER"); {
	case kind == "none":
		return false
	case kind == "prometheus" && signal == "METRICS":
		return false // metrics are always served at /metrics
	case kind != "":
		return true
	}
	return c.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || c.Getenv("OTEL_EXPORTER_OTLP_"+signal+"_ENDPOINT") != ""
}

// exporterError names the settings from which an exporter could not be created.
func exporterError(signal string, err error) error {
	return fmt.Errorf("telemetry: OTEL_%s_EXPORTER, OTEL_EXPORTER_OTLP_PROTOCOL or OTEL_EXPORTER_OTLP_%s_PROTOCOL is invalid; "+
		"valid exporters are otlp, console and none, valid protocols http/protobuf and grpc: %w", signal, signal, err)
}

func (t *Telemetry) startMetrics(ctx context.Context, cfg Config, res *resource.Resource) error {
	registry := prometheus.NewRegistry()
	for _, c := range []prometheus.Collector{
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	} {
		if err := registry.Register(c); err != nil {
			return fmt.Errorf("telemetry: register the process metrics: %w", err)
		}
	}
	exporter, err := otelprom.New(otelprom.WithRegisterer(registry), otelprom.WithoutScopeInfo())
	if err != nil {
		return fmt.Errorf("telemetry: create the metrics exporter: %w", err)
	}
	options := []sdkmetric.Option{sdkmetric.WithReader(exporter), sdkmetric.WithResource(res), sdkmetric.WithView(views()...)}
	if cfg.exported("METRICS") {
		reader, err := autoexport.NewMetricReader(ctx)
		if err != nil {
			return exporterError("METRICS", err)
		}
		options = append(options, sdkmetric.WithReader(reader))
	}
	t.meters = sdkmetric.NewMeterProvider(options...)
	t.metrics = promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
	t.shutdown = append(t.shutdown, t.meters.Shutdown)
	return nil
}

// unconventional are the metrics of instrumentation whose unit is not the second, which all others
// have. The wait for a connection to Postgres is measured by internal/store/postgres itself.
var unconventional = []string{
	"db.client.connections.create_time", "db.client.connections.use_time", "db.client.connections.waits_duration", // of Redis
	"pgxpool.acquire_duration", "pgxpool.empty_acquire_wait_time",
}

// views drops the unconventional metrics.
func views() []sdkmetric.View {
	out := make([]sdkmetric.View, len(unconventional))
	for i, name := range unconventional {
		out[i] = sdkmetric.NewView(sdkmetric.Instrument{Name: name}, sdkmetric.Stream{Aggregation: sdkmetric.AggregationDrop{}})
	}
	return out
}

// maxAttribute is the maximum length of a text attribute of a span in characters;
// SQL statements can be long. OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT overrides it.
const maxAttribute = 1000

func (t *Telemetry) startTraces(ctx context.Context, cfg Config, res *resource.Resource) error {
	if !cfg.exported("TRACES") {
		return nil
	}
	exporter, err := autoexport.NewSpanExporter(ctx)
	if err != nil {
		return exporterError("TRACES", err)
	}
	limits := sdktrace.NewSpanLimits()
	if limits.AttributeValueLengthLimit < 0 {
		limits.AttributeValueLengthLimit = maxAttribute
	}
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(redactingExporter{exporter}), sdktrace.WithResource(res), sdktrace.WithRawSpanLimits(limits))
	t.tracers = provider
	t.shutdown = append(t.shutdown, provider.Shutdown)
	return nil
}

func (t *Telemetry) startLogs(ctx context.Context, cfg Config, res *resource.Resource) error {
	if !cfg.exported("LOGS") {
		return nil
	}
	exporter, err := autoexport.NewLogExporter(ctx)
	if err != nil {
		return exporterError("LOGS", err)
	}
	provider := sdklog.NewLoggerProvider(sdklog.WithProcessor(sdklog.NewBatchProcessor(exporter)), sdklog.WithResource(res))
	t.logs = provider
	t.shutdown = append(t.shutdown, provider.Shutdown)
	return nil
}

// redactingExporter removes error messages from spans. Instrumentation of drivers records
// the messages of a server, which may quote the data that it received. The type of
// the error is exported.
type redactingExporter struct{ sdktrace.SpanExporter }

// ExportSpans implements sdktrace.SpanExporter.
func (d redactingExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	out := make([]sdktrace.ReadOnlySpan, len(spans))
	for i, s := range spans {
		out[i] = redactedSpan{s}
	}
	return d.SpanExporter.ExportSpans(ctx, out)
}

type redactedSpan struct{ sdktrace.ReadOnlySpan }

// codePattern matches codes, such as those of faults, but no sentences.
var codePattern = regexp.MustCompile(`^[a-z_]{0,40}$`)

// Status implements sdktrace.ReadOnlySpan.
func (s redactedSpan) Status() sdktrace.Status {
	status := s.ReadOnlySpan.Status()
	if !codePattern.MatchString(status.Description) {
		status.Description = ""
	}
	return status
}

// Events implements sdktrace.ReadOnlySpan.
func (s redactedSpan) Events() []sdktrace.Event {
	all := s.ReadOnlySpan.Events()
	out := make([]sdktrace.Event, len(all))
	for i, e := range all {
		safe := e.Attributes[:0:0]
		for _, a := range e.Attributes {
			if a.Key == ExceptionType {
				safe = append(safe, a)
			}
		}
		e.Attributes = safe
		out[i] = e
	}
	return out
}
