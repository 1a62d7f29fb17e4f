package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"

	"github.com/google/uuid"

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
}

// stored counts the rows of the own layer: open notes and links, and the bytes
// of every version kept.
type stored struct{ notes, links, bytes int64 }

func (q *session) head(ctx context.Context, tenantID, collection uuid.UUID) (head, error) {
	var h head
	var kinds string
	ok, err := q.get(ctx, `SELECT head, counted, v_notes, v_links, v_pending, v_in_review, v_bytes, v_kinds, s_notes, s_links, s_bytes
 FROM collection_heads WHERE tenant = ? AND collection = ?`, []any{blob(tenantID), blob(collection)},
		&h.revision, &h.counted, &h.Notes, &h.Links, &h.Pending, &h.InReview, &h.Bytes, &kinds, &h.stored.notes, &h.stored.links, &h.stored.bytes)
	if err != nil {
		return h, err
	}
	if !ok {
		return h, fault.Missing("collection")
	}
	return h, json.Unmarshal([]byte(kinds), &h.Kinds)
}

func (q *session) saveHead(ctx context.Context, tenantID, collection uuid.UUID, h head) error {
	kinds, err := store.Document("kinds", h.Kinds)
	if err != nil {
		return err
	}
	_, err = q.exec(ctx, `UPDATE collection_heads SET head = ?, counted = ?, v_notes = ?, v_links = ?, v_pending = ?, v_in_review = ?, v_bytes = ?, v_kinds = ?,
 s_notes = ?, s_links = ?, s_bytes = ? WHERE tenant = ? AND collection = ?`,
		rev(h.revision), h.counted, h.Notes, h.Links, h.Pending, h.InReview, h.Bytes, kinds,
		h.stored.notes, h.stored.links, h.stored.bytes, blob(tenantID), blob(collection))
	return err
}

// count counts what the layers show. A note waits when its state says so or
// when it has no vector yet.
func (q *session) count(ctx context.Context, tenantID uuid.UUID, layers []memory.Layer) (c memory.Counts, err error) {
	for i, l := range layers {
		own := []any{blob(tenantID), blob(l.Collection), rev(l.Bound), rev(l.Bound)}
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
		where, args := visibleLinks(tenantID, layers, i)
		var n int64
		if _, err := q.get(ctx, "SELECT COUNT(*) FROM links l WHERE "+where, args, &n); err != nil {
			return c, err
		}
		c.Links += n
	}
	return c, nil
}

// countStored counts the rows of a layer.
func (q *session) countStored(ctx context.Context, tenantID, layer uuid.UUID) (c stored, err error) {
	args := []any{blob(tenantID), blob(layer)}
	if _, err := q.get(ctx, "SELECT COALESCE(SUM(to_rev = 9223372036854775807 AND deleted = 0), 0), COALESCE(SUM(bytes), 0) FROM notes WHERE tenant = ? AND layer = ?", args, &c.notes, &c.bytes); err != nil {
		return c, err
	}
	_, err = q.get(ctx, "SELECT COALESCE(SUM(to_rev = 9223372036854775807 AND deleted = 0), 0) FROM links WHERE tenant = ? AND layer = ?", args, &c.links)
	return c, err
}

// Counts implements memory.Reader. At the head they are kept; at another
// revision, or in a fork of the past, they are counted now.
func (s *Store) Counts(ctx context.Context, sc tenant.Scope, v memory.View) (c memory.Counts, err error) {
	if err := v.Check(sc); err != nil {
		return c, err
	}
	err = s.reading(ctx, func(ctx context.Context, q *session) error {
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
