package store

import (
	"context"
	"errors"
	"sync"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Planning is a store with planned collections, which their first writes create. A request that is refused before it writes, for any
// reason, has then created none.
type Planning struct {
	Store

	plans sync.Map // of *plan, by the id of the collection
}

var _ memory.Planner = (*Planning)(nil)

// plan is a planned collection of one request.
type plan struct {
	new  memory.NewCollection
	read bool // a view creates it, too

	mu sync.Mutex
	is uuid.UUID // the collection that there is by now; zero: none
}

// PlanCollections returns a store that can plan collections.
func PlanCollections(s Store) *Planning { return &Planning{Store: s} }

// errTried ends the transaction that shows whether a collection can be created.
var errTried = fault.New(fault.Conflict, "the collection is created by what is written to it")

// PlanCollection implements memory.Planner.
func (p *Planning) PlanCollection(ctx context.Context, s tenant.Scope, c memory.NewCollection, read bool) (memory.Collection, func(), error) {
	none := func() {}
	trial := c
	trial.First = &memory.FirstWrite{Do: func(_ context.Context, tx memory.Tx) error {
		c.Collection = tx.View().Collection
		return errTried
	}}
	if _, err := p.CreateCollection(ctx, s, trial); fault.Is(err, fault.Exists) {
		there, missing := p.instead(ctx, s, &c)
		if missing != nil {
			return there, none, err
		}
		return there, none, nil
	} else if !errors.Is(err, errTried) {
		return memory.Collection{}, none, err
	}
	c.Head = 0
	p.plans.Store(c.ID, &plan{new: c, read: read})
	return c.Collection, func() { p.plans.Delete(c.ID) }, nil
}

// find returns the plan that a reference names, and the reference of the collection that there is by now; nil: there is one.
func (p *Planning) find(ref string) (*plan, string) {
	id, err := uuid.Parse(ref)
	if err != nil {
		return nil, ref
	}
	found, ok := p.plans.Load(id)
	if !ok {
		return nil, ref
	}
	of, _ := found.(*plan)
	of.mu.Lock()
	defer of.mu.Unlock()
	if of.is != uuid.Nil {
		return nil, of.is.String()
	}
	return of, ref
}

// view is find of a request that views the collection.
func (p *Planning) view(ctx context.Context, s tenant.Scope, ref string) (*plan, string, error) {
	of, ref := p.find(ref)
	if of == nil || !of.read {
		return of, ref, nil
	}
	_, err := p.create(ctx, s, of, nil)
	if instead, ok := errors.AsType[*memory.Planned](err); ok {
		return nil, instead.Instead.String(), nil
	}
	return nil, ref, err
}

// create creates a planned collection, with what is written to it.
func (p *Planning) create(ctx context.Context, s tenant.Scope, of *plan, first *memory.FirstWrite) (memory.Written, error) {
	made := of.new
	made.First = first
	created, err := p.CreateCollection(ctx, s, made)
	if fault.Is(err, fault.Exists) {
		there, missing := p.instead(ctx, s, &made)
		if missing != nil {
			return memory.Written{}, err
		}
		of.settle(there.ID)
		return memory.Written{}, &memory.Planned{ID: made.ID, Instead: there.ID}
	}
	if err == nil && created.Written.Replay == nil {
		of.settle(made.ID)
	}
	return created.Written, err
}

// ResolveCollection implements memory.CollectionReader.
func (p *Planning) ResolveCollection(ctx context.Context, s tenant.Scope, ref string) (memory.Collection, error) {
	of, ref, err := p.view(ctx, s, ref)
	switch {
	case err != nil:
		return memory.Collection{}, err
	case of == nil:
		return p.Store.ResolveCollection(ctx, s, ref)
	}
	return of.new.Collection, nil
}

// OpenView implements memory.ViewReader.
func (p *Planning) OpenView(ctx context.Context, s tenant.Scope, ref string, at memory.At) (memory.View, error) {
	of, ref, err := p.view(ctx, s, ref)
	switch {
	case err != nil:
		return memory.View{}, err
	case of == nil:
		return p.Store.OpenView(ctx, s, ref, at)
	}
	c := of.new.Collection
	if at.AsOf != nil {
		if err := CheckRevision("as_of", &c, *at.AsOf); err != nil {
			return memory.View{}, err
		}
	}
	return memory.NewView(s, c, 0, []memory.Layer{{Collection: c.ID}}), nil
}

// Counts implements memory.ViewReader.
func (p *Planning) Counts(ctx context.Context, s tenant.Scope, v memory.View) (memory.Counts, error) {
	if of, _ := p.find(v.Collection.ID.String()); of == nil {
		return p.Store.Counts(ctx, s, v)
	}
	return memory.Counts{Kinds: map[memory.Kind]int64{}}, v.Check(s)
}

// Write implements memory.Writer.
func (p *Planning) Write(ctx context.Context, s tenant.Scope, collection uuid.UUID, o memory.WriteOptions, fn func(ctx context.Context, tx memory.Tx) error) (memory.Written, error) {
	of, is := p.find(collection.String())
	switch {
	case of != nil:
	case is != collection.String():
		return memory.Written{}, &memory.Planned{ID: collection, Instead: uuid.MustParse(is)}
	default:
		return p.Store.Write(ctx, s, collection, o, fn)
	}
	return p.create(ctx, s, of, &memory.FirstWrite{Options: o, Do: fn})
}

// settle sets the collection that there is.
func (of *plan) settle(id uuid.UUID) {
	of.mu.Lock()
	defer of.mu.Unlock()
	of.is = id
}

// instead finds the collection that has the name or the external ids of a planned one.
func (p *Planning) instead(ctx context.Context, s tenant.Scope, c *memory.NewCollection) (memory.Collection, error) {
	if !c.External.IsZero() {
		return p.CollectionByExternal(ctx, s, c.External)
	}
	return p.Store.ResolveCollection(ctx, s, c.Name)
}
