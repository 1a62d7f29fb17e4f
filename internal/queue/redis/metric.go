package redis

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/telemetry"
)

type metrics struct {
	out, in metric.Int64Counter
}

func newMetrics(m metric.Meter) (*metrics, error) {
	if m == nil {
		m = noop.Meter{}
	}
	out, err := m.Int64Counter("slipbox.wakeups.sent", metric.WithDescription("Wake-ups of workers, by what became of them"), metric.WithUnit("{wakeup}"))
	if err != nil {
		return nil, err
	}
	in, err := m.Int64Counter("slipbox.wakeups.received", metric.WithDescription("Wake-ups that this worker took"), metric.WithUnit("{wakeup}"))
	return &metrics{out: out, in: in}, err
}

func (m *metrics) sent(ctx context.Context, s memory.Stage, f fate) {
	m.out.Add(ctx, 1, metric.WithAttributeSet(attribute.NewSet(telemetry.JobStage.String(string(s)), telemetry.WakeFate.String(string(f)))))
}

func (m *metrics) received(ctx context.Context, s memory.Stage) {
	m.in.Add(ctx, 1, metric.WithAttributeSet(attribute.NewSet(telemetry.JobStage.String(string(s)))))
}
