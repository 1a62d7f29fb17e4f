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

// Measured is a vector with its length, of which a [Probe] need not compute it again.
type Measured struct {
	Vector []float32
	Length float64 // Euclidean
}

// Measure returns a vector with its length.
func Measure(v []float32) Measured {
	sum := 0.0
	for _, x := range v {
		y := float64(x)
		sum += y * y
	}
	return Measured{v, math.Sqrt(sum)}
}

// Probe compares a vector with many others. Its cosines are those of [Cosine], to the last bit, in about a fifth of the time.
type Probe struct {
	Measured

	at   []int     // components that are not zero: of hashed vectors a quarter
	of   []float64 // those
	none []float32 // zeros, in the place of a vector of another length
}

// NewProbe returns a probe of a vector.
func NewProbe(v []float32) *Probe {
	p := &Probe{Measured: Measure(v), at: make([]int, 0, len(v)), of: make([]float64, 0, len(v)), none: make([]float32, len(v))}
	for i, x := range v {
		if x != 0 {
			p.at, p.of = append(p.at, i), append(p.of, float64(x))
		}
	}
	return p
}

// Cosines returns the cosine with each of some vectors; 0 where it is undefined.
func (p *Probe) Cosines(others []Measured) []float64 {
	return p.AppendCosines(make([]float64, 0, len(others)), others)
}

// AppendCosines appends what Cosines returns.
func (p *Probe) AppendCosines(out []float64, others []Measured) []float64 {
	const group = 4 // sums that do not wait for each other, each in the order of the components
	for from := 0; from < len(others); from += group {
		var of [group][]float32
		some := others[from:min(from+group, len(others))]
		for i := range of {
			if of[i] = p.none; i < len(some) && len(some[i].Vector) == len(p.none) {
				of[i] = some[i].Vector
			}
		}
		dots := p.dots(of[0], of[1], of[2], of[3])
		for i := range some {
			cosine := 0.0
			if length := p.Length * some[i].Length; dots[i] != 0 && length != 0 {
				cosine = min(max(dots[i]/length, -1), 1)
			}
			out = append(out, cosine)
		}
	}
	return out
}

func (p *Probe) dots(a, b, c, d []float32) [4]float64 {
	var w, x, y, z float64
	for i, at := range p.at {
		of := p.of[i]
		w += of * float64(a[at])
		x += of * float64(b[at])
		y += of * float64(c[at])
		z += of * float64(d[at])
	}
	return [...]float64{w, x, y, z}
}
