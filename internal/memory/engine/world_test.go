package engine_test

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/analyst"
	"github.com/slipboxhq/slipbox/internal/clone"
	"github.com/slipboxhq/slipbox/internal/llm"
	"github.com/slipboxhq/slipbox/internal/llm/llmtest"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/engine"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/memory/policy/amem"
	"github.com/slipboxhq/slipbox/internal/memory/policy/policies"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/store/enginetest"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
	"github.com/slipboxhq/slipbox/test/must"
)

// world is a whole memory on the embedded store, with a model that speaks HTTP and fails on demand.
// Jobs run when a test says so.
type world struct {
	t           *testing.T
	store       store.Store
	fake        *llmtest.Server
	recall      *recall.Service
	notes       *notes.Service
	collections *notes.Collections
	clone       *clone.Service
	engine      *engine.Engine
	embedders   memory.Embedders
	s           tenant.Scope
	c           memory.Collection
	together    bool
	pause       time.Duration // of an open breaker, in real time; 0: it never opens

	mu     sync.Mutex
	began  time.Time
	offset time.Duration
}

// options configure a world.
type options struct {
	config    string // of the collection's policy
	heuristic bool
	remote    bool // embedder behind HTTP
	breaker   int  // failures that open it; default 1000
	engine    engine.Config
	wrap      func(engine.Store) engine.Store
	also      *secondEmbedder // a further embedder
	policy    string          // of the collection; default amem
	policies  []memory.Policy
	model     func(memory.Model) memory.Model
	beside    func(memory.Model) memory.Model // the analyst beside it
	encoder   string                          // directory with the weights of the local embedder; "": hashed n-grams
	timeout   time.Duration                   // of a model's answer; default 5 s
	quota     memory.Quota
	together  bool // both stages of a note together, where that is possible, as workers do; else apart
}

func newWorld(t *testing.T, o options) *world {
	t.Helper()
	w := &world{t: t, fake: llmtest.New(t), together: o.together, began: time.Now()}
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var err error
	w.store = enginetest.Open(t, w.now, nil)
	ten, err := w.store.CreateTenant(ctx, grant.Operator("test"), tenant.Tenant{Name: "acme"})
	must(err)
	w.s = grant.Scope(ten.ID, uuid.Nil, "key:test", tenant.AllPermissions()...)

	cfg := llm.Config{
		BaseURL: w.fake.URL(), Model: "test", MaxTries: 1, Timeout: time.Minute, RetryWait: time.Millisecond,
		BreakerFailures: 1000, EmbedProvider: llm.EmbedHash,
	}
	if o.timeout > 0 {
		cfg.Timeout = o.timeout
	}
	if o.breaker > 0 {
		w.pause = 400 * time.Millisecond // longer than two rounds of jobs on a busy machine
		cfg.BreakerFailures, cfg.BreakerPause = o.breaker, w.pause
	}
	if o.encoder != "" {
		cfg.EmbedProvider, cfg.EncoderDir = llm.EmbedLocal, o.encoder
	}
	if o.remote {
		cfg.EmbedProvider, cfg.EmbedModel, cfg.EmbedDim = llm.ProviderOpenAI, "embed", 64
		cfg.EmbedCache = -1
		w.fake.EmbedDim(64)
	}
	deps := llm.Deps{Clock: w.running}
	w.embedders, err = llm.NewRegistry(deps, cfg)
	must(err)
	if o.also != nil {
		w.embedders = twoEmbedders{w.embedders, o.also}
	}
	var model memory.Model = analyst.New()
	if !o.heuristic {
		model, err = llm.NewModel(deps, cfg)
		must(err)
	}
	if o.model != nil {
		model = o.model(model)
	}
	var beside memory.Model = analyst.New()
	if o.beside != nil {
		beside = o.beside(beside)
	}
	policies, err := policies.All()
	must(err)
	for _, p := range o.policies {
		policies[p.Name()] = p
	}
	w.recall, err = recall.New(recall.Deps{Store: w.store, Embedders: w.embedders, Policies: policies, Clock: w.now}, recall.Config{})
	must(err)
	w.notes, err = notes.New(notes.Deps{Store: w.store, Embedders: w.embedders, Policies: policies, Clock: w.now, Quota: o.quota}, notes.Config{})
	must(err)
	w.collections, err = notes.NewCollections(notes.CollectionsDeps{Store: w.store, Agents: w.store, Embedders: w.embedders, Policies: policies, Clock: w.now})
	must(err)
	w.clone, err = clone.New(clone.Deps{Store: w.store, Agents: w.store, Policies: policies, Clock: w.now}, clone.Config{})
	must(err)
	var st engine.Store = w.store
	if o.wrap != nil {
		st = o.wrap(st)
	}
	w.engine, err = engine.New(engine.Deps{
		Store: st, Policies: policies, Model: model, Heuristic: beside, Embedders: w.embedders,
		Nearest: w.recall, Index: w.recall, Clock: w.now,
	}, o.engine)
	must(err)
	in := notes.CollectionInput{Name: "main", Policy: o.policy}
	if o.config != "" {
		in.PolicyConfig = json.RawMessage(o.config)
	}
	view, err := w.collections.Create(ctx, w.s, in, memory.Request{})
	must(err)
	w.c = view.Collection
	return w
}

// now returns the time of the world. Only advance moves it, so that a pause does not end because the machine is
// slow, and each call by a microsecond, so that times are in order.
func (w *world) now() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.offset += time.Microsecond
	return w.began.Add(w.offset)
}

// running is a clock that runs, for what waits on its own: the model's client.
func (w *world) running() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Now().Add(w.offset)
}

// advance moves the clock forward.
func (w *world) advance(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.offset += d
}

// add stores a note; its job waits.
func (w *world) add(content string, change ...func(*notes.NewNote)) memory.Note {
	w.t.Helper()
	in := notes.NewNote{Content: content}
	for _, c := range change {
		c(&in)
	}
	out := must.Get(w.notes.Add(w.t.Context(), w.s, w.c.ID.String(), in, memory.Request{}))(w.t)
	return out.Note
}

// learn stores a note and runs all due jobs.
func (w *world) learn(content string, change ...func(*notes.NewNote)) memory.Note {
	w.t.Helper()
	n := w.add(content, change...)
	w.drain()
	return w.get(n.ID)
}

func (w *world) get(id uuid.UUID) memory.Note { w.t.Helper(); return w.getIn(w.c.ID, id) }

func (w *world) getIn(c, id uuid.UUID) memory.Note {
	w.t.Helper()
	list, err := w.store.Notes(w.t.Context(), w.s, w.view(c), []uuid.UUID{id}, memory.ReadOptions{Vector: true})
	if err != nil || len(list) != 1 {
		w.t.Fatalf("note %s: %v, %v", id, list, err)
	}
	return list[0]
}

func (w *world) view(c uuid.UUID) memory.View {
	w.t.Helper()
	v := must.Get(w.store.OpenView(w.t.Context(), w.s, c.String(), memory.At{}))(w.t)
	return v
}

// links returns the targets of a note's links.
func (w *world) links(id uuid.UUID) []uuid.UUID {
	w.t.Helper()
	list := must.Get(w.store.Links(w.t.Context(), w.s, w.view(w.c.ID), memory.LinkQuery{Notes: []uuid.UUID{id}, Direction: memory.Outgoing}))(w.t)
	var out []uuid.UUID
	for _, l := range list {
		out = append(out, l.Target)
	}
	return out
}

func (w *world) history(id uuid.UUID) []memory.HistoryEntry {
	w.t.Helper()
	list := must.Get(w.store.History(w.t.Context(), w.s, w.view(w.c.ID), id, 0, 100))(w.t)
	return list
}

// jobs returns the jobs of a note, newest first; all jobs without one.
func (w *world) jobs(note uuid.UUID) []memory.Job {
	w.t.Helper()
	q := memory.JobQuery{Limit: 1000}
	if note != uuid.Nil {
		q.Notes = []uuid.UUID{note}
	}
	list := must.Get(w.store.ListJobs(w.t.Context(), w.s, q))(w.t)
	return list
}

func (w *world) reviews(state memory.ReviewState) []memory.Review {
	w.t.Helper()
	list := must.Get(w.engine.Reviews(w.t.Context(), w.s, memory.ReviewQuery{Collection: w.c.ID, State: state, Limit: 100}))(w.t)
	return list
}

// claim leases the due jobs of a stage.
func (w *world) claim(c uuid.UUID, stage memory.Stage, limit int) []memory.Job {
	w.t.Helper()
	list := must.Get(w.store.ClaimJobs(w.t.Context(), w.s, c, stage, uuid.New(), w.now().Add(15*time.Second), limit))(w.t)
	return list
}

// step claims and runs the next jobs of a collection; false when none are due.
func (w *world) step(c uuid.UUID) bool {
	w.t.Helper()
	ran := false
	for _, stage := range []memory.Stage{memory.StagePrepare, memory.StageDecide, memory.StageTask, memory.StageUpkeep} {
		for _, j := range w.claim(c, stage, 100) {
			ran = true
			if w.together {
				w.end(j, w.work(j))
			} else {
				w.run(j)
			}
		}
	}
	return ran
}

// run does one try of one stage of a leased job.
func (w *world) run(j memory.Job) { w.t.Helper(); w.end(j, w.try(j)) }

// end records the error of a try, as the worker does.
func (w *world) end(j memory.Job, err error) {
	w.t.Helper()
	if err != nil {
		must.Do(w.t, w.engine.Fail(w.t.Context(), grant.Job(j.Tenant, j.ID), j, err))
	}
}

// work does a try as the worker does: both stages of a note together, where that is possible.
func (w *world) work(j memory.Job) error {
	if (j.Kind == memory.JobNote || j.Kind == memory.JobExchange) && j.Stage == memory.StagePrepare {
		return w.engine.RunStages(w.t.Context(), grant.Job(j.Tenant, j.ID), j, engine.Stages{})
	}
	return w.try(j)
}

func (w *world) try(j memory.Job) error {
	ctx, s := w.t.Context(), grant.Job(j.Tenant, j.ID)
	switch {
	case j.Kind == memory.JobAdopt:
		return w.engine.RunAdopt(ctx, s, j)
	case j.Kind == memory.JobConsolidate:
		return w.engine.RunConsolidate(ctx, s, j, func(context.Context, memory.Progress) error { return nil })
	case j.Kind == memory.JobReembed:
		return w.engine.RunReembed(ctx, s, j, func(context.Context, memory.Progress) error { return nil })
	case j.Kind == memory.JobRefresh:
		return w.engine.RunRefresh(ctx, s, j, func(ctx context.Context, p memory.Progress) error {
			return w.store.SetProgress(ctx, s, j.ID, j.Lease, p)
		})
	case j.Kind == memory.JobRemove:
		return w.clone.RunRemove(ctx, s, j, func(context.Context, memory.Progress) error { return nil })
	case j.Kind == memory.JobErase:
		if err := w.engine.RunErase(ctx, s, j); err != nil {
			return err
		}
		return w.store.ReleaseJob(ctx, s, j.ID, j.Lease, memory.JobEnd{State: memory.JobDone, Stage: j.Stage})
	case j.Kind == memory.JobPolicy:
		return w.engine.RunPolicy(ctx, s, j)
	case j.Stage == memory.StageDecide:
		return w.engine.RunDecide(ctx, s, j)
	default:
		return w.engine.RunPrepare(ctx, s, j)
	}
}

// drain runs all due jobs.
func (w *world) drain() {
	w.t.Helper()
	for {
		due := must.Get(w.store.DueCollections(w.t.Context(), w.now(), 100))(w.t)
		ran := false
		for _, d := range due {
			ran = w.step(d.Collection) || ran
		}
		if !ran {
			return
		}
	}
}

// evolve scripts the answers of the next decision.
func evolve(change func(*amem.Evolution)) llmtest.Reply {
	sure := 0.95
	e := amem.Evolution{ShouldEvolve: true, Actions: []string{}, SuggestedConnections: []int{}, TagsToUpdate: []string{}, Confidence: &sure}
	change(&e)
	if e.NewContextNeighborhood == nil {
		e.NewContextNeighborhood = []string{}
	}
	if e.NewTagsNeighborhood == nil {
		e.NewTagsNeighborhood = [][]string{}
	}
	if e.NewKeywordsNeighborhood == nil {
		e.NewKeywordsNeighborhood = [][]string{}
	}
	return llmtest.JSON(e)
}

// rename scripts an update of the nearest neighbor's context.
func rename(contexts ...string) llmtest.Reply {
	return evolve(func(e *amem.Evolution) {
		e.Actions, e.NewContextNeighborhood = []string{"update_neighbor"}, contexts
	})
}

func keep() llmtest.Reply { return evolve(func(e *amem.Evolution) { e.ShouldEvolve = false }) }

func has(list []uuid.UUID, id uuid.UUID) bool { return slices.Contains(list, id) }

func given(tags, keywords []string, context string) func(*notes.NewNote) {
	return func(n *notes.NewNote) { n.Tags, n.Keywords, n.Context = tags, keywords, &context }
}

// fork forks the collection at its head.
func (w *world) fork(name string) uuid.UUID {
	w.t.Helper()
	r := must.Get(w.clone.Clone(w.t.Context(), w.s, w.c.ID.String(), clone.Input{Name: name}, memory.Request{}))(w.t)
	return r.Collection.ID
}
