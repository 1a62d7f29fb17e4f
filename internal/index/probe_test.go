package index

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/x448/float16"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/test/must"
)

// draw returns a vector of which a quarter is zero, at a scale.
func draw(rng *rand.Rand, n int, scale float64) []float32 {
	v := make([]float32, n)
	for i := range v {
		if i == 0 || rng.IntN(4) > 0 {
			v[i] = float32((rng.NormFloat64() + 0.01) * scale)
		}
	}
	return v
}

// A probe returns the cosines that an index computes, to the last bit, with vectors in 12 bits and with those of two bytes a component.
func TestProbe(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(8, 9))
	for _, n := range []int{1, 3, 31, 32, 33, 384, 385, 4200} {
		a := draw(rng, n, 1)
		p := must.Get(NewProbe(a))(t)
		x := newQueryVector(must.Get(pack(a))(t))
		for range 20 {
			raw := draw(rng, n, 1)
			y := must.Get(pack(raw))(t)
			rounded := must.Get(Round(raw))(t)
			for _, stored := range [][]byte{Pack(rounded), Halves(rounded)} {
				if got, ok := p.Cosine(stored); !ok || got != x.cosine(&y) {
					t.Errorf("%d dimensions in %d bytes: %v, %t, the index has %v", n, len(stored), got, ok, x.cosine(&y))
				}
			}
			exact, aa, bb := 0.0, 0.0, 0.0
			for i := range a {
				exact += float64(a[i]) * float64(raw[i])
				aa += float64(a[i]) * float64(a[i])
				bb += float64(raw[i]) * float64(raw[i])
			}
			if got := x.cosine(&y); math.Abs(got-exact/math.Sqrt(aa*bb)) > 1e-3 {
				t.Errorf("%d dimensions: %v, without rounding %v", n, got, exact/math.Sqrt(aa*bb))
			}
		}
		stored := Pack(must.Get(Round(a))(t))
		if got, ok := p.Cosine(stored); !ok || got < 1-1e-6 {
			t.Errorf("with itself: %v, %t", got, ok)
		}
		other := Pack(must.Get(Round(draw(rng, n+1, 1)))(t))
		for _, other := range [][]byte{nil, {1}, make([]byte, 2*n), stored[1:], stored[:len(stored)-2], append(slices.Clone(stored), 1, 2), other} {
			if _, ok := p.Cosine(other); ok {
				t.Errorf("%d dimensions: it compares %d bytes", n, len(other))
			}
		}
	}
	if _, err := NewProbe(make([]float32, 3)); !fault.Is(err, fault.Invalid) {
		t.Errorf("a vector of zeros is a probe: %v", err)
	}
}

// A rounded vector is binary16 and within half a unit of what was rounded, is not changed by rounding, packing or keeping it, and its
// packed form has an odd length of at most 1.5 bytes a component, and the rest of 32.
func TestRoundedVectors(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(8, 9))
	for _, scale := range []float64{1, 1e-30, 0x1p-14, 0x1p-20, 1000, 15000, 1e30} {
		for range 60 {
			raw := draw(rng, 1+rng.IntN(400), scale)
			v := must.Get(Round(raw))(t)
			if again := must.Get(Round(v))(t); !slices.Equal(again, v) {
				t.Fatalf("%v is rounded to %v", v, again)
			}
			from, largest := raw, float32(0)
			for _, x := range raw {
				largest = max(largest, x, -x)
			}
			if largest < smallestKept || largest > largestKept {
				from, largest = unit(raw), 0
				for _, x := range from {
					largest = max(largest, x, -x)
				}
			}
			for i, x := range v {
				if float16.Fromfloat32(x).Float32() != x {
					t.Fatalf("%v is not binary16", x)
				}
				if diff := math.Abs(float64(x - from[i])); diff > float64(largest)/2040 {
					t.Fatalf("%v of %v is rounded to %v, the largest is %v", from[i], raw[i], x, largest)
				}
			}
			stored := Pack(v)
			if got := Unpack(stored); !slices.Equal(got, v) || len(stored) != packedHeader+padded(len(v))/2*3 || len(stored)%2 == 0 {
				t.Fatalf("%v is kept in %d bytes as %v", v, len(stored), got)
			}
			p := must.Get(pack(raw))(t)
			sum := int64(0)
			for _, x := range p.wholes() {
				sum += int64(x) * int64(x)
			}
			if p.inverse != inverseOf(sum) {
				t.Errorf("the length of %v", v)
			}
		}
	}
}

// Numbers that Round has not made are kept as they are: vectors of before, of zeros, and bytes of no vector.
func TestOtherVectorsAreKept(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 9))
	for _, n := range []int{1, 2, 48, 51, 98, 384} {
		v := make([]float32, n)
		for i := range v {
			v[i] = float16.Frombits(uint16(rng.IntN(0x7c00)) | uint16(i%2)<<15).Float32()
		}
		for _, v := range [][]float32{v, make([]float32, n)} {
			if got := Unpack(Pack(v)); !slices.Equal(got, v) {
				t.Errorf("%v is kept as %v", v, got)
			}
		}
	}
	for _, stored := range [][]byte{nil, {}, {1}, make([]byte, 51), append([]byte{packedForm, unitBias, lanes}, make([]byte, 48)...)} {
		if got := Unpack(stored); got != nil {
			t.Errorf("%d bytes are %v", len(stored), got)
		}
	}
}
