package llm

import (
	"regexp"
	"strings"
)

// visibleText puts together what of a text that comes in pieces is not reasoning. It reads the whole again only where a
// mark ends, so a long text costs what its pieces do.
type visibleText struct {
	all    strings.Builder
	shown  strings.Builder // all without reasoning
	inside bool            // all ends inside of marked reasoning
}

// markEnd is the end of every mark that stripThinking knows.
var markEnd = regexp.MustCompile(`(?i)(?:think|thinking|reasoning)>`)

// longestMark is the length of the longest mark.
const longestMark = len("</reasoning>")

// add takes the next piece.
func (v *visibleText) add(piece string) {
	v.all.WriteString(piece)
	s := v.all.String()
	switch {
	case markEnd.MatchString(s[max(0, len(s)-len(piece)-longestMark):]):
		var text string
		text, v.inside = splitThinking(s)
		v.shown.Reset()
		v.shown.WriteString(text)
	case !v.inside:
		v.shown.WriteString(piece)
	}
}

// String returns it so far. The end is held back while it may become a mark.
func (v *visibleText) String() string {
	s := v.shown.String()
	if at := strings.LastIndexByte(s, '<'); !v.inside && at >= 0 && len(s)-at <= longestMark && !strings.Contains(s[at:], ">") {
		return s[:at]
	}
	return s
}
