package bank_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/llm"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/notes"
	"github.com/slipboxhq/slipbox/internal/memory/policy/memorybank/bank"
	"github.com/slipboxhq/slipbox/internal/memory/policy/policies"
	"github.com/slipboxhq/slipbox/internal/memory/recall"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/store/enginetest"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
	"github.com/slipboxhq/slipbox/test/clock"
	"github.com/slipboxhq/slipbox/test/must"
)

// vault is a tenant with the services that an import uses.
type vault struct {
	*clock.Clock

	t           *testing.T
	store       store.Store
	s           tenant.Scope
	tenant      uuid.UUID
	collections *notes.Collections
	notes       *notes.Service
	recall      *recall.Service
	bank        *bank.Service
}

func open(t *testing.T) *vault {
	t.Helper()
	v := &vault{t: t, Clock: clock.New(time.Date(2023, 6, 1, 12, 0, 0, 0, time.UTC))}
	v.store = enginetest.Open(t, v.Now, nil)
	made := must.Get(v.store.CreateTenant(t.Context(), grant.Operator("test"), tenant.Tenant{Name: "acme"}))(t)
	v.tenant = made.ID
	v.s = grant.Scope(made.ID, uuid.Nil, "key:test", tenant.AllPermissions()...)
	v.embed(llm.Config{EmbedProvider: llm.EmbedHash})
	return v
}

// embed creates the services with an embedder.
func (v *vault) embed(cfg llm.Config) {
	v.t.Helper()
	embedders := must.Get(llm.NewRegistry(llm.Deps{Clock: v.Now}, cfg))(v.t)
	policies := must.Get(policies.All())(v.t)
	v.collections = must.Get(notes.NewCollections(notes.CollectionsDeps{Store: v.store, Agents: v.store, Embedders: embedders, Policies: policies, Clock: v.Now}))(v.t)
	v.notes = must.Get(notes.New(notes.Deps{Store: v.store, Embedders: embedders, Policies: policies, Clock: v.Now}, notes.Config{}))(v.t)
	v.recall = must.Get(recall.New(recall.Deps{Store: v.store, Embedders: embedders, Policies: policies, Clock: v.Now}, recall.Config{}))(v.t)
	v.bank = must.Get(bank.New(bank.Deps{Store: v.store, Notes: v.notes, Collections: v.collections, Clock: v.Now}))(v.t)
}

func (v *vault) must(err error) {
	v.t.Helper()
	if err != nil {
		v.t.Fatal(err)
	}
}

// collection creates a collection with the policy memorybank.
func (v *vault) collection(name string) memory.Collection {
	v.t.Helper()
	made := must.Get(v.collections.Create(v.t.Context(), v.s, notes.CollectionInput{Name: name, Policy: "memorybank"}, memory.Request{}))(v.t)
	return made.Collection
}

func (v *vault) imports(ref string, doc []byte) bank.Report {
	v.t.Helper()
	r := must.Get(v.bank.Import(v.t.Context(), v.s, ref, doc))(v.t)
	return r
}

func (v *vault) exports(ref string) any {
	v.t.Helper()
	raw := must.Get(v.bank.Export(v.t.Context(), v.s, ref))(v.t)
	return decoded(v.t, raw)
}

func (v *vault) view(ref string) memory.View {
	v.t.Helper()
	view := must.Get(v.store.OpenView(v.t.Context(), v.s, ref, memory.At{}))(v.t)
	return view
}

// list returns the notes of a kind, oldest first.
func (v *vault) list(ref string, kind memory.Kind) []memory.Note {
	v.t.Helper()
	notes := must.Get(v.store.ListNotes(v.t.Context(), v.s, v.view(ref), memory.NoteQuery{Kinds: []memory.Kind{kind}, Limit: 2000}))(v.t)
	return notes
}

func (v *vault) byKey(ref string, kind memory.Kind, key string) memory.Note {
	v.t.Helper()
	n := must.Get(v.store.NoteByKey(v.t.Context(), v.s, v.view(ref), kind, key))(v.t)
	return n
}

func (v *vault) usage(ref string, id uuid.UUID) memory.Usage {
	v.t.Helper()
	u := must.Get(v.store.Usage(v.t.Context(), v.s, v.view(ref), []uuid.UUID{id}))(v.t)
	return u[id]
}

// tasks returns the tasks that were enqueued for the policy.
func (v *vault) tasks(c memory.Collection) []memory.Task {
	v.t.Helper()
	jobs := must.Get(v.store.ListJobs(v.t.Context(), v.s, memory.JobQuery{Collection: c.ID, Limit: 1000}))(v.t)
	var out []memory.Task
	for _, j := range jobs {
		if j.Kind == memory.JobPolicy {
			var task memory.Task
			v.must(json.Unmarshal(j.Payload, &task))
			out = append(out, task)
		}
	}
	return out
}

func sample(t *testing.T, name string) []byte {
	t.Helper()
	raw := must.Get(os.ReadFile(filepath.Join("testdata", name)))(t)
	return raw
}

func decoded(t *testing.T, raw []byte) any {
	t.Helper()
	var v any
	must.Do(t, json.Unmarshal(raw, &v))
	return v
}
