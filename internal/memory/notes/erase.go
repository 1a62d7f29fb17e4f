package notes

import (
	"cmp"
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
	Kept   []KeptIn
	Traces memory.Traces
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
	f, past, err := n.erasable(ctx, s, &c, id)
	if err != nil {
		return Erasure{}, err
	}
	tree, err := n.withForks(ctx, s, c)
	if err != nil {
		return Erasure{}, err
	}
	var out Erasure
	changes := make([]change, len(tree))
	x, err := f.influenceOf(ctx, id, past, sources)
	if err != nil {
		return Erasure{}, err
	}
	for i := range tree {
		d := plainDeletion(id, sources, nil)
		d.influence = x
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
		if changes[i], err = n.changeOf(ctx, s, &tree[i], id, x); err != nil {
			return out, err
		}
		out.Said = memory.AppendNew(out.Said, changes[i].said...)
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
	if err := n.keptElsewhere(ctx, s, &c, x, &out); err != nil {
		return out, err
	}
	out.Traces, err = n.store.Traces(ctx)
	return out, err
}

// EraseAll erases notes, each as Erase does, and reports all together. One that cannot be erased here refuses all; one of which no
// version is left, since it went with another, is skipped. After another error those before it are gone, and a repetition erases the rest.
func (n *Service) EraseAll(ctx context.Context, s tenant.Scope, ref string, ids []uuid.UUID) (out Erasure, err error) {
	c, err := n.resolveWritable(ctx, s, ref)
	if err != nil {
		return out, err
	}
	for _, id := range ids {
		if _, _, err := n.erasable(ctx, s, &c, id); err != nil && !fault.Is(err, fault.NotFound) {
			return out, err
		}
	}
	if out.Traces, err = n.store.Traces(ctx); err != nil {
		return out, err
	}
	for _, id := range ids {
		one, err := n.Erase(ctx, s, c.ID.String(), id, TakeSentences, memory.Request{})
		if fault.Is(err, fault.NotFound) {
			continue
		}
		if err != nil {
			return out, err
		}
		out.Add(&one)
	}
	return out, nil
}

// Add adds a later erasure, or a deletion, which has left no traces.
func (e *Erasure) Add(o *Erasure) {
	e.Revision, e.Traces = max(e.Revision, o.Revision), cmp.Or(o.Traces, e.Traces)
	e.Versions, e.Jobs, e.Reviews = e.Versions+o.Versions, e.Jobs+o.Jobs, e.Reviews+o.Reviews
	e.Layers, e.Gone, e.Waiting = memory.AppendNew(e.Layers, o.Layers...), memory.AppendNew(e.Gone, o.Gone...), memory.AppendNew(e.Waiting, o.Waiting...)
	gone := func(id uuid.UUID) bool { return slices.Contains(e.Gone, id) }
	e.Rewritten = slices.DeleteFunc(memory.AppendNew(e.Rewritten, o.Rewritten...), gone)
	e.Said = slices.DeleteFunc(memory.AppendNew(e.Said, o.Said...), gone)
	for _, k := range o.Kept {
		if !slices.Contains(e.Kept, k) {
			e.Kept = append(e.Kept, k)
		}
	}
}

// keptElsewhere adds the relatives of a fork in which something stays: the notes, or what was described from them.
func (n *Service) keptElsewhere(ctx context.Context, s tenant.Scope, c *memory.Collection, x *influence, out *Erasure) error {
	above, err := n.HeldElsewhere(ctx, s, c, out.Gone)
	if err != nil {
		return err
	}
	described, err := n.heldElsewhere(ctx, s, c, x.touched, func(n *memory.Note) (bool, error) {
		told, err := x.toldOf(ctx, n.ID)
		_, lost := replay([]memory.HistoryEntry{{Note: *n}}, told, func(*memory.HistoryEntry) kept { return all })
		return lost, err
	})
	for _, k := range append(above, described...) {
		if !slices.Contains(out.Kept, k) {
			out.Kept = append(out.Kept, k)
		}
	}
	return err
}

// HeldElsewhere returns the relatives of a fork that hold any of some notes themselves, since a merge took it there: those that it
// was forked from, and their other forks.
func (n *Service) HeldElsewhere(ctx context.Context, s tenant.Scope, c *memory.Collection, notes []uuid.UUID) ([]KeptIn, error) {
	return n.heldElsewhere(ctx, s, c, notes, func(*memory.Note) (bool, error) { return true, nil })
}

// heldElsewhere is HeldElsewhere for the versions that are chosen. It opens only what has versions of the notes.
func (n *Service) heldElsewhere(ctx context.Context, s tenant.Scope, c *memory.Collection, notes []uuid.UUID, chosen func(*memory.Note) (bool, error)) (out []KeptIn, err error) {
	here, err := n.store.OpenView(ctx, s, c.ID.String(), memory.At{})
	if err != nil || len(here.Logs()) == 1 {
		return nil, err
	}
	done := map[uuid.UUID]bool{c.ID: true}
	for _, id := range notes {
		found, err := allCollections(ctx, n.store, s, memory.CollectionQuery{Note: id})
		if err != nil {
			return nil, err
		}
		for i := range found {
			r := &found[i]
			if done[r.ID] {
				continue
			}
			held, err := n.heldBy(ctx, s, &here, r.ID, id, chosen)
			if err != nil {
				return nil, err
			}
			if held {
				done[r.ID], out = true, append(out, KeptIn{r.ID, r.Name})
			}
		}
	}
	return out, nil
}

// heldBy reports whether a relative holds the chosen version of a note itself.
func (n *Service) heldBy(ctx context.Context, s tenant.Scope, here *memory.View, relative, id uuid.UUID, chosen func(*memory.Note) (bool, error)) (bool, error) {
	v, err := n.store.OpenView(ctx, s, relative.String(), memory.At{})
	if fault.Is(err, fault.NotFound) {
		return false, nil // it is gone meanwhile
	}
	if err != nil {
		return false, err
	}
	if _, related := memory.Shared(here, &v); !related {
		return false, nil
	}
	shown, err := n.store.Notes(ctx, s, v, []uuid.UUID{id}, memory.ReadOptions{})
	if err != nil || len(shown) == 0 || shown[0].Layer != relative {
		return false, err
	}
	return chosen(&shown[0])
}

// erasable returns the versions of a note that can be erased where it is.
func (n *Service) erasable(ctx context.Context, s tenant.Scope, c *memory.Collection, id uuid.UUID) (f finder, past []memory.HistoryEntry, err error) {
	if f, err = n.find(ctx, s, c); err != nil {
		return f, nil, err
	}
	past, err = f.n.store.History(ctx, s, f.v, id, 0, 0)
	for i := range past {
		if past[i].Note.Layer != c.ID {
			return f, nil, fault.New(fault.Conflict, "the note is of the collection %s, which this one was forked from; erase it there", past[i].Note.Layer)
		}
		if err := block.CheckNote(past[i].Note.Kind); err != nil {
			return f, nil, err
		}
	}
	return f, past, err
}

// influenceOf returns the influence of a note, and of those that are deleted as its sources, of which nothing is known but where it begins.
func (f *finder) influenceOf(ctx context.Context, id uuid.UUID, past []memory.HistoryEntry, sources Sources) (x *influence, err error) {
	of := []uuid.UUID{id}
	if sources == DeleteSources || past[0].Note.Deleted {
		for i := range past {
			of = append(of, past[i].Note.Provenance.Sources...)
		}
	}
	x = &influence{trails: map[uuid.UUID]*trail{}, changesets: map[place]*evolution{}, since: map[place]memory.Revision{}}
	x.begin, err = f.begin(ctx, of)
	return x, err
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

	at   memory.Revision // of the deletion
	kept []memory.Note   // ended versions of past, as forks show them
}

// keepCurrent adds notes of which only the current version is left, unless they are gone.
func (x *change) keepCurrent(ids []uuid.UUID) {
	for _, id := range ids {
		if !slices.Contains(x.gone, id) {
			x.past = memory.AppendNew(x.past, id)
		}
	}
}

// logged is what the log of a collection has about the changeset in which a note was deleted.
type logged struct {
	at      memory.Revision
	deleted []uuid.UUID
	changed []memory.Note
	sources []uuid.UUID               // of the note
	derived map[uuid.UUID][]uuid.UUID // what each note is a source of, since the first one was
}

// makeAgain adds notes that their policy makes again.
func (x *change) makeAgain(ids []uuid.UUID) {
	x.keepCurrent(ids)
	x.again = memory.AppendNew(x.again, ids...)
}

// changeOf returns what goes with a note that was deleted: all that its latest deletion changed, and what was derived from
// any of it since. Others may have been deleted in the same changeset, by a rollback, a merge, a policy, or because they
// expired: then it is what was derived from the note, and what says the same. Only what was written from it, if the note is visible, or
// was deleted elsewhere.
func (n *Service) changeOf(ctx context.Context, s tenant.Scope, c *memory.Collection, id uuid.UUID, x *influence) (change, error) {
	f, err := n.find(ctx, s, c)
	if err != nil {
		return change{}, err
	}
	var out change
	past, err := f.history(ctx, id)
	if err == nil && len(past) > 0 && past[0].Note.Deleted && past[0].Note.Layer == c.ID {
		out, err = f.erasedWith(ctx, id, past, x)
	}
	if err != nil {
		return out, err
	}
	out.keepCurrent(x.touched)
	out.makeAgain(x.stale)
	err = f.keep(ctx, id, past, &out, x)
	out.at = f.v.At
	return out, err
}

// erasedWith returns what goes with a note that was deleted in the finder's collection, and has a history there.
func (f *finder) erasedWith(ctx context.Context, id uuid.UUID, past []memory.HistoryEntry, x *influence) (change, error) {
	l, err := f.logOf(ctx, past, x)
	if err != nil {
		return change{}, err
	}
	out := change{gone: []uuid.UUID{id}, at: l.at}
	sessions := false
	set := &past[0].Changeset
	if set.Cause == memory.CauseDelete && set.Trigger == id {
		out.gone = withDerived(memory.AppendNew(out.gone, l.deleted...), l.derived)
		out.change(l.changed)
		sessions = true
	} else {
		out.gone = withDerived(out.gone, l.derived)
		if err := f.changedWith(ctx, &l, &out); err != nil {
			return out, err
		}
		if out.said, err = f.stored(ctx, l.sources); err != nil {
			return out, err
		}
	}
	pages, err := f.pagesChanged(ctx, l.at, func(id uuid.UUID) bool {
		return sessions || slices.Contains(out.gone, id) || slices.Contains(out.past, id)
	})
	if err != nil {
		return out, err
	}
	out.past = memory.AppendNew(out.past, pages...)
	// What is visible stays, with its current version: it has other sources, or was made again or restored since.
	shown, err := f.n.store.Notes(ctx, f.s, f.v, out.gone, memory.ReadOptions{})
	out.change(shown)
	out.gone = slices.DeleteFunc(out.gone, func(id uuid.UUID) bool { return slices.ContainsFunc(shown, isNote(id)) })
	return out, err
}

// change adds notes that stay.
func (x *change) change(notes []memory.Note) {
	for i := range notes {
		x.past = memory.AppendNew(x.past, notes[i].ID)
		if n := &notes[i]; n.Provenance.Stale && slices.Contains(madeAgain, n.Kind) {
			x.again = memory.AppendNew(x.again, notes[i].ID)
		}
	}
}

// madeAgain are the kinds of notes that a policy makes again from what is left.
var madeAgain = []memory.Kind{memory.KindSummary, memory.KindProfile, memory.KindSession}

func isNote(id uuid.UUID) func(memory.Note) bool {
	return func(n memory.Note) bool { return n.ID == id }
}

// logOf returns what the log has for a note that was deleted, whose history is given.
func (f *finder) logOf(ctx context.Context, past []memory.HistoryEntry, x *influence) (logged, error) {
	l := logged{at: past[0].Note.From}
	for i := range past {
		l.sources = memory.AppendNew(l.sources, past[i].Note.Provenance.Sources...)
	}
	var err error
	if l.derived, err = x.derivedIn(ctx, f, f.v.Layers[:1]); err != nil {
		return l, err
	}
	err = f.n.store.LogBegun(ctx, f.s, f.v.Upto(l.at), l.at-1, nil, "", func(r memory.LogRow) error {
		if r.Note.Deleted {
			l.deleted = append(l.deleted, r.Note.ID)
		} else {
			l.changed = append(l.changed, r.Note)
		}
		return nil
	})
	return l, err
}

// stored returns those of some notes of which there is a version.
func (f *finder) stored(ctx context.Context, notes []uuid.UUID) (out []uuid.UUID, err error) {
	for _, id := range notes {
		past, err := f.history(ctx, id)
		if err != nil {
			return nil, err
		}
		if len(past) > 0 {
			out = append(out, id)
		}
	}
	return out, nil
}

// withDerived appends what was derived from notes, also indirectly; derived has what each note is a source of.
func withDerived(notes []uuid.UUID, derived map[uuid.UUID][]uuid.UUID) []uuid.UUID {
	for i := 0; i < len(notes); i++ {
		notes = memory.AppendNew(notes, derived[notes[i]]...)
	}
	return notes
}

// changedWith adds to x what a changeset that deleted several notes changed because of those of x: what is stale since, and what a
// sentence of them was taken out of.
func (f *finder) changedWith(ctx context.Context, l *logged, x *change) error {
	n, s, c, before := f.n, f.s, f.c, l.at-1
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
	then, err := n.store.Notes(ctx, s, v, memory.IDs(l.changed), memory.ReadOptions{})
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
	return nil
}

// pagesChanged returns the pages of which the link to one of some sessions was changed at a revision: the link summed up what is gone.
func (f *finder) pagesChanged(ctx context.Context, at memory.Revision, of func(session uuid.UUID) bool) (out []uuid.UUID, err error) {
	then := f.v.Upto(at)
	set, err := f.n.store.Changes(ctx, f.s, then, at-1, 1)
	if fault.Is(err, fault.RevisionGone) || err == nil && len(set) == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var ends []uuid.UUID
	for _, l := range set[0].Links {
		if of(l.Source) || of(l.Target) {
			ends = memory.AppendNew(ends, l.Source)
		}
	}
	for some := range slices.Chunk(ends, sessionsAtOnce) {
		links, err := f.n.store.Links(ctx, f.s, then, memory.LinkQuery{Notes: some, Direction: memory.Outgoing, Limit: math.MaxInt32})
		if err != nil {
			return nil, err
		}
		for i := range links {
			if _, page := links[i].Attributes[attrMeta]; page && links[i].From == at && (of(links[i].Source) || of(links[i].Target)) {
				out = memory.AppendNew(out, links[i].Source)
			}
		}
	}
	return out, nil
}

// keep finds how forks show the notes of which the earlier versions go, from then on. The history is of the erased note.
func (f *finder) keep(ctx context.Context, id uuid.UUID, erased []memory.HistoryEntry, x *change, by *influence) error {
	c := cleaner{f: f, id: id, by: by, at: x.at}
	for i := range erased {
		if n := &erased[i].Note; n.Kind == memory.KindFact || n.Kind == memory.KindKnowledge {
			c.says = append(c.says, newSaying(n.Content))
		}
	}
	begin, err := f.begin(ctx, append([]uuid.UUID{id}, x.gone...))
	if err != nil {
		return err
	}
	c.since = min(begin, by.begin)
	var all [][]memory.HistoryEntry
	for _, id := range x.past {
		past, err := f.n.store.History(ctx, f.s, f.v, id, 0, 0)
		if fault.Is(err, fault.NotFound) {
			continue
		}
		if err != nil {
			return err
		}
		if len(c.takenFrom(past)) > 0 { // what was derived from it may say that, too
			c.since = min(c.since, past[len(past)-1].Note.From-1)
		}
		all = append(all, past)
	}
	var changed []memory.Note
	for _, past := range all {
		same, other, err := c.clean(ctx, past, slices.Contains(x.again, past[0].Note.ID))
		if err != nil {
			return err
		}
		x.kept, changed = append(x.kept, same...), append(changed, other...)
	}
	f.embed(ctx, changed)
	x.kept = append(x.kept, changed...)
	return nil
}

// cleaner takes what is erased out of earlier versions of notes.
type cleaner struct {
	f     *finder
	id    uuid.UUID // of the erased note
	says  []*saying // what it says, of a fact
	by    *influence
	at    memory.Revision // of the deletion
	since memory.Revision // up to which nothing was derived from it
}

// takenFrom returns the sentences that the deletion has taken out of a note.
func (c *cleaner) takenFrom(past []memory.HistoryEntry) (out []string) {
	for i := range len(past) - 1 {
		h, was := &past[i], &past[i+1].Note
		if h.Note.Layer != c.f.c.ID || h.Note.From != c.at && (h.Changeset.Cause != memory.CauseDelete || h.Changeset.Trigger != c.id) {
			continue
		}
		cut := secret.Mark(memory.DeletedKind)
		if strings.Count(h.Note.Content, cut) <= strings.Count(was.Content, cut) {
			continue
		}
		for _, s := range text.Sentences(was.Content) {
			if !strings.Contains(h.Note.Content, s) {
				out = append(out, s)
			}
		}
	}
	return out
}

// clean returns the ended versions of a note as they are without what is erased: those that are as they were, and the others.
func (c *cleaner) clean(ctx context.Context, past []memory.HistoryEntry, again bool) (same, changed []memory.Note, err error) {
	told, err := c.by.toldOf(ctx, past[0].Note.ID)
	if err != nil {
		return nil, nil, err
	}
	taken, described := c.takenFrom(past), c.f.reanalyzes(memory.KindNote)
	var last *memory.Note
	for i := len(past) - 1; i > 0; i-- {
		n := past[i].Note
		if n.Deleted || n.Layer != c.f.c.ID {
			continue
		}
		next, ok := n, n.From <= c.since || !again && memory.SameSaid(&n, &past[0].Note)
		switch {
		case (n.Kind == memory.KindNote || n.Kind == memory.KindMessage) && len(n.Provenance.Sources) == 0:
			next = c.cleanText(&n, taken)
			if then, lost := replay(past[i:], told, func(h *memory.HistoryEntry) kept { return c.by.keeps(c.id, h) }); lost && described {
				next.Context, next.Keywords, next.Tags, next.Vector = then.Context, then.Keywords, then.Tags, nil
			}
		case ok:
		case last == nil:
			continue
		default:
			next = *last
			next.Layer, next.From = n.Layer, n.From
		}
		if last = &next; memory.SameSaid(&n, &next) {
			same = append(same, next)
		} else {
			changed = append(changed, next)
		}
	}
	return same, changed, nil
}

// cleanText returns a version without sentences that were taken out of its note, and without those that say what is erased.
func (c *cleaner) cleanText(n *memory.Note, taken []string) memory.Note {
	if len(taken) == 0 {
		return *n
	}
	var out []string
	for _, s := range text.Sentences(n.Content) {
		says := func(w *saying) bool { return w.quotes(s) || w.isSaidBy(s) }
		if slices.Contains(taken, s) || slices.ContainsFunc(c.says, says) {
			out = append(out, s)
		}
	}
	if len(out) == 0 {
		return *n
	}
	return without(n, out)
}

// eraseChange removes what a deletion changed, and enqueues the job that erases what is still to be made again.
func (n *Service) eraseChange(ctx context.Context, s tenant.Scope, c *memory.Collection, id uuid.UUID, x *change, out *Erasure) error {
	erased, err := n.store.EraseNotes(ctx, s, c.ID, memory.Erasing{Notes: x.gone, Past: x.past, Kept: x.kept}, audit("note.erase", id, c))
	if err != nil {
		return err
	}
	out.Versions, out.Jobs, out.Reviews = out.Versions+erased.Versions, out.Jobs+erased.Jobs, out.Reviews+erased.Reviews
	out.Layers, out.Gone, out.Rewritten = memory.AppendNew(out.Layers, erased.Layers...), memory.AppendNew(out.Gone, x.gone...), memory.AppendNew(out.Rewritten, x.past...)
	if len(x.again) == 0 {
		return nil
	}
	payload, err := json.Marshal(memory.EraseJob{Notes: x.again, Before: x.at})
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
