package notes_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/llm"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/memory/policy/policies"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/store/enginetest"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
	"github.com/slipboxhq/slipbox/test/must"
)

// fixture is one tenant with an empty store and the services over it.
type fixture struct {
	t           *testing.T
	store       store.Store
	tenant      uuid.UUID
	all         tenant.Scope // the tenant's scope, without an agent
	notes       *notes.Service
	collections *notes.Collections
	embedders   embedders
	woken       *atomic.Int64
	now         time.Time
}

// embedders are the hash embedder and a slow one of another dimension.
type embedders struct{ hash, slow memory.Embedder }

func (e embedders) Default() memory.Embedder { return e.hash }

func (e embedders) ByName(name string) (memory.Embedder, bool) {
	for _, x := range []memory.Embedder{e.hash, e.slow} {
		if x.Name() == name {
			return x, true
		}
	}
	return nil, false
}

func (e embedders) Names() []string { return []string{e.hash.Name(), e.slow.Name()} }

type slowEmbedder struct{}

func (slowEmbedder) Name() string { return "slow-3" }
func (slowEmbedder) Dim() int     { return 3 }
func (slowEmbedder) Fast() bool   { return false }

func (slowEmbedder) Embed(context.Context, tenant.Scope, []string) ([]memory.Embedding, error) {
	return nil, errors.New("must not be asked before a write")
}

func open(t *testing.T) *fixture {
	t.Helper()
	d := &fixture{t: t, woken: &atomic.Int64{}, now: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)}
	clock := func() time.Time { return d.now }
	db := enginetest.Open(t, clock, nil)
	d.store = db
	made := must.Get(db.CreateTenant(t.Context(), grant.Operator("test"), tenant.Tenant{Name: "acme", State: tenant.Active}))(t)
	d.tenant = made.ID
	d.all = d.scope(uuid.Nil, tenant.AllPermissions()...)
	d.embedders = embedders{hash: llm.Hash{}, slow: slowEmbedder{}}
	policies := must.Get(policies.All())(t)
	telling := store.NotifyOnCommit(db, func(c store.Change) {
		if len(c.Stages) > 0 {
			d.woken.Add(1)
		}
	})
	d.notes = must.Get(notes.New(notes.Deps{Store: telling, Embedders: d.embedders, Policies: policies, Clock: clock}, notes.Config{}))(t)
	d.collections = must.Get(notes.NewCollections(notes.CollectionsDeps{
		Store: telling, Agents: db, Embedders: d.embedders, Policies: policies, Clock: clock,
	}))(t)
	return d
}

func (d *fixture) scope(agent uuid.UUID, perms ...tenant.Permission) tenant.Scope {
	return grant.Scope(d.tenant, agent, "test", perms...)
}

func (d *fixture) must(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

// is fails the test unless err has the code and names the fields.
func (d *fixture) is(err error, code fault.Code, fields ...string) {
	d.t.Helper()
	if !fault.Is(err, code) {
		d.t.Errorf("error is %v, want %s", err, code)
		return
	}
	var f *fault.Error
	errors.As(err, &f)
	for _, name := range fields {
		found := false
		for _, x := range f.Fields {
			found = found || x.Field == name
		}
		if !found {
			d.t.Errorf("%v does not name the field %s", err, name)
		}
	}
}

// collection creates a collection without a policy, so that no jobs are enqueued.
func (d *fixture) collection(name string) memory.Collection {
	d.t.Helper()
	v := must.Get(d.collections.Create(d.t.Context(), d.all, notes.CollectionInput{Name: name, Policy: memory.PolicyNone}, memory.Request{}))(d.t)
	return v.Collection
}

func (d *fixture) add(c memory.Collection, content string) memory.Note {
	d.t.Helper()
	w := must.Get(d.notes.Add(d.t.Context(), d.all, c.ID.String(), notes.NewNote{Content: content}, memory.Request{}))(d.t)
	return w.Note
}

func (d *fixture) view(c memory.Collection) memory.View {
	d.t.Helper()
	v := must.Get(d.store.OpenView(d.t.Context(), d.all, c.ID.String(), memory.At{}))(d.t)
	return v
}

// read returns the note as it is now, with its vector; ok is false if it is not visible.
func (d *fixture) read(c memory.Collection, id uuid.UUID) (memory.Note, bool) {
	d.t.Helper()
	notes := must.Get(d.store.Notes(d.t.Context(), d.all, d.view(c), []uuid.UUID{id}, memory.ReadOptions{Vector: true}))(d.t)
	if len(notes) == 0 {
		return memory.Note{}, false
	}
	return notes[0], true
}
