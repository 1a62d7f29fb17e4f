package mem0

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/policy"
)

// ledger collects what the decisions of one exchange change, so that each decision sees
// the changes of those before it.
type ledger struct {
	c           *Config
	exchange    *exchange
	now         time.Time
	out         *Outcome
	vectors     [][]float32               // of the candidates, by index; nil: not compared
	candidateOf map[uuid.UUID]int         // index of the candidate that a new fact comes from
	before      map[uuid.UUID]memory.Note // changed and deleted memories, as they were read
	after       map[uuid.UUID]memory.Note // changed memories, as they will be
	deleted     []uuid.UUID               // ids of deleted memories, in order
	afterOrder  []uuid.UUID               // ids of changed memories, in order
	added       []memory.Note             // new facts, in order
	expired     []memory.Note             // memories that were found and have expired
	replacedBy  map[uuid.UUID]memory.Note // what is true instead of a deleted memory
	deleteCount int
	deletedBy   map[uuid.UUID]string // the fact that contradicted a deleted memory
}

// applyDecision applies the decision about a fact.
func (l *ledger) applyDecision(ctx context.Context, d memory.Desk, f *candidate, o *FactOutcome) error {
	o.Operation, o.Reason = f.decision.Operation, f.reason
	t, ok := f.target()
	if ok && f.decision.Operation != OpAdd {
		o.Target = new(t.Note.ID)
	}
	if f.decision.Operation == OpAdd {
		return l.addFact(ctx, d, f, l.memoryText(f, nil), o)
	}
	if !ok {
		l.out.Dropped.Targets++
		o.Operation, o.Reason = OpAdd, "names no memory that was shown"
		return l.addFact(ctx, d, f, f.text, o)
	}
	if f.decision.Operation == OpNoop {
		l.keepMemory(o, t.Note.ID)
		return nil
	}
	now, alive := l.current(t.Note)
	switch {
	case !alive: // an earlier fact deleted it
		return l.addFact(ctx, d, f, f.text, o)
	case !l.isAbout(f, &memory.Neighbor{Note: now, Score: t.Score}):
		l.out.Dropped.Unrelated++
		o.Operation, o.Reason = OpAdd, "the memory is about something else"
		return l.addFact(ctx, d, f, f.text, o)
	case now.OccurredAt.After(l.exchange.latest):
		l.out.Dropped.Older++
		o.Operation, o.Reason = OpNoop, "older than the memory"
		l.listEarlier(f, now, o)
		return nil
	case f.decision.Operation == OpUpdate:
		return l.updateMemory(ctx, d, f, now, o)
	}
	return l.deleteMemory(ctx, d, f, now, o)
}

// maxEarlier bounds the older statements that a memory lists, in bytes. Messages have the others.
const maxEarlier = 8 << 10

// listEarlier adds a fact to the older statements that a memory lists. It changes nothing else.
func (l *ledger) listEarlier(f *candidate, now memory.Note, o *FactOutcome) {
	list, size := memory.EarlierOf(&now), 0
	if f.text == now.Content || slices.ContainsFunc(list, func(e memory.Earlier) bool { return e.Content == f.text }) {
		return
	}
	list = append(list, memory.Earlier{Content: f.text, OccurredAt: f.note.OccurredAt})
	slices.SortStableFunc(list, func(a, b memory.Earlier) int { return a.OccurredAt.Compare(b.OccurredAt) })
	entries := make([]any, len(list))
	for i, e := range list {
		size += len(e.Content)
		entries[i] = map[string]any{"content": e.Content, "occurred_at": e.OccurredAt.Format(time.RFC3339Nano)}
	}
	others, _ := now.Attributes[memory.AttrEarlier].([]any)
	if foreign := len(list) != len(others)+1 || others == nil && now.Attributes[memory.AttrEarlier] != nil; foreign || size > maxEarlier {
		return
	}
	n := now
	n.OwnAttributes()[memory.AttrEarlier] = entries
	n.Provenance.Sources = memory.AppendNew(slices.Clone(now.Provenance.Sources), f.note.Provenance.Sources...)
	l.recordBefore(now)
	l.setAfter(n)
	o.Note = &n.ID
}

// keepMemory changes nothing, but a memory that an earlier fact of the exchange deleted
// and this one states again is kept.
func (l *ledger) keepMemory(o *FactOutcome, id uuid.UUID) {
	o.Note = &id
	l.undelete(id)
}

// undelete takes a memory out of the deleted ones.
func (l *ledger) undelete(id uuid.UUID) {
	if i := slices.Index(l.deleted, id); i >= 0 {
		l.deleted = slices.Delete(l.deleted, i, i+1)
		l.deleteCount--
	}
}

// addFact adds a new fact, unless a memory has its text or another fact of the exchange
// says the same.
func (l *ledger) addFact(ctx context.Context, d memory.Desk, f *candidate, content string, o *FactOutcome) error {
	n := f.note
	n.Content = content
	n.Key = factKey(l.c, &n)
	if content != f.text {
		n.Analyst = f.answer.Analyst
	}
	for i := range l.added {
		other := &l.added[i]
		if other.Key == n.Key || isSameStatement(content, other.Content, l.similarity(other.ID), l.c.MergeSimilarity) {
			other.Provenance.Sources = memory.AppendNew(slices.Clone(other.Provenance.Sources), n.Provenance.Sources...)
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
			l.keepMemory(o, known.ID)
			return nil
		}
	} else if known.ID != uuid.Nil { // it has expired, and becomes this fact
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

// similarity returns the cosine of the present fact and one that was added before it; 0
// when they were not compared.
func (l *ledger) similarity(other uuid.UUID) float64 {
	j, ok := l.candidateOf[other]
	if i := len(l.out.Facts); ok && i < len(l.vectors) && j < len(l.vectors) {
		cosine, _ := memory.Cosine(l.vectors[i], l.vectors[j])
		return cosine
	}
	return 0
}

// updateMemory merges a fact into a memory, which keeps its id and its attributes.
func (l *ledger) updateMemory(ctx context.Context, d memory.Desk, f *candidate, now memory.Note, o *FactOutcome) error {
	content := l.memoryText(f, &now)
	switch {
	case content == now.Content:
		o.Operation, o.Reason, o.Note = OpNoop, "the memory says it already", &now.ID
		return nil
	case !l.keepsRest(content, f, &now):
		l.out.Dropped.Lossy++
		o.Operation, o.Reason = OpAdd, "the memory says more than the text that would replace it"
		return l.addFact(ctx, d, f, f.text, o)
	}
	return l.rewriteMemory(ctx, d, f, now, content, o)
}

// rewriteMemory changes the text of a memory.
func (l *ledger) rewriteMemory(ctx context.Context, d memory.Desk, f *candidate, now memory.Note, content string, o *FactOutcome) error {
	n := now
	n.Content = content
	n.Key = factKey(l.c, &n)
	known, ok, err := l.noteByText(ctx, d, &n)
	if err != nil {
		return err
	}
	if ok && known.ID != now.ID {
		if other, alive := l.current(known); !alive || other.Key == n.Key {
			// Another memory has this text already, so this one is deleted.
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
	n.Analyst, n.State, n.Error = f.answer.Analyst, memory.StateEvolved, ""
	n.Provenance.Sources = memory.AppendNew(slices.Clone(now.Provenance.Sources), f.note.Provenance.Sources...)
	n.Provenance.Stale = false
	n.Attributes = mergedExpiry(now.Attributes, f.note.Attributes)
	if at, ok := memory.ExpiryOf(n.Attributes); ok {
		n.ExpireAt(at)
	}
	l.recordBefore(now)
	l.setAfter(n)
	o.Note = &n.ID
	return nil
}

// deleteMemory deletes a memory that is no longer true, and adds what is true instead. Of
// a memory that says several things, it deletes what the fact is about and keeps the rest;
// if that cannot be told, it keeps all.
func (l *ledger) deleteMemory(ctx context.Context, d memory.Desk, f *candidate, now memory.Note, o *FactOutcome) error {
	content := l.remainingText(f, &now)
	rest, all := untouchedStatements(now.Content, f.text)
	if !all && len(rest) > 0 && containsAll(content, rest) {
		rest = nil // the answer keeps them itself
	}
	switch {
	case all:
		o.Operation, o.Reason = OpAdd, "the memory says several things, and which of them ended is not said"
		return l.addFact(ctx, d, f, f.text, o)
	case len(rest) > 0:
		kept := strings.Join(rest, " ") + " " + content
		if utf8.RuneCountInString(kept) > l.c.FactChars {
			o.Operation, o.Reason = OpAdd, "the memory says more than what ended"
			return l.addFact(ctx, d, f, f.text, o)
		}
		o.Operation, o.Reason = OpUpdate, "the memory says more than what ended"
		return l.rewriteMemory(ctx, d, f, now, kept, o)
	}
	if !l.markDeleted(now, o) {
		return nil
	}
	if l.deletedBy == nil {
		l.deletedBy = map[uuid.UUID]string{}
	}
	l.deletedBy[now.ID] = f.text
	added := FactOutcome{}
	if err := l.addFact(ctx, d, f, content, &added); err != nil {
		return err
	}
	o.Operation, o.Note = OpReplace, added.Note
	l.setReplacement(now.ID, memory.Note{ID: *added.Note, Content: content})
	return nil
}

// setReplacement records what is true instead of a deleted memory, and instead of those that it replaced itself.
func (l *ledger) setReplacement(deleted uuid.UUID, by memory.Note) {
	if l.replacedBy == nil {
		l.replacedBy = map[uuid.UUID]memory.Note{}
	}
	for id := range l.replacedBy {
		if l.replacedBy[id].ID == deleted {
			l.replacedBy[id] = by
		}
	}
	l.replacedBy[deleted] = by
}

// markDeleted deletes a memory, unless the limit of deletions is reached.
func (l *ledger) markDeleted(n memory.Note, o *FactOutcome) bool {
	if l.deleteCount >= l.c.MaxDeletes {
		l.out.Dropped.Deletes++
		o.Operation, o.Reason = OpNoop, fmt.Sprintf("one exchange deletes at most %d memories", l.c.MaxDeletes)
		return false
	}
	if i := slices.IndexFunc(l.added, func(a memory.Note) bool { return a.ID == n.ID }); i >= 0 {
		l.added = slices.Delete(l.added, i, i+1)
		return true
	}
	l.deleteCount++
	l.recordBefore(n)
	l.deleted = append(l.deleted, n.ID)
	return true
}

// recordBefore keeps a memory as it was read, before its first change.
func (l *ledger) recordBefore(n memory.Note) {
	if _, ok := l.before[n.ID]; !ok {
		l.before[n.ID] = n
	}
}

// setAfter sets the new state of a memory. A fact that is new in this exchange stays new.
func (l *ledger) setAfter(n memory.Note) {
	for i := range l.added {
		if l.added[i].ID == n.ID {
			l.added[i] = n
			return
		}
	}
	if _, ok := l.after[n.ID]; !ok {
		l.afterOrder = append(l.afterOrder, n.ID)
	}
	l.after[n.ID] = n
}

// writeTo adds the changes to a decision. It returns new and changed memories as they will
// be, but for those that only list an older statement, and deleted ones as they were.
func (l *ledger) writeTo(dec *memory.Decision) (added, removed []memory.Note) {
	for _, id := range l.afterOrder {
		if n := l.after[id]; slices.Contains(l.deleted, id) {
			continue
		} else if n.Content == l.before[id].Content {
			dec.Puts = append(dec.Puts, n)
		} else {
			added = append(added, n)
		}
	}
	added = append(added, l.added...) // after changed ones, which may give up a key that these need
	for _, id := range l.deleted {
		removed = append(removed, l.before[id])
	}
	for i := range l.expired {
		n := &l.expired[i]
		if _, isUsed := l.after[n.ID]; !isUsed {
			l.out.Expired = append(l.out.Expired, n.ID)
			dec.Deletes = append(dec.Deletes, n.ID)
			removed = append(removed, *n)
		}
	}
	dec.Puts = append(dec.Puts, added...)
	dec.Deletes = append(dec.Deletes, l.deleted...)
	dec.Learned = l.learned()
	if len(dec.Puts)+len(removed) > 0 {
		dec.Evolved = true
		l.out.Decision = decisionLearned
	} else if l.out.Extract != nil && len(l.out.Facts) > 0 {
		l.out.Decision = policy.DecisionKeep
	}
	return added, removed
}

// learned returns what the exchange changed: replaced and deleted memories, then changed and new ones. Memories
// that were deleted because they had expired were not learned from the exchange.
func (l *ledger) learned() []memory.Learned {
	var out []memory.Learned
	reported := map[uuid.UUID]bool{}
	for _, id := range l.deleted {
		was := l.before[id]
		now, ok := l.replacedBy[id]
		if !ok {
			out = append(out, memory.Learned{Memory: was.Content, Event: memory.LearnedDelete, Note: id})
			continue
		}
		if n, alive := l.current(now); alive {
			now = n
		}
		reported[now.ID] = true
		out = append(out, memory.Learned{Memory: now.Content, Event: memory.LearnedReplace, Note: now.ID, Previous: was.Content, Replaced: id})
	}
	for _, id := range l.afterOrder {
		was, now := l.before[id], l.after[id]
		switch {
		case reported[id] || slices.Contains(l.deleted, id) || was.Content == now.Content:
		case hasExpired(&was, l.now): // nothing was known of it
			out = append(out, memory.Learned{Memory: now.Content, Event: memory.LearnedAdd, Note: id})
		default:
			out = append(out, memory.Learned{Memory: now.Content, Event: memory.LearnedUpdate, Note: id, Previous: was.Content})
		}
	}
	for i := range l.added {
		if n := &l.added[i]; !reported[n.ID] {
			out = append(out, memory.Learned{Memory: n.Content, Event: memory.LearnedAdd, Note: n.ID})
		}
	}
	return out
}
