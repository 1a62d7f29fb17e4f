package index

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/x448/float16"
)

// The kernel of this machine and plain Go return the same sums, for any number of rows and the
// largest codes.
func TestCodeKernelAgreesWithPlainGo(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{32, 64, 96, 384, 1536, 4096} {
		limit := maxComponent(n)
		for _, rows := range []int{1, 2, 3, 4, 5, 7, 8, 33} {
			for _, extreme := range []bool{false, true} {
				q, codes := make([]int16, n), make([]byte, n*rows)
				for i := range q {
					q[i] = int16(r.IntN(2*limit+1) - limit)
					if extreme {
						q[i] = int16(-limit)
					}
				}
				for i := range codes {
					codes[i] = byte(int8(r.IntN(2*maxCode+1) - maxCode))
					if extreme {
						codes[i] = byte(0x81) // -127
					}
				}
				got, plain := make([]int32, rows), make([]int32, rows)
				codeDots(q, codes, got)
				codeDotsGeneric(q, codes, plain)
				for row := range rows {
					want := int64(0)
					for i := range q {
						want += int64(q[i]) * int64(int8(codes[row*n+i]))
					}
					if int64(got[row]) != want || int64(plain[row]) != want {
						t.Fatalf("%d codes, row %d of %d: kernel %d, plain %d, want %d", n, row, rows, got[row], plain[row], want)
					}
				}
			}
		}
	}
}

// The kernel of this machine and plain Go return the same bits, equal to the exact sum to the
// precision of float32.
func TestHalfKernelAgreesWithPlainGo(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{32, 64, 384, 1536} {
		for _, scale := range []float64{1e-7, 1e-5, 1, 3000} { // with subnormal halves
			a, b, want, size := make([]uint16, n), make([]uint16, n), 0.0, 0.0
			for i := range n {
				x, y := float16.Fromfloat32(float32(scale*r.NormFloat64())), float16.Fromfloat32(float32(scale*r.NormFloat64()))
				a[i], b[i] = x.Bits(), y.Bits()
				product := float64(x.Float32()) * float64(y.Float32())
				want += product
				size += math.Abs(product)
			}
			got, plain := halfDot(a, b), halfDotGeneric(a, b)
			if got != plain || math.Abs(float64(got)-want) > 1e-6*size {
				t.Errorf("%d at %g: kernel %v, plain %v, exact %v", n, scale, got, plain, want)
			}
		}
	}
}

// Every finite binary16 is converted to float32 as the standard says, and back.
func TestHalfConversions(t *testing.T) {
	t.Parallel()
	for h := range 1 << 16 {
		half := uint16(h)
		if half&0x7c00 == 0x7c00 {
			continue // infinite or not a number
		}
		want := float16.Frombits(half).Float32()
		if got := fromHalf(half); math.Float32bits(got) != math.Float32bits(want) {
			t.Fatalf("%#x widens to %v, want %v", half, got, want)
		}
		v := vector{halves: []uint16{0}}
		if isRounded := v.set([]float32{want}); v.halves[0] != half || isRounded != (math.Abs(float64(want)) >= minHalf) {
			t.Fatalf("%v narrows to %#x, want %#x; rounded %v", want, v.halves[0], half, isRounded)
		}
	}
}
