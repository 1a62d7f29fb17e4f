package memory

import (
	"context"
	"errors"
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
		if err := checkEmbeddings(e, made, len(batch)); err != nil {
			return nil, err
		}
		out = append(out, made...)
	}
	return out, nil
}

// EmbedNotes embeds notes: their texts as EmbedAll does, or the image that a note is where the embedder takes images. An
// image that it refuses is embedded by the text of its note, and refused counts it.
func EmbedNotes(ctx context.Context, e Embedder, s tenant.Scope, notes []*Note) (out []Embedding, refused int, err error) {
	out = make([]Embedding, len(notes))
	images, able := TakesImages(e)
	var texts []string
	var places []int
	for i, n := range notes {
		if image := imageOf(n); able && image != "" {
			// One at a time, so that one which is refused costs the others nothing.
			made, err := images.EmbedImages(ctx, s, []string{image})
			if err == nil {
				err = checkEmbeddings(e, made, 1)
			}
			switch {
			case err == nil:
				out[i] = made[0]
				continue
			case !errors.Is(err, ErrImageRefused):
				return nil, 0, err
			}
			refused++
		}
		texts, places = append(texts, VectorText(n)), append(places, i)
	}
	made, err := EmbedAll(ctx, e, s, texts)
	if err != nil {
		return nil, 0, err
	}
	for i, at := range places {
		out[at] = made[i]
	}
	return out, refused, nil
}

// SameToEmbed reports whether two notes have the same vector: the same text and the same image.
func SameToEmbed(a, b *Note) bool { return VectorText(a) == VectorText(b) && imageOf(a) == imageOf(b) }

func checkEmbeddings(e Embedder, made []Embedding, want int) error {
	if len(made) != want {
		return fault.New(fault.ModelFailed, "the embedder %q returned %d vectors for %d texts", e.Name(), len(made), want)
	}
	for i := range made {
		if err := checkEmbedding(e, &made[i]); err != nil {
			return err
		}
	}
	return nil
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
