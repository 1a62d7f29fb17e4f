package postgres

import (
	"context"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/pgvector/pgvector-go"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
)

// VectorLimit implements store.NoteWrites.
func (*session) VectorLimit() int { return maxDim }

var insertNote = "INSERT INTO notes (tenant, " + store.NoteNames("") + ") VALUES (" + placeholders(1+len(store.NoteColumns())) + ")"

// placeholders returns the first n, with commas between them.
func placeholders(n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = "$" + strconv.Itoa(i+1)
	}
	return strings.Join(all, ", ")
}

// InsertNote implements store.NoteWrites. It goes with the next statement.
func (q *session) InsertNote(_ context.Context, tenantID uuid.UUID, n store.NoteRow) error {
	q.later(insertNote, append([]any{tenantID}, n.Values()...)...)
	return nil
}

// InsertVector implements store.NoteWrites. It goes with the next statement.
func (q *session) InsertVector(_ context.Context, tenantID uuid.UUID, v memory.Version, embedder string, vector []float32, tokens []byte) error {
	q.later("INSERT INTO vectors (tenant, layer, note, from_rev, embedder, vec, tokens) VALUES ($1, $2, $3, $4, $5, $6, $7)",
		tenantID, v.Layer, v.Note, rev(v.From), embedder, pgvector.NewHalfVector(vector), append([]byte{}, tokens...))
	return nil
}
