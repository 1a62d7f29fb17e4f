package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Span is a range of bytes of a text: s[Start:End].
type Span struct{ Start, End int }

// CountTokens returns the length of s in tokens: a run of ASCII letters and digits is one token,
// and so is every other character that is not a space. For English prose the result is within a
// hundredth of the count of byte-pair encodings; for other scripts it is higher.
func CountTokens(s string) int {
	n := 0
	for start, end := nextToken(s, 0); start < end; start, end = nextToken(s, end) {
		n++
	}
	return n
}

// Passages cuts s into pieces of at most limit tokens, as [CountTokens] counts, in order. A piece
// has as many whole lines as fit. A line that is too long is split into sentences. A sentence that
// is too long is cut between words, or between characters in a script without spaces. A single
// token is never cut.
//
// The pieces are trimmed, none is blank, and there is only white space between them. A limit below
// 1 is 1. The cost depends on the length of s only.
func Passages(s string, limit int) []Span {
	p := packer{limit: max(limit, 1)}
	for at := 0; at < len(s); {
		end := len(s)
		if i := strings.IndexByte(s[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		p.addLine(s, at, end)
		at = end
	}
	p.flush()
	return p.out
}

// packer collects adjacent pieces into passages.
type packer struct {
	limit int
	out   []Span
	open  Span // the passage that is being filled
	used  int  // its tokens; 0 means that none is open
}

func (p *packer) flush() {
	if p.used > 0 {
		p.out = append(p.out, p.open)
	}
	p.used = 0
}

// add adds a trimmed piece of n tokens, at most limit, after the others.
func (p *packer) add(piece Span, n int) {
	if n == 0 {
		return
	}
	if p.used+n > p.limit {
		p.flush()
	}
	if p.used == 0 {
		p.open.Start = piece.Start
	}
	p.open.End = piece.End
	p.used += n
}

// addLine adds s[at:end] whole, or sentence by sentence.
func (p *packer) addLine(s string, at, end int) {
	if piece, n := measureTokens(s[:end], at, p.limit); n <= p.limit {
		p.add(piece, n)
		return
	}
	for at < end {
		stop := sentenceEnd(s[:end], at)
		if piece, n := measureTokens(s[:stop], at, p.limit); n <= p.limit {
			p.add(piece, n)
		} else {
			p.addCut(s[:stop], at)
		}
		at = stop
	}
}

// measureTokens returns the trimmed range of s from at on and its number of tokens. It stops
// counting above the limit.
func measureTokens(s string, at, limit int) (piece Span, n int) {
	start, end := nextToken(s, at)
	piece.Start = start
	for start < end && n <= limit {
		n++
		piece.End = end
		start, end = nextToken(s, end)
	}
	return piece, n
}

// addCut adds s from at on in pieces of at most limit tokens. Each piece ends at a space or a comma
// of a script without spaces in its second half, if there is one, else at the limit.
func (p *packer) addCut(s string, at int) {
	for {
		var whole, good Span
		var n, goodAt int
		start, end := nextToken(s, at)
		whole.Start, good.Start = start, start
		for start < end && n < p.limit {
			n++
			whole.End = end
			next, nextEnd := nextToken(s, end)
			if next > end || strings.ContainsAny(s[start:end], "，、；：") {
				good.End, goodAt = end, n
			}
			start, end = next, nextEnd
		}
		if start < end && goodAt*2 > n {
			whole, n = good, goodAt
		}
		if n == 0 {
			return
		}
		p.add(whole, n)
		at = whole.End
	}
}

// sentenceEnd returns where the sentence of s that starts at from ends, including the space after
// it. Its rule is faster and coarser than that of [Sentences]: a passage need not end at each
// sentence.
func sentenceEnd(s string, from int) int {
	for i := from; i < len(s); {
		r, n := rune(s[i]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRuneInString(s[i:])
		}
		i += n
		switch r {
		case '。', '！', '？', '．':
			return skipClosing(s, i)
		case '.', '!', '?', '…', '।', '؟', '۔':
			end := skipClosing(s, i)
			next, _ := utf8.DecodeRuneInString(s[end:])
			apart := end == len(s) || unicode.IsSpace(lastRune(s[:end])) // otherwise inside a word or a number
			if apart && (r != '.' || !unicode.IsLower(next) && !continues(s[from:i], s[end:])) {
				return end
			}
			i = end // do not read the same marks again
		}
	}
	return len(s)
}

// skipClosing skips the quotes and brackets that close a sentence, then spaces.
func skipClosing(s string, i int) int {
	for i < len(s) {
		r, n := utf8.DecodeRuneInString(s[i:])
		if !strings.ContainsRune(`.!?…。！？)]"'”’»」』）`, r) {
			break
		}
		i += n
	}
	start, _ := nextToken(s, i)
	return start
}

func lastRune(s string) rune {
	r, _ := utf8.DecodeLastRuneInString(s)
	return r
}

// nextToken returns where the first token at or after i starts and ends; both are len(s) when there
// is none.
func nextToken(s string, i int) (start, end int) {
	for i < len(s) {
		b := s[i]
		if isAlnum(b) {
			for end = i + 1; end < len(s) && isAlnum(s[end]); end++ {
			}
			return i, end
		}
		if b < utf8.RuneSelf {
			if b != ' ' && (b < '\t' || b > '\r') {
				return i, i + 1
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if !unicode.IsSpace(r) {
			return i, i + n
		}
		i += n
	}
	return len(s), len(s)
}

func isAlnum(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9'
}
