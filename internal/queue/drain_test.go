package queue

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/test/must"
)

// Drain does the jobs of its lane, prepared notes are decided, and no other lane is touched.
func TestDrain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := &outbox{}
		h := newWorker(o, nil)
		r, stop := start(t, h, Config{Poll: time.Hour})
		defer stop()
		synctest.Wait()
		a, b := newRef(), newRef()
		for range 40 {
			o.add(a, memory.StagePrepare)
		}
		o.add(b, memory.StagePrepare)
		if r.Drain(t.Context(), a, memory.StagePrepare) {
			t.Error("an empty lane has more")
		}
		synctest.Wait()
		if got := h.order(memory.StageDecide, a); len(got) != 40 {
			t.Errorf("%d decided, want 40", len(got))
		}
		if got := h.order(memory.StagePrepare, b); len(got) != 0 {
			t.Error("another collection was drained")
		}
	})
}

// A lane with many jobs ends after its time, and reports that jobs are left.
func TestDrainIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := &outbox{}
		h := newWorker(o, func(context.Context, memory.Job) error { pass(time.Second); return nil })
		r, stop := start(t, h, Config{Poll: time.Hour, Burst: 5 * time.Second})
		defer stop()
		synctest.Wait()
		ref := newRef()
		for range 12 {
			o.add(ref, memory.StageDecide)
		}
		began := time.Now()
		if !r.Drain(t.Context(), ref, memory.StageDecide) {
			t.Error("no more is left")
		}
		if took, did := time.Since(began), len(h.order(memory.StageDecide, ref)); took > 6*time.Second || did < 5 || did > 6 {
			t.Errorf("%d jobs in %v", did, took)
		}
		for r.Drain(t.Context(), ref, memory.StageDecide) {
			if time.Since(began) > time.Minute {
				t.Fatal("it never ends")
			}
		}
		if got := len(h.order(memory.StageDecide, ref)); got != 12 || h.overlap {
			t.Errorf("%d jobs, overlap %v", got, h.overlap)
		}
	})
}

// Waiting for a slot is bounded too: the wake-up is returned, for a worker with a free slot.
func TestDrainWithoutASlot(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := &outbox{}
		h := newWorker(o, func(context.Context, memory.Job) error { pass(time.Hour); return nil })
		r, stop := start(t, h, Config{Poll: 2 * time.Hour, Burst: 5 * time.Second, Tasks: 1})
		defer stop()
		synctest.Wait()
		a, b := newRef(), newRef()
		o.add(a, memory.StageTask)
		r.Drain(t.Context(), a, memory.StageTask)
		o.add(b, memory.StageTask)
		began := time.Now()
		if !r.Drain(t.Context(), b, memory.StageTask) || time.Since(began) != 5*time.Second {
			t.Errorf("waited %v", time.Since(began))
		}
	})
}

// A job that is added while a lane ends is not lost: one of the concurrent drains runs it, in any
// order of events.
func TestDrainWhileLaneEnds(t *testing.T) {
	t.Parallel()
	o := &outbox{}
	h := newWorker(o, nil)
	r, stop := start(t, h, Config{Poll: time.Hour})
	defer stop()
	// Before Run, Drain does nothing.
	ready := newRef()
	o.add(ready, memory.StageTask)
	r.Wake()
	for deadline := time.Now().Add(10 * time.Second); len(h.order(memory.StageTask, ready)) == 0; {
		if time.Now().After(deadline) {
			t.Fatal("the runner does not run")
		}
		r.Drain(t.Context(), ready, memory.StageTask)
	}
	ref := newRef()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 200 {
				o.add(ref, memory.StageDecide)
				r.Drain(t.Context(), ref, memory.StageDecide)
			}
		})
	}
	wg.Wait()
	if got := len(h.order(memory.StageDecide, ref)); got != 800 || h.overlap {
		t.Errorf("%d jobs done, want 800; overlap %v", got, h.overlap)
	}
}

func TestDrainWhileStopping(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := &outbox{}
		h := newWorker(o, func(context.Context, memory.Job) error { pass(2 * time.Second); return nil })
		r, stop := start(t, h, Config{Poll: time.Hour})
		synctest.Wait()
		ref := newRef()
		o.add(ref, memory.StageDecide)
		o.add(ref, memory.StageDecide)
		var more bool
		var took time.Duration
		var wg sync.WaitGroup
		wg.Go(func() {
			began := time.Now()
			more = r.Drain(t.Context(), ref, memory.StageDecide)
			took = time.Since(began)
		})
		pass(time.Second)
		stop()
		wg.Wait()
		if !more || took != time.Second {
			t.Errorf("more %v after %v, want to return the rest immediately", more, took)
		}
		if got := len(h.order(memory.StageDecide, ref)); got != 1 {
			t.Errorf("%d done, want the one that ran", got)
		}
		if r.Drain(t.Context(), ref, memory.StageDecide) || len(h.order(memory.StageDecide, ref)) != 1 {
			t.Error("a stopped runner ran a job")
		}
	})
}

// A runner of some stages runs no jobs of the others, also by Drain.
func TestRunnerRunsItsStagesAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := &outbox{}
		h := newWorker(o, nil)
		r, stop := start(t, h, Config{Stages: []memory.Stage{memory.StagePrepare}})
		defer stop()
		ref := newRef()
		o.add(ref, memory.StagePrepare)
		o.add(ref, memory.StageTask)
		pass(5 * time.Second)
		r.Drain(t.Context(), ref, memory.StageTask)
		synctest.Wait()
		if p, d, k := h.order(memory.StagePrepare, ref), h.order(memory.StageDecide, ref), h.order(memory.StageTask, ref); len(p) != 1 || len(d)+len(k) != 0 {
			t.Errorf("prepared %v, decided %v, tasks %v", p, d, k)
		}
		if _, err := New(o, h, nil, nil, Config{Stages: []memory.Stage{"dream"}}); err == nil {
			t.Error("an unknown stage was accepted")
		}
	})
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	reader := metric.NewManualReader()
	meter := metric.NewMeterProvider(metric.WithReader(reader)).Meter("test")
	synctest.Test(t, func(t *testing.T) {
		o := &outbox{}
		h := newWorker(o, func(ctx context.Context, w memory.Job) error {
			if w.Seq == 1 {
				return context.DeadlineExceeded
			}
			pass(time.Second)
			return nil
		})
		_, stop := start(t, h, Config{Meter: meter})
		ref := newRef()
		o.add(ref, memory.StageTask)
		o.add(ref, memory.StageTask)
		pass(1500 * time.Millisecond)
		stop()
	})
	var all metricdata.ResourceMetrics
	must.Do(t, reader.Collect(t.Context(), &all))
	counts := map[string]uint64{}
	for _, m := range all.ScopeMetrics[0].Metrics {
		switch d := m.Data.(type) {
		case metricdata.Histogram[float64]:
			for _, p := range d.DataPoints {
				outcome, _ := p.Attributes.Value("slipbox.job.outcome")
				kind, _ := p.Attributes.Value("slipbox.job.kind")
				counts[kind.AsString()+" "+outcome.AsString()] += p.Count
			}
		case metricdata.Sum[int64]:
			for _, p := range d.DataPoints {
				if p.Value != 0 {
					t.Errorf("%s is %d when nothing runs", m.Name, p.Value)
				}
			}
		}
	}
	if counts["work done"] != 1 || counts["work failed"] != 1 {
		t.Errorf("counted %v", counts)
	}
}
