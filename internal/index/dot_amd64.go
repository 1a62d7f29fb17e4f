package index

import "golang.org/x/sys/cpu"

// hasAVX tells that the processor and the system allow AVX2 and FMA.
var hasAVX = cpu.X86.HasAVX2 && cpu.X86.HasFMA

// dotAVX is the dot product of the first n components, n a multiple of 8.
//
//go:noescape
func dotAVX(a, b *float32, n int) float32

// dot is the dot product of two vectors of one length.
func dot(a, b []float32) float32 {
	if !hasAVX || len(a) < 8 {
		return dotGeneric(a, b)
	}
	b = b[:len(a)]
	n := len(a) &^ 7
	s := dotAVX(&a[0], &b[0], n)
	for i := n; i < len(a); i++ {
		s += a[i] * b[i]
	}
	return s
}
