package secret

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/slipboxhq/slipbox/internal/text"
)

// minusSign is a dash for those who write numbers, and a mathematical sign in Unicode.
const minusSign = '\u2212'

// dots are the points of other widths, and those at half height.
const dots = "\uff0e\uff61\u00b7\u30fb\uff65\u2022\u2219\u22c5"

// asciiOf returns the digit, space, point or hyphen of ASCII that a character of another script or width is written for; 0: none.
func asciiOf(r rune) byte {
	switch {
	case r < utf8.RuneSelf:
		return 0
	case unicode.IsDigit(r):
		return text.Digit(r)
	case unicode.Is(unicode.Zs, r):
		return ' '
	case unicode.Is(unicode.Pd, r) || r == minusSign:
		return '-'
	case strings.ContainsRune(dots, r):
		return '.'
	}
	return 0
}

// inOtherDigits finds the numbers of cards and accounts that are written with digits, spaces or hyphens that ASCII does not have.
func inOtherDigits(s string) (out []Found) {
	if !strings.ContainsFunc(s, func(r rune) bool { return asciiOf(r) != 0 }) {
		return nil
	}
	plain, at := make([]byte, 0, len(s)), make([]int, 0, len(s)+1) // where each byte of plain begins in s
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if c := asciiOf(r); c != 0 {
			plain, at = append(plain, c), append(at, i)
		} else {
			for k := range size {
				plain, at = append(plain, s[i+k]), append(at, i+k)
			}
		}
		i += size
	}
	at = append(at, len(s))
	for _, f := range Find(string(plain)) {
		if f.Kind == Card || f.Kind == IBAN {
			out = append(out, Found{Start: at[f.Start], End: at[f.End], Kind: f.Kind})
		}
	}
	return out
}
