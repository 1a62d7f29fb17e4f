package postgres

import (
	"context"

	"github.com/google/uuid"
	"github.com/pgvector/pgvector-go"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
)

// VectorLimit implements store.NoteWrites.
func (*session) VectorLimit() int { return maxDim }

// ReadObject implements store.NoteWrites.
func (*session) ReadObject(doc string) (map[string]any, error) { return objectOf(orNull(doc)) }

// InsertNote implements store.NoteWrites. It goes with the next statement.
func (q *session) InsertNote(_ context.Context, tenantID uuid.UUID, n store.NoteRow) error {
	q.later(`INSERT INTO notes (tenant, layer, id, from_rev, to_rev, deleted, kind, state, key, importance, occurred_at, created_at, updated_at,
 bytes, embedder, category, context, keywords, tags, attributes, error, analyst, supplied, provenance, content, digest, occurred_offset, expires_at)
 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28)`,
		tenantID, n.Layer, n.ID, rev(n.From), rev(n.To), n.Deleted, string(n.Kind), string(n.State), n.Key, n.Importance,
		nullTime(n.OccurredAt), nullTime(n.CreatedAt), n.UpdatedAt, n.Bytes, n.Embedder, n.Category, n.Context,
		list(n.Keywords), list(n.Tags), orNull(n.AttributesJSON), n.Error, string(n.Analyst), list(n.Supplied), orNull(n.ProvenanceJSON), n.Content, n.Digest, store.Offset(n.OccurredAt),
		nullTime(n.ExpiresAt))
	return nil
}

// EndNote implements store.NoteWrites. It goes with the next statement.
func (q *session) EndNote(_ context.Context, tenantID uuid.UUID, v memory.Version, at memory.Revision) error {
	q.later("UPDATE notes SET to_rev = $5 WHERE tenant = $1 AND layer = $2 AND id = $3 AND from_rev = $4", tenantID, v.Layer, v.Note, rev(v.From), rev(at))
	return nil
}

// DeleteNote implements store.NoteWrites. It goes with the next statement.
func (q *session) DeleteNote(_ context.Context, tenantID uuid.UUID, v memory.Version) error {
	q.later("DELETE FROM notes WHERE tenant = $1 AND layer = $2 AND id = $3 AND from_rev = $4", tenantID, v.Layer, v.Note, rev(v.From))
	q.later("DELETE FROM vectors WHERE tenant = $1 AND layer = $2 AND note = $3 AND from_rev = $4", tenantID, v.Layer, v.Note, rev(v.From))
	return nil
}

// InsertVector implements store.NoteWrites. It goes with the next statement.
func (q *session) InsertVector(_ context.Context, tenantID uuid.UUID, v memory.Version, embedder string, vector []float32, tokens []byte) error {
	q.later("INSERT INTO vectors (tenant, layer, note, from_rev, embedder, vec, tokens) VALUES ($1, $2, $3, $4, $5, $6, $7)",
		tenantID, v.Layer, v.Note, rev(v.From), embedder, new(pgvector.NewHalfVector(vector)), append([]byte{}, tokens...))
	return nil
}
