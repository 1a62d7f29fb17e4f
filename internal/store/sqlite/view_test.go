package sqlite

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/tenant/grant"
	"github.com/slipboxhq/slipbox/test/must"
)

// A session opens a view again without reading it again. A commit of this process or another one, the
// end of a collection, and another agent are seen at once.
func TestViewsAreRemembered(t *testing.T) {
	t.Parallel()
	path, ctx := newFile(t), t.Context()
	var offset atomic.Int64
	clock := func() time.Time { return time.Now().Add(time.Duration(offset.Load())) }
	open := func() *Store {
		s := must.Get(Open(ctx, Config{Path: path, Readers: 1}, Deps{Clock: clock}))(t)
		t.Cleanup(func() { s.Close() })
		return s
	}
	one, two := open(), open()
	noError := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	acme, err := one.CreateTenant(ctx, grant.Operator("test"), tenant.Tenant{Name: "acme"})
	noError(err)
	all := grant.Scope(acme.ID, uuid.Nil, "test", tenant.AllPermissions()...)
	create := func(c memory.Collection) memory.Collection {
		t.Helper()
		c.Policy, c.Embedder, c.Dim, c.State = "none", "hash", 4, memory.CollectionActive
		made, err := one.CreateCollection(ctx, all, memory.NewCollection{Collection: c, Audit: memory.AuditEntry{Action: "collection.create"}})
		noError(err)
		return made.Collection
	}
	c := create(memory.Collection{Name: "things", Metadata: map[string]any{"k": "v"}})
	at := func(s *Store, want memory.Revision) {
		t.Helper()
		for range 2 {
			v, err := s.OpenView(ctx, all, "things", memory.At{})
			noError(err)
			if v.At != want || v.Layers[0].Bound != want || v.Collection.Metadata["k"] != "v" {
				t.Errorf("the view is at %d with %v and %v, want %d", v.At, v.Layers, v.Collection.Metadata, want)
			}
			v.Layers[0].Bound, v.Collection.Metadata["k"] = 99, "changed by the caller"
		}
	}
	write := func(s *Store) {
		t.Helper()
		_, err := s.Write(ctx, all, c.ID, memory.WriteOptions{Cause: memory.CauseAdd}, func(ctx context.Context, tx memory.Tx) error {
			_, err := tx.Put(ctx, memory.Note{Kind: memory.KindNote, State: memory.StateRaw, Content: "tea"})
			return err
		})
		noError(err)
	}
	at(one, 0)
	at(two, 0)
	for i := range memory.Revision(3) {
		write(one)
		at(one, 2*i+1)
		at(two, 2*i+1)
		write(two)
		at(one, 2*i+2)
		at(two, 2*i+2)
	}
	noError(one.reading(ctx, uuid.Nil, func(ctx context.Context, q *session) error {
		known, err := q.knownViews(ctx)
		if len(known) != 1 {
			t.Errorf("%d views are remembered", len(known))
		}
		return err
	}))
	past := memory.Revision(2)
	v, err := one.OpenView(ctx, all, "things", memory.At{AsOf: &past})
	noError(err)
	if v.At != past {
		t.Errorf("the past is at %d", v.At)
	}
	for range 2 {
		if _, err := one.OpenView(ctx, all, "things", memory.At{AsOf: new(memory.Revision(-1))}); !fault.Is(err, fault.Invalid) {
			t.Errorf("a negative revision: %v", err)
		}
	}
	// An agent's own collection has the name that a shared one has.
	agents := map[string]tenant.Scope{}
	for _, name := range []string{"ada", "bob"} {
		a, err := one.EnsureAgent(ctx, all, name)
		noError(err)
		agents[name] = grant.Scope(acme.ID, a.ID, "test", tenant.AllPermissions()...)
	}
	own := create(memory.Collection{Name: "things", Agent: agents["ada"].Agent(), ExpiresAt: clock().Add(time.Hour)})
	for range 2 {
		for name, want := range map[string]uuid.UUID{"ada": own.ID, "bob": c.ID} {
			v, err := one.OpenView(ctx, agents[name], "things", memory.At{})
			noError(err)
			if v.Collection.ID != want || v.Check(agents[name]) != nil {
				t.Errorf("%s sees %s, want %s", name, v.Collection.ID, want)
			}
		}
	}
	// Time passes without a commit.
	offset.Store(int64(2 * time.Hour))
	if _, err := one.OpenView(ctx, agents["ada"], own.ID.String(), memory.At{}); !fault.Is(err, fault.NotFound) {
		t.Errorf("an expired collection: %v", err)
	}
	if v, err := one.OpenView(ctx, agents["ada"], "things", memory.At{}); err != nil || v.Collection.ID != c.ID {
		t.Errorf("the shared collection: %s, %v", v.Collection.ID, err)
	}
}
