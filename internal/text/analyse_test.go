package text

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// conversation makes n short notes of about twenty words, half of them
// function words, the others from some ten thousand by Zipf's law. One note in
// four has typographic signs.
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
	syllables := strings.Fields("ba con de fer gra hi in jo kle lo mi na or pre qui ra ste ti un ver")
	endings := strings.Fields("s ed ing er ation ly ness able ful ment")
	word := func(i int) string {
		return syllables[i%20] + syllables[i/20%20] + syllables[i/400%20] + endings[i%10]
	}
	notes := make([]string, n)
	for i := range notes {
		var b strings.Builder
		b.WriteString("Caroline: ")
		for j := range 10 + r.IntN(20) {
			if j%2 == 0 {
				b.WriteString(function[r.IntN(len(function))])
			} else {
				b.WriteString(word(int(zipf.Uint64())))
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

// BenchmarkNotes analyses ten thousand short notes, as a cold load does.
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
