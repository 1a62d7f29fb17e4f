package encoder

import (
	_ "embed"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/x448/float16"
)

// e5Layers is how many layers multilingual-e5-small has.
const e5Layers = 12

// e5Projection is like miniLMProjection.
//
//go:embed projection_e5.bin
var e5Projection []byte

// e5Center holds the mean vectors of queries and of passages, over sentences of our own (tools/encoder). The
// model's vectors lie in a narrow cone around them (L. Wang et al., Multilingual E5 Text Embeddings, 2024);
// without the mean their cosines spread over the whole range (J. Mu and P. Viswanath, All-but-the-Top, ICLR
// 2018).
//
//go:embed center_e5.bin
var e5Center []byte

// What the model was trained to read before a text.
const (
	queryPrefix   = "query:"
	passagePrefix = "passage:"
)

// blockNumbers is how many numbers share a scale in a matrix of four bits: a block is a scale in
// binary16 and 16 bytes. The low half of byte i is number i, the high half number i + 16; both are 8 too large.
const (
	blockNumbers = 32
	blockBytes   = 2 + blockNumbers/2
)

// e5File reads the file of the model: a header, the vocabulary, the normalization, a directory of matrices,
// the matrices; all little endian. After the first error, which is kept, all results are empty.
type e5File struct {
	head    []byte // what is left of the part before the matrices
	file    io.ReaderAt
	size    int64
	entries map[string]e5Entry
	err     error
}

type e5Entry struct {
	packed        bool // in blocks of four bits, else float32
	offset, bytes int64
}

// maxE5Head bounds the part of the file before the matrices; the model's has 4.6 MB.
const maxE5Head = 8 << 20

// readE5 reads the tokenizer and the weights, with an adapter or none. center is subtracted from vectors, see e5Center.
func readE5(f io.ReaderAt, size int64, center []byte, by *adapter) (*unigram, *weights, error) {
	r := &e5File{file: f, size: size, head: make([]byte, min(size, maxE5Head)), entries: map[string]e5Entry{}}
	if _, err := f.ReadAt(r.head, 0); err != nil {
		return nil, nil, fmt.Errorf("%w: no header: %w", ErrDamaged, err)
	}
	r.readHeader()
	u := r.readVocabulary()
	r.readDirectory()
	w := r.readWeights(by)
	if r.err == nil && len(u.scores) > r.words() {
		r.failf("%d pieces have vectors, not %d", r.words(), len(u.scores))
	}
	if r.err != nil {
		return nil, nil, r.err
	}
	if len(center) != 2*Dim*4 {
		return nil, nil, fmt.Errorf("%w: the centers have %d bytes, not %d", ErrDamaged, len(center), 2*Dim*4)
	}
	centers := floats(nil, center)
	u.queryCenter, u.passageCenter = centers[:Dim], centers[Dim:]
	var err error
	if by == nil {
		w.projection, err = readProjection(e5Projection)
	}
	return u, w, err
}

func (r *e5File) failf(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: "+format, append([]any{ErrDamaged}, args...)...)
	}
}

// next returns the next n bytes of the head.
func (r *e5File) next(n int) []byte {
	if r.err == nil && (n < 0 || n > len(r.head)) {
		r.failf("it ends too early")
	}
	if r.err != nil {
		return make([]byte, min(max(n, 0), 8)) // enough for a number
	}
	b := r.head[:n]
	r.head = r.head[n:]
	return b
}

func (r *e5File) uint32() uint32 { return binary.LittleEndian.Uint32(r.next(4)) }

func (r *e5File) length() int { return int(int32(r.uint32())) } //nolint:gosec // a negative length is refused where it is used

func (r *e5File) readHeader() {
	if string(r.next(4)) != "E5S1" {
		r.failf("it is not a file of this kind")
	}
	want := [...]uint32{1, Dim, e5Layers, heads, inner}
	for i, w := range want {
		if got := r.uint32(); got != w {
			r.failf("number %d of the header is %d, not %d", i, got, w)
		}
	}
	r.next(4) // size of the vocabulary: the pieces, and a mask that no text has
	if got := r.uint32(); got != positions {
		r.failf("it has %d positions, not %d", got, positions)
	}
	r.next(8) // kinds of texts, epsilon
	if got := r.uint32(); got != blockNumbers {
		r.failf("it has blocks of %d numbers, not %d", got, blockNumbers)
	}
}

func (r *e5File) readVocabulary() *unigram {
	n := r.length()
	var ids [4]int32 // begin, end, padding, unknown
	for i := range ids {
		ids[i] = int32(r.uint32()) //nolint:gosec // checked below
	}
	length := binary.LittleEndian.Uint64(r.next(8))
	if n <= 0 || n > len(r.head)/8 || length > uint64(len(r.head)) {
		r.failf("a vocabulary of %d pieces", n)
	}
	if r.err != nil {
		return nil
	}
	offsets, scores := make([]uint32, n+1), make([]float32, n)
	for i := range offsets {
		offsets[i] = r.uint32()
	}
	for i := range scores {
		scores[i] = math.Float32frombits(r.uint32())
	}
	pieces := string(r.next(int(length))) //nolint:gosec // not longer than the head
	replace := r.readNormalization()
	if r.err != nil {
		return nil
	}
	u, err := newUnigram(pieces, offsets, scores, replace)
	if err != nil {
		r.err = err
		return nil
	}
	for _, id := range ids {
		if id < 0 || int(id) >= n {
			r.failf("piece %d is not in the vocabulary", id)
			return nil
		}
	}
	u.begin, u.end, u.unknown = ids[0], ids[1], ids[3]
	for _, p := range []struct {
		text string
		at   *[]int32
	}{{queryPrefix, &u.query}, {passagePrefix, &u.passage}} {
		in := u.tokenize(p.text, false)
		*p.at = slices.Clone(in.ids[in.skip : len(in.ids)-1])
	}
	return u
}

// readNormalization reads what characters are replaced by, one by one: compatibility forms of Unicode.
func (r *e5File) readNormalization() map[rune]string {
	n := r.length()
	r.next(4) // its length in bytes
	if n < 0 || n > len(r.head)/5 {
		r.failf("a normalization of %d characters", n)
	}
	if r.err != nil {
		return nil
	}
	out := make(map[rune]string, n)
	for range n {
		c := rune(r.uint32()) //nolint:gosec // a wrong one is found in no text
		var to strings.Builder
		for range r.next(1)[0] {
			to.WriteRune(rune(r.uint32())) //nolint:gosec // a wrong one is written as the sign for it
		}
		out[c] = to.String()
	}
	return out
}

func (r *e5File) readDirectory() {
	n := r.length()
	if n < 0 || n > len(r.head)/23 {
		r.failf("a directory of %d matrices", n)
	}
	for range n {
		if r.err != nil {
			return
		}
		name := string(r.next(int(binary.LittleEndian.Uint16(r.next(2)))))
		kind := r.next(1)[0]
		r.next(4) // how many numbers
		offset, bytes := binary.LittleEndian.Uint64(r.next(8)), binary.LittleEndian.Uint64(r.next(8))
		if kind > 1 || offset > uint64(r.size) || bytes > uint64(r.size)-offset { //nolint:gosec // a size is not negative
			r.failf("matrix %q is not inside the file", name)
			return
		}
		r.entries[name] = e5Entry{packed: kind == 1, offset: int64(offset), bytes: int64(bytes)} //nolint:gosec // within size
	}
}

// find returns the entry of a matrix of n numbers.
func (r *e5File) find(name string, packed bool, n int) e5Entry {
	e, ok := r.entries[name]
	want := int64(4 * n)
	if packed {
		want = int64(n / blockNumbers * blockBytes)
	}
	if !ok || e.packed != packed || e.bytes != want {
		r.failf("no matrix %q of %d numbers", name, n)
	}
	return e
}

// read returns the numbers of a matrix; all are finite.
func (r *e5File) read(name string, packed bool, n int) []float32 {
	out := make([]float32, n)
	e := r.find(name, packed, n)
	if r.err != nil {
		return out
	}
	b := make([]byte, e.bytes)
	if _, err := r.file.ReadAt(b, e.offset); err != nil {
		r.failf("matrix %q: %w", name, err)
		return out
	}
	if packed {
		unpack(out, b)
	} else {
		floats(out[:0], b)
	}
	if i := slices.IndexFunc(out, isNotFinite); i >= 0 {
		r.failf("matrix %q holds %v", name, out[i])
	}
	return out
}

// unpack writes the numbers of blocks.
func unpack(dst []float32, b []byte) {
	for ; len(b) >= blockBytes; b, dst = b[blockBytes:], dst[blockNumbers:] {
		scale := float16.Frombits(binary.LittleEndian.Uint16(b)).Float32()
		for i, x := range b[2:blockBytes] {
			dst[i] = scale * float32(int(x&15)-8)
			dst[i+blockNumbers/2] = scale * float32(int(x>>4)-8)
		}
	}
}

func (r *e5File) readWeights(by *adapter) *weights {
	w := assembleWeights(r, e5Layers, e5Names, by)
	w.words = wordVectors{
		file: r.file, offset: r.find("emb.word", true, r.words()*Dim).offset, bytes: Dim / blockNumbers * blockBytes, decode: unpack,
	}
	return w
}

// e5Names are the names in the file.
var e5Names = names{
	position: "emb.pos", kind: "emb.type", norm: "emb.ln", layer: "l%d.",
	query: "q", key: "k", value: "v", attention: "ao", attentionNorm: "aln", up: "fi", down: "fo", layerNorm: "oln",
}

// table implements source.
func (r *e5File) table(name string, rows int) []float32 { return r.read(name, false, rows*Dim) }

// linear implements source.
func (r *e5File) linear(name string, in, out int) (rows, bias []float32) {
	return r.read(name+".w", true, out*in), r.read(name+".b", false, out)
}

// affine implements source.
func (r *e5File) affine(name string) affine {
	return affine{r.read(name+".w", false, Dim), r.read(name+".b", false, Dim)}
}

// words returns how many pieces have a vector.
func (r *e5File) words() int {
	return int(r.entries["emb.word"].bytes / (Dim / blockNumbers * blockBytes))
}
