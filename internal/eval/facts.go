package eval

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/slipboxhq/slipbox/internal/text"
)

// A derived fact is matched with a label by a rule that a reader can check. It names the label's turn
// among its sources. It has most words that were said and names whom the label is about, or it has most
// words of the label's own text. Words are index terms of the language of the dialogue: stems without
// stop words, or pairs of characters. TestMatcherAgreesWithJudges compares the rule with verdicts.
const (
	spanShare = 0.6 // of the terms of a label's span, with all of whom it is about
	textShare = 0.7 // of the terms of a label's text
	partShare = 0.6 // of a fact's terms are in a label of which it tells a part
	sameShare = 0.9 // of the terms of two facts are in both if one repeats the other
)

// DerivedFact is a fact that a policy made of a dialogue: one version of a note's text.
type DerivedFact struct {
	Note  string `json:"note"`
	Text  string `json:"text"`
	Turns []int  `json:"turns"` // that it was derived from
	Since int    `json:"since"` // turn after which it was told
	Until int    `json:"until"` // turn after which it was told no longer; -1: it is told at the end
}

// Derived is what a policy derived of a dialogue.
type Derived struct {
	Policy   string        `json:"policy"`
	Dialogue string        `json:"dialogue"`
	Facts    []DerivedFact `json:"facts"`
}

// Live reports whether the fact is told at the end of the dialogue.
func (f *DerivedFact) Live() bool { return f.Until < 0 }

// Matcher matches the facts of one dialogue.
type Matcher struct {
	dialogue *Labeled
	lang     text.Language
	labels   []labelTerms
	people   termSet
}

type termSet map[string]bool

type labelTerms struct {
	*Label
	turns           []int // in which it is said, also by labels that say the same
	span, text, who termSet
}

// NewMatcher returns the Matcher of a dialogue.
func NewMatcher(d *Labeled) *Matcher {
	var all strings.Builder
	for i := range d.Turns {
		all.WriteString(d.Turns[i].Text + "\n")
	}
	m := &Matcher{dialogue: d}
	m.lang, _ = text.Guess(all.String())
	m.people = m.terms(strings.Join(d.People, "\n"))
	for i := range d.Facts {
		l := &d.Facts[i]
		t := labelTerms{Label: l, turns: []int{l.Turn}, span: m.terms(l.Span), text: m.terms(l.Text), who: m.terms(l.Who)}
		for _, other := range d.Facts {
			if slices.Contains(other.Same, l.Number) || slices.Contains(l.Same, other.Number) {
				t.turns = append(t.turns, other.Turn)
			}
		}
		m.labels = append(m.labels, t)
	}
	return m
}

func (m *Matcher) terms(s string) termSet {
	out := termSet{}
	for _, t := range text.TermsIn(s, m.lang) {
		out[t] = true
	}
	return out
}

// shareIn returns the share of the terms of s that are in other; 0 when s is empty.
func (s termSet) shareIn(other termSet) float64 {
	n := 0
	for t := range s {
		if other[t] {
			n++
		}
	}
	return float64(n) / float64(max(len(s), 1))
}

// Keeps reports whether a fact keeps what a label says.
func (m *Matcher) Keeps(f *DerivedFact, l *Label) bool {
	t := m.of(l)
	return t.saidIn(f) && t.keptBy(m.terms(f.Text))
}

// Repeats reports whether a fact has what was said for a label, no matter whom it is about.
func (m *Matcher) Repeats(f *DerivedFact, l *Label) bool {
	t, terms := m.of(l), m.terms(f.Text)
	return t.saidIn(f) && (t.keptBy(terms) || t.span.shareIn(terms) >= spanShare)
}

// TellsOf reports whether a fact has what was said for a label, or a part of it.
func (m *Matcher) TellsOf(f *DerivedFact, l *Label) bool {
	t, own := m.of(l), m.terms(f.Text).without(m.people)
	return m.Repeats(f, l) || t.saidIn(f) && (own.shareIn(t.span) >= partShare || own.shareIn(t.text) >= partShare)
}

func (m *Matcher) of(l *Label) *labelTerms {
	return &m.labels[slices.IndexFunc(m.labels, func(t labelTerms) bool { return t.Label == l })]
}

func (t *labelTerms) saidIn(f *DerivedFact) bool {
	return slices.ContainsFunc(t.turns, func(turn int) bool { return slices.Contains(f.Turns, turn) })
}

func (t *labelTerms) keptBy(fact termSet) bool {
	named := len(t.who) == 0 || t.who.shareIn(fact) == 1
	return named && t.span.shareIn(fact) >= spanShare || t.text.shareIn(fact) >= textShare
}

func (s termSet) without(other termSet) termSet {
	out := maps.Clone(s)
	maps.DeleteFunc(out, func(t string, _ bool) bool { return other[t] })
	return out
}

// FactCounts says how well what was derived of one or more dialogues fits their labels.
type FactCounts struct {
	Dialogues int
	Wanted    int // labels that hold at the end, each once
	Kept      int // of these, a live fact keeps it
	Said      int // of all wanted, a live fact has what was said, no matter whom it is about
	Live      int // derived facts that are told at the end
	Good      int // of these, tell of a label that holds at the end
	Over      int // of the others, tell of a label that has ended
	Again     int // live facts that say the same as an earlier one
	Ended     int // labels that were kept until something ended them
	Retired   int // of these, no live fact keeps it
	Once      int // wanted labels that a fact kept at some time
	Destroyed int // of these, no live fact keeps it
	Traps     int // traps whose old fact was kept before
	Trapped   int // of these, no fact keeps it after the trap
}

func (c *FactCounts) add(o FactCounts) {
	c.Dialogues += o.Dialogues
	c.Wanted += o.Wanted
	c.Kept += o.Kept
	c.Said += o.Said
	c.Live += o.Live
	c.Good += o.Good
	c.Over += o.Over
	c.Again += o.Again
	c.Ended += o.Ended
	c.Retired += o.Retired
	c.Once += o.Once
	c.Destroyed += o.Destroyed
	c.Traps += o.Traps
	c.Trapped += o.Trapped
}

// Count compares the facts that were derived of the dialogue with its labels.
func (m *Matcher) Count(facts []DerivedFact) FactCounts {
	out := FactCounts{Dialogues: 1}
	ended := map[int]bool{}
	for _, l := range m.dialogue.Facts {
		for _, old := range l.Ends {
			ended[old] = true
		}
	}
	for i := range m.dialogue.Facts {
		m.countLabel(&out, &m.dialogue.Facts[i], facts, ended)
	}
	m.countLive(&out, facts, ended)
	m.countTraps(&out, facts)
	return out
}

func (m *Matcher) countLabel(out *FactCounts, l *Label, facts []DerivedFact, ended map[int]bool) {
	once, live, said := false, false, false
	for i := range facts {
		f := &facts[i]
		said = said || f.Live() && m.Repeats(f, l)
		if m.Keeps(f, l) {
			once, live = true, live || f.Live()
		}
	}
	switch {
	case ended[l.Number]:
		out.Ended += count(once)
		out.Retired += count(once && !live)
	case len(l.Same) == 0: // a repetition counts with what it repeats
		out.Wanted++
		out.Once += count(once)
		out.Kept += count(live)
		out.Destroyed += count(once && !live)
		out.Said += count(said)
	}
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (m *Matcher) countLive(out *FactCounts, facts []DerivedFact, ended map[int]bool) {
	var before []termSet
	for i := range facts {
		f := &facts[i]
		if !f.Live() {
			continue
		}
		out.Live++
		good, over := false, false
		for j := range m.dialogue.Facts {
			if l := &m.dialogue.Facts[j]; m.TellsOf(f, l) {
				good, over = good || !ended[l.Number], over || ended[l.Number]
			}
		}
		out.Good += count(good)
		out.Over += count(over && !good)
		terms := m.terms(f.Text)
		out.Again += count(slices.ContainsFunc(before, func(b termSet) bool {
			return terms.shareIn(b) >= sameShare && b.shareIn(terms) >= sameShare
		}))
		before = append(before, terms)
	}
}

func (m *Matcher) countTraps(out *FactCounts, facts []DerivedFact) {
	for _, t := range m.dialogue.Traps {
		l := m.dialogue.label(t.Old)
		before, after := false, false
		for i := range facts {
			if f := &facts[i]; f.Since < t.Turn && (f.Live() || f.Until >= t.Turn) && m.Keeps(f, l) {
				before = true
			}
			if f := &facts[i]; f.Since <= t.Turn && (f.Live() || f.Until > t.Turn) && m.Keeps(f, l) {
				after = true
			}
		}
		out.Traps += count(before)
		out.Trapped += count(before && !after)
	}
}

// TellDialogue posts a dialogue turn by turn to a new collection, waits for each, and returns all facts
// that were derived, with the turns between which they were told.
func TellDialogue(ctx context.Context, c *Client, name, policy string, d *Labeled) ([]DerivedFact, error) {
	col, err := c.CreateCollection(ctx, name, policy)
	if err != nil {
		return nil, fmt.Errorf("create collection %s: %w", name, err)
	}
	history := factHistory{turns: map[string]int{}, live: map[string]int{}}
	for i := range d.Turns {
		message, err := d.Turns[i].message()
		if err != nil {
			return nil, err
		}
		ids, err := c.AddEvolved(ctx, col.ID, []Message{message})
		if err != nil {
			return nil, fmt.Errorf("turn %d: %w", i, err)
		}
		history.turns[ids[0]] = i
		if i == len(d.Turns)-1 {
			if err := Drain(ctx, c, col.ID, len(d.Turns), nil); err != nil {
				return nil, err
			}
		}
		if err := history.read(ctx, c, col.ID, i); err != nil {
			return nil, fmt.Errorf("turn %d: %w", i, err)
		}
	}
	failed, err := c.FailedJobs(ctx, col.ID)
	if err == nil && failed > 0 {
		err = fmt.Errorf("%d jobs failed", failed)
	}
	return history.facts, err
}

func (t *LabeledTurn) message() (Message, error) {
	at, err := t.At()
	m := Message{Role: "user", Name: t.Speaker, Content: t.Text, OccurredAt: &at}
	if t.Role == "assistant" {
		m.Role, m.Name = t.Role, ""
	}
	return m, err
}

// factHistory collects the versions of the facts of a collection while a dialogue is told.
type factHistory struct {
	turns map[string]int // by the id of their message
	live  map[string]int // index in facts, by the id of the note
	facts []DerivedFact
}

// read compares the facts of the collection after a turn with those before it.
func (h *factHistory) read(ctx context.Context, c *Client, collection string, turn int) error {
	seen := map[string]bool{}
	err := c.countNotes(ctx, collection, "fact", func(raw json.RawMessage) error {
		var n FoundNote
		if err := json.Unmarshal(raw, &n); err != nil {
			return fmt.Errorf("decode note: %w", err)
		}
		seen[n.ID] = true
		i, known := h.live[n.ID]
		if known && h.facts[i].Text == n.Content {
			h.facts[i].Turns = h.said(n.Provenance.Sources)
			return nil
		}
		if known {
			h.facts[i].Until = turn
		}
		h.live[n.ID] = len(h.facts)
		h.facts = append(h.facts, DerivedFact{Note: n.ID, Text: n.Content, Turns: h.said(n.Provenance.Sources), Since: turn, Until: -1})
		return nil
	})
	for id, i := range h.live {
		if err == nil && !seen[id] {
			h.facts[i].Until = turn
			delete(h.live, id)
		}
	}
	return err
}

func (h *factHistory) said(sources []string) (out []int) {
	for _, id := range sources {
		if turn, ok := h.turns[id]; ok {
			out = append(out, turn)
		}
	}
	return out
}

// FactResult has the counts of a policy over some dialogues, by language; "all" has their sum.
type FactResult struct {
	Policy string
	By     map[string]FactCounts
}

const allLanguages = "all"

// CountFacts counts what was derived of some dialogues. derive returns the facts of one; when each is not
// nil, it is called after every dialogue.
func CountFacts(policy string, dialogues []Labeled, derive func(d *Labeled) ([]DerivedFact, error), each func(d *Labeled, facts []DerivedFact, counts FactCounts) error) (FactResult, error) {
	out := FactResult{Policy: policy, By: map[string]FactCounts{}}
	for i := range dialogues {
		d := &dialogues[i]
		facts, err := derive(d)
		if err != nil {
			return out, fmt.Errorf("%s: %w", d.ID, err)
		}
		counts := NewMatcher(d).Count(facts)
		for _, lang := range []string{d.Lang, allLanguages} {
			sum := out.By[lang]
			sum.add(counts)
			out.By[lang] = sum
		}
		if each != nil {
			if err := each(d, facts, counts); err != nil {
				return out, err
			}
		}
	}
	return out, nil
}

// PrintFacts writes a Markdown table with a row for each policy and language, the largest first.
func PrintFacts(w io.Writer, title string, results []FactResult) error {
	var b strings.Builder
	fmt.Fprintf(&b, "\n| %s | dialogues | wanted kept | their words | facts that fit | only of what ended | repeats | ended and retired | destroyed | traps that destroyed |\n", title)
	b.WriteString("|---|---|---|---|---|---|---|---|---|---|\n")
	for _, r := range results {
		langs := slices.SortedFunc(maps.Keys(r.By), func(a, b string) int {
			return cmp.Or(cmp.Compare(r.By[b].Dialogues, r.By[a].Dialogues), cmp.Compare(count(b == allLanguages), count(a == allLanguages)), cmp.Compare(a, b))
		})
		for _, lang := range langs {
			c := r.By[lang]
			fmt.Fprintf(&b, "| %s, %s | %d | %s | %s | %s | %d | %d | %s | %s | %s |\n", r.Policy, lang, c.Dialogues,
				ofAll(c.Kept, c.Wanted), ofAll(c.Said, c.Wanted), ofAll(c.Good, c.Live), c.Over, c.Again,
				ofAll(c.Retired, c.Ended), ofAll(c.Destroyed, c.Once), ofAll(c.Trapped, c.Traps))
		}
	}
	return printed(io.WriteString(w, b.String()))
}

func ofAll(n, all int) string { return fmt.Sprintf("%d of %d", n, all) }
