package notes

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/block"
	"github.com/slipboxhq/slipbox/internal/secret"
	"github.com/slipboxhq/slipbox/internal/tenant"
	"github.com/slipboxhq/slipbox/internal/text"
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
		for _, said := range changes[i].said {
			out.Said = appendNew(out.Said, said)
		}
		changes[i].makeAgain(x.stale)
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

// change is what goes with a note that is erased, in one collection.
type change struct {
	gone, past []uuid.UUID
	again      []uuid.UUID // of past: those that their policy makes again
	said       []uuid.UUID // notes that may still say it
}

// keepCurrent adds notes of which only the current version is left, unless they are gone.
func (x *change) keepCurrent(ids []uuid.UUID) {
	for _, id := range ids {
		if !slices.Contains(x.gone, id) {
			x.past = appendNew(x.past, id)
		}
	}
}

// logged is what the log of a collection has about the changeset in which a note was deleted.
type logged struct {
	at       memory.Revision
	deleted  []uuid.UUID
	changed  []memory.Note
	sessions []uuid.UUID
	sources  []uuid.UUID               // of the note
	derived  map[uuid.UUID][]uuid.UUID // what each note is a source of, at any revision
}

// makeAgain adds notes that their policy makes again.
func (x *change) makeAgain(ids []uuid.UUID) {
	x.keepCurrent(ids)
	for _, id := range ids {
		x.again = appendNew(x.again, id)
	}
}

// changeOf returns what goes with a note that was deleted: all that its latest deletion changed, and what was derived from
// any of it since. Others may have been deleted in the same changeset, by a rollback, a merge, a policy, or because they
// expired: then it is what was derived from the note, and what says the same. Nothing if the note is visible, or was deleted
// elsewhere.
func (n *Service) changeOf(ctx context.Context, s tenant.Scope, c *memory.Collection, id uuid.UUID) (change, error) {
	v, err := n.store.OpenView(ctx, s, c.ID.String(), memory.At{})
	if err != nil {
		return change{}, err
	}
	last, err := n.store.History(ctx, s, v, id, 0, 1)
	if fault.Is(err, fault.NotFound) || err == nil && (!last[0].Note.Deleted || last[0].Note.Layer != c.ID) {
		return change{}, nil
	}
	if err != nil {
		return change{}, err
	}
	l, err := n.logOf(ctx, s, v, id, last[0].Note.From)
	if err != nil {
		return change{}, err
	}
	out := change{gone: []uuid.UUID{id}}
	set := &last[0].Changeset
	if set.Cause == memory.CauseDelete && set.Trigger == id {
		for _, id := range l.deleted {
			out.gone = appendNew(out.gone, id)
		}
		out.gone = withDerived(out.gone, l.derived)
		out.change(l.changed)
	} else {
		out.gone = withDerived(out.gone, l.derived)
		if err := n.changedWith(ctx, s, c, &l, &out); err != nil {
			return out, err
		}
		if out.said, err = n.stored(ctx, s, v, l.sources); err != nil {
			return out, err
		}
	}
	pages, err := n.pagesChanged(ctx, s, c, l.sessions, l.at)
	if err != nil {
		return out, err
	}
	for _, id := range pages {
		out.past = appendNew(out.past, id)
	}
	// What is visible stays, with its current version: it has other sources, or was made again or restored since.
	shown, err := n.store.Notes(ctx, s, v, out.gone, memory.ReadOptions{})
	out.change(shown)
	out.gone = slices.DeleteFunc(out.gone, func(id uuid.UUID) bool { return slices.ContainsFunc(shown, isNote(id)) })
	return out, err
}

// change adds notes that stay.
func (x *change) change(notes []memory.Note) {
	for i := range notes {
		x.past = appendNew(x.past, notes[i].ID)
		if n := &notes[i]; n.Provenance.Stale && slices.Contains(madeAgain, n.Kind) {
			x.again = appendNew(x.again, notes[i].ID)
		}
	}
}

// madeAgain are the kinds of notes that a policy makes again from what is left.
var madeAgain = []memory.Kind{memory.KindSummary, memory.KindProfile, memory.KindSession}

func isNote(id uuid.UUID) func(memory.Note) bool {
	return func(n memory.Note) bool { return n.ID == id }
}

// logOf reads the log of a collection for a note that was deleted at a revision.
func (n *Service) logOf(ctx context.Context, s tenant.Scope, v memory.View, id uuid.UUID, at memory.Revision) (logged, error) {
	l := logged{at: at, derived: map[uuid.UUID][]uuid.UUID{}}
	_, err := n.store.Log(ctx, s, v, 0, 0, "", func(r memory.LogRow) error {
		for _, source := range r.Note.Provenance.Sources {
			l.derived[source] = appendNew(l.derived[source], r.Note.ID)
			if r.Note.ID == id {
				l.sources = appendNew(l.sources, source)
			}
		}
		if r.Note.Kind == memory.KindSession {
			l.sessions = appendNew(l.sessions, r.Note.ID)
		}
		switch {
		case r.Note.From != at:
		case r.Note.Deleted:
			l.deleted = append(l.deleted, r.Note.ID)
		default:
			l.changed = append(l.changed, r.Note)
		}
		return nil
	})
	return l, err
}

// stored returns those of some notes of which there is a version.
func (n *Service) stored(ctx context.Context, s tenant.Scope, v memory.View, notes []uuid.UUID) (out []uuid.UUID, err error) {
	for _, id := range notes {
		_, err := n.store.History(ctx, s, v, id, 0, 1)
		if err == nil {
			out = append(out, id)
		} else if !fault.Is(err, fault.NotFound) {
			return nil, err
		}
	}
	return out, nil
}

// withDerived appends what was derived from notes, also indirectly; derived has what each note is a source of.
func withDerived(notes []uuid.UUID, derived map[uuid.UUID][]uuid.UUID) []uuid.UUID {
	for i := 0; i < len(notes); i++ {
		for _, of := range derived[notes[i]] {
			notes = appendNew(notes, of)
		}
	}
	return notes
}

// changedWith adds to x what a changeset that deleted several notes changed because of those of x, and leaves only the sessions of
// them: what is stale since, and what a sentence of them was taken out of.
func (n *Service) changedWith(ctx context.Context, s tenant.Scope, c *memory.Collection, l *logged, x *change) error {
	before := l.at - 1
	v, err := n.store.OpenView(ctx, s, c.ID.String(), memory.At{AsOf: &before})
	if fault.Is(err, fault.RevisionGone) {
		return nil
	}
	if err != nil {
		return err
	}
	gone, err := n.store.Notes(ctx, s, v, x.gone, memory.ReadOptions{})
	if err != nil {
		return err
	}
	var told []string
	for i := range gone {
		told = append(told, slices.DeleteFunc(text.Sentences(gone[i].Content), isShort)...)
	}
	ids := make([]uuid.UUID, len(l.changed))
	for i := range l.changed {
		ids[i] = l.changed[i].ID
	}
	then, err := n.store.Notes(ctx, s, v, ids, memory.ReadOptions{})
	if err != nil {
		return err
	}
	cut := secret.Mark(memory.DeletedKind)
	with := slices.DeleteFunc(l.changed, func(now memory.Note) bool {
		if _, queue := memory.SumsUp(&now); queue && now.Provenance.Stale { // it does not name all of its sources
			return false
		}
		i := slices.IndexFunc(then, isNote(now.ID))
		return i < 0 || strings.Count(now.Content, cut) <= strings.Count(then[i].Content, cut) ||
			!slices.Contains(l.sources, now.ID) && len(inResult(then[i].Content, told)) == 0
	})
	x.change(with)
	l.sessions = slices.DeleteFunc(l.sessions, func(id uuid.UUID) bool { return !slices.Contains(x.gone, id) && !slices.Contains(x.past, id) })
	return nil
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

// eraseChange removes what a deletion changed, and enqueues the job that erases what is still to be made again.
func (n *Service) eraseChange(ctx context.Context, s tenant.Scope, c *memory.Collection, id uuid.UUID, x *change, out *Erasure) error {
	erased, err := n.store.EraseNotes(ctx, s, c.ID, memory.Erasing{Notes: x.gone, Past: x.past}, audit("note.erase", id, c))
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
