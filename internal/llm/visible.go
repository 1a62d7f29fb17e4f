package llm

import (
	"strings"

	"github.com/slipboxhq/slipbox/internal/text/unsaid"
)

// visibleText puts together what of a text that comes in pieces is not reasoning. It reads the whole again only near a
// mark, so a long text costs what its pieces do.
type visibleText struct {
	all    strings.Builder
	shown  strings.Builder // all without reasoning
	inside bool            // all ends inside of marked reasoning
}

// add takes the next piece.
func (v *visibleText) add(piece string) {
	v.all.WriteString(piece)
	s := v.all.String()
	switch {
	case unsaid.HasMark(s[max(0, len(s)-len(piece)-unsaid.LongestMark):]):
		var text string
		text, v.inside = unsaid.Split(s)
		v.shown.Reset()
		v.shown.WriteString(text)
	case !v.inside:
		v.shown.WriteString(piece)
	}
}

// String returns it so far. The end is held back while it may become a mark.
func (v *visibleText) String() string {
	s := v.shown.String()
	if v.inside {
		return s
	}
	return s[:unsaid.MayBecomeMark(s)]
}
