package text

import (
	"unicode"
	"unicode/utf8"
)

// signs are the blocks of Unicode with emoji. Signs of other blocks, such as frames of tables and degrees, say nothing alone.
var signs = &unicode.RangeTable{
	R16: []unicode.Range16{{Lo: 0x231a, Hi: 0x23ff, Stride: 1}, {Lo: 0x2600, Hi: 0x27bf, Stride: 1}, {Lo: 0x2b00, Hi: 0x2bff, Stride: 1}},
	R32: []unicode.Range32{{Lo: 0x1f000, Hi: 0x1faff, Stride: 1}},
}

// The letters of flags, which mean something in pairs.
const (
	firstFlag = 0x1f1e6
	lastFlag  = 0x1f1ff
)

// Signs returns the emoji of s as index terms, in order, with repeats. The colors of skin and the marks that join several to
// one are left out, so that each is found in all its variants. The two letters of a flag are one.
func Signs(s string) (out []string) {
	if isASCII(s) {
		return nil
	}
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		from := i
		i += n
		if !unicode.Is(signs, r) || !unicode.Is(unicode.So, r) {
			continue
		}
		if next, n := utf8.DecodeRuneInString(s[i:]); isFlag(r) && isFlag(next) {
			i += n
		}
		out = append(out, s[from:i])
	}
	return out
}

func isFlag(r rune) bool { return r >= firstFlag && r <= lastFlag }
