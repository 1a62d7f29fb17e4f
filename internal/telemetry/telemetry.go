package telemetry

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	otelprom "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// Config of traces and metrics. Exporters read the rest of the standard OTEL_
// settings (headers, timeouts, sampler, resource attributes) themselves.
type Config struct {
	Service string // OTEL_SERVICE_NAME wins; default "slipbox"
	Version string // of the build
	// Getenv reads the environment, such as os.Getenv; required. Only these are
	// looked at, to decide whether to export: OTEL_SDK_DISABLED,
	// OTEL_TRACES_EXPORTER, OTEL_EXPORTER_OTLP_ENDPOINT and
	// OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, and the protocol settings, which must be http/protobuf.
	Getenv func(string) string
}

// Telemetry hands out tracers and meters until Shutdown.
type Telemetry struct {
	tracers  trace.TracerProvider
	meters   *sdkmetric.MeterProvider
	metrics  http.Handler
	shutdown []func(context.Context) error
}

// Start sets everything up. With an endpoint in the environment a goroutine
// sends spans in batches; without one spans cost nothing. It errs on settings
// that cannot be met, and never because the endpoint does not answer.
func Start(ctx context.Context, cfg Config) (*Telemetry, error) {
	if cfg.Getenv == nil {
		return nil, errors.New("telemetry: Getenv is required")
	}
	if cfg.Service == "" {
		cfg.Service = "slipbox"
	}
	res, err := resource.New(ctx,
		resource.WithTelemetrySDK(),
		resource.WithAttributes(ServiceName.String(cfg.Service), ServiceVersion.String(cfg.Version)),
		resource.WithFromEnv(),
	)
	if err != nil {
		return nil, fmt.Errorf("telemetry: read the resource attributes: %w", err)
	}
	t := &Telemetry{tracers: noop.NewTracerProvider()}
	if err := t.startMetrics(res); err != nil {
		return nil, err
	}
	if err := t.startTraces(ctx, cfg, res); err != nil {
		return nil, errors.Join(err, t.Shutdown(ctx))
	}
	return t, nil
}

func (t *Telemetry) startMetrics(res *resource.Resource) error {
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
		return fmt.Errorf("telemetry: make the metrics exporter: %w", err)
	}
	t.meters = sdkmetric.NewMeterProvider(sdkmetric.WithReader(exporter), sdkmetric.WithResource(res))
	t.metrics = promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
	t.shutdown = append(t.shutdown, t.meters.Shutdown)
	return nil
}

func (t *Telemetry) startTraces(ctx context.Context, cfg Config, res *resource.Resource) error {
	env := cfg.Getenv
	if env("OTEL_EXPORTER_OTLP_ENDPOINT") == "" && env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") == "" {
		return nil
	}
	if strings.EqualFold(env("OTEL_SDK_DISABLED"), "true") {
		return nil
	}
	switch kind := env("OTEL_TRACES_EXPORTER"); kind {
	case "none":
		return nil
	case "", "otlp":
	default:
		return fmt.Errorf("telemetry: OTEL_TRACES_EXPORTER is %q; valid are otlp and none", kind)
	}
	protocol := env("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL")
	if protocol == "" {
		protocol = env("OTEL_EXPORTER_OTLP_PROTOCOL")
	}
	if protocol != "" && protocol != "http/protobuf" {
		return fmt.Errorf("telemetry: the OTLP protocol is %q; only http/protobuf is spoken", protocol)
	}
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return fmt.Errorf("telemetry: make the trace exporter: %w", err)
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(res))
	t.tracers = provider
	t.shutdown = append(t.shutdown, provider.Shutdown)
	return nil
}

// Tracer gives the tracer of a package, named by its import path below the module.
func (t *Telemetry) Tracer(name string) trace.Tracer { return t.tracers.Tracer(name) }

// Meter gives the meter of a package, named as its tracer.
func (t *Telemetry) Meter(name string) metric.Meter { return t.meters.Meter(name) }

// MetricsHandler serves the metrics in Prometheus' text form.
func (t *Telemetry) MetricsHandler() http.Handler { return t.metrics }

// Propagator reads and writes the W3C headers traceparent, tracestate and baggage.
func (t *Telemetry) Propagator() propagation.TextMapPropagator {
	return propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})
}

// Shutdown sends what is left, within ctx, and stops. It may be called once.
func (t *Telemetry) Shutdown(ctx context.Context) error {
	errs := make([]error, 0, len(t.shutdown))
	for _, stop := range t.shutdown {
		errs = append(errs, stop(ctx))
	}
	return errors.Join(errs...)
}
