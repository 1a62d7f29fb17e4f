package text

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
)

var (
	syllables = strings.Fields("ba con de fer gra hi in jo kle lo mi na or pre qui ra ste ti un ver")
	endings   = strings.Fields("s ed ing er ation ly ness able ful ment")
)

// conversationWord returns one of 8,000 words that look English to a stemmer.
func conversationWord(i int) string {
	return syllables[i%20] + syllables[i/20%20] + syllables[i/400%20] + endings[i%10]
}

// conversation generates n short notes of about twenty words: half of them function words, the
// others from about 8,000 words by Zipf's law. One note in four has typographic signs.
func conversation(n int) []string {
	r := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(r, 1.1, 4, 9_999)
	function := slices.Sorted(func(yield func(string) bool) {
		for w := range stopWords[English] {
			if !yield(w) {
				return
			}
		}
	})
	notes := make([]string, n)
	for i := range notes {
		var b strings.Builder
		b.WriteString("Caroline: ")
		for j := range 10 + r.IntN(20) {
			if j%2 == 0 {
				b.WriteString(function[r.IntN(len(function))])
			} else {
				b.WriteString(conversationWord(int(zipf.Uint64())))
			}
			b.WriteByte(' ')
		}
		if i%4 == 0 {
			b.WriteString("– it’s 😀!")
		}
		notes[i] = b.String()
	}
	return notes
}

// More words than the cache holds, read by several readers concurrently, have the same stems as without
// a cache.
func TestStemsAreThoseOfNoCache(t *testing.T) {
	t.Parallel()
	const words = 5 << stemCacheBits / 4
	var readers sync.WaitGroup
	for reader := range 2 {
		readers.Go(func() {
			for i := range words {
				w, lang := fmt.Sprintf("wor%dings", i), latin[(i+reader)%len(latin)]
				if i%2 == 0 {
					w = conversationWord(i % 8000)
				}
				e := stems.stem([]byte(w), lang)
				if want := Stem(w, lang); e.stop != stopWords[lang][w] || !e.stop && e.term != want {
					t.Errorf("%s %q is %q, want %q", lang, w, e.term, want)
					return
				}
			}
		})
	}
	readers.Wait()
}

// BenchmarkNotes analyzes ten thousand short notes, as a cold load does.
func BenchmarkNotes(b *testing.B) {
	notes := conversation(10_000)
	bytes := 0
	for _, n := range notes {
		bytes += len(n)
	}
	b.SetBytes(int64(bytes))
	b.ReportAllocs()
	for b.Loop() {
		for _, n := range notes {
			Terms(n)
		}
	}
}
