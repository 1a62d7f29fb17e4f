package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/slipboxhq/slipbox/internal/build"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/queue"
)

// workerPoll is how often a worker polls the outbox, for jobs whose wake-up was lost.
const workerPoll = 2 * time.Second

// Worker runs the jobs of gateways over Postgres and Redis. It serves only its own health and
// metrics.
type Worker struct {
	*core

	listener net.Listener
}

// NewWorker builds a worker and listens for health checks. No job runs before Run. The caller must
// call Run or Close.
func NewWorker(ctx context.Context, cfg Settings, log *slog.Logger) (_ *Worker, err error) {
	if cfg.DatabaseURL == "" || cfg.RedisURL == "" {
		return nil, fault.New(fault.Conflict, "a worker needs DATABASE_URL and REDIS_URL, those of the gateways whose jobs it runs; without servers, `gateway serve` runs its jobs itself")
	}
	w := &Worker{core: &core{cfg: cfg, log: log}}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.Close())
		}
	}()
	if w.listener, err = listen(ctx, cfg.WorkerAddr, "--addr or SLIPBOX_WORKER_ADDR"); err != nil {
		return nil, err
	}
	if err := w.connect(ctx, "slipbox-worker"); err != nil {
		return nil, err
	}
	stages := make([]memory.Stage, len(cfg.Jobs.Stages))
	for i, s := range cfg.Jobs.Stages {
		stages[i] = memory.Stage(s)
	}
	grace := cfg.StopTimeout - min(cfg.StopTimeout/4, 5*time.Second) // the rest is for returning unfinished jobs to the queue
	q := queue.Config{Poll: workerPoll, Stages: stages, Grace: grace}
	if err := w.buildWorker(q); err != nil {
		return nil, err
	}
	return w, nil
}

// lanes returns how many lanes of each stage, as wake-ups name them, this worker drains concurrently: as many as its runner has
// slots for jobs.
func (w *Worker) lanes() map[memory.Stage]int {
	prepares, decides, tasks := w.cfg.Jobs.AtOnce()
	all := map[memory.Stage]int{memory.StagePrepare: prepares, memory.StageDecide: decides, memory.StageTask: tasks, memory.StageUpkeep: queue.Upkeeps(tasks), memory.StageSend: queue.DefaultSends}
	lanes := map[memory.Stage]int{}
	for _, s := range w.cfg.Jobs.Stages {
		for _, lane := range memory.Stage(s).Lanes() {
			lanes[lane] = all[lane]
		}
	}
	return lanes
}

// URL returns where the worker's health is served.
func (w *Worker) URL() string { return "http://" + w.listener.Addr().String() }

// Close releases what NewWorker acquired, in reverse order. Run calls it.
func (w *Worker) Close() error {
	var errs []error
	if w.listener != nil {
		if err := w.listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	return errors.Join(append(errs, w.disconnect(ctx))...)
}

// Work builds and runs a worker until ctx ends.
func Work(ctx context.Context, cfg Settings, log *slog.Logger) error {
	w, err := NewWorker(ctx, cfg, log)
	if err != nil {
		return err
	}
	return w.Run(ctx)
}

// Run runs jobs until ctx ends. Then running jobs may end; those that do not end in time go back to
// the queue, without counting as an attempt. Run returns within StopTimeout.
func (w *Worker) Run(ctx context.Context) error {
	work, stopWork := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWork()
	var background sync.WaitGroup
	w.startBackground(work, &background)
	background.Go(func() { w.jobs.Run(work) })
	background.Go(func() { w.wakeups.Serve(work, w.jobs, w.lanes()) })
	failed := make(chan error, 1)
	health := newServer(w.healthHandler(), w.log)
	go func() { failed <- fmt.Errorf("serve health: %w", health.Serve(w.listener)) }()
	w.log.InfoContext(ctx, "working", w.logAttrs()...)
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	w.log.InfoContext(context.WithoutCancel(ctx), "stopping: running jobs end or go back to the queue")
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.cfg.StopTimeout)
	defer cancel()
	stopWork()
	background.Wait()
	err = errors.Join(err, w.flushBackground(stop), shutdown(stop, health), w.Close())
	w.log.InfoContext(stop, "stopped")
	return err
}

// logAttrs returns the attributes of the first log line. They name the analyst, because workers
// analyze the notes of all gateways.
func (w *Worker) logAttrs() []any {
	analyst := "heuristic (no model is set here; give workers the model settings of the gateways)"
	if w.cfg.LLM.UsesModel() {
		analyst = w.cfg.LLM.Model + " at " + redactEndpoint(w.cfg.LLM.Endpoint())
	}
	prepares, decides, tasks := w.cfg.Jobs.AtOnce()
	return []any{
		"health", w.URL(), "version", build.Current().Version, "stages", w.cfg.Jobs.Stages,
		"prepares", prepares, "decides", decides, "tasks", tasks,
		"analyst", analyst, "embedder", w.Embedders.Default().Name(),
	}
}
