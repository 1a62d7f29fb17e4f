package amem

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/slipboxhq/slipbox/internal/text"
	"github.com/slipboxhq/slipbox/test/must"
)

// The one pass over the words finds the cut that a comparison of all words with each other finds.
func TestSplitByTermsComparesAllWords(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 4))
	split := 0
	for range 3000 {
		var b strings.Builder
		groups := 1 + rng.IntN(3)
		sentences := 2 + rng.IntN(6)
		for i := range sentences {
			group := i * groups / sentences
			b.WriteString("The ")
			for range 1 + rng.IntN(3) {
				fmt.Fprintf(&b, "word%c%c ", 'a'+group, 'p'+rng.IntN(4))
			}
			b.WriteString("ends. ")
		}
		s := strings.ReplaceAll(b.String(), " ends", "")
		got, want := splitByTerms(s), comparedSplit(s)
		if !slices.Equal(got, want) {
			t.Fatalf("%s\ngot  %q\nwant %q", s, got, want)
		}
		if want != nil {
			split++
		}
	}
	if split < 100 {
		t.Errorf("only %d texts were split", split)
	}
}

// comparedSplit compares each word before a cut with each word after it.
func comparedSplit(s string) []string {
	sentences := text.Sentences(s)
	terms := make([][]string, len(sentences))
	for i, sentence := range sentences {
		terms[i] = text.Terms(sentence)
	}
	coherent := func(run [][]string) bool {
		for i, sentence := range run {
			joined := false
			for k, other := range run {
				joined = joined || k != i && slices.ContainsFunc(sentence, func(t string) bool { return slices.Contains(other, t) })
			}
			if !joined {
				return false
			}
		}
		return true
	}
	for cut := 2; cut <= len(sentences)-2; cut++ {
		head, tail := slices.Concat(terms[:cut]...), slices.Concat(terms[cut:]...)
		shared := slices.ContainsFunc(tail, func(t string) bool { return slices.Contains(head, t) })
		if len(head) >= 4 && len(tail) >= 4 && !shared && coherent(terms[:cut]) && coherent(terms[cut:]) {
			return []string{strings.Join(sentences[:cut], " "), strings.Join(sentences[cut:], " ")}
		}
	}
	return nil
}

// A text of four times the sentences costs about four times as much, not sixteen or more.
func TestSplitByTermsIsLinear(t *testing.T) { //nolint:paralleltest // measures the processor time of the process
	for name, sentence := range map[string]string{"other words": "The q%dz q%dx. ", "one word": "The tide q%[1]dz tide. "} {
		written := func(n int) string {
			var b strings.Builder
			for i := range n {
				fmt.Fprintf(&b, sentence, i, i)
			}
			return b.String()
		}
		small, large := written(800), written(3200)
		if n := len(text.Sentences(large)); n != 3200 {
			t.Fatalf("%d sentences", n)
		}
		if a, b := least(t, func() { splitByTerms(small) }), least(t, func() { splitByTerms(large) }); b > 9*a {
			t.Errorf("%s: %d ns, and %d ns for four times the text", name, a, b)
		}
	}
}

// least returns the least processor time, in ns, that one of several calls took.
func least(t *testing.T, f func()) int64 {
	t.Helper()
	used := func() int64 {
		var u syscall.Rusage
		must.Do(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
		return u.Utime.Nano() + u.Stime.Nano()
	}
	out := int64(1 << 62)
	for range 5 {
		before := used()
		f()
		out = min(out, used()-before)
	}
	return max(out, 1)
}
