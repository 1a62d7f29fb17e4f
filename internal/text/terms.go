package text

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/danish"
	"github.com/blevesearch/snowballstem/dutch"
	"github.com/blevesearch/snowballstem/finnish"
	"github.com/blevesearch/snowballstem/french"
	"github.com/blevesearch/snowballstem/german"
	"github.com/blevesearch/snowballstem/hungarian"
	"github.com/blevesearch/snowballstem/italian"
	"github.com/blevesearch/snowballstem/norwegian"
	"github.com/blevesearch/snowballstem/porter"
	"github.com/blevesearch/snowballstem/portuguese"
	"github.com/blevesearch/snowballstem/romanian"
	"github.com/blevesearch/snowballstem/russian"
	"github.com/blevesearch/snowballstem/spanish"
	"github.com/blevesearch/snowballstem/swedish"
	"github.com/blevesearch/snowballstem/turkish"
	"golang.org/x/text/unicode/norm"
)

var stemmers = map[Language]func(*snowballstem.Env) bool{
	English: porter.Stem, German: german.Stem, French: french.Stem, Spanish: spanish.Stem, Italian: italian.Stem,
	Portuguese: portuguese.Stem, Dutch: dutch.Stem, Swedish: swedish.Stem, Norwegian: norwegian.Stem,
	Danish: danish.Stem, Finnish: finnish.Stem, Hungarian: hungarian.Stem, Romanian: romanian.Stem, Turkish: turkish.Stem,
	Russian: russian.Stem,
}

// TermSet returns the terms of a text as a set.
func TermSet(s string) map[string]bool {
	set := map[string]bool{}
	for _, t := range Terms(s) {
		set[t] = true
	}
	return set
}

// Stem returns the stem of a folded word in the language. An irregular English form is first
// replaced by its base ("went" by "go"). A word of two letters or fewer, one with a digit, and a
// word of a language without a stemmer are not stemmed. In all cases marks are removed that people
// also write without, see stripDiacritics.
func Stem(word string, lang Language) string {
	if base, ok := irregular[word]; ok && lang == English {
		word = base
	}
	if lang == Russian {
		word = strings.ReplaceAll(word, "ё", "е") // the stemmer does not know it
	}
	stem, ok := stemmers[lang]
	if ok && utf8.RuneCountInString(word) > 2 && !hasDigit(word) {
		env := snowballstem.NewEnv(word)
		stem(env)
		word = env.Current()
	}
	return stripDiacritics(word)
}

func hasDigit(s string) bool {
	for _, r := range s {
		if unicode.IsNumber(r) {
			return true
		}
	}
	return false
}

// stripDiacritics removes the marks of the letters that people also write and search without them: accents of Latin, Greek and
// Cyrillic, vowel points of Hebrew, Arabic and Syriac, hamza over and under a letter. It runs after stemming, because stemmers
// need them. Elsewhere, and in й, a mark makes another letter.
func stripDiacritics(s string) string {
	if isASCII(s) {
		return s
	}
	d := norm.NFD.String(s)
	out := make([]rune, 0, len(s))
	var base rune
	for _, r := range d {
		switch {
		case !unicode.Is(unicode.Mn, r):
			base = r
		case unicode.In(base, markedScripts...) && (r != breve || unicode.Is(unicode.Latin, base)):
			continue
		}
		if plain, ok := plainLetters[r]; ok {
			out = append(out, []rune(plain)...)
		} else {
			out = append(out, r)
		}
	}
	return norm.NFC.String(string(out))
}

const breve = '\u0306'

var markedScripts = []*unicode.RangeTable{unicode.Latin, unicode.Greek, unicode.Cyrillic, unicode.Hebrew, unicode.Arabic, unicode.Syriac}

// plainLetters are letters that many write in another way, and that Unicode does not take apart. The stroke that only makes an
// Arabic word longer is none.
var plainLetters = map[rune]string{
	'ß': "ss", 'ı': "i", 'ł': "l", 'ø': "o", 'æ': "ae", 'œ': "oe", 'đ': "d",
	'ٱ': "ا", 'ى': "ي", 'ی': "ي", 'ې': "ي", 'ة': "ه", 'ہ': "ه", 'ھ': "ه", 'ۀ': "ه", 'ک': "ك", 'ـ': "",
}

// Terms returns the index terms of s in order, with repeats; the package comment describes the
// steps.
func Terms(s string) []string {
	lang, _ := Guess(s)
	return TermsIn(s, lang)
}

// TermsIn is [Terms] for a text whose language is known.
func TermsIn(s string, lang Language) []string {
	out := make([]string, 0, len(s)/9) // two words in five are stop words
	var buf [maxWordRunes]byte
	scan(s, func(t token) {
		if w, ok := lowerASCII(buf[:0], s[t.start:t.end]); ok {
			if e := stems.stem(w, scriptLanguage(s[t.start:t.end], false, lang)); !e.stop {
				out = append(out, e.term)
			}
			return
		}
		w := foldWord(s[t.start:t.end])
		switch {
		case w == "":
		case t.class == classPair:
			eachPair(w, func(p string) {
				if !functionPair(p, scriptLanguage(p, true, lang)) {
					out = append(out, p)
				}
			})
		default:
			if e := stems.stem([]byte(w), scriptLanguage(w, false, lang)); !e.stop {
				out = append(out, e.term)
			}
		}
	})
	return out
}

// lowerASCII writes a word of ASCII characters to buf in lower case. ok is false for any other word
// and for one that does not fit.
func lowerASCII(buf []byte, word string) (w []byte, ok bool) {
	if len(word) > cap(buf) {
		return nil, false
	}
	for i := range len(word) {
		b := word[i]
		if b >= utf8.RuneSelf {
			return nil, false
		}
		if b >= 'A' && b <= 'Z' {
			b += 'a' - 'A'
		}
		buf = append(buf, b)
	}
	return buf, true
}

// eachTerm calls yield with every folded word or character pair of s.
func eachTerm(s string, yield func(word string, pair bool)) {
	scan(s, func(t token) {
		w := foldWord(s[t.start:t.end])
		switch {
		case w == "":
		case t.class == classPair:
			eachPair(w, func(p string) { yield(p, true) })
		default:
			yield(w, false)
		}
	})
}

// indexTerm returns the index term of a folded word or pair; ok is false for a stop word.
func indexTerm(word string, pair bool, lang Language) (string, bool) {
	lang = scriptLanguage(word, pair, lang)
	if pair {
		return word, !functionPair(word, lang)
	}
	e := stems.stem([]byte(word), lang)
	return e.term, !e.stop
}

// functionPair reports whether every character of a pair is a function word.
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

// Form is one word of a query.
type Form struct {
	Word  string   // as it was written, folded
	Terms []string // the terms that it may have in an index, sorted, at least one
	Weak  bool     // it is about the conversation, see [Weak]
}

// Forms returns the words of a query that are not stop words, and its emoji, in order and with repeats. For each
// word it lists the terms that the word may have in an index of texts in the given languages: its
// stem in each. A short query rarely shows its language, so the languages of the texts decide. A
// word that is a stop word in the query's own language, when that is evident, is left out.
func Forms(query string, langs []Language) []Form {
	own, sure := Guess(query)
	if len(langs) == 0 {
		langs = []Language{own}
	}
	var out []Form
	eachTerm(query, func(word string, pair bool) {
		if sure {
			if _, ok := indexTerm(word, pair, own); !ok {
				return
			}
		}
		f := Form{Word: word, Weak: Weak(word, scriptLanguage(word, pair, own))}
		for _, l := range langs {
			if t, ok := indexTerm(word, pair, l); ok && !slices.Contains(f.Terms, t) {
				f.Terms = append(f.Terms, t)
			}
		}
		if len(f.Terms) > 0 {
			slices.Sort(f.Terms)
			out = append(out, f)
		}
	})
	for _, sign := range Signs(query) {
		out = append(out, Form{Word: sign, Terms: []string{sign}})
	}
	return out
}
