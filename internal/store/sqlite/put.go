package sqlite

import (
	"context"
	"strings"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
)

// VectorLimit implements store.NoteWrites.
func (*session) VectorLimit() int { return 0 }

var (
	columnsOfNotes = store.NoteColumns()
	insertNote     = "INSERT INTO notes (tenant, " + store.NoteNames("") + ") VALUES (?" + strings.Repeat(", ?", len(columnsOfNotes)) + ")"
)

// InsertNote implements store.NoteWrites.
func (q *session) InsertNote(ctx context.Context, tenantID uuid.UUID, n store.NoteRow) (err error) {
	args := append([]any{tenantID}, n.Values()...)
	for i := range columnsOfNotes {
		if args[i+1], err = fromRowValue(&columnsOfNotes[i], args[i+1]); err != nil {
			return err
		}
	}
	_, err = q.exec(ctx, insertNote, args...)
	return err
}

// InsertVector implements store.NoteWrites.
func (q *session) InsertVector(ctx context.Context, tenantID uuid.UUID, v memory.Version, embedder string, vector []float32, tokens []byte) error {
	_, err := q.exec(ctx, "INSERT INTO vectors (tenant, layer, note, from_rev, embedder, vec, tokens) VALUES (?, ?, ?, ?, ?, ?, ?)",
		tenantID, v.Layer, v.Note, v.From, embedder, store.PackVector(vector), append([]byte{}, tokens...))
	return err
}
