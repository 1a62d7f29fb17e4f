package index

import "golang.org/x/sys/cpu"

// hasAVX2 reports whether the processor and the system support what the kernels use.
var hasAVX2 = cpu.X86.HasAVX2 && cpu.X86.HasFMA && cpu.X86.HasF16C

// codeDots is [codeDotsGeneric]; len(q) is a multiple of lanes.
func codeDots(q []int16, codes []byte, out []int32) {
	if !hasAVX2 || len(q) == 0 || len(out) == 0 {
		codeDotsGeneric(q, codes, out)
		return
	}
	codes = codes[:len(q)*len(out)]
	codeDotsAVX2(&q[0], &codes[0], len(q), len(out), &out[0])
}

// halfDot is [halfDotGeneric]; both lengths are the same multiple of lanes.
func halfDot(a, b []uint16) float32 {
	if !hasAVX2 || len(a) == 0 {
		return halfDotGeneric(a, b)
	}
	b = b[:len(a)]
	return halfDotAVX2(&a[0], &b[0], len(a))
}
