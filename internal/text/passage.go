package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Span is a range of bytes of a text: s[Start:End].
type Span struct{ Start, End int }

// Count gives the length of s in tokens: a run of ASCII letters and digits is
// one, and so is every other character that is no space. Of English prose that
// is within a hundredth of what byte-pair encodings count, of other scripts it
// is more.
func Count(s string) int {
	n := 0
	for start, end := nextToken(s, 0); start < end; start, end = nextToken(s, end) {
		n++
	}
	return n
}

// Passages cuts s into pieces of at most limit tokens, as [Count] counts, in
// order. A piece is as many whole lines as fit. A line that is too long by
// itself gives way to its sentences, and a sentence that is too long is cut
// between words, or between characters where the script has no spaces. A
// single token is never cut, however long.
//
// The pieces are trimmed, none is blank, and between them is nothing but
// space; a limit below 1 is 1. Cost grows with the length of s and nothing
// else.
func Passages(s string, limit int) []Span {
	p := packer{limit: max(limit, 1)}
	for at := 0; at < len(s); {
		end := len(s)
		if i := strings.IndexByte(s[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		p.line(s, at, end)
		at = end
	}
	p.flush()
	return p.out
}

// packer gathers neighbouring pieces into passages.
type packer struct {
	limit int
	out   []Span
	open  Span // the passage that is being filled
	used  int  // its tokens; 0 is none
}

func (p *packer) flush() {
	if p.used > 0 {
		p.out = append(p.out, p.open)
	}
	p.used = 0
}

// add puts a trimmed piece of n tokens, at most limit, behind the others.
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

// line adds s[at:end] whole, or sentence by sentence.
func (p *packer) line(s string, at, end int) {
	if piece, n := measure(s[:end], at, p.limit); n <= p.limit {
		p.add(piece, n)
		return
	}
	for at < end {
		stop := sentenceEnd(s[:end], at)
		if piece, n := measure(s[:stop], at, p.limit); n <= p.limit {
			p.add(piece, n)
		} else {
			p.cut(s[:stop], at)
		}
		at = stop
	}
}

// measure gives the trimmed range and the tokens of s from at on. It stops
// counting above the limit.
func measure(s string, at, limit int) (piece Span, n int) {
	start, end := nextToken(s, at)
	piece.Start = start
	for start < end && n <= limit {
		n++
		piece.End = end
		start, end = nextToken(s, end)
	}
	return piece, n
}

// cut adds s from at on in pieces of at most limit tokens. Each piece ends
// where a space or a comma of a script without spaces is in its second half,
// else at the limit.
func (p *packer) cut(s string, at int) {
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

// sentenceEnd gives where the sentence of s that starts at from ends, the
// space behind it included. It is a quicker and coarser rule than that of
// [Sentences]: a passage need not end at each of them.
func sentenceEnd(s string, from int) int {
	for i := from; i < len(s); {
		r, n := rune(s[i]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRuneInString(s[i:])
		}
		i += n
		switch r {
		case '。', '！', '？', '．':
			return closed(s, i)
		case '.', '!', '?', '…', '।', '؟', '۔':
			end := closed(s, i)
			next, _ := utf8.DecodeRuneInString(s[end:])
			apart := end == len(s) || unicode.IsSpace(lastRune(s[:end])) // else within a word or a number
			if apart && (r != '.' || !unicode.IsLower(next) && !endsInAbbreviation(s[from:i])) {
				return end
			}
			i = end // never over the same marks again
		}
	}
	return len(s)
}

// closed skips the quotes and brackets that close a sentence, then spaces.
func closed(s string, i int) int {
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

// nextToken gives where the first token at or after i starts and ends; both
// are len(s) where there is none.
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
