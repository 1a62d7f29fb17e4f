package index

import (
	"runtime"

	"github.com/slipboxhq/slipbox/internal/text"
)

// Token is a word piece of a query, for late interaction.
type Token struct {
	Word string         // the word that it is a piece of
	Code [TokenDim]int8 // its direction, of length 127
}

// Late is the late interaction of a query with a text (Khattab and Zaharia 2020): each token of the
// query takes its best cosine, at least 0, with any token of the text; Late is the mean over the
// query's tokens, weighted by the idf of their words. Lead and Around are 0 in a view where no
// notes share a session.
type Late struct {
	Own    float64 // in the note
	Lead   float64 // in the note or the two before it in its session: answers follow questions
	Around float64 // in the note or the two on either side of it

	// Alike is the mean cosine of two tokens of the note; 0 with fewer than two. It shows which of two encoders has read the note.
	Alike float64
}

// alike returns the mean cosine of two tokens, whose codes follow one another.
func alike(codes []byte) float64 {
	n := len(codes) / TokenDim
	if n < 2 {
		return 0
	}
	var sum [TokenDim]int
	for i, x := range codes {
		sum[i%TokenDim] += int(int8(x)) //nolint:gosec // the bits of a signed byte
	}
	square := 0
	for _, x := range &sum {
		square += x * x
	}
	return (float64(square)/(codeLength*codeLength) - float64(n)) / float64(n*(n-1))
}

// codeLength is the Euclidean length of a token's code.
const codeLength = 127

// Late returns the late interaction of tokens with candidates, in their order. The idf of a word is
// that of its terms over the view's visible passages. A note without tokens scores 0.
func (q *Query) Late(tokens []Token, candidates []Signals) []Late {
	out := make([]Late, len(candidates))
	if len(tokens) == 0 || len(candidates) == 0 {
		return out
	}
	defer runtime.KeepAlive(q) // as in Signals
	v := q.view
	c := v.sessionChain()
	weights, sum := v.tokenWeights(tokens)
	query := make([][]int16, len(tokens))
	for i := range tokens {
		query[i] = make([]int16, TokenDim)
		for j, x := range tokens[i].Code {
			query[i][j] = int16(x)
		}
	}
	var dots []int32
	met := map[uint32][]int32{} // by row: the best sum for each token of the query
	meet := func(g uint32) []int32 {
		if best, ok := met[g]; ok {
			return best
		}
		codes := v.tokens(c, g)
		best := make([]int32, len(tokens))
		if n := len(codes) / TokenDim; n > 0 {
			if len(dots) < n {
				dots = make([]int32, n)
			}
			for i := range query {
				codeDots(query[i], codes, dots[:n])
				top := int32(0) // in a register: this loop takes as long as the products
				for _, d := range dots[:n] {
					top = max(top, d)
				}
				best[i] = top
			}
		}
		met[g] = best
		return best
	}
	contextual := v.HasSessions()
	lead, around := make([]int32, len(tokens)), make([]int32, len(tokens))
	for n := range candidates {
		clear(lead)
		clear(around)
		if contextual {
			near, before, all := c.window(candidates[n].row)
			for m, g := range near[:all] {
				for i, d := range meet(g) {
					if m < before {
						lead[i] = max(lead[i], d)
					}
					around[i] = max(around[i], d)
				}
			}
		}
		for i, d := range meet(candidates[n].row) {
			out[n].Own += weights[i] * cosineOf(d)
			out[n].Lead += weights[i] * cosineOf(lead[i])
			out[n].Around += weights[i] * cosineOf(around[i])
		}
		out[n].Own /= sum
		out[n].Lead /= sum
		out[n].Around /= sum
		out[n].Alike = alike(v.tokens(c, candidates[n].row))
	}
	return out
}

// cosineOf returns the cosine for the dot product of two codes.
func cosineOf(d int32) float64 { return min(float64(d)/(codeLength*codeLength), 1) }

// tokenWeights returns the idf of each token's word, and their sum.
func (v *View) tokenWeights(tokens []Token) (weights []float64, sum float64) {
	known := map[string]float64{}
	for _, t := range tokens {
		weight, ok := known[t.Word]
		if !ok {
			df := 0 // of the rarest part, when segmentation splits the word
			for n, f := range text.Forms(t.Word, v.langs) {
				own := 0
				for i := range v.layers {
					l := &v.layers[i]
					list, held := l.postings(f.Terms)
					own += l.countVisible(list)
					runtime.KeepAlive(held)
				}
				if n == 0 || own < df {
					df = own
				}
			}
			weight = v.idf(df)
			known[t.Word] = weight
		}
		weights = append(weights, weight)
		sum += weight
	}
	return weights, sum
}

// tokens returns the token codes of a note.
func (v *View) tokens(c *chain, g uint32) []byte {
	if c.slot[g] == none {
		return nil
	}
	i, _ := v.locate(g)
	slot := int(c.slot[g])
	return v.layers[i].blocks[slot/blockRows].token(slot % blockRows)
}
