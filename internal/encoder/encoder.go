package encoder

import (
	"context"
	"errors"
	"sync"

	"github.com/slipboxhq/slipbox/internal/cpus"
)

// Sizes of the output, the same for all models.
const (
	// Dim is the length of a text's vector.
	Dim = 384
	// TokenDim is the length of a token's code.
	TokenDim = 64
)

// ErrDamaged means that a file of the model exists but is not the published one: truncated, altered
// or another model.
var ErrDamaged = errors.New("encoder: damaged model file")

// Config configures how an Encoder uses the machine.
type Config struct {
	// Parallel is the number of goroutines that encode batches at the same time, over all calls.
	// Default: one for each CPU. A call with a single text, as for a search, does not queue behind
	// batches, and while there is one, no more than half of them begin another pass, at least 1.
	Parallel int
}

// An Encoder holds the weights of a model. It is safe for concurrent use.
type Encoder struct {
	kernels  *kernels
	vocab    tokenizer
	weights  *weights
	scratch  sync.Pool
	batches  chan struct{}
	searches chan struct{}
}

// Encoding is the output of the model for one text.
type Encoding struct {
	// Vector has Dim numbers and unit length.
	Vector []float32
	// Tokens are the pieces of the text in order, without those that frame it.
	Tokens []Token
}

// Token is one word piece.
type Token struct {
	// Start and End are the range, in bytes of the text, of the whole word (or punctuation
	// mark) that the piece belongs to.
	Start, End int
	// Code is the direction of the token's vector in the last layer, projected to TokenDim
	// dimensions: unit length × 127, rounded.
	Code [TokenDim]int8
}

// Kernel returns the name of the kernels that this process uses: "avx2" or "generic".
func Kernel() string { return activeKernels.name }

// Open reads the files of a model in dir with the default Config.
func Open(m *Model, dir string) (*Encoder, error) { return New(m, dir, Config{}) }

// New reads the files of a model in dir and verifies them by their hashes. The error is
// fs.ErrNotExist when a file does not exist, and ErrDamaged when it is not the published one. The
// vectors of the vocabulary stay in the file, which is kept open; Close closes it.
func New(m *Model, dir string, c Config) (*Encoder, error) {
	v, w, err := m.read(dir, m.Files)
	if err != nil {
		return nil, err
	}
	return assemble(v, w, c), nil
}

func assemble(v tokenizer, w *weights, c Config) *Encoder {
	if c.Parallel <= 0 {
		c.Parallel = cpus.Count()
	}
	return &Encoder{
		kernels:  activeKernels,
		vocab:    v,
		weights:  w,
		batches:  make(chan struct{}, c.Parallel),
		searches: make(chan struct{}, cpus.Count()),
	}
}

// Close closes the file of the weights. It must not be called during or before an Encode.
func (e *Encoder) Close() error { return e.weights.close() }

// EncodeQueries is Encode for texts that ask for others. Some models read a question otherwise than
// what answers it.
func (e *Encoder) EncodeQueries(ctx context.Context, texts []string) ([]Encoding, error) {
	return e.encode(ctx, texts, true)
}

// Encode returns an Encoding for each text, in order. A text without a word (empty, only control
// characters) also has a valid vector, that of the frame alone, and no tokens. It fails when ctx
// ends, which is checked between passes of the model, and when reading the file of the weights
// fails.
func (e *Encoder) Encode(ctx context.Context, texts []string) ([]Encoding, error) {
	return e.encode(ctx, texts, false)
}

func (e *Encoder) encode(ctx context.Context, texts []string, queries bool) ([]Encoding, error) {
	inputs := make([]input, len(texts))
	out := make([]Encoding, len(texts))
	for i, text := range texts {
		inputs[i] = e.vocab.tokenize(text, queries)
	}
	if len(texts) == 1 {
		if err := e.pass(ctx, e.searches, inputs, out); err != nil {
			return nil, err
		}
		return out, nil
	}

	groups := group(inputs, cap(e.batches))
	next := make(chan span, len(groups))
	for _, g := range groups {
		next <- g
	}
	close(next)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wait sync.WaitGroup
	for worker := range min(cap(e.batches), len(groups)) {
		wait.Go(func() {
			for e.mayPass(worker) {
				g, more := <-next
				if !more {
					return
				}
				if err := e.pass(ctx, e.batches, inputs[g.start:g.end], out[g.start:g.end]); err != nil {
					cancel(err)
					return
				}
			}
		})
	}
	wait.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	return out, nil
}

// mayPass reports whether a worker of a batch may begin a pass. The first half always may; the others leave
// their CPUs to single texts, for the rest of the batch.
func (e *Encoder) mayPass(worker int) bool {
	return worker < max(1, cap(e.batches)/2) || len(e.searches) == 0
}

// The approximate number of word pieces that are computed together is at most passRows: enough that reading the
// weights from memory costs little compared with the arithmetic, and few enough that the activations stay in the
// second-level cache. It is at least fewRows where a small batch is shared by all workers.
const (
	passRows = 128
	fewRows  = 24
)

type span struct{ start, end int }

// group splits a batch into groups of adjacent texts that are computed together, for so many workers.
func group(inputs []input, workers int) []span {
	total := 0
	for _, in := range inputs {
		total += len(in.ids)
	}
	limit := min(passRows, max(fewRows, (total+workers-1)/workers))
	var out []span
	start, rows := 0, 0
	for i, in := range inputs {
		if rows > 0 && rows+len(in.ids) > limit {
			out = append(out, span{start, i})
			start, rows = i, 0
		}
		rows += len(in.ids)
	}
	if start < len(inputs) {
		out = append(out, span{start, len(inputs)})
	}
	return out
}

// pass computes texts in one pass of the model, when one of the slots is free.
func (e *Encoder) pass(ctx context.Context, slots chan struct{}, inputs []input, out []Encoding) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	select {
	case slots <- struct{}{}:
		defer func() { <-slots }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	s, ok := e.scratch.Get().(*scratch)
	if !ok {
		s = new(scratch)
	}
	defer e.scratch.Put(s)
	return e.forward(s, inputs, out)
}

// Pieces returns what the model reads of a text: the numbers of its pieces with those that frame it, how many of them
// precede the text, and its words as Encode does, without codes. tools/train reads texts so.
func (e *Encoder) Pieces(text string, query bool) (ids []int32, skip int, words []Token) {
	in := e.vocab.tokenize(text, query)
	words = make([]Token, len(in.words))
	for i, w := range in.words {
		words[i] = Token{Start: w.start, End: w.end}
	}
	return in.ids, in.skip, words
}
