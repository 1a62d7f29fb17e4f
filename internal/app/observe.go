package app

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/telemetry"
)

// dueLimit is the largest number of collections with waiting jobs that are counted, and dueTimeout
// the longest time for the count.
const (
	dueLimit   = 1000
	dueTimeout = 2 * time.Second
)

// backlogEvery is how long the numbers of waiting jobs are reused. Counting is slow when many jobs
// wait, and every process counts them.
const backlogEvery = 15 * time.Second

// registerMetrics registers the metrics of this process that are read at each collection.
func (c *core) registerMetrics() error {
	m := c.telemetry.Meter("slipbox/app")
	var errs [6]error
	var bytes, budget, layers, due metric.Int64ObservableGauge
	var loads, evictions metric.Int64ObservableCounter
	bytes, errs[0] = m.Int64ObservableGauge("slipbox.index.bytes", metric.WithUnit("By"),
		metric.WithDescription("Memory that the search indexes of this process take."))
	budget, errs[1] = m.Int64ObservableGauge("slipbox.index.budget", metric.WithUnit("By"),
		metric.WithDescription("Memory that they may take; what is used least makes room."))
	layers, errs[2] = m.Int64ObservableGauge("slipbox.index.layers", metric.WithUnit("{layer}"),
		metric.WithDescription("Layers of collections whose index is held."))
	loads, errs[3] = m.Int64ObservableCounter("slipbox.index.loads", metric.WithUnit("{layer}"),
		metric.WithDescription("Layers whose index was filled from the store."))
	evictions, errs[4] = m.Int64ObservableCounter("slipbox.index.evictions", metric.WithUnit("{layer}"),
		metric.WithDescription("Layers whose index was dropped to free memory."))
	due, errs[5] = m.Int64ObservableGauge("slipbox.jobs.due_collections", metric.WithUnit("{collection}"),
		metric.WithDescription("Collections with a job that could run now and does not; at most 1,000 are counted. The same from every process."))
	if err := errors.Join(errs[:]...); err != nil {
		return err
	}
	if err := errors.Join(c.registerReadiness(m), c.registerBacklogMetrics(m), c.registerEmbeddingMetrics(m)); err != nil {
		return err
	}
	_, err := m.RegisterCallback(func(ctx context.Context, o metric.Observer) error {
		s := c.Recall.Stats()
		o.ObserveInt64(bytes, s.Bytes)
		o.ObserveInt64(budget, s.Budget)
		o.ObserveInt64(layers, int64(s.Layers))
		o.ObserveInt64(loads, s.Loads)
		o.ObserveInt64(evictions, s.Evictions)
		ctx, cancel := context.WithTimeout(ctx, dueTimeout)
		defer cancel()
		if waiting, err := c.Store.DueCollections(ctx, time.Now(), dueLimit); err == nil { // the metrics of the store count errors
			o.ObserveInt64(due, int64(len(waiting)))
		}
		return nil
	}, bytes, budget, layers, loads, evictions, due)
	return err
}

// registerReadiness registers the gauges of what /readyz answers.
func (c *core) registerReadiness(m metric.Meter) error {
	gauge := func(name, description string, check func(context.Context) error) error {
		_, err := m.Int64ObservableGauge(name, metric.WithDescription(description),
			metric.WithInt64Callback(func(ctx context.Context, o metric.Int64Observer) error {
				ctx, cancel := context.WithTimeout(ctx, dueTimeout)
				defer cancel()
				var holds int64
				if check(ctx) == nil {
					holds = 1
				}
				o.Observe(holds)
				return nil
			}))
		return err
	}
	return errors.Join(
		gauge("slipbox.ready", "1 while the process is ready, 0 while the store cannot serve.", c.checks.ready),
		gauge("slipbox.writable", "1 while writes can succeed, 0 while the disk is full or the store is read-only.", c.checks.writes),
	)
}

// registerEmbeddingMetrics registers the metrics of the caches of embeddings.
func (c *core) registerEmbeddingMetrics(m metric.Meter) error {
	var errs [3]error
	var lookups metric.Int64ObservableCounter
	var kept, capacity metric.Int64ObservableGauge
	lookups, errs[0] = m.Int64ObservableCounter("slipbox.embeddings.lookups", metric.WithUnit("{text}"),
		metric.WithDescription("Texts looked up among the embeddings that this process keeps."))
	kept, errs[1] = m.Int64ObservableGauge("slipbox.embeddings.kept", metric.WithUnit("{text}"),
		metric.WithDescription("Embeddings that it keeps."))
	capacity, errs[2] = m.Int64ObservableGauge("slipbox.embeddings.capacity", metric.WithUnit("{text}"),
		metric.WithDescription("Embeddings that it may keep; what was used last stays."))
	if err := errors.Join(errs[:]...); err != nil {
		return err
	}
	_, err := m.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		for name, s := range c.Embedders.Caches() {
			model := telemetry.ModelName.String(name)
			with := func(more ...attribute.KeyValue) metric.MeasurementOption {
				return metric.WithAttributeSet(attribute.NewSet(append(more, model)...))
			}
			o.ObserveInt64(lookups, s.Hits, with(telemetry.CacheHit.Bool(true)))
			o.ObserveInt64(lookups, s.Misses, with(telemetry.CacheHit.Bool(false)))
			o.ObserveInt64(kept, int64(s.Entries), with())
			o.ObserveInt64(capacity, int64(s.Capacity), with())
		}
		return nil
	}, lookups, kept, capacity)
	return err
}

// registerBacklogMetrics registers the gauges of waiting jobs.
func (c *core) registerBacklogMetrics(m metric.Meter) error {
	waiting, err := m.Int64ObservableGauge("slipbox.jobs.waiting", metric.WithUnit("{job}"),
		metric.WithDescription("Jobs that wait although they could run now. The same from every process."))
	if err != nil {
		return err
	}
	oldest, err := m.Float64ObservableGauge("slipbox.jobs.oldest", metric.WithUnit("s"),
		metric.WithDescription("Since when the first of these waits; 0 when none waits. The same from every process."))
	if err != nil {
		return err
	}
	b := &backlog{read: c.Store.Backlog}
	_, err = m.RegisterCallback(func(ctx context.Context, o metric.Observer) error {
		now := time.Now()
		for _, s := range b.current(ctx, now) {
			stage := metric.WithAttributeSet(attribute.NewSet(telemetry.JobStage.String(string(s.Stage))))
			o.ObserveInt64(waiting, s.Waiting, stage)
			var age time.Duration
			if !s.Oldest.IsZero() {
				age = max(0, now.Sub(s.Oldest))
			}
			o.ObserveFloat64(oldest, age.Seconds(), stage)
		}
		return nil
	}, waiting, oldest)
	return err
}

// backlog caches the numbers of waiting jobs for backlogEvery.
type backlog struct {
	read func(context.Context, time.Time) ([]memory.Backlog, error)

	mu   sync.Mutex
	at   time.Time
	last []memory.Backlog
}

// current returns the numbers, or none while they cannot be read. The metrics of the store count
// such errors.
func (b *backlog) current(ctx context.Context, now time.Time) []memory.Backlog {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.at.IsZero() || now.Sub(b.at) >= backlogEvery {
		ctx, cancel := context.WithTimeout(ctx, dueTimeout)
		defer cancel()
		b.at = now
		found, err := b.read(ctx, now)
		if err != nil {
			found = nil
		}
		b.last = found
	}
	return b.last
}
