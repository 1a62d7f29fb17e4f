package index

import "math"

//go:generate go -C gen run . -out ../kernel_amd64.s -stubs ../kernel_stub_amd64.go -pkg index

// lanes is the number of components that the kernels process in one step. Rows are padded with
// zeros to a multiple of it.
const lanes = 32

// padded returns the number of components that a vector of n components takes in a row.
func padded(n int) int { return (n + lanes - 1) / lanes * lanes }

// codeDotsGeneric writes the dot product of q with each of len(out) rows of len(q) codes, which are
// int8 as bytes, to out. The sums are exact, so every kernel returns the same ones. The caller
// ensures that they do not overflow: see [maxComponent].
func codeDotsGeneric(q []int16, codes []byte, out []int32) {
	for r := range out {
		row := codes[r*len(q):][:len(q)]
		var s0, s1, s2, s3 int32
		for i := 0; i+4 <= len(q); i += 4 {
			x, y := (*[4]int16)(q[i:]), (*[4]byte)(row[i:])
			s0 += int32(x[0]) * int32(int8(y[0])) //nolint:gosec // codes are int8
			s1 += int32(x[1]) * int32(int8(y[1])) //nolint:gosec // codes are int8
			s2 += int32(x[2]) * int32(int8(y[2])) //nolint:gosec // codes are int8
			s3 += int32(x[3]) * int32(int8(y[3])) //nolint:gosec // codes are int8
		}
		out[r] = s0 + s1 + s2 + s3
	}
}

// halfDotGeneric returns the dot product of two padded vectors of binary16. The product of two
// components is exact in float32, so only the order of the sums matters: 32 sums, then four by four
// as the kernel adds its registers. Every kernel returns the same bits.
func halfDotGeneric(a, b []uint16) float32 {
	var s [lanes]float32
	for ; len(a) >= lanes; a, b = a[lanes:], b[lanes:] {
		x, y := (*[lanes]uint16)(a), (*[lanes]uint16)(b)
		for i := range s {
			s[i] += fromHalf(x[i]) * fromHalf(y[i])
		}
	}
	var t [4]float32
	for i := range t {
		low := (s[i] + s[8+i]) + (s[16+i] + s[24+i])
		high := (s[4+i] + s[12+i]) + (s[20+i] + s[28+i])
		t[i] = low + high
	}
	return (t[0] + t[1]) + (t[2] + t[3])
}

// fromHalf returns the value of a finite binary16. The exponent of one has five bits, so its place in a float32 stands for a
// number that is smaller by 2^112; the product is exact, also of a subnormal one. Zeros are common, so nothing branches.
func fromHalf(h uint16) float32 {
	return math.Float32frombits(uint32(h&0x8000)<<16|uint32(h&0x7fff)<<13) * 0x1p112
}

// maxComponent returns the largest magnitude of a query's component with which the sum over a row
// of n codes fits an int32.
func maxComponent(n int) int { return min(math.MaxInt16, math.MaxInt32/(maxCode*max(n, 1))) }
