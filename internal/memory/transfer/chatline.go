package transfer

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// chatLine matches the beginning of a message: three numbers of a date, the time, marks of the clock before or after it, and the rest.
var chatLine = regexp.MustCompile(`^(\[?)(\pN{1,4})([^\pN\n:,]{1,4})(\pN{1,2})([^\pN\n:,]{1,4})(\pN{1,4})([^\pN\n\[\]]{1,20}?)` +
	`(\pN{1,2})(?:[:.٫]|\pZ?h\pZ?)(\pN{2})(?:[:.٫](\pN{2}))?([^\pN\n\]:]{0,16}?)(\] ?| [-–] |, )(.*)$`)

// clockFirst matches the beginning of a message where a language writes the time before the date, as Vietnamese does.
var clockFirst = regexp.MustCompile(`^(\[?)(\pN{1,2}[:.٫]\pN{2}(?:[:.٫]\pN{2})?(?:\pZ?[^\pN\pZ\n\]:,،]{1,12})?)[,،]?\pZ+` +
	`(\pN{1,4}[^\pN\n:,]{1,4}\pN{1,2}[^\pN\n:,]{1,4}\pN{1,4})(\] ?| [-–] |, )(.*)$`)

// madeByProgram are the marks before texts that the program wrote itself.
const madeByProgram = "\u200e\u200f\u202a\u202b\u202c\u202d\u202e"

var (
	chatEdited   = regexp.MustCompile(`\s*\x{200e}<[^<>\n]{3,80}>$`)
	chatTrailing = regexp.MustCompile(`[ \x{202f}]<[^<>\n@/]{3,80}>$`) // as Android writes it, and as people may
	chatAttached = regexp.MustCompile(`^\x{200e}?<[^<>:\n]{2,40}: ?([^<>\n]+\.\w{2,5})>$|^\x{200e}?([^\s()]+\.\w{2,5}) \([^()\n]{3,60}\)$`)
	chatOmitted  = regexp.MustCompile(`^<[^<>\n]{3,60}>$`)
)

// chatHead is the beginning of a message.
type chatHead struct {
	layout string
	date   [3]int
	day    string // the date as it is written
	clock  [3]int
	mark   string // of the half of the day, in words
	padded bool   // the hour has a zero before it
	rest   string // author and text
}

func parseChatLine(line string) (h chatHead, ok bool) {
	line = strings.TrimLeft(line, madeByProgram+"\ufeff")
	m := chatLine.FindStringSubmatch(line)
	if m == nil {
		m = chatLine.FindStringSubmatch(clockFirst.ReplaceAllString(line, "${1}${3}, ${2}${4}${5}"))
	}
	if m == nil {
		return h, false
	}
	for i, at := range []int{2, 4, 6} {
		h.date[i] = number(m[at])
	}
	h.day = strings.Join(m[2:7], "")
	for i, at := range []int{8, 9, 10} {
		h.clock[i] = number(m[at])
	}
	if h.clock[0] > 24 || h.clock[1] > 59 || h.clock[2] > 59 {
		return h, false
	}
	h.padded = utf8.RuneCountInString(m[8]) > 1 && h.clock[0] < 10
	before := m[7]
	if c, n := utf8.DecodeRuneInString(before); unicode.IsLetter(c) && strings.IndexFunc(m[5], unicode.IsLetter) == 0 {
		before = before[n:] // the day's unit, as those of year and month: 2026年3月13日
	}
	h.mark = letters(before + " " + m[11])
	h.rest = m[13]
	h.layout = m[1] + strings.TrimSpace(m[3]) + strings.TrimSpace(m[5]) + strings.TrimSpace(m[12])
	if m[10] != "" {
		h.layout += "s"
	}
	return h, true
}

// number returns a number in the digits of any language.
func number(text string) (n int) {
	for _, c := range text {
		for d := range 10 {
			if unicode.IsDigit(c) && (c-rune(d) == zeroOf(c)) {
				n = 10*n + d
			}
		}
	}
	return n
}

// zeroOf returns the zero of the digits that c belongs to. Digits are ten in a row.
func zeroOf(c rune) rune {
	zero := c
	for unicode.IsDigit(zero-1) && c-zero < 9 {
		zero--
	}
	return zero
}

// letters returns the words of a text in lower case, of letters alone.
func letters(text string) string {
	return strings.ToLower(strings.Join(strings.FieldsFunc(text, func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsMark(c) }), " "))
}

// shapeOf returns a text with a 0 for each number and an a for each word.
func shapeOf(text string) string {
	var out []rune
	for _, c := range strings.TrimLeft(text, madeByProgram+"\ufeff") {
		switch {
		case unicode.IsDigit(c):
			c = '0'
		case unicode.IsLetter(c), unicode.IsMark(c):
			c = 'a'
		}
		if n := len(out); n == 0 || out[n-1] != c || c != '0' && c != 'a' {
			out = append(out, c)
		}
	}
	return string(out)
}

// splitAuthor splits author and text; ok is false for a line of the program.
func splitAuthor(rest string) (author, text string, ok bool) {
	author, text, ok = strings.Cut(rest, ":")
	if !ok || text != "" && !strings.HasPrefix(text, " ") {
		return "", rest, false
	}
	author = label(strings.TrimLeft(strings.TrimSpace(author), "~ \u202f"))
	return author, strings.TrimPrefix(text, " "), author != "" && len(author) < maxLabel
}
