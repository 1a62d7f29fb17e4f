package encoder

import (
	"bytes"
	_ "embed"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
)

// Sizes inside the models.
const (
	heads     = 12
	headDim   = Dim / heads
	inner     = 4 * Dim
	positions = 512

	miniLMLayers = 6
	miniLMWords  = 30522
)

// miniLMProjection holds the matrix that computes the codes of tokens: Dim × TokenDim float32, little
// endian, row by row. tools/encoder fits it.
//
//go:embed projection.bin
var miniLMProjection []byte

// weights are the model's parameters, with every matrix packed for the kernels.
type weights struct {
	words wordVectors
	close func() error
	// position includes the vector of the type: all texts have type 0 here.
	position   []float32
	norm       affine
	layer      []layer
	published  int // how many of the lower layers no adapter changed
	projection matrix
	turn       []float32 // into the space of another model, Dim × Dim; nil: the vectors stay as they are
}

// wordVectors are the vectors of the vocabulary, which stay in the file: a text needs few of them, and the
// system keeps those that are used in memory.
type wordVectors struct {
	file   io.ReaderAt
	offset int64
	bytes  int                           // of one vector
	decode func(dst []float32, b []byte) // writes one vector
}

// affine is the weight and bias of a layer normalization.
type affine struct{ weight, bias []float32 }

type layer struct {
	// qkv is the query, key and value side by side; the query is scaled by the factor of attention,
	// 1/√headDim.
	qkv, attention, up, down matrix
	attentionNorm, norm      affine
}

// matrix is a linear map of in to out numbers. Its numbers are integers of 16 bits in units of a step, one step for
// each of the outputs, in out/panel panels: each holds the first two numbers of all its outputs, then the next two.
type matrix struct {
	in, out     int
	panels      []int16
	steps, bias []float32
}

// readWeights reads a model in the safetensors format, with an adapter or none.
func readWeights(f io.ReaderAt, size int64, by *adapter) (*weights, error) {
	r, err := readHeader(f, size)
	if err != nil {
		return nil, err
	}
	w := assembleWeights(r, miniLMLayers, miniLMNames, by)
	w.words = wordVectors{
		file: f, offset: r.offsetOf("embeddings.word_embeddings.weight", miniLMWords, Dim), bytes: Dim * 4,
		decode: func(dst []float32, b []byte) { floats(dst[:0], b) },
	}
	if r.err != nil {
		return nil, r.err
	}
	w.position = slices.Clip(w.position[:miniLMTokens*Dim])
	if by == nil {
		w.projection, err = readProjection(miniLMProjection)
	}
	return w, err
}

// source reads the matrices of a file by name. After the first error, which it keeps, they are empty.
type source interface {
	// table returns rows of Dim numbers.
	table(name string, rows int) []float32
	// linear returns a linear layer of in to out numbers.
	linear(name string, in, out int) (rows, bias []float32)
	affine(name string) affine
}

// names are what a file calls its matrices. layer has the number of the layer, and precedes those of one.
type names struct {
	position, kind, norm, layer        string
	query, key, value, attention       string
	attentionNorm, up, down, layerNorm string
}

// miniLMNames are the names in the file.
var miniLMNames = names{
	position: "embeddings.position_embeddings.weight", kind: "embeddings.token_type_embeddings.weight", norm: "embeddings.LayerNorm",
	layer: "encoder.layer.%d.", query: "attention.self.query", key: "attention.self.key", value: "attention.self.value",
	attention: "attention.output.dense", attentionNorm: "attention.output.LayerNorm",
	up: "intermediate.dense", down: "output.dense", layerNorm: "output.LayerNorm",
}

// assembleWeights reads all but the vectors of the vocabulary, and the projection only from an adapter.
func assembleWeights(r source, layers int, n names, by *adapter) *weights {
	var projection matrix
	unchanged := layers
	if by != nil {
		r, projection, unchanged = adapted{r, by}, projectionOf(by.projection), by.first
	}
	w := &weights{
		norm: r.affine(n.norm), position: r.table(n.position, positions), layer: make([]layer, layers), published: unchanged, projection: projection,
	}
	kind := r.table(n.kind, 2)
	for i := range w.position {
		w.position[i] += kind[i%Dim]
	}
	for i := range w.layer {
		of := fmt.Sprintf(n.layer, i)
		w.layer[i] = layer{
			qkv:           readMatrix(r, Dim, Dim, of+n.query, of+n.key, of+n.value),
			attention:     readMatrix(r, Dim, Dim, of+n.attention),
			attentionNorm: r.affine(of + n.attentionNorm),
			up:            readMatrix(r, Dim, inner, of+n.up),
			down:          readMatrix(r, inner, Dim, of+n.down),
			norm:          r.affine(of + n.layerNorm),
		}
		w.layer[i].qkv.scaleOutputs(Dim, float32(1/math.Sqrt(headDim)))
	}
	return w
}

// readMatrix reads linear layers of in to out numbers and packs them side by side.
func readMatrix(r source, in, out int, names ...string) matrix {
	m := matrix{in: in, panels: make([]int16, 0, in*out*len(names))}
	for _, name := range names {
		rows, bias := r.linear(name, in, out)
		m.add(rows, bias)
	}
	return m
}

func readProjection(file []byte) (matrix, error) {
	if len(file) != Dim*TokenDim*4 {
		return matrix{in: Dim}, fmt.Errorf("%w: the projection has %d bytes, not %d", ErrDamaged, len(file), Dim*TokenDim*4)
	}
	return projectionOf(floats(nil, file)), nil
}

// projectionOf returns the map of a Dim × TokenDim matrix.
func projectionOf(columns []float32) matrix {
	m, rows := matrix{in: Dim}, make([]float32, Dim*TokenDim)
	for i := range Dim {
		for j := range TokenDim {
			rows[j*Dim+i] = columns[i*TokenDim+j]
		}
	}
	m.add(rows, make([]float32, TokenDim))
	return m
}

// add adds outputs to the map: rows of m.in numbers, as many as fill panels. They are rounded alike on all machines.
func (m *matrix) add(rows, bias []float32) {
	q := make([]int16, m.in)
	m.panels = slices.Grow(m.panels, len(rows))[:len(m.panels)+len(rows)]
	for ; len(rows) > 0; rows = rows[m.in:] {
		m.steps = append(m.steps, roundGeneric(rows[:m.in], q))
		at := m.panels[m.out/panel*panel*m.in+m.out%panel*2:]
		for i, v := range q {
			at[i/2*2*panel+i%2] = v
		}
		m.out++
	}
	m.bias = append(m.bias, bias...)
}

// scaleOutputs multiplies the first n outputs by f.
func (m *matrix) scaleOutputs(n int, f float32) {
	for i := range n {
		m.steps[i] *= f
		m.bias[i] *= f
	}
}

// wordVector reads the vector of one entry of the vocabulary into dst.
func (w *weights) wordVector(dst []float32, id int32, buffer []byte) error {
	b := buffer[:w.words.bytes]
	if _, err := w.words.file.ReadAt(b, w.words.offset+int64(id)*int64(w.words.bytes)); err != nil {
		return fmt.Errorf("encoder: read the weights: %w", err)
	}
	w.words.decode(dst, b)
	return nil
}

// tensors reads a safetensors file: eight bytes with the length of a JSON header, the header (by
// name: type, shape, range of bytes after the header), the numbers, little endian. After the first
// error, which is kept, all results are empty.
type tensors struct {
	file   io.ReaderAt
	start  int64
	size   int64
	header map[string]tensor
	buffer []byte
	err    error
}

type tensor struct {
	Type  string   `json:"dtype"`
	Shape []int    `json:"shape"`
	Range [2]int64 `json:"data_offsets"`
}

// maxHeader bounds the length of the header; the model's has 11 KB.
const maxHeader = 1 << 20

func readHeader(f io.ReaderAt, size int64) (*tensors, error) {
	var length [8]byte
	if _, err := f.ReadAt(length[:], 0); err != nil {
		return nil, fmt.Errorf("%w: no header: %w", ErrDamaged, err)
	}
	n := binary.LittleEndian.Uint64(length[:])
	if n > maxHeader || int64(n) > size-8 {
		return nil, fmt.Errorf("%w: a header of %d bytes", ErrDamaged, n)
	}
	text := make([]byte, n)
	if _, err := f.ReadAt(text, 8); err != nil {
		return nil, fmt.Errorf("%w: short header: %w", ErrDamaged, err)
	}
	r := &tensors{file: f, start: 8 + int64(n), size: size}
	var header map[string]json.RawMessage
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(&header); err != nil {
		return nil, fmt.Errorf("%w: header: %w", ErrDamaged, err)
	}
	r.header = make(map[string]tensor, len(header))
	for name, raw := range header {
		if name == "__metadata__" {
			continue
		}
		var t tensor
		if err := json.Unmarshal(raw, &t); err != nil {
			return nil, fmt.Errorf("%w: header of %q: %w", ErrDamaged, name, err)
		}
		r.header[name] = t
	}
	return r, nil
}

// offsetOf returns where in the file a float32 tensor of this shape begins.
func (r *tensors) offsetOf(name string, shape ...int) int64 {
	if r.err != nil {
		return 0
	}
	t, ok := r.header[name]
	bytes := int64(4)
	for _, n := range shape {
		bytes *= int64(n)
	}
	switch {
	case !ok:
		r.err = fmt.Errorf("%w: no tensor %q", ErrDamaged, name)
	case t.Type != "F32" || !slices.Equal(t.Shape, shape):
		r.err = fmt.Errorf("%w: tensor %q is %s %v, not F32 %v", ErrDamaged, name, t.Type, t.Shape, shape)
	case t.Range[0] < 0 || t.Range[0] > r.size || t.Range[1]-t.Range[0] != bytes || r.start+t.Range[1] > r.size:
		r.err = fmt.Errorf("%w: tensor %q is not inside the file", ErrDamaged, name)
	default:
		return r.start + t.Range[0]
	}
	return 0
}

// readTensor returns a tensor's numbers, row by row; all are finite.
func (r *tensors) readTensor(name string, shape ...int) []float32 {
	offset := r.offsetOf(name, shape...)
	n := 1
	for _, s := range shape {
		n *= s
	}
	out := make([]float32, 0, n)
	if r.err != nil {
		return out[:n]
	}
	r.buffer = slices.Grow(r.buffer[:0], n*4)[:n*4]
	if _, err := r.file.ReadAt(r.buffer, offset); err != nil {
		r.err = fmt.Errorf("%w: tensor %q: %w", ErrDamaged, name, err)
		return out[:n]
	}
	out = floats(out, r.buffer)
	if i := slices.IndexFunc(out, isNotFinite); i >= 0 {
		r.err = fmt.Errorf("%w: tensor %q holds %v", ErrDamaged, name, out[i])
	}
	return out
}

// isNotFinite reports whether a number is infinite or none: all bits of its exponent are set.
func isNotFinite(v float32) bool { return math.Float32bits(v)&infinity == infinity }

const infinity = 0x7f800000

// table implements source.
func (r *tensors) table(name string, rows int) []float32 { return r.readTensor(name, rows, Dim) }

// linear implements source.
func (r *tensors) linear(name string, in, out int) (rows, bias []float32) {
	return r.readTensor(name+".weight", out, in), r.readTensor(name+".bias", out)
}

// affine implements source.
func (r *tensors) affine(name string) affine {
	return affine{r.readTensor(name+".weight", Dim), r.readTensor(name+".bias", Dim)}
}

// pack appends rows, each of k numbers and stride apart, as panels: for each panel of rows, first
// their first numbers, then their second. Rows of zeros fill the last panel.
func pack(dst, rows []float32, k, stride int) []float32 {
	for len(rows) > 0 {
		block := rows[:min(len(rows), panel*stride)]
		rows = rows[len(block):]
		start := len(dst)
		dst = slices.Grow(dst, k*panel)[:start+k*panel]
		packed := dst[start:]
		clear(packed)
		for j := 0; j*stride < len(block); j++ {
			for i, v := range block[j*stride : j*stride+k] {
				packed[i*panel+j] = v
			}
		}
	}
	return dst
}

// floats appends the little-endian float32 of b.
func floats(dst []float32, b []byte) []float32 {
	at, n := len(dst), len(b)/4
	dst = slices.Grow(dst, n)[:at+n]
	for i := range dst[at:] {
		dst[at+i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	return dst
}
