package index

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/x448/float16"

	"github.com/slipboxhq/slipbox/test/must"
)

// A probe returns the cosines that an index computes, to the last bit.
func TestProbe(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(8, 9))
	for _, n := range []int{1, 3, 32, 384, 385} {
		draw := func() []float32 {
			v := make([]float32, n)
			for i := range v {
				v[i] = float32(rng.NormFloat64())
			}
			v = must.Get(Round(v))(t)
			return v
		}
		stored := func(v []float32) (b []byte) {
			for _, x := range v {
				b = binary.LittleEndian.AppendUint16(b, float16.Fromfloat32(x).Bits())
			}
			return b
		}
		a := draw()
		p := must.Get(NewProbe(a))(t)
		for range 20 {
			b := draw()
			x := must.Get(pack(a))(t)
			y := must.Get(pack(b))(t)
			if got, ok := p.Cosine(stored(b)); !ok || got != cosine(&x, &y) {
				t.Errorf("%d dimensions: %v, %t, the index has %v", n, got, ok, cosine(&x, &y))
			}
		}
		if got, ok := p.Cosine(stored(a)); !ok || got < 1-1e-6 {
			t.Errorf("with itself: %v, %t", got, ok)
		}
		for _, other := range [][]byte{nil, make([]byte, 2*n), stored(draw())[1:], append(stored(draw()), 1, 2)} {
			if _, ok := p.Cosine(other); ok {
				t.Errorf("%d dimensions: it compares %d bytes", n, len(other))
			}
		}
	}
	if _, err := NewProbe(make([]float32, 3)); err == nil {
		t.Error("a vector of zeros is a probe")
	}
}

// What is packed are the numbers of binary16 and the length that they have when their squares are added in order, for zeros,
// subnormal and large numbers, too.
func TestPack(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(8, 9))
	scales := []float64{1, 0x1p-14, 0x1p-20, 1000}
	for i := range 400 {
		raw := make([]float32, 1+rng.IntN(400))
		for j := range raw {
			if rng.IntN(4) == 0 || j == 0 {
				raw[j] = float32((rng.NormFloat64() + 0.01) * scales[i%len(scales)] * math.Pow(2, -float64(rng.IntN(12))))
			}
		}
		v := must.Get(Round(raw))(t)
		got := must.Get(pack(raw))(t)
		sum, largest := 0.0, 0.0
		for j, x := range v {
			if want := float16.Fromfloat32(x).Bits(); got.halves[j] != want || fromHalf(want) != x {
				t.Fatalf("%v is %x, want %x", x, got.halves[j], want)
			}
			sum += float64(x) * float64(x)
			largest = max(largest, math.Abs(float64(x)))
		}
		if got.inverse != 1/math.Sqrt(sum) || got.largest != largest {
			t.Errorf("%v: length %v of %v, want %v of %v", v, got.inverse, got.largest, 1/math.Sqrt(sum), largest)
		}
	}
}
