package quote

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const maxSpeaker = 64 // bytes that a line has at most before what is said

// Speaker returns who speaks behind a text, as a transcript writes it: the beginning of the last line, or the nearer of the two lines
// before it that has a word where the last has none, up to a mark such as a colon. A line of its own may begin with a mark instead, as
// a heading does. "" where nothing of the kind is there.
func Speaker(before string) string {
	for above := range 3 {
		at := strings.LastIndexByte(before, '\n')
		line := strings.TrimSpace(before[at+1:])
		if strings.ContainsFunc(line, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
			first, _ := utf8.DecodeRuneInString(line)
			last, _ := utf8.DecodeLastRuneInString(strings.TrimRight(line, `"' `))
			if len(line) <= maxSpeaker && (isMark(last) || above > 0 && isMark(first)) {
				return line
			}
			return ""
		}
		if at < 0 {
			return ""
		}
		before = before[:at]
	}
	return ""
}

func isMark(r rune) bool { return unicode.IsPunct(r) || unicode.IsSymbol(r) }

// Closes reports whether a transcript ends with what is between two texts, or with its answer: it is behind the name of who speaks, and the
// same speaker says nothing later. A program that sends the dialogue in one message has the person's newest words there.
func Closes(before, behind string) bool {
	speaker := Speaker(before)
	return speaker != "" && !strings.Contains(behind, speaker)
}
