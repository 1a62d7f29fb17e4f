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

// mostWholes is how many components a kernel sums: then its sums of products, of 4,096/8 pairs of numbers of at most maxWhole in a lane,
// fit an int32.
const mostWholes = 4096

// wholeDots returns the dot product of padded whole numbers with a packed vector of as many components, and that of the packed
// vector with itself. Both are exact.
func wholeDots(q []int16, codes, low []byte) (dot, squares int64) {
	for len(q) > mostWholes {
		d, s := wholeDotsPart(q[:mostWholes], codes, low)
		dot, squares = dot+d, squares+s
		q, codes, low = q[mostWholes:], codes[mostWholes:], low[mostWholes/2:]
	}
	d, s := wholeDotsPart(q, codes, low)
	return dot + d, squares + s
}

func wholeDotsGeneric(q []int16, codes, low []byte) (dot, squares int64) {
	p := packed{codes: codes, low: low}
	for at := 0; at < len(q); at += lanes {
		part := (*[lanes]int16)(q[at:])
		for i, x := range p.group(at) {
			dot += int64(part[i]) * int64(x)
			squares += int64(x) * int64(x)
		}
	}
	return dot, squares
}

// maxComponent returns the largest magnitude of a query's component with which the sum over a row
// of n codes fits an int32.
func maxComponent(n int) int { return min(math.MaxInt16, math.MaxInt32/(maxCode*max(n, 1))) }
