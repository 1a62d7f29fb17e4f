package postgres

import (
	"context"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// lineageOf returns a lateral table u of one row: the layers of the collection c read at a
// revision, nearest first. The collection is bounded by that revision, every ancestor by the least
// of it and of the fork points on the way. One layer more than allowed is read, so that a lineage
// that is too deep is noticed.
func lineageOf(at string) string {
	return ` CROSS JOIN LATERAL (
 WITH RECURSIVE up (depth, id, bound, lineage, parent, below) AS (
  SELECT 1, c.id, ` + at + `, c.lineage, c.parent, LEAST(` + at + `, c.parent_revision)
  UNION ALL
  SELECT up.depth + 1, p.id, up.below, p.lineage, p.parent, LEAST(up.below, p.parent_revision)
  FROM up CROSS JOIN LATERAL (SELECT * FROM collections p WHERE p.tenant = c.tenant AND p.id = up.parent LIMIT 1) p WHERE up.depth <= ` + strconv.Itoa(memory.DeepestLineage+1) + `)
 SELECT array_agg(up.id ORDER BY up.depth) AS layers, array_agg(up.bound ORDER BY up.depth) AS bounds,
  array_agg(e.erase_epoch ORDER BY up.depth) AS epochs, array_agg(up.lineage ORDER BY up.depth) AS flattened, (array_agg(up.parent ORDER BY up.depth DESC))[1] AS last
 FROM up CROSS JOIN LATERAL (SELECT e.erase_epoch FROM collection_heads e WHERE e.tenant = c.tenant AND e.collection = up.id LIMIT 1) e) u `
}

const lineageColumns = "u.layers, u.bounds, u.epochs, u.flattened, u.last"

// lineage holds lineageColumns.
type lineage struct {
	layers         ids
	bounds, epochs []int64
	flattened      []string
	last           uuid.UUID // parent of the farthest layer; zero: none
}

func (l *lineage) dest() []any { return []any{&l.layers, &l.bounds, &l.epochs, &l.flattened, &l.last} }

func (l *lineage) resolve() ([]memory.Layer, error) {
	if len(l.layers) > memory.DeepestLineage+1 {
		return nil, fault.New(fault.Internal, "the lineage of collection %s is too deep or a circle", l.layers[0])
	}
	if l.last != uuid.Nil {
		return nil, fault.New(fault.Internal, "collection %s has lost its parent %s", l.layers[len(l.layers)-1], l.last)
	}
	out := make([]memory.Layer, len(l.layers))
	for i, id := range l.layers {
		out[i] = memory.Layer{Collection: id, Bound: memory.Revision(l.bounds[i]), EraseEpoch: l.epochs[i]}
		if err := store.JSON(&out[i].Flattened).Scan(l.flattened[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Layers implements store.CollectionRows.
func (q *session) Layers(ctx context.Context, r store.CollectionRow, at memory.Revision) ([]memory.Layer, error) {
	if r.Reads.Collection == uuid.Nil {
		return []memory.Layer{{Collection: r.ID, Bound: at, EraseEpoch: r.EraseEpoch, Flattened: r.Flattened}}, nil
	}
	var l lineage
	ok, err := q.get(ctx, "SELECT "+lineageColumns+" FROM collections c"+lineageOf("$3::bigint")+"WHERE c.tenant = $1 AND c.id = $2",
		[]any{r.Tenant, r.ID, rev(at)}, l.dest()...)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fault.Missing("collection")
	}
	return l.resolve()
}

// collectionWithLineage is a collection with its lineage.
type collectionWithLineage struct {
	store.CollectionRow
	lineage
}

// OpenView implements memory.Reader. One statement reads the collection and its lineage, from one
// snapshot.
func (s *Store) OpenView(ctx context.Context, sc tenant.Scope, ref string, as memory.At) (v memory.View, err error) {
	if err := sc.Check(); err != nil {
		return v, err
	}
	if !storable(ref) {
		return v, fault.Missing("collection") // no collection has such a name
	}
	p := params{args: []any{sc.Tenant()}}
	where := byRef(&p, sc, ref, s.now())
	to := "h.head"
	if as.AsOf != nil {
		to = p.add(rev(*as.AsOf)) + "::bigint"
	}
	var found []collectionWithLineage
	err = s.reading(ctx, sc.Tenant(), func(ctx context.Context, q *session) error {
		found = nil
		return q.each(ctx, "SELECT "+collectionColumns+", "+lineageColumns+collectionTables+lineageOf(to)+where, p.args, func(rows pgx.Rows) error {
			var t collectionWithLineage
			err := rows.Scan(append(t.Dest(), t.dest()...)...)
			found = append(found, t)
			return err
		})
	})
	if err != nil {
		return v, err
	}
	t, err := store.PickCollection(sc, ref, found)
	if err != nil {
		return v, err
	}
	at := t.Head
	if as.AsOf != nil {
		at = *as.AsOf
		if err := store.CheckRevision("as_of", &t.Collection, at); err != nil {
			return v, err
		}
	}
	layers, err := t.resolve()
	if err != nil {
		return v, err
	}
	return memory.NewView(sc, t.Collection, at, layers), nil
}

// LayerStates implements memory.Reader.
func (s *Store) LayerStates(ctx context.Context, sc tenant.Scope, collections []uuid.UUID) (out map[uuid.UUID]memory.LayerState, err error) {
	if err := sc.Check(); err != nil {
		return nil, err
	}
	p := params{args: []any{sc.Tenant(), collections}}
	text := `SELECT c.id, h.erase_epoch, c.embedder, c.reembedded FROM unnest($2::uuid[]) l (id)
 CROSS JOIN LATERAL (SELECT * FROM collections c WHERE c.tenant = $1 AND c.id = l.id LIMIT 1) c
 CROSS JOIN LATERAL (SELECT * FROM collection_heads h WHERE h.tenant = $1 AND h.collection = c.id LIMIT 1) h WHERE c.` + notDeleting + reachedBy(&p, sc)
	err = s.reading(ctx, sc.Tenant(), func(ctx context.Context, q *session) error {
		out = map[uuid.UUID]memory.LayerState{}
		return q.each(ctx, text, p.args, func(rows pgx.Rows) error { return store.ScanLayerState(rows, out) })
	})
	return out, err
}

// The conditions below expect the tenant as parameter $1. What they look up has a limit of one row, which keeps the planner
// from joining whole layers: it finds each row by its key, also of a tenant that it does not know.

// live returns the condition that a row of a layer is live at the layer's bound.
func (p *params) live(alias string, l memory.Layer) string {
	b := p.add(rev(l.Bound))
	return alias + ".layer = " + p.add(l.Collection) + " AND " + alias + ".from_rev <= " + b + " AND " + alias + ".to_rev > " + b
}

// hiddenNotes returns the condition that no nearer layer holds any version of the note n.
func (p *params) hiddenNotes(nearer []memory.Layer) string {
	var b strings.Builder
	for _, l := range nearer {
		b.WriteString(" AND (SELECT 1 FROM notes s WHERE s.tenant = $1 AND s.layer = " + p.add(l.Collection) +
			" AND s.id = n.id AND s.from_rev <= " + p.add(rev(l.Bound)) + " LIMIT 1) IS NULL")
	}
	return b.String()
}

// hiddenLinks returns the same condition for links, by their identity.
func (p *params) hiddenLinks(nearer []memory.Layer) string {
	var b strings.Builder
	for _, l := range nearer {
		b.WriteString(" AND (SELECT 1 FROM links s WHERE s.tenant = $1 AND s.layer = " + p.add(l.Collection) +
			" AND s.source = l.source AND s.relation = l.relation AND s.target = l.target AND s.from_rev <= " + p.add(rev(l.Bound)) + " LIMIT 1) IS NULL")
	}
	return b.String()
}

// noteVisible returns the condition that a note is visible through the layers: the nearest layer
// that holds it at all decides.
func (p *params) noteVisible(id string, layers []memory.Layer) string {
	var b strings.Builder
	b.WriteString("COALESCE(")
	for _, l := range layers {
		b.WriteString("(SELECT NOT e.deleted FROM notes e WHERE e.tenant = $1 AND e.layer = " + p.add(l.Collection) + " AND e.id = " + id +
			" AND e.from_rev <= " + p.add(rev(l.Bound)) + " ORDER BY e.from_rev DESC LIMIT 1), ")
	}
	b.WriteString("false)")
	return b.String()
}

// bothEnds are the ends of a link.
var bothEnds = []string{"l.source", "l.target"}

// visibleLinks returns the condition for the links l of layer i that are visible through the
// layers, as are some of their ends.
func (p *params) visibleLinks(layers []memory.Layer, i int, ends []string) string {
	all := []string{"l.tenant = $1", p.live("l", layers[i]), "NOT l.deleted" + p.hiddenLinks(layers[:i])}
	for _, end := range ends {
		all = append(all, p.noteVisible(end, layers))
	}
	return strings.Join(all, " AND ")
}
