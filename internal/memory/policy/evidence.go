package policy

import (
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/text"
)

// Evidence is what an answer may take its words from: what was said, and the background that was shown with it. By it
// facts, triples and texts are refused that nobody said, in any language and of any writer. A text and the evidence are
// compared in both languages that they may have, since a guess can differ between two texts of one language.
type Evidence struct {
	texts   []string
	lang    text.Language                     // by a guess
	sure    bool                              // the guess is certain
	terms   map[text.Language]map[string]bool // of the texts, in the languages that were needed so far
	words   map[string]bool                   // folded, without accents
	numbers map[string]bool                   // without what only writes them: 1,000 and 1000 are one
	cased   bool                              // it has words in a script with capital letters
	year    int                               // of the exchange
}

// NewEvidence returns the evidence of texts that were said in a year.
func NewEvidence(year int, texts ...string) *Evidence {
	e := &Evidence{terms: map[text.Language]map[string]bool{}, words: map[string]bool{}, numbers: map[string]bool{}, year: year}
	e.lang, e.sure = text.Guess(strings.Join(texts, "\n"))
	e.add(texts...)
	return e
}

// With returns the evidence and more texts.
func (e *Evidence) With(texts ...string) *Evidence {
	more := *e
	more.texts, more.terms = slices.Clone(e.texts), map[text.Language]map[string]bool{}
	more.words, more.numbers = maps.Clone(e.words), maps.Clone(e.numbers)
	more.add(texts...)
	return &more
}

func (e *Evidence) add(texts ...string) {
	e.texts = append(e.texts, texts...)
	for _, s := range texts {
		for _, w := range spelledWords(s) {
			e.words[plain(w.text)] = true
			e.cased = e.cased || strings.ContainsFunc(w.text, unicode.IsLower)
		}
		for _, n := range numbersOf(s) {
			e.numbers[n] = true
		}
	}
}

// plain returns a word as people also write it: folded, without accents.
func plain(word string) string { return text.Stem(text.Fold(word), "") }

// in returns the terms of the evidence in a language.
func (e *Evidence) in(lang text.Language) map[string]bool {
	if terms, ok := e.terms[lang]; ok {
		return terms
	}
	terms := map[string]bool{}
	for _, s := range e.texts {
		for _, t := range text.TermsIn(s, lang) {
			terms[t] = true
		}
	}
	e.terms[lang] = terms
	return terms
}

// The words that prompts and facts use for who speaks, which nobody has to say.
var speakerWords = map[string]bool{"user": true, "assistant": true, "用户": true, "助手": true}

// leastSaid is the share of a text's terms that must have been said, one of so many. People who take notes put a third to
// all of what was said in the words of the talk.
const leastSaid = 3

// Supports reports whether a text can come from the evidence: every name and number in it was said, and a third of its
// terms. Terms of another language cannot be compared.
func (e *Evidence) Supports(s string) bool {
	if !e.hasNumbers(s) || !e.hasNames(s) {
		return false
	}
	if e.inOtherLanguage(s) {
		return true
	}
	said, all := e.Count(s)
	return leastSaid*said >= all
}

// Shares reports whether a text has a word or a number of the evidence, or is in another language. If it has none, a word that
// begins like one that was said is enough.
func (e *Evidence) Shares(s string) bool {
	if e.inOtherLanguage(s) || slices.ContainsFunc(text.Words(s), func(w string) bool { return IsNumeral(w) && e.words[w] }) {
		return true
	}
	said, _ := e.Count(s)
	if said > 0 {
		return true
	}
	said, _ = e.count(s, func(word string) bool {
		for other := range e.words {
			if isAkin(word, other) && len(text.TermsIn(other, e.lang)) > 0 {
				return true
			}
		}
		return false
	})
	return said > 0
}

// inOtherLanguage reports whether a text is certainly in another language, so that its terms cannot be compared.
func (e *Evidence) inOtherLanguage(s string) bool {
	lang, sure := text.Guess(s)
	return sure && e.sure && lang != e.lang
}

// Has reports whether an end of a triple was said: every name and number in it, and most of its words, in this or another
// form and in the language of the talk. The words for who speaks need not be said.
func (e *Evidence) Has(s string) bool {
	if !e.hasNumbers(s) || !e.hasNames(s) {
		return false
	}
	said, all := e.count(s, func(word string) bool { return e.hasForm(word) || e.hasSign(word) })
	for _, w := range spelledWords(s) {
		switch word := plain(w.text); {
		case all > 0 && speakerWords[word]:
			said, all = said-1, all-1
		case all == 0 && !IsNumeral(word) && !e.hasForm(word) && !e.hasSign(word): // no search looks for such a word
			return false
		}
	}
	return all == 0 || 2*said > all
}

// HasHalf reports whether at least half of a text's words were said, or it is in another language.
func (e *Evidence) HasHalf(s string) bool {
	said, all := e.Count(s)
	return e.inOtherLanguage(s) || all > 0 && 2*said >= all
}

// Count returns how many words of a text were said, and how many it has but for numbers and function words.
func (e *Evidence) Count(s string) (said, all int) {
	return e.count(s, func(string) bool { return false })
}

// count is Count for words that isSaid accepts, too. It is called with a word without accents.
func (e *Evidence) count(s string, isSaid func(word string) bool) (said, all int) {
	own, _ := text.Guess(s)
	seen := map[string]bool{}
	for _, w := range text.Words(s) {
		ours, theirs := text.TermsIn(w, own), text.TermsIn(w, e.lang)
		word := plain(w)
		if seen[word] || IsNumeral(w) || len(ours) == 0 || len(theirs) == 0 {
			continue
		}
		seen[word] = true
		switch {
		case e.words[word] || e.in(own)[ours[0]] || e.in(e.lang)[theirs[0]] || isSaid(word):
			said++
			all++
		case !endsWord(w):
			all++
		}
	}
	return said, all
}

// endsWord reports whether a pair of characters has a small word of one kana, so that it is the end of a word and the beginning
// of the next one. That it was not said means nothing: another particle may follow the same word.
func endsWord(pair string) bool {
	return strings.ContainsFunc(pair, func(r rune) bool {
		return unicode.Is(unicode.Hiragana, r) && text.IsStopWord(string(r), text.Japanese)
	})
}

// hasNumbers reports whether all numbers of a text were said. Those of a date need not, since facts say "yesterday" as a
// date; nor a digit, which people say as a word.
func (e *Evidence) hasNumbers(s string) bool {
	numbers := numbersOf(s)
	dated := false
	for _, n := range numbers {
		dated = dated || e.isYear(n)
	}
	for _, n := range numbers {
		switch {
		case len(n) == 1, e.numbers[n], e.isYear(n), dated && len(n) == 2 && n <= "31":
		default:
			return false
		}
	}
	return true
}

// nearYears is how far a year that is reckoned is from the exchange.
const nearYears = 10

// isYear reports whether a number is a year that can be reckoned from the time of the exchange.
func (e *Evidence) isYear(n string) bool {
	if len(n) != 4 {
		return false
	}
	year := 0
	for _, r := range n {
		year = 10*year + int(r-'0')
	}
	return year >= e.year-nearYears && year <= e.year+nearYears
}

// hasNames reports whether all names of a text were said, in this or another form. A name is a word with a capital letter
// inside a sentence. Beside a number it may be a month. Where capitals are not a sign of names, as in German, nothing is told
// by them; nor where what was said has none.
func (e *Evidence) hasNames(s string) bool {
	words := spelledWords(s)
	names, missing := 0, false
	for i, w := range words {
		if !w.named {
			continue
		}
		names++
		byNumber := i > 0 && IsNumeral(words[i-1].text) || i+1 < len(words) && IsNumeral(words[i+1].text)
		missing = missing || !byNumber && !e.hasForm(plain(w.text))
	}
	return !missing || !e.cased || capitalsMeanNothing*names > len(words)+2*capitalsMeanNothing
}

// capitalsMeanNothing is the number of words of which one at most is a name, beside two more.
const capitalsMeanNothing = 3

// hasForm reports whether a word without accents or a form of it was said: another ending, or a longer or shorter word.
func (e *Evidence) hasForm(word string) bool {
	if e.words[word] || speakerWords[word] {
		return true
	}
	for said := range e.words {
		if isForm(word, said) {
			return true
		}
	}
	return false
}

// hasSign reports whether a single character of a script without spaces was said, in any word.
func (e *Evidence) hasSign(word string) bool {
	first, size := utf8.DecodeRuneInString(word)
	if size != len(word) || first < 0x2e80 {
		return false
	}
	for said := range e.words {
		if strings.ContainsRune(said, first) {
			return true
		}
	}
	return false
}

// isForm reports whether two words begin alike up to an ending.
func isForm(a, b string) bool {
	same, shorter, longer := beginAlike(a, b)
	return same >= 3 && same == shorter && longer <= 2*shorter || same >= 4 && same >= shorter-1
}

// isAkin reports whether most of two words is the same: three letters in four from the beginning, or what [text.Shared] finds in
// scripts that write small words before others.
func isAkin(a, b string) bool {
	same, _, longer := beginAlike(a, b)
	return same >= 3 && 4*same >= 3*longer || text.Shared(a, b) > 0
}

// beginAlike returns how many letters two words share at the beginning, and how many the shorter and the longer one have.
func beginAlike(a, b string) (same, shorter, longer int) {
	x, y := []rune(a), []rune(b)
	shorter, longer = min(len(x), len(y)), max(len(x), len(y))
	for same < shorter && x[same] == y[same] {
		same++
	}
	return same, shorter, longer
}

// spelledWord is a word as it is written.
type spelledWord struct {
	text  string
	named bool // inside a sentence, with a capital letter
}

// spelledWords returns the words of a text.
func spelledWords(s string) []spelledWord {
	var out []spelledWord
	begins := true
	for field := range strings.FieldsSeq(s) {
		for _, w := range strings.FieldsFunc(field, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsNumber(r) }) {
			first, size := utf8.DecodeRuneInString(w)
			out = append(out, spelledWord{w, !begins && unicode.IsUpper(first) && len(w) > size})
			begins = false
		}
		end, _ := utf8.DecodeLastRuneInString(strings.TrimRight(field, `"”'’)»`))
		begins = begins || strings.ContainsRune(".!?…:“", end)
	}
	return out
}

// IsNumeral reports whether a word has a digit.
func IsNumeral(w string) bool { return strings.ContainsFunc(w, unicode.IsNumber) }

// numbersOf returns the numbers of a text as digits of ASCII, without leading and trailing zeros, so that 92k is 92,000 and 05 is 5.
func numbersOf(s string) []string {
	var out []string
	var digits strings.Builder
	flush := func() {
		if n := digits.String(); n != "" {
			if short := strings.Trim(n, "0"); len(n) != 4 && short != "" {
				n = short
			}
			out = append(out, n)
		}
		digits.Reset()
	}
	folded := []rune(text.Fold(s))
	for i, r := range folded {
		switch d := text.Digit(r); {
		case d != 0:
			digits.WriteByte(d)
		case (r == ',' || r == '.' || r == '\'') && digits.Len() > 0 && groupFollows(folded[i+1:]):
		default:
			flush()
		}
	}
	flush()
	return out
}

// groupFollows reports whether exactly three digits follow, as in 1,000.
func groupFollows(rest []rune) bool {
	n := 0
	for n < len(rest) && unicode.IsDigit(rest[n]) {
		n++
	}
	return n == 3
}
