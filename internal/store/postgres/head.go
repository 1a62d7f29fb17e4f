package postgres

import (
	"context"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
)

// head is the head of a collection with the place of the last job in its queue.
type head struct {
	store.Head
	lastJob int64
}

const headColumns = `h.head, h.Counted, h.v_notes, h.v_links, h.v_pending, h.v_in_review, h.v_bytes, h.v_kinds, h.s_notes, h.s_links, h.s_hidden, h.s_bytes, h.next_expiry, h.written_at, h.job_seq,
 (SELECT true FROM webhooks t WHERE t.tenant = h.tenant AND t.collection IN (` + zeroID + `, h.collection) LIMIT 1) IS NOT NULL`

// dest returns the destinations of headColumns.
func (h *head) dest() []any {
	return []any{
		&h.Revision, &h.Counted, &h.Notes, &h.Links, &h.Pending, &h.InReview, &h.Bytes, store.JSON(&h.Kinds),
		&h.Stored.Notes, &h.Stored.Links, &h.Stored.Hidden, &h.Stored.Bytes, store.Time(&h.NextExpiry), store.Time(&h.Written), &h.lastJob, &h.Told,
	}
}

func (q *session) head(ctx context.Context, tenantID, collection uuid.UUID) (h head, err error) {
	ok, err := q.get(ctx, "SELECT "+headColumns+" FROM collection_heads h WHERE h.tenant = $1 AND h.collection = $2", []any{tenantID, collection}, h.dest()...)
	if err == nil && !ok {
		err = fault.Missing("collection")
	}
	return h, err
}

// Head implements store.CollectionHeads.
func (q *session) Head(ctx context.Context, tenantID, collection uuid.UUID) (store.Head, error) {
	h, err := q.head(ctx, tenantID, collection)
	return h.Head, err
}

// SaveHead implements store.CollectionHeads.
func (q *session) SaveHead(ctx context.Context, tenantID, collection uuid.UUID, h store.Head) error {
	return q.saveHead(ctx, tenantID, collection, head{Head: h})
}

// saveHead goes with the next statement. Places in the queue that were allotted meanwhile are kept.
func (q *session) saveHead(_ context.Context, tenantID, collection uuid.UUID, h head) error {
	kinds, err := store.Document("kinds", h.Kinds)
	if err != nil {
		return err
	}
	q.later(`UPDATE collection_heads SET head = $3, counted = $4, v_notes = $5, v_links = $6, v_pending = $7, v_in_review = $8, v_bytes = $9, v_kinds = $10,
 s_notes = $11, s_links = $12, s_hidden = $13, s_bytes = $14, job_seq = GREATEST(job_seq, $15), next_expiry = $16, written_at = $17 WHERE tenant = $1 AND collection = $2`,
		tenantID, collection, rev(h.Revision), h.Counted, h.Notes, h.Links, h.Pending, h.InReview, h.Bytes, kinds,
		h.Stored.Notes, h.Stored.Links, h.Stored.Hidden, h.Stored.Bytes, h.lastJob, nullTime(h.NextExpiry), h.Written)
	return nil
}

// CountVisible implements store.CollectionHeads.
func (q *session) CountVisible(ctx context.Context, tenantID uuid.UUID, layers []memory.Layer) (c memory.Counts, err error) {
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
		branches[i] = "(SELECT COUNT(*) FROM links l WHERE " + p.visibleLinks(layers, i, bothEnds) + ")"
	}
	_, err = q.get(ctx, "SELECT "+strings.Join(branches, " + "), p.args, &c.Links)
	return c, err
}

// CountStored implements store.CollectionHeads.
func (q *session) CountStored(ctx context.Context, tenantID, layer uuid.UUID) (c store.Stored, err error) {
	_, err = q.get(ctx, `SELECT n.rows, n.bytes, l.rows, l.hidden FROM
 (SELECT COUNT(*) FILTER (WHERE to_rev = 9223372036854775807 AND NOT deleted) AS rows, COALESCE(SUM(bytes), 0)::bigint AS bytes FROM notes WHERE tenant = $1 AND layer = $2) n,
 (SELECT COUNT(*) AS rows, COUNT(*) FILTER (WHERE EXISTS (SELECT FROM notes n WHERE n.tenant = l.tenant AND n.layer = l.layer AND n.id IN (l.source, l.target)
  AND n.to_rev = l.to_rev AND n.deleted)) AS hidden FROM links l WHERE l.tenant = $1 AND l.layer = $2 AND l.to_rev = 9223372036854775807 AND NOT l.deleted) l`,
		[]any{tenantID, layer}, &c.Notes, &c.Bytes, &c.Links, &c.Hidden)
	return c, err
}

// HasUnfinished implements store.CollectionHeads.
func (q *session) HasUnfinished(ctx context.Context, tenantID uuid.UUID, layers []memory.Layer) (found bool, err error) {
	p := params{args: []any{tenantID}}
	looks := make([]string, len(layers))
	for i, l := range layers {
		looks[i] = "EXISTS (SELECT 1 FROM notes n WHERE n.tenant = $1 AND " + p.live("n", l) +
			" AND n.state IN ('raw', 'pending') AND NOT n.deleted" + p.hiddenNotes(layers[:i]) + ")"
	}
	_, err = q.get(ctx, "SELECT "+strings.Join(looks, " OR "), p.args, &found)
	return found, err
}
