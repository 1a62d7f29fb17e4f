package recall

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Shares of a budget, as divisors. What a policy pins and what was said last
// rarely hold the answer, so of a small budget they keep a little, and the hits
// have the rest. What the hits then leave goes to what was pinned, up to a
// half of the budget, and to older messages.
const (
	pinnedShare = 8
	pinnedMost  = 2
	recentShare = 8
)

// standing is what a context shows whether or not it answers the query.
type standing struct {
	pinned []memory.Note // in the policy's order
	recent []memory.Note // the newest messages, newest first
	spoken []string      // words of the turns of the dialogue that asks, which a prompt holds already
}

// standing reads what a policy pins and the newest messages, of what the
// caller's filter lets pass. Where a policy wants nothing in particular, nothing stands.
func (r *Service) standing(ctx context.Context, s tenant.Scope, v memory.View, rd *memory.Reading, q *ContextQuery) (standing, error) {
	var out standing
	if len(rd.Kinds) == 0 {
		return out, nil
	}
	for _, m := range q.Messages {
		for _, said := range []string{m.User, m.Assistant, m.Content} {
			if said != "" {
				out.spoken = append(out.spoken, wordsOf(said))
			}
		}
	}
	for _, pin := range rd.Pinned {
		n, err := r.store.NoteByKey(ctx, s, v, pin.Kind, pin.Key)
		if fault.Is(err, fault.NotFound) {
			continue
		}
		if err != nil {
			return out, err
		}
		if filter.Match(q.Filter, recordOf(&n)) {
			out.pinned = append(out.pinned, n)
		}
	}
	if rd.Recent <= 0 {
		return out, nil
	}
	var err error
	out.recent, err = r.store.ListNotes(ctx, s, v, memory.NoteQuery{
		Filter: q.Filter, Kinds: []memory.Kind{memory.KindMessage}, Newest: true, Limit: rd.Recent,
	})
	return out, err
}

// stand places what stands: pinned notes each within an equal part of their
// share, then the newest messages as far as theirs goes.
func (p *packer) stand(st standing) error {
	p.stood = map[uuid.UUID]bool{}
	for _, words := range st.spoken {
		p.said = append(p.said, saying{words: words})
	}
	room := p.budget / pinnedShare
	for i := range st.pinned {
		it := newPinned(&st.pinned[i])
		p.pinned = append(p.pinned, it)
		if err := p.fit(it, p.used+room/(len(st.pinned)-i)); err != nil {
			return err
		}
		room -= it.cost
	}
	p.older = slices.DeleteFunc(st.recent, func(n memory.Note) bool {
		return p.repeats(wordsOf(n.Content)) || strings.TrimSpace(visible(n.Content)) == ""
	})
	return p.recall(p.used + p.budget/recentShare)
}

// newPinned is an item that stands first in its part, under no date.
func newPinned(n *memory.Note) *item {
	it := &item{note: n, part: partKind(n), pinned: true, cut: newCutting(n.Content, passageTokens)}
	for _, key := range []string{"name", "personality", "hobbies", "speaking_style", "reply_strategy"} {
		if value := listed(n.Attributes[key]); value != "" && !strings.Contains(n.Content, value) {
			it.tail += "\n" + strings.ReplaceAll(key, "_", " ") + ": " + value
		}
	}
	return it
}

// listed gives a text, or texts in a row; "" of anything else.
func listed(v any) string {
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

// fit takes as much of an item as stays within a bound of what is used: whole,
// its best passages, or a beginning.
func (p *packer) fit(it *item, most int) error {
	it.cut.rank(p.query, nil)
	if len(it.cut.spans) == 0 {
		return nil
	}
	if it.cost == 0 { // else it stood already, and its headings stay its own
		var err error
		if it.headings, err = p.headings(it); err != nil {
			return err
		}
	}
	it.cost = 0
	fits := func() bool { return p.used+it.headings+it.tokens <= min(most, p.budget) }
	n, err := largest(len(it.cut.spans), func(n int) (bool, error) {
		err := p.show(it, n)
		return fits(), err
	})
	if err != nil {
		return err
	}
	if n > 0 {
		if err := p.show(it, n); err != nil {
			return err
		}
	} else if shown, err := p.begin(it, fits); err != nil || !shown {
		return err
	}
	p.keep(it)
	return nil
}

// keep takes an item that stands.
func (p *packer) keep(it *item) {
	it.cost = it.headings + it.tokens
	p.used += it.cost
	p.items = append(p.items, it)
	if !p.stood[it.note.ID] {
		p.stood[it.note.ID] = true
		p.said = append(p.said, saying{words: wordsOf(it.note.Content)})
	}
}

// recall takes messages, the newest first and none out of turn, while they
// stay within a bound of what is used. The newest is cut if it has to be.
func (p *packer) recall(most int) error {
	for len(p.older) > 0 {
		if n := &p.older[0]; p.repeats(wordsOf(n.Content)) || slices.ContainsFunc(p.items, func(it *item) bool { return it.note.ID == n.ID }) {
			p.older = p.older[1:] // a hit shows it meanwhile
			continue
		}
		it := newItem(&p.older[0], nil)
		it.part = partMessages
		before := len(p.items)
		if p.stoodMessages == 0 {
			if err := p.fit(it, most); err != nil {
				return err
			}
		} else if err := p.wholly(it, most); err != nil {
			return err
		}
		if len(p.items) == before {
			return nil
		}
		p.stoodMessages++
		p.older = p.older[1:]
	}
	return nil
}

// wholly takes an item if all of it stays within a bound of what is used.
func (p *packer) wholly(it *item, most int) error {
	var err error
	if it.headings, err = p.headings(it); err != nil {
		return err
	}
	if err := p.show(it, len(it.cut.spans)); err != nil {
		return err
	}
	if p.used+it.headings+it.tokens <= min(most, p.budget) {
		p.keep(it)
	}
	return nil
}

// extend gives what hits left of the budget to what stands: to what is pinned
// up to its share of all, then to messages.
func (p *packer) extend() error {
	held := 0
	for _, it := range p.pinned {
		held += it.cost
	}
	for _, it := range p.pinned {
		// What it has is given back and taken again.
		held -= it.cost
		p.used -= it.cost
		p.items = slices.DeleteFunc(p.items, func(o *item) bool { return o == it })
		if err := p.fit(it, p.used+p.budget/pinnedMost-held); err != nil {
			return err
		}
		held += it.cost
	}
	return p.recall(p.budget)
}

// tailOf says of a fact what is known about it beside its text: how sure it
// is, and when it ends.
func tailOf(n *memory.Note) string {
	var known []string
	switch n.Kind { //nolint:exhaustive // the others are no statements
	case memory.KindFact, memory.KindKnowledge:
		if c, ok := n.Attributes["confidence"].(float64); ok && c >= 0 && c < 1 {
			known = append(known, fmt.Sprintf("confidence %.2f", c))
		}
		if end, ok := expiry(n.Attributes); ok {
			known = append(known, "until "+end.UTC().Format("2006-01-02"))
		}
	}
	if len(known) == 0 {
		return ""
	}
	return " (" + strings.Join(known, ", ") + ")"
}
