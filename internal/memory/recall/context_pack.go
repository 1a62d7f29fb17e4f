package recall

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/search"
	"github.com/slipboxhq/slipbox/internal/text"
)

// packer chooses what a context shows and keeps its budget.
//
// Costs are added up line by line. Encodings cut a text before they merge
// bytes, and always behind a line break that a mark or a heading follows, so
// the sum is what the text costs. The whole text is counted once more at the
// end all the same, and that count decides.
type packer struct {
	budget   int
	order    Order
	encoding search.Encoding
	query    queryTerms

	told   bool // facts say what is known about them
	byDate bool // hits of all kinds stand together under their dates

	items []*item // taken, the most relevant first
	used  int
	said  []saying

	pinned        []*item            // in the policy's order, also those that had no room yet
	stood         map[uuid.UUID]bool // what is there whether or not it was found
	stoodMessages int
	older         []memory.Note // messages that wait for what hits leave, newest first
	found         []uuid.UUID   // what is shown because it was found, or was found as well
}

func newPacker(q *ContextQuery, words string, rd *memory.Reading) *packer {
	return &packer{
		budget: q.TokenBudget, order: q.Order, encoding: q.Encoding, query: newQueryTerms(words),
		told: len(rd.Kinds) > 0, byDate: rd.ByDate,
	}
}

// recalled gives what is shown and was found.
func (p *packer) recalled() []uuid.UUID {
	out := slices.Clone(p.found)
	for _, it := range p.items {
		if it.hit {
			out = append(out, it.note.ID)
		}
	}
	return out
}

// item is a note that has a place in the context.
type item struct {
	note   *memory.Note
	part   PartKind
	group  string // what one date heading stands over
	label  string
	cut    *cutting
	found  *text.Span // the passage that the search found best; nil: none
	tail   string     // what goes with the text however much of it is cut
	pinned bool       // stands first in its part, under no date
	hit    bool       // the search found it
	shown  int        // passages; all of them: the whole text
	text   string     // framed
	tokens int        // of its line

	headings, cost int // of what stands: of the headings that came with it, and of both
}

// saying is the words of an item, to know what is said already.
type saying struct {
	words string
	whole bool // shown as a whole
}

// maxMisses is how many hits in a row may not fit before the rest is left
// alone: to try them all costs more time than it brings evidence.
const maxMisses = 5

// pack makes the context of what stands and of the hits, which come best first.
func (p *packer) pack(ctx context.Context, st standing, hits []Hit) (Context, error) {
	if err := p.stand(st); err != nil {
		return Context{}, err
	}
	if err := p.take(ctx, hits); err != nil {
		return Context{}, err
	}
	for _, it := range p.items {
		if err := ctx.Err(); err != nil {
			return Context{}, fault.Wrap(err, fault.Timeout, "the context was not ready in time")
		}
		if it.hit {
			if err := p.grow(it); err != nil {
				return Context{}, err
			}
		}
	}
	if err := p.extend(); err != nil {
		return Context{}, err
	}
	return p.render()
}

// take gives hits their places.
func (p *packer) take(ctx context.Context, hits []Hit) error {
	var first *item
	misses, taken := 0, 0 // in a row, and all
	for i := range hits {
		if misses == maxMisses {
			break
		}
		if err := ctx.Err(); err != nil {
			return fault.Wrap(err, fault.Timeout, "the context was not ready in time")
		}
		if p.stood[hits[i].ID] {
			p.found = append(p.found, hits[i].ID)
			continue
		}
		words := wordsOf(hits[i].Note.Content)
		if p.repeats(words) {
			continue
		}
		if strings.TrimSpace(visible(hits[i].Note.Content)) == "" {
			continue // nothing that could be shown
		}
		it := newItem(&hits[i].Note.Note, hits[i].Passage)
		it.hit = true
		if p.told {
			it.tail = tailOf(it.note)
		}
		if p.byDate {
			it.part, it.group = partEpisodes, day(it.note.OccurredAt)
		}
		if first == nil {
			first = it
		}
		placed, err := p.place(it, p.query)
		if err != nil {
			return err
		}
		misses++
		if placed {
			misses = 0
			taken++
			p.said = append(p.said, saying{words, it.whole()})
		}
	}
	if taken == 0 && first != nil {
		return p.squeeze(first)
	}
	return nil
}

func newItem(n *memory.Note, found *text.Span) *item {
	it := &item{note: n, part: partKind(n), cut: newCutting(n.Content, passageTokens), found: found}
	session := sessionOf(n)
	it.group = day(n.OccurredAt) + " " + session
	if n.Kind == memory.KindMessage || session != "" {
		it.label = labelOf(n)
	}
	return it
}

func (it *item) whole() bool { return it.shown == len(it.cut.spans) }

// show lets an item show its n best passages.
func (p *packer) show(it *item, n int) error {
	return p.showText(it, n, it.cut.best(n))
}

func (p *packer) showText(it *item, n int, shown string) error {
	var err error
	it.shown, it.text = n, framed(labelled(it.label, shown)+it.tail)
	it.tokens, err = p.count(line(1, it.text)) // a mark of any three digits costs the same
	return err
}

func (p *packer) count(s string) (int, error) {
	n, err := p.encoding.Count(s)
	if err != nil {
		return 0, fault.Wrap(err, fault.Internal, "the tokens of a context could not be counted")
	}
	return n, nil
}

// place takes an item if it fits: whole where it is short, else its best
// passage. Over the 250 questions of BEAM's 128K tier, 2,000 tokens hold .61 of
// the evidence like this, .54 with two passages of each, and .42 of whole notes.
func (p *packer) place(it *item, q queryTerms) (bool, error) {
	headings, err := p.headings(it)
	if err != nil {
		return false, err
	}
	if p.used+headings >= p.budget {
		return false, nil
	}
	n := len(it.cut.spans)
	if len(it.note.Content) > 2*passageBytes || text.CountTokens(it.note.Content) > wholeTokens {
		it.cut.rank(q, it.found)
		n = min(1, n)
	}
	if err := p.show(it, n); err != nil {
		return false, err
	}
	cost := headings + it.tokens
	if p.used+cost > p.budget {
		return false, nil
	}
	p.used += cost
	p.items = append(p.items, it)
	return true, nil
}

// headings is what the headings cost that an item brings with it.
func (p *packer) headings(it *item) (int, error) {
	part, group := true, !it.pinned
	for _, o := range slices.Backward(p.items) {
		if o.part != it.part {
			continue
		}
		part = false
		if o.group == it.group {
			group = false
		}
		if !group || !p.timely(it.part) {
			break // only what follows directly stands under the same heading
		}
	}
	var lines string
	if part {
		lines += "\n" + partHeading(titleOf(it.part))
	}
	if group {
		lines += datedHeading(it.note.OccurredAt) // an earlier note of the group may bring a time with it
	}
	return p.count(lines)
}

// squeeze takes of an item that does not fit the sentences that answer best, or
// else the beginning of the first of them.
func (p *packer) squeeze(it *item) error {
	headings, err := p.headings(it)
	if err != nil {
		return err
	}
	fits := func() bool { return p.used+headings+it.tokens <= p.budget }
	it.cut = newCutting(it.note.Content, sentenceTokens)
	it.cut.rank(p.query, nil)
	if err := p.show(it, 1); err != nil {
		return err
	}
	if !fits() {
		if shown, err := p.begin(it, fits); err != nil || !shown {
			return err
		}
	}
	p.used += headings + it.tokens
	p.items = append(p.items, it)
	return nil
}

// begin shows the beginning of an item's best passage, as long as fits.
func (p *packer) begin(it *item, fits func() bool) (bool, error) {
	best := it.cut.spans[it.cut.order[0]]
	content := it.cut.content[best.Start:best.End]
	most, err := largest(utf8.RuneCountInString(content), func(n int) (bool, error) {
		err := p.showText(it, 0, beginning(content, n))
		return fits(), err
	})
	if err != nil || most == 0 {
		return false, err
	}
	return true, p.showText(it, 0, beginning(content, most))
}

// grow lets an item that was cut show as many more passages as the budget has
// room for.
func (p *packer) grow(it *item) error {
	if it.shown == 0 || it.whole() {
		return nil
	}
	rest, shown := p.used-it.tokens, it.shown
	more, err := largest(len(it.cut.spans)-shown, func(n int) (bool, error) {
		err := p.show(it, shown+n)
		return rest+it.tokens <= p.budget, err
	})
	if err != nil {
		return err
	}
	if err := p.show(it, shown+more); err != nil {
		return err
	}
	p.used = rest + it.tokens
	return nil
}

// largest gives the largest n up to limit that fits, 0 for none, where what
// fits is all that is smaller, too. It doubles n until one does not fit, so
// that what it tries stays within a few times of what fits.
func largest(limit int, fits func(n int) (bool, error)) (int, error) {
	low, high := 0, limit+1
	for step := 1; low+1 < high; step *= 2 {
		n := min(low+step, high-1)
		if high <= limit {
			n = (low + high) / 2
		}
		ok, err := fits(n)
		if err != nil {
			return 0, err
		}
		if ok {
			low = n
		} else {
			high = n
		}
	}
	return low, nil
}

// maxSaid bounds the texts that are compared by words, in bytes; longer ones
// are compared as they are.
const maxSaid = 8 << 10

// wordsOf gives a text in the form in which it is compared: words in order,
// without case, punctuation and space.
func wordsOf(content string) string {
	if len(content) <= maxSaid {
		if words := text.Words(content); len(words) > 0 {
			return " " + strings.Join(words, " ") + " "
		}
	}
	return content
}

// quoted is how many words another text must share in a row before what
// consists of them says nothing new: shorter ones mean what they answer to.
const quoted = 5

// repeats tells that the words are those of an item, or part of one that is
// shown as a whole.
func (p *packer) repeats(words string) bool {
	for _, s := range p.said {
		if s.words == words {
			return true
		}
		if s.whole && strings.Count(words, " ") > quoted && strings.Contains(s.words, words) {
			return true
		}
	}
	return false
}

// render writes the context. Should the text cost more than the sum of its
// lines, the least relevant items go.
func (p *packer) render() (Context, error) {
	for {
		out, err := p.write()
		if err != nil || out.Tokens <= p.budget {
			return out, err
		}
		p.items = p.items[:len(p.items)-1]
	}
}

func (p *packer) write() (Context, error) {
	out := Context{Parts: []Part{}, Citations: []Citation{}}
	var texts, dates []string
	for _, of := range parts() {
		items := slices.DeleteFunc(slices.Clone(p.items), func(it *item) bool { return it.part != of.kind })
		if len(items) == 0 {
			continue
		}
		p.arrange(of.kind, items)
		part := Part{Kind: of.kind}
		var b strings.Builder
		b.WriteString(partHeading(of.title))
		for i, it := range items {
			if !it.pinned && (i == 0 || items[i-1].group != it.group) {
				b.WriteString(p.headingOf(it))
			}
			if !it.pinned {
				dates = append(dates, it.note.OccurredAt.UTC().Format(time.DateOnly))
			}
			part.Citations = append(part.Citations, Citation{Note: it.note.ID, Revision: it.note.From})
			b.WriteString(line(len(out.Citations)+len(part.Citations), it.text))
		}
		part.Text = strings.TrimSuffix(b.String(), "\n")
		var err error
		if part.Tokens, err = p.count(part.Text); err != nil {
			return Context{}, err
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
	out.Tokens, err = p.count(out.Text)
	return out, err
}

// timely tells whether a part is in the order of time.
func (p *packer) timely(part PartKind) bool {
	return part != partMessages && (p.order == OrderTime || p.byDate && part == partEpisodes)
}

// arrange puts the items of a part into the order in which they are shown,
// what is pinned first.
func (p *packer) arrange(part PartKind, items []*item) {
	slices.SortStableFunc(items, func(a, b *item) int { return cmp.Compare(one(b.pinned), one(a.pinned)) })
	pinned := 0
	for pinned < len(items) && items[pinned].pinned {
		pinned++
	}
	switch {
	case part == partMessages:
		slices.Reverse(items)
	case p.timely(part):
		byTime(items[pinned:])
	}
}

// headingOf dates an item and what follows it.
func (p *packer) headingOf(it *item) string {
	if p.byDate && it.part == partEpisodes {
		return dayHeading(it.note.OccurredAt)
	}
	return groupHeading(it.note.OccurredAt)
}

// byTime orders items as they happened, but keeps those of a group together,
// where its first one is.
func byTime(items []*item) {
	earlier := func(a, b *item) int {
		return cmp.Or(a.note.OccurredAt.Compare(b.note.OccurredAt), bytes.Compare(a.note.ID[:], b.note.ID[:]))
	}
	slices.SortFunc(items, earlier)
	first := map[string]*item{}
	for _, it := range items {
		if first[it.group] == nil {
			first[it.group] = it
		}
	}
	slices.SortStableFunc(items, func(a, b *item) int { return earlier(first[a.group], first[b.group]) })
}
