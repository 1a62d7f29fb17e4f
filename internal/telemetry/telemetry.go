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

// Config of traces, metrics and logs. Everything else (protocol, headers,
// timeouts, sampler, resource attributes, intervals) is read by the exporters
// and the SDK from the standard OTEL_ variables of the process.
type Config struct {
	Service string       // OTEL_SERVICE_NAME wins; default "slipbox"
	Version string       // of the build
	Log     *slog.Logger // hears of trouble with exporting, at most twice a minute; nil: nobody does
	// Getenv reads the environment of the process: os.Getenv; required. It decides
	// whether to export, by OTEL_SDK_DISABLED, OTEL_{TRACES,METRICS,LOGS}_EXPORTER,
	// OTEL_EXPORTER_OTLP_ENDPOINT and OTEL_EXPORTER_OTLP_{TRACES,METRICS,LOGS}_ENDPOINT.
	Getenv func(string) string
}

// flushTime bounds how long a stop waits for the last spans, metrics and
// records to be taken.
const flushTime = 5 * time.Second

// Telemetry hands out tracers, meters and loggers until Shutdown.
type Telemetry struct {
	tracers  trace.TracerProvider
	meters   *sdkmetric.MeterProvider
	logs     log.LoggerProvider // nil: logs are not exported
	metrics  http.Handler
	shutdown []func(context.Context) error
}

// Start sets everything up. A signal that is exported is sent in batches by a
// goroutine; without one, spans cost nothing. It errs on settings that cannot
// be met, and never because the endpoint does not answer.
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
	hear(cfg.Log)
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

// Tracer gives the tracer of a package, named by its import path below the module.
func (t *Telemetry) Tracer(name string) trace.Tracer { return t.tracers.Tracer(name) }

// Meter gives the meter of a package, named as its tracer.
func (t *Telemetry) Meter(name string) metric.Meter { return t.meters.Meter(name) }

// Tracers is for instrumentation that names its tracer itself.
func (t *Telemetry) Tracers() trace.TracerProvider { return t.tracers }

// Meters is for instrumentation that names its meter itself.
func (t *Telemetry) Meters() metric.MeterProvider { return t.meters }

// Logger gives a logger that writes where base does and, when logs are
// exported, also there: the same records, from the same level on.
func (t *Telemetry) Logger(base *slog.Logger) *slog.Logger {
	if t.logs == nil {
		return base
	}
	exported := otelslog.NewHandler("slipbox", otelslog.WithLoggerProvider(t.logs))
	return slog.New(both{base.Handler(), exported})
}

// MetricsHandler serves the metrics in Prometheus' text form.
func (t *Telemetry) MetricsHandler() http.Handler { return t.metrics }

// Propagator reads and writes the W3C headers traceparent, tracestate and baggage.
func (t *Telemetry) Propagator() propagation.TextMapPropagator {
	return propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})
}

// Shutdown sends what is left, within ctx and for at most 5 s, and stops. It
// may be called once. An error says that something was not taken.
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
