package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// The least letters that a part of a longer word has, in scripts whose languages have stemmers: at its end, where Germanic
// languages have the noun that matters, at its beginning, and inside. Shorter ones are in words by chance.
const (
	leastEnd    = 3
	leastBegin  = 4
	leastInside = 6
	leastRest   = 3 // letters around a part: fewer are an ending, or chance
)

// The most letters at one end of a word that are taken for small words written together with it, in scripts without
// stemmers, and when both words have some.
const (
	mostJoined     = 4
	mostJoinedBoth = 2
)

// Shared returns which share of two different terms is a part that they share, 0 to 1; 0 when they do not belong together.
// A compound belongs to its parts ("haus" and "krankenhaus"). In scripts whose languages have no stemmer here, such as Hebrew
// and Arabic, a word also belongs to itself with an article, a preposition, a pronoun or an ending written together with it.
// It knows no language and no words.
func Shared(a, b string) float64 {
	if len(a) > len(b) {
		a, b = b, a
	}
	end, begin := commonSuffix(a, b), commonPrefix(a, b)
	if end == 0 && begin == 0 && len(a) < leastInside {
		return 0
	}
	first, _ := utf8.DecodeRuneInString(a)
	if !unicode.IsLetter(first) || IsPair(a) || a == b || hasDigit(a) {
		return 0
	}
	short, long := utf8.RuneCountInString(a), utf8.RuneCountInString(b)
	if unicode.In(first, unicode.Latin, unicode.Cyrillic) {
		return sharedByCompound(a, b, end, begin, short, long)
	}
	return max(sharedByJoined(end, short, long), sharedByJoined(begin, short, long))
}

// sharedByCompound is Shared for a compound of long letters and its part of short letters. end and begin are how many letters
// the two share there.
func sharedByCompound(part, compound string, end, begin, short, long int) float64 {
	switch {
	case long-short < leastRest:
		return 0
	case end == short && short >= leastEnd && (short > leastEnd || long-short > leastRest), begin == short && short >= leastBegin, short >= leastInside && strings.Contains(compound, part):
		return float64(short) / float64(long)
	}
	return 0
}

// sharedByJoined is Shared for words of short and long letters that share so many at one end.
func sharedByJoined(shared, short, long int) float64 {
	rest, more := short-shared, long-shared
	share := float64(shared) / float64(long)
	switch {
	case rest == 0 && (more == 1 && shared >= 2 || shared >= 3 && more <= min(shared, mostJoined)):
		return share
	case shared >= 3 && rest <= 1 && more <= 1, shared > 3 && rest <= mostJoinedBoth && more <= mostJoinedBoth:
		return share * share
	}
	return 0
}

// commonSuffix returns how many letters two words share at their end.
func commonSuffix(a, b string) (n int) {
	for a != "" && b != "" {
		x, i := utf8.DecodeLastRuneInString(a)
		y, j := utf8.DecodeLastRuneInString(b)
		if x != y {
			break
		}
		a, b, n = a[:len(a)-i], b[:len(b)-j], n+1
	}
	return n
}

// commonPrefix returns how many letters two words share at their beginning.
func commonPrefix(a, b string) (n int) {
	for a != "" && b != "" {
		x, i := utf8.DecodeRuneInString(a)
		y, j := utf8.DecodeRuneInString(b)
		if x != y {
			break
		}
		a, b, n = a[i:], b[j:], n+1
	}
	return n
}
