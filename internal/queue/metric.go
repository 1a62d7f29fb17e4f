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

// Outcome is how one try of a job ended here.
type Outcome string

// The outcomes.
const (
	Done    Outcome = "done"
	Failed  Outcome = "failed"  // it was settled with its error
	Stopped Outcome = "stopped" // the runner stopped and gave it back
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
		metric.WithExplicitBucketBoundaries(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 600, 3600))
	return &metrics{running: running, took: took}, err
}

// begin counts a job that runs, until the returned func is told how it ended.
func (m *metrics) begin(ctx context.Context, kind string, stage memory.Stage, clock func() time.Time) func(Outcome) {
	began := clock()
	what := []attribute.KeyValue{telemetry.JobKind.String(kind), telemetry.JobStage.String(string(stage))}
	m.running.Add(ctx, 1, metric.WithAttributeSet(attribute.NewSet(what...)))
	return func(o Outcome) {
		m.running.Add(ctx, -1, metric.WithAttributeSet(attribute.NewSet(what...)))
		m.took.Record(ctx, clock().Sub(began).Seconds(), metric.WithAttributeSet(attribute.NewSet(append(what, telemetry.JobOutcome.String(string(o)))...)))
	}
}
