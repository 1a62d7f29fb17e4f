package store

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Flattening is what becomes of the row of a collection that is flattened.
type Flattening struct {
	Reads   memory.Ancestor
	Lineage string
	Origin  memory.Revision
}

// FlattenTo returns what becomes of the row of a collection that has copied all layers before layers[keep] into the first.
func FlattenTo(ctx context.Context, q CollectionRows, r CollectionRow, layers []memory.Layer, keep int) (f Flattening, err error) {
	v := memory.View{Layers: layers[:keep]}
	if f.Lineage, err = Document("lineage", v.Logs()[1:]); err != nil {
		return f, err
	}
	if keep < len(layers) {
		f.Reads = memory.Ancestor{Collection: layers[keep].Collection, Bound: layers[keep].Bound}
		f.Origin = f.Reads.Bound
		return f, nil
	}
	root, ok, err := q.Collection(ctx, r.Tenant, layers[keep-1].Collection)
	if err == nil && !ok {
		err = fault.Missing("collection")
	}
	f.Origin = root.Origin
	return f, err
}

// FlattenLineage implements memory.CollectionStore. The layer that stores most is not copied, because others may read it: those
// nearer than it go into the collection. If that is still too deep, or there are none, those farther go into it.
func (b *Base) FlattenLineage(ctx context.Context, s tenant.Scope, id uuid.UUID) error {
	for {
		again := false
		err := b.write(ctx, s, func(ctx context.Context, q Session) (err error) {
			again, err = flattenOnce(ctx, q, s, id)
			return err
		})
		if err != nil || !again {
			return err
		}
	}
}

// flattenOnce flattens one collection of a lineage, if it is too deep; then again is true.
func flattenOnce(ctx context.Context, q Session, s tenant.Scope, id uuid.UUID) (again bool, err error) {
	r, err := Reach(ctx, q, s, id)
	if err != nil {
		return false, err
	}
	if r.State == memory.CollectionDeleting {
		return false, fault.Missing("collection")
	}
	layers, err := q.Layers(ctx, r, r.Head)
	if err != nil || len(layers) <= memory.MaxLineage {
		return false, err
	}
	keep, err := largestLayer(ctx, q, r.Tenant, layers)
	if err != nil {
		return false, err
	}
	switch keep {
	case 0:
		keep = len(layers)
	case 1:
		layers, keep = layers[1:], len(layers)-1
	}
	// A collection whose lineage changes is locked, and those that it reads are held, farthest first: so no two that read one
	// another change concurrently, and none waits for another in a circle.
	for _, l := range slices.Backward(layers[1:]) {
		q.HoldCollections(r.Tenant, l.Collection)
	}
	q.LockHead(r.Tenant, layers[0].Collection)
	q.LockCollection(r.Tenant, layers[0].Collection)
	r, ok, err := q.Collection(ctx, r.Tenant, layers[0].Collection)
	if err != nil || !ok {
		return ok, err
	}
	now, err := q.Layers(ctx, r, r.Head)
	if err != nil {
		return false, err
	}
	same := slices.EqualFunc(layers, now, func(a, b memory.Layer) bool { return a.Collection == b.Collection })
	if !same || r.State == memory.CollectionDeleting {
		return true, ErrRollback // it changed while it was waited for
	}
	return true, q.Flatten(ctx, r, now, keep)
}

// largestLayer returns the place of the layer that stores most notes, the nearest one of several.
func largestLayer(ctx context.Context, q Session, tenantID uuid.UUID, layers []memory.Layer) (largest int, err error) {
	most := int64(-1)
	for i, l := range layers {
		h, err := q.Head(ctx, tenantID, l.Collection)
		if err != nil {
			return 0, err
		}
		if h.Stored.Notes > most {
			largest, most = i, h.Stored.Notes
		}
	}
	return largest, nil
}
