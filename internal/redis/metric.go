package redis

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/embedded"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/telemetry"
)

// oneMeter is a provider with one meter, which is what the client's instrumentation requires.
type oneMeter struct {
	embedded.MeterProvider
	meter metric.Meter
}

// Meter returns the one meter.
func (o oneMeter) Meter(string, ...metric.MeterOption) metric.Meter { return o.meter }

type clientMetrics struct {
	bypassed metric.Int64Counter
}

// newClientMetrics makes the metrics of a client. A nil meter measures nothing.
func newClientMetrics(m metric.Meter, c *Client) (*clientMetrics, error) {
	if m == nil {
		m = noop.Meter{}
	}
	_, err := m.Int64ObservableGauge("slipbox.redis.available",
		metric.WithDescription("1 while Redis is used, 0 while it is bypassed"),
		metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error {
			var up int64
			if c.Available() {
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
	return &clientMetrics{bypassed: bypassed}, err
}

func (m *clientMetrics) bypass(ctx context.Context, operation, reason string) {
	m.bypassed.Add(ctx, 1, metric.WithAttributeSet(attribute.NewSet(
		telemetry.Operation.String(operation), telemetry.Reason.String(reason))))
}

// fate is what happened to a wake-up.
type fate string

const (
	sent    fate = "sent"
	merged  fate = "merged"  // its lane waits already
	dropped fate = "dropped" // too many wait, or Redis is away
)

type wakeMetrics struct {
	out, in metric.Int64Counter
}

// newWakeMetrics makes the metrics of wake-ups. A nil meter measures nothing.
func newWakeMetrics(m metric.Meter) (*wakeMetrics, error) {
	if m == nil {
		m = noop.Meter{}
	}
	out, err := m.Int64Counter("slipbox.wakeups.sent", metric.WithDescription("Wake-ups of workers, by what happened to them"), metric.WithUnit("{wakeup}"))
	if err != nil {
		return nil, err
	}
	in, err := m.Int64Counter("slipbox.wakeups.received", metric.WithDescription("Wake-ups that this worker took"), metric.WithUnit("{wakeup}"))
	return &wakeMetrics{out: out, in: in}, err
}

func (m *wakeMetrics) sent(ctx context.Context, s memory.Stage, f fate, n int) {
	if n > 0 {
		m.out.Add(ctx, int64(n), metric.WithAttributeSet(attribute.NewSet(telemetry.JobStage.String(string(s)), telemetry.WakeFate.String(string(f)))))
	}
}

func (m *wakeMetrics) received(ctx context.Context, s memory.Stage) {
	m.in.Add(ctx, 1, metric.WithAttributeSet(attribute.NewSet(telemetry.JobStage.String(string(s)))))
}
