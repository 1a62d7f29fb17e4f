package engine

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
)

// writing is one run of an application inside its transaction. It is made anew
// for each run, since a closure may run twice.
type writing struct {
	*application
	tx memory.Tx

	current map[uuid.UUID]memory.Note
	moved   map[uuid.UUID]bool
	after   map[uuid.UUID]memory.Version // of what was put
	changed bool                         // something beyond states
	review  *uuid.UUID
}

func (w *writing) run(ctx context.Context) error {
	if err := w.compare(ctx); err != nil {
		return err
	}
	if len(w.moved) > 0 && !w.last {
		return memory.ErrMoved
	}
	w.after = map[uuid.UUID]memory.Version{}
	for _, step := range []func(context.Context) error{w.putOwn, w.putOthers, w.link, w.remove, w.openReviews, w.count} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return w.end(ctx)
}

// compare finds what moved between reading and now: the note itself, notes
// that were read, and notes that were taken for absent.
func (w *writing) compare(ctx context.Context) error {
	read := maps.Clone(w.desk.read)
	read[w.base.ID] = w.base
	ids := sortedIDs(read)
	now, err := w.tx.Notes(ctx, ids, memory.ReadOptions{Vector: true})
	if err != nil {
		return err
	}
	w.current = make(map[uuid.UUID]memory.Note, len(now))
	for i := range now {
		w.current[now[i].ID] = now[i]
	}
	w.moved = map[uuid.UUID]bool{}
	for id, n := range read {
		if c, ok := w.current[id]; !ok || c.Version() != n.Version() {
			w.moved[id] = true
		}
	}
	for _, k := range w.desk.absent {
		found, err := w.tx.NoteByKey(ctx, k.kind, k.key)
		switch {
		case err == nil:
			w.moved[found.ID] = true
		case !fault.Is(err, fault.NotFound):
			return err
		}
	}
	return nil
}

func (w *writing) putOwn(ctx context.Context) error {
	n := w.dec.Note
	if w.moved[w.base.ID] {
		// The caller's version stays as it is; it is only no longer waiting.
		now, ok := w.current[w.base.ID]
		if !ok || now.State == memory.StateEvolved || now.State == memory.StateInReview || now.Content != w.base.Content {
			return nil // a new content has, or had, a job of its own
		}
		n = now
		n.State, n.Error = memory.StateEvolved, ""
		if w.dec.Pending != "" {
			n.State, n.Error = memory.StatePending, w.dec.Pending
		}
	}
	now := w.current[n.ID]
	if sameContent(&now, &n) {
		return nil
	}
	stored, err := w.tx.Put(ctx, n)
	if err != nil {
		return err
	}
	w.changed = w.changed || !sameDescription(&now, &n)
	w.after[n.ID] = stored.Version()
	if n.State == memory.StateRaw {
		return w.enqueue(ctx, memory.Job{Kind: memory.JobNote, Stage: memory.StagePrepare, Note: n.ID})
	}
	return nil
}

func (w *writing) putOthers(ctx context.Context) error {
	for _, p := range w.dec.Puts {
		if w.moved[p.ID] || p.ID == uuid.Nil && w.moved[w.base.ID] {
			continue // what was to be made of a note that moved is not made
		}
		if now, ok := w.current[p.ID]; ok && sameContent(&now, &p) {
			continue
		}
		if p.ID == uuid.Nil {
			p.Provenance.Job, p.Provenance.Actor = &w.job.ID, ""
		}
		stored, err := w.tx.Put(ctx, p)
		if err != nil {
			return err
		}
		w.changed = true
		w.after[stored.ID] = stored.Version()
		if p.ID == uuid.Nil && stored.State == memory.StateRaw {
			if err := w.enqueue(ctx, memory.Job{Kind: memory.JobNote, Stage: memory.StagePrepare, Note: stored.ID}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *writing) enqueue(ctx context.Context, j memory.Job) error {
	j.Collection = w.job.Collection
	_, err := w.tx.Enqueue(ctx, j)
	return err
}

// link puts the links whose ends stand still. A link that is there already,
// perhaps by a caller's hand, stays as it is.
func (w *writing) link(ctx context.Context) error {
	if len(w.dec.Links) > 0 {
		have, err := w.tx.Links(ctx, memory.LinkQuery{Notes: []uuid.UUID{w.base.ID}, Direction: memory.Outgoing})
		if err != nil {
			return err
		}
		for _, l := range w.dec.Links {
			known := slices.ContainsFunc(have, func(h memory.Link) bool { return h.LinkID == l.LinkID })
			if known || w.moved[l.Source] || w.moved[l.Target] {
				continue
			}
			changed, err := w.tx.Link(ctx, l)
			if err != nil {
				return err
			}
			w.changed = w.changed || changed
		}
	}
	for _, id := range w.dec.Unlinks {
		if w.moved[id.Source] || w.moved[id.Target] {
			continue
		}
		ok, err := w.tx.Unlink(ctx, id)
		if err != nil {
			return err
		}
		w.changed = w.changed || ok
	}
	return nil
}

func (w *writing) remove(ctx context.Context) error {
	for _, id := range w.dec.Deletes {
		if w.moved[id] {
			continue
		}
		if err := w.tx.Delete(ctx, id); err != nil {
			return err
		}
		w.changed = true
	}
	return nil
}

// openReviews writes what waits for a person, and what was done and can be
// looked at later.
func (w *writing) openReviews(ctx context.Context) error {
	if p := w.still(w.dec.Review); p != nil {
		r, err := w.open(ctx, p, memory.ReviewOpen)
		if err != nil {
			return err
		}
		w.review = &r.ID
	}
	if p := w.still(w.dec.Applied); p != nil {
		if _, err := w.open(ctx, p, memory.ReviewApplied); err != nil {
			return err
		}
	}
	return nil
}

// still gives the part of a proposal that is about notes that did not move.
func (w *writing) still(p *memory.ReviewProposal) *memory.ReviewProposal {
	if p == nil {
		return nil
	}
	left := *p
	left.Changes = slices.DeleteFunc(slices.Clone(p.Changes), func(c memory.ReviewChange) bool { return w.moved[c.Note] })
	if len(left.Changes) == 0 {
		return nil
	}
	return &left
}

func (w *writing) open(ctx context.Context, p *memory.ReviewProposal, state memory.ReviewState) (memory.Review, error) {
	r := memory.Review{
		Collection: w.job.Collection, Job: w.job.ID, Trigger: w.base.ID, State: state,
		Confidence: p.Confidence, Changes: p.Changes, Reason: p.Reason, Read: w.versions(),
	}
	if state == memory.ReviewApplied {
		r.Revision = w.tx.Revision()
	}
	return w.tx.OpenReview(ctx, r)
}

// versions lists what the decision rested on, as it stands after this changeset.
func (w *writing) versions() []memory.Version {
	out := []memory.Version{w.standing(w.base)}
	for _, id := range sortedIDs(w.desk.read) {
		if id != w.base.ID && !w.moved[id] {
			out = append(out, w.standing(w.desk.read[id]))
		}
	}
	return out
}

func (w *writing) standing(n memory.Note) memory.Version {
	if v, ok := w.after[n.ID]; ok {
		return v
	}
	return n.Version()
}

// count counts an evolving add, and asks for consolidation at every n-th.
func (w *writing) count(ctx context.Context) error {
	if !w.dec.Evolved || !w.changed {
		return nil
	}
	n, err := w.tx.CountEvolved(ctx)
	if err != nil {
		return err
	}
	if n%commonOf(&w.desk.v.Collection).EvoThreshold != 0 {
		return nil
	}
	return w.enqueue(ctx, memory.Job{Kind: memory.JobConsolidate, Stage: memory.StageTask})
}

func (w *writing) end(ctx context.Context) error {
	r := jobResult{Evolved: w.dec.Evolved && w.changed, Tries: w.try, Review: w.review}
	if r.Evolved || len(w.after) > 0 {
		r.Revision = w.tx.Revision()
	}
	for _, id := range sortedIDs(w.desk.read) {
		n := w.desk.read[id]
		r.Read = append(r.Read, readVersion{Note: n.ID, Layer: n.Layer, From: n.From})
	}
	r.LeftOut = sortedIDs(w.moved)
	raw, err := result(w.dec.Outcome, r)
	if err != nil {
		return fmt.Errorf("encode the result: %w", err)
	}
	end := memory.JobEnd{State: memory.JobDone, Stage: memory.StageDecide, Result: raw, Attempts: w.job.Attempts}
	if w.dec.Pending != "" {
		end = w.e.again(w.job, fault.New(fault.ModelFailed, "%s", w.dec.Pending))
		end.Result = raw
	}
	return w.tx.EndJob(ctx, w.job.ID, w.job.Lease, end)
}

// sortedIDs gives the keys of a map in the order of ids, so that what is
// written does not depend on chance.
func sortedIDs[V any](m map[uuid.UUID]V) []uuid.UUID {
	return slices.SortedFunc(maps.Keys(m), func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
}
