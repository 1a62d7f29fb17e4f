package index

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// marks is what the form of a turn tells, whatever its words are.
type marks uint8

const (
	names  marks = 3      // how many capitalised words stand inside its sentences, at most 3
	asks   marks = 1 << 2 // it ends with a question mark
	asking marks = 1 << 3 // it has one
)

// marked looks at the content without the name that it may begin with.
func marked(r *Row) marks {
	body := r.Content
	if speaker, ok := r.Record.Attributes["speaker"].(string); ok && speaker != "" {
		body = strings.TrimPrefix(body, speaker+":")
	}
	m := capitalised(body)
	if strings.ContainsAny(body, "?？") {
		m |= asking
	}
	if last, _ := utf8.DecodeLastRuneInString(strings.TrimRightFunc(body, unicode.IsSpace)); last == '?' || last == '？' {
		m |= asks
	}
	return m
}

// capitalised counts the words, up to 3, that begin with a capital inside a
// sentence: mostly names. "I" and what is joined to it are none.
func capitalised(s string) (n marks) {
	inside := false // something of the sentence was seen
	for i := 0; i < len(s) && n < names; {
		r, size := utf8.DecodeRuneInString(s[i:])
		if !unicode.IsLetter(r) {
			switch r {
			case '.', '!', '?', ':', '\n', '。', '！', '？':
				inside = false
			case ' ', '\t', '"', '\'', '(':
			default:
				inside = true
			}
			i += size
			continue
		}
		end := i + size
		for end < len(s) {
			next, size := utf8.DecodeRuneInString(s[end:])
			if !unicode.IsLetter(next) && next != '\'' {
				break
			}
			end += size
		}
		if word := s[i:end]; inside && unicode.IsUpper(r) && len(word) > size && !strings.HasPrefix(word, "I'") {
			n++
		}
		inside = true
		i = end
	}
	return n
}
