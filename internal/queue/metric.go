package queue

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/telemetry"
)

// Outcome is how one try of a job ended in this process.
type Outcome string

// The outcomes.
const (
	Done    Outcome = "done"
	Failed  Outcome = "failed"  // it was settled with its error
	Stopped Outcome = "stopped" // the runner stopped and released it
	Lost    Outcome = "lost"    // its lease was lost
)

type metrics struct {
	running metric.Int64UpDownCounter
	took    metric.Float64Histogram
}

func newMetrics(m metric.Meter) (*metrics, error) {
	if m == nil {
		m = noop.Meter{}
	}
	running, err := m.Int64UpDownCounter("slipbox.jobs.running", metric.WithDescription("Jobs that run in this process"), metric.WithUnit("{job}"))
	if err != nil {
		return nil, err
	}
	took, err := m.Float64Histogram("slipbox.job.duration", metric.WithDescription("How long tries of jobs took"), metric.WithUnit("s"),
		metric.WithExplicitBucketBoundaries(.01, .05, .25, 1, 5, 30, 120, 600, 3600))
	return &metrics{running: running, took: took}, err
}

// start counts a running job until the returned function is called with its outcome.
func (m *metrics) start(ctx context.Context, kind string, stage memory.Stage, clock func() time.Time) func(Outcome) {
	started := clock()
	attrs := []attribute.KeyValue{telemetry.JobKind.String(kind), telemetry.JobStage.String(string(stage))}
	m.running.Add(ctx, 1, metric.WithAttributeSet(attribute.NewSet(attrs...)))
	return func(o Outcome) {
		m.running.Add(ctx, -1, metric.WithAttributeSet(attribute.NewSet(attrs...)))
		m.took.Record(ctx, clock().Sub(started).Seconds(), metric.WithAttributeSet(attribute.NewSet(append(attrs, telemetry.JobOutcome.String(string(o)))...)))
	}
}
