package index

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// marks are features of the form of a message, independent of its words.
type marks uint8

const (
	// nameMask selects the number of capitalized words inside its sentences, at most 3.
	nameMask         marks = 3
	endsWithQuestion marks = 1 << 2 // the last character is a question mark
	hasQuestion      marks = 1 << 3 // there is a question mark
)

// marksOf returns the marks of a row's content, without the speaker's name that the content may
// begin with.
func marksOf(r *Row) marks {
	body := r.Content
	if speaker, ok := r.Record.Attributes["speaker"].(string); ok && speaker != "" {
		body = strings.TrimPrefix(body, speaker+":")
	}
	m := countCapitalized(body)
	if strings.Contains(body, "?") || strings.Contains(body, "？") {
		m |= hasQuestion
	}
	if last, _ := utf8.DecodeLastRuneInString(strings.TrimRightFunc(body, unicode.IsSpace)); last == '?' || last == '？' {
		m |= endsWithQuestion
	}
	return m
}

// countCapitalized counts words that begin with a capital letter inside a sentence, up to 3: mostly
// names. "I" and its contractions do not count.
func countCapitalized(s string) (n marks) {
	inside := false // some of the sentence was read
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
