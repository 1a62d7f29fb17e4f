package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Store is what the engine asks of a store.
type Store interface {
	memory.Reader
	memory.Writer
	memory.ReviewStore
	ReleaseJob(ctx context.Context, s tenant.Scope, job, lease uuid.UUID, end memory.JobEnd) error
	ListJobs(ctx context.Context, s tenant.Scope, q memory.JobQuery) ([]memory.Job, error)
	Job(ctx context.Context, s tenant.Scope, id uuid.UUID) (memory.Job, error)
	JobsAhead(ctx context.Context, s tenant.Scope, job uuid.UUID) (memory.Job, int, error)
}

// NearestFinder finds notes of a view by similarity and by a filter, and knows how they were used (internal/memory/recall).
type NearestFinder interface {
	// Nearest returns up to q.Limit visible notes that are most similar to q.Vector by
	// cosine, best first. It counts no access.
	Nearest(ctx context.Context, s tenant.Scope, v memory.View, q memory.NearestQuery) ([]memory.Nearest, error)
	// Matching returns the ids of the visible notes that match a filter, ascending. ok is false while the index is not
	// loaded; the store answers then.
	Matching(ctx context.Context, s tenant.Scope, v memory.View, e filter.Expr) (ids []uuid.UUID, ok bool, err error)
	// Used returns how often notes were used, and when. It keeps the counts between calls.
	Used(ctx context.Context, s tenant.Scope, v memory.View, ids []uuid.UUID) (map[uuid.UUID]memory.Usage, error)
}

// Index can be rebuilt.
type Index interface {
	// Rebuild fills the indexes of every layer of the view from the log; reads use the old ones meanwhile.
	Rebuild(ctx context.Context, s tenant.Scope, v memory.View) error
}

// Deps are the dependencies of an Engine.
type Deps struct {
	Store     Store
	Policies  memory.PolicySet
	Model     memory.Model            // answers calls
	Heuristic memory.Model            // for collections with analyst "heuristic"; nil: Model
	Models    map[string]memory.Model // further models, for collections that name one
	Embedders memory.Embedders
	Nearest   NearestFinder
	Index     Index // nil: consolidation does not rebuild the index
	Clock     memory.Clock
	Log       *slog.Logger
}

// failTimeout is for recording a failure after the job's own deadline.
const failTimeout = 10 * time.Second

// Config bounds the engine.
type Config struct {
	MaxTries     int           // counted tries of a job before it is dead; default 3
	ServiceTries int           // the same where a service failed, such as a model; default 180, with pauses up to an hour about a week
	Conflicts    int           // decisions on one event before changed notes are left out; default 3
	CallsPerJob  int           // model calls of one decision; default 64
	TokensPerJob int64         // prompt and completion tokens of one decision; default 200,000. Parallel calls may exceed it
	Pause        time.Duration // longest wait for an endpoint whose breaker is open; default 10 s
	ReembedSlice time.Duration // time slice of a reembed job before other jobs get a turn; default 20 min
	Seed         uint64        // of the policies' random numbers; default 0
}

// Engine runs policies. It is safe for concurrent use.
type Engine struct {
	store     Store
	policies  memory.PolicySet
	model     memory.Model
	heuristic memory.Model
	models    map[string]memory.Model
	embedders memory.Embedders
	nearest   NearestFinder
	index     Index
	clock     memory.Clock
	log       *slog.Logger
	cfg       Config
	kept      kept

	consolidated consolidated
}

// New returns an Engine; a missing dependency or a negative setting is an Internal fault.
func New(d Deps, cfg Config) (*Engine, error) {
	if d.Store == nil || d.Policies == nil || d.Model == nil || d.Embedders == nil || d.Nearest == nil {
		return nil, fault.New(fault.Internal, "engine: store, policies, model, embedders and nearest are required")
	}
	if cfg.MaxTries < 0 || cfg.ServiceTries < 0 || cfg.Conflicts < 0 || cfg.CallsPerJob < 0 || cfg.TokensPerJob < 0 || cfg.Pause < 0 || cfg.ReembedSlice < 0 {
		return nil, fault.New(fault.Internal, "engine: settings must not be negative")
	}
	e := &Engine{
		store: d.Store, policies: d.Policies, model: d.Model, heuristic: d.Heuristic, models: d.Models, embedders: d.Embedders,
		nearest: d.Nearest, index: d.Index, clock: d.Clock, log: d.Log, cfg: cfg,
	}
	if e.heuristic == nil {
		e.heuristic = e.model
	}
	if e.clock == nil {
		e.clock = time.Now
	}
	if e.log == nil {
		e.log = slog.New(slog.DiscardHandler)
	}
	e.cfg.MaxTries = cmp.Or(e.cfg.MaxTries, 3)
	e.cfg.ServiceTries = cmp.Or(e.cfg.ServiceTries, 180)
	e.cfg.Conflicts = cmp.Or(e.cfg.Conflicts, 3)
	e.cfg.CallsPerJob = cmp.Or(e.cfg.CallsPerJob, 64)
	e.cfg.TokensPerJob = cmp.Or(e.cfg.TokensPerJob, 200_000)
	e.cfg.Pause = cmp.Or(e.cfg.Pause, 10*time.Second)
	e.cfg.ReembedSlice = cmp.Or(e.cfg.ReembedSlice, 20*time.Minute)
	return e, nil
}

// common holds the settings of every policy that the engine itself uses. The
// policy has validated them.
type common struct {
	EvoThreshold int64  `json:"evo_threshold"` // evolving adds between two consolidations; default 100
	Analyst      string `json:"analyst"`       // "heuristic": never a model
	Model        string `json:"model"`         // one of Deps.Models; "": the main model
}

func commonOf(c *memory.Collection) common {
	var out common
	if len(c.PolicyConfig) > 0 {
		// The policy has validated these; if decoding fails all the same, the defaults hold.
		if err := json.Unmarshal(c.PolicyConfig, &out); err != nil {
			out = common{}
		}
	}
	if out.EvoThreshold < 1 {
		out.EvoThreshold = 100
	}
	return out
}

// ModelFor returns the model that the config of a collection selects.
func (e *Engine) ModelFor(c *memory.Collection) memory.Model {
	set := commonOf(c)
	if set.Analyst == string(memory.AnalystHeuristic) {
		return e.heuristic
	}
	if m, ok := e.models[set.Model]; ok {
		return m
	}
	return e.model // none named, or one that is no longer configured
}

// ModelNamed returns a model by its name in the settings.
func (e *Engine) ModelNamed(name string) (memory.Model, bool) {
	m, ok := e.models[name]
	return m, ok
}

func (e *Engine) policyOf(c *memory.Collection) (memory.Policy, error) {
	p, ok := e.policies.ByName(c.Policy)
	if !ok {
		return nil, fault.New(fault.Invalid, "the policy %q is not known", c.Policy)
	}
	return p, nil
}

func (e *Engine) embedderOf(c *memory.Collection) (memory.Embedder, error) {
	em, ok := e.embedders.ByName(c.Embedder)
	if !ok {
		return nil, fault.New(fault.Misconfigured, "the embedder %q of the collection is not configured", c.Embedder)
	}
	if c.Dim > 0 && em.Dim() != c.Dim {
		return nil, fault.New(fault.Unavailable, "the embedder %q has %d dimensions now, the collection's vectors have %d; give it another name and reembed the collection", c.Embedder, em.Dim(), c.Dim)
	}
	return em, nil
}

// random returns the random source of a job: the same job draws the same numbers.
func (e *Engine) random(job uuid.UUID) *rand.Rand {
	var a, b uint64
	for i := range 8 {
		a = a<<8 | uint64(job[i])
		b = b<<8 | uint64(job[8+i])
	}
	return rand.New(rand.NewPCG(a^e.cfg.Seed, b)) //nolint:gosec // no secret depends on it
}

func (e *Engine) now() time.Time { return e.clock().UTC().Truncate(time.Microsecond) }

// open opens a collection at its head for a job.
func (e *Engine) open(ctx context.Context, s tenant.Scope, collection uuid.UUID) (memory.View, error) {
	return e.store.OpenView(ctx, s, collection.String(), memory.At{})
}

// readNote reads one note with its vector; ok is false when it is not visible.
func (e *Engine) readNote(ctx context.Context, s tenant.Scope, v memory.View, id uuid.UUID) (n memory.Note, ok bool, err error) {
	list, err := e.store.Notes(ctx, s, v, []uuid.UUID{id}, memory.ReadOptions{Vector: true})
	if err != nil || len(list) == 0 {
		return memory.Note{}, false, err
	}
	return list[0], true, nil
}
