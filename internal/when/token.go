package when

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// token is a word, a number or a sign of an English query.
type token struct {
	start, end int
	word       string // in lower case; "" for a plain number
	number     int    // of one to four digits; -1 for none
	digits     int    // number of digits
	ordinal    bool   // "8th"
	capital    bool   // the word begins with a capital letter
}

// tokens splits a query. Digits joined with letters or signs ("3pm", "2.5", "1,000", "v2") are
// words without a meaning here; "2023-05-08" and the like are one word.
func tokens(s string) []token {
	var out []token
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case unicode.IsSpace(r):
			i += n
			continue
		case !wordRune(r):
			out = append(out, token{start: i, end: i + n, word: s[i : i+n], number: -1})
			i += n
			continue
		}
		end := wordEnd(s, i)
		out = append(out, classify(s, i, end))
		i = end
	}
	return out
}

// wordEnd returns where the word or number that starts at i ends. A sign between two digits is part
// of a number.
func wordEnd(s string, i int) int {
	digit := false
	for i < len(s) {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case unicode.IsDigit(r):
			digit = true
		case wordRune(r):
			digit = false
		case digit && strings.ContainsRune(".,:/-", r) && i+1 < len(s) && isDigit(s[i+1]):
		default:
			return i
		}
		i += n
	}
	return i
}

// wordRune reports whether r is a letter or a digit of a script with spaces.
func wordRune(r rune) bool {
	return unicode.IsDigit(r) || unicode.IsLetter(r) && !unicode.Is(unicode.Han, r)
}

func isDigit(b byte) bool { return b >= '0' && b <= '9' }

func classify(s string, start, end int) token {
	raw := s[start:end]
	t := token{start: start, end: end, word: strings.ToLower(raw), number: -1, capital: raw[0] >= 'A' && raw[0] <= 'Z'}
	digits := 0
	for digits < len(raw) && isDigit(raw[digits]) {
		digits++
	}
	if digits == 0 || digits > 4 || touchesSign(s, start, end) {
		return t
	}
	switch rest := t.word[digits:]; rest {
	case "":
		t.word, t.digits = "", digits
	case "st", "nd", "rd", "th":
		if digits > 2 {
			return t
		}
		t.word, t.digits, t.ordinal = "", digits, true
	default:
		return t
	}
	t.number = 0
	for _, c := range raw[:digits] {
		t.number = t.number*10 + int(c-'0')
	}
	return t
}

// touchesSign reports whether the characters around a number exclude an English date: a sign before
// it, except a hyphen after a word ("mid-2022"), or a Chinese character after it.
func touchesSign(s string, at, end int) bool {
	if r, _ := utf8.DecodeRuneInString(s[end:]); unicode.Is(unicode.Han, r) {
		return true
	}
	r, n := utf8.DecodeLastRuneInString(s[:at])
	if r == '-' {
		before, _ := utf8.DecodeLastRuneInString(s[:at-n])
		return !unicode.IsLetter(before)
	}
	return n > 0 && strings.ContainsRune("$€£¥#+−.,:/_@&=%*~", r)
}
