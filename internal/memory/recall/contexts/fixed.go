package contexts

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
)

// Shares of a budget, as divisors. Fixed notes (pinned notes and the newest messages) rarely hold
// the answer, so they first get a small share and the hits get the rest. What the hits leave goes to
// pinned notes, up to half of the budget, and to older messages.
const (
	pinnedShare    = 8
	pinnedMaxShare = 2
	recentShare    = 8
	// Contexts by date. What was not found, or repeats messages that may be found, gets these shares until the
	// messages that were found have their place: pinned notes, the newest messages, the other messages of
	// exchanges, and the sentences of daily summaries. On half of the chats of BEAM's 128K tier five sets were tried, and
	// smaller shares lost less. The newest messages keep the share that they had: half of it would lose less there, too,
	// but then a short context has no room for one.
	datedPinnedShare  = 16
	datedRecentShare  = 16
	datedBesideShare  = 32
	datedSummaryShare = 32
	// portraitTokens is the least room of a pinned profile, up to the largest share of pinned notes: a small
	// context shows how to answer, and the portrait.
	portraitTokens = 100
)

// placeFixed adds the fixed notes: pinned ones each within an equal part of their share, then the
// newest messages within theirs.
func (p *packer) placeFixed(r *Request) (err error) {
	if p.mark, err = p.countTokens(noteLine(1, "")); err != nil {
		return err
	}
	p.fixedNotes = map[uuid.UUID]bool{}
	for _, turn := range r.Dialogue {
		p.saidTexts = append(p.saidTexts, saidText{wording: wordingOf(turn)})
	}
	room := p.budget / pinnedShare
	if p.byDate {
		room = p.budget / datedPinnedShare
	}
	for i := range r.Pinned {
		it := newPinned(&r.Pinned[i])
		if p.details {
			it.suffix += factDetails(it.note, p.layers, sinceOf(it.note))
		}
		p.pinned = append(p.pinned, it)
		share := room / (len(r.Pinned) - i)
		part := share
		if i == 0 && it.note.Kind == memory.KindProfile {
			part = max(part, min(portraitTokens, p.budget/pinnedMaxShare))
		}
		if err := p.fitFixed(it, p.used+part); err != nil {
			return err
		}
		taken := it.cost
		if p.byDate {
			taken = min(share, taken) // what a portrait has beyond its share is not at the cost of the history
		}
		room = max(0, room-taken)
	}
	p.moreRecent = slices.DeleteFunc(r.Recent, func(n memory.Note) bool {
		return strings.TrimSpace(visibleText(n.Content)) == ""
	})
	for i := range p.moreRecent {
		p.ask(Hit{Note: &p.moreRecent[i]})
	}
	if p.byDate {
		// Hits that are shown by date are read as a conversation themselves, so they come first.
		p.besideRoom, p.summaryRoom = p.budget/datedBesideShare, p.budget/datedSummaryShare
		return p.placeRecent(p.used + p.budget/datedRecentShare)
	}
	return p.placeRecent(p.used + p.budget/recentShare)
}

// fitFixed adds as much of a fixed note as keeps the used tokens within limit: all of it, its best
// passages, or its beginning.
func (p *packer) fitFixed(it *item, limit int) error {
	if len(it.passages.spans) == 0 {
		return nil
	}
	var err error
	if it.cost == 0 { // else it was placed before, and keeps its headings
		if it.headings, err = p.headingTokens(it); err != nil {
			return err
		}
	}
	it.cost = 0
	if p.used+it.headings+p.mark > min(limit, p.budget) {
		return nil // of 200 pinned notes, most have room for less than a mark
	}
	if it.passages.ranked == nil { // it may be placed again, with more room
		it.passages.rank(p.query, nil)
	}
	if err := p.setStrategy(it, (min(limit, p.budget)-p.used-it.headings)/2); err != nil {
		return err
	}
	fits := func() bool { return p.used+it.headings+it.tokens <= min(limit, p.budget) }
	n, err := largestFitting(len(it.passages.spans), func(n int) (bool, error) {
		err := p.showPassages(it, n)
		return fits(), err
	})
	if err != nil {
		return err
	}
	if n > 0 {
		if err := p.showPassages(it, n); err != nil {
			return err
		}
	} else if shown, err := p.showBeginning(it, fits); err != nil || !shown {
		return err
	}
	p.addFixed(it)
	return nil
}

// setStrategy sets the line before the text of a fixed note: as much of how to answer as room tokens hold.
func (p *packer) setStrategy(it *item, room int) error {
	it.prefix = ""
	if it.strategy == "" {
		return nil
	}
	if n, err := p.countTokens(it.strategy + "\n"); err != nil || n <= room {
		it.prefix = it.strategy + "\n"
		return err
	}
	most, err := largestFitting(utf8.RuneCountInString(it.strategy), func(n int) (bool, error) {
		tokens, err := p.countTokens(truncate(it.strategy, n) + "\n")
		return tokens <= room, err
	})
	if err == nil && most > 0 {
		it.prefix = truncate(it.strategy, most) + "\n"
	}
	return err
}

// addFixed adds a fixed note to the context.
func (p *packer) addFixed(it *item) {
	it.cost = it.headings + it.tokens
	p.used += it.cost
	p.items = append(p.items, it)
	if !p.fixedNotes[it.note.ID] {
		p.fixedNotes[it.note.ID] = true
		p.saidTexts = append(p.saidTexts, saidText{wording: wordingOf(it.note.Content)})
		if it.part == partMessages {
			p.addShown(it)
		}
	}
}

// placeRecent adds recent messages, newest first and without gaps, as long as the used tokens stay
// within limit. The newest message is cut if necessary.
func (p *packer) placeRecent(limit int) error {
	for len(p.moreRecent) > 0 {
		n := &p.moreRecent[0]
		if p.isItem(n) || p.isSaid(wordingOf(n.Content)) && !p.isAnswered(n) {
			p.moreRecent = p.moreRecent[1:] // a hit or the dialogue shows it
			continue
		}
		it := newItem(n, nil)
		if p.layers {
			it.suffix = factDetails(it.note, true)
		}
		it.part = partMessages
		before := len(p.items)
		if p.fixedRecent == 0 {
			if err := p.fitFixed(it, limit); err != nil {
				return err
			}
		} else if err := p.fitWhole(it, limit); err != nil {
			return err
		}
		if len(p.items) == before {
			return nil
		}
		p.fixedRecent++
		p.moreRecent = p.moreRecent[1:]
	}
	return nil
}

// fitWhole adds a fixed note if all of it keeps the used tokens within limit.
func (p *packer) fitWhole(it *item, limit int) error {
	var err error
	if it.headings, err = p.headingTokens(it); err != nil {
		return err
	}
	if err := p.showPassages(it, len(it.passages.spans)); err != nil {
		return err
	}
	if p.used+it.headings+it.tokens <= min(limit, p.budget) {
		p.addFixed(it)
	}
	return nil
}

// growFixed spends what the hits left of the budget on pinned notes, up to their largest share, then
// on older messages.
func (p *packer) growFixed() error {
	held := 0
	for _, it := range p.pinned {
		held += it.cost
	}
	for _, it := range p.pinned {
		if !p.fixedNotes[it.note.ID] && slices.ContainsFunc(p.items, func(o *item) bool { return o.note.ID == it.note.ID }) {
			continue // there was no room for it, and it was found
		}
		// Remove the note, and place it again with more room.
		held -= it.cost
		p.used -= it.cost
		p.items = slices.DeleteFunc(p.items, func(o *item) bool { return o == it })
		if err := p.fitFixed(it, p.used+p.budget/pinnedMaxShare-held); err != nil {
			return err
		}
		held += it.cost
	}
	return p.placeRecent(p.budget)
}
