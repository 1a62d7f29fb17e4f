package postgres

import (
	"github.com/exaring/otelpgx"
	"github.com/jackc/pgx/v5"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

// Tracer is called for every statement; see NewTracer.
type Tracer = pgx.QueryTracer

// NewTracer returns a Tracer that makes statements spans and measures them. A span has the text of
// the statement, in which all values are parameters, and no values. Spans are only made within a
// trace.
func NewTracer(t trace.TracerProvider, m metric.MeterProvider) Tracer {
	return otelpgx.NewTracer(otelpgx.WithTracerProvider(t), otelpgx.WithMeterProvider(m),
		otelpgx.WithDisableConnectionDetailsInAttributes(), // one server, which telemetry's resource may name
		otelpgx.WithDisableAcquireTracer())                 // the pool is measured as a whole
}

// MeasurePool exports the metrics of the connection pool.
func (s *Store) MeasurePool(m metric.MeterProvider) error {
	return otelpgx.RecordStats(s.pool, otelpgx.WithStatsMeterProvider(m))
}
