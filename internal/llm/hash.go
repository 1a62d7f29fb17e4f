package llm

import (
	"context"
	"hash/fnv"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/text"
)

// HashName is the recorded name of the hashed n-gram embedder. Its vectors depend on the text and on the
// terms of package text alone. A change that changes any vector needs a new name, because vectors of
// one name are compared with each other.
const HashName = "hash-384-v2"

// HashDim is the number of dimensions of the hashed embedder's vectors.
const HashDim = 384

// Hash is the embedder without weights, network or key. It hashes index terms, pairs of adjacent
// terms and character n-grams to a dimension and a sign, weighs them sublinearly, and scales the
// sum to length one. Texts are similar when they share words or spellings; it knows no meanings.
//
// All sums are of integers, so vectors are equal bit for bit on every platform.
type Hash struct{}

// Name returns HashName.
func (Hash) Name() string { return HashName }

// Dim returns HashDim.
func (Hash) Dim() int { return HashDim }

// Fast returns true: a note takes about ten microseconds.
func (Hash) Fast() bool { return true }

// Spelling returns true: vectors compare spellings, not meanings.
func (Hash) Spelling() bool { return true }

// Embed fails only when the context is canceled. A text without words is embedded by its characters,
// an empty one as the first unit vector.
func (Hash) Embed(ctx context.Context, _ tenant.Scope, texts []string) ([]memory.Embedding, error) {
	out := make([]memory.Embedding, len(texts))
	for i, t := range texts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		out[i].Vector = hashVector(t)
	}
	return out, nil
}

// The weights of features, in thousandths of a term's weight, chosen by recall of evidence in long
// conversations: parts of words help, word order hardly does.
const (
	termWeight = 1000
	pairWeight = 150
	gramWeight = 500
)

// labeledParts are the labeled parts of [memory.EmbedText] and how much a word counts in each, in
// tenths: the extract repeats the content, and tags are broad. A text without labels, such as a
// query, is content only.
var labeledParts = []struct {
	prefix string
	tenths int64
}{
	{"context: ", 3},
	{"keywords: ", 10},
	{"tags: ", 3},
}

// contentTenths is how much a word of the content counts, in tenths.
const contentTenths = 10

// hashVector returns the vector of one text.
func hashVector(s string) []float32 {
	found := features{}
	var body strings.Builder
	add := func(part string, tenths int64) { found.addTerms(text.Terms(part), tenths) }
	for i, line := range strings.Split(s, "\n") {
		part, tenths := line, int64(0)
		for _, l := range labeledParts {
			if rest, ok := strings.CutPrefix(line, l.prefix); ok && i > 0 {
				part, tenths = rest, l.tenths
				break
			}
		}
		if tenths == 0 {
			body.WriteString(line)
			body.WriteByte('\n')
			continue
		}
		add(part, tenths)
	}
	content := body.String()
	terms := text.Terms(content)
	if len(terms) == 0 {
		terms = text.Words(content) // there are only stop words
	}
	found.addTerms(terms, contentTenths)
	if len(found) == 0 {
		for _, r := range strings.TrimSpace(s) {
			found.add(hash('r', string(r), ""), termWeight, contentTenths)
		}
	}

	var sums [HashDim]int64
	for h, f := range found {
		w := f.damped()
		if h>>63 == 1 {
			w = -w
		}
		sums[h%HashDim] += w
	}
	return normalized(&sums)
}

// addTerms counts terms, pairs of adjacent terms, and the character n-grams of every term.
func (f features) addTerms(terms []string, tenths int64) {
	before := ""
	for _, t := range terms {
		f.add(hash('t', t, ""), termWeight, tenths)
		if before != "" {
			f.add(hash('p', before, t), pairWeight, tenths)
		}
		before = t
		if utf8.RuneCountInString(t) < 4 {
			continue // a pair of CJK characters, or too short to share a part
		}
		runes := []rune("^" + t + "$")
		for i := 0; i+4 <= len(runes); i++ {
			f.add(hash('g', string(runes[i:i+4]), ""), gramWeight, tenths)
		}
	}
}

// feature is the count of what one hash represents.
type feature struct {
	weight int64 // thousandths of a term
	tenths int64 // occurrences
}

// features holds the counts by hash.
type features map[uint64]feature

func (f features) add(h uint64, weight, tenths int64) {
	f[h] = feature{weight: weight, tenths: f[h].tenths + tenths}
}

// damped returns the share of the feature: its weight times the square root of its occurrences, so
// the tenth occurrence adds less than the first.
func (f feature) damped() int64 {
	return int64(float64(f.weight) * math.Sqrt(float64(f.tenths*contentTenths)) / contentTenths)
}

// normalized scales sums to length one. When all are zero, as for an empty text, it returns the
// first unit vector.
func normalized(sums *[HashDim]int64) []float32 {
	var squares int64
	for _, x := range sums {
		squares += x * x
	}
	out := make([]float32, HashDim)
	if squares == 0 {
		out[0] = 1
		return out
	}
	norm := math.Sqrt(float64(squares))
	for i, x := range sums {
		out[i] = float32(float64(x) / norm)
	}
	return out
}

// hash maps a feature to 64 well-mixed bits. FNV alone mixes the high bits, one of which is the
// sign, poorly for short texts.
func hash(kind byte, a, b string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte{kind})
	_, _ = h.Write([]byte(a))
	_, _ = h.Write([]byte{0})
	_, _ = h.Write([]byte(b))
	x := h.Sum64()
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	x ^= x >> 33
	return x
}

var _ memory.Embedder = Hash{}

var _ memory.Spelling = Hash{}
