package mem0

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
)

// ledger is the memory as the decisions of one exchange leave it.
type ledger struct {
	c           *Config
	x           *exchange
	now         time.Time
	out         *Outcome
	vectors     [][]float32               // of the candidates, by place; nil: not compared
	candidateOf map[uuid.UUID]int         // of the candidate that a new fact comes from
	before      map[uuid.UUID]memory.Note // memories that were touched, as they were read
	after       map[uuid.UUID]memory.Note // as they are to be
	deleted     []uuid.UUID               // deleted, in order
	order       []uuid.UUID               // changed ones, in order
	added       []memory.Note             // new ones, in order
	expired     []memory.Note             // found to be over
	deletes     int
}

// apply does what was decided about a fact.
func (l *ledger) applyDecision(ctx context.Context, d memory.Desk, f *candidate, o *FactOutcome) error {
	o.Operation, o.Reason = f.dec.Operation, f.reason
	t, ok := f.target()
	if ok && f.dec.Operation != OpAdd {
		o.Target = new(t.Note.ID)
	}
	switch f.dec.Operation {
	case OpNoop:
		if !ok && f.dec.Target != nil {
			l.out.Dropped.Targets++
		}
		return l.keepMemory(o, ok, t.Note.ID)
	case OpAdd:
		return l.addFact(ctx, d, f, l.memoryText(f, nil), o)
	case OpUpdate, OpDelete:
	}
	if !ok {
		l.out.Dropped.Targets++
		o.Operation, o.Reason = OpNoop, "names no memory that was shown"
		return nil
	}
	now, alive := l.current(t.Note)
	switch {
	case !alive: // a decision that was made again still sees only what stands
		return l.addFact(ctx, d, f, f.text, o)
	case now.OccurredAt.After(l.x.latest):
		l.out.Dropped.Older++
		o.Operation, o.Reason = OpNoop, "said before what is known"
		return nil
	case f.dec.Operation == OpUpdate:
		return l.updateMemory(ctx, d, f, now, o)
	}
	return l.deleteMemory(ctx, d, f, now, o)
}

// keep changes nothing. A memory that an earlier fact of the exchange called
// off and this one states again stays.
func (l *ledger) keepMemory(o *FactOutcome, known bool, id uuid.UUID) error {
	if known {
		o.Note = &id
		l.undelete(id)
	}
	return nil
}

func (l *ledger) undelete(id uuid.UUID) {
	if i := slices.Index(l.deleted, id); i >= 0 {
		l.deleted = slices.Delete(l.deleted, i, i+1)
		l.deletes--
	}
}

// add puts a new fact, unless one of this exchange or a memory has its text,
// or one of this exchange says the same.
func (l *ledger) addFact(ctx context.Context, d memory.Desk, f *candidate, content string, o *FactOutcome) error {
	n := f.note
	n.Content = content
	n.Key = factKey(l.c, &n)
	if content != f.text {
		n.Analyst = f.by.Analyst
	}
	for i := range l.added {
		other := &l.added[i]
		if other.Key == n.Key || isSameStatement(content, other.Content, l.similarity(f, other.ID), l.c.MergeSimilarity) {
			other.Provenance.Sources = union(other.Provenance.Sources, n.Provenance.Sources)
			o.Operation, o.Note, o.Reason = OpNoop, &other.ID, "another fact of the exchange says it"
			return nil
		}
	}
	known, ok, err := l.noteByText(ctx, d, &n)
	if err != nil {
		return err
	}
	if ok {
		if now, alive := l.current(known); !alive || now.Key == n.Key {
			o.Operation, o.Reason = OpNoop, "the same text is known"
			return l.keepMemory(o, true, known.ID)
		}
	} else if known.ID != uuid.Nil { // expired
		n.ID, n.CreatedAt = known.ID, known.CreatedAt
		l.recordBefore(known)
		l.setAfter(n)
		o.Note, o.Reason = &n.ID, "known before, and expired"
		return nil
	}
	n.ID = d.NewID()
	l.added = append(l.added, n)
	if l.candidateOf == nil {
		l.candidateOf = map[uuid.UUID]int{}
	}
	l.candidateOf[n.ID] = len(l.out.Facts)
	o.Note = &n.ID
	return nil
}

// nearness is the cosine of a fact and one that was added before it.
func (l *ledger) similarity(_ *candidate, other uuid.UUID) float64 {
	j, ok := l.candidateOf[other]
	if i := len(l.out.Facts); ok && i < len(l.vectors) && j < len(l.vectors) {
		near, _ := memory.Cosine(l.vectors[i], l.vectors[j])
		return near
	}
	return 0
}

// update merges a fact into a memory, which keeps its id and its attributes.
func (l *ledger) updateMemory(ctx context.Context, d memory.Desk, f *candidate, now memory.Note, o *FactOutcome) error {
	n := now
	n.Content = l.memoryText(f, &now)
	if n.Content == now.Content {
		o.Operation, o.Reason, o.Note = OpNoop, "the memory says it already", &now.ID
		return nil
	}
	n.Key = factKey(l.c, &n)
	known, ok, err := l.noteByText(ctx, d, &n)
	if err != nil {
		return err
	}
	if ok && known.ID != now.ID {
		if stands, alive := l.current(known); !alive || stands.Key == n.Key {
			// Another memory reads like that already: this one has nothing of its own left.
			l.undelete(known.ID)
			o.Reason = "another memory says it"
			if !l.markDeleted(now, o) {
				return nil
			}
			o.Operation, o.Note = OpDelete, &known.ID
			return nil
		}
	}
	n.OccurredAt = f.note.OccurredAt
	n.Analyst, n.State, n.Error = f.by.Analyst, memory.StateEvolved, ""
	n.Provenance.Sources = union(now.Provenance.Sources, f.note.Provenance.Sources)
	n.Provenance.Stale = false
	n.Attributes = mergedExpiry(now.Attributes, f.note.Attributes)
	l.recordBefore(now)
	l.setAfter(n)
	o.Note = &n.ID
	return nil
}

// remove deletes a memory that is no longer true, and adds what is true instead.
func (l *ledger) deleteMemory(ctx context.Context, d memory.Desk, f *candidate, now memory.Note, o *FactOutcome) error {
	content, remains := l.remainingText(f, &now)
	if !l.markDeleted(now, o) {
		return nil
	}
	if !remains {
		o.Reason = "called off"
		return nil
	}
	added := FactOutcome{}
	err := l.addFact(ctx, d, f, content, &added)
	o.Note = added.Note
	return err
}

// drop deletes a memory within the limit.
func (l *ledger) markDeleted(n memory.Note, o *FactOutcome) bool {
	if l.deletes >= l.c.MaxDeletes {
		l.out.Dropped.Deletes++
		o.Operation, o.Reason = OpNoop, fmt.Sprintf("one exchange deletes at most %d memories", l.c.MaxDeletes)
		return false
	}
	if i := slices.IndexFunc(l.added, func(a memory.Note) bool { return a.ID == n.ID }); i >= 0 {
		l.added = slices.Delete(l.added, i, i+1)
		return true
	}
	l.deletes++
	l.recordBefore(n)
	l.deleted = append(l.deleted, n.ID)
	return true
}

// touch keeps a memory as it was read, the first time that it is touched.
func (l *ledger) recordBefore(n memory.Note) {
	if _, ok := l.before[n.ID]; !ok {
		l.before[n.ID] = n
	}
}

// change puts a memory, new ones in their place.
func (l *ledger) setAfter(n memory.Note) {
	for i := range l.added {
		if l.added[i].ID == n.ID {
			l.added[i] = n
			return
		}
	}
	if _, ok := l.after[n.ID]; !ok {
		l.order = append(l.order, n.ID)
	}
	l.after[n.ID] = n
}

// write puts what the ledger holds into a decision, and tells what is new or
// changed, as it is, and what is gone, as it was.
func (l *ledger) writeTo(dec *memory.Decision) (added, removed []memory.Note) {
	for _, id := range l.order {
		if !slices.Contains(l.deleted, id) {
			added = append(added, l.after[id])
		}
	}
	added = append(added, l.added...) // after those whose text may have been theirs
	for _, id := range l.deleted {
		removed = append(removed, l.before[id])
	}
	for i := range l.expired {
		n := &l.expired[i]
		if _, back := l.after[n.ID]; !back {
			l.out.Expired = append(l.out.Expired, n.ID)
			dec.Deletes = append(dec.Deletes, n.ID)
			removed = append(removed, *n)
		}
	}
	dec.Puts = append(dec.Puts, added...)
	dec.Deletes = append(dec.Deletes, l.deleted...)
	if len(added)+len(removed) > 0 {
		dec.Evolved = true
		l.out.Decision = DecisionLearned
	} else if l.out.Extract != nil && len(l.out.Facts) > 0 {
		l.out.Decision = policy.DecisionKeep
	}
	return added, removed
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
