package engine

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// proposal is a decision before its transaction.
type proposal struct {
	e          *Engine
	job        *memory.Job // nil: a task without a job
	event      memory.EventKind
	eventNotes []memory.Note // the notes of the event as read; none for a task
	told       []memory.Note // the same notes as the policy got them: described, with vectors
	prepared   *preparation  // written before the decision, in the same transaction; nil: it is written already
	desk       *desk
	decision   memory.Decision
	spent      costs
	last       bool // the last try: changed notes are left out
	try        int

	outcomes []memory.Note // the notes of the event after the decision
	refused  []refused
}

// prepare completes a decision before its transaction: allowed changes, states, vectors.
func (a *proposal) prepare(ctx context.Context, s tenant.Scope, em memory.Embedder) error {
	a.setOutcomes()
	a.dropDisallowed()
	for i := range a.outcomes {
		n := &a.outcomes[i]
		switch {
		case a.decision.Pending != "":
			n.State, n.Error = memory.StatePending, a.decision.Pending
		case a.decision.Review != nil:
			n.State, n.Error = memory.StateInReview, ""
		case a.event == memory.EventNote && n.State == memory.StateRaw && n.Content != a.eventNotes[i].Content:
			// Split: the remaining part goes through the policy again.
			n.State, n.Error = memory.StateRaw, ""
		default:
			n.State, n.Error = memory.StateEvolved, ""
		}
	}
	if err := a.readListed(ctx, s); err != nil {
		return err
	}
	notes := make([]*memory.Note, 0, len(a.outcomes)+len(a.decision.Puts))
	was := make([]memory.Note, 0, cap(notes))
	for i := range a.outcomes {
		notes, was = append(notes, &a.outcomes[i]), append(was, a.told[i])
	}
	for i := range a.decision.Puts {
		p := &a.decision.Puts[i]
		notes = append(notes, p)
		was = append(was, a.desk.readSet[p.ID]) // the zero note for a new one
	}
	for _, n := range notes {
		n.Vector, n.Tokens = nil, nil
	}
	_, err := a.e.revector(ctx, s, em, notes, was)
	return err
}

// setOutcomes sets the notes of the event as the decision leaves them: the note of
// a note event is the decision's, messages change only when they are put.
func (a *proposal) setOutcomes() {
	a.outcomes = slices.Clone(a.told)
	for i := range a.outcomes {
		n := &a.outcomes[i]
		put := -1
		if a.event != memory.EventNote {
			put = slices.IndexFunc(a.decision.Puts, func(p memory.Note) bool { return p.ID == n.ID })
		}
		was := *n
		switch {
		case a.event == memory.EventNote:
			*n = a.decision.Note
		case put >= 0:
			*n = a.decision.Puts[put]
		}
		n.ID, n.Kind, n.Key = was.ID, was.Kind, was.Key
		if err := n.Check(); err != nil {
			a.addRefused("note", n.Kind, err)
			*n = was
		}
	}
}

func (a *proposal) addRefused(part string, kind memory.Kind, err error) {
	a.refused = append(a.refused, refused{Part: part, Kind: kind, Reason: reason(err)})
}

// isEventNote reports whether a note belongs to the event.
func (a *proposal) isEventNote(id uuid.UUID) bool {
	return slices.ContainsFunc(a.eventNotes, func(n memory.Note) bool { return n.ID == id })
}

// hasSeen reports whether the policy has read or listed a note.
func (a *proposal) hasSeen(id uuid.UUID) bool {
	_, read := a.desk.readSet[id]
	_, seen := a.desk.hasListed(id)
	return read || seen || a.isEventNote(id)
}

// isNew reports whether a put creates a note.
func (a *proposal) isNew(p *memory.Note) bool { return p.ID == uuid.Nil || a.desk.newIDs[p.ID] }

// dropDisallowed removes the parts of a decision that are not allowed: changes of
// notes that the policy has not seen, links whose ends it has neither seen nor
// created, self-links, and values over their limits. The rest is applied.
func (a *proposal) dropDisallowed() {
	made := map[uuid.UUID]bool{}
	keys := map[naturalKey]bool{}
	var puts []memory.Note
	for _, p := range a.decision.Puts {
		fresh := a.isNew(&p)
		if a.isEventNote(p.ID) || !fresh && !a.hasSeen(p.ID) || fresh && made[p.ID] {
			continue
		}
		if p.Key != "" && keys[naturalKey{p.Kind, p.Key}] {
			a.refused = append(a.refused, refused{Part: "note", Kind: p.Kind, Reason: "another note of the decision has its key"})
			continue
		}
		if fresh {
			a.fillDefaults(&p)
		}
		if err := p.Check(); err != nil {
			a.addRefused("note", p.Kind, err)
			continue
		}
		keys[naturalKey{p.Kind, p.Key}] = true
		if p.ID != uuid.Nil && fresh {
			made[p.ID] = true
		}
		puts = append(puts, p)
	}
	a.decision.Puts = puts
	a.decision.Deletes = slices.DeleteFunc(slices.Clone(a.decision.Deletes), func(id uuid.UUID) bool { return !a.hasSeen(id) })
	end := func(id uuid.UUID) bool { return made[id] || a.hasSeen(id) }
	var links []memory.Link
	for _, l := range a.decision.Links {
		if l.Source == l.Target || !end(l.Source) || !end(l.Target) {
			continue
		}
		if err := l.Check(); err != nil {
			a.addRefused("link", "", err)
			continue
		}
		links = append(links, l)
	}
	a.decision.Links = links
}

// fillDefaults sets the unset fields of a new note: it counts as evolved, and its
// sources are the notes of the event.
func (a *proposal) fillDefaults(p *memory.Note) {
	if p.Kind == "" {
		p.Kind = memory.KindNote
	}
	if p.State == "" {
		p.State = memory.StateEvolved
	}
	if p.Category == "" {
		p.Category = memory.DefaultCategory
	}
	if len(p.Provenance.Sources) == 0 {
		for i := range a.eventNotes {
			p.Provenance.Sources = append(p.Provenance.Sources, a.eventNotes[i].ID)
		}
	}
}

// readListed reads the listed notes that the decision changes, with their vectors,
// so that unchanged texts are not embedded again.
func (a *proposal) readListed(ctx context.Context, s tenant.Scope) error {
	var ids []uuid.UUID
	for i := range a.decision.Puts {
		id := a.decision.Puts[i].ID
		_, read := a.desk.readSet[id]
		_, seen := a.desk.hasListed(id)
		n := a.desk.inLists(id)
		switch {
		case read || !seen:
		case n != nil && len(n.Vector) > 0:
			a.desk.recordRead([]memory.Note{n.Copy()})
		default:
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	notes, err := a.e.store.Notes(ctx, s, a.desk.v, ids, memory.ReadOptions{Vector: true})
	if err != nil {
		return err
	}
	a.desk.recordRead(notes)
	return nil
}

func (a *proposal) apply(ctx context.Context, s tenant.Scope) error {
	defer a.desk.release()
	o := memory.WriteOptions{Cause: a.cause(), Job: a.job.ID, Trigger: a.job.Note, System: true}
	_, err := a.e.store.Write(ctx, s, a.job.Collection, o, func(ctx context.Context, tx memory.Tx) error {
		once := *a // the closure may run twice
		if a.prepared != nil {
			var err error
			if once.eventNotes, err = a.prepared.put(ctx, tx, false); err != nil {
				return err
			}
			if err := tx.EndChangeset(ctx, memory.CauseAnalyze, a.job.ID, a.job.Note); err != nil {
				return err
			}
		}
		w := applyTx{proposal: &once, tx: tx}
		return w.run(ctx)
	})
	return err
}

// cause returns the cause of the changeset.
func (a *proposal) cause() memory.Cause {
	switch {
	case a.decision.Cause != "":
		return a.decision.Cause
	case a.decision.Pending != "":
		return memory.CauseMark
	default:
		return memory.CauseEvolve
	}
}
