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

// The kernel of this machine and plain Go return the same sums of whole numbers, also of the largest ones, and of more than a lane can add.
func TestWholeKernelAgreesWithPlainGo(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{32, 64, 384, 1536, mostWholes, mostWholes + 32, 3*mostWholes + 64} {
		for _, extreme := range []bool{false, true} {
			q, row := make([]int16, n), make([]float32, n)
			for i := range n {
				q[i], row[i] = int16(r.IntN(2*maxWhole+1)-maxWhole), float32(r.IntN(2*maxWhole+1)-maxWhole)
				if extreme {
					q[i], row[i] = -maxWhole, maxWhole
				}
			}
			p := newPacked(n)
			squares := p.set(row, 1)
			var dot, square int64
			for i := range n {
				dot += int64(q[i]) * int64(row[i])
				square += int64(row[i]) * int64(row[i])
			}
			gotDot, gotSquares := wholeDots(q, p.codes, p.low)
			plainDot, plainSquares := wholeDotsGeneric(q, p.codes, p.low)
			if gotDot != dot || gotSquares != square || plainDot != dot || plainSquares != square || squares != square {
				t.Errorf("%d: kernel %d and %d, plain %d and %d, set %d; want %d and %d", n, gotDot, gotSquares, plainDot, plainSquares, squares, dot, square)
			}
			for i, x := range p.wholes() {
				if float32(x) != row[i] {
					t.Fatalf("component %d is %d, want %v", i, x, row[i])
				}
			}
		}
	}
}

// Every binary16 is converted to float32 as the standard says.
func TestHalfConversions(t *testing.T) {
	t.Parallel()
	for h := range 1 << 16 {
		half := uint16(h)
		want := float16.Frombits(half).Float32()
		if got := fromHalf(half); math.Float32bits(got) != math.Float32bits(want) {
			t.Fatalf("%#x widens to %v, want %v", half, got, want)
		}
	}
}
