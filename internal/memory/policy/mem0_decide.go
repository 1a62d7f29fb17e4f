package policy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/text"
)

// atOnce is how many decisions of one exchange are asked for at the same time.
const atOnce = 4

// learn takes facts from an exchange and decides what becomes of each.
// Nothing to learn from is no call. An answer that cannot be used leaves the
// whole exchange pending, with nothing written.
func (p *Mem0) learn(ctx context.Context, d memory.Desk, c *Mem0Config, messages []memory.Note) (memory.Decision, error) {
	out := Mem0Outcome{Policy: p.Name(), Decision: DecisionNothing}
	dec := memory.Decision{Cause: memory.CauseExtract}
	x := exchangeOf(c, messages)
	if c.MemoryType == MemoryProcedural {
		dec.Follow = procedureOf(&x)
		out.follow(dec.Follow...)
		dec.Outcome = out.encode()
		return dec, nil
	}
	l := ledger{c: c, x: &x, now: d.Now(), out: &out, changed: map[uuid.UUID]memory.Note{}, was: map[uuid.UUID]memory.Note{}}
	if len(x.said) > 0 {
		err := p.decided(ctx, d, &l)
		if errors.Is(err, memory.ErrBadAnswer) {
			out = Mem0Outcome{Policy: p.Name(), Decision: DecisionUnlearned, Extract: out.Extract, Decide: out.Decide}
			return memory.Decision{Cause: memory.CauseMark, Pending: err.Error(), Outcome: out.encode()}, nil
		}
		if err != nil {
			return memory.Decision{}, err
		}
		added, removed := l.write(&dec)
		if c.Graph && len(added)+len(removed) > 0 {
			if err := p.graph.ingest(ctx, d, c, added, removed, &dec, &out); err != nil {
				return memory.Decision{}, err
			}
		}
		dec.Follow = append(dec.Follow, expiries(added...)...)
	}
	due, err := summaryDue(ctx, d, c, &x)
	if err != nil {
		return memory.Decision{}, err
	}
	dec.Follow = append(dec.Follow, due...)
	out.follow(dec.Follow...)
	dec.Outcome = out.encode()
	return dec, nil
}

// decided asks what the facts are and what becomes of each. The first
// decisions are made side by side over the memory as it stands; they are
// applied in the order of the facts, and one whose target an earlier one has
// changed is made again over what is there then.
func (p *Mem0) decided(ctx context.Context, d memory.Desk, l *ledger) error {
	facts, err := p.extracted(ctx, d, l.c, l.x, l.out)
	if err != nil || len(facts) == 0 {
		return err
	}
	if err := l.look(ctx, d, facts); err != nil {
		return err
	}
	if err := p.askAll(ctx, d, l, facts); err != nil {
		return err
	}
	for i := range facts {
		f := &facts[i]
		o := FactOutcome{Fact: f.text, Similar: len(f.similar)}
		if l.outdated(f) {
			o.Again = true
			l.again(f)
			if err := p.ask(ctx, d, l, f); err != nil {
				return err
			}
			o.Similar = len(f.similar)
		}
		if err := l.apply(ctx, d, f, &o); err != nil {
			return err
		}
		l.out.Facts = append(l.out.Facts, o)
	}
	return nil
}

// ledger is the memory as the decisions of one exchange leave it.
type ledger struct {
	c       *Mem0Config
	x       *exchange
	now     time.Time
	out     *Mem0Outcome
	vectors [][]float32               // of the candidates, by place; nil: not compared
	place   map[uuid.UUID]int         // of the candidate that a new fact comes from
	was     map[uuid.UUID]memory.Note // memories that were touched, as they were read
	changed map[uuid.UUID]memory.Note // as they are to be
	gone    []uuid.UUID               // deleted, in order
	order   []uuid.UUID               // changed ones, in order
	added   []memory.Note             // new ones, in order
	expired []memory.Note // found to be over
	deletes int
}

// look finds what each fact is compared with: the very text, else the memories
// most like it.
func (l *ledger) look(ctx context.Context, d memory.Desk, facts []candidate) error {
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
		known, ok, err := l.byText(ctx, d, &f.note)
		if err != nil {
			return err
		}
		if ok {
			f.settled, f.reason = true, "the same text is known"
			f.similar = []memory.Neighbour{{Note: known, Score: 1}}
			f.dec = memory.FactDecision{Operation: memory.OpNoop, Target: new(0)}
			continue
		}
		if l.c.Mode == ModeAddOnly {
			f.settled, f.dec = true, memory.FactDecision{Operation: memory.OpAdd}
			continue
		}
		// Some of what is found may have expired.
		queries = append(queries, memory.SimilarQuery{Text: f.text, Kinds: []memory.Kind{memory.KindFact}, Filter: l.x.alike(l.c), K: l.c.Similar + 5})
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
			f.dec = memory.FactDecision{Operation: memory.OpAdd}
		}
	}
	return nil
}

// byText finds the memory with the text of a fact, by its key.
func (l *ledger) byText(ctx context.Context, d memory.Desk, n *memory.Note) (memory.Note, bool, error) {
	known, ok, err := d.ByKey(ctx, memory.KindFact, n.Key)
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
func (p *Mem0) askAll(ctx context.Context, d memory.Desk, l *ledger, facts []candidate) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	errs := make([]error, len(facts))
	free := make(chan struct{}, atOnce)
	var wait sync.WaitGroup
	for i := range facts {
		if facts[i].settled {
			continue
		}
		free <- struct{}{}
		wait.Go(func() {
			defer func() { <-free }()
			if errs[i] = p.answer(ctx, d, l.c, &facts[i]); errs[i] != nil {
				cancel()
			}
		})
	}
	wait.Wait()
	for i := range facts {
		l.tell(p, &facts[i])
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
func (p *Mem0) ask(ctx context.Context, d memory.Desk, l *ledger, f *candidate) error {
	if len(f.similar) == 0 {
		f.dec, f.reason = memory.FactDecision{Operation: memory.OpAdd}, "nothing is similar"
		return nil
	}
	f.settled = false
	err := p.answer(ctx, d, l.c, f)
	l.tell(p, f)
	return err
}

// tell adds an answer to the outcome's second phase.
func (l *ledger) tell(p *Mem0, f *candidate) {
	if l.out.Decide == nil {
		l.out.Decide = &Phase{}
	}
	if f.settled {
		return
	}
	l.out.Decide.answered(p.decide.version, &f.by)
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
func (p *Mem0) answer(ctx context.Context, d memory.Desk, c *Mem0Config, f *candidate) error {
	in := memory.DecideInput{Fact: f.text, Time: f.note.OccurredAt}
	m := decideMaterial{Fact: f.text, Time: weekday(f.note.OccurredAt), Similar: []similarMaterial{}}
	for i := range f.similar {
		nb := &f.similar[i]
		in.Similar = append(in.Similar, memory.Described{Handle: i, Content: nb.Note.Content, Time: nb.Note.OccurredAt, Score: nb.Score})
		m.Similar = append(m.Similar, similarMaterial{
			Handle: i, Text: text.Shorten(nb.Note.Content, 2*c.FactChars), Time: weekday(nb.Note.OccurredAt), Score: float64(int(nb.Score*1000)) / 1000,
		})
	}
	a, err := c.put(ctx, d, "decide", &p.decide, m, len(m.Similar), in, lenientDecision, fits[memory.FactDecision])
	f.by = a
	if err != nil {
		return err
	}
	f.dec, err = read[memory.FactDecision](a.JSON, "decide")
	return err
}

// target is the memory that a decision names, as it was read.
func (f *candidate) target() (memory.Neighbour, bool) {
	if f.dec.Target == nil || *f.dec.Target < 0 || *f.dec.Target >= len(f.similar) {
		return memory.Neighbour{}, false
	}
	return f.similar[*f.dec.Target], true
}

// outdated tells that an earlier fact of the exchange changed or deleted what
// this one was decided about.
func (l *ledger) outdated(f *candidate) bool {
	t, ok := f.target()
	if !ok || f.dec.Operation == memory.OpAdd {
		return false
	}
	_, touched := l.was[t.Note.ID]
	return touched
}

// again lays out for a fact what is there now: memories as they were changed,
// without those that were deleted, and the new facts that share words with it.
func (l *ledger) again(f *candidate) {
	var similar []memory.Neighbour
	w := wordingOf(f.text)
	for i := range l.added {
		other := wordingOf(l.added[i].Content)
		if shared := other.has(w.terms); shared > 0 {
			similar = append(similar, memory.Neighbour{Note: l.added[i], Score: float64(shared) / float64(max(len(w.terms), len(other.terms)))})
		}
	}
	for _, nb := range f.similar {
		if n, ok := l.stands(nb.Note); ok {
			similar = append(similar, memory.Neighbour{Note: n, Score: nb.Score})
		}
	}
	f.similar = similar[:min(len(similar), l.c.Similar)]
	f.reason = ""
}

// stands gives a memory as the decisions so far leave it.
func (l *ledger) stands(n memory.Note) (memory.Note, bool) {
	if slices.Contains(l.gone, n.ID) {
		return n, false
	}
	for i := range l.added {
		if l.added[i].ID == n.ID {
			return l.added[i], true
		}
	}
	if now, ok := l.changed[n.ID]; ok {
		return now, true
	}
	return n, true
}

// apply does what was decided about a fact.
func (l *ledger) apply(ctx context.Context, d memory.Desk, f *candidate, o *FactOutcome) error {
	o.Operation, o.Reason = f.dec.Operation, f.reason
	t, ok := f.target()
	if ok && f.dec.Operation != memory.OpAdd {
		o.Target = new(t.Note.ID)
	}
	switch f.dec.Operation {
	case memory.OpNoop:
		return l.keep(o, ok, t.Note.ID)
	case memory.OpAdd:
		return l.add(ctx, d, f, l.wording(f, nil), o)
	case memory.OpUpdate, memory.OpDelete:
	}
	if !ok {
		l.out.Dropped.Targets++
		o.Operation, o.Reason = memory.OpNoop, "names no memory that was shown"
		return nil
	}
	now, alive := l.stands(t.Note)
	switch {
	case !alive: // a decision that was made again still sees only what stands
		return l.add(ctx, d, f, f.text, o)
	case now.OccurredAt.After(f.note.OccurredAt):
		l.out.Dropped.Older++
		o.Operation, o.Reason = memory.OpNoop, "said before what is known"
		return nil
	case f.dec.Operation == memory.OpUpdate:
		return l.update(ctx, d, f, now, o)
	}
	return l.remove(ctx, d, f, now, o)
}

// keep changes nothing. A memory that an earlier fact of the exchange called
// off and this one states again stays.
func (l *ledger) keep(o *FactOutcome, known bool, id uuid.UUID) error {
	if known {
		o.Note = &id
		l.revive(id)
	}
	return nil
}

func (l *ledger) revive(id uuid.UUID) {
	if i := slices.Index(l.gone, id); i >= 0 {
		l.gone = slices.Delete(l.gone, i, i+1)
		l.deletes--
	}
}

// add puts a new fact, unless one of this exchange or a memory has its text,
// or one of this exchange says the same.
func (l *ledger) add(ctx context.Context, d memory.Desk, f *candidate, content string, o *FactOutcome) error {
	n := f.note
	n.Content = content
	n.Key = factKey(l.c, &n)
	if content != f.text {
		n.Analyst = f.by.Analyst
	}
	for i := range l.added {
		other := &l.added[i]
		if other.Key == n.Key || sameSaid(content, other.Content, l.nearness(f, other.ID), l.c.MergeSimilarity) {
			other.Provenance.Sources = union(other.Provenance.Sources, n.Provenance.Sources)
			o.Operation, o.Note, o.Reason = memory.OpNoop, &other.ID, "another fact of the exchange says it"
			return nil
		}
	}
	known, ok, err := l.byText(ctx, d, &n)
	if err != nil {
		return err
	}
	if ok {
		if now, alive := l.stands(known); !alive || now.Key == n.Key {
			o.Operation, o.Reason = memory.OpNoop, "the same text is known"
			return l.keep(o, true, known.ID)
		}
	} else if known.ID != uuid.Nil { // expired
		n.ID, n.CreatedAt = known.ID, known.CreatedAt
		l.touch(known)
		l.change(n)
		o.Note, o.Reason = &n.ID, "known before, and expired"
		return nil
	}
	n.ID = d.NewID()
	l.added = append(l.added, n)
	if l.place == nil {
		l.place = map[uuid.UUID]int{}
	}
	l.place[n.ID] = len(l.out.Facts)
	o.Note = &n.ID
	return nil
}

// nearness is the cosine of a fact and one that was added before it.
func (l *ledger) nearness(_ *candidate, other uuid.UUID) float64 {
	j, ok := l.place[other]
	if i := len(l.out.Facts); ok && i < len(l.vectors) && j < len(l.vectors) {
		return cosine(l.vectors[i], l.vectors[j])
	}
	return 0
}

// update merges a fact into a memory, which keeps its id and its attributes.
func (l *ledger) update(ctx context.Context, d memory.Desk, f *candidate, now memory.Note, o *FactOutcome) error {
	n := now
	n.Content = l.wording(f, &now)
	if n.Content == now.Content {
		o.Operation, o.Reason, o.Note = memory.OpNoop, "the memory says it already", &now.ID
		return nil
	}
	n.Key = factKey(l.c, &n)
	known, ok, err := l.byText(ctx, d, &n)
	if err != nil {
		return err
	}
	if ok && known.ID != now.ID {
		if stands, alive := l.stands(known); !alive || stands.Key == n.Key {
			// Another memory reads like that already: this one has nothing of its own left.
			l.revive(known.ID)
			o.Reason = "another memory says it"
			if !l.drop(now, o) {
				return nil
			}
			o.Operation, o.Note = memory.OpDelete, &known.ID
			return nil
		}
	}
	n.OccurredAt = f.note.OccurredAt
	n.Analyst, n.State, n.Error = f.by.Analyst, memory.StateEvolved, ""
	n.Provenance.Sources = union(now.Provenance.Sources, f.note.Provenance.Sources)
	n.Provenance.Stale = false
	n.Attributes = laterExpiry(now.Attributes, f.note.Attributes)
	l.touch(now)
	l.change(n)
	o.Note = &n.ID
	return nil
}

// remove deletes a memory that is no longer true, and adds what is true instead.
func (l *ledger) remove(ctx context.Context, d memory.Desk, f *candidate, now memory.Note, o *FactOutcome) error {
	content, remains := l.remains(f, &now)
	if !l.drop(now, o) {
		return nil
	}
	if !remains {
		o.Reason = "called off"
		return nil
	}
	added := FactOutcome{}
	err := l.add(ctx, d, f, content, &added)
	o.Note = added.Note
	return err
}

// drop deletes a memory within the limit.
func (l *ledger) drop(n memory.Note, o *FactOutcome) bool {
	if l.deletes >= l.c.MaxDeletes {
		l.out.Dropped.Deletes++
		o.Operation, o.Reason = memory.OpNoop, fmt.Sprintf("one exchange deletes at most %d memories", l.c.MaxDeletes)
		return false
	}
	if i := slices.IndexFunc(l.added, func(a memory.Note) bool { return a.ID == n.ID }); i >= 0 {
		l.added = slices.Delete(l.added, i, i+1)
		return true
	}
	l.deletes++
	l.touch(n)
	l.gone = append(l.gone, n.ID)
	return true
}

// touch keeps a memory as it was read, the first time that it is touched.
func (l *ledger) touch(n memory.Note) {
	if _, ok := l.was[n.ID]; !ok {
		l.was[n.ID] = n
	}
}

// change puts a memory, new ones in their place.
func (l *ledger) change(n memory.Note) {
	for i := range l.added {
		if l.added[i].ID == n.ID {
			l.added[i] = n
			return
		}
	}
	if _, ok := l.changed[n.ID]; !ok {
		l.order = append(l.order, n.ID)
	}
	l.changed[n.ID] = n
}

// write puts what the ledger holds into a decision, and tells what is new or
// changed, as it is, and what is gone, as it was.
func (l *ledger) write(dec *memory.Decision) (added, removed []memory.Note) {
	for _, id := range l.order {
		if !slices.Contains(l.gone, id) {
			added = append(added, l.changed[id])
		}
	}
	added = append(added, l.added...) // after those whose text may have been theirs
	for _, id := range l.gone {
		removed = append(removed, l.was[id])
	}
	for i := range l.expired {
		n := &l.expired[i]
		if _, back := l.changed[n.ID]; !back {
			l.out.Expired = append(l.out.Expired, n.ID)
			dec.Deletes = append(dec.Deletes, n.ID)
			removed = append(removed, *n)
		}
	}
	dec.Puts = append(dec.Puts, added...)
	dec.Deletes = append(dec.Deletes, l.gone...)
	if len(added)+len(removed) > 0 {
		dec.Evolved = true
		l.out.Decision = DecisionLearned
	} else if l.out.Extract != nil && len(l.out.Facts) > 0 {
		l.out.Decision = DecisionKeep
	}
	return added, removed
}

// wording is the text that a decision gives a memory: the answer's, when the
// fact or the target bear out most of its words, else the fact's own.
func (l *ledger) wording(f *candidate, target *memory.Note) string {
	if f.dec.Text == nil {
		return f.text
	}
	s := cleanLine(*f.dec.Text, l.c.FactChars)
	if s == "" || saysNothing(s) {
		return f.text
	}
	w, known := wordingOf(s), wordingOf(f.text)
	if target != nil {
		known.join(wordingOf(target.Content))
	}
	known.join(l.x.all)
	if !foreign(&w, &known) && (2*known.has(w.terms) < len(w.terms) || len(w.terms) == 0) {
		l.out.Dropped.Texts++
		return f.text
	}
	return s
}

// remains is what is true when a memory is deleted: the answer's text, or the
// fact itself unless it only calls something off.
func (l *ledger) remains(f *candidate, target *memory.Note) (string, bool) {
	if s := l.wording(f, target); s != f.text && text.Fold(s) != text.Fold(target.Content) {
		return s, true
	}
	if !callsOff(f.text) {
		return f.text, true
	}
	// A plan that is called off leaves nothing; what comes instead of it stays.
	rest, known := wordingOf(f.text), wordingOf(target.Content)
	known.join(offWords)
	for t := range rest.terms {
		if !known.terms[t] && !text.IsTimeWord(t) {
			return f.text, true
		}
	}
	return "", false
}

// offCues are the ways of saying that a plan or an appointment does not hold any more.
var offCues = []string{
	"cancel", "called off", "calls off", "call off", "calling off", "no longer plan", "not going to", "isn't going", "not plan", "dropped the plan",
	"won't be going", "will not go", "forget about", "取消", "不去了", "作罢", "abgesagt", "annulé", "cancelad",
}

var offWords = wordingOf("user assistant cancel cancelled canceled called calls calling off no longer plan plans planned planning going go trip dropped forget about not 取消 计划")

func callsOff(s string) bool {
	s = strings.ToLower(s)
	return slices.ContainsFunc(offCues, func(cue string) bool { return strings.Contains(s, cue) })
}

func union(a, b []uuid.UUID) []uuid.UUID {
	out := slices.Clone(a)
	for _, id := range b {
		if !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}

// hasExpired tells that the time of a fact is over.
func hasExpired(n *memory.Note, now time.Time) bool {
	at, ok := expiryOf(n)
	return ok && !at.After(now)
}

// expiryOf is when a fact ends; ok is false for one that does not.
func expiryOf(n *memory.Note) (at time.Time, ok bool) {
	s, isText := n.Attributes[memory.AttrExpires].(string)
	if !isText {
		return time.Time{}, false
	}
	at, err := filter.ParseTime(s)
	return at, err == nil
}

// laterExpiry gives the attributes of a memory after a fact was merged into
// it: its own, which ends when the later of the two does.
func laterExpiry(own, merged map[string]any) map[string]any {
	a, aOK := expiryOf(&memory.Note{Attributes: own})
	b, bOK := expiryOf(&memory.Note{Attributes: merged})
	if !aOK || !bOK || !b.After(a) {
		return own
	}
	out := make(map[string]any, len(own))
	for name, v := range own {
		out[name] = v
	}
	out[memory.AttrExpires] = merged[memory.AttrExpires]
	return out
}
