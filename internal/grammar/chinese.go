package grammar

import (
	"bytes"
	_ "embed" // the table
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

//go:embed chinese.bin
var chineseTable []byte

// dictionary is a sorted list of words, one line each.
type dictionary struct {
	lines  []byte
	starts []uint32
}

// dictionaryEntry is what the dictionary says about a word.
type dictionaryEntry struct {
	tag  string
	cost int // the negative logarithm of the word's probability, in tenths
}

var loadDictionary = sync.OnceValue(func() *dictionary {
	d := &dictionary{lines: unpack(chineseTable)}
	d.starts = make([]uint32, 0, bytes.Count(d.lines, []byte{'\n'}))
	for at := 0; at < len(d.lines); {
		d.starts = append(d.starts, uint32(at))
		at += bytes.IndexByte(d.lines[at:], '\n') + 1
	}
	return d
})

// line returns the line at an index, without its end.
func (d *dictionary) line(i int) string {
	line := d.lines[d.starts[i]:]
	return string(line[:bytes.IndexByte(line, '\n')])
}

// search returns the first index at or behind from whose word is not below w.
func (d *dictionary) search(w string, from int) int {
	low, high := from, len(d.starts)
	for low < high {
		mid := (low + high) / 2
		word, _, _ := strings.Cut(d.line(mid), "\t")
		if word < w {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low
}

const (
	// maxWordRunes is the length of the longest word of the dictionary.
	maxWordRunes = 8
	// unknownCost is the cost of a character that is no word of the dictionary: more than that of
	// any word.
	unknownCost = 190
)

// Chinese splits a text into words and tags them. Numbers have the tag "m", words in other scripts
// "eng", punctuation "w", and characters that the dictionary does not have "x".
func Chinese(s string) []Word {
	var out []Word
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		end := i + n
		same := func(in func(rune) bool) {
			for end < len(s) {
				r, n := utf8.DecodeRuneInString(s[end:])
				if !in(r) {
					return
				}
				end += n
			}
		}
		switch {
		case unicode.IsSpace(r) || r == utf8.RuneError:
		case isHan(r):
			same(isHan)
			out = append(out, splitHan(s, i, end)...)
		case unicode.IsDigit(r):
			same(unicode.IsDigit)
			out = append(out, Word{s[i:end], "m", i, end})
		case unicode.IsLetter(r):
			same(func(r rune) bool { return unicode.IsLetter(r) && !isHan(r) || r == '\'' || r == '-' })
			out = append(out, Word{s[i:end], "eng", i, end})
		default:
			out = append(out, Word{s[i:end], "w", i, end})
		}
		i = end
	}
	return out
}

func isHan(r rune) bool { return unicode.Is(unicode.Han, r) }

// splitHan splits a run of Chinese characters into the words of the least cost together.
func splitHan(s string, start, end int) []Word {
	d := loadDictionary()
	type step struct {
		cost, next int
		tag        string
	}
	// best holds the cheapest way from each byte to the end.
	best := make([]step, end-start+1)
	for i := end; i > start; {
		_, n := utf8.DecodeLastRuneInString(s[start:i])
		i -= n
		found, runes, at := step{cost: 1 << 40}, 0, 0
		for j := i; j < end && runes < maxWordRunes; {
			_, n := utf8.DecodeRuneInString(s[j:])
			j += n
			runes++
			e, place, more := d.find(s[i:j], at)
			at = place
			if e == nil && runes == 1 {
				e = &dictionaryEntry{"x", unknownCost}
			}
			if e != nil {
				if cost := e.cost + best[j-start].cost; cost < found.cost {
					found = step{cost, j, e.tag}
				}
			}
			if !more {
				break
			}
		}
		best[i-start] = found
	}
	var out []Word
	for i := start; i < end; i = best[i-start].next {
		b := best[i-start]
		out = append(out, Word{s[i:b.next], b.tag, i, b.next})
	}
	return out
}

// find returns the entry of a word, nil if it has none, and the index where words with this
// beginning are. more is false when no longer word begins with it. It searches from an index that a
// shorter beginning gave.
func (d *dictionary) find(w string, from int) (e *dictionaryEntry, at int, more bool) {
	at = d.search(w, from)
	next := at
	if at < len(d.starts) {
		word, rest, _ := strings.Cut(d.line(at), "\t")
		if word == w {
			tag, cost, _ := strings.Cut(rest, "\t")
			n, err := strconv.Atoi(cost)
			if err == nil { // it always is a number
				e = &dictionaryEntry{tag, n}
			}
			next++
		}
	}
	more = next < len(d.starts) && strings.HasPrefix(d.line(next), w)
	return e, at, more
}
