package encoder

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/test/must"
)

func readJSON(tb testing.TB, path string, v any) {
	tb.Helper()
	b := must.Get(os.ReadFile(path))(tb)
	must.Do(tb, json.Unmarshal(b, v))
}

// small is a vocabulary for tests without weights.
func small(tb testing.TB) *vocabulary {
	tb.Helper()
	v := must.Get(readVocabulary(strings.Join([]string{
		"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "##s", "un", "##able", "##a", "a", "b", "é", "漢", "!", "[", "##",
	}, "\n")))(tb)
	return v
}

func TestWords(t *testing.T) {
	t.Parallel()
	v := small(t)
	for _, c := range []struct {
		text string
		want []int32
		at   []span
	}{
		{"", nil, nil},
		{"The cats!", []int32{5, 6, 7, 15}, []span{{0, 3}, {4, 8}, {4, 8}, {8, 9}}},
		{"unable", []int32{8, 9}, []span{{0, 6}, {0, 6}}},
		{"catx cat", []int32{1, 6}, []span{{0, 4}, {5, 8}}},
		{"漢漢", []int32{14, 14}, []span{{0, 3}, {3, 6}}},
		{"A\u0301\x00B", []int32{1}, []span{{0, 5}}},
		{"\xffcat\xff", []int32{6}, []span{{1, 4}}},
		{"[SEP]cat[ [MASK", []int32{3, 6, 16, 16, 1}, []span{{0, 5}, {5, 8}, {8, 9}, {10, 11}, {11, 15}}},
	} {
		in := v.tokenize(c.text, false)
		if got := in.ids[1 : len(in.ids)-1]; !slices.Equal(got, c.want) || !slices.Equal(in.words, c.at) {
			t.Errorf("%q: %v at %v, want %v at %v", c.text, got, in.words, c.want, c.at)
		}
	}
}

func TestTruncated(t *testing.T) {
	t.Parallel()
	v := small(t)
	for n, want := range map[int]bool{miniLMTokens - 3: false, miniLMTokens - 2: false, miniLMTokens - 1: true, 100_000: true} {
		in := v.tokenize(strings.Repeat("cat ", n), false)
		if in.truncated != want {
			t.Errorf("%d words: truncated is %v", n, in.truncated)
		}
		if l := min(n+2, miniLMTokens); len(in.ids) != l || len(in.words) != l-2 || in.ids[l-1] != v.end {
			t.Errorf("%d words: %d ids for %d words, the last %d", n, len(in.ids), len(in.words), in.ids[len(in.ids)-1])
		}
	}
	// Truncated inside a word.
	if in := v.tokenize(strings.Repeat("cat ", miniLMTokens-3)+"cats", false); !in.truncated || len(in.ids) != miniLMTokens {
		t.Errorf("cut inside a word: %d ids, truncated is %v", len(in.ids), in.truncated)
	}
	// Text without pieces does not count.
	if in := v.tokenize(strings.Repeat("cat ", miniLMTokens-2)+" \n\x00", false); in.truncated {
		t.Error("white space at the end counts as text")
	}
}

func TestVocabularyWithoutFrame(t *testing.T) {
	t.Parallel()
	if _, err := readVocabulary("a\nb\n"); err == nil {
		t.Error("a vocabulary without [CLS] was accepted")
	}
}

func FuzzTokenizer(f *testing.F) {
	for _, text := range goldenTexts(f) {
		f.Add(text)
	}
	f.Add("\xf0\x9f[SEP\xe2\x80")
	v := small(f)
	f.Fuzz(func(t *testing.T, text string) {
		in := v.tokenize(text, false)
		n := len(in.ids)
		if n < 2 || n > miniLMTokens || in.ids[0] != v.begin || in.ids[n-1] != v.end || len(in.words) != n-2 {
			t.Fatalf("%d ids, %d words", n, len(in.words))
		}
		end := 0
		for i, w := range in.words {
			if w.start >= w.end || w.end > len(text) {
				t.Fatalf("piece %d is of the word at %v of %d bytes", i, w, len(text))
			}
			again := i > 0 && w == in.words[i-1] // a further piece of the same word
			if !again && w.start < end {
				t.Fatalf("piece %d at %v begins before %d, where the last word ends", i, w, end)
			}
			end = w.end
			if utf8.ValidString(text) && !utf8.ValidString(text[w.start:w.end]) {
				t.Fatalf("piece %d: %v cuts a character", i, w)
			}
		}
		if in.truncated && n != miniLMTokens {
			t.Fatalf("truncated at %d ids", n)
		}
		if !in.truncated && len(v.tokenize(text[end:], false).ids) > 2 {
			t.Fatalf("text after %d was not read, and Truncated is false", end)
		}
	})
}
