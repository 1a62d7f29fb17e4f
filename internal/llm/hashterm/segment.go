package hashterm

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
	"golang.org/x/text/unicode/norm"
)

// maxWordRunes bounds one word, so that a pasted blob of base64 is one short
// dictionary entry and not a long one.
const maxWordRunes = 64

// class says how a run of characters is turned into terms.
type class uint8

const (
	classNone class = iota
	classWord       // scripts that put spaces between words
	classPair       // scripts that do not: indexed as character pairs
)

// token is a run of one class; start and end are byte offsets into the text.
type token struct {
	start, end int
	class      class
}

// pairScripts are the scripts written without spaces, and Hangul, whose
// particles cling to the noun.
var pairScripts = []*unicode.RangeTable{
	unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul,
	unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar,
}

// classOf gives the class of a rune; mark tells that it only continues a word.
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

// scan calls yield for every token of s in order.
func scan(s string, yield func(token)) {
	if isASCII(s) {
		scanASCII(s, yield)
		return
	}
	var run token
	flush := func() {
		if run.end > run.start {
			yield(run)
		}
		run = token{}
	}
	rest, at, state := s, 0, -1
	for rest != "" {
		var word string
		word, rest, state = uniseg.FirstWordInString(rest, state)
		// A word boundary parts two words, but not two ideographs: those are
		// one run, of which pairs are taken.
		if run.class == classWord {
			flush()
		}
		for i, r := range word {
			c, mark := classOf(r)
			if mark && run.end == at+i && run.end > run.start {
				c = run.class
			} else if mark {
				c = classNone
			}
			if c == classNone {
				flush()
				continue
			}
			if c != run.class || run.end != at+i {
				flush()
				run = token{start: at + i, class: c}
			}
			run.end = at + i + utf8.RuneLen(r)
		}
		at += len(word)
	}
	flush()
}

// scanASCII is scan where every boundary can be told from one byte.
func scanASCII(s string, yield func(token)) {
	start := -1
	for i := range len(s) {
		if c, _ := classOf(rune(s[i])); c == classWord {
			if start < 0 {
				start = i
			}
			continue
		}
		if start >= 0 {
			yield(token{start: start, end: i, class: classWord})
			start = -1
		}
	}
	if start >= 0 {
		yield(token{start: start, end: len(s), class: classWord})
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

// fold gives the form in which words are compared: lower case, NFKC, final
// sigma as sigma. Invalid UTF-8 becomes U+FFFD.
func fold(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	s = strings.ToLower(norm.NFKC.String(strings.ToValidUTF8(s, "\uFFFD")))
	s = strings.ReplaceAll(s, "i\u0307", "i") // what lower-casing makes of İ
	return norm.NFKC.String(strings.ReplaceAll(s, "ς", "σ"))
}

// foldWord is fold for one token, without the signs that compatibility forms
// may bring in (as in "½"), and at most maxWordRunes long.
func foldWord(s string) string {
	s = fold(s)
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

// pairs calls yield with each overlapping pair of characters of a folded run.
func pairs(run string, yield func(string)) {
	prev, n := -1, 0
	for i, r := range run {
		if _, mark := classOf(r); mark && n > 0 && r != 'ー' {
			continue // a vowel sign stays with its consonant
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

// endOfCluster gives where the character that starts at i ends, its marks
// included.
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

// Words gives the folded words of s in order, repeats and stop words
// included; runs of scripts without spaces come as character pairs.
func Words(s string) []string {
	var out []string
	scan(s, func(t token) {
		w := foldWord(s[t.start:t.end])
		switch {
		case w == "":
		case t.class == classPair:
			pairs(w, func(p string) { out = append(out, p) })
		default:
			out = append(out, w)
		}
	})
	return out
}
