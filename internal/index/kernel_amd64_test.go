package index

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// codeKernels are the kernels that this machine can run, by name.
func codeKernels() map[string]func(q *int16, codes *byte, stride int, rows int, out *int32) {
	all := map[string]func(q *int16, codes *byte, stride int, rows int, out *int32){}
	if hasAVX2 {
		all["AVX2"] = codeDotsAVX2
	}
	if hasVNNI {
		all["VNNI"] = codeDotsVNNI
	}
	return all
}

// Every kernel returns the sums of plain Go, and writes and reads no more than its rows. The other test
// of kernels compares the one that is chosen.
func TestEveryCodeKernelAgrees(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(8, 2))
	for name, kernel := range codeKernels() {
		for _, stride := range []int{32, 64, 96, 384, 4096} {
			limit := maxComponent(stride)
			for rows := 1; rows < 10; rows++ {
				q, codes := make([]int16, stride), make([]byte, stride*rows)
				for i := range q {
					q[i] = int16(r.IntN(2*limit+1) - limit)
				}
				for i := range codes {
					codes[i] = byte(int8(r.IntN(2*maxCode+1) - maxCode))
				}
				const untouched = 0x5a5a5a5a
				got, want := slices.Repeat([]int32{untouched}, rows+4), slices.Repeat([]int32{untouched}, rows+4)
				kernel(&q[0], &codes[0], stride, rows, &got[0])
				codeDotsGeneric(q, codes, want[:rows])
				if !slices.Equal(got, want) {
					t.Errorf("%s, %d codes, %d rows: %v, want %v", name, stride, rows, got, want)
				}
			}
		}
	}
}
