package memoryos

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/slipboxhq/slipbox/internal/memory"
)

// What the parts of vectors show is what their cosine says, at any distance and at the bound.
func TestPartedVectors(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 1))
	draw := func(n int) []float32 {
		v := make([]float32, n)
		for i := range v {
			v[i] = float32(random.NormFloat64() * math.Exp(3*random.NormFloat64()))
		}
		return v
	}
	check := func(a, b []float32, least float64) bool {
		like, _ := memory.Cosine(a, b)
		p, o := newParted(a), newParted(b)
		if got, want := p.isNear(&o, least), like >= least; got != want {
			t.Fatalf("seed %d: %d and %d components, cosine %v, at least %v: %v", seed, len(a), len(b), like, least, got)
		}
		return like >= least
	}
	near := 0
	for range 2000 {
		n := 1 + random.IntN(400)
		a, noise := draw(n), draw(n)
		b := make([]float32, n)
		share := float32(random.Float64()) * 2
		for i := range b {
			b[i] = 3*a[i] + share*noise[i]
		}
		if check(a, b, sameKnowledge) {
			near++
		}
		check(a, noise, sameKnowledge)
		check(a, a, 1)
		like, _ := memory.Cosine(a, b)
		check(a, b, like) // just at the bound
		check(a, b, math.Nextafter(like, 2))
	}
	if near == 0 {
		t.Errorf("seed %d: no vectors were near", seed)
	}
	check(nil, nil, sameKnowledge)
	check(make([]float32, 8), draw(8), sameKnowledge)
	check(draw(8), draw(7), sameKnowledge)
}

func BenchmarkParted(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 1))
	draw := func() []float32 {
		v := make([]float32, 384)
		for i := range v {
			v[i] = float32(random.NormFloat64())
		}
		return v
	}
	a, list := newParted(draw()), make([]parted, 2000)
	for i := range list {
		list[i] = newParted(draw())
	}
	b.Run("make", func(b *testing.B) {
		for i := range b.N {
			list[i%len(list)] = newParted(list[i%len(list)].vector)
		}
	})
	b.Run("compare", func(b *testing.B) {
		for i := range b.N {
			a.isNear(&list[i%len(list)], sameKnowledge)
		}
	})
	b.Run("cosine", func(b *testing.B) {
		for i := range b.N {
			memory.Cosine(a.vector, list[i%len(list)].vector)
		}
	})
}
