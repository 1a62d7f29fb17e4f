package cache

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/embedded"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/slipboxhq/slipbox/internal/telemetry"
)

// oneMeter is a provider that has one meter, which is what instrumentation of others asks for.
type oneMeter struct {
	embedded.MeterProvider
	meter metric.Meter
}

// Meter gives the one.
func (o oneMeter) Meter(string, ...metric.MeterOption) metric.Meter { return o.meter }

// orNoop lets metrics be left out.
func orNoop(m metric.Meter) metric.Meter {
	if m == nil {
		return noop.Meter{}
	}
	return m
}

type redisMetrics struct {
	bypassed metric.Int64Counter
}

func newRedisMetrics(m metric.Meter, r *Redis) (*redisMetrics, error) {
	m = orNoop(m)
	_, err := m.Int64ObservableGauge("slipbox.redis.available",
		metric.WithDescription("1 while Redis is used, 0 while it is passed by"),
		metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error {
			var up int64
			if r.Available() {
				up = 1
			}
			o.Observe(up)
			return nil
		}))
	if err != nil {
		return nil, err
	}
	bypassed, err := m.Int64Counter("slipbox.redis.bypassed",
		metric.WithDescription("Calls that were answered without Redis, or whose write was dropped"), metric.WithUnit("{call}"))
	return &redisMetrics{bypassed: bypassed}, err
}

func (m *redisMetrics) bypass(ctx context.Context, operation, reason string) {
	m.bypassed.Add(ctx, 1, metric.WithAttributeSet(attribute.NewSet(
		telemetry.Operation.String(operation), telemetry.Reason.String(reason))))
}

// The levels of the cache, as attributes.
const (
	levelProcess = "process"
	levelRedis   = "redis"
)

type lookupMetrics struct {
	lookups metric.Int64Counter
}

func newLookupMetrics(m metric.Meter) (*lookupMetrics, error) {
	c, err := orNoop(m).Int64Counter("slipbox.cache.lookups",
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
