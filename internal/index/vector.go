package index

import (
	"math"

	"github.com/x448/float16"

	"github.com/slipboxhq/slipbox/internal/fault"
)

// The range in which binary16 keeps its 11 bits of precision.
const (
	maxHalf = 65504
	minHalf = 1.0 / (1 << 14)
)

// Round gives v as the stores keep it: each component rounded to the nearest
// IEEE binary16, so that both engines and the index compute with the same
// numbers. A vector whose largest component lies outside the range of
// binary16 is scaled to unit length first (cosine does not see the scale).
// NaN, an infinity, a vector of zeros and an empty one are faults on field
// "vector".
func Round(v []float32) ([]float32, error) {
	if len(v) == 0 {
		return nil, fault.InvalidField("vector", "empty")
	}
	largest, sum := 0.0, 0.0
	for i, x := range v {
		f := float64(x)
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, fault.InvalidField("vector", "component %d is not a finite number", i)
		}
		largest = max(largest, math.Abs(f))
		sum += f * f
	}
	if largest == 0 {
		return nil, fault.InvalidField("vector", "all components are zero")
	}
	scale := 1.0
	if largest > maxHalf || largest < minHalf {
		scale = 1 / math.Sqrt(sum)
	}
	out := make([]float32, len(v))
	for i, x := range v {
		out[i] = float16.Fromfloat32(float32(float64(x) * scale)).Float32()
	}
	return out, nil
}

// unit rounds v and scales it to length 1, so that a dot product is a cosine.
func unit(v []float32) ([]float32, error) {
	out, err := Round(v)
	if err != nil {
		return nil, err
	}
	sum := 0.0
	for _, x := range out {
		sum += float64(x) * float64(x)
	}
	scale := 1 / math.Sqrt(sum)
	for i, x := range out {
		out[i] = float32(float64(x) * scale)
	}
	return out, nil
}

// cosine keeps rounding from passing 1.
func cosine(dot float32) float64 { return float64(min(max(dot, -1), 1)) }
