package text

import (
	"math/bits"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Language is an ISO 639-1 code of a language that the analyzer knows.
type Language string

// The languages with a stop-word list; those of scripts with spaces also have a stemmer.
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
	Finnish    Language = "fi"
	Hungarian  Language = "hu"
	Romanian   Language = "ro"
	Turkish    Language = "tr"
	Russian    Language = "ru"
	Chinese    Language = "zh"
	Japanese   Language = "ja"
	Korean     Language = "ko"
)

// latin are the languages distinguished by their stop words and letters. The earlier one wins a
// tie.
var latin = []Language{
	English, German, French, Spanish, Italian, Portuguese, Dutch, Swedish, Norwegian, Danish,
	Finnish, Hungarian, Romanian, Turkish,
}

// languages is a set of indexes into latin.
type languages uint16

func setOf(langs ...Language) languages {
	var m languages
	for _, l := range langs {
		m |= 1 << slices.Index(latin, l)
	}
	return m
}

// stopMask maps a stop word to the Latin-script languages that have it, so one look-up for each
// word counts for all.
var stopMask = func() map[string]languages {
	m := map[string]languages{}
	for i, l := range latin {
		for w := range stopWords[l] {
			m[w] |= 1 << i
		}
	}
	return m
}()

// letterMask maps a letter to the languages that use it in their own words. A letter that maps to
// no language is foreign to all of them.
var letterMask = func() map[rune]languages {
	m := map[rune]languages{}
	for letters, langs := range map[string]languages{
		"ä": setOf(German, Swedish, Finnish), "ö": setOf(German, Swedish, Finnish, Hungarian, Turkish),
		"ü": setOf(German, Hungarian, Turkish), "ß": setOf(German),
		"å": setOf(Swedish, Norwegian, Danish), "øæ": setOf(Norwegian, Danish),
		"é": setOf(French, Spanish, Portuguese, Italian, Hungarian), "è": setOf(French, Italian), "ê": setOf(French, Portuguese),
		"à": setOf(French, Italian, Portuguese), "ç": setOf(French, Portuguese, Turkish), "œ": setOf(French),
		"ùìò": setOf(Italian, French), "ô": setOf(French, Portuguese), "û": setOf(French, Turkish), "ëï": setOf(Dutch, French),
		"ñ": setOf(Spanish), "ãõ": setOf(Portuguese), "áíóú": setOf(Spanish, Portuguese, Hungarian),
		"őű": setOf(Hungarian), "ğı": setOf(Turkish), "ş": setOf(Turkish, Romanian), "ăâîșțţ": setOf(Romanian),
		"ąęłńśźżćčďěňřšťůžđāēīūėųạảơưệ": 0,
	} {
		for _, r := range letters {
			m[r] |= langs
		}
	}
	return m
}()

// longestStop is the length of the longest ASCII stop word of latin, in bytes.
const longestStop = 16

// A language other than English must have this many words of its own, more than English has, and
// this share of all words: one "die", "no" or "José" in an English sentence must not change its
// stems. A text with letters of none of the languages needs twice as many.
const (
	minEvidence      = 2
	minEvidenceShare = 0.15
)

// evidence counts what indicates the languages of a text.
type evidence struct {
	words, total                           int
	stop, letters                          [16]int // words, by index into latin
	foreign                                bool    // a Latin letter that no language of latin uses
	han, kana, hangul, cyrillic, ukrainian int
}

func (e *evidence) addPairs(run string) {
	for _, r := range run {
		e.total++
		switch {
		case unicode.In(r, unicode.Hiragana, unicode.Katakana):
			e.kana++
		case unicode.Is(unicode.Hangul, r):
			e.hangul++
		case unicode.Is(unicode.Han, r):
			e.han++
		}
	}
}

func (e *evidence) addWord(w string) {
	var buf [longestStop]byte
	if isASCII(w) {
		e.total += len(w)
		e.words++
		if low, ok := lowerASCII(buf[:0], w); ok {
			countLanguages(&e.stop, stopMask[string(low)])
		}
		return
	}
	if r, _ := utf8.DecodeRuneInString(w); unicode.Is(unicode.Cyrillic, r) {
		n := utf8.RuneCountInString(w)
		e.cyrillic += n
		e.total += n
		if strings.ContainsAny(w, "іїєґІЇЄҐўЎ") {
			e.ukrainian++
		}
		return
	}
	w = foldWord(w)
	e.total += len(w)
	e.words++
	if m := stopMask[w]; m != 0 {
		countLanguages(&e.stop, m)
		return
	}
	own := ^languages(0)
	for _, r := range w {
		if m, ok := letterMask[r]; ok {
			own &= m
			e.foreign = e.foreign || m == 0
		}
	}
	if own != ^languages(0) {
		countLanguages(&e.letters, own)
	}
}

func countLanguages(hits *[16]int, m languages) {
	for ; m != 0; m &= m - 1 {
		hits[bits.TrailingZeros16(uint16(m))]++
	}
}

// read counts the evidence of s.
func (e *evidence) read(s string) {
	scan(s, func(t token) {
		if t.class == classPair {
			e.addPairs(s[t.start:t.end])
		} else {
			e.addWord(s[t.start:t.end])
		}
	})
}

// FunctionWords returns how many words of s are stop words of English, and of the other language in Latin script that has
// most of them.
func FunctionWords(s string) (english, other int) {
	var e evidence
	e.read(s)
	return e.stop[0], slices.Max(e.stop[1:])
}

// Guess returns the language of s. sure is false when there is no evidence for the answer, which is
// then English. It reads each character once and does one look-up for each word.
func Guess(s string) (lang Language, sure bool) {
	var e evidence
	e.read(s)
	switch {
	case e.total == 0:
		return English, false
	// One kana in twenty is enough: Japanese mixes scripts, Chinese does not.
	case (e.han+e.kana)*3 > e.total && e.kana*20 > e.han+e.kana:
		return Japanese, true
	case e.han*3 > e.total:
		return Chinese, true
	case e.hangul*3 > e.total:
		return Korean, true
	case e.cyrillic*2 > e.total:
		return Russian, e.ukrainian == 0
	}
	hits, enough := e.stop, minEvidence
	if e.foreign {
		enough *= 2
	} else {
		for i, n := range e.letters {
			hits[i] += n
		}
	}
	best := 0
	for i := range latin {
		if hits[i] > hits[best] {
			best = i
		}
	}
	if best != 0 && (hits[best] < enough || float64(hits[best]) < minEvidenceShare*float64(e.words)) {
		best = 0
	}
	return latin[best], hits[best] > 0
}

// scriptLanguage returns the language whose rules apply to a folded word or pair of a text in lang:
// lang, unless the word is in a script that lang does not use, such as an English name in a Chinese
// sentence.
func scriptLanguage(word string, pair bool, lang Language) Language {
	if word == "" {
		return lang
	}
	r := rune(word[0])
	if r >= utf8.RuneSelf {
		r, _ = utf8.DecodeRuneInString(word)
	}
	switch {
	case pair && unicode.Is(unicode.Hangul, r):
		return Korean
	case pair && unicode.In(r, unicode.Hiragana, unicode.Katakana):
		return Japanese
	case pair && lang != Japanese && unicode.Is(unicode.Han, r):
		return Chinese
	case pair:
		return lang
	case r < utf8.RuneSelf || unicode.Is(unicode.Latin, r):
		if lang == Russian || lang == Chinese || lang == Japanese || lang == Korean {
			return English
		}
	case unicode.Is(unicode.Cyrillic, r):
		return Russian
	}
	return lang
}
