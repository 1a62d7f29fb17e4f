package notes

import (
	"context"
	"encoding/json"
	"math"
	"slices"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/block"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Erasure is what Erase removed.
type Erasure struct {
	Deleted

	Gone      []uuid.UUID // notes of which no version is left
	Rewritten []uuid.UUID // notes that stay, of which only the current version is left
	memory.Erased
	Waiting []uuid.UUID // jobs that erase the earlier versions of summaries when these are made again
	// Kept are collections where something stays: forks of others, what was derived from the note; relatives of this fork
	// to which a merge has taken notes.
	Kept []KeptIn
}

// KeptIn is a collection in which an erasure leaves something.
type KeptIn struct {
	ID   uuid.UUID
	Name string
}

// Erase deletes a note as DeleteWith does, also one that is deleted already, and removes every trace of it and of what the
// deletion changed: all versions, in forks too, vectors, links, jobs, reviews. Nothing brings it back. NotFound when no
// version is there, Conflict when the collection has it from the one that it was forked from.
func (n *Service) Erase(ctx context.Context, s tenant.Scope, ref string, id uuid.UUID, sources Sources, r memory.Request) (Erasure, error) {
	c, err := n.resolveWritable(ctx, s, ref)
	if err != nil {
		return Erasure{}, err
	}
	if err := n.checkErasable(ctx, s, &c, id); err != nil {
		return Erasure{}, err
	}
	tree, err := n.withForks(ctx, s, c)
	if err != nil {
		return Erasure{}, err
	}
	var out Erasure
	changes := make([]change, len(tree))
	x := influence{changesets: map[place]*evolution{}, since: map[place]memory.Revision{}}
	for i := range tree {
		d := plainDeletion(id, sources, nil)
		d.influence = &x
		if i == 0 {
			d.guard = r.Guard
		} else if _, err := n.resolveWritable(ctx, s, tree[i].ID.String()); err != nil {
			out.Kept = append(out.Kept, KeptIn{tree[i].ID, tree[i].Name})
			continue
		}
		done, err := n.deleteNote(ctx, s, &tree[i], d)
		if err != nil && !fault.Is(err, fault.NotFound) {
			return out, err
		}
		if i == 0 {
			out.Deleted = done
		}
		if changes[i], err = n.changeOf(ctx, s, &tree[i], id); err != nil {
			return out, err
		}
		changes[i].keepCurrent(x.touched)
	}
	if !slices.Contains(changes[0].gone, id) {
		changes[0].gone = append(changes[0].gone, id)
	}
	for i := range tree {
		if i > 0 && len(changes[i].gone)+len(changes[i].past) == 0 {
			continue
		}
		if err := n.eraseChange(ctx, s, &tree[i], id, &changes[i], &out); err != nil {
			return out, err
		}
	}
	above, err := n.HeldElsewhere(ctx, s, &c, out.Gone)
	out.Kept = append(out.Kept, above...)
	return out, err
}

// HeldElsewhere returns the relatives of a fork that hold any of some notes themselves, since a merge took it there: those that it
// was forked from, and their other forks.
func (n *Service) HeldElsewhere(ctx context.Context, s tenant.Scope, c *memory.Collection, notes []uuid.UUID) (out []KeptIn, err error) {
	top := *c
	for top.Parent != uuid.Nil {
		v, err := n.store.OpenView(ctx, s, top.Parent.String(), memory.At{})
		if fault.Is(err, fault.NotFound) {
			break // it is out of reach, and so are those above it
		}
		if err != nil {
			return nil, err
		}
		top = v.Collection
	}
	if top.ID == c.ID || len(notes) == 0 {
		return nil, nil
	}
	tree, err := n.withForks(ctx, s, top)
	if err != nil {
		return nil, err
	}
	for i := range tree {
		r := &tree[i]
		if r.ID == c.ID || r.Parent != uuid.Nil && r.Head == r.ParentRevision { // it has written nothing
			continue
		}
		held, err := n.holds(ctx, s, r, notes)
		if err != nil {
			return nil, err
		}
		if held {
			out = append(out, KeptIn{r.ID, r.Name})
		}
	}
	return out, nil
}

// holds reports whether any of some notes is visible in a collection that has written it itself.
func (n *Service) holds(ctx context.Context, s tenant.Scope, c *memory.Collection, notes []uuid.UUID) (bool, error) {
	v, err := n.store.OpenView(ctx, s, c.ID.String(), memory.At{})
	if fault.Is(err, fault.NotFound) {
		return false, nil // it is gone meanwhile
	}
	if err != nil {
		return false, err
	}
	for some := range slices.Chunk(notes, memory.MaxPage) {
		found, err := n.store.Notes(ctx, s, v, some, memory.ReadOptions{})
		if err != nil {
			return false, err
		}
		if slices.ContainsFunc(found, func(n memory.Note) bool { return n.Layer == c.ID }) {
			return true, nil
		}
	}
	return false, nil
}

// checkErasable finds out whether a note can be erased where it is.
func (n *Service) checkErasable(ctx context.Context, s tenant.Scope, c *memory.Collection, id uuid.UUID) error {
	v, err := n.store.OpenView(ctx, s, c.ID.String(), memory.At{})
	if err != nil {
		return err
	}
	past, err := n.store.History(ctx, s, v, id, 0, 0)
	if err != nil {
		return err
	}
	for i := range past {
		if past[i].Note.Layer != c.ID {
			return fault.New(fault.Conflict, "the note is of the collection %s, which this one was forked from; erase it there", past[i].Note.Layer)
		}
		if err := block.CheckNote(past[i].Note.Kind); err != nil {
			return err
		}
	}
	return nil
}

// withForks returns a collection and the forks below it that the scope reaches, each after what it reads.
func (n *Service) withForks(ctx context.Context, s tenant.Scope, c memory.Collection) ([]memory.Collection, error) {
	tree := []memory.Collection{c}
	for i := 0; i < len(tree); i++ {
		forks, err := allCollections(ctx, n.store, s, memory.CollectionQuery{Parent: tree[i].ID})
		if err != nil {
			return nil, err
		}
		tree = append(tree, forks...)
	}
	return tree, nil
}

// change is what the deletion of a note changed in the log of a collection.
type change struct {
	gone, past []uuid.UUID
	again      []uuid.UUID // of past: those that their policy makes again
}

// keepCurrent adds notes of which only the current version is left, unless they are gone.
func (x *change) keepCurrent(ids []uuid.UUID) {
	for _, id := range ids {
		if !slices.Contains(x.gone, id) {
			x.past = appendNew(x.past, id)
		}
	}
}

// changeOf returns what the latest deletion of a note changed, and what its policy has changed since then: all that was
// derived from the note. Nothing if it is visible, or was deleted elsewhere.
func (n *Service) changeOf(ctx context.Context, s tenant.Scope, c *memory.Collection, id uuid.UUID) (change, error) {
	var out change
	v, err := n.store.OpenView(ctx, s, c.ID.String(), memory.At{})
	if err != nil {
		return out, err
	}
	last, err := n.store.History(ctx, s, v, id, 0, 1)
	if fault.Is(err, fault.NotFound) || err == nil && (!last[0].Note.Deleted || last[0].Note.Layer != c.ID) {
		return out, nil
	}
	if err != nil {
		return out, err
	}
	at := last[0].Note.From
	var sessions []uuid.UUID
	derived := map[uuid.UUID][]uuid.UUID{} // the notes of this layer that had these sources
	_, err = n.store.Log(ctx, s, v, 0, 0, "", func(r memory.LogRow) error {
		for _, source := range r.Note.Provenance.Sources {
			derived[source] = appendNew(derived[source], r.Note.ID)
		}
		if r.Note.Kind == memory.KindSession {
			sessions = appendNew(sessions, r.Note.ID)
		}
		switch {
		case r.Note.From != at:
		case r.Note.Deleted:
			out.gone = appendNew(out.gone, r.Note.ID)
		default:
			out.past = appendNew(out.past, r.Note.ID)
			if r.Note.Provenance.Stale && slices.Contains(madeAgain, r.Note.Kind) {
				out.again = append(out.again, r.Note.ID)
			}
		}
		return nil
	})
	if err != nil {
		return out, err
	}
	pages, err := n.pagesChanged(ctx, s, c, sessions, at)
	if err != nil {
		return out, err
	}
	for _, id := range pages {
		out.past = appendNew(out.past, id)
	}
	for i := 0; i < len(out.gone); i++ {
		for _, of := range derived[out.gone[i]] {
			out.gone = appendNew(out.gone, of)
		}
	}
	// What is visible stays, with its current version: it has other sources, or was made again or restored since.
	shown, err := n.store.Notes(ctx, s, v, out.gone, memory.ReadOptions{})
	for i := range shown {
		id := shown[i].ID
		out.gone = slices.DeleteFunc(out.gone, func(gone uuid.UUID) bool { return gone == id })
		out.past = appendNew(out.past, id)
	}
	return out, err
}

// pagesChanged returns the pages of which the link to a session was changed at a revision: the link summed up what is gone.
func (n *Service) pagesChanged(ctx context.Context, s tenant.Scope, c *memory.Collection, sessions []uuid.UUID, at memory.Revision) (out []uuid.UUID, err error) {
	then, err := n.store.OpenView(ctx, s, c.ID.String(), memory.At{AsOf: &at})
	if err != nil {
		return nil, err
	}
	for some := range slices.Chunk(sessions, sessionsAtOnce) {
		links, err := n.store.Links(ctx, s, then, memory.LinkQuery{Notes: some, Direction: memory.Both, Limit: math.MaxInt32})
		if err != nil {
			return nil, err
		}
		for i := range links {
			if _, page := links[i].Attributes[attrMeta]; page && links[i].From == at {
				out = appendNew(out, links[i].Source)
			}
		}
	}
	return out, nil
}

// madeAgain are the kinds of notes that a policy makes again from what is left.
var madeAgain = []memory.Kind{memory.KindSummary, memory.KindProfile, memory.KindSession}

// eraseChange removes what a deletion changed, and enqueues the job that erases what is still to be made again.
func (n *Service) eraseChange(ctx context.Context, s tenant.Scope, c *memory.Collection, id uuid.UUID, x *change, out *Erasure) error {
	erased, err := n.store.EraseNotes(ctx, s, c.ID, x.gone, x.past, audit("note.erase", id, c))
	if err != nil {
		return err
	}
	out.Versions, out.Jobs, out.Reviews = out.Versions+erased.Versions, out.Jobs+erased.Jobs, out.Reviews+erased.Reviews
	for _, layer := range erased.Layers {
		out.Layers = appendNew(out.Layers, layer)
	}
	for _, id := range x.gone {
		out.Gone = appendNew(out.Gone, id)
	}
	for _, id := range x.past {
		out.Rewritten = appendNew(out.Rewritten, id)
	}
	if len(x.again) == 0 {
		return nil
	}
	payload, err := json.Marshal(memory.EraseJob{Notes: x.again})
	if err != nil {
		return fault.Wrap(err, fault.Internal, "encode the job of an erasure")
	}
	_, err = n.store.Write(ctx, s, c.ID, memory.WriteOptions{Cause: memory.CauseDelete, Trigger: id}, func(ctx context.Context, tx memory.Tx) error {
		j, err := tx.Enqueue(ctx, memory.Job{Kind: memory.JobErase, Stage: memory.StageTask, Payload: payload})
		if err == nil {
			out.Waiting = append(out.Waiting, j.ID)
		}
		return err
	})
	return err
}

func appendNew(list []uuid.UUID, id uuid.UUID) []uuid.UUID {
	if slices.Contains(list, id) {
		return list
	}
	return append(list, id)
}
