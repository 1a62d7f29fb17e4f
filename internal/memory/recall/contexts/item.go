package contexts

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/text"
	"github.com/slipboxhq/slipbox/internal/text/quote"
)

// item is a note in the context.
type item struct {
	note     *memory.Note
	part     PartKind
	group    string // notes of one group share a date heading, unless their times are far apart
	speaker  string
	passages *passages
	found    *text.Span // the best passage by the search; nil: none
	prefix   string     // shown before the text; cut where little room is left
	suffix   string     // shown after the text, never cut
	about    uuid.UUID  // items with the same one are about the same thing; zero: it is alone
	pinned   bool       // shown first in its part, without a date
	isHit    bool       // a search found it
	shown    int        // how many passages are shown; all of them: the whole text
	framed   string     // the text that is shown
	tokens   int        // of its line

	strategy       string // of a fixed note: how to answer; prefix is as much of it as there is room for
	headings, cost int    // of a fixed note, in tokens: its headings, and they and its line
}

func newItem(n *memory.Note, found *text.Span) *item {
	it := &item{note: n, part: partOfKind(n), found: found}
	content := quote.WithoutDay(n.Content, n.OccurredAt) // which is above it
	if len(content) < len(n.Content) {
		it.found = nil
	}
	it.passages = newPassages(content, passageTokens)
	session := sessionOf(n)
	it.group = formatDay(n.OccurredAt) + " " + session
	if n.Kind == memory.KindMessage || session != "" && n.Kind != memory.KindFact { // a fact names whom it is about
		it.speaker = speakerOf(n)
	}
	if file := fileOf(n); file != "" {
		it.speaker = file
	}
	return it
}

// newPinned returns an item that is shown first in its part, without a date.
func newPinned(n *memory.Note) *item {
	it := &item{note: n, part: partOfKind(n), pinned: true, passages: newPassages(n.Content, passageTokens)}
	if n.Kind == memory.KindBlock {
		it.speaker = n.Key // its label
	}
	unsaid := func(key string) string {
		if value := joinTexts(n.Attributes[key]); value != "" && !strings.Contains(n.Content, value) {
			return strings.ReplaceAll(key, "_", " ") + ": " + value
		}
		return ""
	}
	for _, key := range []string{"name", "personality", "hobbies", "speaking_style"} {
		if line := unsaid(key); line != "" {
			it.suffix += "\n" + line
		}
	}
	// How to answer comes first, since a model has to heed it beside all that the context holds.
	it.strategy = strings.Join(strings.Fields(unsaid("reply_strategy")), " ")
	return it
}

func (it *item) isWhole() bool { return it.shown == len(it.passages.spans) }

// joinTexts returns a text, or the texts of a list with commas between them; "" for anything else.
func joinTexts(v any) string {
	switch v := v.(type) {
	case string:
		return strings.TrimSpace(v)
	case []any:
		var out []string
		for _, e := range v {
			if s, ok := e.(string); ok && strings.TrimSpace(s) != "" {
				out = append(out, strings.TrimSpace(s))
			}
		}
		return strings.Join(out, ", ")
	}
	return ""
}

// sinceOf returns since when a statement holds that has no heading with its date; "" for other notes, and for one that says
// it itself.
func sinceOf(n *memory.Note) string {
	if n.Kind != memory.KindFact && n.Kind != memory.KindKnowledge || n.OccurredAt.IsZero() {
		return ""
	}
	day := memory.Day(n.OccurredAt)
	if strings.Contains(n.Content, day) {
		return ""
	}
	return "since " + day
}

// factDetails returns how sure a fact is and when it ends, in parentheses, behind what is known of it already; "" if nothing
// is. layers names the layer of a note, too.
func factDetails(n *memory.Note, layers bool, known ...string) string {
	details := slices.DeleteFunc(known, func(s string) bool { return s == "" })
	switch n.Kind { //nolint:exhaustive // the others are not statements
	case memory.KindMessage, memory.KindNote:
		if layer, ok := n.Attributes["layer"].(string); ok && layers {
			if layer == "log" {
				layer = "earlier"
			}
			details = append(details, layer)
		}
	case memory.KindFact, memory.KindKnowledge:
		if layers && n.Kind == memory.KindKnowledge {
			details = append(details, "semantic")
		}
		if c, ok := n.Attributes[memory.AttrConfidence].(float64); ok && c >= 0 && c < 1 {
			details = append(details, fmt.Sprintf("confidence %.2f", c))
		}
		if n.Attributes["contested"] == true {
			details = append(details, "contested")
		}
		if end, ok := memory.ExpiryOf(n.Attributes); ok {
			details = append(details, "until "+memory.Day(end.In(n.OccurredAt.Location())))
		}
	}
	if len(details) == 0 {
		return ""
	}
	return " (" + strings.Join(details, ", ") + ")"
}
