package postgres

import (
	"context"
	"strings"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
)

// Flatten implements store.CollectionRemoval.
func (q *session) Flatten(ctx context.Context, r store.CollectionRow, layers []memory.Layer, keep int) error {
	for i := 1; i < keep; i++ {
		q.flattenLayer(r, layers, i)
	}
	to, err := store.FlattenTo(ctx, q, r, layers, keep)
	if err != nil {
		return err
	}
	q.later(`UPDATE collections SET fork_revision = CASE WHEN fork_of = `+zeroID+` THEN parent_revision ELSE fork_revision END,
 fork_of = CASE WHEN fork_of = `+zeroID+` THEN parent ELSE fork_of END, parent = $3, parent_revision = $4, lineage = $5 WHERE tenant = $1 AND id = $2`,
		r.Tenant, r.ID, to.Reads.Collection, rev(to.Reads.Bound), to.Lineage)
	q.later("UPDATE collection_heads SET origin = $3 WHERE tenant = $1 AND collection = $2", r.Tenant, r.ID, rev(to.Origin))
	h, err := q.head(ctx, r.Tenant, r.ID)
	if err != nil {
		return err
	}
	if h.Stored, err = q.CountStored(ctx, r.Tenant, r.ID); err != nil {
		return err
	}
	return q.saveHead(ctx, r.Tenant, r.ID, h)
}

// flattenLayer copies layer i. The nearer layers have been copied.
func (q *session) flattenLayer(r store.CollectionRow, layers []memory.Layer, i int) {
	l := layers[i]
	base := params{args: []any{r.Tenant, r.ID, l.Collection, rev(l.Bound)}}
	// Where a nearer layer has its first version, this layer is no longer read. What is already
	// copied into the own layer has lower revisions, and is left out by the fork's first own
	// revision.
	for _, copied := range [][2]string{{"notes", "s.id = x.id"}, {"links", "s.source = x.source AND s.relation = x.relation AND s.target = x.target"}} {
		table, same := copied[0], copied[1]
		p := base
		ends := []string{"CASE WHEN x.to_rev <= $4 THEN x.to_rev ELSE " + openEnd + " END"}
		for _, near := range layers[:i] { // LEAST ignores NULL
			ends = append(ends, "(SELECT MIN(s.from_rev) FROM "+table+" s WHERE s.tenant = $1 AND s.layer = "+p.add(near.Collection)+" AND "+same+
				" AND s.from_rev <= "+p.add(rev(near.Bound))+" AND s.from_rev > $4)")
		}
		columns, values := store.Copied(table, "x", "LEAST("+strings.Join(ends, ", ")+")")
		q.later("INSERT INTO "+table+" (tenant, layer, "+columns+") SELECT $1, $2, "+values+
			" FROM "+table+" x WHERE x.tenant = $1 AND x.layer = $3 AND x.from_rev <= $4", p.args...)
	}
	q.later(`INSERT INTO vectors (tenant, layer, note, from_rev, embedder, vec, tokens)
 SELECT $1, $2, note, from_rev, embedder, vec, tokens FROM vectors WHERE tenant = $1 AND layer = $3 AND from_rev <= $4`, base.args...)
	q.later(`INSERT INTO changesets (tenant, collection, revision, at, actor, job, trigger, cause, undoes, merged_from)
 SELECT $1, $2, revision, at, actor, job, trigger, cause, undoes, merged_from FROM changesets WHERE tenant = $1 AND collection = $3 AND revision <= $4`, base.args...)
	// The use that nearer layers counted is in the own layer already and is kept.
	q.later(`INSERT INTO usage (tenant, layer, note, access_count, last_access, strength, heat)
 SELECT $1, $2, note, access_count, last_access, strength, heat FROM usage WHERE tenant = $1 AND layer = $3 ON CONFLICT DO NOTHING`, r.Tenant, r.ID, l.Collection)
}
