package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/contrib/bridges/otelslog"
	"go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// Config configures traces, metrics and logs. Everything else (protocol, headers,
// timeouts, sampler, resource attributes, intervals) is read by the exporters and the
// SDK from the standard OTEL_ variables of the process.
type Config struct {
	Service string // default "slipbox"; OTEL_SERVICE_NAME overrides it
	Version string // of the build
	// Log receives errors of the exporters, at most two a minute; nil: they are discarded.
	Log *slog.Logger
	// Getenv reads the environment of the process: os.Getenv; required. It is used to decide
	// what is exported, by OTEL_SDK_DISABLED, OTEL_{TRACES,METRICS,LOGS}_EXPORTER,
	// OTEL_EXPORTER_OTLP_ENDPOINT and OTEL_EXPORTER_OTLP_{TRACES,METRICS,LOGS}_ENDPOINT.
	Getenv func(string) string
}

// flushTime is how long Shutdown waits at most for the last spans, metrics and log
// records to be exported.
const flushTime = 5 * time.Second

// Telemetry provides tracers, meters and loggers until Shutdown.
type Telemetry struct {
	tracers  trace.TracerProvider
	meters   *sdkmetric.MeterProvider
	logs     log.LoggerProvider // nil: logs are not exported
	metrics  http.Handler
	shutdown []func(context.Context) error
}

// Start sets everything up. Each exported signal is sent in batches by a goroutine.
// When traces are not exported, spans are no-ops. Start returns an error for invalid
// settings, but not when the endpoint does not answer.
func Start(ctx context.Context, cfg Config) (*Telemetry, error) {
	if cfg.Getenv == nil {
		return nil, errors.New("telemetry: Getenv is required")
	}
	if cfg.Service == "" {
		cfg.Service = "slipbox"
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	logOTelErrors(cfg.Log)
	res, err := resource.New(ctx,
		resource.WithTelemetrySDK(),
		resource.WithAttributes(ServiceName.String(cfg.Service), ServiceVersion.String(cfg.Version), ServiceID.String(uuid.NewString())),
		resource.WithFromEnv(),
	)
	if err != nil {
		return nil, fmt.Errorf("telemetry: read the resource attributes: %w", err)
	}
	t := &Telemetry{tracers: noop.NewTracerProvider()}
	for _, start := range []func(context.Context, Config, *resource.Resource) error{t.startMetrics, t.startTraces, t.startLogs} {
		if err := start(ctx, cfg, res); err != nil {
			return nil, errors.Join(err, t.Shutdown(ctx))
		}
	}
	return t, nil
}

// Tracer returns the tracer of a package. name is its import path within the module.
func (t *Telemetry) Tracer(name string) trace.Tracer { return t.tracers.Tracer(name) }

// Meter returns the meter of a package. name is its import path within the module.
func (t *Telemetry) Meter(name string) metric.Meter { return t.meters.Meter(name) }

// Tracers returns the provider, for instrumentation that names its tracer itself.
func (t *Telemetry) Tracers() trace.TracerProvider { return t.tracers }

// Meters returns the provider, for instrumentation that names its meter itself.
func (t *Telemetry) Meters() metric.MeterProvider { return t.meters }

// Logger returns a logger that writes to base and, when logs are exported, also
// exports the same records.
func (t *Telemetry) Logger(base *slog.Logger) *slog.Logger {
	if t.logs == nil {
		return base
	}
	exported := otelslog.NewHandler("slipbox", otelslog.WithLoggerProvider(t.logs))
	return slog.New(teeHandler{base.Handler(), exported})
}

// MetricsHandler returns a handler that serves the metrics in the text format of
// Prometheus.
func (t *Telemetry) MetricsHandler() http.Handler { return t.metrics }

// Propagator returns a propagator that reads and writes the W3C headers traceparent,
// tracestate and baggage.
func (t *Telemetry) Propagator() propagation.TextMapPropagator {
	return propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})
}

// Shutdown exports what is buffered, for at most 5 s, and stops the exporters. It may
// be called once. It returns an error when something could not be exported.
func (t *Telemetry) Shutdown(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, flushTime)
	defer cancel()
	errs := make([]error, len(t.shutdown))
	var running sync.WaitGroup
	for i, stop := range t.shutdown {
		running.Go(func() { errs[i] = stop(ctx) })
	}
	running.Wait()
	return errors.Join(errs...)
}
