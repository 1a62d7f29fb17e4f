package index

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// marks is what the form of a turn tells, whatever its words are.
type marks uint8

const (
	nameMask         marks = 3      // how many capitalised words stand inside its sentences, at most 3
	endsWithQuestion marks = 1 << 2 // it ends with a question mark
	hasQuestion      marks = 1 << 3 // it has one
)

// marksOf looks at the content without the name that it may begin with.
func marksOf(r *Row) marks {
	body := r.Content
	if speaker, ok := r.Record.Attributes["speaker"].(string); ok && speaker != "" {
		body = strings.TrimPrefix(body, speaker+":")
	}
	m := countCapitalized(body)
	if strings.ContainsAny(body, "?？") {
		m |= hasQuestion
	}
	if last, _ := utf8.DecodeLastRuneInString(strings.TrimRightFunc(body, unicode.IsSpace)); last == '?' || last == '？' {
		m |= endsWithQuestion
	}
	return m
}

// countCapitalized counts the words, up to 3, that begin with a capital inside a
// sentence: mostly names. "I" and what is joined to it are none.
func countCapitalized(s string) (n marks) {
	inside := false // something of the sentence was seen
	for i := 0; i < len(s) && n < nameMask; {
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
