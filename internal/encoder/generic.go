package encoder

import "math"

// generic is for processors without kernels of their own.
var generic = kernels{
	name:     "generic",
	round:    roundGeneric,
	linear:   linearGeneric,
	multiply: multiplyGeneric,
	gelu:     geluGeneric,
	softmax:  softmaxGeneric,
	addNorm:  addNormGeneric,
}

func multiplyGeneric(m, n, k int, a []float32, lda int, b, bias, c []float32, ldc int) {
	for j := 0; j < n; j += 4 {
		columns := b[j/panel*panel*k+j%panel:]
		for i := 0; i < m; i += 2 {
			// The last row of an odd number is computed twice.
			next := min(i+1, m-1)
			pairGeneric(a[i*lda:i*lda+k], a[next*lda:next*lda+k], columns, bias[j:], c[i*ldc+j:], c[next*ldc+j:])
		}
	}
}

// pairGeneric multiplies two rows by four columns: so many sums fit into registers.
func pairGeneric(x, y, columns, bias, atX, atY []float32) {
	bias = bias[:4]
	x0, x1, x2, x3 := bias[0], bias[1], bias[2], bias[3]
	y0, y1, y2, y3 := x0, x1, x2, x3
	y = y[:len(x)]
	for i, u := range x {
		v := y[i]
		w := columns[i*panel : i*panel+4 : i*panel+4]
		x0 += u * w[0]
		y0 += v * w[0]
		x1 += u * w[1]
		y1 += v * w[1]
		x2 += u * w[2]
		y2 += v * w[2]
		x3 += u * w[3]
		y3 += v * w[3]
	}
	atX, atY = atX[:4], atY[:4]
	atX[0], atX[1], atX[2], atX[3] = x0, x1, x2, x3
	atY[0], atY[1], atY[2], atY[3] = y0, y1, y2, y3
}

// Sums of products of integers must not leave 32 bits. By the inequality of Cauchy and Schwarz a sum is
// at most the product of the lengths of the two rows, and rounding makes a row of 1,536 numbers longer by at
// most 20: (46,000 + 20)² is less than 2³¹.
const (
	largestInt = 32767
	reach      = 46000
	// leastStep is that of rows so small that their squares are zero in float32, so that they have no length.
	leastStep = 1e-20
)

func roundGeneric(x []float32, q []int16) (step float32) {
	var square float32
	var most uint32 // the bits of a magnitude are ordered as it is
	for _, v := range x {
		most = max(most, math.Float32bits(v)&^(1<<31))
		square += float32(v * v) // not fused with the sum: the same on all processors
	}
	top := math.Float32frombits(most)
	step = max(top/largestInt, float32(math.Sqrt(float64(square)))/reach, leastStep)
	inverse := 1 / step
	for i, v := range x {
		// Beside this number the last bit of a float32 is 1, so the sum is rounded to even.
		const ones = 3 << 22
		q[i] = int16(math.Float32bits(float32(v*inverse)+ones) - math.Float32bits(ones)) //nolint:gosec // within ±32767, in two's complement
	}
	return step
}

func linearGeneric(m int, a []int16, steps []float32, b *matrix, c []float32) {
	for j := 0; j < b.out; j += 4 {
		columns := b.panels[j/panel*panel*b.in+j%panel*2:]
		for i := range m {
			s := fourGeneric(a[i*b.in:(i+1)*b.in], columns)
			for l, sum := range s {
				c[i*b.out+j+l] = float32(sum)*(steps[i]*b.steps[j+l]) + b.bias[j+l]
			}
		}
	}
}

// fourGeneric multiplies a row by four columns: so many sums fit into registers.
func fourGeneric(x, columns []int16) [4]int32 {
	var s0, s1, s2, s3 int32
	for i := 0; i+1 < len(x); i += 2 {
		u, v := int32(x[i]), int32(x[i+1])
		w := columns[i*panel : i*panel+8 : i*panel+8]
		s0 += u*int32(w[0]) + v*int32(w[1])
		s1 += u*int32(w[2]) + v*int32(w[3])
		s2 += u*int32(w[4]) + v*int32(w[5])
		s3 += u*int32(w[6]) + v*int32(w[7])
	}
	return [4]int32{s0, s1, s2, s3}
}

func geluGeneric(x []float32) {
	for i, v := range x {
		x[i] = 0.5 * v * (1 + erf(v*(1/math.Sqrt2)))
	}
}

// erfRange is the magnitude from which on the error function is 1 in float32.
const erfRange = 4

// The error function is x·P(x²)/Q(x²) within erfRange, a rational minimax approximation that is
// exact to a few units of float32's last place (Eigen, ptanh and erf of packets, MPL-2.0; the
// coefficients are in common use). Highest power first.
var (
	erfP = [...]float32{-2.72614225801306e-10, 2.77068142495902e-08, -2.10102402082508e-06, -5.69250639462346e-05, -7.34990630326855e-04, -2.95459980854025e-03, -1.60960333262415e-02}
	erfQ = [...]float32{-1.45660718464996e-05, -2.13374055278905e-04, -1.68282697438203e-03, -7.37332916720468e-03, -1.42647390514189e-02}
)

func erf(x float32) float32 {
	x = min(max(x, -erfRange), erfRange)
	y := x * x
	p, q := erfP[0], erfQ[0]
	for _, c := range erfP[1:] {
		p = p*y + c
	}
	for _, c := range erfQ[1:] {
		q = q*y + c
	}
	return x * p / q
}

// The exponential is 2ⁿ·P(x − n·ln 2), |x − n·ln 2| ≤ ½ ln 2, P of degree 6 (S. Moshier, Cephes,
// expf). Highest power first. ln 2 is split into two parts, so n·ln 2 is exact.
const (
	expLow  = -87
	log2e   = 1.44269504088896341
	ln2High = 0.693359375
	ln2Low  = -2.12194440e-4
)

var expP = [...]float32{1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1, 1, 1}

// exp returns the exponential of a number that is not above 0; it is almost 0 for very negative
// ones.
func exp(x float32) float32 {
	x = max(x, expLow)
	n := float32(math.RoundToEven(float64(x * log2e)))
	x -= n * ln2High
	x -= n * ln2Low
	p := expP[0]
	for _, c := range expP[1:] {
		p = p*x + c
	}
	return p * math.Float32frombits(uint32(n+127)<<23)
}

func softmaxGeneric(x []float32) {
	top := x[0]
	for _, v := range x {
		top = max(top, v)
	}
	var sum float32
	for i, v := range x {
		x[i] = exp(v - top)
		sum += x[i]
	}
	scale := 1 / sum
	for i := range x {
		x[i] *= scale
	}
}

func addNormGeneric(x, y, weight, bias []float32) {
	n := float32(len(x))
	var sum, square float32
	for i, v := range y {
		x[i] += v
		sum += x[i]
	}
	mean := sum / n
	for i := range x {
		x[i] -= mean
		square += x[i] * x[i]
	}
	scale := 1 / float32(math.Sqrt(float64(square/n)+epsilon))
	for i := range x {
		x[i] = x[i]*scale*weight[i] + bias[i]
	}
}
