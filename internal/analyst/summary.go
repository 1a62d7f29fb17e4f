package analyst

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/text"
	"github.com/slipboxhq/slipbox/internal/text/quote"
)

// defaultChars is the number of characters of a summary if the call sets no bound.
const defaultChars = 1200

// statement is a sentence that a summary may take.
type statement struct {
	text  string
	terms []string // each once
	place int      // its position in the order of the texts
	score float64
}

// summary chooses the sentences of the texts that say most, each once and as it was written, within
// so many characters, and keeps their order. A sentence says the more the rarer its terms are among
// the given ones, for its length; a later one says a little more than an earlier one. What a chosen
// sentence already says is not said again.
func summary(texts []string, chars int) string { return summaryBy(nil, sentencesOf(texts), chars) }

// summaryBy is summary of sentences that count by their worth, by sentence. Nil: all count alike.
func summaryBy(worth map[string]float64, sentences []string, chars int) string {
	chars = cmp.Or(max(chars, 0), defaultChars)
	chosen := fitting(ranked(worth, sentences), chars)
	if len(chosen) == 0 { // every sentence is longer than the bound
		all := strings.Join(sentences, "\n")
		return text.Shorten(cmp.Or(text.ExtractiveSentence(all), strings.Join(strings.Fields(all), " ")), chars)
	}
	return join(chosen)
}

// wholeOf returns the texts that say most, each whole, within so many characters, in their order; a summary if each is longer.
func wholeOf(texts []string, chars int) []string {
	chars = cmp.Or(max(chars, 0), defaultChars)
	if chosen := fitting(ranked(nil, texts), chars); len(chosen) > 0 {
		return chosen
	}
	return []string{summary(texts, chars)}
}

// fitting returns the first of ranked sentences that fit in so many characters, in the order in which they were said.
func fitting(best []statement, chars int) []string {
	covered := map[string]bool{}
	var chosen []statement
	for _, s := range best {
		length := utf8.RuneCountInString(s.text) + 2 // with a full stop and a space
		if length > chars+1 || repeats(s.terms, covered) {
			continue
		}
		for _, t := range s.terms {
			covered[t] = true
		}
		chosen = append(chosen, s)
		chars -= length
	}
	return inOrder(chosen)
}

// strongest returns the n sentences of the texts that say most and have at most so many characters, in
// their order.
func strongest(texts []string, n, chars int) []string {
	return firstOfRanked(ranked(nil, sentencesOf(texts)), n, chars)
}

// firstOfRanked returns the first n of ranked sentences that have at most so many characters, in the order in which they were said.
func firstOfRanked(best []statement, n, chars int) []string {
	best = slices.DeleteFunc(best, func(s statement) bool { return utf8.RuneCountInString(s.text) > chars })
	return inOrder(best[:min(n, len(best))])
}

// inOrder returns chosen sentences in the order in which they were said.
func inOrder(chosen []statement) []string {
	slices.SortFunc(chosen, func(a, b statement) int { return cmp.Compare(a.place, b.place) })
	out := make([]string, len(chosen))
	for i, s := range chosen {
		out[i] = s.text
	}
	return out
}

// ranked returns sentences, those that say most first, the later one of two that say as much.
func ranked(worth map[string]float64, sentences []string) []statement {
	all := rated(worth, sentences)
	slices.SortStableFunc(all, func(a, b statement) int { return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(b.place, a.place)) })
	return all
}

// rated returns sentences, each once, with their scores: a quotation says what its words say. A repeated one is as late as
// its last occurrence.
func rated(worth map[string]float64, sentences []string) []statement {
	var all []statement
	at := map[string]int{}         // by the normalized sentence
	seenIn := map[string]float64{} // by term: in how many sentences
	for i, sentence := range sentences {
		if !text.HasWord(sentence) {
			continue
		}
		key := text.Normalize(sentence)
		if known, ok := at[key]; ok {
			all[known].place = i
			continue
		}
		at[key] = len(all)
		s := statement{text: sentence, terms: termSet(quote.Words(sentence)), place: i}
		for _, t := range s.terms {
			seenIn[t]++
		}
		all = append(all, s)
	}

	count := float64(len(all))
	for i := range all {
		s := &all[i]
		for _, t := range s.terms {
			s.score += math.Log(1 + count/seenIn[t])
		}
		s.score /= math.Sqrt(float64(utf8.RuneCountInString(s.text)) + 20)
		s.score *= 1 + 0.25*float64(i)/count
		if worth != nil {
			s.score *= worth[s.text] * worth[s.text]
		}
	}
	return all
}

// repeats reports whether fewer than a third of the terms are new. A sentence of stop words repeats
// nothing.
func repeats(terms []string, covered map[string]bool) bool {
	fresh := 0
	for _, t := range terms {
		if !covered[t] {
			fresh++
		}
	}
	return len(terms) > 0 && 3*fresh < len(terms)
}

// sentencesOf returns the sentences of texts in order, each on one line.
func sentencesOf(texts []string) []string {
	var out []string
	for _, t := range texts {
		for _, s := range text.Sentences(t) {
			out = append(out, strings.Join(strings.Fields(s), " "))
		}
	}
	return out
}

// termSet returns the terms of a text, each once, in order.
func termSet(s string) []string {
	var out []string
	seen := map[string]bool{}
	for _, t := range text.Terms(s) {
		if !seen[t] {
			seen[t] = true
			out = append(out, t)
		}
	}
	return out
}

// join joins sentences. One without a mark at its end gets a full stop, so that the next summary can tell
// them apart. Scripts with wide marks have no spaces between sentences.
func join(sentences []string) string {
	var b strings.Builder
	for i, s := range sentences {
		end, _ := utf8.DecodeLastRuneInString(s)
		ideographic := unicode.In(end, unicode.Han, unicode.Hiragana, unicode.Katakana)
		b.WriteString(s)
		switch {
		case !unicode.In(end, unicode.L, unicode.M, unicode.N):
		case ideographic:
			b.WriteRune('。')
		default:
			b.WriteByte('.')
		}
		if i < len(sentences)-1 && !ideographic && !strings.ContainsRune(wideEnds, end) {
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// wideEnds are the marks that end sentences in scripts without spaces.
const wideEnds = "。！？」』）"
