// Package telemetry sets up traces, metrics and logs, and holds the one list
// of attribute names.
//
// Metrics are always read from a private registry by Prometheus. A signal
// leaves the process only when the standard OTEL_ settings name an endpoint for
// it or choose its exporter. The rest of the program knows the interfaces
// trace.Tracer, metric.Meter and *slog.Logger, which are passed in; nothing of
// ours is imported. What OpenTelemetry itself keeps globally, where it tells of
// its own trouble, is pointed at our log; nothing else here is global.
package telemetry
