package policy

import (
	"context"
	"iter"
	"slices"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/text"
)

// PageSize is how many notes are listed or read in one call.
const PageSize = 500

// NotePages returns the notes of a query that a desk shows, in its order, in pages of its limit; 0: [PageSize].
func NotePages(ctx context.Context, d memory.Desk, q memory.NoteQuery) iter.Seq2[[]memory.Note, error] {
	return memory.NotePages(func(q memory.NoteQuery) ([]memory.Note, error) { return d.List(ctx, q) }, q)
}

// EachNote returns the notes of [NotePages] one by one. A note may be kept, with the rest of its page.
func EachNote(ctx context.Context, d memory.Desk, q memory.NoteQuery) iter.Seq2[*memory.Note, error] {
	return memory.Entries(NotePages(ctx, d, q))
}

// DerivedNote returns a note that an analyst wrote from sources: the next version of
// old, or a new note when old has no id. Its attributes are empty.
func DerivedNote(
	d memory.Desk, old memory.Note, kind memory.Kind, key, content string, analyst memory.Analyst, sources []uuid.UUID,
) memory.Note {
	n := old
	if n.ID == uuid.Nil {
		n = memory.Note{ID: d.NewID(), Kind: kind, Key: key, Category: memory.DefaultCategory, Importance: memory.DefaultImportance}
	}
	n.Content, n.Analyst, n.State, n.Error = content, analyst, memory.StateEvolved, ""
	n.Attributes = map[string]any{}
	n.Provenance.Sources, n.Provenance.Stale = sources, false
	return n
}

// MinTextChars is the length to which FitChars shortens texts at most. Texts that
// still do not fit are left out.
const MinTextChars = 80

// FitChars shortens texts to so many characters in all. The longest are shortened
// first, all to the same length. When that would leave less than MinTextChars of each,
// only the last texts are kept. from is the index of the first one kept.
func FitChars(texts []string, chars int) (from int, out []string) {
	out = slices.Clone(texts)
	lengths := make([]int, len(texts))
	total := 0
	for i, t := range texts {
		lengths[i] = utf8.RuneCountInString(t)
		total += lengths[i]
	}
	if total <= chars {
		return 0, out
	}
	most := max(MinTextChars, evenLimit(lengths, chars))
	left := chars
	for i := len(out) - 1; i >= 0; i-- {
		left -= min(lengths[i], most)
		if left < 0 && i < len(out)-1 {
			return i + 1, out[i+1:]
		}
		out[i] = text.Shorten(out[i], most)
	}
	return 0, out
}

// evenLimit returns the greatest length to which the lengths can be cut so that their
// sum is at most sum.
func evenLimit(lengths []int, sum int) int {
	sorted := slices.Sorted(slices.Values(lengths))
	for i, n := range sorted {
		if n*(len(sorted)-i) > sum {
			return sum / (len(sorted) - i)
		}
		sum -= n
	}
	return sum
}
