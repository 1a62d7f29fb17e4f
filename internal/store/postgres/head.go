package postgres

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// head is the narrow row that every write changes.
type head struct {
	revision memory.Revision
	counted  bool
	memory.Counts
	stored stored
	jobs   int64 // the place of the last one in the queue
}

// stored counts the rows of the own layer: open notes and links, and the bytes
// of every version kept.
type stored struct{ notes, links, bytes int64 }

const headColumns = `h.head, h.counted, h.v_notes, h.v_links, h.v_pending, h.v_in_review, h.v_bytes, h.v_kinds, h.s_notes, h.s_links, h.s_bytes, h.job_seq`

// dest gives the targets of headColumns; finish is to be called after the
// scan.
func (h *head) dest() (dest []any, finish func() error) {
	var kinds string
	dest = []any{
		&h.revision, &h.counted, &h.Notes, &h.Links, &h.Pending, &h.InReview, &h.Bytes, &kinds,
		&h.stored.notes, &h.stored.links, &h.stored.bytes, &h.jobs,
	}
	return dest, func() error { return json.Unmarshal([]byte(kinds), &h.Kinds) }
}

func (q *session) head(ctx context.Context, tenantID, collection uuid.UUID) (head, error) {
	var h head
	dest, finish := h.dest()
	ok, err := q.get(ctx, "SELECT "+headColumns+" FROM collection_heads h WHERE h.tenant = $1 AND h.collection = $2", []any{tenantID, collection}, dest...)
	if err != nil {
		return h, err
	}
	if !ok {
		return h, fault.Missing("collection")
	}
	return h, finish()
}

// saveHead goes with the next statement. Places in the queue that were allotted
// meanwhile stay so.
func (q *session) saveHead(_ context.Context, tenantID, collection uuid.UUID, h head) error {
	kinds, err := document("kinds", h.Kinds)
	if err != nil {
		return err
	}
	q.later(`UPDATE collection_heads SET head = $3, counted = $4, v_notes = $5, v_links = $6, v_pending = $7, v_in_review = $8, v_bytes = $9, v_kinds = $10,
 s_notes = $11, s_links = $12, s_bytes = $13, job_seq = GREATEST(job_seq, $14) WHERE tenant = $1 AND collection = $2`,
		tenantID, collection, rev(h.revision), h.counted, h.Notes, h.Links, h.Pending, h.InReview, h.Bytes, kinds,
		h.stored.notes, h.stored.links, h.stored.bytes, h.jobs)
	return nil
}

// count counts what the layers show. A note waits when its state says so or
// when it has no vector yet.
func (q *session) count(ctx context.Context, tenantID uuid.UUID, layers []memory.Layer) (c memory.Counts, err error) {
	p := params{args: []any{tenantID}}
	branches := make([]string, len(layers))
	for i, l := range layers {
		branches[i] = `SELECT n.kind, n.state = 'pending' OR n.embedder = '', n.state = 'in_review', COUNT(*), SUM(n.bytes)::bigint FROM notes n
 WHERE n.tenant = $1 AND ` + p.live("n", l) + " AND NOT n.deleted" + p.hiddenNotes(layers[:i]) + " GROUP BY 1, 2, 3"
	}
	err = q.each(ctx, strings.Join(branches, " UNION ALL "), p.args, func(rows pgx.Rows) error {
		var t store.Tally
		err := rows.Scan(&t.Kind, &t.Waits, &t.InReview, &t.Notes, &t.Bytes)
		t.AddTo(&c)
		return err
	})
	if err != nil {
		return c, err
	}
	p = params{args: []any{tenantID}}
	for i := range layers {
		branches[i] = "(SELECT COUNT(*) FROM links l WHERE " + p.visibleLinks(layers, i) + ")"
	}
	_, err = q.get(ctx, "SELECT "+strings.Join(branches, " + "), p.args, &c.Links)
	return c, err
}

// countStored counts the rows of a layer.
func (q *session) countStored(ctx context.Context, tenantID, layer uuid.UUID) (c stored, err error) {
	_, err = q.get(ctx, `SELECT n.rows, n.bytes, l.rows FROM
 (SELECT COUNT(*) FILTER (WHERE to_rev = 9223372036854775807 AND NOT deleted) AS rows, COALESCE(SUM(bytes), 0)::bigint AS bytes FROM notes WHERE tenant = $1 AND layer = $2) n,
 (SELECT COUNT(*) FILTER (WHERE to_rev = 9223372036854775807 AND NOT deleted) AS rows FROM links WHERE tenant = $1 AND layer = $2) l`,
		[]any{tenantID, layer}, &c.notes, &c.bytes, &c.links)
	return c, err
}

// Counts implements memory.Reader. At the head they are kept; at another
// revision, or in a fork of the past, they are counted now.
func (s *Store) Counts(ctx context.Context, sc tenant.Scope, v memory.View) (c memory.Counts, err error) {
	if err := v.Check(sc); err != nil {
		return c, err
	}
	err = s.reading(ctx, sc.Tenant(), func(ctx context.Context, q *session) error {
		h, err := q.head(ctx, sc.Tenant(), v.Collection.ID)
		if err != nil {
			return err
		}
		if h.counted && h.revision == v.At {
			c = h.Counts
		} else if c, err = q.count(ctx, sc.Tenant(), v.Layers); err != nil {
			return err
		}
		if c.Kinds == nil {
			c.Kinds = map[memory.Kind]int64{}
		}
		return nil
	})
	return c, err
}
