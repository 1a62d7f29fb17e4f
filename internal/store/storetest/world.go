package storetest

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
)

// The embedder of the collections in this suite.
const (
	embedder = "test-4"
	dim      = 4
)

// tb is implemented by *testing.T and *rapid.T.
type tb interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Failed() bool
}

// world is a store with a tenant that has two agents, and a second tenant.
type world struct {
	store.Store
	t     tb
	ctx   context.Context //nolint:containedctx // a world is used by one test
	clock *Clock

	op           tenant.Operator
	tenant       tenant.Tenant
	other        tenant.Tenant
	all          tenant.Scope // all agents of the tenant
	alice, bob   tenant.Agent
	aliceS, bobS tenant.Scope
	foreign      tenant.Scope // all agents of the other tenant
}

func newWorld(ctx context.Context, t tb, h Harness, name string) *world {
	w := &world{Store: h.Store, t: t, ctx: ctx, clock: h.Clock, op: grant.Operator("suite")}
	w.tenant = must(w.CreateTenant(w.ctx, w.op, tenant.Tenant{Name: name}))(t)
	other := must(w.CreateTenant(w.ctx, w.op, tenant.Tenant{Name: "not-" + name}))(t)
	perms := tenant.AllPermissions()
	w.all = grant.Scope(w.tenant.ID, uuid.Nil, "suite", perms...)
	w.alice = must(w.EnsureAgent(w.ctx, w.all, "alice"))(t)
	w.bob = must(w.EnsureAgent(w.ctx, w.all, "bob"))(t)
	w.aliceS = grant.Scope(w.tenant.ID, w.alice.ID, "alice's key", perms...)
	w.bobS = grant.Scope(w.tenant.ID, w.bob.ID, "bob's key", perms...)
	w.other = other
	w.foreign = grant.Scope(other.ID, uuid.Nil, "stranger", perms...)
	return w
}

// must returns v, and fails the test when err is not nil.
func must[T any](v T, err error) func(tb) T {
	return func(t tb) T {
		t.Helper()
		if err != nil {
			t.Fatalf("unexpected error: %v", err)
		}
		return v
	}
}

// noError fails the test when err is not nil.
func (w *world) noError(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatalf("unexpected error: %v", err)
	}
}

// wantFault fails the test unless err is a fault with that code.
func (w *world) wantFault(err error, code fault.Code) {
	w.t.Helper()
	if !fault.Is(err, code) {
		w.t.Fatalf("error is %v, want a fault with code %q", err, code)
	}
}

// wantInvalid fails the test unless err is Invalid for that field.
func (w *world) wantInvalid(err error, field string) {
	w.t.Helper()
	w.wantFault(err, fault.Invalid)
	var f *fault.Error
	if !errors.As(err, &f) || len(f.Fields) != 1 || f.Fields[0].Field != field {
		w.t.Fatalf("error is %v, want Invalid for the field %q", err, field)
	}
}

// assertf fails the test unless ok.
func (w *world) assertf(ok bool, format string, args ...any) {
	w.t.Helper()
	if !ok {
		w.t.Fatalf(format, args...)
	}
}

// verify fails the test when Store.Verify finds a problem.
func (w *world) verify() {
	w.t.Helper()
	if w.t.Failed() {
		return
	}
	problems := must(w.Verify(w.ctx))(w.t)
	for _, p := range problems {
		w.t.Errorf("verify: %s: %s (collection %s)", p.Kind, p.Detail, p.Collection)
	}
}

func (w *world) collection(name string) memory.Collection {
	w.t.Helper()
	return w.collectionOf(uuid.Nil, name)
}

func (w *world) collectionOf(agent uuid.UUID, name string) memory.Collection {
	w.t.Helper()
	return must(w.CreateCollection(w.ctx, w.all, memory.NewCollection{Collection: memory.Collection{
		Agent: agent, Name: name, Policy: "amem", Embedder: embedder, Dim: dim,
	}}))(w.t).Collection
}

// fork creates a fork at a revision; a negative revision means the head.
func (w *world) fork(parent uuid.UUID, at memory.Revision, name string) (memory.Collection, error) {
	if at < 0 {
		at = w.head(parent)
	}
	c, err := w.CreateCollection(w.ctx, w.all, memory.NewCollection{Collection: memory.Collection{
		Name: name, Policy: "amem", Parent: parent, ParentRevision: at,
	}})
	return c.Collection, err
}

func (w *world) mustFork(parent uuid.UUID, at memory.Revision, name string) memory.Collection {
	w.t.Helper()
	return must(w.fork(parent, at, name))(w.t)
}

func (w *world) head(id uuid.UUID) memory.Revision {
	w.t.Helper()
	return must(w.ResolveCollection(w.ctx, w.all, id.String()))(w.t).Head
}

// view opens a view at the head.
func (w *world) view(id uuid.UUID) memory.View {
	w.t.Helper()
	return must(w.OpenView(w.ctx, w.all, id.String(), memory.At{}))(w.t)
}

func (w *world) viewAt(id uuid.UUID, at memory.Revision) memory.View {
	w.t.Helper()
	return must(w.OpenView(w.ctx, w.all, id.String(), memory.At{AsOf: &at}))(w.t)
}

// write writes one changeset.
func (w *world) write(id uuid.UUID, fn func(tx memory.Tx) error) memory.Written {
	w.t.Helper()
	return must(w.tryWrite(id, fn))(w.t)
}

func (w *world) tryWrite(id uuid.UUID, fn func(tx memory.Tx) error) (memory.Written, error) {
	return w.Write(w.ctx, w.all, id, memory.WriteOptions{Cause: memory.CauseAdd}, func(_ context.Context, tx memory.Tx) error { return fn(tx) })
}

// put writes one note.
func (w *world) put(id uuid.UUID, n memory.Note) memory.Note {
	w.t.Helper()
	var out memory.Note
	w.write(id, func(tx memory.Tx) (err error) {
		out, err = tx.Put(w.ctx, n)
		return err
	})
	return out
}

func (w *world) add(id uuid.UUID, content string) memory.Note {
	w.t.Helper()
	return w.put(id, memory.Note{Content: content})
}

func (w *world) delete(id, note uuid.UUID) {
	w.t.Helper()
	w.write(id, func(tx memory.Tx) error { return tx.Delete(w.ctx, note) })
}

func (w *world) link(id, from, to uuid.UUID) {
	w.t.Helper()
	w.write(id, func(tx memory.Tx) error {
		_, err := tx.Link(w.ctx, memory.Link{LinkID: memory.LinkID{Source: from, Target: to, Relation: memory.RelatedTo}, Confidence: 0.5})
		return err
	})
}

// contents returns the contents of the notes in a view, oldest first.
func (w *world) contents(v memory.View) []string {
	w.t.Helper()
	out := []string{}
	for _, n := range must(w.ListNotes(w.ctx, w.all, v, memory.NoteQuery{}))(w.t) {
		out = append(out, n.Content)
	}
	return out
}

func (w *world) get(v memory.View, id uuid.UUID) (memory.Note, bool) {
	w.t.Helper()
	l := must(w.Notes(w.ctx, w.all, v, []uuid.UUID{id}, memory.ReadOptions{Vector: true}))(w.t)
	if len(l) == 0 {
		return memory.Note{}, false
	}
	return l[0], true
}

func (w *world) links(v memory.View, notes ...uuid.UUID) []memory.Link {
	w.t.Helper()
	return must(w.Links(w.ctx, w.all, v, memory.LinkQuery{Notes: notes, Direction: memory.Both}))(w.t)
}

// job enqueues a job.
func (w *world) job(id uuid.UUID, j memory.Job) memory.Job {
	w.t.Helper()
	var out memory.Job
	w.write(id, func(tx memory.Tx) (err error) {
		out, err = tx.Enqueue(w.ctx, j)
		return err
	})
	return out
}

// claim leases jobs for a minute.
func (w *world) claim(id uuid.UUID, stage memory.Stage, n int) ([]memory.Job, uuid.UUID) {
	w.t.Helper()
	lease := uuid.New()
	return must(w.ClaimJobs(w.ctx, w.all, id, stage, lease, w.clock.Now().Add(time.Minute), n))(w.t), lease
}

// parts reads a spool.
func (w *world) parts(s tenant.Scope, job uuid.UUID, spool memory.SpoolName) []string {
	w.t.Helper()
	out := []string{}
	w.noError(w.Parts(w.ctx, s, job, spool, func(data []byte) error {
		out = append(out, string(data))
		return nil
	}))
	return out
}
