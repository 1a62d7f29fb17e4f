// Package telemetry sets up traces, metrics and logs, and defines all attribute
// names.
//
// Prometheus can always read the metrics, from a private registry. A signal is
// exported only when the standard OTEL_ settings name an endpoint for it or choose
// its exporter. Other packages receive a trace.Tracer, a metric.Meter and a
// *slog.Logger, and import this package only for attribute names and
// instruments. It imports no other package of the module. internal/app starts it
// and stops it.
//
// OpenTelemetry reports its own errors through one global handler, which is set to
// the log. No other state here is global.
package telemetry
