package mem0

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
	"github.com/slipboxhq/slipbox/internal/text"
)

// Attributes of the summary: what it covers, so that what came later can be
// told from the log.
const (
	attrExchanges = "exchanges" // exchanges that it covers
	attrUpto      = "upto"      // id of the last message of them
	attrUptoTurn  = "upto_turn" // the exchange of that message
	attrRevision  = "revision"  // of the newest fact that it covers
)

// background is the summary as the extraction sees it, within its budget. It
// is not recorded as read: that it is written anew meanwhile undoes no decision.
func summaryText(ctx context.Context, d memory.Desk, c *Config) (string, error) {
	n, err := findSummary(ctx, d)
	if err != nil || n.Content == NothingKnown {
		return "", err
	}
	return text.Shorten(n.Content, c.SummaryChars), nil
}

// unread finds the summary without recording it as read; the zero note when there is none.
func findSummary(ctx context.Context, d memory.Desk) (memory.Note, error) {
	var found memory.Note
	err := policy.EachNote(ctx, d, memory.NoteQuery{Kinds: []memory.Kind{memory.KindSummary}}, func(n *memory.Note) {
		if n.Key == KeySummary {
			found = *n
		}
	})
	if err != nil {
		return found, fmt.Errorf("read the summary: %w", err)
	}
	return found, nil
}

// progress is how far decisions about a conversation have come. It is what a
// task that sums up is told, and what the summary keeps.
type progress struct {
	Exchanges int       `json:"exchanges"`
	Upto      uuid.UUID `json:"upto"` // the last message of them
	Turn      string    `json:"turn"` // the exchange of that message
}

// progressOf is what a summary covers.
func progressOf(s *memory.Note) progress {
	var p progress
	f, ok := s.Attributes[attrExchanges].(float64)
	id, err := uuid.Parse(fmt.Sprint(s.Attributes[attrUpto]))
	if !ok || err != nil {
		return p // nothing says from where on to count
	}
	p.Exchanges, p.Upto = int(f), id
	p.Turn, _ = s.Attributes[attrUptoTurn].(string)
	return p
}

// count adds the exchanges of the log up to a message: so a fork goes on where
// its base was, and a job that is tried again counts the same.
func (p *progress) advance(ctx context.Context, d memory.Desk, until uuid.UUID) error {
	seen := map[string]bool{p.Turn: p.Turn != ""}
	q := memory.NoteQuery{Kinds: []memory.Kind{memory.KindMessage, memory.KindNote}, After: p.Upto, Limit: policy.PageSize}
	for {
		page, err := d.List(ctx, q)
		if err != nil {
			return fmt.Errorf("count exchanges: %w", err)
		}
		for i := range page {
			n := &page[i]
			if !notAfter(n.ID, until) {
				return nil
			}
			turn, _ := n.Attributes[memory.AttrTurn].(string)
			turn = cmp.Or(turn, n.ID.String())
			if !seen[turn] {
				seen[turn] = true
				p.Exchanges++
			}
			p.Upto, p.Turn = n.ID, turn
		}
		if len(page) < q.Limit {
			return nil
		}
		q.After = page[len(page)-1].ID
	}
}

// summaryDue asks for a summary at every K-th exchange.
func summaryTask(ctx context.Context, d memory.Desk, c *Config, x *exchange) ([]memory.Follow, error) {
	if c.SummaryEvery == 0 || x.last == uuid.Nil {
		return nil, nil
	}
	s, err := findSummary(ctx, d)
	if err != nil {
		return nil, err
	}
	p := progressOf(&s)
	if notAfter(x.last, p.Upto) {
		return nil, nil // decided about late: it was counted
	}
	if err := p.advance(ctx, d, x.last); err != nil {
		return nil, err
	}
	if p.Exchanges == 0 || p.Exchanges%c.SummaryEvery != 0 {
		return nil, nil
	}
	args, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("encode the task: %w", err)
	}
	return []memory.Follow{{Task: memory.Task{Name: TaskSummary, Args: args}}}, nil
}

// factMaterial is a fact as the prompt of "summarize" shows it.
type factMaterial struct {
	Date string `json:"date"`
	Text string `json:"text"`
}

type summarizeMaterial struct {
	MaxChars   int            `json:"max_chars"`
	Memories   []factMaterial `json:"memories,omitempty"`
	OldSummary string         `json:"old_summary,omitempty"`
	Changes    []string       `json:"changes,omitempty"`
}

// summing is one writing of the summary.
type summaryRun struct {
	c        *Config
	old      memory.Note
	facts    []memory.Note // that hold now, oldest first
	expired  bool          // there are facts whose time is over
	revision memory.Revision
	at       progress
	out      Outcome
}

// sumUp writes the summary of the facts: of all of them, or from the last one
// and what changed since. What cannot be used of an answer leaves the old one.
//
// Its arguments are the progress up to the exchange that asked; without them
// the summary covers as many exchanges as before, whatever it says. With the key
// keyRefresh it is written only when there is one and it is stale.
func (p *Policy) summarize(ctx context.Context, d memory.Desk, c *Config, t memory.Task) (dec memory.Decision, err error) {
	s := summaryRun{c: c, out: Outcome{Policy: p.Name(), Decision: DecisionSummary, Summary: &SummaryOutcome{Mode: c.SummaryMode}}}
	if len(t.Args) > 0 {
		if err := json.Unmarshal(t.Args, &s.at); err != nil {
			return dec, fault.InvalidField("args", `must be {"exchanges": n, "upto": id, "turn": text}`)
		}
	}
	if err := s.load(ctx, d); err != nil {
		return dec, err
	}
	defer func() {
		if s.expired && err == nil { // in a fork no task waits for their time
			dec.Follow = []memory.Follow{{Task: memory.Task{Name: TaskExpire}}}
		}
	}()
	done := s.out.Summary
	if t.Key == keyRefresh && !s.old.Provenance.Stale {
		done.Kept = "it is not stale"
		return memory.Decision{Outcome: s.out.encode()}, nil
	}
	done.Memories, done.Exchanges = len(s.facts), s.at.Exchanges
	if len(s.facts) == 0 {
		return s.write(d, NothingKnown, ""), nil
	}
	changes, err := s.changes(ctx, d)
	if err != nil {
		return memory.Decision{}, err
	}
	done.Changes = len(changes)
	m := summarizeMaterial{MaxChars: c.SummaryChars}
	in := SummarizeInput{Chars: c.SummaryChars, Language: languageOf(s.facts)}
	count := len(s.facts)
	switch {
	case c.SummaryMode == SummaryFull || !s.canContinue():
		done.Mode, done.Changes = SummaryFull, 0
		for i := range s.facts {
			n := &s.facts[i]
			in.Memories = append(in.Memories, n.Content)
			m.Memories = append(m.Memories, factMaterial{Date: n.OccurredAt.UTC().Format("2006-01-02"), Text: n.Content})
		}
	case len(changes) == 0:
		return s.write(d, s.old.Content, s.old.Analyst), nil
	default:
		in.Old, in.Changes, count = s.old.Content, changes, len(changes)
		m.OldSummary, m.Changes = s.old.Content, changes
	}
	a, err := c.ask(ctx, d, question{
		name: "summarize", prompt: &p.prompts.summarize, material: m, count: count, input: in, check: policy.CheckContent(hasSummary),
	})
	switch {
	case errors.Is(err, memory.ErrBadAnswer):
		return s.keepOld("the answer could not be used"), nil
	case err != nil:
		return memory.Decision{}, err
	}
	answer, err := policy.DecodeAnswer[Summary](a.JSON, "summarize")
	if err != nil {
		return memory.Decision{}, err
	}
	content := policy.CleanLine(answer.Summary, c.SummaryChars)
	if !s.isSupported(content, in) {
		return s.keepOld("the answer says other things than the facts"), nil
	}
	return s.write(d, content, a.Analyst), nil
}

// hasSummary reports whether an answer holds a summary.
func hasSummary(s *Summary) bool { return !policy.IsBlank(s.Summary) }

// read finds the summary, all facts that hold, and how far the conversation has come.
func (s *summaryRun) load(ctx context.Context, d memory.Desk) error {
	var err error
	if s.old, _, err = d.ByKey(ctx, memory.KindSummary, KeySummary); err != nil {
		return fmt.Errorf("read the summary: %w", err)
	}
	now := d.Now()
	err = policy.EachNote(ctx, d, memory.NoteQuery{Kinds: []memory.Kind{memory.KindFact}}, func(n *memory.Note) {
		s.revision = max(s.revision, n.From)
		if hasExpired(n, now) {
			s.expired = true
		} else {
			fact := *n
			fact.Content = text.Shorten(n.Content, 2*s.c.FactChars) // callers write longer ones
			s.facts = append(s.facts, fact)
		}
	})
	if err != nil {
		return fmt.Errorf("read the facts: %w", err)
	}
	slices.SortStableFunc(s.facts, func(a, b memory.Note) int { return a.OccurredAt.Compare(b.OccurredAt) })
	s.facts = s.facts[max(0, len(s.facts)-s.c.SummaryFacts):]
	if old := progressOf(&s.old); old.Exchanges > s.at.Exchanges || s.at.Upto == uuid.Nil {
		s.at = old
	}
	return nil
}

// covered tells that the old summary can be gone on from.
func (s *summaryRun) canContinue() bool {
	_, ok := s.old.Attributes[attrRevision].(float64)
	return ok && s.old.Content != NothingKnown && !s.old.Provenance.Stale
}

// changes lists what came and went since the old summary: facts that are newer
// than those it covers, and those that it covers and are gone or read differently now.
func (s *summaryRun) changes(ctx context.Context, d memory.Desk) ([]string, error) {
	if s.c.SummaryMode != SummaryIncremental || !s.canContinue() {
		return nil, nil
	}
	f, _ := s.old.Attributes[attrRevision].(float64)
	at := memory.Revision(f)
	stays := map[uuid.UUID]bool{}
	var came, went []string
	for i := range s.facts {
		n := &s.facts[i]
		if n.From <= at {
			stays[n.ID] = true
		} else {
			came = append(came, "+ "+n.Content)
		}
	}
	var lost []uuid.UUID
	for _, id := range s.old.Provenance.Sources {
		if !stays[id] {
			lost = append(lost, id)
		}
	}
	past, err := d.Past(ctx, lost, at)
	if err != nil {
		return nil, fmt.Errorf("read facts that were: %w", err)
	}
	for i := range past {
		went = append(went, "- "+text.Shorten(past[i].Content, 2*s.c.FactChars))
	}
	return append(went, came...), nil
}

// bears tells that at least half of the words of a summary are those of its material.
func (s *summaryRun) isSupported(content string, in SummarizeInput) bool {
	w := termsOf(content)
	known := termsOf(strings.Join(in.Memories, "\n") + "\n" + strings.Join(in.Changes, "\n") + "\n" + in.Old)
	return content != "" && (inOtherLanguage(&w, &known) || 2*known.countShared(w.terms) >= len(w.terms))
}

// keep leaves the summary as it is, and notes how far the conversation has
// come, so that it need not be counted again.
func (s *summaryRun) keepOld(why string) memory.Decision {
	s.out.Summary.Kept = why
	dec := memory.Decision{Cause: memory.CauseSummarize, Outcome: s.out.encode()}
	if s.old.ID != uuid.Nil {
		n := s.old
		n.Attributes = map[string]any{}
		maps.Copy(n.Attributes, s.old.Attributes)
		s.setProgress(&n)
		dec.Puts = []memory.Note{n}
	}
	return dec
}

// reached writes into a summary how far the conversation has come.
func (s *summaryRun) setProgress(n *memory.Note) {
	if s.at.Upto != uuid.Nil {
		n.Attributes[attrExchanges], n.Attributes[attrUpto], n.Attributes[attrUptoTurn] = float64(s.at.Exchanges), s.at.Upto.String(), s.at.Turn
	}
}

// write puts the summary with what it covers.
func (s *summaryRun) write(d memory.Desk, content string, by memory.Analyst) memory.Decision {
	sources := make([]uuid.UUID, len(s.facts))
	for i := range s.facts {
		sources[i] = s.facts[i].ID
	}
	n := policy.DerivedNote(d, s.old, memory.KindSummary, KeySummary, content, by, sources)
	n.Context = memory.DefaultContext
	n.OccurredAt = d.Now()
	if len(s.facts) > 0 {
		n.OccurredAt = s.facts[len(s.facts)-1].OccurredAt
	}
	n.Attributes[attrRevision] = float64(s.revision)
	s.setProgress(&n)
	return memory.Decision{Puts: []memory.Note{n}, Cause: memory.CauseSummarize, Outcome: s.out.encode()}
}

// languageOf is Chinese for facts in Chinese.
func languageOf(facts []memory.Note) policy.Language {
	var b strings.Builder
	for i := range facts {
		b.WriteString(facts[i].Content + "\n")
	}
	if guess, _ := text.Guess(b.String()); guess == text.Chinese {
		return policy.Chinese
	}
	return policy.English
}
