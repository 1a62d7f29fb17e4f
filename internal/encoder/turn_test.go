//go:build !race

package encoder

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/x448/float16"

	"github.com/slipboxhq/slipbox/test/must"
)

// The turn keeps lengths and angles: its rows, and the columns of the projection, are orthonormal.
func TestTurnIsOrthogonal(t *testing.T) {
	t.Parallel()
	check := func(name string, n, size int, at func(i, j int) float64) {
		t.Helper()
		for i := range n {
			for k := range i + 1 {
				var dot float64
				for j := range size {
					dot += at(i, j) * at(k, j)
				}
				want := 0.0
				if i == k {
					want = 1
				}
				if math.Abs(dot-want) > 1e-3 {
					t.Fatalf("%s: the product of %d and %d is %g", name, i, k, dot)
				}
			}
		}
	}
	check("the turn", Dim, Dim, func(i, j int) float64 {
		return float64(float16.Frombits(binary.LittleEndian.Uint16(e5Turn[2*(i*Dim+j):])).Float32())
	})
	projection := floats(nil, e5TurnedProjection)
	check("the projection", TokenDim, Dim, func(i, j int) float64 { return float64(projection[j*TokenDim+i]) })
}

// A text of another language is nearest to the English one that says the same, and its language is no part of its
// vector: unrelated texts are as far apart within a language as across.
func TestTurnedLanguages(t *testing.T) {
	t.Parallel()
	english := openModel(t, MiniLM)
	others := must.Get(Open(E5AsMiniLM, modelDir(t, E5)))(t)
	t.Cleanup(func() { _ = others.Close() })
	same := [][3]string{
		{"I am allergic to peanuts.", "我对花生过敏。", "Ich bin allergisch gegen Erdnüsse."}, //nolint:misspell // German
		{"The train to Cologne leaves at half past seven.", "去科隆的火车七点半开。", "Der Zug nach Köln fährt um halb acht."},
		{"My grandmother plays the violin.", "我奶奶会拉小提琴。", "Meine Großmutter spielt Geige."},
		{"The heating in the office is broken.", "办公室的暖气坏了。", "Die Heizung im Büro ist kaputt."},
	}
	var vectors [3][][]float32
	for lang := range vectors {
		e := others
		if lang == 0 {
			e = english
		}
		for _, s := range same {
			made := must.Get(e.Encode(t.Context(), []string{s[lang]}))(t)
			vectors[lang] = append(vectors[lang], made[0].Vector)
		}
	}
	for lang := 1; lang < 3; lang++ {
		for i, v := range vectors[lang] {
			own := cosine(v, vectors[0][i])
			for j, other := range vectors[0] {
				if c := cosine(v, other); j != i && c > own-0.1 {
					t.Errorf("%s: cosine %.2f with %q, %.2f with its own", same[i][lang], c, same[j][0], own)
				}
			}
		}
	}
	for i, v := range vectors[1] {
		for j, w := range vectors[1] {
			if c := cosine(v, w); i != j && c > 0.45 {
				t.Errorf("%s and %s: cosine %.2f", same[i][1], same[j][1], c)
			}
		}
	}
}
