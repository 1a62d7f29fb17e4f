// Package telemetry sets up traces, metrics and logs, and holds the one list
// of attribute names.
//
// Traces leave the process only when the standard OTEL_ settings name an
// endpoint. Metrics are read from a private registry by Prometheus. The rest of
// the program knows the interfaces trace.Tracer, metric.Meter and *slog.Logger,
// which are passed in; nothing here is global, and nothing of ours is imported.
package telemetry
