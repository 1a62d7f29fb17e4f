package postgres

import (
	"github.com/exaring/otelpgx"
	"github.com/jackc/pgx/v5"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

// Tracer hears of statements; see NewTracer.
type Tracer = pgx.QueryTracer

// NewTracer gives what makes statements spans and measures them. Spans hold
// the statement, whose values are all parameters, and no parameter; they are
// only made within a trace.
func NewTracer(t trace.TracerProvider, m metric.MeterProvider) Tracer {
	return otelpgx.NewTracer(otelpgx.WithTracerProvider(t), otelpgx.WithMeterProvider(m),
		otelpgx.WithDisableConnectionDetailsInAttributes(), // one server, which telemetry's resource may name
		otelpgx.WithDisableAcquireTracer())                 // the pool is measured as a whole
}

// MeasurePool measures the pool of connections.
func (s *Store) MeasurePool(m metric.MeterProvider) error {
	return otelpgx.RecordStats(s.pool, otelpgx.WithStatsMeterProvider(m))
}
