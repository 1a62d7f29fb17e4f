package recall

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/slipboxhq/slipbox/internal/cpus"
	"github.com/slipboxhq/slipbox/internal/fair"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/search"
	"github.com/slipboxhq/slipbox/internal/snapshot"
	"github.com/slipboxhq/slipbox/internal/telemetry"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Judge builds and reads the model call that scores how relevant candidates are to a query.
// policy.Relevance implements it.
type Judge interface {
	// Call returns a call about the candidates. Their handles are their indexes in the list.
	Call(collection uuid.UUID, query string, candidates []memory.Described) (memory.Call, error)
	// Scores returns the score of each candidate in 0..1, NaN for one that was not judged, and how
	// many scores of the answer belong to no candidate.
	Scores(answer memory.Answer, candidates int) (scores []float64, dropped int, err error)
}

// Reranker orders documents by their relevance for a query.
type Reranker interface {
	// Rerank returns the relevance of each document; NaN for one that was not judged.
	Rerank(ctx context.Context, s tenant.Scope, query string, documents []string) ([]float64, error)
}

// Deps are the parts that the service uses.
type Deps struct {
	Store     memory.Reader
	Embedders memory.Embedders
	Model     memory.Model // answers Judge's call; nil together with Judge: rerank is refused
	Judge     Judge
	Reranker  Reranker         // orders hits for RerankEndpoint; nil: that is refused
	Policies  memory.PolicySet // decide how their collections are read; nil: by the defaults
	Clock     memory.Clock     // default time.Now
	Log       *slog.Logger     // default silent
	Tracer    trace.Tracer     // default no spans

	// Snapshots keeps indexes as files, so that a process does not have to fill them from the log; nil:
	// they are not kept. Reach returns a scope that reaches all of a tenant, and is required with it and by Sweep.
	Snapshots *snapshot.Dir
	Reach     func(tenant uuid.UUID) tenant.Scope
}

// DefaultIndexBytes is the default of Config.IndexBytes: 1 GiB.
const DefaultIndexBytes = 1 << 30

// Config are the settings of recall.
type Config struct {
	// IndexBytes is the budget of all indexes; default DefaultIndexBytes.
	IndexBytes int64
	// CompactFrom is how many ended versions an index holds before it may drop them; default 4,096.
	CompactFrom int
	// Loads is how many cold layers are filled concurrently; default 2.
	Loads int
	// LoadTimeout is how long a read waits for an index; default 20 s.
	LoadTimeout time.Duration
	// ColdScan makes the store answer searches by meaning alone while an index loads; default false:
	// they wait.
	ColdScan bool
	// ColdNotes is how many visible notes a cold collection has at least for a search not to wait until its
	// index is filled: after ColdWait the store answers, by meaning alone, if the search allows it.
	// Default 20,000; negative: never.
	ColdNotes int64
	// ColdWait is how long such a search waits first, if fewer notes than ColdNotes are missing in the index, or it is being filled
	// or in a file; default 250 ms.
	ColdWait time.Duration
	// WarmNotes is how many of the hottest notes are read by version after an index was loaded;
	// default 100, none below 0.
	WarmNotes int
	// FlushEvery is the interval at which usage counts are written; default 1 s.
	FlushEvery time.Duration
	// KeepUsage is how long counts of the store are kept while a collection is in use, so that those of
	// other processes may be missing from answers; default FlushEvery. In a fork they are kept for FlushEvery
	// at most: its base may be in use, too.
	KeepUsage time.Duration
	// MinRevisionWait is how long min_revision waits; default 2 s.
	MinRevisionWait time.Duration
	// RerankAlways has Deps.Reranker order the hits of every search by text that does not say how.
	RerankAlways bool
	// Encoding counts the tokens of a context, unless a query names another; default search.O200k.
	Encoding search.Encoding
}

// Service answers reads. It is safe for concurrent use.
type Service struct {
	store     memory.Reader
	embedders memory.Embedders
	model     memory.Model
	judge     Judge
	reranker  Reranker
	policies  memory.PolicySet
	clock     memory.Clock
	log       *slog.Logger
	spans     spans
	cfg       Config
	indexes   *registry
	counter   *counter
	outages   *outages
	turns     *fair.Gate // of searches that compute
	compared  atomic.Int64
	reach     func(tenant uuid.UUID) tenant.Scope

	loading, refreshing, warming, saving *background

	mu      sync.Mutex
	stop    context.CancelFunc // nil: not started
	stopped chan struct{}
}

// searchesPerCPU is how many searches compute concurrently for each CPU. More would share the CPUs without
// an order.
const searchesPerCPU = 2

// New returns a service. Start begins to flush usage counts.
func New(deps Deps, cfg Config) (*Service, error) {
	if deps.Store == nil || deps.Embedders == nil || (deps.Model == nil) != (deps.Judge == nil) || deps.Snapshots != nil && deps.Reach == nil {
		return nil, fault.New(fault.Internal, "recall: store and embedders are required, model and judge only together, and snapshots only with reach")
	}
	cfg.IndexBytes = cmp.Or(cfg.IndexBytes, DefaultIndexBytes)
	cfg.CompactFrom = cmp.Or(cfg.CompactFrom, 4096)
	cfg.Loads = cmp.Or(cfg.Loads, 2)
	cfg.LoadTimeout = cmp.Or(cfg.LoadTimeout, 20*time.Second)
	cfg.ColdNotes = cmp.Or(cfg.ColdNotes, 20_000)
	cfg.ColdWait = cmp.Or(cfg.ColdWait, 250*time.Millisecond)
	cfg.WarmNotes = cmp.Or(cfg.WarmNotes, 100)
	cfg.FlushEvery = cmp.Or(cfg.FlushEvery, time.Second)
	cfg.KeepUsage = cmp.Or(cfg.KeepUsage, cfg.FlushEvery)
	cfg.MinRevisionWait = cmp.Or(cfg.MinRevisionWait, 2*time.Second)
	cfg.Encoding = cmp.Or(cfg.Encoding, search.O200k)
	if cfg.IndexBytes < 0 || cfg.CompactFrom < 0 || cfg.Loads < 0 || cfg.LoadTimeout < 0 || cfg.ColdWait < 0 || cfg.FlushEvery < 0 || cfg.KeepUsage < 0 || cfg.MinRevisionWait < 0 ||
		!slices.Contains(search.Encodings(), cfg.Encoding) {
		return nil, fault.New(fault.Internal, "recall: a setting is out of range")
	}
	r := &Service{
		store: deps.Store, embedders: deps.Embedders, model: deps.Model, judge: deps.Judge, reranker: deps.Reranker, policies: deps.Policies, clock: deps.Clock, log: deps.Log, cfg: cfg,
		turns: fair.NewGate(searchesPerCPU*cpus.Count(), cpus.Count()),
	}
	if r.clock == nil {
		r.clock = time.Now
	}
	if r.policies == nil {
		r.policies = memory.PolicySet{}
	}
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	r.spans.tracer = deps.Tracer
	if deps.Tracer == nil {
		r.spans.tracer = noop.Tracer{}
	}
	r.indexes = newRegistry(deps.Store, r.log, r.spans, cfg)
	r.counter = newCounter(deps.Store, r.clock, cfg.KeepUsage, cfg.FlushEvery)
	r.outages = newOutages(r.log)
	r.loading, r.refreshing, r.warming = newBackground(cfg.Loads), newBackground(cfg.Loads), newBackground(cfg.Loads)
	r.saving, r.reach = newBackground(1), deps.Reach
	r.indexes.snapshots, r.indexes.reach, r.indexes.clock, r.indexes.grown = deps.Snapshots, deps.Reach, r.clock, r.saveAhead
	return r, nil
}

// Start begins to flush usage counts in the background. A second Start is a no-op.
func (r *Service) Start() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stop != nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	r.stop, r.stopped = cancel, make(chan struct{})
	go r.flushLoop(ctx, r.stopped)
}

func (r *Service) flushLoop(ctx context.Context, stopped chan<- struct{}) {
	defer close(stopped)
	tick := time.NewTicker(r.cfg.FlushEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			r.outages.usage.Report(ctx, r.Flush(ctx))
		}
	}
}

// Stop ends the background work and writes the remaining counts. Reads are still answered
// afterwards, but nothing is loaded in advance.
func (r *Service) Stop(ctx context.Context) error {
	ahead := r.stopBackground(ctx)
	r.mu.Lock()
	stop, stopped := r.stop, r.stopped
	r.stop = nil
	r.mu.Unlock()
	if stop != nil {
		stop()
		select {
		case <-stopped:
		case <-ctx.Done():
			return fault.Wrap(ctx.Err(), fault.Timeout, "usage counts were not written in time")
		}
	}
	err := r.Flush(ctx)
	saving, cancel := halfOf(ctx) // the rest is for what stops after this service
	defer cancel()
	r.saveAll(saving)
	return errors.Join(err, ahead)
}

// halfOf returns a context that ends after half of the time that ctx has left.
func halfOf(ctx context.Context) (context.Context, context.CancelFunc) {
	end, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, time.Until(end)/2) //nolint:mnd // half
}

// Flush writes the usage counts that are not written yet.
func (r *Service) Flush(ctx context.Context) error { return r.counter.flush(ctx) }

// ForgetUsage drops the kept counts of a collection. It must be called after a write of this process
// that set the use of notes, such as a policy that strengthens or forgets.
func (r *Service) ForgetUsage(collection uuid.UUID) { r.counter.forget(collection) }

// Recalled counts that notes were recalled: those of an internal search that the caller has shown.
func (r *Service) Recalled(s tenant.Scope, v memory.View, ids []uuid.UUID) {
	r.counter.add(s, v.Collection.ID, ids, memory.Instant(r.clock()))
}

// Open opens a view (notes:read). It waits, for at most Config.MinRevisionWait, until the collection
// has reached minRevision; 0 does not wait. Search, Get, List, History and Graph take the view, so
// one request reads one revision.
func (r *Service) Open(ctx context.Context, s tenant.Scope, ref string, asOf *memory.Revision, minRevision memory.Revision) (memory.View, error) {
	if err := tenant.Check(s, tenant.NotesRead); err != nil {
		return memory.View{}, err
	}
	if minRevision < 0 {
		return memory.View{}, fault.InvalidField("min_revision", "must not be negative")
	}
	const step = 20 * time.Millisecond
	for waited := time.Duration(0); ; waited += step {
		v, err := r.store.OpenView(ctx, s, ref, memory.At{AsOf: asOf})
		if err == nil {
			telemetry.NameMemoryStore(ctx, v.Collection.ID)
		}
		if err != nil || v.Collection.Head >= minRevision {
			return v, err
		}
		if waited >= r.cfg.MinRevisionWait {
			return v, fault.InvalidField("min_revision", "the collection is at revision %d", v.Collection.Head)
		}
		select {
		case <-ctx.Done():
			return v, fault.Wrap(ctx.Err(), fault.Timeout, "the revision was not reached in time")
		case <-time.After(step):
		}
	}
}

// IndexState returns the state of the indexes of a view's layers in this process.
func (r *Service) IndexState(v memory.View) IndexState { return r.indexes.indexState(v) }

// Evict drops the indexes of a collection's own layer, and their files, without a trace. The next read
// fills them again from the log. It must be called when a collection is deleted.
func (r *Service) Evict(tenantID, collection uuid.UUID) { r.indexes.evict(tenantID, collection) }

// EvictTenant drops the files of all indexes of a tenant. It must be called when a tenant is deleted.
func (r *Service) EvictTenant(tenantID uuid.UUID) { r.indexes.evictTenant(tenantID) }

// Rebuild fills the indexes of every layer of the view from the log. Reads use the old ones until the
// new ones are complete.
func (r *Service) Rebuild(ctx context.Context, s tenant.Scope, v memory.View) error {
	if err := v.Check(s); err != nil {
		return err
	}
	for i := range v.Layers {
		if err := r.indexes.rebuild(ctx, s, v, i); err != nil {
			return err
		}
	}
	_, err := r.openIndex(ctx, s, v)
	return err
}
