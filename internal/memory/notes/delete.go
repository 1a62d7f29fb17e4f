package notes

import (
	"context"
	"errors"
	"slices"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/block"
	"github.com/slipboxhq/slipbox/internal/memory/graph"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Delete is DeleteWith TakeSentences.
func (n *Service) Delete(ctx context.Context, s tenant.Scope, ref string, id uuid.UUID, r memory.Request) (memory.Revision, error) {
	out, err := n.DeleteWith(ctx, s, ref, id, TakeSentences, r)
	return out.Revision, err
}

// DeleteWith writes a tombstone: the note is no longer listed, found or linked. What was derived from it and has no other
// source goes with it: facts, knowledge, entities, triples. Summaries are marked stale and the policy is asked to make them
// again. What the note was derived from no longer shows it, as sources says. NotFound when the note is not visible, which
// includes a second delete.
func (n *Service) DeleteWith(ctx context.Context, s tenant.Scope, ref string, id uuid.UUID, sources Sources, r memory.Request) (Deleted, error) {
	c, err := n.resolveWritable(ctx, s, ref)
	if err != nil {
		return Deleted{}, err
	}
	return n.deleteNote(ctx, s, &c, plainDeletion(id, sources, r.Guard))
}

func plainDeletion(id uuid.UUID, sources Sources, guard memory.Guard) noteDeletion {
	return noteDeletion{
		action: "note.delete", id: id, guard: guard, sources: sources,
		check: func(_ context.Context, _ memory.Tx, old *memory.Note) error { return block.CheckNote(old.Kind) },
	}
}

// noteDeletion deletes one note, unless check refuses it.
type noteDeletion struct {
	action  string
	id      uuid.UUID
	guard   memory.Guard
	sources Sources
	// influence is what was found of an erased note in the collections before this one. Items of layers that are copies of it go in the
	// same changeset, and are not made again of other items. Nil: it is not erased.
	influence *influence
	check     func(ctx context.Context, tx memory.Tx, old *memory.Note) error
}

func (n *Service) deleteNote(ctx context.Context, s tenant.Scope, c *memory.Collection, e noteDeletion) (Deleted, error) {
	for try := 1; ; try++ {
		v, err := n.store.OpenView(ctx, s, c.ID.String(), memory.At{})
		if err != nil {
			return Deleted{}, err
		}
		x, err := n.consequencesOf(ctx, s, c, v, &e)
		if err != nil {
			return Deleted{}, err
		}
		var hidden, again []uuid.UUID
		if e.influence != nil {
			if hidden, again, err = (&finder{n: n, s: s, v: v, c: c}).derived(ctx, e.influence, e.id); err != nil {
				return Deleted{}, err
			}
		}
		d, err := n.derivationOf(ctx, s, c, try == moveTries, x.changed(append(hidden, e.id)...)...)
		if err != nil {
			return Deleted{}, err
		}
		if e.influence != nil {
			d.also(again)
			e.influence.stale = d.ids
		}
		rev, err := n.deleteOnce(ctx, s, c, e, &d, &x, v.At)
		if !errors.Is(err, errHeadMoved) {
			return Deleted{Revision: rev, Said: x.said}, err
		}
	}
}

// deleteOnce deletes a note with the consequences that were found at a head.
func (n *Service) deleteOnce(ctx context.Context, s tenant.Scope, c *memory.Collection, e noteDeletion, d *derivation, x *consequences, head memory.Revision) (memory.Revision, error) {
	id := e.id
	o := memory.WriteOptions{Cause: memory.CauseDelete, Trigger: id, Audit: []memory.AuditEntry{audit(e.action, id, c)}}
	w, err := n.store.Write(ctx, s, c.ID, o, func(ctx context.Context, tx memory.Tx) error {
		old, err := readVisible(ctx, tx, id)
		if err != nil {
			return err
		}
		if old == nil && e.influence != nil {
			return x.withdraw(ctx, s, tx, c, d, head)
		}
		if old == nil {
			return fault.Missing("note")
		}
		if err := checkGuard(e.guard, old); err != nil {
			return err
		}
		if err := e.check(ctx, tx, old); err != nil {
			return err
		}
		if v := tx.View(); v.At != head && !d.anyHead {
			return errHeadMoved
		}
		if err := x.apply(ctx, s, tx, c, d); err != nil {
			return err
		}
		if err := x.clear(ctx, tx, d, *old); err != nil {
			return err
		}
		if err := deleteTriples(ctx, tx, id); err != nil {
			return err
		}
		if err := d.refresh(ctx, tx, c, old, nil); err != nil {
			return err
		}
		return tx.Delete(ctx, id)
	})
	return w.Revision, err
}

// withdraw takes out what is left of a note that is not visible.
func (x *consequences) withdraw(ctx context.Context, s tenant.Scope, tx memory.Tx, c *memory.Collection, d *derivation, head memory.Revision) error {
	if len(x.edits)+len(x.gone)+len(x.unlinks)+len(d.ids) == 0 {
		return fault.Missing("note")
	}
	if v := tx.View(); v.At != head && !d.anyHead {
		return errHeadMoved
	}
	if err := x.apply(ctx, s, tx, c, d); err != nil || x.was == nil {
		return err
	}
	if err := x.clear(ctx, tx, d, *x.was); err != nil {
		return err
	}
	return d.refresh(ctx, tx, c, x.was, nil)
}

// deleteTriples deletes the triples whose only visible source is the fact, and marks its other
// triples stale.
func deleteTriples(ctx context.Context, tx memory.Tx, fact uuid.UUID) error {
	links, err := tx.Links(ctx, memory.LinkQuery{Notes: []uuid.UUID{fact}, Direction: memory.Incoming})
	if err != nil {
		return err
	}
	var ids []uuid.UUID
	for i := range links {
		if links[i].Relation == graph.DerivedFrom {
			ids = append(ids, links[i].Source)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	triples, err := tx.Notes(ctx, ids, memory.ReadOptions{Vector: true})
	if err != nil {
		return err
	}
	for i := range triples {
		if _, ok := graph.TripleLink(&triples[i]); !ok {
			continue
		}
		others := slices.DeleteFunc(slices.Clone(triples[i].Provenance.Sources), func(id uuid.UUID) bool { return id == fact })
		if len(others) > 0 {
			left, err := tx.Notes(ctx, others, memory.ReadOptions{})
			if err != nil {
				return err
			}
			if len(left) > 0 {
				if err := markStale(ctx, tx, &triples[i]); err != nil {
					return err
				}
				continue
			}
		}
		if err := tx.Delete(ctx, triples[i].ID); err != nil {
			return err
		}
	}
	return nil
}

// Restore makes the version that began at a revision the current one again, also of a deleted note. With the last version of that come
// the notes that were derived from it and deleted with it. Analysis does not run, and links stay as they are now.
func (n *Service) Restore(ctx context.Context, s tenant.Scope, ref string, id uuid.UUID, to memory.Revision, r memory.Request) (NoteWritten, error) {
	c, err := n.resolveWritable(ctx, s, ref)
	if err != nil {
		return NoteWritten{}, err
	}
	return n.writeNoteOnce(ctx, s, &c, r.Idempotency, func() (NoteWritten, *memory.Idempotency, error) {
		then, err := n.versionAt(ctx, s, &c, id, to)
		if err != nil {
			return NoteWritten{}, nil, err
		}
		with, err := n.deletedWith(ctx, s, &c, &then)
		if err != nil {
			return NoteWritten{}, nil, err
		}
		deleted := false
		edit := noteEdit{
			cause: memory.CauseRestore, action: "note.restore", id: id, request: r, affectsMeaning: true,
			change: func(ctx context.Context, tx memory.Tx, old *memory.Note) (memory.Note, bool, error) {
				deleted = old == nil
				return then.Outlives(n.clock()), false, checkRestored(ctx, s, tx, &c, old, with, r.Guard)
			},
		}
		written, done, err := n.edit(ctx, s, &c, edit)
		if err != nil || !deleted {
			return written, done, err
		}
		// It was wanted now, so that no pass of forgetting takes it again.
		if err := n.countUse(ctx, s, &c, id); err != nil {
			n.log.WarnContext(ctx, "the use of a restored note is not counted", "note", id, "error", err)
		}
		return written, done, nil
	})
}

// checkRestored refuses what cannot be restored: a deleted note has no entity tag, and a visible block changes in its own way. With a
// deleted note it writes the others again.
func checkRestored(ctx context.Context, s tenant.Scope, tx memory.Tx, c *memory.Collection, old *memory.Note, with []memory.Note, g memory.Guard) error {
	switch {
	case old != nil: // a deleted block comes back as it was
		return block.CheckNote(old.Kind)
	case g != nil:
		return fault.New(fault.Precondition, "the note is deleted; it has no entity tag")
	}
	return bringBack(ctx, s, tx, c, with)
}

// deletedWith returns the last versions of the notes that were derived from a note, also indirectly, and deleted with it; none if a version
// is given that is not the last one of a deleted note.
func (n *Service) deletedWith(ctx context.Context, s tenant.Scope, c *memory.Collection, then *memory.Note) (out []memory.Note, err error) {
	v, err := n.store.OpenView(ctx, s, c.ID.String(), memory.At{})
	if err != nil {
		return nil, err
	}
	past, err := n.store.History(ctx, s, v, then.ID, 0, 2)
	if fault.Is(err, fault.NotFound) {
		return nil, nil
	}
	if err != nil || len(past) < 2 || !past[0].Note.Deleted || past[0].Note.Layer != c.ID || past[1].Note.From != then.From {
		return nil, err
	}
	at := past[0].Note.From
	before := v.Upto(at - 1)
	var ids []uuid.UUID
	err = n.store.LogBegun(ctx, s, v.Upto(at), at-1, nil, "", func(r memory.LogRow) error {
		if r.Note.Deleted {
			ids = append(ids, r.Note.ID)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	gone, err := n.store.Notes(ctx, s, before, ids, memory.ReadOptions{Vector: true})
	if err != nil {
		return nil, err
	}
	var others []uuid.UUID // that it may need as well
	for i := range gone {
		others = append(others, gone[i].Provenance.Sources...)
	}
	left, err := n.store.Notes(ctx, s, v, others, memory.ReadOptions{})
	back := []uuid.UUID{then.ID}
	there := func(id uuid.UUID) bool { return slices.Contains(back, id) || slices.ContainsFunc(left, isNote(id)) }
	for known := 0; known != len(back); {
		known = len(back)
		for i := range gone {
			g := &gone[i]
			from := slices.ContainsFunc(g.Provenance.Sources, func(id uuid.UUID) bool { return slices.Contains(back, id) })
			if from && !slices.Contains(madeAgain, g.Kind) && !slices.ContainsFunc(g.Provenance.Sources, func(id uuid.UUID) bool { return !there(id) }) && !slices.Contains(back, g.ID) {
				back, out = append(back, g.ID), append(out, *g)
			}
		}
	}
	return out, err
}

// bringBack writes notes again, unless they are there or others have their keys.
func bringBack(ctx context.Context, s tenant.Scope, tx memory.Tx, c *memory.Collection, with []memory.Note) error {
	for i := range with {
		next := with[i].Outlives(tx.Now())
		old, err := readVisible(ctx, tx, next.ID)
		if err != nil {
			return err
		}
		if old != nil {
			continue
		}
		_, err = tx.Put(ctx, next)
		if fault.Is(err, fault.Exists) {
			continue
		}
		if err != nil {
			return err
		}
		if job := noteJob(s, c, &next, false); job != nil {
			if _, err := tx.Enqueue(ctx, *job); err != nil {
				return err
			}
		}
	}
	return nil
}

// countUse counts one recall of a note.
func (n *Service) countUse(ctx context.Context, s tenant.Scope, c *memory.Collection, id uuid.UUID) error {
	v, err := n.store.OpenView(ctx, s, c.ID.String(), memory.At{})
	if err != nil {
		return err
	}
	return n.store.AddUsage(ctx, s, v, []memory.UsageDelta{{Note: id, Accesses: 1, LastAccess: n.clock()}})
}

// versionAt returns the version of a note that began at a revision, ready to be written again.
func (n *Service) versionAt(ctx context.Context, s tenant.Scope, c *memory.Collection, id uuid.UUID, at memory.Revision) (memory.Note, error) {
	v, err := n.store.OpenView(ctx, s, c.ID.String(), memory.At{})
	if err != nil {
		return memory.Note{}, err
	}
	if at < 1 || at > v.At {
		// The note is looked up first, so that an unknown id is NotFound at any revision.
		if _, err := n.store.History(ctx, s, v, id, 0, 1); err != nil {
			return memory.Note{}, err
		}
		return memory.Note{}, fault.InvalidField("revision", "must be between 1 and %d", v.At)
	}
	past, err := n.store.History(ctx, s, v, id, at+1, 2)
	if err != nil {
		return memory.Note{}, err
	}
	for _, h := range past {
		if h.Note.From != at {
			continue
		}
		if h.Note.Deleted {
			return memory.Note{}, fault.InvalidField("revision", "the note was deleted there; name a revision with content")
		}
		then := h.Note
		then.Embed(memory.Embedding{}, "")
		then.Error = ""
		// No job runs for it: what was waiting then is not waiting now.
		if then.State != memory.StateEvolved {
			then.State = memory.StateRaw
		}
		return then, nil
	}
	return memory.Note{}, fault.InvalidField("revision", "no version of the note begins there; its history lists those that do")
}
