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

// maxParallel is how many decisions of one exchange are asked for at the same time.
const maxParallel = 4

// leastCosine leaves no memory out of a comparison: the nearest are shown, however far they are.
const leastCosine = -1

// learn extracts facts from an exchange and decides about each. Without messages that may
// be learned from, no model is asked. When an answer cannot be used, nothing is written
// and the whole exchange is pending.
func (p *Policy) learn(ctx context.Context, d memory.Desk, c *Config, messages []memory.Note, g *memory.Guidance) (memory.Decision, error) {
	out := Outcome{Policy: p.Name(), Decision: decisionNothing}
	dec := memory.Decision{Cause: memory.CauseExtract}
	x := newExchange(c, messages)
	x.guidance = g
	if c.MemoryType == memoryProcedural {
		dec.Follow = recordTasks(&x)
		out.addFollows(dec.Follow...)
		dec.Outcome = policy.Encode(&out)
		return dec, nil
	}
	l := ledger{c: c, exchange: &x, now: d.Now(), out: &out, after: map[uuid.UUID]memory.Note{}, before: map[uuid.UUID]memory.Note{}}
	if len(x.messages) > 0 {
		err := p.decideFacts(ctx, d, &l)
		if errors.Is(err, memory.ErrBadAnswer) {
			out = Outcome{Policy: p.Name(), Decision: decisionUnlearned, Extract: out.Extract, Decide: out.Decide}
			return memory.Decision{Cause: memory.CauseMark, Pending: err.Error(), Outcome: policy.Encode(&out)}, nil
		}
		if err != nil {
			return memory.Decision{}, err
		}
		added, removed := l.writeTo(&dec)
		if c.Graph && len(added)+len(removed) > 0 {
			if err := p.graph.update(ctx, d, c, factChange{added: added, removed: removed, deletedBy: l.deletedBy}, &dec, &out); err != nil {
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
	dec.Outcome = policy.Encode(&out)
	return dec, nil
}

// decideFacts asks for the facts and for a decision about each. The decisions are asked
// for in parallel, from the memories as they are before the exchange. They are applied in
// the order of the facts. If an earlier fact changed the target of a decision, that
// decision is asked for again, from the memories as they are then.
func (p *Policy) decideFacts(ctx context.Context, d memory.Desk, l *ledger) error {
	facts, err := p.extractFacts(ctx, d, l.c, l.exchange, l.out)
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
		if l.targetChanged(f) || l.becameRelated(f) {
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

// findSimilar finds what each fact is compared with: the memory with the same text, else
// the most similar memories.
func (l *ledger) findSimilar(ctx context.Context, d memory.Desk, facts []candidate) error {
	texts := make([]string, len(facts))
	for i := range facts {
		texts[i] = memory.EmbedText(&facts[i].note)
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
			f.decision = FactDecision{Operation: OpNoop, Target: new(0)}
			continue
		}
		if l.c.Mode == modeAddOnly {
			f.settled, f.decision = true, FactDecision{Operation: OpAdd}
			continue
		}
		// Some of what is found may have expired.
		queries = append(queries, memory.SimilarQuery{Text: texts[i], Kinds: []memory.Kind{memory.KindFact}, Filter: l.exchange.similarFilter(l.c), K: l.c.Similar + 5, MinScore: leastCosine})
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
		l.compare(f, found[i])
		if f.common = commonTerms(f.similar); d.Analyst() == memory.AnalystModel {
			l.leaveUnrelated(f)
		}
		if len(f.similar) == 0 {
			f.settled, f.reason = true, "nothing is similar"
			f.decision = FactDecision{Operation: OpAdd}
		}
	}
	return nil
}

// compare sets what a fact is compared with: the most similar of the memories that were found. It notes those that have expired.
func (l *ledger) compare(f *candidate, found []memory.Neighbor) {
	for _, nb := range found {
		switch {
		case hasExpired(&nb.Note, l.now):
			if !slices.ContainsFunc(l.expired, func(n memory.Note) bool { return n.ID == nb.Note.ID }) {
				l.expired = append(l.expired, nb.Note)
			}
		case len(f.similar) < l.c.Similar:
			f.similar = append(f.similar, nb)
		}
	}
}

// noteByText returns the memory with the text of a fact, found by its key. If a caller
// gave another text to the memory with that key, the fact gets another key. A memory that
// has expired is returned with ok false, so that the fact replaces it.
func (l *ledger) noteByText(ctx context.Context, d memory.Desk, n *memory.Note) (known memory.Note, ok bool, err error) {
	known, ok, err = d.ByKey(ctx, memory.KindFact, n.Key)
	for err == nil && ok && known.Content != n.Content && len(n.Key) < memory.MaxKeyBytes {
		n.Key += "+"
		known, ok, err = d.ByKey(ctx, memory.KindFact, n.Key)
	}
	if err != nil {
		return known, false, fmt.Errorf("find a memory by its text: %w", err)
	}
	if ok && hasExpired(&known, l.now) {
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
	// A call that was canceled because of another failure is not the reason.
	for _, err := range errs {
		if err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
	}
	return errors.Join(errs...)
}

// decideAgain asks again for the decision about one fact.
func (p *Policy) decideAgain(ctx context.Context, d memory.Desk, l *ledger, f *candidate) error {
	if len(f.similar) == 0 {
		f.decision, f.reason = FactDecision{Operation: OpAdd}, "nothing is similar"
		return nil
	}
	f.settled = false
	err := p.askDecision(ctx, d, l.c, f)
	l.countDecision(p, f)
	return err
}

// countDecision adds a fact's answer to the second phase of the outcome.
func (l *ledger) countDecision(p *Policy, f *candidate) {
	if l.out.Decide == nil {
		l.out.Decide = &Phase{}
	}
	if f.settled {
		return
	}
	l.out.Decide.addCall(p.prompts.decide.Version, &f.answer)
	l.out.Decide.Facts++
}

// similarMaterial is a memory as the prompt of "decide" shows it.
type similarMaterial struct {
	Handle int     `json:"handle"`
	Text   string  `json:"text"`
	Time   string  `json:"time"`
	Score  float64 `json:"score"` // cosine, in two digits
}

type decideMaterial struct {
	Fact    string            `json:"fact"`
	Time    string            `json:"time"`
	Similar []similarMaterial `json:"similar"`
}

// askDecision asks for the decision about one fact.
func (p *Policy) askDecision(ctx context.Context, d memory.Desk, c *Config, f *candidate) error {
	in := DecideInput{Fact: f.text, Time: f.note.OccurredAt}
	m := decideMaterial{Fact: f.text, Time: policy.FormatDay(f.note.OccurredAt), Similar: []similarMaterial{}}
	for i := range f.similar {
		nb := &f.similar[i]
		content := text.Shorten(nb.Note.Content, 2*c.FactChars) // a caller's note may be longer
		in.Similar = append(in.Similar, memory.Described{Handle: i, Content: content, Time: nb.Note.OccurredAt, Score: nb.Score})
		m.Similar = append(m.Similar, similarMaterial{Handle: i, Text: content, Time: policy.FormatDay(nb.Note.OccurredAt), Score: float64(int(nb.Score*100)) / 100})
	}
	var err error
	f.decision, f.answer, err = askFor[FactDecision](ctx, c, d, question{
		name: "decide", prompt: &p.prompts.decide, material: m, count: len(m.Similar), input: in, lenient: lenientDecision, check: checkDecision,
	})
	return err
}

// checkDecision refuses an answer without one of the operations.
func checkDecision(raw json.RawMessage) error {
	decision, err := policy.DecodeAnswer[FactDecision](raw, "decide")
	if err != nil {
		return err
	}
	switch decision.Operation {
	case OpAdd, OpUpdate, OpDelete, OpNoop:
		return nil
	case OpReplace: // told of a deletion, never asked for
	}
	return fmt.Errorf("%q is not an operation", decision.Operation)
}

// target returns the memory that a decision names, as it was read; ok is false when the
// handle is absent or unknown.
func (f *candidate) target() (nb memory.Neighbor, ok bool) {
	if f.decision.Target == nil || *f.decision.Target < 0 || *f.decision.Target >= len(f.similar) {
		return memory.Neighbor{}, false
	}
	return f.similar[*f.decision.Target], true
}

// targetChanged reports whether an earlier fact of the exchange changed or deleted the
// memory that this decision is about.
func (l *ledger) targetChanged(f *candidate) bool {
	t, ok := f.target()
	if !ok || f.decision.Operation == OpAdd {
		return false
	}
	_, touched := l.before[t.Note.ID]
	return touched
}

// refreshSimilar sets what a fact is compared with to the present state: memories as they
// are changed, without deleted ones, and the new facts that share words with it.
func (l *ledger) refreshSimilar(f *candidate) {
	var similar []memory.Neighbor
	w := termsOf(f.text)
	for i := range l.added {
		other := termsOf(l.added[i].Content)
		if shared := other.countShared(w.terms); shared > 0 {
			similar = append(similar, memory.Neighbor{Note: l.added[i], Score: float64(shared) / float64(max(len(w.terms), len(other.terms)))})
		}
	}
	for _, nb := range slices.Concat(f.similar, f.unrelated) {
		if n, ok := l.current(nb.Note); ok {
			similar = append(similar, memory.Neighbor{Note: n, Score: nb.Score})
		}
	}
	f.similar = similar[:min(len(similar), l.c.Similar)]
	f.reason = ""
}

// current returns a memory as it is after the decisions so far; ok is false when they
// deleted it.
func (l *ledger) current(n memory.Note) (now memory.Note, ok bool) {
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
