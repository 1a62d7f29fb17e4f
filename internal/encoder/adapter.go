package encoder

import (
	_ "embed"
	"encoding/binary"
	"fmt"
	"sync"
	"weak"

	"github.com/x448/float16"
)

// miniLMAdapter, e5Adapter and, of 0.1.0, e5Adapter2 are what training on conversations changed in the models (tools/train; the card beside
// them says of what): for each matrix of the upper layers two narrow ones, whose product is added to it, and the projection that computes
// codes. Those of e5 are trained behind its turn, in the space that MiniLM has with its adapter.
//
//go:embed adapter_minilm.bin
var miniLMAdapter []byte

//go:embed adapter_e5.bin
var e5Adapter []byte

//go:embed adapter_e5_talk2.bin
var e5Adapter2 []byte

// adapter holds low-rank changes of matrices. All numbers of the file are binary16, little endian, behind a header of 16 bytes: the
// mark, the first layer, the number of layers, the rank.
type adapter struct {
	first      int                // layer that it changes
	products   map[string]product // by the name of the matrix
	rank       int
	projection []float32 // Dim × TokenDim
}

// product is an out × rank matrix times a rank × in one.
type product struct{ up, down []float32 }

const adapterMark = "SBA1"

// readAdapter reads the adapter of a model with these names and layers.
func readAdapter(b []byte, n names, layers int) (*adapter, error) {
	const header = 16
	if len(b) < header || string(b[:4]) != adapterMark {
		return nil, fmt.Errorf("%w: the adapter has no header", ErrDamaged)
	}
	number := func(i int) int { return int(binary.LittleEndian.Uint32(b[4*i:])) }
	first, count, rank := number(1), number(2), number(3)
	shapes := []struct {
		name    string
		in, out int
	}{{n.query, Dim, Dim}, {n.key, Dim, Dim}, {n.value, Dim, Dim}, {n.attention, Dim, Dim}, {n.up, Dim, inner}, {n.down, inner, Dim}}
	numbers := 0
	for _, s := range shapes {
		numbers += s.in + s.out
	}
	if first+count != layers || rank > Dim || len(b) != header+2*(count*rank*numbers+Dim*TokenDim) {
		return nil, fmt.Errorf("%w: an adapter of %d layers from %d, rank %d, in %d bytes", ErrDamaged, count, first, rank, len(b))
	}
	b = b[header:]
	next := func(n int) []float32 {
		out := make([]float32, n)
		for i := range out {
			out[i] = float16.Frombits(binary.LittleEndian.Uint16(b[2*i:])).Float32()
		}
		b = b[2*n:]
		return out
	}
	a := &adapter{first: first, products: map[string]product{}, rank: rank}
	for i := range count {
		for _, s := range shapes {
			p := product{down: next(rank * s.in)}
			p.up = next(s.out * rank)
			a.products[fmt.Sprintf(n.layer, first+i)+s.name] = p
		}
	}
	a.projection = next(Dim * TokenDim)
	return a, nil
}

// adapted is a source whose matrices are changed as they are read, so that a text costs what it costs without.
type adapted struct {
	source
	by *adapter
}

// linear implements source.
func (a adapted) linear(name string, in, out int) (rows, bias []float32) {
	rows, bias = a.source.linear(name, in, out)
	p, ok := a.by.products[name]
	if !ok || len(rows) != in*out {
		return rows, bias
	}
	for o := range out {
		row := rows[o*in : (o+1)*in]
		for r, u := range p.up[o*a.by.rank : (o+1)*a.by.rank] {
			for i, d := range p.down[r*in : (r+1)*in] {
				row[i] += u * d
			}
		}
	}
	return rows, bias
}

// inUse holds weights by the SHA-256 of the file that they were read from.
var inUse = struct {
	sync.Mutex
	of map[string]weak.Pointer[weights]
}{of: map[string]weak.Pointer[weights]{}}

// share makes the lower layers those of other weights of the file, where a model with an adapter and one without are in use: both
// keep them once. The file must have been verified.
func (w *weights) share(f File) {
	inUse.Lock()
	defer inUse.Unlock()
	other := inUse.of[f.SHA256].Value()
	if other != nil {
		copy(w.layer, other.layer[:min(w.published, other.published)])
	}
	if other == nil || other.published < w.published {
		inUse.of[f.SHA256] = weak.Make(w)
	}
}
