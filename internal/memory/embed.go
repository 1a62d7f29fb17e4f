package memory

import (
	"context"
	"math"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// EmbedBatch is the number of texts of one Embed call: large enough to be
// efficient, small enough that a concurrent search does not wait for long.
const EmbedBatch = 32

// maxElement is the largest finite binary16 number, in which vectors are stored.
const maxElement = 65504

// EmbedAll embeds texts in batches of EmbedBatch. A wrong number of vectors,
// vectors of another dimension, and elements that cannot be stored are ModelFailed.
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
			return nil, fault.New(fault.ModelFailed, "the embedder %q returned %d vectors for %d texts", e.Name(), len(made), len(batch))
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
		return fault.New(fault.ModelFailed, "the embedder %q returned a vector of %d dimensions instead of %d", e.Name(), len(m.Vector), e.Dim())
	}
	for i, x := range m.Vector {
		if x != x || x > maxElement || x < -maxElement {
			return fault.New(fault.ModelFailed, "the embedder %q returned a vector whose element %d cannot be stored", e.Name(), i)
		}
	}
	return nil
}

// Cosine returns the cosine of two vectors, within -1 and 1. ok is false when it
// is undefined: for a zero vector, and for vectors of different lengths.
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
