package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
)

// Head implements store.CollectionHeads.
func (q *session) Head(ctx context.Context, tenantID, collection uuid.UUID) (store.Head, error) {
	var h store.Head
	var kinds string
	ok, err := q.get(ctx, `SELECT head, counted, v_notes, v_links, v_pending, v_in_review, v_bytes, v_kinds, s_notes, s_links, s_hidden, s_bytes, next_expiry, written_at,
 EXISTS (SELECT 1 FROM webhooks WHERE tenant = ?1 AND collection IN (zeroblob(16), ?2)) FROM collection_heads WHERE tenant = ?1 AND collection = ?2`, []any{tenantID, collection},
		&h.Revision, &h.Counted, &h.Notes, &h.Links, &h.Pending, &h.InReview, &h.Bytes, &kinds, &h.Stored.Notes, &h.Stored.Links, &h.Stored.Hidden, &h.Stored.Bytes, store.Time(&h.NextExpiry), store.Time(&h.Written), &h.Told)
	if err != nil {
		return h, err
	}
	if !ok {
		return h, fault.Missing("collection")
	}
	return h, json.Unmarshal([]byte(kinds), &h.Kinds)
}

// saveHead sets no column that has an index: SQLite writes that, also where the value is the same. Those columns hardly ever change, and
// have a statement of their own, which then finds no row.
const saveHead = `UPDATE collection_heads SET head = ?, counted = ?, v_notes = ?, v_links = ?, v_pending = ?, v_in_review = ?, v_bytes = ?, v_kinds = ?,
 s_notes = ?, s_links = ?, s_hidden = ?, s_bytes = ? WHERE tenant = ? AND collection = ?`

// SaveHead implements store.CollectionHeads.
func (q *session) SaveHead(ctx context.Context, tenantID, collection uuid.UUID, h store.Head) error {
	kinds, err := store.Document("kinds", h.Kinds)
	if err != nil {
		return err
	}
	_, err = q.exec(ctx, saveHead, h.Revision, h.Counted, h.Notes, h.Links, h.Pending, h.InReview, h.Bytes, kinds,
		h.Stored.Notes, h.Stored.Links, h.Stored.Hidden, h.Stored.Bytes, tenantID, collection)
	if err != nil {
		return err
	}
	_, err = q.exec(ctx, `UPDATE collection_heads SET next_expiry = ?3, written_at = ?4
 WHERE tenant = ?1 AND collection = ?2 AND (next_expiry <> ?3 OR written_at <> ?4)`, tenantID, collection, h.NextExpiry, h.Written)
	return err
}

// CountVisible implements store.CollectionHeads.
func (q *session) CountVisible(ctx context.Context, tenantID uuid.UUID, layers []memory.Layer) (c memory.Counts, err error) {
	for i, l := range layers {
		own := []any{tenantID, l.Collection, l.Bound, l.Bound}
		hidden, args := hiddenNotes(tenantID, layers[:i])
		err := q.each(ctx, `SELECT n.kind, n.state = 'pending' OR n.embedder = '', n.state = 'in_review', COUNT(*), SUM(n.bytes) FROM notes n
 WHERE n.tenant = ? AND n.layer = ? AND n.from_rev <= ? AND n.to_rev > ? AND n.deleted = 0`+hidden+" GROUP BY 1, 2, 3", append(own, args...), func(rows *sql.Rows) error {
			var t store.Tally
			err := rows.Scan(&t.Kind, &t.Waits, &t.InReview, &t.Notes, &t.Bytes)
			t.AddTo(&c)
			return err
		})
		if err != nil {
			return c, err
		}
		where, args := visibleLinks(tenantID, layers, i, bothEnds)
		var n int64
		if _, err := q.get(ctx, "SELECT COUNT(*) FROM links l WHERE "+where, args, &n); err != nil {
			return c, err
		}
		c.Links += n
	}
	return c, nil
}

// CountStored implements store.CollectionHeads.
func (q *session) CountStored(ctx context.Context, tenantID, layer uuid.UUID) (c store.Stored, err error) {
	args := []any{tenantID, layer}
	if _, err := q.get(ctx, "SELECT COALESCE(SUM(to_rev = 9223372036854775807 AND deleted = 0), 0), COALESCE(SUM(bytes), 0) FROM notes WHERE tenant = ? AND layer = ?", args, &c.Notes, &c.Bytes); err != nil {
		return c, err
	}
	_, err = q.get(ctx, `SELECT COUNT(*), COALESCE(SUM(EXISTS (SELECT 1 FROM notes n WHERE n.tenant = l.tenant AND n.layer = l.layer AND n.id IN (l.source, l.target)
 AND n.to_rev = l.to_rev AND n.deleted = 1)), 0) FROM links l WHERE l.tenant = ? AND l.layer = ? AND l.to_rev = 9223372036854775807 AND l.deleted = 0`, args, &c.Links, &c.Hidden)
	return c, err
}

// HasUnfinished implements store.CollectionHeads.
func (q *session) HasUnfinished(ctx context.Context, tenantID uuid.UUID, layers []memory.Layer) (bool, error) {
	for i, l := range layers {
		hidden, args := hiddenNotes(tenantID, layers[:i])
		var one int
		ok, err := q.get(ctx, `SELECT 1 FROM notes n WHERE n.tenant = ? AND n.layer = ? AND n.to_rev > ? AND n.from_rev <= ?
 AND n.state IN ('raw', 'pending') AND n.deleted = 0`+hidden+" LIMIT 1", append([]any{tenantID, l.Collection, l.Bound, l.Bound}, args...), &one)
		if err != nil || ok {
			return ok, err
		}
	}
	return false, nil
}
