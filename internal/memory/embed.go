package memory

import (
	"context"
	"math"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// EmbedBatch is how many texts an embedder is given at once: enough for it to
// work well, and few enough that a search beside it does not wait for long.
const EmbedBatch = 32

// maxElement is the greatest number of a stored vector, the largest of binary16.
const maxElement = 65504

// EmbedAll embeds texts, EmbedBatch at a time. What an embedder must not give
// is ModelFailed: another number of vectors than of texts, another size than
// its own, elements that cannot be stored.
func EmbedAll(ctx context.Context, e Embedder, s tenant.Scope, texts []string) ([]Embedding, error) {
	out := make([]Embedding, 0, len(texts))
	for len(texts) > 0 {
		batch := texts[:min(len(texts), EmbedBatch)]
		texts = texts[len(batch):]
		made, err := e.Embed(ctx, s, batch)
		if err != nil {
			return nil, err
		}
		if len(made) != len(batch) {
			return nil, fault.New(fault.ModelFailed, "the embedder %q gave %d vectors for %d texts", e.Name(), len(made), len(batch))
		}
		for i := range made {
			if err := checkEmbedding(e, &made[i]); err != nil {
				return nil, err
			}
		}
		out = append(out, made...)
	}
	return out, nil
}

func checkEmbedding(e Embedder, m *Embedding) error {
	if len(m.Vector) != e.Dim() {
		return fault.New(fault.ModelFailed, "the embedder %q gave a vector of %d dimensions instead of %d", e.Name(), len(m.Vector), e.Dim())
	}
	for i, x := range m.Vector {
		if x != x || x > maxElement || x < -maxElement {
			return fault.New(fault.ModelFailed, "the embedder %q gave a vector whose element %d is no number that can be stored", e.Name(), i)
		}
	}
	return nil
}

// Cosine of two vectors, within -1 and 1; ok is false where it has none: for
// zeros alone, and for vectors of different lengths.
func Cosine(a, b []float32) (cosine float64, ok bool) {
	if len(a) != len(b) {
		return 0, false
	}
	var dot, aa, bb float64
	for i, x := range a {
		x, y := float64(x), float64(b[i])
		dot += x * y
		aa += x * x
		bb += y * y
	}
	if aa == 0 || bb == 0 {
		return 0, false
	}
	return min(max(dot/(math.Sqrt(aa)*math.Sqrt(bb)), -1), 1), true
}
