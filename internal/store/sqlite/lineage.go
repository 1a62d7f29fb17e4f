package sqlite

import (
	"context"
	"database/sql"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Layers implements store.CollectionRows.
func (q *session) Layers(ctx context.Context, r store.CollectionRow, at memory.Revision) ([]memory.Layer, error) {
	layers := []memory.Layer{{Collection: r.ID, Bound: at, EraseEpoch: r.EraseEpoch, Flattened: r.Flattened}}
	parent, bound := r.Reads.Collection, min(at, r.Reads.Bound)
	for parent != uuid.Nil {
		if len(layers) > memory.DeepestLineage+1 {
			return nil, fault.New(fault.Internal, "the lineage of collection %s is too deep or a circle", r.ID)
		}
		var next uuid.UUID
		var point memory.Revision
		l := memory.Layer{Collection: parent, Bound: bound}
		ok, err := q.get(ctx, `SELECT c.parent, c.parent_revision, h.erase_epoch, c.lineage FROM collections c
 JOIN collection_heads h ON h.tenant = c.tenant AND h.collection = c.id WHERE c.tenant = ? AND c.id = ?`,
			[]any{r.Tenant, parent}, &next, &point, &l.EraseEpoch, store.JSON(&l.Flattened))
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

// OpenView implements memory.Reader. A session remembers the views that it has opened until anything is
// committed, by this process or another one.
func (s *Store) OpenView(ctx context.Context, sc tenant.Scope, ref string, at memory.At) (v memory.View, err error) {
	if err := sc.Check(); err != nil {
		return v, err
	}
	now := s.now()
	key := viewRef{tenant: sc.Tenant(), reader: sc.Reader(), ref: ref, head: at.AsOf == nil}
	if at.AsOf != nil {
		key.asOf = *at.AsOf
	}
	err = s.reading(ctx, sc.Tenant(), func(ctx context.Context, q *session) error {
		known, err := q.knownViews(ctx)
		if err != nil {
			return err
		}
		var ok bool
		if v, ok = known[key]; !ok || !v.Collection.ExpiresAt.IsZero() && !v.Collection.ExpiresAt.After(now) {
			err = q.inSnapshot(ctx, func(ctx context.Context) error {
				v, err = q.openView(ctx, sc, ref, at, now)
				return err
			})
			if err != nil {
				return err
			}
			if len(known) >= maxViews {
				clear(known)
			}
			known[key] = v
		}
		v.Layers = slices.Clone(v.Layers) // the caller may change them
		v.Collection.Metadata = maps.Clone(v.Collection.Metadata)
		return nil
	})
	return v, err
}

// LayerStates implements memory.Reader.
func (s *Store) LayerStates(ctx context.Context, sc tenant.Scope, collections []uuid.UUID) (map[uuid.UUID]memory.LayerState, error) {
	if err := sc.Check(); err != nil {
		return nil, err
	}
	reached, args := reachedBy(sc)
	out := map[uuid.UUID]memory.LayerState{}
	err := s.reading(ctx, sc.Tenant(), func(ctx context.Context, q *session) error {
		return q.each(ctx, `SELECT c.id, h.erase_epoch, c.embedder, c.reembedded FROM json_each(?) l CROSS JOIN collections c ON c.tenant = ? AND c.id = unhex(l.value)
 CROSS JOIN collection_heads h ON h.tenant = c.tenant AND h.collection = c.id WHERE c.state <> 'deleting'`+reached, append([]any{ids(collections), sc.Tenant()}, args...), func(rows *sql.Rows) error { return store.ScanLayerState(rows, out) })
	})
	return out, err
}

// maxViews bounds the views that a session remembers.
const maxViews = 1024

// viewRef identifies a view by how it was asked for.
type viewRef struct {
	tenant, reader uuid.UUID
	ref            string
	head           bool
	asOf           memory.Revision // unless head
}

// knownViews returns the views that the session has opened since the last commit. SQLite changes
// data_version when another connection has committed, and a session for reading commits nothing itself.
func (q *session) knownViews(ctx context.Context) (map[viewRef]memory.View, error) {
	var version int64
	// A context that can end costs a goroutine for each statement, several times what this one takes.
	if _, err := q.get(context.WithoutCancel(ctx), "PRAGMA data_version", nil, &version); err != nil {
		return nil, err
	}
	if q.views == nil || q.viewsAt != version {
		q.views, q.viewsAt = map[viewRef]memory.View{}, version
	}
	return q.views, nil
}

func (q *session) openView(ctx context.Context, sc tenant.Scope, ref string, at memory.At, now time.Time) (v memory.View, err error) {
	found, err := q.CollectionsByRef(ctx, sc, ref, now)
	if err != nil {
		return v, err
	}
	r, err := store.PickCollection(sc, ref, found)
	if err != nil {
		return v, err
	}
	to := r.Head
	if at.AsOf != nil {
		to = *at.AsOf
		if err := store.CheckRevision("as_of", &r.Collection, to); err != nil {
			return v, err
		}
	}
	layers, err := q.Layers(ctx, r, to)
	if err != nil {
		return v, err
	}
	return memory.NewView(sc, r.Collection, to, layers), nil
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
