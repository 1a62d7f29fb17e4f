package memoryos

import (
	"math"

	"github.com/slipboxhq/slipbox/internal/memory"
)

// parts is how many parts of a vector are compared one after the other.
const parts = 4

// rounding is far above what the rounding of products may change in the cosine of two vectors.
const rounding = 1e-4

// parted is a vector with what shows early that another one is not near: no product of their later parts is larger than that of
// the lengths of these.
type parted struct {
	vector []float32
	rest   [parts + 1]float64 // the length of what follows, by the number of parts before
}

func newParted(v []float32) parted {
	p := parted{vector: v}
	sum := float32(0)
	for i := parts - 1; i >= 0; i-- {
		part := partOf(v, i)
		sum += dot(part, part)
		p.rest[i] = math.Sqrt(float64(sum))
	}
	return p
}

// partOf returns the i-th part of a vector.
func partOf(v []float32, i int) []float32 { return v[i*len(v)/parts : (i+1)*len(v)/parts] }

// isNear reports whether the cosine of two vectors is at least a bound, as [memory.Cosine] computes it. Most vectors are not near,
// which their first parts show.
func (p *parted) isNear(o *parted, least float64) bool {
	if len(p.vector) != len(o.vector) {
		return false
	}
	sum, bound := 0.0, (least-rounding)*p.rest[0]*o.rest[0]
	for i := range parts {
		sum += float64(dot(partOf(p.vector, i), partOf(o.vector, i)))
		if sum+p.rest[i+1]*o.rest[i+1] < bound {
			return false
		}
	}
	like, _ := memory.Cosine(p.vector, o.vector)
	return like >= least
}

// dot returns the product of two parts of the same length. Four sums do not wait for each other.
func dot(a, b []float32) float32 {
	var s0, s1, s2, s3 float32
	for len(a) >= 4 && len(b) >= 4 {
		s0 += a[0] * b[0]
		s1 += a[1] * b[1]
		s2 += a[2] * b[2]
		s3 += a[3] * b[3]
		a, b = a[4:], b[4:]
	}
	for i := range a {
		s0 += a[i] * b[i]
	}
	return s0 + s1 + s2 + s3
}
