package hashterm

import (
	"unicode"
	"unicode/utf8"
)

// Language is an ISO 639-1 code of a language the analyser knows.
type Language string

// The languages with a stop-word list; those of space-separated scripts have
// a stemmer too.
const (
	English    Language = "en"
	German     Language = "de"
	French     Language = "fr"
	Spanish    Language = "es"
	Italian    Language = "it"
	Portuguese Language = "pt"
	Dutch      Language = "nl"
	Swedish    Language = "sv"
	Norwegian  Language = "no"
	Danish     Language = "da"
	Russian    Language = "ru"
	Chinese    Language = "zh"
	Japanese   Language = "ja"
	Korean     Language = "ko"
)

// latin are the languages told apart by their stop words, in order of
// preference on a tie.
var latin = []Language{English, German, French, Spanish, Italian, Portuguese, Dutch, Swedish, Norwegian, Danish}

// stopMask maps a stop word to the bits of the Latin-script languages that
// have it, so that one look-up per word counts for all.
var stopMask = func() map[string]uint16 {
	m := map[string]uint16{}
	for i, l := range latin {
		for w := range stopWords[l] {
			m[w] |= 1 << i
		}
	}
	return m
}()

// A language other than English must show this many stop words, more than
// English does, and this share of all words: one "die" or "no" in an English
// sentence must not change its stems.
const (
	minEvidence      = 2
	minEvidenceShare = 0.15
)

// guess names the language of s, English where nothing speaks for another.
func guess(s string) Language {
	var words, total int
	var hits [16]int
	var han, kana, hangul, cyrillic int
	scan(s, func(t token) {
		if t.class == classPair {
			for _, r := range s[t.start:t.end] {
				total++
				switch {
				case unicode.In(r, unicode.Hiragana, unicode.Katakana):
					kana++
				case unicode.Is(unicode.Hangul, r):
					hangul++
				case unicode.Is(unicode.Han, r):
					han++
				}
			}
			return
		}
		w := s[t.start:t.end]
		if r, _ := utf8.DecodeRuneInString(w); unicode.Is(unicode.Cyrillic, r) {
			n := utf8.RuneCountInString(w)
			cyrillic += n
			total += n
			return
		}
		w = foldWord(w)
		total += len(w)
		words++
		if m := stopMask[w]; m != 0 {
			for i := range latin {
				if m&(1<<i) != 0 {
					hits[i]++
				}
			}
		}
	})
	switch {
	case total == 0:
		return English
	// One kana in twenty is enough: Japanese mixes, Chinese does not.
	case (han+kana)*3 > total && kana*20 > han+kana:
		return Japanese
	case han*3 > total:
		return Chinese
	case hangul*3 > total:
		return Korean
	case cyrillic*2 > total:
		return Russian
	}
	best := 0
	for i := range latin {
		if hits[i] > hits[best] {
			best = i
		}
	}
	if best != 0 && (hits[best] < minEvidence || float64(hits[best]) < minEvidenceShare*float64(words)) {
		best = 0
	}
	return latin[best]
}
