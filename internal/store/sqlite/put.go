package sqlite

import (
	"context"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
)

// VectorLimit implements store.NoteWrites.
func (*session) VectorLimit() int { return 0 }

// ReadObject implements store.NoteWrites.
func (*session) ReadObject(doc string) (map[string]any, error) { return store.ObjectOf(doc) }

// InsertNote implements store.NoteWrites.
func (q *session) InsertNote(ctx context.Context, tenantID uuid.UUID, n store.NoteRow) error {
	var lists [3]string
	for i, l := range [][]string{n.Keywords, n.Tags, n.Supplied} {
		var err error
		if lists[i], err = list(l); err != nil {
			return err
		}
	}
	_, err := q.exec(ctx, `INSERT INTO notes (tenant, layer, id, from_rev, to_rev, deleted, kind, state, key, importance, occurred_at, created_at, updated_at,
 bytes, embedder, category, context, keywords, tags, attributes, error, analyst, supplied, provenance, content, digest, occurred_offset, expires_at)
 VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		tenantID, n.Layer, n.ID, n.From, n.To, n.Deleted, n.Kind, n.State, n.Key, n.Importance,
		nullTime(n.OccurredAt), nullTime(n.CreatedAt), n.UpdatedAt, n.Bytes, n.Embedder, n.Category, n.Context,
		lists[0], lists[1], n.AttributesJSON, n.Error, n.Analyst, lists[2], n.ProvenanceJSON, n.Content, n.Digest, store.Offset(n.OccurredAt), n.ExpiresAt)
	return err
}

// EndNote implements store.NoteWrites.
func (q *session) EndNote(ctx context.Context, tenantID uuid.UUID, v memory.Version, at memory.Revision) error {
	_, err := q.exec(ctx, "UPDATE notes SET to_rev = ? WHERE tenant = ? AND layer = ? AND id = ? AND from_rev = ?", at, tenantID, v.Layer, v.Note, v.From)
	return err
}

// DeleteNote implements store.NoteWrites.
func (q *session) DeleteNote(ctx context.Context, tenantID uuid.UUID, v memory.Version) error {
	if _, err := q.exec(ctx, "DELETE FROM notes WHERE tenant = ? AND layer = ? AND id = ? AND from_rev = ?", tenantID, v.Layer, v.Note, v.From); err != nil {
		return err
	}
	_, err := q.exec(ctx, "DELETE FROM vectors WHERE tenant = ? AND layer = ? AND note = ? AND from_rev = ?", tenantID, v.Layer, v.Note, v.From)
	return err
}

// InsertVector implements store.NoteWrites.
func (q *session) InsertVector(ctx context.Context, tenantID uuid.UUID, v memory.Version, embedder string, vector []float32, tokens []byte) error {
	_, err := q.exec(ctx, "INSERT INTO vectors (tenant, layer, note, from_rev, embedder, vec, tokens) VALUES (?, ?, ?, ?, ?, ?, ?)",
		tenantID, v.Layer, v.Note, v.From, embedder, store.HalfBytes(vector), append([]byte{}, tokens...))
	return err
}
