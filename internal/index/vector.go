package index

import (
	"encoding/binary"
	"math"

	"github.com/x448/float16"

	"github.com/slipboxhq/slipbox/internal/fault"
)

// A vector is kept in 12 bits a component: each is a whole number of at most maxWhole times one power of two, its unit, in which the
// largest is at least 1,020. Such numbers are binary16, too, so Postgres keeps them as halfvec. The numbers of a vector that is kept
// so are those that were rounded, and rounding them again changes none.
const (
	// maxWhole is the largest number whose upper eight bits, rounded, are an int8.
	maxWhole = maxCode<<lowBits + lowHalf - 1
	// maxCode is the largest magnitude of the upper eight bits, the code of a component.
	maxCode = 127
	lowBits = 4
	lowHalf = 1 << (lowBits - 1)
)

// The range of the largest component in which all are binary16.
const (
	maxHalf      = 65504
	largestKept  = maxWhole << 5
	smallestKept = 1.0 / (1 << 14)
)

// Round returns v as the stores and the index keep it, in 12 bits a component, so that both engines and the index compute with the
// same numbers. A vector whose largest component is below 2^-14 or above 65,248 is scaled to unit length first, which does not
// change cosines. NaN, an infinity, a vector of zeros and an empty one are faults on field "vector".
func Round(v []float32) ([]float32, error) {
	v, scale, err := scaled(v)
	if err != nil {
		return nil, err
	}
	out, unit := make([]float32, len(v)), 1/scale
	for i, x := range v {
		out[i] = float32(whole(x, scale)) * unit
	}
	return out, nil
}

// scaled returns v, or v scaled to unit length, and the power of two that the whole numbers are its multiples by. Errors are those
// of [Round].
func scaled(v []float32) ([]float32, float32, error) {
	const infinite = 0xff << 23
	largest := uint32(0)
	for _, x := range v {
		largest = max(largest, math.Float32bits(x)&^(1<<31))
	}
	switch {
	case len(v) == 0:
		return nil, 0, fault.InvalidField("vector", "empty")
	case largest == 0:
		return nil, 0, fault.InvalidField("vector", "all components are zero")
	case largest >= infinite:
		i := 0
		for math.Float32bits(v[i])&infinite != infinite {
			i++
		}
		return nil, 0, fault.InvalidField("vector", "component %d is not a finite number", i)
	}
	most := math.Float32frombits(largest)
	if most < smallestKept || most > largestKept {
		return scaled(unit(v))
	}
	scale := math.Float32frombits((127+10+127)<<23 - largest&infinite) // most * scale is at least 1,024 and less than 2,048
	if whole(most, scale) > maxWhole {
		scale /= 2
	}
	return v, scale, nil
}

// unit returns a vector of finite numbers at length one.
func unit(v []float32) []float32 {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	out, scale := make([]float32, len(v)), 1/math.Sqrt(sum)
	for i, x := range v {
		out[i] = float32(float64(x) * scale)
	}
	return out
}

// whole returns x * scale, which is at most 2,048, as the nearest whole number; of two, the even one.
func whole(x, scale float32) int32 {
	const nearest = 0x1.8p23                                                     // the sum has the number in its lowest bits
	return int32(math.Float32bits(float32(x*scale)+nearest)) - int32(0x4b400000) //nolint:gosec // the bits of nearest
}

// packed is a vector as a row has it: its whole numbers in two planes, padded for the kernels, and the factor that normalizes them.
type packed struct {
	codes   []byte  // int8: the upper eight bits, rounded
	low     []byte  // what they lack, 8 too large. Of 32 components, byte i has the one of number i and, four bits higher, of i + 16
	inverse float64 // 1 / Euclidean length of the whole numbers
}

// newPacked returns a packed vector of n components, in one piece of memory.
func newPacked(n int) packed {
	stride := padded(n)
	b := make([]byte, stride+stride/2)
	return packed{codes: b[:stride:stride], low: b[stride:]}
}

// pack rounds v as [Round] does and packs it.
func pack(v []float32) (packed, error) {
	v, scale, err := scaled(v)
	if err != nil {
		return packed{}, err
	}
	p := newPacked(len(v))
	p.inverse = inverseOf(p.set(v, scale))
	return p, nil
}

// set sets the components to those of v, and returns the sum of their squares.
func (p *packed) set(v []float32, scale float32) (squares int64) {
	for at := 0; at < len(p.codes); at += lanes {
		codes, low := (*[lanes]byte)(p.codes[at:]), (*[lanes / 2]byte)(p.low[at/2:])
		var part [lanes]float32
		copy(part[:], v[at:])
		for i := range low {
			x, y := whole(part[i], scale), whole(part[i+lanes/2], scale)
			squares += int64(x*x) + int64(y*y)
			x, y = x+lowHalf, y+lowHalf
			codes[i], codes[i+lanes/2] = byte(x>>lowBits), byte(y>>lowBits) //nolint:gosec // of maxWhole, at most maxCode
			low[i] = byte(x&(1<<lowBits-1) | y&(1<<lowBits-1)<<lowBits)     //nolint:gosec // two times four bits
		}
	}
	return squares
}

// group returns the whole numbers of the components from a multiple of lanes on.
func (p *packed) group(at int) (out [lanes]int16) {
	codes, low := (*[lanes]byte)(p.codes[at:]), (*[lanes / 2]byte)(p.low[at/2:])
	for i, b := range low {
		out[i], out[i+lanes/2] = join(codes[i], b&(1<<lowBits-1)), join(codes[i+lanes/2], b>>lowBits)
	}
	return out
}

// join returns the number with a code and low bits.
func join(code, bits byte) int16 {
	return int16(int8(code))<<lowBits + int16(bits) - lowHalf //nolint:gosec // codes are int8
}

// wholes returns the whole numbers with the padding.
func (p *packed) wholes() []int16 {
	out := make([]int16, len(p.codes))
	for at := 0; at < len(out); at += lanes {
		*(*[lanes]int16)(out[at:]) = p.group(at)
	}
	return out
}

func inverseOf(squares int64) float64 { return 1 / math.Sqrt(float64(squares)) }

// queryVector is a vector that others are compared with: its whole numbers, padded.
type queryVector struct {
	wholes  []int16
	inverse float64 // as of packed

	codes  []int16 // what a scan multiplies codes by: the whole numbers, or fewer bits of very many
	factor float64 // converts a sum over codes, times the inverse of the row, into a cosine
}

func newQueryVector(p packed) *queryVector {
	q := &queryVector{wholes: p.wholes(), inverse: p.inverse, factor: p.inverse * (1 << lowBits)}
	q.codes = q.wholes
	if most := maxComponent(len(q.wholes)); most < maxWhole {
		q.codes = make([]int16, len(q.wholes))
		for i, x := range q.wholes {
			q.codes[i] = int16(int(x) * most / maxWhole) //nolint:gosec // smaller than x
		}
		q.factor *= maxWhole / float64(most)
	}
	return q
}

// cosine returns the cosine of two vectors of the same size.
func (q *queryVector) cosine(p *packed) float64 {
	dot, _ := wholeDots(q.wholes, p.codes, p.low)
	return clampCosine(float64(dot) * (q.inverse * p.inverse))
}

func clampCosine(x float64) float64 { return min(max(x, -1), 1) }

// A vector in a store has a header of three bytes before its planes: its form, the exponent of its unit, and the number of components
// that its planes have too much. Planes are multiples of 48 bytes, so the length is odd. Before, a vector was two bytes of binary16
// for each component, which is an even length, with any number of components.
const (
	packedHeader = 3
	packedForm   = 1
	unitBias     = 128
)

// Pack returns a vector of binary16 numbers as stores without a type for it keep it. [Unpack] returns the same numbers: those that
// [Round] has not rounded, as vectors were kept before, take two bytes each.
func Pack(v []float32) []byte {
	at, scale, err := scaled(v)
	if err != nil || &at[0] != &v[0] {
		return Halves(v)
	}
	p := newPacked(len(v))
	p.set(v, scale)
	unit := 1 / scale
	for i, x := range p.wholes()[:len(v)] {
		if float32(x)*unit != v[i] {
			return Halves(v)
		}
	}
	exponent, padding := int(math.Float32bits(unit)>>23)-127+unitBias, len(p.codes)-len(v)
	return append(append([]byte{packedForm, byte(exponent), byte(padding)}, p.codes...), p.low...) //nolint:gosec // less than 256
}

// planes returns the planes of a vector in a store that is packed, and how many components it has.
func planes(stored []byte) (p packed, n int, ok bool) {
	size := len(stored) - packedHeader
	if size <= 0 || size%(lanes+lanes/2) != 0 || stored[0] != packedForm || stored[2] >= lanes {
		return p, 0, false
	}
	stride := size / 3 * 2
	return packed{codes: stored[packedHeader:][:stride], low: stored[packedHeader+stride:]}, stride - int(stored[2]), true
}

// Unpack returns the vector that [Pack] or [Halves] has made bytes of; nil for no bytes, and for others.
func Unpack(stored []byte) []float32 {
	p, n, ok := planes(stored)
	switch {
	case ok:
		unit := math.Float32frombits(uint32(int(stored[1])-unitBias+127) << 23) //nolint:gosec // a byte
		v := make([]float32, len(p.codes))
		for at := 0; at < len(v); at += lanes {
			out := (*[lanes]float32)(v[at:])
			for i, x := range p.group(at) {
				out[i] = float32(x) * unit
			}
		}
		return v[:n:n]
	case len(stored) == 0 || len(stored)%2 != 0:
		return nil
	}
	v := make([]float32, len(stored)/2)
	fromHalves(v, stored)
	return v
}

// fromHalves reverses [Halves].
func fromHalves(v []float32, stored []byte) {
	for i := range v {
		v[i] = fromHalf(binary.LittleEndian.Uint16(stored[2*i:]))
	}
}

// Halves returns binary16 numbers as bytes, little endian.
func Halves(v []float32) []byte {
	b := make([]byte, 0, 2*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint16(b, float16.Fromfloat32(x).Bits())
	}
	return b
}

// fromHalf returns the value of a binary16. The exponent of one has five bits, so its place in a float32 stands for a
// number that is smaller by 2^112; the product is exact, also of a subnormal one.
func fromHalf(h uint16) float32 {
	f := math.Float32frombits(uint32(h&0x7fff)<<13) * 0x1p112
	if f > maxHalf { // infinite, or no number
		return float16.Frombits(h).Float32()
	}
	return math.Float32frombits(math.Float32bits(f) | uint32(h&0x8000)<<16)
}

// Probe compares one vector with those that the stores keep, and computes what an index does, to the last bit: notes that tie there
// tie here. It is not for concurrent use.
type Probe struct {
	of    *queryVector
	read  []float32 // a vector of before; as many as of has
	other packed    // that, packed
}

// NewProbe returns a probe of a vector.
func NewProbe(v []float32) (*Probe, error) {
	p, err := pack(v)
	if err != nil {
		return nil, err
	}
	return &Probe{of: newQueryVector(p), read: make([]float32, len(v)), other: newPacked(len(v))}, nil
}

// Cosine returns the cosine with a vector as [Pack] or [Halves] has made bytes of it. ok is false for a vector of zeros, or of
// another length.
func (p *Probe) Cosine(stored []byte) (cosine float64, ok bool) {
	other, n, ok := planes(stored)
	if !ok && len(stored) == 2*len(p.read) {
		fromHalves(p.read, stored)
		v, scale, err := scaled(p.read)
		if err != nil {
			return 0, false
		}
		p.other.set(v, scale)
		other, n = p.other, len(v)
	}
	if n != len(p.read) {
		return 0, false
	}
	dot, squares := wholeDots(p.of.wholes, other.codes, other.low)
	if squares == 0 {
		return 0, false
	}
	return clampCosine(float64(dot) * (p.of.inverse * inverseOf(squares))), true
}
