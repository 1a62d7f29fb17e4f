package hashterm

import (
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/danish"
	"github.com/blevesearch/snowballstem/dutch"
	"github.com/blevesearch/snowballstem/french"
	"github.com/blevesearch/snowballstem/german"
	"github.com/blevesearch/snowballstem/italian"
	"github.com/blevesearch/snowballstem/norwegian"
	"github.com/blevesearch/snowballstem/porter"
	"github.com/blevesearch/snowballstem/portuguese"
	"github.com/blevesearch/snowballstem/russian"
	"github.com/blevesearch/snowballstem/spanish"
	"github.com/blevesearch/snowballstem/swedish"
	"golang.org/x/text/unicode/norm"
)

var stemmers = map[Language]func(*snowballstem.Env) bool{
	English: porter.Stem, German: german.Stem, French: french.Stem, Spanish: spanish.Stem, Italian: italian.Stem,
	Portuguese: portuguese.Stem, Dutch: dutch.Stem, Swedish: swedish.Stem, Norwegian: norwegian.Stem,
	Danish: danish.Stem, Russian: russian.Stem,
}

// stemOf reduces a folded word to the stem of the language. A word of two
// letters or fewer, one that holds a digit, and a word of a language without
// a stemmer come back as they are, but for diacritics on Latin letters.
func stemOf(word string, lang Language) string {
	stem, ok := stemmers[lang]
	if ok && utf8.RuneCountInString(word) > 2 && !hasDigit(word) {
		env := snowballstem.NewEnv(word)
		stem(env)
		word = env.Current()
	}
	return plain(word)
}

func hasDigit(s string) bool {
	for _, r := range s {
		if unicode.IsNumber(r) {
			return true
		}
	}
	return false
}

// plain takes the diacritics off Latin letters: people search without them.
// It runs after stemming, since stemmers need them.
func plain(s string) string {
	if isASCII(s) {
		return s
	}
	d := norm.NFD.String(s)
	out := make([]rune, 0, len(s))
	latinBase := false
	for _, r := range d {
		if unicode.Is(unicode.Mn, r) {
			if latinBase {
				continue
			}
		} else {
			latinBase = unicode.Is(unicode.Latin, r)
		}
		switch r {
		case 'ß':
			out = append(out, 's', 's')
		case 'ø':
			out = append(out, 'o')
		case 'æ':
			out = append(out, 'a', 'e')
		case 'œ':
			out = append(out, 'o', 'e')
		default:
			out = append(out, r)
		}
	}
	return norm.NFC.String(string(out))
}

// Terms gives the index terms of s in order, with repeats: folded words without
// the stop words of the text's language, stemmed, and character pairs of scripts
// without spaces.
func Terms(s string) []string {
	lang := guess(s)
	var out []string
	eachTerm(s, func(word string, pair bool) {
		if t, ok := term(word, pair, lang); ok {
			out = append(out, t)
		}
	})
	return out
}

// eachTerm calls yield with every folded word or character pair of s.
func eachTerm(s string, yield func(word string, pair bool)) {
	scan(s, func(t token) {
		w := foldWord(s[t.start:t.end])
		switch {
		case w == "":
		case t.class == classPair:
			pairs(w, func(p string) { yield(p, true) })
		default:
			yield(w, false)
		}
	})
}

// term gives the index term of a folded word or pair; ok is false for a stop
// word.
func term(word string, pair bool, lang Language) (string, bool) {
	if pair {
		return word, !functionPair(word, lang)
	}
	if stopWords[lang][word] {
		return "", false
	}
	return stemOf(word, lang), true
}

// functionPair tells that every character of a pair is a function word.
func functionPair(pair string, lang Language) bool {
	stop := stopWords[lang]
	if stop[pair] {
		return true
	}
	for _, r := range pair {
		if !stop[string(r)] {
			return false
		}
	}
	return pair != ""
}
