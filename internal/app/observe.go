package app

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/metric"
)

// dueLimit is up to how many collections with waiting jobs are counted, and
// dueTimeout how long the count may take.
const (
	dueLimit   = 1000
	dueTimeout = 2 * time.Second
)

// measure makes the instruments that look at the parts of this process when
// somebody asks for metrics.
func (c *core) measure() error {
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
		metric.WithDescription("Layers whose index was dropped for want of room."))
	due, errs[5] = m.Int64ObservableGauge("slipbox.jobs.due_collections", metric.WithUnit("{collection}"),
		metric.WithDescription("Collections with a job that could run now and does not; at most 1,000 are counted. The same from every process."))
	if err := errors.Join(errs[:]...); err != nil {
		return err
	}
	_, err := m.RegisterCallback(func(ctx context.Context, o metric.Observer) error {
		s := c.recall.Stats()
		o.ObserveInt64(bytes, s.Bytes)
		o.ObserveInt64(budget, s.Budget)
		o.ObserveInt64(layers, int64(s.Layers))
		o.ObserveInt64(loads, s.Loads)
		o.ObserveInt64(evictions, s.Evictions)
		ctx, cancel := context.WithTimeout(ctx, dueTimeout)
		defer cancel()
		if waiting, err := c.store.DueCollections(ctx, time.Now(), dueLimit); err == nil { // the store's own metrics tell of errors
			o.ObserveInt64(due, int64(len(waiting)))
		}
		return nil
	}, bytes, budget, layers, loads, evictions, due)
	return err
}
