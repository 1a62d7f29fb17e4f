package engine

import (
	"context"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// KeptBack is for how many revisions lists keep what was replaced.
const KeptBack = keptBack

// ListKept lists notes from what is kept, with what is read of them; ok is false when the store has to answer.
func (e *Engine) ListKept(
	ctx context.Context, s tenant.Scope, v memory.View, q memory.NoteQuery, read func(*memory.Note) any,
) (out []memory.ReadNote, ok bool, err error) {
	kept, ok, err := e.listKept(ctx, s, &v, &q, &reading{each: read})
	for _, n := range kept {
		out = append(out, memory.ReadNote{Note: new(n.Copy()), Read: n.Read})
	}
	return out, ok, err
}
