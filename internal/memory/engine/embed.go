package engine

import (
	"context"
	"slices"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

func (e *Engine) embedOne(ctx context.Context, s tenant.Scope, em memory.Embedder, n *memory.Note) (memory.Embedding, error) {
	out, _, err := memory.EmbedNotes(ctx, em, s, []*memory.Note{n})
	if err != nil {
		return memory.Embedding{}, err
	}
	return out[0], nil
}

// revector sets the vector of each note. was holds the earlier version of each
// note, by position (zero for a new one): its vector is kept when neither text,
// image nor embedder has changed. All others are embedded, texts in batches, before
// any transaction. refused counts the images that are embedded by their texts.
func (e *Engine) revector(ctx context.Context, s tenant.Scope, em memory.Embedder, notes []*memory.Note, was []memory.Note) (refused int, err error) {
	var stale []*memory.Note
	for i, n := range notes {
		if was[i].Vector != nil && was[i].Embedder == em.Name() && memory.SameToEmbed(&was[i], n) {
			n.EmbedAs(&was[i])
			continue
		}
		stale = append(stale, n)
	}
	out, refused, err := memory.EmbedNotes(ctx, em, s, stale)
	if err != nil {
		return 0, err
	}
	for i, n := range stale {
		n.Embed(out[i], em.Name())
	}
	return refused, nil
}

// sameContent reports whether two versions of a note are equal in content, description and state, and both or neither
// have a vector.
func sameContent(a, b *memory.Note) bool {
	return memory.SameSaid(a, b) && a.State == b.State && a.Error == b.Error && a.Analyst == b.Analyst &&
		a.Provenance.Stale == b.Provenance.Stale && slices.Equal(a.Provenance.Sources, b.Provenance.Sources) && (a.Vector == nil) == (b.Vector == nil)
}
