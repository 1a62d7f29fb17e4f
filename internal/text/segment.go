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
// space and punctuation.
func Normalize(s string) string {
	return strings.Join(strings.FieldsFunc(Fold(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) }), " ")
}

// foldWord is Fold for one token. It drops signs that compatibility forms introduce (as in "½"),
// and cuts to maxWordRunes.
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

// abbreviations end with a full stop that does not end a sentence.
var abbreviations = wordSet("mr mrs ms dr prof sr jr st vs etc e.g i.e approx dept no vol fig inc ltd co bzw z.b usw ca sra av")

// Sentences splits s into sentences, trimmed, without empty ones. A line break always ends a
// sentence. A full stop after a common abbreviation or a single capital letter does not.
func Sentences(s string) []string {
	var out []string
	for line := range strings.FieldsFuncSeq(s, func(r rune) bool { return r == '\n' || r == '\r' || r == '\u2028' || r == '\u2029' || r == 0 }) {
		rest, state, held := line, -1, ""
		for rest != "" {
			var sentence string
			sentence, rest, state = uniseg.FirstSentenceInString(rest, state)
			held += sentence
			if rest != "" && endsInAbbreviation(held) {
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

func endsInAbbreviation(s string) bool {
	s = strings.TrimSpace(s)
	if !strings.HasSuffix(s, ".") {
		return false
	}
	s = strings.TrimSuffix(s, ".")
	if i := strings.LastIndexFunc(s, func(r rune) bool { return unicode.IsSpace(r) || r == '(' || r == '"' }); i >= 0 {
		_, n := utf8.DecodeRuneInString(s[i:])
		s = s[i+n:]
	}
	if r, n := utf8.DecodeRuneInString(s); n == len(s) && unicode.IsUpper(r) && r != 'I' {
		return true
	}
	return abbreviations[strings.ToLower(s)]
}
