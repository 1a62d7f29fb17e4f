package index

import (
	"encoding/binary"
	"math"

	"github.com/x448/float16"

	"github.com/slipboxhq/slipbox/internal/fault"
)

// The range in which binary16 keeps its 11 bits of precision.
const (
	maxHalf = 65504
	minHalf = 1.0 / (1 << 14)
)

// Round returns v as the stores keep it: each component rounded to the nearest IEEE binary16, so
// both engines and the index compute with the same numbers. A vector whose largest component is
// outside the range of binary16 is scaled to unit length first, which does not change cosines. NaN,
// an infinity, a vector of zeros and an empty one are faults on field "vector".
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
		y := float32(float64(x) * scale)
		if !isHalf(y) {
			y = float16.Fromfloat32(y).Float32()
		}
		out[i] = y
	}
	return out, nil
}

// isHalf reports whether x is a normal binary16, or zero. Most components that the stores return
// are.
func isHalf(x float32) bool {
	bits := math.Float32bits(x)
	exponent := bits >> 23 & 0xff
	return bits&0x1fff == 0 && (exponent-113 < 30 || bits<<1 == 0)
}

// maxCode is the largest magnitude of a component of a row's code.
const maxCode = 127

// roundsToEven added to a number of less than 2^51 leaves it as an integer in the lowest bits, in two's complement.
const roundsToEven = 0x1.8p52

// vector is a rounded vector: its components as binary16, padded for the kernels, and the factor
// that normalizes it.
type vector struct {
	halves  []uint16
	inverse float64 // 1 / Euclidean length
	largest float64 // largest magnitude of a component
}

// pack rounds v as [Round] does and converts it.
func pack(v []float32) (vector, error) {
	out := vector{halves: make([]uint16, padded(len(v)))}
	if out.set(v) { // what the stores return is rounded already
		return out, nil
	}
	rounded, err := Round(v)
	if err == nil {
		out.set(rounded)
	}
	return out, err
}

// set takes the components of a vector over. It reports false for a vector that is not rounded.
func (v *vector) set(components []float32) bool {
	halves := v.halves[:len(components)]
	all, largest, smallest := uint32(0), uint32(0), uint32(math.MaxUint32)
	for i, x := range components { // without a branch: three in four may be zero
		bits := math.Float32bits(x)
		magnitude := bits &^ (1 << 31)
		halves[i] = uint16(bits>>16&0x8000 | math.Float32bits(x*0x1p-112)>>13&0x7fff) //nolint:gosec // the inverse of fromHalf
		all |= bits
		largest = max(largest, magnitude)
		smallest = min(smallest, magnitude-1) // a zero is the largest here
	}
	if all&0x1fff != 0 || smallest < 113<<23-1 || largest >= 143<<23 {
		for i, x := range components {
			if isHalf(x) {
				continue
			}
			h := float16.Fromfloat32(x)
			if halves[i] = h.Bits(); h.Float32() != x { // else it is subnormal
				return false
			}
		}
	}
	v.largest, v.inverse = float64(math.Float32frombits(largest)), 1/math.Sqrt(sumOfSquares(components))
	return minHalf <= v.largest && v.largest <= maxHalf
}

// exactSquares is a bound below which sums of squares of binary16 numbers are exact: they are multiples of 2^-48.
const exactSquares = 1 << 4

// sumOfSquares returns the sum of the squares of binary16 numbers, as it is when they are added in order.
func sumOfSquares(v []float32) float64 {
	var a, b, c, d float64 // four sums do not wait for each other
	i := 0
	for ; i+4 <= len(v); i += 4 {
		a += float64(v[i]) * float64(v[i])
		b += float64(v[i+1]) * float64(v[i+1])
		c += float64(v[i+2]) * float64(v[i+2])
		d += float64(v[i+3]) * float64(v[i+3])
	}
	if sum := a + b + c + d; sum < exactSquares {
		for _, x := range v[i:] {
			sum += float64(x) * float64(x)
		}
		return sum
	}
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	return sum
}

// cosine returns the cosine of two vectors of the same size.
func cosine(a, b *vector) float64 {
	return min(max(float64(halfDot(a.halves, b.halves))*(a.inverse*b.inverse), -1), 1)
}

// encode writes the vector's codes, int8 as bytes, to codes. It returns the factor that converts a
// sum over the codes to a sum over the unit vector.
func (v *vector) encode(codes []byte) float32 {
	scale := maxCode / v.largest
	for i, h := range v.halves {
		codes[i] = byte(math.Float64bits(float64(float64(fromHalf(h))*scale) + roundsToEven)) //nolint:gosec // the lowest eight bits are an int8
	}
	return float32(v.inverse / scale)
}

// Probe compares one vector with those that the stores keep, and computes what an index does, to the last bit: notes that tie there tie
// here. It is not for concurrent use.
type Probe struct {
	dimensions int
	of, other  vector
}

// NewProbe returns a probe of a rounded vector.
func NewProbe(v []float32) (*Probe, error) {
	packed, err := pack(v)
	return &Probe{dimensions: len(v), of: packed, other: vector{halves: make([]uint16, len(packed.halves))}}, err
}

// Cosine returns the cosine with a vector of binary16 numbers, little endian. ok is false for a vector of zeros, or of another length.
func (p *Probe) Cosine(stored []byte) (cosineOf float64, ok bool) {
	if len(stored) != 2*p.dimensions {
		return 0, false
	}
	sum := 0.0
	for i := range p.dimensions {
		half := binary.LittleEndian.Uint16(stored[2*i:])
		f := float64(fromHalf(half))
		sum += f * f
		p.other.halves[i] = half
	}
	if sum == 0 {
		return 0, false
	}
	p.other.inverse = 1 / math.Sqrt(sum)
	return cosine(&p.of, &p.other), true
}

// queryVector is a query's vector: as it is, and as codes of up to 16 bits, because precision costs
// nothing for a single vector.
type queryVector struct {
	vector
	codes  []int16
	factor float64
}

func newQueryVector(v vector) *queryVector {
	q := &queryVector{vector: v, codes: make([]int16, len(v.halves))}
	scale := float64(maxComponent(len(v.halves))) / v.largest
	for i, h := range v.halves {
		q.codes[i] = int16(math.RoundToEven(float64(fromHalf(h)) * scale))
	}
	q.factor = v.inverse / scale
	return q
}
