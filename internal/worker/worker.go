package worker

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/slipboxhq/slipbox/internal/clone"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/engine"
	"github.com/slipboxhq/slipbox/internal/queue"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Store is what the worker requires of a store.
type Store interface {
	memory.Queue
	ExpiredCollections(ctx context.Context, now time.Time, limit int) ([]memory.Due, error)
	ExpiringCollections(ctx context.Context, by time.Time, limit int) ([]memory.Due, error)
	EphemeralCollections(ctx context.Context, limit int) ([]memory.Due, error)
	StaleParts(ctx context.Context, before time.Time, limit int) ([]uuid.UUID, error)
	SweepParts(ctx context.Context, s tenant.Scope, before time.Time) error
	DeleteCollection(ctx context.Context, s tenant.Scope, id uuid.UUID, materialise bool, audit memory.AuditEntry) (memory.Job, error)
	RemoveRows(ctx context.Context, s tenant.Scope, id uuid.UUID, limit int) (gone bool, err error)
}

// Import does an import job. It gets the scope of the job's tenant and may report progress. When
// it returns no error the job is ended as done, with the result.
type Import func(ctx context.Context, s tenant.Scope, job memory.Job, progress memory.ReportProgress) (result json.RawMessage, err error)

// File reads a file. It is as Import, but may end the job itself, in a transaction.
type File func(ctx context.Context, s tenant.Scope, job memory.Job, progress memory.ReportProgress) error

// Step does one step of an agent's run. It gives the job back, or ends it.
type Step func(ctx context.Context, s tenant.Scope, job memory.Job) error

// Retire deletes the notes of a collection that have expired.
type Retire func(ctx context.Context, s tenant.Scope, collection uuid.UUID) error

// Deps are the parts that the worker works with.
type Deps struct {
	Store  Store
	Engine *engine.Engine
	Clone  *clone.Service
	Import Import       // nil: import jobs fail
	File   File         // reads uploaded files; nil: these jobs fail
	Step   Step         // nil: the runs of agents fail
	Hook   Step         // tells webhooks; nil: these jobs fail
	Retire Retire       // nil: expired notes stay until somebody reads
	Clock  memory.Clock // nil: time.Now
	Log    *slog.Logger
	Tracer trace.Tracer // nil: no spans
	Meter  metric.Meter // nil: nothing is measured here; queue.Config has its own
}

// Config of the worker. Zero fields take the defaults.
type Config struct {
	Queue queue.Config

	PrepareDeadline     time.Duration // of one try; default 2 min
	DecideDeadline      time.Duration // default 2 min
	PolicyDeadline      time.Duration // of a task that a policy deferred; default 5 min
	AdoptDeadline       time.Duration // default 5 min
	StepDeadline        time.Duration // of one step of a run; default 10 min
	ConsolidateDeadline time.Duration // default 30 min
	LongDeadline        time.Duration // copy, import, remove, reembed; default 2 h

	// ModelTimeout limits one request to the model. Above a minute, the default deadlines of what asks the model grow with it.
	ModelTimeout time.Duration

	// MaxAlone is how often in a row a job may lose its holder, by a crash or an expired lease, while it
	// is the only job of its process, before it is dead; default 10. Other losses do not count.
	MaxAlone int

	SweepEvery  time.Duration // how often Sweep runs; default 15 s
	RemoveBatch int           // rows in one step of removing an ephemeral collection; default 5,000
}

func (c *Config) setDefaults() {
	request := max(time.Minute, c.ModelTimeout)
	for _, f := range []struct {
		at *time.Duration
		to time.Duration
	}{
		{&c.PrepareDeadline, 2 * request}, {&c.DecideDeadline, 2 * request}, {&c.PolicyDeadline, 5 * request}, {&c.AdoptDeadline, 5 * time.Minute}, {&c.StepDeadline, 10 * request},
		{&c.ConsolidateDeadline, 30 * request}, {&c.LongDeadline, 2 * time.Hour}, {&c.SweepEvery, 15 * time.Second},
	} {
		if *f.at <= 0 {
			*f.at = f.to
		}
	}
	if c.RemoveBatch <= 0 {
		c.RemoveBatch = 5000
	}
	if c.MaxAlone <= 0 {
		c.MaxAlone = 10
	}
}

// Worker runs jobs and schedules.
type Worker struct {
	store  Store
	clone  *clone.Service
	retire Retire
	clock  memory.Clock
	cfg    Config
	source *source
	runner *queue.Runner

	outages *outages
}

// New returns a worker; nothing runs until Run.
func New(d Deps, cfg Config) (*Worker, error) {
	if d.Store == nil || d.Engine == nil || d.Clone == nil {
		return nil, fault.New(fault.Internal, "worker: store, engine and clone are required")
	}
	cfg.setDefaults()
	if d.Clock == nil {
		d.Clock = time.Now
	}
	if d.Log == nil {
		d.Log = slog.New(slog.DiscardHandler)
	}
	if d.Tracer == nil {
		d.Tracer = noop.Tracer{}
	}
	waited, err := newWaitHistogram(d.Meter)
	if err != nil {
		return nil, fault.Wrap(err, fault.Internal, "worker: make the metrics")
	}
	w := &Worker{
		store: d.Store, clone: d.Clone, retire: d.Retire, clock: d.Clock, cfg: cfg,
		source:  &source{store: d.Store, clock: d.Clock},
		outages: newOutages(d.Log, d.Clock),
	}
	h := &handler{store: d.Store, engine: d.Engine, clone: d.Clone, importer: d.Import, file: d.File, step: d.Step, hook: d.Hook, cfg: cfg, tracer: d.Tracer, waited: waited, clock: d.Clock, log: d.Log}
	if len(cfg.Queue.Stages) == 0 || slices.Contains(cfg.Queue.Stages, memory.StageDecide) {
		// Half of the slots: the first stages of other collections need the rest.
		h.following = make(chan struct{}, max(1, cmp.Or(cfg.Queue.Prepares, queue.DefaultPrepares)/2))
	}
	runner, err := queue.New(w.source, h, d.Clock, d.Log, cfg.Queue)
	if err != nil {
		return nil, fault.Wrap(err, fault.Internal, "worker: settings of the job runner")
	}
	w.runner = runner
	return w, nil
}

// Run runs jobs and schedules until ctx ends. Then running jobs finish within the grace time or are
// released, and Run returns.
func (w *Worker) Run(ctx context.Context) {
	var running sync.WaitGroup
	running.Go(func() { w.Sweep(ctx) })
	w.runner.Run(ctx)
	running.Wait()
}

// Wake makes the runner poll for jobs now.
func (w *Worker) Wake() { w.runner.Wake() }

// Notify makes the runner claim the jobs of a stage of a collection when its tenant's turn comes. It
// is called after a commit that enqueued jobs, and never blocks.
func (w *Worker) Notify(c memory.Due, s memory.Stage) { w.runner.Notify(c, s) }

// Drain does the jobs of a stage of a collection, and reports whether some may be left. It does
// nothing while Run is not active.
func (w *Worker) Drain(ctx context.Context, c memory.Due, s memory.Stage) (more bool) {
	return w.runner.Drain(ctx, c, s)
}
