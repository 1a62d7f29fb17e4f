package text

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
	"golang.org/x/text/unicode/norm"
)

// maxWordRunes bounds the length of one word, so a pasted blob of base64 does not become a long
// dictionary entry.
const maxWordRunes = 64

// class is how a run of characters is turned into terms.
type class uint8

const (
	classNone class = iota
	classWord       // scripts with spaces between words
	classPair       // scripts without spaces: indexed as character pairs
)

// token is a run of one class; start and end are byte offsets into the text.
type token struct {
	start, end int
	class      class
}

// pairScripts are the scripts written without spaces, and Hangul, whose particles are attached to
// the noun.
var pairScripts = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul,
	unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar,
	unicode.Tai_Le, unicode.New_Tai_Lue, unicode.Tai_Tham, unicode.Tai_Viet, unicode.Ahom,
	unicode.Tangut, unicode.Nushu, unicode.Khitan_Small_Script,
}

// IsPair reports whether an index term is a pair of characters, and less than a word.
func IsPair(term string) bool {
	first, _ := utf8.DecodeRuneInString(term)
	return unicode.In(first, pairScripts...)
}

// classOf returns the class of a rune. mark reports whether it only continues a word.
func classOf(r rune) (c class, mark bool) {
	switch {
	case r < utf8.RuneSelf:
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return classWord, false
		}
		return classNone, false
	case r == utf8.RuneError:
		return classNone, false
	case unicode.Is(unicode.M, r):
		return classWord, true
	case r == 'ー': // the Katakana length mark belongs to no script of its own
		return classPair, true
	case unicode.IsLetter(r) || unicode.IsNumber(r):
		if r >= 0x0e00 && unicode.In(r, pairScripts...) {
			return classPair, false
		}
		return classWord, false
	}
	return classNone, false
}

// scan calls yield for every token of s in order. Between letters, digits and marks of scripts with
// spaces, UAX #29 has boundaries only around numbers that are not digits ("x²"), so reading each
// character once is enough.
func scan(s string, yield func(token)) {
	var run token
	for i := 0; i < len(s); {
		var c class
		n, mark, alone := 1, false, false
		if b := s[i]; b < utf8.RuneSelf {
			if isAlnum(b) {
				c = classWord
			}
		} else {
			var r rune
			r, n = utf8.DecodeRuneInString(s[i:])
			c, mark = classOf(r)
			alone = c == classWord && unicode.Is(unicode.No, r)
		}
		if mark {
			if run.end == i && run.end > 0 && run.class != classNone {
				c = run.class
			} else {
				c = classNone
			}
		}
		if c != run.class || alone {
			if run.class != classNone {
				yield(run)
			}
			run = token{start: i, class: c}
		}
		i += n
		run.end = i
		if alone {
			yield(run)
			run = token{}
		}
	}
	if run.class != classNone {
		yield(run)
	}
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// Fold returns the form in which words are compared: lower case, NFKC, final sigma as sigma.
// Invalid UTF-8 becomes U+FFFD.
func Fold(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	s = strings.ToLower(norm.NFKC.String(strings.ToValidUTF8(s, "\uFFFD")))
	s = strings.ReplaceAll(s, "i\u0307", "i") // the lower case of İ
	return norm.NFKC.String(strings.ReplaceAll(s, "ς", "σ"))
}

// Normalize returns the form in which whole texts are compared: folded, with one space for each run of white
// space and punctuation. Signs such as emoji are words: "I ❤️ winter" is not "I 💔 winter".
func Normalize(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	apart := false // what follows is another word
	write := func(r rune) {
		if apart && b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
		apart = false
	}
	for _, r := range signed(Fold(s)) {
		switch {
		case unicode.Is(unicode.Variation_Selector, r): // only chooses how a sign is drawn
		case unicode.IsLetter(r), unicode.IsNumber(r), unicode.IsMark(r):
			write(r)
		case isSymbol(r):
			apart = true
			write(r)
			apart = true
		default:
			apart = true
		}
	}
	return b.String()
}

// isSymbol reports whether a character says something that is neither a word nor punctuation.
func isSymbol(r rune) bool {
	return unicode.In(r, unicode.So, unicode.Sm, unicode.Sc) || r == '%' || r == '#'
}

// Symbols returns the signs of a text that [Normalize] takes for words.
func Symbols(s string) string {
	return strings.Map(func(r rune) rune {
		if isSymbol(r) {
			return r
		}
		return -1
	}, signed(Fold(s)))
}

// The sign of a negative number, and that of a fraction without a whole number in front.
const (
	minus = '\u2212'
	point = '\u22c5'
)

// signed writes the hyphens and dashes that are signs of numbers as minus, and points that begin one as point: "-5" is not "5", and ".5"
// neither. Those within numbers and words, such as in "5-6", "covid-19" and "5.6", stay what they are.
func signed(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return isPoint(r) || unicode.Is(unicode.Pd, r) }) {
		return s
	}
	out := []rune(s)
	for i, r := range out {
		if i > 0 && (unicode.IsLetter(out[i-1]) || unicode.IsNumber(out[i-1]) || unicode.IsMark(out[i-1]) || isPoint(out[i-1])) {
			continue
		}
		next := i + 1
		for next < len(out) && unicode.Is(unicode.Cf, out[next]) { // marks of the direction
			next++
		}
		switch {
		case next == len(out):
		case unicode.Is(unicode.Pd, r) && (unicode.IsNumber(out[next]) || isPoint(out[next]) && next+1 < len(out) && unicode.IsNumber(out[next+1])):
			out[i] = minus
		case isPoint(r) && unicode.IsNumber(out[next]):
			out[i] = point
		}
	}
	return string(out)
}

// isPoint reports whether a character is a decimal separator.
func isPoint(r rune) bool { return r == '.' || r == ',' || r == '\u066b' }

// Digit returns the digit of ASCII that a digit of another script or width is written for; 0 for what is not a decimal digit.
func Digit(r rune) byte {
	if !unicode.IsDigit(r) {
		return 0
	}
	zero := r
	for unicode.IsDigit(zero - 1) { // digits are ten in a row, or several times ten
		zero--
	}
	return "0123456789"[(r-zero)%10]
}

// Same reports whether two names are written alike: in any case, and with accents in one sign or as marks.
func Same(a, b string) bool { return Fold(a) == Fold(b) }

// HasWord reports whether a text has a letter or a number.
func HasWord(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) })
}

// foldWord is Fold for one token. Digits of every script are those of ASCII, so that 8500 finds ٨٥٠٠. It drops signs that
// compatibility forms introduce (as in "½"), and cuts to maxWordRunes.
func foldWord(s string) string {
	s = Fold(s)
	if len(s) <= maxWordRunes && isASCII(s) {
		return s
	}
	var b strings.Builder
	n := 0
	for _, r := range s {
		if c, mark := classOf(r); c == classNone && !mark {
			continue
		}
		if n++; n > maxWordRunes {
			break
		}
		if d := Digit(r); d != 0 {
			r = rune(d)
		}
		b.WriteRune(r)
	}
	return b.String()
}

// eachPair calls yield with each overlapping pair of characters of a folded run.
func eachPair(run string, yield func(string)) {
	prev, n := -1, 0
	for i, r := range run {
		if _, mark := classOf(r); mark && n > 0 && r != 'ー' {
			continue // a vowel sign belongs to its consonant
		}
		if prev >= 0 {
			yield(run[prev:endOfCluster(run, i)])
		}
		prev = i
		n++
	}
	if n == 1 {
		yield(run[prev:endOfCluster(run, prev)])
	}
}

// endOfCluster returns where the character that starts at i ends, including its marks.
func endOfCluster(run string, i int) int {
	_, n := utf8.DecodeRuneInString(run[i:])
	end := i + n
	for end < len(run) {
		r, n := utf8.DecodeRuneInString(run[end:])
		if _, mark := classOf(r); !mark || r == 'ー' {
			break
		}
		end += n
	}
	return end
}

// Words returns the folded words of s in order, with repeats and stop words. Runs of scripts
// without spaces are returned as character pairs.
func Words(s string) []string {
	var out []string
	scan(s, func(t token) {
		w := foldWord(s[t.start:t.end])
		switch {
		case w == "":
		case t.class == classPair:
			eachPair(w, func(p string) { out = append(out, p) })
		default:
			out = append(out, w)
		}
	})
	return out
}

// abbreviations end with a full stop that does not end a sentence, also before a word with a small letter or without one.
var abbreviations = wordSet("mr mrs ms dr prof sr jr st etc e.g i.e approx dept no vol fig inc ltd co vs bzw z.b usw ca sra dra fa av")

// Sentences splits s into sentences, trimmed, without empty ones. A line break always ends a
// sentence. A full stop does not if it is of an abbreviation, as far as its form shows one, of one letter, or of a
// German number before a word.
func Sentences(s string) []string {
	var out []string
	for line := range strings.FieldsFuncSeq(s, func(r rune) bool { return r == '\n' || r == '\r' || r == '\u2028' || r == '\u2029' || r == 0 }) {
		rest, state, held := line, -1, ""
		for rest != "" {
			var sentence string
			sentence, rest, state = uniseg.FirstSentenceInString(rest, state)
			held += sentence
			if rest != "" && continues(held, rest) {
				continue
			}
			if t := strings.TrimSpace(held); t != "" {
				out = append(out, t)
			}
			held = ""
		}
	}
	return out
}

// maxShort is how many letters a shortened title, month or place has at most, such as Prof, Sept and Ft.
const maxShort = 4

// continues reports whether the full stop at the end of a text is none of a sentence, from the words around it. What is wrongly kept
// together is still read; what is wrongly cut says something else.
func continues(s, rest string) bool {
	s = strings.TrimSpace(s)
	before, stopped := strings.CutSuffix(s[len(strings.TrimRightFunc(s, isInside)):], ".")
	rest = strings.TrimSpace(rest[:min(len(rest), 200)]) // enough to tell the language
	next, _, _ := strings.Cut(rest, " ")
	first, _ := utf8.DecodeRuneInString(before)
	following, _ := utf8.DecodeRuneInString(next)
	switch {
	case !stopped || strings.HasSuffix(before, "."):
		return false
	case abbreviations[strings.ToLower(before)], before != "I" && utf8.RuneCountInString(before) == 1 && (unicode.IsUpper(first) || unicode.IsLower(first)):
		return true
	case unicode.IsDigit(following) && strings.Trim(next, ".,;:!?)0123456789") != "", !unicode.IsDigit(following) && !unicode.IsUpper(following):
		return false
	case unicode.IsDigit(first): // Mai is a month, and a function word of another language
		lang, _ := Guess(s + " " + rest)
		return lang == German && len(before) <= len("31.12") && !stopWords[German][opening(next)]
	case startsSentence(opening(next)):
		return false
	}
	return unicode.IsUpper(first) && (strings.Contains(before, ".") || len(s) > len(before)+1 && isShortened(before))
}

// isShortened reports whether a word with a capital letter may be a shortened one: short, in Latin letters, with small ones, and
// ending in a consonant.
func isShortened(word string) bool {
	folded := stripDiacritics(Fold(word))
	return len(folded) <= maxShort && isASCII(folded) && word != strings.ToUpper(word) && strings.TrimRight(folded, "aeiouy") == folded
}

func isInside(r rune) bool { return !unicode.IsSpace(r) && r != '(' && r != '"' }

// opening returns a word that may begin a sentence, folded and without what is behind its letters, as in I'm.
func opening(word string) string {
	if i := strings.IndexFunc(word, func(r rune) bool { return !unicode.IsLetter(r) }); i >= 0 {
		word = word[:i]
	}
	return Fold(word)
}

// startsSentence reports whether a folded word, which has a capital letter, is a function word: it has one at the beginning of a sentence.
func startsSentence(word string) bool {
	for _, words := range stopWords {
		if words[word] {
			return true
		}
	}
	return false
}
