//go:build !race

package encoder

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/test/must"
)

// goldenE5 is the output of the second implementation for a text (tools/encoder/e5.py).
type goldenE5 struct {
	golden

	Query bool `json:"query"`
	Skip  int  `json:"skip"`
}

func readGoldenE5(tb testing.TB) []goldenE5 {
	tb.Helper()
	var out []goldenE5
	readJSON(tb, filepath.Join("testdata", "golden_e5.json"), &out)
	if len(out) != 36 {
		tb.Fatalf("%d golden texts, want 36", len(out))
	}
	for i := range out {
		out[i].Text = strings.Repeat(out[i].Text, max(1, out[i].Times))
	}
	return out
}

func TestGoldenE5(t *testing.T) {
	t.Parallel()
	e := openModel(t, E5)
	for _, g := range readGoldenE5(t) {
		in := e.vocab.tokenize(g.Text, g.Query)
		if !slices.Equal(in.ids, g.IDs) || in.truncated != g.Truncated || in.skip != g.Skip || len(in.words) != len(in.ids)-in.skip-1 {
			t.Errorf("%q: ids %v (truncated %v, skip %d), want %v (%v, %d)", excerpt(g.Text), in.ids, in.truncated, in.skip, g.IDs, g.Truncated, g.Skip)
			continue
		}
		encode := e.Encode
		if g.Query {
			encode = e.EncodeQueries
		}
		got := must.Get(encode(t.Context(), []string{g.Text}))(t)
		want := floats(nil, g.Vector)
		subtractUnit(want, in.center)
		if c := cosine(got[0].Vector, want); !(c >= 0.999999) {
			t.Errorf("%q: cosine %.9f with the second implementation", excerpt(g.Text), c)
		}
		if len(g.Hidden) > 0 {
			goldenCodes(t, e5Projection, got[0].Tokens, floats(nil, g.Hidden), g.Skip)
		}
	}
}

// A text and its translation are nearer than texts about other things.
func TestE5Languages(t *testing.T) {
	t.Parallel()
	e := openModel(t, E5)
	passages := must.Get(e.Encode(t.Context(), []string{"我对花生过敏。", "我下周搬到里斯本。", "我姐姐在医院当护士。"}))(t)
	queries := must.Get(e.EncodeQueries(t.Context(), []string{"Which food am I allergic to?", "Where do I move next week?", "Who works in a hospital?"}))(t)
	for i, q := range queries {
		for j, p := range passages {
			if right, wrong := cosine(q.Vector, passages[i].Vector), cosine(q.Vector, p.Vector); j != i && right <= wrong {
				t.Errorf("question %d: cosine %.3f with its answer, %.3f with answer %d", i, right, wrong, j)
			}
		}
	}
}

// Each piece belongs to a word: letters and digits together, other signs and scripts without spaces by piece.
func TestUnigramWords(t *testing.T) {
	t.Parallel()
	v := openModel(t, E5).vocab
	for _, c := range []struct {
		text string
		want []string // each word once
	}{
		{"Grandpa restored clocks, often.", []string{"Grandpa", "restored", "clocks", ",", "often", "."}},
		{"  the   keys\n", []string{"the", "keys"}},
		{"Café Müller", []string{"Café", "Müller"}},
		{"<s> </s> <pad> <mask>", []string{"<", "s", ">", "</", "s", ">", "<", "pad", ">", "<", "mask", ">"}},
	} {
		in := v.tokenize(c.text, false)
		var got []string
		var last span
		for i, w := range in.words {
			if word := c.text[w.start:w.end]; word != "" && (i == 0 || w != last) {
				got = append(got, word)
			}
			last = w
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%q: words %q, want %q", c.text, got, c.want)
		}
	}
	in := v.tokenize("我对花生过敏。", false)
	if len(in.words) < 4 {
		t.Errorf("a Chinese sentence has %d words", len(in.words))
	}
}

// No text has the pieces of the frame, or one of another's range, however odd it is.
func FuzzUnigram(f *testing.F) {
	for _, s := range []string{"", " ", "<s></s>", "a\x00b", "\xff\xfe", "▁▁ a▁", strings.Repeat("好", 5000), strings.Repeat("x", 70_000), "ﬁ①\u3000", "foo-bar's 你好foo好 ok-42b--c", strings.Repeat("0af3-9c", 800)} {
		f.Add(s)
	}
	dir := must.Get(findModel())(f)
	modelDir(f, E5)
	e, err := published[E5]()
	if err != nil {
		f.Fatal(err, dir)
	}
	u, ok := e.vocab.(*unigram)
	if !ok {
		f.Fatal("another tokenizer")
	}
	f.Fuzz(func(t *testing.T, text string) {
		in := u.tokenize(text, true)
		if len(in.ids) > e5Tokens || in.ids[0] != u.begin || in.ids[len(in.ids)-1] != u.end || len(in.words) != len(in.ids)-in.skip-1 {
			t.Fatalf("%d ids, %d words", len(in.ids), len(in.words))
		}
		for i, w := range in.words {
			if w.start < 0 || w.start > w.end || w.end > len(text) {
				t.Fatalf("word %d is %v of %d", i, w, len(text))
			}
			if id := in.ids[in.skip+i]; id == u.begin || id == u.end {
				t.Fatalf("piece %d is of the frame", i)
			}
			// A piece of letters is of a whole word.
			if first, _ := utf8.DecodeRuneInString(text[w.start:w.end]); inWord(first) {
				before, n := utf8.DecodeLastRuneInString(text[:w.start])
				behind, m := utf8.DecodeRuneInString(text[w.end:])
				last, _ := utf8.DecodeLastRuneInString(text[:w.end])
				if n > 0 && inWord(before) || m > 0 && inWord(last) && inWord(behind) {
					t.Fatalf("%q is cut off within a word", text[w.start:w.end])
				}
			}
		}
	})
}

// scaleOf unpacks a block with a scale, and returns its first number, which is 1 times the scale.
func scaleOf(bits uint16) float64 {
	block := make([]byte, blockBytes)
	binary.LittleEndian.PutUint16(block, bits)
	block[2] = 9 // 8 too large
	out := make([]float32, blockNumbers)
	unpack(out, block)
	return float64(out[0])
}

func TestFloat16(t *testing.T) {
	t.Parallel()
	for bits, want := range map[uint16]float64{0: 0, 0x3C00: 1, 0xC000: -2, 1: 0x1p-24, 0x03FF: 1023 * 0x1p-24, 0x7BFF: 65504, 0x7C00: math.Inf(1), 0xFC00: math.Inf(-1)} {
		if got := scaleOf(bits); got != want {
			t.Errorf("%#x is %v, want %v", bits, got, want)
		}
	}
	if !math.IsNaN(scaleOf(0x7E00)) {
		t.Error("a NaN is a number")
	}
}

// A file that is not of the model is refused, wherever it is cut or altered.
func TestReadE5Damaged(t *testing.T) {
	t.Parallel()
	whole := must.Get(E5.Files[0].read(modelDir(t, E5)))(t)
	const head = 4_638_272 // the matrices begin here
	for _, n := range []int{0, 3, 4, 40, 52, 60, 1_000_000, head - 100, head, len(whole) - 1} {
		if _, _, err := readE5(bytes.NewReader(whole[:n]), int64(n), e5Center, nil); !errors.Is(err, ErrDamaged) {
			t.Errorf("cut at %d: %v", n, err)
		}
	}
	for _, at := range []int{0, 4, 9, 13, 17, 28, 40, 44, 48, 64, 68, 4_637_000} {
		altered := slices.Clone(whole[:head])
		for i := at; i < at+4; i++ {
			altered[i] = 0xfe
		}
		if _, _, err := readE5(bytes.NewReader(append(altered, whole[head:]...)), int64(len(whole)), e5Center, nil); !errors.Is(err, ErrDamaged) {
			t.Errorf("altered at %d: %v", at, err)
		}
	}
}
