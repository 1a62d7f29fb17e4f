package recall_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/clone"
	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/llm"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/store/enginetest"
	"github.com/slipboxhq/slipbox/internal/store/postgres"
	"github.com/slipboxhq/slipbox/internal/store/postgres/postgrestest"
	"github.com/slipboxhq/slipbox/internal/store/sqlite"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
	"github.com/slipboxhq/slipbox/test/clock"
	"github.com/slipboxhq/slipbox/test/must"
)

// fixture is a tenant with a new store and the services on it.
type fixture struct {
	*clock.Clock

	t           *testing.T
	reopen      func() (store.Store, error)
	store       store.Store
	tenant      uuid.UUID
	all         tenant.Scope
	notes       *notes.Service
	collections *notes.Collections
	clones      *clone.Service
	recall      *recall.Service
	embedder    *embedder
	model       *model
}

// embedder embeds by hashed n-grams, and can be made to fail.
type embedder struct {
	llm.Hash
	down    atomic.Bool
	calls   atomic.Int64
	meaning atomic.Bool // pretends to compare meanings
	floor   float64     // of noise; 0: unknown
}

func (e *embedder) NoiseFloor() float64 { return e.floor }

func (e *embedder) Spelling() bool { return !e.meaning.Load() }

func (e *embedder) Embed(ctx context.Context, s tenant.Scope, texts []string) ([]memory.Embedding, error) {
	e.calls.Add(1)
	if e.down.Load() {
		return nil, fault.New(fault.Unavailable, "the embedder is down")
	}
	return e.Hash.Embed(ctx, s, texts)
}

func (e *embedder) Default() memory.Embedder { return e }
func (e *embedder) Names() []string          { return []string{e.Name()} }

func (e *embedder) ByName(name string) (memory.Embedder, bool) { return e, name == e.Name() }

// model answers from a script and records the calls.
type model struct {
	mu     sync.Mutex
	calls  []memory.Call
	answer func(memory.Call) (string, error)
}

func (m *model) Analyst() memory.Analyst { return memory.AnalystModel }

func (m *model) Converse(context.Context, tenant.Scope, memory.Dialogue) (memory.TurnResult, error) {
	return memory.TurnResult{}, errors.New("recall asks for no turn")
}

func (m *model) Ask(_ context.Context, _ tenant.Scope, c memory.Call) (memory.Answer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls = append(m.calls, c)
	if m.answer == nil {
		return memory.Answer{}, errors.New("no answer is scripted")
	}
	text, err := m.answer(c)
	return memory.Answer{JSON: []byte(text), Analyst: memory.AnalystModel}, err
}

func open(t *testing.T, cfg recall.Config) *fixture {
	t.Helper()
	path := enginetest.File(t)
	return openOn(t, cfg, func(clock memory.Clock) (store.Store, error) {
		return sqlite.Open(context.Background(), sqlite.Config{Path: path}, sqlite.Deps{Clock: clock})
	})
}

// onEngines runs a test over each engine of the product.
func onEngines(t *testing.T, test func(t *testing.T, r *fixture)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, open(t, recall.Config{}))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		db := postgrestest.New(t)
		test(t, openOn(t, recall.Config{}, func(clock memory.Clock) (store.Store, error) {
			return postgres.Open(context.Background(), postgres.Config{URL: db.URL, Connections: 4}, postgres.Deps{Clock: clock})
		}))
	})
}

func openOn(t *testing.T, cfg recall.Config, engine func(memory.Clock) (store.Store, error)) *fixture {
	t.Helper()
	r := &fixture{t: t, embedder: &embedder{}, model: &model{}, Clock: clock.New(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))}
	r.reopen = func() (store.Store, error) { return engine(r.Now) }
	r.openStore()
	made := must.Get(r.store.CreateTenant(t.Context(), grant.Operator("test"), tenant.Tenant{Name: "acme", State: tenant.Active}))(t)
	r.tenant = made.ID
	r.all = grant.Scope(r.tenant, uuid.Nil, "test", tenant.AllPermissions()...)
	r.start(cfg)
	t.Cleanup(func() { r.noError(r.store.Close()) })
	return r
}

func (r *fixture) openStore() {
	r.store = must.Get(r.reopen())(r.t)
}

func (r *fixture) start(cfg recall.Config) {
	r.t.Helper()
	policies := memory.NewPolicySet(policy.NewNone(), configuredPolicy{})
	r.notes = must.Get(notes.New(notes.Deps{Store: r.store, Embedders: r.embedder, Clock: r.Now}, notes.Config{}))(r.t)
	r.collections = must.Get(notes.NewCollections(notes.CollectionsDeps{
		Store: r.store, Agents: r.store, Embedders: r.embedder, Policies: policies, Clock: r.Now,
	}))(r.t)
	r.clones = must.Get(clone.New(clone.Deps{Store: r.store, Agents: r.store, Clock: r.Now}, clone.Config{BatchSize: 10}))(r.t)
	judge := must.Get(policy.NewJudge())(r.t)
	r.recall = must.Get(recall.New(recall.Deps{Store: r.store, Embedders: r.embedder, Model: r.model, Judge: judge, Policies: policies, Clock: r.Now}, cfg))(r.t)
}

func (r *fixture) noError(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *fixture) wantFault(err error, code fault.Code) {
	r.t.Helper()
	if !fault.Is(err, code) {
		r.t.Errorf("error is %v, want %s", err, code)
	}
}

func (r *fixture) collection(name string) memory.Collection {
	r.t.Helper()
	v := must.Get(r.collections.Create(r.t.Context(), r.all, notes.CollectionInput{Name: name, Policy: memory.PolicyNone}, memory.Request{}))(r.t)
	return v.Collection
}

func (r *fixture) add(c memory.Collection, content string, tags ...string) uuid.UUID {
	r.t.Helper()
	w := must.Get(r.notes.Add(r.t.Context(), r.all, c.ID.String(), notes.NewNote{Content: content, Tags: tags}, memory.Request{}))(r.t)
	return w.Note.ID
}

func (r *fixture) link(c memory.Collection, from uuid.UUID, to ...uuid.UUID) {
	r.t.Helper()
	var in []notes.LinkInput
	for _, id := range to {
		in = append(in, notes.LinkInput{Target: id})
	}
	must.Get(r.notes.PutLinks(r.t.Context(), r.all, c.ID.String(), from, in, memory.Request{}))(r.t)
}

func (r *fixture) view(c memory.Collection) memory.View {
	r.t.Helper()
	v := must.Get(r.recall.Open(r.t.Context(), r.all, c.ID.String(), nil, 0))(r.t)
	return v
}

func (r *fixture) search(c memory.Collection, q recall.Query) recall.Result {
	r.t.Helper()
	out := must.Get(r.recall.Search(r.t.Context(), r.all, r.view(c), q))(r.t)
	return out
}

// hitIDs returns the ids of the hits.
func hitIDs(out recall.Result) []uuid.UUID {
	ids := make([]uuid.UUID, len(out.Hits))
	for i := range out.Hits {
		ids[i] = out.Hits[i].ID
	}
	return ids
}

// fork and copied clone a collection.
func (r *fixture) fork(c memory.Collection, at *memory.Revision) memory.Collection {
	r.t.Helper()
	out := must.Get(r.clones.Clone(r.t.Context(), r.all, c.ID.String(), clone.Input{AtRevision: at}, memory.Request{}))(r.t)
	return out.Collection
}

func (r *fixture) copyOf(c memory.Collection, at *memory.Revision) memory.Collection {
	r.t.Helper()
	out := must.Get(r.clones.Clone(r.t.Context(), r.all, c.ID.String(), clone.Input{Mode: clone.Copy, AtRevision: at}, memory.Request{}))(r.t)
	r.noError(r.clones.RunCopy(r.t.Context(), grant.Job(r.tenant, out.Job.ID), *out.Job, func(context.Context, memory.Progress) error { return nil }))
	return out.Collection
}

func randomVector(rng *rand.Rand) []float32 {
	v := make([]float32, 384)
	for i := range v {
		v[i] = float32(rng.NormFloat64())
	}
	return v
}
