package mem0

import (
	"bytes"
	"context"
	"crypto/md5" //nolint:gosec // names texts, as Mem0 does; protects nothing
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
	"github.com/slipboxhq/slipbox/internal/text"
)

// exchange is what was said now, as far as it may be learned from.
type exchange struct {
	said      []memory.Note // oldest first; without recalled memories
	otherSide []memory.Note // of the other side, where one side alone is learned from
	first     uuid.UUID
	last      uuid.UUID
	latest    time.Time // when the last of said was said
	session   any
	words     []textTerms // of said
	all       textTerms
}

// exchangeOf reads the messages of an event, oldest first.
func newExchange(c *Config, messages []memory.Note) exchange {
	var x exchange
	for i := range messages {
		m := messages[i]
		if i == 0 {
			x.first = m.ID
		}
		x.last = m.ID
		if s, ok := m.Attributes[memory.AttrSession]; ok {
			x.session = s
		}
		if !memory.Learnable(&m) {
			continue
		}
		m.Content = stripRecalled(m.Content)
		if m.Content == "" {
			continue
		}
		role := memory.UtteranceOf(&m).Role
		if c.ExtractFrom == FromUser && role != memory.RoleUser || c.ExtractFrom == FromAssistant && role != memory.RoleAssistant {
			x.otherSide = append(x.otherSide, m)
			continue
		}
		x.said = append(x.said, m)
		if m.OccurredAt.After(x.latest) {
			x.latest = m.OccurredAt
		}
	}
	x.all = textTerms{terms: map[string]bool{}}
	var whole strings.Builder
	for i := range x.said {
		w := termsOf(x.said[i].Content)
		x.words = append(x.words, w)
		x.all.add(w)
		whole.WriteString(x.said[i].Content + "\n")
	}
	x.all.lang, x.all.sure = text.Guess(whole.String())
	return x
}

// utteranceMaterial is a message as prompts show it.
type utteranceMaterial struct {
	Role    memory.Role `json:"role"`
	Name    string      `json:"name,omitempty"`
	Time    string      `json:"time"` // with the day of the week, since people reckon by it
	Content string      `json:"content"`
}

func newUtteranceMaterial(u memory.Utterance, chars int) utteranceMaterial {
	if chars > 0 {
		u.Content = text.Shorten(u.Content, chars)
	}
	return utteranceMaterial{Role: u.Role, Name: policy.CleanLine(u.Name, 100), Time: formatWithWeekday(u.Time), Content: u.Content}
}

func formatWithWeekday(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 Monday") }

type extractMaterial struct {
	MaxFacts int                 `json:"max_facts"`
	Summary  string              `json:"summary"`
	Recent   []utteranceMaterial `json:"recent"`
	New      []utteranceMaterial `json:"new"`
}

// candidate is a fact on its way to a decision.
type candidate struct {
	text    string
	note    memory.Note // as it would be added: key, attributes, times, sources
	similar []memory.Neighbor
	dec     FactDecision
	by      memory.Answer
	settled bool // decided without asking
	reason  string
}

// extracted asks for the facts of an exchange and keeps those that can be facts of it.
func (p *Policy) extractFacts(ctx context.Context, d memory.Desk, c *Config, x *exchange, out *Outcome) ([]candidate, error) {
	recent, err := recentMessages(ctx, d, c, x)
	if err != nil {
		return nil, err
	}
	summary, err := summaryText(ctx, d, c)
	if err != nil {
		return nil, err
	}
	x.assignSpeaker(recent)
	in := ExtractInput{Summary: summary, Max: c.MaxFacts}
	m := extractMaterial{MaxFacts: c.MaxFacts, Summary: summary, Recent: []utteranceMaterial{}}
	for i := range recent {
		u := memory.UtteranceOf(&recent[i])
		if c.RecentChars > 0 {
			u.Content = text.Shorten(u.Content, c.RecentChars)
		}
		in.Recent = append(in.Recent, u)
		m.Recent = append(m.Recent, newUtteranceMaterial(u, c.RecentChars))
	}
	in.New = x.utterancesWithin(memory.MaxContentBytes, exchangeMessages*memory.MaxContentBytes)
	for _, u := range x.utterancesWithin(c.MessageChars, exchangeMessages*c.MessageChars) {
		m.New = append(m.New, newUtteranceMaterial(u, 0))
	}
	answer, err := c.ask(ctx, d, question{
		name: "extract", prompt: &p.prompts.extract, material: m, count: len(m.New), input: in,
		lenient: lenientFacts, check: policy.CheckTypes[Extraction],
	})
	out.Extract = &Phase{}
	out.Extract.addCall(p.prompts.extract.Version, &answer)
	if err != nil {
		return nil, err
	}
	e, err := policy.DecodeAnswer[Extraction](answer.JSON, "extract")
	if err != nil {
		return nil, err
	}
	out.Extract.Facts = len(e.Facts)
	return newCandidates(c, x, e.Facts, extractContext{summary, recent}, &answer, &out.Dropped), nil
}

// exchangeMessages is how many messages of full length an extraction sees of an
// exchange: one may hold hundreds, of a person that nobody answers.
const exchangeMessages = 4

// within gives what was said, each message and all together within so many
// characters: the longest are shortened first, then the oldest left out.
func (x *exchange) utterancesWithin(each, all int) []memory.Utterance {
	texts := make([]string, len(x.said))
	for i := range x.said {
		texts[i] = text.Shorten(x.said[i].Content, each)
	}
	from, texts := policy.FitChars(texts, all)
	out := make([]memory.Utterance, len(texts))
	for i, t := range texts {
		out[i] = memory.UtteranceOf(&x.said[from+i])
		out[i].Content = t
	}
	return out
}

// take lets what was said without a name be of the one person who has spoken
// under a name, so that nobody is two. Where several have, it stays nameless.
func (x *exchange) assignSpeaker(recent []memory.Note) {
	name := ""
	for _, list := range [][]memory.Note{recent, x.said} {
		for i := range list {
			u := memory.UtteranceOf(&list[i])
			switch {
			case u.Role != memory.RoleUser || u.Name == "" || u.Name == name:
			case name != "":
				return
			default:
				name = u.Name
			}
		}
	}
	for i := range x.said {
		u := memory.UtteranceOf(&x.said[i])
		if name == "" || u.Role != memory.RoleUser || u.Name != "" {
			continue
		}
		attributes := maps.Clone(x.said[i].Attributes)
		if attributes == nil {
			attributes = map[string]any{}
		}
		attributes[memory.AttrName] = name
		x.said[i].Attributes = attributes
	}
}

// recentOf gives the messages before the exchange that are background: the
// newest m of those that a person or an assistant said, or those of the newest
// m exchanges. With them comes what the other side said in this exchange,
// where one side alone is learned from.
func recentMessages(ctx context.Context, d memory.Desk, c *Config, x *exchange) ([]memory.Note, error) {
	if c.RecentMessages == 0 {
		return x.otherSide, nil
	}
	// What is no part of the talk is passed over, so more are read than are shown.
	found, err := d.Recent(ctx, x.first, 4*c.RecentMessages+20)
	if err != nil {
		return nil, fmt.Errorf("read recent messages: %w", err)
	}
	found = slices.DeleteFunc(found, func(n memory.Note) bool {
		role := memory.UtteranceOf(&n).Role
		other := c.Scope == ScopeSession && n.Attributes[memory.AttrSession] != x.session
		return other || role != memory.RoleUser && role != memory.RoleAssistant
	})
	from := max(0, len(found)-c.RecentMessages)
	if c.RecentUnit == UnitPairs {
		from = len(found)
		for turns, turn := 0, any(nil); from > 0; from-- {
			if t := found[from-1].Attributes[memory.AttrTurn]; t != turn || t == nil {
				if turns++; turns > c.RecentMessages {
					break
				}
				turn = t
			}
		}
	}
	return append(found[from:], x.otherSide...), nil
}

// told is the background that an extraction was shown.
type extractContext struct {
	summary string
	recent  []memory.Note
}

// candidates cleans what an answer gives: one line each, no text twice, none
// that the new messages do not bear out, no more than the limit.
func newCandidates(c *Config, x *exchange, facts []string, known extractContext, by *memory.Answer, drop *FactsDropped) []candidate {
	said := x.all
	if len(said.terms) < 2 && len(known.recent) > 0 {
		// "Yes, I do." says what it answers.
		said = textTerms{terms: map[string]bool{}, lang: said.lang, sure: said.sure}
		said.add(x.all)
		said.add(termsOf(known.recent[len(known.recent)-1].Content))
	}
	summary := termsOf(known.summary)
	var out []candidate
	seen := map[string]bool{}
	for _, raw := range facts {
		fact := policy.CleanLine(raw, memory.MaxContentBytes/4)
		switch {
		case !strings.ContainsFunc(fact, unicode.IsLetter) || isEmptyAnswer(fact):
			drop.Malformed++
			continue
		case len([]rune(fact)) > c.FactChars:
			drop.TooLong++
			continue
		case seen[text.Fold(fact)]:
			drop.Repeats++
			continue
		}
		w := termsOf(fact)
		// What shares no word with the new messages is not of them, nor is what the summary says in full and they hardly.
		here := said.countShared(w.terms)
		if !inOtherLanguage(&w, &said) && (here == 0 || 2*here < len(w.terms) && summary.countShared(w.terms) == len(w.terms)) {
			drop.NotSaid++
			continue
		}
		seen[text.Fold(fact)] = true
		if len(out) == c.MaxFacts {
			drop.OverLimit++
			continue
		}
		out = append(out, candidate{text: fact, note: x.newFact(c, fact, w, by.Analyst), by: *by})
	}
	return out
}

// fact makes the note of a fact of the exchange: from the message that has
// most of its words, and from every other that has some that this one lacks.
func (x *exchange) newFact(c *Config, content string, w textTerms, by memory.Analyst) memory.Note {
	best, most := 0, -1
	for i := range x.said {
		if n := x.words[i].countShared(w.terms); n > most {
			best, most = i, n
		}
	}
	m := &x.said[best]
	n := memory.Note{
		Kind: memory.KindFact, Content: content, Context: memory.DefaultContext, Category: memory.DefaultCategory, Importance: memory.DefaultImportance,
		OccurredAt: m.OccurredAt, State: memory.StateEvolved, Analyst: by, Attributes: map[string]any{},
	}
	for name, v := range m.Attributes {
		if name != memory.AttrTurn && name != memory.AttrRecall {
			n.Attributes[name] = v
		}
	}
	n.Key = factKey(c, &n)
	for i := range x.said {
		lacking := false
		for t := range w.terms {
			lacking = lacking || x.words[i].terms[t] && !x.words[best].terms[t]
		}
		if i == best || lacking || most <= 0 {
			n.Provenance.Sources = append(n.Provenance.Sources, x.said[i].ID)
		}
	}
	return n
}

// factKey is the natural key of a fact: the hash of its text, as Mem0 keeps
// it. Where sessions are kept apart, one text may stand once in each.
func factKey(c *Config, n *memory.Note) string {
	s := n.Content
	if session, ok := n.Attributes[memory.AttrSession]; ok && c.Scope == ScopeSession {
		s = fmt.Sprint(session) + "\x00" + s
	}
	sum := md5.Sum([]byte(s)) //nolint:gosec // as above
	return "md5:" + hex.EncodeToString(sum[:])
}

// alike are the conditions of memories that a fact of the exchange is compared with.
func (x *exchange) similarFilter(c *Config) filter.Expr {
	if c.Scope != ScopeSession {
		return nil
	}
	leaf := &filter.Leaf{Field: filter.Attributes, Path: []string{memory.AttrSession}, Op: filter.Eq}
	switch s := x.session.(type) {
	case string:
		leaf.Values = []filter.Value{{Type: filter.Text, Text: s}}
	case float64:
		leaf.Values = []filter.Value{{Type: filter.Number, Number: s}}
	default:
		leaf.Op, leaf.Want = filter.Exists, false
	}
	return leaf
}

// before tells that an id was allotted no later than another.
func notAfter(a, b uuid.UUID) bool { return bytes.Compare(a[:], b[:]) <= 0 }
