package text

import (
	"math"
	"strings"
	"unicode/utf8"
)

// maxExtract is the maximum length of an extract, in characters.
const maxExtract = 240

// ExtractiveSentence returns the sentence of s that covers most of its content, trimmed and at most
// 240 characters long (cut at a word, with an ellipsis). It returns "" for a text without words.
//
// The score of a sentence is the sum over its distinct terms of how often each occurs in the whole
// text, divided by the square root of the sentence's length, so neither a greeting nor a very long
// sentence wins. Later sentences lose a little; the first of equal ones wins.
func ExtractiveSentence(s string) string {
	lang, _ := Guess(s)
	freq := map[string]int{}
	for _, t := range contentTerms(s, lang) {
		freq[t]++
	}
	best, bestScore := "", -1.0
	for i, sentence := range Sentences(s) {
		words := Words(sentence)
		if len(words) == 0 {
			continue
		}
		score := 0.0
		seen := map[string]bool{}
		for _, t := range contentTerms(sentence, lang) {
			if !seen[t] {
				seen[t] = true
				score += float64(freq[t])
			}
		}
		score /= math.Sqrt(4 + float64(len(words)))
		score /= 1 + sentenceFactor*float64(i)
		if score > bestScore {
			best, bestScore = sentence, score
		}
	}
	return Shorten(strings.Join(strings.Fields(best), " "), maxExtract)
}

// contentTerms returns the terms of s that carry its subject.
func contentTerms(s string, lang Language) []string {
	var out []string
	eachTerm(s, func(word string, pair bool) {
		if !pair && letters(word) < 2 {
			return
		}
		if t, ok := indexTerm(word, pair, lang); ok {
			out = append(out, t)
		}
	})
	return out
}

// Shorten cuts s to at most n characters, at a space when there is one in the second half. A cut
// text ends with an ellipsis, which counts.
func Shorten(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	if n < 1 {
		return ""
	}
	cut := firstRunes(s, n-1)
	if i := strings.LastIndexByte(cut, ' '); i > len(cut)/2 {
		cut = cut[:i]
	}
	return strings.TrimRight(cut, " ,;:-") + "…"
}
