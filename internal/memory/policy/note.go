package policy

import (
	"context"
	"slices"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/text"
)

// PageNotes is how many notes are listed at once.
const PageSize = 500

// EachNote gives every note of a query, oldest id first.
func EachNote(ctx context.Context, d memory.Desk, q memory.NoteQuery, each func(*memory.Note)) error {
	q.Limit = PageSize
	for {
		page, err := d.List(ctx, q)
		if err != nil {
			return err
		}
		for i := range page {
			each(&page[i])
		}
		if len(page) < q.Limit {
			return nil
		}
		q.After = page[len(page)-1].ID
	}
}

// DerivedNote makes a note that an analyst wrote, or the next version of old.
func DerivedNote(d memory.Desk, old memory.Note, kind memory.Kind, key, content string, analyst memory.Analyst, sources []uuid.UUID) memory.Note {
	n := old
	if n.ID == uuid.Nil {
		n = memory.Note{ID: d.NewID(), Kind: kind, Key: key, Category: memory.DefaultCategory, Importance: memory.DefaultImportance}
	}
	n.Content, n.Analyst, n.State, n.Error = content, analyst, memory.StateEvolved, ""
	n.Attributes = map[string]any{}
	n.Provenance.Sources, n.Provenance.Stale = sources, false
	return n
}

// MinTextChars is what is left of a text before texts are left out as a whole.
const MinTextChars = 80

// FitChars makes texts fit into so many characters: the longest are shortened
// first, all to the same length; when that would leave too little of each, only
// the last ones are kept. from is the place of the first one kept.
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

// levelOf is the greatest length to which lengths can be cut so that their sum fits.
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
