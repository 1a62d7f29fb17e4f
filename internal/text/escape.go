package text

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Stored text that goes into a prompt may look like a part of the prompt's own structure: a mark around
// the text ("</slipbox-memory>"), a control token of a model's template ("<|im_start|>", "<s>", "<<SYS>>",
// "<start_of_turn>", "[INST]"), or a citation ("[1]"). The rule here knows no names. It breaks anything
// that opens like a tag, in any script and with invisible characters in it, so that a name that looks like
// another one is broken too. A model still reads the text as it was meant.

// maxTag bounds what is between the brackets of a tag, in characters.
const maxTag = 64

// The characters that look like those of a tag. Angles open one when a letter, a slash or a bar follows.
// Quotes do so only before a slash or a bar, because people put words between them. All but the first
// character of a tag are compared in the form of [skeleton].
const (
	angles = "<\uff1c\ufe64\u2039\u2329\u3008\u27e8\u02c2\u1438\u276e\u276c\u29fc\u227a"
	quotes = "\u00ab\u300a\u27ea\u226a"
	closes = ">\uff1e\ufe65\u203a\u232a\u3009\u27e9\u02c3\u1433\u276f\u276d\u29fd\u227b"
	opens  = "[\uff3b\u3010\u3014\u27e6\u2772\u2045\ufe5d"
	shuts  = "]\uff3d\u3011\u3015\u27e7\u2773\u2046\ufe5e"
	bars   = "/\u2044\u2215\u2571\u29f8|\u01c0\u2223\u2502\u2758\u23d0\u00a6!?"
)

// EscapeTags returns s with a backslash in what looks like a tag or a control token: "<\/a>", "<\|im_start|>",
// "[\INST]". Escaping a text again changes nothing.
func EscapeTags(s string) string { return escape(s, false, false) }

// EscapeMarks is EscapeTags that also escapes what looks like a citation: "\[1]".
func EscapeMarks(s string) string { return escape(s, true, false) }

// EscapeTagsJSON is EscapeTags for a JSON document: the bracket that opens a tag is written as \uXXXX, so that
// the document keeps its meaning.
func EscapeTagsJSON(doc string) string { return escape(doc, false, true) }

func escape(s string, citations, asJSON bool) string {
	var b strings.Builder
	from := 0 // what is before it is written
	last := rune(0)
	for at := 0; at < len(s); {
		r, n := utf8.DecodeRuneInString(s[at:])
		next := at + n
		tag := r != utf8.RuneError && opensTag(r, s[next:])
		switch {
		case tag && asJSON:
			b.WriteString(s[from:at])
			fmt.Fprintf(&b, `\u%04x`, r)
			from = next
		case tag:
			b.WriteString(s[from:next])
			b.WriteByte('\\')
			from = next
		case citations && last != '\\' && strings.ContainsRune(opens, r) && r != utf8.RuneError && isCitation(skeleton(s[next:])):
			b.WriteString(s[from:at])
			b.WriteByte('\\')
			from = at
		}
		last, at = r, next
	}
	if b.Len() == 0 {
		return s
	}
	b.WriteString(s[from:])
	return b.String()
}

// opensTag reports whether r and the text after it begin a tag.
func opensTag(r rune, rest string) bool {
	if r < utf8.RuneSelf && r != '<' && r != '[' { // most characters of most texts
		return false
	}
	switch {
	case strings.ContainsRune(angles, r):
		rest = skeleton(rest)
		return beginsWithBar(rest) || isName(rest)
	case strings.ContainsRune(quotes, r):
		return beginsWithBar(skeleton(rest))
	case strings.ContainsRune(opens, r):
		return isControlWord(skeleton(rest))
	}
	return false
}

// skeleton returns the first characters of a text without invisible ones, and with compatibility forms (full
// width, circled, mathematical) replaced by plain ones.
func skeleton(s string) string {
	seen, plain := 0, true
	for i, r := range s {
		if seen == maxTag {
			s = s[:i]
			break
		}
		seen++
		plain = plain && r >= ' ' && r <= '~'
	}
	if plain {
		return s
	}
	return norm.NFKC.String(strings.Map(func(r rune) rune {
		if isUnseen(r) {
			return -1
		}
		return r
	}, s))
}

// isUnseen reports whether a character is invisible, or only changes the one before it.
func isUnseen(r rune) bool {
	switch r {
	case '\u115f', '\u1160', '\u3164', '\uffa0': // fillers: letters without a shape
		return true
	}
	return !unicode.IsSpace(r) && unicode.In(r, unicode.Cf, unicode.Mn, unicode.Me, unicode.Cc)
}

// beginsWithBar reports whether a text begins with a slash or a bar, perhaps after spaces.
func beginsWithBar(s string) bool {
	r, _ := utf8.DecodeRuneInString(strings.TrimSpace(s))
	return r != utf8.RuneError && strings.ContainsRune(bars, r)
}

// isName reports whether a text begins with a letter and has a closing bracket soon. Letters of scripts that
// put words between angle brackets do not count.
func isName(s string) bool {
	for i, r := range s {
		switch {
		case i == 0 && (r != '_' && !unicode.IsLetter(r) || unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)):
			return false
		case strings.ContainsRune(closes, r):
			return true
		case strings.ContainsRune(angles, r): // this one may open a tag
			return false
		}
	}
	return false
}

// isControlWord reports whether a text is a word in capitals and a closing bracket, or, after a slash, any word.
func isControlWord(s string) bool {
	letters, slash := 0, false
	for _, r := range s {
		switch {
		case unicode.IsSpace(r):
		case strings.ContainsRune(shuts, r):
			return letters >= 2 || slash && letters > 0
		case letters == 0 && strings.ContainsRune(bars, r):
			slash = true
		case unicode.IsUpper(r), slash && unicode.IsLetter(r):
			letters++
		case r == '_', r == '-', letters > 0 && unicode.IsNumber(r):
		default:
			return false
		}
	}
	return false
}

// isCitation reports whether a text is a number, or a list or range of numbers, and a closing bracket.
func isCitation(s string) bool {
	digits := 0
	for _, r := range s {
		switch {
		case unicode.IsNumber(r):
			digits++
		case strings.ContainsRune(shuts, r):
			return digits > 0
		case unicode.IsSpace(r), r == ',', r == ';', r == '、', unicode.Is(unicode.Pd, r), r == '~':
		default:
			return false
		}
	}
	return false
}
