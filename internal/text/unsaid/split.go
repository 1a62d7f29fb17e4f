package unsaid

import (
	"regexp"
	"strings"
)

var (
	// closed ends a block whose begin was in the prompt of the model, opened is one that was cut off.
	closed = regexp.MustCompile(`(?is)^(?:.*[^\x60])?` + end + `\s*`)
	opened = regexp.MustCompile(`(?is)(?:^|\n)[ \t]*` + begin + `.*$`)
	// analysis is thinking only before an answer: the word also names what people ask for.
	analysis = regexp.MustCompile(`(?is)^\s*<analysis>.*?</analysis>\s*`)
	marks    = regexp.MustCompile(`(?i)` + begin + `|` + end + `|` + turnEnd + `|<\|(?:channel|return|(?:start|end)_response|(?:begin|end)_of_solution)\|>|</?analysis>`)
)

// LongestMark is how many bytes a mark has at most.
const LongestMark = 96

// HasMark reports whether there is a mark in a text, after which Split may return something else.
func HasMark(s string) bool { return strings.ContainsAny(s, ">▷]") && marks.MatchString(s) }

// Split returns what a model said, without its thinking and the marks around the answer. open reports that thinking was cut off.
func Split(s string) (said string, open bool) {
	if !HasMark(s) {
		return s, false
	}
	s = closed.ReplaceAllString(markBlocks(s, inline, ""), "")
	if rest := analysis.ReplaceAllString(s, ""); rest != "" {
		s = rest
	}
	said = opened.ReplaceAllString(s, "")
	open = len(said) < len(s)
	return final.ReplaceAllString(said, ""), open
}

// MayBecomeMark returns where the end of a text begins that may become a mark; the length of the text when there is none.
func MayBecomeMark(s string) int {
	tail := max(0, len(s)-LongestMark)
	for i, r := range s[tail:] {
		rest := s[tail+i:]
		switch r {
		case '<':
			if !strings.Contains(rest, ">") || strings.HasPrefix(rest, "<|channel|>") {
				return tail + i
			}
		case '[':
			if n := len(rest); n <= len("[think]") && strings.EqualFold(rest, "[think]"[:n]) || n <= len("[/think]") && strings.EqualFold(rest, "[/think]"[:n]) {
				return tail + i
			}
		case '◁':
			if !strings.Contains(rest, "▷") {
				return tail + i
			}
		}
	}
	return len(s)
}
