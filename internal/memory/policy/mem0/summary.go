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

// Attributes of the summary: what it covers, so that later messages and facts can be found.
const (
	attrExchanges = "exchanges" // exchanges that it covers
	attrUpto      = "upto"      // id of the last message of them
	attrUptoTurn  = "upto_turn" // turn of that message
	attrRevision  = "revision"  // of the newest fact that it covers
)

// summaryText returns the summary as the extraction sees it, within its budget. It is not
// recorded as read, so that a new summary does not conflict with the decision.
func summaryText(ctx context.Context, d memory.Desk, c *Config) (string, error) {
	n, err := findSummary(ctx, d)
	if err != nil || n.Content == nothingKnown {
		return "", err
	}
	return text.Shorten(n.Content, c.SummaryChars), nil
}

// findSummary returns the summary without recording it as read; the zero note when there
// is none.
func findSummary(ctx context.Context, d memory.Desk) (memory.Note, error) {
	var found memory.Note
	for n, err := range policy.EachNote(ctx, d, memory.NoteQuery{Kinds: []memory.Kind{memory.KindSummary}, Keyed: true}) {
		if err != nil {
			return found, fmt.Errorf("read the summary: %w", err)
		}
		if n.Key == KeySummary {
			found = *n
		}
	}
	return found, nil
}

// progress is how far a conversation has been decided about. It is an argument of
// TaskSummary, and the summary stores it.
type progress struct {
	Exchanges int       `json:"exchanges"`
	Upto      uuid.UUID `json:"upto"` // the last message of them
	Turn      string    `json:"turn"` // of that message
}

// progressOf returns the progress that a summary covers; zero when it states none.
func progressOf(s *memory.Note) progress {
	var p progress
	f, ok := s.Attributes[attrExchanges].(float64)
	id, err := uuid.Parse(fmt.Sprint(s.Attributes[attrUpto]))
	if !ok || err != nil {
		return p
	}
	p.Exchanges, p.Upto = int(f), id
	p.Turn, _ = s.Attributes[attrUptoTurn].(string)
	return p
}

// progressPage is how many messages are read at a time to count exchanges: about as many as a summary is behind. Of a
// bulk, many more come after the exchange.
const progressPage = 32

// advance counts the exchanges in the log up to a message. Since it counts the log, a fork
// continues from its base, and a retried job gets the same number.
func (p *progress) advance(ctx context.Context, d memory.Desk, until uuid.UUID) error {
	seen := map[string]bool{p.Turn: p.Turn != ""}
	q := memory.NoteQuery{Kinds: []memory.Kind{memory.KindMessage, memory.KindNote}, After: p.Upto, Limit: progressPage}
	for n, err := range policy.EachNote(ctx, d, q) {
		if err != nil {
			return fmt.Errorf("count exchanges: %w", err)
		}
		if !notAfter(n.ID, until) {
			break
		}
		turn, _ := n.Attributes[memory.AttrTurn].(string)
		turn = cmp.Or(turn, n.ID.String())
		if !seen[turn] {
			seen[turn] = true
			p.Exchanges++
		}
		p.Upto, p.Turn = n.ID, turn
	}
	return nil
}

// summaryTask returns the task that writes the summary, at every K-th exchange.
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
		return nil, nil // the exchange was counted already
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

// summarizeMaterial is what the prompt of "summarize" shows: memories, or the old summary
// with changes.
type summarizeMaterial struct {
	MaxChars   int            `json:"max_chars"`
	Memories   []factMaterial `json:"memories,omitempty"`
	OldSummary string         `json:"old_summary,omitempty"`
	Changes    []string       `json:"changes,omitempty"`
}

// summaryRun is one run of TaskSummary.
type summaryRun struct {
	c        *Config
	current  memory.Note
	facts    []memory.Note // that have not expired, oldest first
	expired  bool          // there are expired facts
	revision memory.Revision
	progress progress
	out      Outcome
}

// summarize writes the summary of the facts: from all of them, or from the last summary
// and what changed since. When the answer cannot be used the old summary stays.
//
// The task's arguments are the progress up to the exchange that requested it. Without
// them the progress of the old summary is kept. With the key keyRefresh the summary is
// written only if it is stale.
func (p *Policy) summarize(ctx context.Context, d memory.Desk, c *Config, t memory.Task) (dec memory.Decision, err error) {
	s := summaryRun{c: c, out: Outcome{Policy: p.Name(), Decision: decisionSummary, Summary: &SummaryOutcome{Mode: c.SummaryMode}}}
	if len(t.Args) > 0 {
		if err := json.Unmarshal(t.Args, &s.progress); err != nil {
			return dec, fault.InvalidField("args", `must be {"exchanges": n, "upto": id, "turn": text}`)
		}
	}
	if err := s.load(ctx, d); err != nil {
		return dec, err
	}
	defer func() {
		if s.expired && err == nil { // a fork has no task for facts that it got from its base
			dec.Follow = []memory.Follow{{Task: memory.Task{Name: TaskExpire}}}
		}
	}()
	done := s.out.Summary
	if t.Key == keyRefresh && !s.current.Provenance.Stale {
		done.Kept = "it is not stale"
		return memory.Decision{Outcome: policy.Encode(&s.out)}, nil
	}
	done.Memories, done.Exchanges = len(s.facts), s.progress.Exchanges
	if len(s.facts) == 0 {
		return s.write(d, nothingKnown, ""), nil
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
	case c.SummaryMode == summaryFull || !s.canContinue():
		done.Mode, done.Changes = summaryFull, 0
		for i := range s.facts {
			n := &s.facts[i]
			in.Memories = append(in.Memories, n.Content)
			m.Memories = append(m.Memories, factMaterial{Date: memory.Day(n.OccurredAt), Text: n.Content})
		}
	case len(changes) == 0:
		return s.write(d, s.current.Content, s.current.Analyst), nil
	default:
		in.Old, in.Changes, count = s.current.Content, changes, len(changes)
		m.OldSummary, m.Changes = s.current.Content, changes
	}
	answer, a, err := askFor[Summary](ctx, c, d, question{
		name: "summarize", prompt: &p.prompts.summarize, material: m, count: count, input: in, check: policy.CheckContent(hasSummary),
	})
	switch {
	case errors.Is(err, memory.ErrBadAnswer):
		return s.keepOld("the answer could not be used"), nil
	case err != nil:
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

// load reads the summary, the facts that have not expired, and the progress.
func (s *summaryRun) load(ctx context.Context, d memory.Desk) error {
	var err error
	if s.current, _, err = d.ByKey(ctx, memory.KindSummary, KeySummary); err != nil {
		return fmt.Errorf("read the summary: %w", err)
	}
	facts, err := d.All(ctx, memory.KindFact, memory.ReadOptions{})
	if err != nil {
		return fmt.Errorf("read the facts: %w", err)
	}
	now := d.Now()
	facts = slices.DeleteFunc(facts, func(n *memory.Note) bool {
		s.revision = max(s.revision, n.From)
		expired := hasExpired(n, now)
		s.expired = s.expired || expired
		return expired
	})
	slices.SortStableFunc(facts, func(a, b *memory.Note) int { return a.OccurredAt.Compare(b.OccurredAt) })
	for _, n := range facts[max(0, len(facts)-s.c.SummaryFacts):] {
		fact := *n
		fact.Content = text.Shorten(n.Content, 2*s.c.FactChars) // a caller's note may be longer
		s.facts = append(s.facts, fact)
	}
	if old := progressOf(&s.current); old.Exchanges > s.progress.Exchanges || s.progress.Upto == uuid.Nil {
		s.progress = old
	}
	return nil
}

// canContinue reports whether a new summary can be written from the old one.
func (s *summaryRun) canContinue() bool {
	_, ok := s.current.Attributes[attrRevision].(float64)
	return ok && s.current.Content != nothingKnown && !s.current.Provenance.Stale
}

// changes returns what changed since the old summary: "+" with facts that are newer, and
// "-" with the old text of facts that it covers and that were deleted or changed.
func (s *summaryRun) changes(ctx context.Context, d memory.Desk) ([]string, error) {
	if s.c.SummaryMode != summaryIncremental || !s.canContinue() {
		return nil, nil
	}
	f, _ := s.current.Attributes[attrRevision].(float64)
	at := memory.Revision(f)
	unchanged := map[uuid.UUID]bool{}
	var added, removed []string
	for i := range s.facts {
		n := &s.facts[i]
		if n.From <= at {
			unchanged[n.ID] = true
		} else {
			added = append(added, "+ "+n.Content)
		}
	}
	var lost []uuid.UUID
	for _, id := range s.current.Provenance.Sources {
		if !unchanged[id] {
			lost = append(lost, id)
		}
	}
	past, err := d.Past(ctx, lost, at)
	if err != nil {
		return nil, fmt.Errorf("read earlier facts: %w", err)
	}
	for i := range past {
		removed = append(removed, "- "+text.Shorten(past[i].Content, 2*s.c.FactChars))
	}
	return append(removed, added...), nil
}

// isSupported reports whether at least half of the words of a summary are in its material.
func (s *summaryRun) isSupported(content string, in SummarizeInput) bool {
	w := termsOf(content)
	known := termsOf(strings.Join(in.Memories, "\n") + "\n" + strings.Join(in.Changes, "\n") + "\n" + in.Old)
	return content != "" && (inOtherLanguage(&w, &known) || 2*known.countShared(w.terms) >= len(w.terms))
}

// keepOld keeps the text of the summary and updates its progress, so that the exchanges are
// not counted again.
func (s *summaryRun) keepOld(why string) memory.Decision {
	s.out.Summary.Kept = why
	dec := memory.Decision{Cause: memory.CauseSummarize, Outcome: policy.Encode(&s.out)}
	if s.current.ID != uuid.Nil {
		n := s.current
		n.Attributes = map[string]any{}
		maps.Copy(n.Attributes, s.current.Attributes)
		s.setProgress(&n)
		dec.Puts = []memory.Note{n}
	}
	return dec
}

// setProgress stores the progress in a summary.
func (s *summaryRun) setProgress(n *memory.Note) {
	if s.progress.Upto != uuid.Nil {
		n.Attributes[attrExchanges], n.Attributes[attrUpto], n.Attributes[attrUptoTurn] = float64(s.progress.Exchanges), s.progress.Upto.String(), s.progress.Turn
	}
}

// write returns the decision that writes the summary, with what it covers.
func (s *summaryRun) write(d memory.Desk, content string, by memory.Analyst) memory.Decision {
	n := policy.DerivedNote(d, s.current, memory.KindSummary, KeySummary, content, by, memory.IDs(s.facts))
	n.Context = memory.DefaultContext
	n.OccurredAt = d.Now()
	if len(s.facts) > 0 {
		n.OccurredAt = s.facts[len(s.facts)-1].OccurredAt
	}
	n.Attributes[attrRevision] = float64(s.revision)
	s.setProgress(&n)
	return memory.Decision{Puts: []memory.Note{n}, Cause: memory.CauseSummarize, Outcome: policy.Encode(&s.out)}
}

// languageOf returns the language of prompts for facts: Chinese or else English.
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
