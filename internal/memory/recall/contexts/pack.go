package contexts

import (
	"context"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/search"
	"github.com/slipboxhq/slipbox/internal/text"
	"github.com/slipboxhq/slipbox/internal/text/quote"
)

// packer chooses what a context shows, within its budget.
//
// It adds costs up line by line. Encodings split a text before they merge bytes, and always after a
// line break that a mark or a heading follows, so the sum is the cost of the text. The whole text is
// counted once more at the end, and that count decides.
type packer struct {
	budget   int
	order    Order
	encoding search.Encoding
	query    queryTerms
	details  bool
	layers   bool // name the layers of notes
	byDate   bool
	pages    bool // as in Request

	items     []*item // what is shown, the most relevant first
	used      int     // tokens of items
	mark      int     // tokens of a line without a text
	saidTexts []saidText

	pinned      []*item            // in the order of the request, those without room included
	fixedNotes  map[uuid.UUID]bool // what is shown whether or not it was found
	fixedRecent int                // how many recent messages are shown
	moreRecent  []memory.Note      // messages that are not shown yet, newest first
	foundFixed  []uuid.UUID        // fixed notes that were found, too

	asked map[string]Hit // questions that were found or are recent, by exchange

	besideRoom, summaryRoom int   // by date: tokens left of these shares
	firstHit                *item // the first one that could be shown

	shownTerms map[uuid.UUID]map[string]bool // of shown notes that were derived from a note, by the id of that
}

func newPacker(r *Request) *packer {
	return &packer{
		budget: r.Budget, order: r.Order, encoding: r.Encoding, query: newQueryTerms(r.Query),
		details: r.Details, layers: r.Layers, byDate: r.ByDate, pages: r.Pages, asked: map[string]Hit{},
	}
}

// saidText is a text that the context or the dialogue shows, to recognize repetitions.
type saidText struct {
	wording
	whole bool // shown without cuts
}

// maxMisses is how many hits in a row may not fit before the others are skipped: to try them all
// takes more time than the evidence is worth.
const maxMisses = 5

// pack places fixed notes and hits, spends the rest of the budget, and renders the context.
func (p *packer) pack(ctx context.Context, r *Request) (Result, error) {
	if err := p.placeFixed(r); err != nil {
		return Result{}, err
	}
	if err := p.placeHits(ctx, r.Hits); err != nil {
		return Result{}, err
	}
	for _, it := range p.items {
		if err := ctx.Err(); err != nil {
			return Result{}, fault.Wrap(err, fault.Timeout, "the context was not ready in time")
		}
		if it.isHit {
			if err := p.growHit(it); err != nil {
				return Result{}, err
			}
		}
	}
	if err := p.growFixed(); err != nil {
		return Result{}, err
	}
	out, err := p.render()
	out.Recalled = p.recalled()
	return out, err
}

// recalled returns the hits that are shown.
func (p *packer) recalled() []uuid.UUID {
	out := slices.Clone(p.foundFixed)
	for _, it := range p.items {
		if it.isHit {
			out = append(out, it.note.ID)
		}
	}
	return out
}

// placeHits adds the hits that fit. When none does, it adds a part of the first one.
func (p *packer) placeHits(ctx context.Context, hits []Hit) error {
	if !p.pages {
		hits = statementsFirst(hits)
	}
	for _, h := range hits {
		p.ask(h)
	}
	placed, later, err := p.placeList(ctx, hits, p.byDate)
	if err != nil {
		return err
	}
	more, _, err := p.placeList(ctx, later, false)
	if err != nil {
		return err
	}
	if placed+more == 0 && p.firstHit != nil {
		return p.placeExcerpt(p.firstHit)
	}
	return nil
}

// statementsFirst moves facts that are about the same thing before the messages that they come from, which say it again: facts are shown
// together, the newest first, and messages in the order of their conversation.
func statementsFirst(hits []Hit) []Hit {
	from := map[uuid.UUID][]Hit{}
	for _, h := range hits {
		if h.About != uuid.Nil && memory.IsStatement(h.Note) {
			for _, id := range h.Note.Provenance.Sources {
				from[id] = append(from[id], h)
			}
		}
	}
	if len(from) == 0 {
		return hits
	}
	out, seen := make([]Hit, 0, len(hits)), map[uuid.UUID]bool{}
	for _, h := range hits {
		for _, s := range append(slices.Clone(from[h.Note.ID]), h) {
			if !seen[s.Note.ID] {
				seen[s.Note.ID] = true
				out = append(out, s)
			}
		}
	}
	return out
}

// placeList adds the hits that fit, and returns how many. With shares, those that have no room in their share are
// returned as later, in their order.
func (p *packer) placeList(ctx context.Context, hits []Hit, shares bool) (placed int, later []Hit, err error) {
	misses := 0 // in a row
	for _, h := range hits {
		if misses == maxMisses {
			break
		}
		if err := ctx.Err(); err != nil {
			return 0, nil, fault.Wrap(err, fault.Timeout, "the context was not ready in time")
		}
		says := wordingOf(h.Note.Content)
		if memory.IsToolTraffic(h.Note) || strings.TrimSpace(visibleText(h.Note.Content)) == "" || p.isShown(h, says) && (p.isItem(h.Note) || !p.isAnswered(h.Note)) {
			continue
		}
		it := p.newHit(h)
		if p.firstHit == nil {
			p.firstHit = it
		}
		limit, share := p.budget, p.share(h)
		if shares && share != nil {
			limit = min(limit, p.used+*share)
		}
		used := p.used
		fits, err := p.placeAnswer(it, limit)
		switch {
		case err != nil:
			return 0, nil, err
		case fits:
			if share != nil {
				*share = max(0, *share-(p.used-used))
			}
			misses = 0
			placed++
			p.saidTexts = append(p.saidTexts, saidText{says, it.isWhole()})
			p.addShown(it)
		case shares && share != nil:
			later = append(later, h)
		default:
			misses++
		}
	}
	return placed, later, nil
}

// exchangeOf returns which exchange a message is of, "" if none, and who has said it.
func exchangeOf(n *memory.Note) (turn string, by memory.Role) {
	if n.Kind != memory.KindMessage {
		return "", ""
	}
	turn, _ = n.Attributes[memory.AttrTurn].(string)
	return turn, memory.UtteranceOf(n).Role
}

// ask notes a question, whose answer is not shown without it.
func (p *packer) ask(h Hit) {
	if turn, by := exchangeOf(h.Note); turn != "" && by == memory.RoleUser {
		p.asked[turn] = h
	}
}

// isAnswered reports whether the answer to a question is shown.
func (p *packer) isAnswered(n *memory.Note) bool {
	turn, by := exchangeOf(n)
	return turn != "" && by == memory.RoleUser && slices.ContainsFunc(p.items, func(it *item) bool {
		of, by := exchangeOf(it.note)
		return of == turn && by == memory.RoleAssistant
	})
}

func (p *packer) isItem(n *memory.Note) bool {
	return slices.ContainsFunc(p.items, func(it *item) bool { return it.note.ID == n.ID })
}

// placeAnswer is placeHit, of an answer with its question if that repeats what is shown.
func (p *packer) placeAnswer(it *item, limit int) (bool, error) {
	used, n := p.used, len(p.items)
	fits, err := p.placeHit(it, limit)
	turn, by := exchangeOf(it.note)
	q, asked := p.asked[turn]
	if !fits || err != nil || !asked || by != memory.RoleAssistant || p.isItem(q.Note) || !p.isShown(q, wordingOf(q.Note.Content)) {
		return fits, err
	}
	if fits, err = p.placeHit(p.newHit(q), limit); !fits {
		p.used, p.items = used, p.items[:n]
	}
	return fits, err
}

// isShown reports whether the context says what a hit says. A hit that it has anyway is noted as found. Among facts about the same thing,
// each is shown, also what a message says: the older one alone would be read as what holds.
func (p *packer) isShown(h Hit, says wording) bool {
	n := h.Note
	if p.fixedNotes[n.ID] {
		if !slices.Contains(p.foundFixed, n.ID) {
			p.foundFixed = append(p.foundFixed, n.ID)
		}
		return true
	}
	together := !p.pages && h.About != uuid.Nil && memory.IsStatement(n)
	return p.isSaid(says) || !together && p.isDerivedFromShown(n)
}

// share returns the tokens that are left of the share of a hit's kind; nil if it may take any.
func (p *packer) share(h Hit) *int {
	switch {
	case h.Beside:
		return &p.besideRoom
	case h.Note.Kind == memory.KindSummary:
		return &p.summaryRoom
	}
	return nil
}

func (p *packer) newHit(h Hit) *item {
	it := newItem(h.Note, h.Passage)
	it.isHit, it.about = true, h.About
	if p.details {
		it.suffix = factDetails(it.note, p.layers)
	}
	if p.byDate {
		it.part, it.group = partEpisodes, formatDay(it.note.OccurredAt)
	}
	return it
}

// placeHit adds a hit if it keeps the used tokens within limit: a short one whole, of a long one its best passage. Over the 250
// questions of BEAM's 128K tier, 2,000 tokens hold .61 of the evidence in this way, .54 with two
// passages of each hit, and .42 with whole notes.
func (p *packer) placeHit(it *item, limit int) (bool, error) {
	headings, err := p.headingTokens(it)
	if err != nil {
		return false, err
	}
	if p.used+headings >= limit {
		return false, nil
	}
	if p.byDate && it.note.Kind == memory.KindSummary {
		// A summary repeats what the messages of its day say. It is shown by the sentence that matches best, and
		// more of it once everything else has its place.
		it.passages = newPassages(it.note.Content, sentenceTokens)
		it.passages.rank(p.query, nil)
		return p.placePassages(it, headings, 1, limit)
	}
	n := len(it.passages.spans)
	if len(it.note.Content) > 2*passageBytes || text.CountTokens(it.note.Content) > wholeTokens {
		it.passages.rank(p.query, it.found)
		n = min(1, n)
	}
	return p.placePassages(it, headings, n, limit)
}

// placePassages adds the best n passages of a hit if they keep the used tokens within limit.
func (p *packer) placePassages(it *item, headings, n, limit int) (bool, error) {
	if err := p.showPassages(it, n); err != nil {
		return false, err
	}
	cost := headings + it.tokens
	if p.used+cost > limit {
		return false, nil
	}
	p.used += cost
	p.items = append(p.items, it)
	return true, nil
}

// placeExcerpt adds the sentences of a hit that match best or, if they do not fit, the beginning of
// the first of them.
func (p *packer) placeExcerpt(it *item) error {
	headings, err := p.headingTokens(it)
	if err != nil {
		return err
	}
	fits := func() bool { return p.used+headings+it.tokens <= p.budget }
	it.passages = newPassages(it.note.Content, sentenceTokens)
	it.passages.rank(p.query, nil)
	if err := p.showPassages(it, 1); err != nil {
		return err
	}
	if !fits() {
		if shown, err := p.showBeginning(it, fits); err != nil || !shown {
			return err
		}
	}
	p.used += headings + it.tokens
	p.items = append(p.items, it)
	return nil
}

// growHit adds more passages to a hit that was cut, as long as they fit.
func (p *packer) growHit(it *item) error {
	if it.shown == 0 || it.isWhole() {
		return nil
	}
	rest, shown := p.used-it.tokens, it.shown
	more, err := largestFitting(len(it.passages.spans)-shown, func(n int) (bool, error) {
		err := p.showPassages(it, shown+n)
		return rest+it.tokens <= p.budget, err
	})
	if err != nil {
		return err
	}
	if err := p.showPassages(it, shown+more); err != nil {
		return err
	}
	p.used = rest + it.tokens
	return nil
}

// showPassages sets the text of an item to its n best passages.
func (p *packer) showPassages(it *item, n int) error {
	return p.showText(it, n, it.passages.best(n))
}

// showBeginning sets the text of an item to as much of the beginning of its best passage as fits. It
// reports whether anything does.
func (p *packer) showBeginning(it *item, fits func() bool) (bool, error) {
	best := it.passages.spans[it.passages.ranked[0]]
	content := it.passages.content[best.Start:best.End]
	most, err := largestFitting(utf8.RuneCountInString(content), func(n int) (bool, error) {
		err := p.showText(it, 0, truncate(content, n))
		return fits(), err
	})
	shown := truncate(content, most)
	if err != nil || most == 0 || letters(shown) < leastLetters && letters(shown) < letters(content) {
		return false, err
	}
	return true, p.showText(it, 0, shown)
}

// leastLetters is how many letters a beginning has at least. What is cut to less, such as to its date, says nothing.
const leastLetters = 6

func letters(s string) (n int) {
	for _, r := range s {
		if unicode.IsLetter(r) {
			n++
		}
	}
	return n
}

func (p *packer) showText(it *item, n int, shown string) error {
	var err error
	it.shown, it.framed = n, frameContent(it.prefix+withSpeaker(it.speaker, shown)+it.suffix)
	it.tokens, err = p.countTokens(noteLine(1, it.framed)) // a mark of up to three digits costs the same
	return err
}

func (p *packer) countTokens(s string) (int, error) {
	n, err := p.encoding.Count(s)
	if err != nil {
		return 0, fault.Wrap(err, fault.Internal, "the tokens of a context could not be counted")
	}
	return n, nil
}

// headingTokens returns what the headings cost that an item needs in addition to those that are
// there.
func (p *packer) headingTokens(it *item) (int, error) {
	part, group := true, !it.pinned
	for _, o := range slices.Backward(p.items) {
		if o.part != it.part {
			continue
		}
		part = false
		if !o.pinned && p.shareHeading(o, it) {
			group = false
		}
		if !group || !p.isChronological(it.part) {
			break // only a direct successor shares the heading
		}
	}
	var lines string
	if part {
		lines += "\n" + partHeading(partTitle(it.part))
	}
	if group {
		lines += timeHeading(it.note.OccurredAt) // an earlier note of the group may add a time to the heading
	}
	return p.countTokens(lines)
}

// largestFitting returns the largest n up to limit that fits, 0 if none does. When n fits, all
// smaller numbers must fit, too. It doubles n until it does not fit, so it tries no number that is
// many times the result.
func largestFitting(limit int, fits func(n int) (bool, error)) (int, error) {
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

// maxComparedBytes bounds the texts that are compared by words. Longer ones are compared as they are.
const maxComparedBytes = 8 << 10

// wording is a text as texts are compared: its words in order, without case, punctuation and extra space, and its signs, such as
// emoji and those of numbers.
type wording struct{ words, signs string }

func wordingOf(content string) wording {
	if len(content) <= maxComparedBytes {
		if words := text.Words(content); len(words) > 0 {
			return wording{" " + strings.Join(words, " ") + " ", text.Symbols(content)}
		}
	}
	return wording{words: content}
}

// quotedWords is how many words in a row two texts must share before one counts as a quotation of
// the other. The meaning of a shorter text depends on what it answers.
const quotedWords = 5

// coveredShare is the share of a message's terms that facts derived from it must have for the message to say nothing
// more, and of a fact's terms that shown messages must have.
const coveredShare = 0.75

// addShown keeps the terms of what is shown of a hit, to recognize what says it again.
func (p *packer) addShown(it *item) {
	if p.shownTerms == nil {
		p.shownTerms = map[uuid.UUID]map[string]bool{}
	}
	terms := text.Terms(it.passages.best(it.shown))
	for _, id := range origins(it.note) {
		if p.shownTerms[id] == nil {
			p.shownTerms[id] = map[string]bool{}
		}
		for _, t := range terms {
			p.shownTerms[id][t] = true
		}
	}
}

// origins returns a note, those that it was derived from, and its copy in the episodic layer, from which others were.
func origins(n *memory.Note) []uuid.UUID {
	out := append(slices.Clone(n.Provenance.Sources), n.ID)
	copied, _ := n.Attributes["episode_id"].(string)
	if id, err := uuid.Parse(copied); err == nil {
		out = append(out, id)
	}
	return out
}

// isDerivedFromShown reports whether a hit says hardly more than what is shown of the same source: a fact whose
// message is shown, or a message whose facts are.
func (p *packer) isDerivedFromShown(n *memory.Note) bool {
	from := slices.DeleteFunc(origins(n), func(id uuid.UUID) bool { return p.shownTerms[id] == nil })
	if len(from) == 0 {
		return false
	}
	terms, covered := text.Terms(quote.Words(n.Content)), 0
	for _, t := range terms {
		if slices.ContainsFunc(from, func(id uuid.UUID) bool { return p.shownTerms[id][t] }) {
			covered++
		}
	}
	return len(terms) > 0 && float64(covered) >= coveredShare*float64(len(terms))
}

// isSaid reports whether words and signs are those of a text that is shown, or a quotation of one that is
// shown whole.
func (p *packer) isSaid(says wording) bool {
	for _, s := range p.saidTexts {
		if s.wording == says {
			return true
		}
		if s.whole && strings.Count(says.words, " ") > quotedWords && strings.Contains(s.words, says.words) && strings.Contains(s.signs, says.signs) {
			return true
		}
	}
	return false
}
