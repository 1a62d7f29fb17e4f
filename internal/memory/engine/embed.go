package engine

import (
	"context"
	"reflect"
	"slices"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

func (e *Engine) embedOne(ctx context.Context, s tenant.Scope, em memory.Embedder, n *memory.Note) (memory.Embedding, error) {
	out, err := em.Embed(ctx, s, []string{memory.EmbedText(n)})
	if err != nil {
		return memory.Embedding{}, err
	}
	if len(out) != 1 || len(out[0].Vector) != em.Dim() {
		return memory.Embedding{}, fault.New(fault.ModelFailed, "the embedder %q gave another number or size of vectors than was asked", em.Name())
	}
	return out[0], nil
}

// revector gives each note the vector of its text: the one it had when neither
// text nor embedder changed (was, by place; zero for a new note), else a new
// one. All new texts go to the embedder in one call, before any transaction.
func (e *Engine) revector(ctx context.Context, s tenant.Scope, em memory.Embedder, notes []*memory.Note, was []memory.Note) error {
	var texts []string
	var stale []*memory.Note
	for i, n := range notes {
		t := memory.EmbedText(n)
		if was[i].Vector != nil && was[i].Embedder == em.Name() && memory.EmbedText(&was[i]) == t {
			n.EmbedAs(&was[i])
			continue
		}
		texts = append(texts, t)
		stale = append(stale, n)
	}
	if len(texts) == 0 {
		return nil
	}
	out, err := em.Embed(ctx, s, texts)
	if err != nil {
		return err
	}
	if len(out) != len(texts) {
		return fault.New(fault.ModelFailed, "the embedder %q gave another number of vectors than was asked", em.Name())
	}
	for i, n := range stale {
		if len(out[i].Vector) != em.Dim() {
			return fault.New(fault.ModelFailed, "the embedder %q gave a vector of %d dimensions instead of %d", em.Name(), len(out[i].Vector), em.Dim())
		}
		n.Embed(out[i], em.Name())
	}
	return nil
}

// sameContent tells that two versions of a note say the same, vector and state included.
func sameContent(a, b *memory.Note) bool {
	return a.Content == b.Content && a.Context == b.Context && slices.Equal(a.Keywords, b.Keywords) && slices.Equal(a.Tags, b.Tags) &&
		a.Category == b.Category && a.Importance == b.Importance && a.State == b.State && a.Error == b.Error && a.Analyst == b.Analyst &&
		a.Key == b.Key && a.Kind == b.Kind && a.OccurredAt.Equal(b.OccurredAt) &&
		a.Provenance.Stale == b.Provenance.Stale && len(a.Provenance.Sources) == len(b.Provenance.Sources) &&
		(a.Vector == nil) == (b.Vector == nil) && (len(a.Attributes) == 0 && len(b.Attributes) == 0 || reflect.DeepEqual(a.Attributes, b.Attributes))
}
