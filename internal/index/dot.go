package index

// dotGeneric is the dot product of two vectors of one length, in plain Go: the
// kernel where the processor has no better one, and the reference for those.
// Four sums are kept in flight; their order is fixed, so that a row scores the
// same wherever it stands.
func dotGeneric(a, b []float32) float32 {
	var s0, s1, s2, s3 float32
	// Array pointers of a fixed length leave one bounds check per step.
	for ; len(a) >= 8; a, b = a[8:], b[8:] {
		x, y := (*[8]float32)(a), (*[8]float32)(b)
		s0 += x[0] * y[0]
		s1 += x[1] * y[1]
		s2 += x[2] * y[2]
		s3 += x[3] * y[3]
		s0 += x[4] * y[4]
		s1 += x[5] * y[5]
		s2 += x[6] * y[6]
		s3 += x[7] * y[7]
	}
	for i, x := range a {
		s0 += x * b[i]
	}
	return (s0 + s1) + (s2 + s3)
}
