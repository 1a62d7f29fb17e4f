package notes

import (
	"context"
	"errors"
	"slices"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Forks says what happens to the forks of what is forgotten.
type Forks string

// The choices: a fork that is not forgotten itself refuses everything, keeps a copy of what it reads, or is
// forgotten, too.
const (
	RefuseForks      Forks = ""
	MaterialiseForks Forks = "materialise"
	DeleteForks      Forks = "delete"
)

// Forgotten is a collection that Forget deleted, with what was visible in it, or could not delete.
type Forgotten struct {
	Collection memory.Collection
	Counts     memory.Counts
	Job        uuid.UUID    // removes its rows, and is gone when they are; zero: it was not deleted
	Kept       *fault.Error // why it is still there; nil: it was deleted
}

// Traces returns what the files of the store keep of all that was erased.
func (c *Collections) Traces(ctx context.Context) (memory.Traces, error) { return c.store.Traces(ctx) }

// Forget deletes every collection that the scope reaches and that has all of these ids of an application, and perhaps
// others (collections:write, and base:write if one of them is shared). It returns all of them in the order
// of deletion, forks before what they read. NotFound when there is none. HasForks when a fork of one that the scope
// reaches has other ids, unless forks says what to do; nothing was deleted then. One that another agent forked,
// or whose blocks others show, is kept.
func (c *Collections) Forget(ctx context.Context, s tenant.Scope, e memory.External, forks Forks) ([]Forgotten, error) {
	if err := tenant.Check(s, tenant.CollectionsWrite); err != nil {
		return nil, err
	}
	found, err := allCollections(ctx, c.store, s, memory.CollectionQuery{External: e})
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, fault.Missing("collection")
	}
	if found, err = c.withForks(ctx, s, found, forks); err != nil {
		return nil, err
	}
	out := make([]Forgotten, 0, len(found))
	for i := range found {
		if err := checkBase(s, &found[i]); err != nil {
			return nil, err
		}
	}
	for i := range slices.Backward(found) {
		f, err := c.forget(ctx, s, found[i], forks == MaterialiseForks)
		if fault.Is(err, fault.NotFound) {
			continue // a concurrent request deleted it
		}
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

// forget deletes a collection. That it cannot be deleted now is not an error.
func (c *Collections) forget(ctx context.Context, s tenant.Scope, found memory.Collection, materialise bool) (Forgotten, error) {
	out := Forgotten{Collection: found}
	v, err := c.store.OpenView(ctx, s, found.ID.String(), memory.At{})
	if err != nil {
		return out, err
	}
	if out.Counts, err = c.store.Counts(ctx, s, v); err != nil {
		return out, err
	}
	entry := memory.AuditEntry{Action: "collection.delete", Target: found.ID.String(), Detail: map[string]any{"name": found.Name}}
	job, err := c.store.DeleteCollection(ctx, s, found.ID, materialise, entry)
	out.Job = job.ID
	if fault.Is(err, fault.HasForks) || fault.Is(err, fault.Conflict) {
		out.Kept, _ = errors.AsType[*fault.Error](err)
		err = nil
	}
	return out, err
}

// withForks returns collections with the forks that go with them, each after what it reads.
func (c *Collections) withForks(ctx context.Context, s tenant.Scope, found []memory.Collection, forks Forks) ([]memory.Collection, error) {
	chosen := map[uuid.UUID]bool{}
	for i := range found {
		chosen[found[i].ID] = true
	}
	for i := 0; i < len(found); i++ { // found grows
		children, err := allCollections(ctx, c.store, s, memory.CollectionQuery{Parent: found[i].ID})
		if err != nil {
			return nil, err
		}
		for _, fork := range children {
			switch {
			case chosen[fork.ID]:
			case forks == DeleteForks:
				chosen[fork.ID] = true
				found = append(found, fork)
			case forks == RefuseForks:
				return nil, fault.New(fault.HasForks, "the collection %q, which has other ids, reads one of these; say forks=delete or forks=materialise", fork.Name)
			}
		}
	}
	depth := map[uuid.UUID]int{}
	for changed := true; changed; {
		changed = false
		for i := range found {
			if p := found[i].Parent; chosen[p] && depth[found[i].ID] != depth[p]+1 {
				depth[found[i].ID], changed = depth[p]+1, true
			}
		}
	}
	slices.SortStableFunc(found, func(a, b memory.Collection) int { return depth[a.ID] - depth[b.ID] })
	return found, nil
}

// allCollections lists every collection of a query.
func allCollections(ctx context.Context, store collectionLister, s tenant.Scope, q memory.CollectionQuery) ([]memory.Collection, error) {
	q.Limit = memory.MaxPage
	return memory.All(memory.Pages(q.Limit, func(last *memory.Collection) ([]memory.Collection, error) {
		if last != nil {
			q.After = last.Name + "\x00" + last.ID.String()
		}
		return store.ListCollections(ctx, s, q)
	}))
}
