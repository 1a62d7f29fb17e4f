package contexts

import (
	"slices"

	"github.com/slipboxhq/slipbox/internal/memory"
)

// PartKind names a part of a context.
type PartKind string

const (
	partEpisodes PartKind = "episodes"
	partMessages PartKind = "messages" // the newest messages, whether or not they were found
)

// titledPart is a part with its heading.
type titledPart struct {
	kind  PartKind
	title string
}

// titledParts returns the parts in the order in which a context shows them: what is always true
// first, what happened last, next to the question.
func titledParts() []titledPart {
	return []titledPart{
		{"blocks", "Blocks"},
		{"profile", "Profile"},
		{"knowledge", "Knowledge"},
		{"summaries", "Summaries"},
		{"entities", "Entities"},
		{"facts", "Facts"},
		{"notes", "Notes"},
		{"passages", "Passages"},
		{partEpisodes, "Episodes"},
		{partMessages, "Recent messages"},
	}
}

// partOfKind returns the part that shows a note. Kinds without a part of their own are notes.
func partOfKind(n *memory.Note) PartKind {
	switch n.Kind {
	case memory.KindBlock:
		return "blocks"
	case memory.KindProfile:
		return "profile"
	case memory.KindKnowledge:
		return "knowledge"
	case memory.KindSummary, memory.KindSession:
		return "summaries"
	case memory.KindEntity:
		return "entities"
	case memory.KindFact:
		return "facts"
	case memory.KindPassage:
		return "passages"
	case memory.KindMessage:
		return partEpisodes
	case memory.KindNote, memory.KindFile:
	}
	return "notes"
}

// partTitle returns the heading of a part.
func partTitle(k PartKind) string {
	all := titledParts()
	return all[slices.IndexFunc(all, func(p titledPart) bool { return p.kind == k })].title
}
