//go:build !race

package encoder

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/slipboxhq/slipbox/test/must"
)

func TestGoldenIDs(t *testing.T) {
	t.Parallel()
	e := open(t)
	for _, g := range readGolden(t) {
		in := e.vocab.tokenize(g.Text, false)
		if !slices.Equal(in.ids, g.IDs) || in.truncated != g.Truncated {
			t.Errorf("%q: ids %v (truncated %v), want %v (%v)", excerpt(g.Text), in.ids, in.truncated, g.IDs, g.Truncated)
			continue
		}
		for i, w := range in.words {
			if g.Words[i] != [2]int{w.start, w.end} {
				t.Errorf("%q: piece %d is of the word at %v, want %v", excerpt(g.Text), i, w, g.Words[i])
			}
		}
	}
}

func TestGoldenVectors(t *testing.T) {
	t.Parallel()
	for _, kernel := range available() {
		t.Run(kernel.name, func(t *testing.T) {
			t.Parallel()
			e := open(t)
			e.kernels = kernel
			var texts []string
			var want []golden
			for i, g := range readGolden(t) {
				if kernel == &generic && i%7 != 0 {
					continue // it is slow, and differs only by rounding
				}
				texts, want = append(texts, g.Text), append(want, g)
			}
			got := must.Get(e.Encode(context.Background(), texts))(t)
			worst := 1.0
			for i, g := range want {
				c := cosine(got[i].Vector, floats(nil, g.Vector))
				worst = min(worst, c)
				if !(c >= 0.999997) {
					t.Errorf("%q: cosine %.9f with the reference", excerpt(g.Text), c)
				}
				if len(g.Hidden) > 0 {
					goldenCodes(t, miniLMProjection, got[i].Tokens, floats(nil, g.Hidden), 1)
				}
			}
			t.Logf("lowest cosine 1 - %.2g", 1-worst)
		})
	}
}

// goldenCodes compares codes with the projection of the reference's last layer. skip rows are before the
// text's own.
func goldenCodes(t *testing.T, projection []byte, tokens []Token, hidden []float32, skip int) {
	t.Helper()
	if len(tokens) != len(hidden)/Dim-skip-1 {
		t.Fatalf("%d tokens, want %d", len(tokens), len(hidden)/Dim-skip-1)
	}
	by := floats(nil, projection)
	for i, token := range tokens {
		var want [TokenDim]float64
		for k, v := range hidden[(i+skip)*Dim:][:Dim] {
			for j := range want {
				want[j] += float64(v) * float64(by[k*TokenDim+j])
			}
		}
		norm := 0.0
		for _, w := range &want {
			norm += w * w
		}
		for j, c := range token.Code {
			if w := want[j] / math.Sqrt(norm) * 127; math.Abs(float64(c)-w) > 0.55 {
				t.Errorf("token %d: code [%d] is %d, want %.3f", i, j, c, w)
			}
		}
	}
}
