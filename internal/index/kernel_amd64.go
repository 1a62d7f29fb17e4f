package index

import "golang.org/x/sys/cpu"

// What the processor and the system support of what the kernels use.
var (
	hasAVX2 = cpu.X86.HasAVX2
	hasVNNI = hasAVX2 && cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VNNI
)

// codeDotsVNNI is codeDots for at least one row; stride is a multiple of 32.
//
//go:noescape
func codeDotsVNNI(q *int16, codes *byte, stride int, rows int, out *int32)

// codeDots is [codeDotsGeneric]; len(q) is a multiple of lanes.
func codeDots(q []int16, codes []byte, out []int32) {
	if !hasAVX2 || len(q) == 0 || len(out) == 0 {
		codeDotsGeneric(q, codes, out)
		return
	}
	codes = codes[:len(q)*len(out)]
	if hasVNNI {
		codeDotsVNNI(&q[0], &codes[0], len(q), len(out), &out[0])
		return
	}
	codeDotsAVX2(&q[0], &codes[0], len(q), len(out), &out[0])
}

// wholeDotsPart is [wholeDotsGeneric]; len(q) is a multiple of lanes and at most mostWholes.
func wholeDotsPart(q []int16, codes, low []byte) (dot, squares int64) {
	if !hasAVX2 || len(q) == 0 {
		return wholeDotsGeneric(q, codes, low)
	}
	codes, low = codes[:len(q)], low[:len(q)/2]
	return wholeDotsAVX2(&q[0], &codes[0], &low[0], len(q))
}
