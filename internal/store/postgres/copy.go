package postgres

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// CopyRows implements memory.CollectionStore. The cursor is the id of the last note copied; rows
// are copied from table to table in the server. Each step is one transaction of INSERT … ON
// CONFLICT DO NOTHING; repeating it is a no-op.
func (s *Store) CopyRows(ctx context.Context, sc tenant.Scope, v memory.View, target uuid.UUID, cursor string, n int) (copied int, next string, err error) {
	if err := v.Check(sc); err != nil {
		return 0, "", err
	}
	after := uuid.Nil
	if cursor != "" {
		if after, err = uuid.Parse(cursor); err != nil {
			return 0, "", fault.InvalidField("cursor", "is not one of this copy")
		}
	}
	if n <= 0 {
		n = 1000
	}
	err = s.writing(ctx, sc.Tenant(), func(ctx context.Context, q *session) error {
		copied, next = 0, ""
		now := s.now()
		if err := q.holdSource(ctx, sc, v, now); err != nil {
			return err
		}
		q.LockHead(sc.Tenant(), target)
		r, err := store.ReachVisible(ctx, q, sc, target, now)
		if err != nil {
			return err
		}
		page, err := q.sourcePage(ctx, sc.Tenant(), v.Layers, after, n)
		if err != nil {
			return err
		}
		if copied = len(page.notes); copied == n {
			next = page.notes[n-1].String()
		}
		if r.State != memory.CollectionCopying {
			return store.ErrRollback // the copy was finished, and this step with it
		}
		return q.copyStep(ctx, &r, v, page, next == "", now)
	})
	if err != nil {
		return 0, "", err
	}
	return copied, next, nil
}

// holdSource keeps the layers of the view from being deleted while a step reads them. Conflict when
// the source was made independent of a collection that is gone: a new view of it shows the same.
func (q *session) holdSource(ctx context.Context, sc tenant.Scope, v memory.View, now time.Time) error {
	layers := layerIDs(v.Layers)
	q.HoldCollections(sc.Tenant(), layers...)
	// The source may have been deleted since the view was opened.
	if _, err := store.ReachVisible(ctx, q, sc, v.Collection.ID, now); err != nil {
		return err
	}
	var there int
	_, err := q.get(ctx, "SELECT COUNT(*) FROM unnest($2::uuid[]) k (id) WHERE (SELECT "+notDeleting+" FROM collections WHERE tenant = $1 AND id = k.id LIMIT 1)", []any{sc.Tenant(), layers}, &there)
	if err == nil && there < len(layers) {
		err = store.ErrLineage
	}
	return err
}

// versionKeys are the keys of versions of notes, in the order of the notes.
type versionKeys struct {
	layers, notes ids
	from          []int64
}

// sourcePage returns the next notes that the layers show, by id.
func (q *session) sourcePage(ctx context.Context, tenantID uuid.UUID, layers []memory.Layer, after uuid.UUID, n int) (k versionKeys, err error) {
	p := params{args: []any{tenantID, after, n}}
	branches := make([]string, len(layers))
	for i, l := range layers {
		branches[i] = "(SELECT n.layer, n.id, n.from_rev FROM notes n WHERE n.tenant = $1 AND n.id > $2 AND " + p.live("n", l) +
			" AND NOT n.deleted" + p.hiddenNotes(layers[:i]) + " ORDER BY n.id LIMIT $3)"
	}
	err = q.each(ctx, "SELECT * FROM ("+strings.Join(branches, " UNION ALL ")+") k ORDER BY k.id LIMIT $3", p.args, func(rows pgx.Rows) error {
		var layer, id uuid.UUID
		var from int64
		err := rows.Scan(&layer, &id, &from)
		k.layers, k.notes, k.from = append(k.layers, layer), append(k.notes, id), append(k.from, from)
		return err
	})
	return k, err
}

// copyStep copies a page into r. The last one finishes the copy.
func (q *session) copyStep(ctx context.Context, r *store.CollectionRow, v memory.View, page versionKeys, last bool, now time.Time) error {
	tenantID, target := r.Tenant, r.ID
	h, err := q.head(ctx, tenantID, target)
	if err != nil {
		return err
	}
	if h.Revision < v.At {
		h.Revision = v.At
		q.later("UPDATE collection_heads SET floor = $3, origin = $3 WHERE tenant = $1 AND collection = $2", tenantID, target, rev(v.At))
	}
	if len(page.notes) > 0 {
		added, err := q.copyPage(ctx, tenantID, v, target, page)
		if err != nil {
			return err
		}
		h.Stored.Notes += added.Notes
		h.Stored.Links += added.Links
		h.Stored.Bytes += added.Bytes
	}
	if h.Counted = last; last {
		q.later("UPDATE collections SET state = $3 WHERE tenant = $1 AND id = $2", tenantID, target, string(memory.CollectionActive))
		if err := store.FinishCopy(ctx, q, r, &h.Head, now); err != nil {
			return err
		}
	}
	return q.saveHead(ctx, tenantID, target, h)
}

const openEnd = "9223372036854775807"

// copyPage copies the versions with their vectors, outgoing links and use, and returns how much was
// not copied before. The versions are open in the target: what ended them in the source lies beyond
// the view.
func (q *session) copyPage(ctx context.Context, tenantID uuid.UUID, v memory.View, target uuid.UUID, page versionKeys) (added store.Stored, err error) {
	const keys = " FROM unnest($3::uuid[], $4::uuid[], $5::bigint[]) k (layer, note, from_rev)"
	args := []any{tenantID, target, page.layers, page.notes, page.from}
	q.later("INSERT INTO vectors (tenant, layer, note, from_rev, embedder, vec, tokens) SELECT $1, $2, x.note, x.from_rev, x.embedder, x.vec, x.tokens"+keys+
		" CROSS JOIN LATERAL (SELECT * FROM vectors x WHERE x.tenant = $1 AND x.layer = k.layer AND x.note = k.note AND x.from_rev = k.from_rev OFFSET 0) x ON CONFLICT DO NOTHING", args...)
	q.copyUsage(tenantID, target, page.notes, v.Layers)
	columns, values := store.Copied("notes", "n", openEnd)
	_, err = q.get(ctx, "WITH copied AS (INSERT INTO notes (tenant, layer, "+columns+") SELECT $1, $2, "+values+keys+versionOf+" ON CONFLICT DO NOTHING RETURNING bytes)"+
		" SELECT COUNT(*), COALESCE(SUM(bytes), 0)::bigint FROM copied", args, &added.Notes, &added.Bytes)
	if err != nil {
		return added, err
	}
	columns, values = store.Copied("links", "l", openEnd)
	for i := range v.Layers {
		p := params{args: []any{tenantID, target, page.notes}}
		n, err := q.exec(ctx, "INSERT INTO links (tenant, layer, "+columns+") SELECT $1, $2, "+values+
			" FROM unnest($3::uuid[]) k (id) CROSS JOIN LATERAL (SELECT * FROM links l WHERE l.source = k.id AND "+p.visibleLinks(v.Layers, i, bothEnds)+" OFFSET 0) l ON CONFLICT DO NOTHING", p.args...)
		if err != nil {
			return added, err
		}
		added.Links += n
	}
	return added, nil
}
