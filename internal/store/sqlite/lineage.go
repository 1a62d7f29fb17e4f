package sqlite

import (
	"context"
	"strings"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Layers implements store.CollectionRows.
func (q *session) Layers(ctx context.Context, r store.CollectionRow, at memory.Revision) ([]memory.Layer, error) {
	layers := []memory.Layer{{Collection: r.ID, Bound: at, EraseEpoch: r.EraseEpoch}}
	parent, bound := r.Parent, min(at, r.ParentRevision)
	for parent != uuid.Nil {
		if len(layers) > memory.MaxLineage {
			return nil, fault.New(fault.Internal, "the lineage of collection %s is too deep or a circle", r.ID)
		}
		var next uuid.UUID
		var point memory.Revision
		l := memory.Layer{Collection: parent, Bound: bound}
		ok, err := q.get(ctx, `SELECT c.parent, c.parent_revision, h.erase_epoch FROM collections c
 JOIN collection_heads h ON h.tenant = c.tenant AND h.collection = c.id WHERE c.tenant = ? AND c.id = ?`,
			[]any{r.Tenant, parent}, &next, &point, &l.EraseEpoch)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, fault.New(fault.Internal, "collection %s has lost its parent %s", r.ID, parent)
		}
		layers = append(layers, l)
		parent, bound = next, min(bound, point)
	}
	return layers, nil
}

// OpenView implements memory.Reader.
func (s *Store) OpenView(ctx context.Context, sc tenant.Scope, ref string, at memory.At) (v memory.View, err error) {
	if err := sc.Check(); err != nil {
		return v, err
	}
	err = s.snapshot(ctx, func(ctx context.Context, q *session) error {
		found, err := q.CollectionsByRef(ctx, sc, ref, s.now())
		if err != nil {
			return err
		}
		r, err := store.PickCollection(sc, ref, found)
		if err != nil {
			return err
		}
		to := r.Head
		if at.AsOf != nil {
			to = *at.AsOf
			if err := store.CheckRevision("as_of", &r.Collection, to); err != nil {
				return err
			}
		}
		layers, err := q.Layers(ctx, r, to)
		if err != nil {
			return err
		}
		v = memory.NewView(sc, r.Collection, to, layers)
		return nil
	})
	return v, err
}

// hiddenNotes returns the condition that no nearer layer holds any version of the note n, and its
// arguments.
func hiddenNotes(tenantID uuid.UUID, nearer []memory.Layer) (string, []any) {
	var b strings.Builder
	args := make([]any, 0, 3*len(nearer))
	for _, l := range nearer {
		b.WriteString(" AND NOT EXISTS (SELECT 1 FROM notes s WHERE s.tenant = ? AND s.layer = ? AND s.id = n.id AND s.from_rev <= ?)")
		args = append(args, tenantID, l.Collection, l.Bound)
	}
	return b.String(), args
}

// hiddenLinks returns the same condition for links, by their identity.
func hiddenLinks(tenantID uuid.UUID, nearer []memory.Layer) (string, []any) {
	var b strings.Builder
	args := make([]any, 0, 3*len(nearer))
	for _, l := range nearer {
		b.WriteString(" AND NOT EXISTS (SELECT 1 FROM links s WHERE s.tenant = ? AND s.layer = ? AND s.source = l.source" +
			" AND s.relation = l.relation AND s.target = l.target AND s.from_rev <= ?)")
		args = append(args, tenantID, l.Collection, l.Bound)
	}
	return b.String(), args
}

// noteVisible returns the condition that the note is visible through the layers, and its arguments:
// the nearest layer that holds it at all decides.
func noteVisible(id string, tenantID uuid.UUID, layers []memory.Layer) (string, []any) {
	var b strings.Builder
	args := make([]any, 0, 3*len(layers))
	b.WriteString("COALESCE(")
	for _, l := range layers {
		b.WriteString("(SELECT e.deleted = 0 FROM notes e WHERE e.tenant = ? AND e.layer = ? AND e.id = " + id +
			" AND e.from_rev <= ? ORDER BY e.from_rev DESC LIMIT 1), ")
		args = append(args, tenantID, l.Collection, l.Bound)
	}
	b.WriteString("0)")
	return b.String(), args
}
