package encoder

import (
	"math"
	"slices"
)

// scratch is the working memory of one pass. It is reused.
type scratch struct {
	x, y, qkv, context, up []float32
	score, mask, k, v      []float32
	codes, steps           []float32
	rounded                []int16       // rows of a matrix's input, in steps
	bytes                  [Dim * 4]byte // a row of the vocabulary
}

// resize returns a slice of n numbers with undefined values.
func resize[T any](s *[]T, n int) []T {
	*s = slices.Grow((*s)[:0], n)[:n]
	return *s
}

// forward computes texts. Their pieces are consecutive rows, without padding: only attention
// considers where a text ends.
func (e *Encoder) forward(s *scratch, inputs []input, out []Encoding) error {
	rows := 0
	for _, in := range inputs {
		rows += len(in.ids)
	}
	x, y := resize(&s.x, rows*Dim), resize(&s.y, rows*Dim)
	if err := e.embed(s, inputs, x, y); err != nil {
		return err
	}
	qkv, context := resize(&s.qkv, rows*3*Dim), resize(&s.context, rows*Dim)
	up := resize(&s.up, rows*inner)
	for i := range e.weights.layer {
		l := &e.weights.layer[i]
		e.linear(s, &l.qkv, rows, x, qkv)
		start := 0
		for _, in := range inputs {
			end := start + len(in.ids)
			e.attend(s, qkv[start*3*Dim:end*3*Dim], context[start*Dim:end*Dim])
			start = end
		}
		e.linear(s, &l.attention, rows, context, y)
		e.addNorm(x, y, l.attentionNorm)
		e.linear(s, &l.up, rows, x, up)
		e.kernels.gelu(up)
		e.linear(s, &l.down, rows, up, y)
		e.addNorm(x, y, l.norm)
	}
	e.writeOutput(s, inputs, x, out)
	return nil
}

// embed sets x to the normalized sum of the vectors of a piece and of its position.
func (e *Encoder) embed(s *scratch, inputs []input, x, y []float32) error {
	at := 0
	for _, in := range inputs {
		copy(y[at:], e.weights.position[:len(in.ids)*Dim])
		for _, id := range in.ids {
			if err := e.weights.wordVector(x[at:at+Dim], id, s.bytes[:]); err != nil {
				return err
			}
			at += Dim
		}
	}
	e.addNorm(x, y, e.weights.norm)
	return nil
}

// linear sets the rows of y to those of x times m.
func (e *Encoder) linear(s *scratch, m *matrix, rows int, x, y []float32) {
	q, steps := resize(&s.rounded, rows*m.in), resize(&s.steps, rows)
	e.kernels.roundRows(x, q, steps)
	e.kernels.linear(rows, q, steps, m, y)
}

func (e *Encoder) addNorm(x, y []float32, a affine) {
	for i := 0; i < len(x); i += Dim {
		e.kernels.addNorm(x[i:i+Dim], y[i:i+Dim], a.weight, a.bias)
	}
}

// masked is a score whose softmax is 0.
const masked = -1e30

// attend sets context to the attention of one text, for all heads.
func (e *Encoder) attend(s *scratch, qkv, context []float32) {
	n := len(context) / Dim
	wide := (n + panel - 1) / panel * panel // scores of a row, a multiple of the panel width
	score, mask := resize(&s.score, n*wide), resize(&s.mask, wide)
	clear(mask)
	for i := n; i < wide; i++ {
		mask[i] = masked
	}
	var zero [headDim]float32
	const stride = 3 * Dim
	for h := range heads {
		q := qkv[h*headDim:]
		s.k = pack(s.k[:0], q[Dim:], headDim, stride)
		e.kernels.multiply(n, wide, headDim, q, stride, s.k, mask, score, wide)
		for i := range n {
			e.kernels.softmax(score[i*wide : (i+1)*wide])
		}
		// The values are columns already: a panel copies them as they are.
		v := resize(&s.v, n*headDim)
		for i := range n {
			row := q[2*Dim+i*stride:][:headDim]
			for j := 0; j < headDim; j += panel {
				copy(v[j*n+i*panel:], row[j:j+panel])
			}
		}
		e.kernels.multiply(n, headDim, n, score, wide, v, zero[:], context[h*headDim:], Dim)
	}
}

// writeOutput computes the encodings from the rows of the last layer.
func (e *Encoder) writeOutput(s *scratch, inputs []input, x []float32, out []Encoding) {
	codes := resize(&s.codes, len(x)/Dim*TokenDim)
	e.linear(s, &e.weights.projection, len(x)/Dim, x, codes)
	row := 0
	for i, in := range inputs {
		n := len(in.ids)
		tokens := make([]Token, len(in.words))
		for j, w := range in.words {
			at := row + in.skip + j
			tokens[j] = Token{Start: w.start, End: w.end, Code: quantize(codes[at*TokenDim : (at+1)*TokenDim])}
		}
		vector := meanPool(x[row*Dim : (row+n)*Dim])
		if in.center != nil {
			subtractUnit(vector, in.center)
		}
		if e.weights.turn != nil {
			vector = turned(vector, e.weights.turn)
		}
		out[i] = Encoding{Vector: vector, Tokens: tokens}
		row += n
	}
}

// meanPool returns the mean of the rows, at unit length.
func meanPool(x []float32) []float32 {
	v := make([]float32, Dim)
	for ; len(x) > 0; x = x[Dim:] {
		for i, f := range x[:Dim] {
			v[i] += f
		}
	}
	normalize(v)
	return v
}

// subtractUnit subtracts the center of all texts from a vector, which keeps unit length.
func subtractUnit(v, center []float32) {
	for i, c := range center {
		v[i] -= c
	}
	normalize(v)
}

func normalize(v []float32) {
	var square float64
	for _, f := range v {
		square += float64(f) * float64(f)
	}
	scale := float32(1 / math.Sqrt(square))
	for i := range v {
		v[i] *= scale
	}
}

// quantize rounds a direction to bytes.
func quantize(x []float32) [TokenDim]int8 {
	var square float64
	for _, f := range x {
		square += float64(f) * float64(f)
	}
	scale := 127 / math.Sqrt(square)
	var c [TokenDim]int8
	for i, f := range x {
		c[i] = int8(math.RoundToEven(float64(f) * scale))
	}
	return c
}
