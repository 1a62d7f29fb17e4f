package cache

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/slipboxhq/slipbox/internal/telemetry"
)

// The levels of the cache, as attributes.
const (
	levelProcess = "process"
	levelRedis   = "redis"
)

type lookupMetrics struct {
	lookups metric.Int64Counter
}

// newLookupMetrics makes the metrics of lookups. A nil meter measures nothing.
func newLookupMetrics(m metric.Meter) (*lookupMetrics, error) {
	if m == nil {
		m = noop.Meter{}
	}
	c, err := m.Int64Counter("slipbox.cache.lookups",
		metric.WithDescription("Versions looked up in the cache, by level and outcome"), metric.WithUnit("{version}"))
	return &lookupMetrics{lookups: c}, err
}

func (m *lookupMetrics) add(ctx context.Context, level string, hits, misses int) {
	for hit, n := range map[bool]int{true: hits, false: misses} {
		if n > 0 {
			m.lookups.Add(ctx, int64(n), metric.WithAttributeSet(attribute.NewSet(
				telemetry.CacheLevel.String(level), telemetry.CacheHit.Bool(hit))))
		}
	}
}
