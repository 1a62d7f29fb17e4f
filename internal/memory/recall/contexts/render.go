package contexts

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
)

// render writes the text. If it costs more than the sum of its lines, the least relevant items are
// dropped.
func (p *packer) render() (Result, error) {
	for {
		out, err := p.renderItems()
		if err != nil || out.Tokens <= p.budget {
			return out, err
		}
		p.items = p.items[:len(p.items)-1]
	}
}

func (p *packer) renderItems() (Result, error) {
	out := Result{Parts: []Part{}, Citations: []Citation{}}
	var texts, dates []string
	for _, titled := range titledParts() {
		items := slices.DeleteFunc(slices.Clone(p.items), func(it *item) bool { return it.part != titled.kind })
		if len(items) == 0 {
			continue
		}
		p.sortItems(titled.kind, items)
		part := Part{Kind: titled.kind}
		var b strings.Builder
		b.WriteString(partHeading(titled.title))
		var dated *item // by the last heading
		for _, it := range items {
			if !it.pinned {
				if dated == nil || !p.shareHeading(dated, it) {
					b.WriteString(p.dateHeading(it))
					dated = it
				}
				dates = append(dates, memory.Day(it.note.OccurredAt))
			}
			part.Citations = append(part.Citations, Cite(it.note))
			out.Notes = append(out.Notes, *it.note)
			b.WriteString(noteLine(len(out.Citations)+len(part.Citations), it.framed))
		}
		part.Text = strings.TrimSuffix(b.String(), "\n")
		var err error
		if part.Tokens, err = p.countTokens(part.Text); err != nil {
			return Result{}, err
		}
		out.Parts = append(out.Parts, part)
		out.Citations = append(out.Citations, part.Citations...)
		texts = append(texts, part.Text)
	}
	slices.Sort(dates)
	out.Dates = slices.Compact(dates)
	out.Text = strings.Join(texts, "\n\n")
	if len(out.Parts) == 1 {
		out.Tokens = out.Parts[0].Tokens
		return out, nil
	}
	var err error
	out.Tokens, err = p.countTokens(out.Text)
	return out, err
}

// isChronological reports whether a part shows its notes in the order of time.
func (p *packer) isChronological(part PartKind) bool {
	return part != partMessages && (p.order == OrderTime || p.byDate && part == partEpisodes)
}

// sortItems puts the items of a part into the order in which they are shown, pinned ones first.
func (p *packer) sortItems(part PartKind, items []*item) {
	slices.SortStableFunc(items, func(a, b *item) int {
		switch {
		case a.pinned == b.pinned:
			return 0
		case a.pinned:
			return -1
		}
		return 1
	})
	pinned := 0
	for pinned < len(items) && items[pinned].pinned {
		pinned++
	}
	switch {
	case part == partMessages:
		slices.Reverse(items)
	case p.isChronological(part):
		sortByTime(items[pinned:])
		if part != partEpisodes { // a conversation is read in its order
			putTogether(items[pinned:])
		}
	}
}

// putTogether moves items about the same thing to the newest of them, the newest first. The items are in order of time.
func putTogether(items []*item) {
	about := map[uuid.UUID][]*item{}
	for _, it := range items {
		about[it.about] = append(about[it.about], it)
	}
	out := make([]*item, 0, len(items))
	for _, it := range items {
		same := about[it.about]
		switch {
		case it.about == uuid.Nil:
			out = append(out, it)
		case it == same[len(same)-1]:
			for _, older := range slices.Backward(same) {
				out = append(out, older)
			}
		}
	}
	copy(items, out)
}

// shareHeading reports whether an item is shown under the heading of another one of its part: the heading has a time, which is that of all
// below it within an hour.
func (p *packer) shareHeading(dated, it *item) bool {
	apart := it.note.OccurredAt.Sub(dated.note.OccurredAt).Abs()
	return dated.group == it.group && (apart <= time.Hour || p.byDate && it.part == partEpisodes)
}

// dateHeading returns the heading of an item and of those of its group that follow.
func (p *packer) dateHeading(it *item) string {
	if p.byDate && it.part == partEpisodes {
		return dayHeading(it.note.OccurredAt)
	}
	return groupHeading(it.note.OccurredAt)
}

// sortByTime sorts items by event time, but keeps each group together, at the position of its first
// item.
func sortByTime(items []*item) {
	compare := func(a, b *item) int {
		return cmp.Or(a.note.OccurredAt.Compare(b.note.OccurredAt), memory.CompareIDs(a.note.ID, b.note.ID))
	}
	slices.SortFunc(items, compare)
	first := map[string]*item{}
	for _, it := range items {
		if first[it.group] == nil {
			first[it.group] = it
		}
	}
	slices.SortStableFunc(items, func(a, b *item) int { return compare(first[a.group], first[b.group]) })
}
