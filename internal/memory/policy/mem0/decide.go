package mem0

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
	"github.com/slipboxhq/slipbox/internal/text"
)

// atOnce is how many decisions of one exchange are asked for at the same time.
const maxParallel = 4

// learn takes facts from an exchange and decides what becomes of each.
// Nothing to learn from is no call. An answer that cannot be used leaves the
// whole exchange pending, with nothing written.
func (p *Policy) learn(ctx context.Context, d memory.Desk, c *Config, messages []memory.Note) (memory.Decision, error) {
	out := Outcome{Policy: p.Name(), Decision: DecisionNothing}
	dec := memory.Decision{Cause: memory.CauseExtract}
	x := newExchange(c, messages)
	if c.MemoryType == MemoryProcedural {
		dec.Follow = recordTasks(&x)
		out.addFollows(dec.Follow...)
		dec.Outcome = out.encode()
		return dec, nil
	}
	l := ledger{c: c, x: &x, now: d.Now(), out: &out, after: map[uuid.UUID]memory.Note{}, before: map[uuid.UUID]memory.Note{}}
	if len(x.said) > 0 {
		err := p.decideFacts(ctx, d, &l)
		if errors.Is(err, memory.ErrBadAnswer) {
			out = Outcome{Policy: p.Name(), Decision: DecisionUnlearned, Extract: out.Extract, Decide: out.Decide}
			return memory.Decision{Cause: memory.CauseMark, Pending: err.Error(), Outcome: out.encode()}, nil
		}
		if err != nil {
			return memory.Decision{}, err
		}
		added, removed := l.writeTo(&dec)
		if c.Graph && len(added)+len(removed) > 0 {
			if err := p.graph.update(ctx, d, c, factChange{added: added, removed: removed}, &dec, &out); err != nil {
				return memory.Decision{}, err
			}
		}
		dec.Follow = append(dec.Follow, expiryTasks(l.now, added...)...)
	}
	due, err := summaryTask(ctx, d, c, &x)
	if err != nil {
		return memory.Decision{}, err
	}
	dec.Follow = append(dec.Follow, due...)
	out.addFollows(dec.Follow...)
	dec.Outcome = out.encode()
	return dec, nil
}

// decided asks what the facts are and what becomes of each. The first
// decisions are made side by side over the memory as it stands; they are
// applied in the order of the facts, and one whose target an earlier one has
// changed is made again over what is there then.
func (p *Policy) decideFacts(ctx context.Context, d memory.Desk, l *ledger) error {
	facts, err := p.extractFacts(ctx, d, l.c, l.x, l.out)
	if err != nil || len(facts) == 0 {
		return err
	}
	if err := l.findSimilar(ctx, d, facts); err != nil {
		return err
	}
	if err := p.askAll(ctx, d, l, facts); err != nil {
		return err
	}
	for i := range facts {
		f := &facts[i]
		o := FactOutcome{Fact: f.text, Similar: len(f.similar)}
		if l.targetChanged(f) {
			o.Again = true
			l.refreshSimilar(f)
			if err := p.decideAgain(ctx, d, l, f); err != nil {
				return err
			}
			o.Similar = len(f.similar)
		}
		if err := l.applyDecision(ctx, d, f, &o); err != nil {
			return err
		}
		l.out.Facts = append(l.out.Facts, o)
	}
	return nil
}

// look finds what each fact is compared with: the very text, else the memories
// most like it.
func (l *ledger) findSimilar(ctx context.Context, d memory.Desk, facts []candidate) error {
	texts := make([]string, len(facts))
	for i := range facts {
		texts[i] = facts[i].text
	}
	var err error
	if len(facts) > 1 {
		if l.vectors, err = d.Embed(ctx, texts); err != nil {
			return fmt.Errorf("compare facts: %w", err)
		}
	}
	var queries []memory.SimilarQuery
	var asked []*candidate
	for i := range facts {
		f := &facts[i]
		known, ok, err := l.noteByText(ctx, d, &f.note)
		if err != nil {
			return err
		}
		if ok {
			f.settled, f.reason = true, "the same text is known"
			f.similar = []memory.Neighbor{{Note: known, Score: 1}}
			f.dec = FactDecision{Operation: OpNoop, Target: new(0)}
			continue
		}
		if l.c.Mode == ModeAddOnly {
			f.settled, f.dec = true, FactDecision{Operation: OpAdd}
			continue
		}
		// Some of what is found may have expired.
		queries = append(queries, memory.SimilarQuery{Text: f.text, Kinds: []memory.Kind{memory.KindFact}, Filter: l.x.similarFilter(l.c), K: l.c.Similar + 5})
		asked = append(asked, f)
	}
	if len(queries) == 0 {
		return nil
	}
	found, err := d.Similar(ctx, queries)
	if err != nil {
		return fmt.Errorf("find similar memories: %w", err)
	}
	for i, f := range asked {
		for _, nb := range found[i] {
			switch {
			case hasExpired(&nb.Note, l.now):
				if !slices.ContainsFunc(l.expired, func(n memory.Note) bool { return n.ID == nb.Note.ID }) {
					l.expired = append(l.expired, nb.Note)
				}
			case len(f.similar) < l.c.Similar:
				f.similar = append(f.similar, nb)
			}
		}
		if len(f.similar) == 0 {
			f.settled, f.reason = true, "nothing is similar"
			f.dec = FactDecision{Operation: OpAdd}
		}
	}
	return nil
}

// byText finds the memory with the text of a fact, by its key. Where a caller
// has given the one that has the key another text, the fact gets another key.
func (l *ledger) noteByText(ctx context.Context, d memory.Desk, n *memory.Note) (memory.Note, bool, error) {
	known, ok, err := d.ByKey(ctx, memory.KindFact, n.Key)
	for err == nil && ok && known.Content != n.Content && len(n.Key) < memory.MaxKeyBytes {
		n.Key += "+"
		known, ok, err = d.ByKey(ctx, memory.KindFact, n.Key)
	}
	if err != nil {
		return known, false, fmt.Errorf("find a memory by its text: %w", err)
	}
	if ok && hasExpired(&known, l.now) {
		// Said again: it is taken up as it is said now.
		return known, false, nil
	}
	return known, ok, nil
}

// askAll asks for the decisions that are needed, a few at a time.
func (p *Policy) askAll(ctx context.Context, d memory.Desk, l *ledger, facts []candidate) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	errs := make([]error, len(facts))
	free := make(chan struct{}, maxParallel)
	var wait sync.WaitGroup
	for i := range facts {
		if facts[i].settled {
			continue
		}
		free <- struct{}{}
		wait.Go(func() {
			defer func() { <-free }()
			if errs[i] = p.askDecision(ctx, d, l.c, &facts[i]); errs[i] != nil {
				cancel()
			}
		})
	}
	wait.Wait()
	for i := range facts {
		l.countDecision(p, &facts[i])
	}
	// What the first failure cancelled is not the reason.
	for _, err := range errs {
		if err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
	}
	return errors.Join(errs...)
}

// ask decides again about one fact.
func (p *Policy) decideAgain(ctx context.Context, d memory.Desk, l *ledger, f *candidate) error {
	if len(f.similar) == 0 {
		f.dec, f.reason = FactDecision{Operation: OpAdd}, "nothing is similar"
		return nil
	}
	f.settled = false
	err := p.askDecision(ctx, d, l.c, f)
	l.countDecision(p, f)
	return err
}

// tell adds an answer to the outcome's second phase.
func (l *ledger) countDecision(p *Policy, f *candidate) {
	if l.out.Decide == nil {
		l.out.Decide = &Phase{}
	}
	if f.settled {
		return
	}
	l.out.Decide.addCall(p.prompts.decide.Version, &f.by)
	l.out.Decide.Facts++
}

type similarMaterial struct {
	Handle int     `json:"handle"`
	Text   string  `json:"text"`
	Time   string  `json:"time"`
	Score  float64 `json:"score"`
}

type decideMaterial struct {
	Fact    string            `json:"fact"`
	Time    string            `json:"time"`
	Similar []similarMaterial `json:"similar"`
}

// answer asks what becomes of one fact.
func (p *Policy) askDecision(ctx context.Context, d memory.Desk, c *Config, f *candidate) error {
	in := DecideInput{Fact: f.text, Time: f.note.OccurredAt}
	m := decideMaterial{Fact: f.text, Time: formatWithWeekday(f.note.OccurredAt), Similar: []similarMaterial{}}
	for i := range f.similar {
		nb := &f.similar[i]
		content := text.Shorten(nb.Note.Content, 2*c.FactChars) // callers write longer ones
		in.Similar = append(in.Similar, memory.Described{Handle: i, Content: content, Time: nb.Note.OccurredAt, Score: nb.Score})
		m.Similar = append(m.Similar, similarMaterial{
			Handle: i, Text: content, Time: formatWithWeekday(nb.Note.OccurredAt), Score: float64(int(nb.Score*1000)) / 1000,
		})
	}
	a, err := c.ask(ctx, d, question{
		name: "decide", prompt: &p.prompts.decide, material: m, count: len(m.Similar), input: in, lenient: lenientDecision, check: checkDecision,
	})
	f.by = a
	if err != nil {
		return err
	}
	f.dec, err = policy.DecodeAnswer[FactDecision](a.JSON, "decide")
	return err
}

// isDecision demands one of the operations.
func checkDecision(raw json.RawMessage) error {
	dec, err := policy.DecodeAnswer[FactDecision](raw, "decide")
	if err != nil {
		return err
	}
	switch dec.Operation {
	case OpAdd, OpUpdate, OpDelete, OpNoop:
		return nil
	}
	return fmt.Errorf("%q is no operation", dec.Operation)
}

// target is the memory that a decision names, as it was read.
func (f *candidate) target() (memory.Neighbor, bool) {
	if f.dec.Target == nil || *f.dec.Target < 0 || *f.dec.Target >= len(f.similar) {
		return memory.Neighbor{}, false
	}
	return f.similar[*f.dec.Target], true
}

// outdated tells that an earlier fact of the exchange changed or deleted what
// this one was decided about.
func (l *ledger) targetChanged(f *candidate) bool {
	t, ok := f.target()
	if !ok || f.dec.Operation == OpAdd {
		return false
	}
	_, touched := l.before[t.Note.ID]
	return touched
}

// again lays out for a fact what is there now: memories as they were changed,
// without those that were deleted, and the new facts that share words with it.
func (l *ledger) refreshSimilar(f *candidate) {
	var similar []memory.Neighbor
	w := termsOf(f.text)
	for i := range l.added {
		other := termsOf(l.added[i].Content)
		if shared := other.countShared(w.terms); shared > 0 {
			similar = append(similar, memory.Neighbor{Note: l.added[i], Score: float64(shared) / float64(max(len(w.terms), len(other.terms)))})
		}
	}
	for _, nb := range f.similar {
		if n, ok := l.current(nb.Note); ok {
			similar = append(similar, memory.Neighbor{Note: n, Score: nb.Score})
		}
	}
	f.similar = similar[:min(len(similar), l.c.Similar)]
	f.reason = ""
}

// stands gives a memory as the decisions so far leave it.
func (l *ledger) current(n memory.Note) (memory.Note, bool) {
	if slices.Contains(l.deleted, n.ID) {
		return n, false
	}
	for i := range l.added {
		if l.added[i].ID == n.ID {
			return l.added[i], true
		}
	}
	if now, ok := l.after[n.ID]; ok {
		return now, true
	}
	return n, true
}
