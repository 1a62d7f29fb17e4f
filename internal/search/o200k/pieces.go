package o200k

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// The pieces are those of the regular expression of tiktoken
//
//	[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//	|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//	|\p{N}{1,3}
//	| ?[^\s\p{L}\p{N}]+[\r\n/]*
//	|\s*[\r\n]+|\s+(?!\S)|\s+
//
// whose first alternative that matches counts, each with its longest loops that let the rest match.

// kind is what a character is to that expression.
type kind uint8

const (
	none     kind = iota // behind the end
	upper                // Lu, Lt
	lower                // Ll
	caseless             // Lm, Lo
	mark                 // M
	number               // N
	blank                // \s
	newline              // \r, \n
	sign                 // all others
)

var asciiKinds = func() (kinds [utf8.RuneSelf]kind) {
	for c := range kinds {
		kinds[c] = kindOf(rune(c))
	}
	return kinds
}()

func kindOf(r rune) kind {
	switch {
	case r == '\r' || r == '\n':
		return newline
	case unicode.Is(unicode.Ll, r):
		return lower
	case unicode.In(r, unicode.Lu, unicode.Lt):
		return upper
	case unicode.In(r, unicode.Lm, unicode.Lo):
		return caseless
	case unicode.Is(unicode.M, r):
		return mark
	case unicode.Is(unicode.N, r):
		return number
	case unicode.IsSpace(r):
		return blank
	}
	return sign
}

// at returns the kind of the character at i, and its length.
func at(s string, i int) (kind, int) {
	if i == len(s) {
		return none, 0
	}
	if c := s[i]; c < utf8.RuneSelf {
		return asciiKinds[c], 1
	}
	r, n := utf8.DecodeRuneInString(s[i:])
	return kindOf(r), n
}

// first returns the length of the first piece of a text that is not empty.
func first(s string) int {
	if end := word(s); end > 0 {
		return end + contraction(s[end:])
	}
	k, n := at(s, 0)
	switch k {
	case number:
		end := n
		for range 2 {
			if k, n := at(s, end); k == number {
				end += n
			}
		}
		return end
	case blank:
		if k, _ := at(s, 1); s[0] == ' ' && k == sign {
			return signs(s, 1)
		}
		return blanks(s)
	case newline:
		return blanks(s)
	default: // a sign: all others are words
		return signs(s, 0)
	}
}

// word returns the length of a word at the begin, which may follow one blank or sign; 0 for none. It ends before a
// capital that follows a small letter.
func word(s string) int {
	begin := 0
	k, n := at(s, 0)
	if k == blank || k == sign || k == mark {
		begin = n
	}
	end, ends := begin, 0 // of the capitals and others, and behind the last of them that has no case
	next, n := at(s, end)
	for ; next == upper || next == caseless || next == mark; next, n = at(s, end) {
		end += n
		if next != upper {
			ends = end
		}
	}
	if next == lower {
		for ; next == lower || next == caseless || next == mark; next, n = at(s, end) {
			end += n
		}
		return end
	}
	switch {
	case ends > 0:
		return ends
	case k == mark:
		return begin // a mark is a word by itself
	case end > begin:
		return end
	}
	return 0
}

// contraction returns the length of an English ending after an apostrophe; 0 for none.
func contraction(s string) int {
	if len(s) < 2 || s[0] != '\'' {
		return 0
	}
	const long = "\u017f" // also an s, where case does not matter
	switch s[1] | 0x20 {
	case 's', 't', 'm', 'd':
		return 2
	case 'r', 'v':
		if len(s) > 2 && s[2]|0x20 == 'e' {
			return 3
		}
	case 'l':
		if len(s) > 2 && s[2]|0x20 == 'l' {
			return 3
		}
	}
	if strings.HasPrefix(s[1:], long) {
		return 1 + len(long)
	}
	return 0
}

// signs returns the end of the signs from a place on, with the ends of lines behind them.
func signs(s string, end int) int {
	for k, n := at(s, end); k == sign || k == mark; k, n = at(s, end) {
		end += n
	}
	for end < len(s) && strings.IndexByte("\r\n/", s[end]) >= 0 {
		end++
	}
	return end
}

// blanks returns the length of blanks: to the last end of a line, else all of them at the end of the text, and all
// but one before what follows, which takes that one.
func blanks(s string) int {
	end, lines, last := 0, 0, 0
	for k, n := at(s, 0); k == blank || k == newline; k, n = at(s, end) {
		last = end
		end += n
		if k == newline {
			lines = end
		}
	}
	switch {
	case lines > 0:
		return lines
	case end < len(s) && last > 0:
		return last
	}
	return end
}
