package notes

import (
	"context"
	"encoding/json"
	"maps"
	"math"
	"slices"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/graph"
)

// place is a note in the log of one collection, or a revision of it.
type place struct {
	layer, note uuid.UUID
	at          memory.Revision
}

// influence is what decisions that read a note have written into others. An erasure follows it through a collection and its relatives,
// of which it reads each log once.
type influence struct {
	begin      memory.Revision           // no log has anything of the note up to it
	trails     map[uuid.UUID]*trail      // by collection
	changesets map[place]*evolution      // that wrote it, with what is known of their jobs
	since      map[place]memory.Revision // the first version of a note of a layer that has it
	// touched are notes that stay, of which an erasure leaves the current version only: they were described from it, or a decision about
	// them that read it proposed changes.
	touched []uuid.UUID
	stale   []uuid.UUID // of the last collection: summaries, profiles and sessions that are made again
}

// trail is what the log of one collection has since an influence began.
type trail struct {
	to      memory.Revision                 // up to which the log was read
	derived map[uuid.UUID][]memory.Version  // what each note is a source of
	written map[memory.Revision][]uuid.UUID // notes and messages

	f       *finder         // that has followed it; nil: none
	decided memory.Revision // up to which the decisions were read
	evolved map[memory.Revision]*memory.Changeset
	jobs    map[uuid.UUID]evolution
	foreign []memory.Revision // merges from collections that cannot be read
}

// read returns the trail of a layer of the finder's view, up to the bound of the layer.
func (x *influence) read(ctx context.Context, f *finder, i int) (*trail, error) {
	l := f.v.Layers[i]
	t := x.trails[l.Collection]
	if t == nil {
		t = &trail{to: x.begin, decided: x.begin, derived: map[uuid.UUID][]memory.Version{}, written: map[memory.Revision][]uuid.UUID{}, evolved: map[memory.Revision]*memory.Changeset{}}
		x.trails[l.Collection] = t
	}
	if l.Bound <= t.to {
		return t, nil
	}
	v := f.v
	v.At, v.Layers = l.Bound, f.v.Layers[i:]
	err := f.n.store.LogBegun(ctx, f.s, v, t.to, nil, "", func(r memory.LogRow) error {
		n := &r.Note
		for _, source := range n.Provenance.Sources {
			t.derived[source] = append(t.derived[source], n.Version())
		}
		if !n.Deleted && (n.Kind == memory.KindNote || n.Kind == memory.KindMessage) {
			t.written[n.From] = append(t.written[n.From], n.ID)
		}
		return nil
	})
	t.to = l.Bound
	return t, err
}

// evolution is what one decision read.
type evolution struct {
	Read []struct {
		Note  uuid.UUID       `json:"note"`
		Layer uuid.UUID       `json:"layer"`
		From  memory.Revision `json:"from"`
	} `json:"read"`
	Tags   []string   `json:"tags"` // that the note got from it; its own description may be of the same changeset
	Review *uuid.UUID `json:"review"`
}

// reanalyzes reports whether the policy decides again about what notes of a kind are or come from.
func (f *finder) reanalyzes(k memory.Kind) bool {
	p, _ := f.n.policies.ByName(f.c.Policy)
	r, ok := p.(memory.Reanalyzer)
	return ok && r.Reanalyzes(k)
}

// jobsOf returns what the wanted jobs have read, down to the first one: those of some notes, or of all (nil).
func (f *finder) jobsOf(ctx context.Context, of []uuid.UUID, wanted func(uuid.UUID) bool, first uuid.UUID) (map[uuid.UUID]evolution, error) {
	out := map[uuid.UUID]evolution{}
	q := memory.JobQuery{Notes: of, Limit: memory.MaxPage}
	if of == nil {
		q.Collection = f.c.ID
	}
	for j, err := range memory.EachJob(ctx, f.n.store, f.s, q) {
		if err != nil {
			return nil, err
		}
		var e evolution
		if wanted(j.ID) && len(j.Result) > 0 && json.Unmarshal(j.Result, &e) == nil {
			out[j.ID] = e
		}
		if memory.CompareIDs(j.ID, first) <= 0 {
			break
		}
	}
	return out, nil
}

// wroteInto returns the notes into which a note may have written: those that the decisions about it read.
func (f *finder) wroteInto(ctx context.Context, id uuid.UUID) (out []uuid.UUID, err error) {
	jobs, err := f.jobsOf(ctx, []uuid.UUID{id}, func(uuid.UUID) bool { return true }, uuid.Nil)
	for _, j := range jobs {
		for _, r := range j.Read {
			out = memory.AppendNew(out, r.Note)
		}
	}
	return out, err
}

// follow adds what the log of the finder's collection has of the influence of a note, and the logs of those that it was merged from.
func (x *influence) follow(ctx context.Context, f *finder, id uuid.UUID) error {
	if err := x.readDecisions(ctx, f, id); err != nil {
		return err
	}
	for known := -1; known != len(x.since)+len(x.changesets); {
		known = len(x.since) + len(x.changesets)
		for _, t := range x.trails {
			if t.f == nil {
				continue
			}
			for _, at := range slices.Sorted(maps.Keys(t.written)) {
				x.add(t, id, at)
			}
		}
	}
	return nil
}

// readDecisions reads which changesets of the finder's collection are decisions, and what their jobs have read.
func (x *influence) readDecisions(ctx context.Context, f *finder, id uuid.UUID) error {
	t, err := x.read(ctx, f, 0)
	if err != nil {
		return err
	}
	t.f = f
	merged, err := t.readChangesets(ctx)
	if err != nil {
		return err
	}
	wanted, first := map[uuid.UUID]bool{}, id // no older decision has read it
	for _, c := range t.evolved {
		if wanted[c.Job] = true; memory.CompareIDs(c.Job, first) < 0 {
			first = c.Job
		}
	}
	if t.jobs, err = f.jobsOf(ctx, nil, func(id uuid.UUID) bool { return wanted[id] }, first); err != nil || !merged {
		return err
	}
	return x.followMerges(ctx, f, t, id)
}

// readChangesets reads which changesets of a log are decisions. It reports whether there are merges among those that are new.
func (t *trail) readChangesets(ctx context.Context) (merged bool, err error) {
	if t.decided >= t.to {
		return false, nil
	}
	for c, err := range memory.EachChangeset(ctx, t.f.n.store, t.f.s, t.f.v, t.decided) {
		if err != nil {
			return false, err
		}
		if isEvolution(c) {
			t.evolved[c.Revision] = c
		}
		t.decided, merged = c.Revision, merged || c.Cause == memory.CauseMerge
	}
	t.decided = max(t.decided, t.to)
	return merged, nil
}

// followMerges reads the decisions of the collections from which merges have taken something.
func (x *influence) followMerges(ctx context.Context, f *finder, t *trail, id uuid.UUID) error {
	merges, err := f.n.store.Merges(ctx, f.s, f.v)
	if err != nil {
		return err
	}
	for i := range merges {
		m := &merges[i]
		if m.Collection != f.c.ID || m.Revision <= x.begin {
			continue
		}
		for _, of := range append(m.MergedFrom.Through, memory.Ancestor{Collection: m.MergedFrom.Collection}) {
			err := x.readOther(ctx, f, of.Collection, id)
			if fault.Is(err, fault.NotFound) {
				t.foreign = append(t.foreign, m.Revision)
			} else if err != nil {
				return err
			}
		}
	}
	return nil
}

// readOther reads the decisions of another collection once. NotFound when it cannot be read.
func (x *influence) readOther(ctx context.Context, f *finder, collection, id uuid.UUID) error {
	if t := x.trails[collection]; t != nil && t.f != nil {
		return nil
	}
	v, err := f.n.store.OpenView(ctx, f.s, collection.String(), memory.At{})
	if err != nil {
		return err
	}
	return x.readDecisions(ctx, &finder{n: f.n, s: f.s, v: v, c: &v.Collection}, id)
}

// add adds one changeset of a log.
func (x *influence) add(t *trail, id uuid.UUID, at memory.Revision) {
	here, written := place{layer: t.f.c.ID, at: at}, t.written[at]
	if by := t.evolved[at]; by != nil {
		job, known := t.jobs[by.Job]
		reads := by.Trigger == id
		for _, r := range job.Read {
			since, ok := x.since[place{layer: r.Layer, note: r.Note}]
			reads = reads || r.Note == id || ok && r.From >= since
		}
		// What a job read that is gone is not known. It read what it wrote.
		reads = reads || !known && slices.ContainsFunc(written, func(n uuid.UUID) bool { return x.has(t.f, n) })
		if reads && x.changesets[here] == nil {
			if !known {
				job.Tags = []string{""}
			}
			x.changesets[here] = &job
			if job.Review != nil && by.Trigger != id {
				x.touched = memory.AppendNew(x.touched, by.Trigger)
			}
		}
	}
	if slices.Contains(t.foreign, at) && slices.Contains(written, id) && x.changesets[here] == nil {
		x.changesets[here] = &evolution{Tags: []string{""}} // what was described from the note came with it
	}
	for _, n := range written {
		if p := (place{layer: here.layer, note: n}); n != id && x.since[p] == 0 && (x.changesets[here] != nil || x.has(t.f, n)) {
			x.since[p] = at
		}
	}
}

// has reports whether a layer of the view has a version of a note with the influence.
func (x *influence) has(f *finder, note uuid.UUID) bool {
	return slices.ContainsFunc(f.v.Layers, func(l memory.Layer) bool {
		at := x.since[place{layer: l.Collection, note: note}]
		return at > 0 && at <= l.Bound
	})
}

func isEvolution(c *memory.Changeset) bool {
	return c.Cause == memory.CauseEvolve || c.Cause == memory.CauseReview
}

// begin returns the revision before the first version of some notes in the finder's collection; 0: it has not the first one of all.
func (f *finder) begin(ctx context.Context, ids []uuid.UUID) (at memory.Revision, err error) {
	at = f.v.At
	for _, id := range ids {
		past, err := f.history(ctx, id)
		for _, first := range past[max(0, len(past)-1):] {
			if at = min(at, first.Note.From-1); first.Note.Layer != f.c.ID {
				return 0, nil
			}
		}
		if err != nil {
			return 0, err
		}
	}
	return at, nil
}

// described returns the notes of which a description was written from a note that is deleted, as they are without it. again are those
// that their policy describes again.
func (f *finder) described(ctx context.Context, e *noteDeletion) (edits []memory.Note, again []uuid.UUID, err error) {
	if !f.reanalyzes(memory.KindNote) { // decisions about a note describe no others
		return nil, nil, nil
	}
	var of []uuid.UUID
	if x := e.influence; x != nil {
		if err := x.follow(ctx, f, e.id); err != nil {
			return nil, nil, err
		}
		for p := range x.since {
			of = memory.AppendNew(of, p.note)
		}
	} else if of, err = f.wroteInto(ctx, e.id); err != nil {
		return nil, nil, err
	}
	slices.SortFunc(of, memory.CompareIDs)
	shown, err := f.n.store.Notes(ctx, f.s, f.v, of, memory.ReadOptions{})
	for i := range shown {
		if shown[i].ID == e.id {
			continue
		}
		next, changed, undecided, err := f.redescribed(ctx, e, shown[i])
		if err != nil {
			return nil, nil, err
		}
		if changed {
			edits = append(edits, next)
		}
		if undecided {
			again = append(again, next.ID)
		}
	}
	f.embed(ctx, edits)
	return edits, again, err
}

// redescribed returns a note without what was written into it. again reports whether its policy describes it again.
func (f *finder) redescribed(ctx context.Context, e *noteDeletion, now memory.Note) (next memory.Note, changes, again bool, err error) {
	past, err := f.n.store.History(ctx, f.s, f.v, now.ID, 0, 0)
	if err != nil {
		return now, false, false, err
	}
	x := e.influence
	told, err := x.toldOf(ctx, now.ID)
	if err != nil {
		return now, false, false, err
	}
	then, lost := replay(past, told, func(h *memory.HistoryEntry) kept {
		k := x.keeps(e.id, h)
		again = again || k == undecided
		return k
	})
	next = now
	next.Context, next.Keywords, next.Tags = then.Context, then.Keywords, then.Tags
	again = again || lost && next.Context == ""
	if again = again && len(next.Tags) == 0 && !slices.Contains(next.Supplied, memory.FieldTags); again {
		next.State, next.Error, next.Analyst = memory.StateRaw, "", ""
	}
	if x != nil && now.State == memory.StateInReview && slices.Contains(x.touched, now.ID) {
		next.State = memory.StateEvolved // its proposals go
	}
	changes = !memory.SameSaid(&now, &next) || now.State != next.State
	if x != nil && lost {
		x.touched = memory.AppendNew(x.touched, now.ID)
	}
	return next, changes, again, nil
}

// keeps returns what stays of what a version of a note changed in its description, without what was written from a note.
func (x *influence) keeps(id uuid.UUID, h *memory.HistoryEntry) kept {
	var by *evolution
	if x != nil {
		by = x.changesets[place{layer: h.Note.Layer, at: h.Note.From}]
	}
	switch {
	case by == nil && (!isEvolution(&h.Changeset) || h.Changeset.Trigger != id):
		return all
	case h.Changeset.Trigger != h.Note.ID:
		return none
	case h.Changeset.Cause == memory.CauseEvolve && len(by.Tags) == 0:
		return all // it has only described itself
	}
	return undecided
}

// description has the values of the fields that describe a note.
type description struct {
	contexts       []string
	keywords, tags [][]string
}

// toldOf returns what the influence has written into a note, in whichever collection: a merge, a rollback and a restored version repeat it.
func (x *influence) toldOf(ctx context.Context, note uuid.UUID) (out description, err error) {
	if x == nil {
		return out, nil
	}
	for layer, t := range x.trails {
		if t.f == nil || x.since[place{layer: layer, note: note}] == 0 {
			continue
		}
		past, err := t.f.history(ctx, note)
		if err != nil {
			return out, err
		}
		for i := range past {
			k, n, was := x.keeps(uuid.Nil, &past[i]), &past[i].Note, memory.Note{}
			if i+1 < len(past) {
				was = past[i+1].Note
			}
			if k == none && n.Context != "" && n.Context != was.Context {
				out.contexts = append(out.contexts, n.Context)
			}
			if k == none && len(n.Keywords) > 0 && !slices.Equal(n.Keywords, was.Keywords) {
				out.keywords = append(out.keywords, n.Keywords)
			}
			if k != all && len(n.Tags) > 0 && !slices.Equal(n.Tags, was.Tags) {
				out.tags = append(out.tags, n.Tags)
			}
		}
	}
	return out, nil
}

// kept says which changes of a version stay.
type kept int

const (
	all       kept = iota
	undecided      // context and keywords, which are of the note's own text
	none
)

// replay returns a note as it would be without what some of its versions changed, and without what was told elsewhere, and reports whether
// that changed something. The history is newest first.
func replay(past []memory.HistoryEntry, told description, of func(*memory.HistoryEntry) kept) (out memory.Note, lost bool) {
	has := func(lists [][]string, l []string) bool {
		return slices.ContainsFunc(lists, func(x []string) bool { return slices.Equal(x, l) })
	}
	var last memory.Note
	for i := range slices.Backward(past) {
		n := &past[i].Note
		if n.Deleted {
			continue
		}
		stays := of(&past[i])
		if last.ID == uuid.Nil {
			out = *n
			out.Context, out.Keywords, out.Tags = "", nil, nil
		}
		was := out
		out.Context = changed(out.Context, last.Context, n.Context)
		out.Keywords = changedList(out.Keywords, last.Keywords, n.Keywords)
		out.Tags = changedList(out.Tags, last.Tags, n.Tags)
		if (stays != all || has(told.tags, out.Tags)) && !slices.Equal(out.Tags, was.Tags) {
			out.Tags, lost = was.Tags, true
		}
		if (stays == none || slices.Contains(told.contexts, out.Context)) && out.Context != was.Context {
			out.Context, lost = was.Context, true
		}
		if (stays == none || has(told.keywords, out.Keywords)) && !slices.Equal(out.Keywords, was.Keywords) {
			out.Keywords, lost = was.Keywords, true
		}
		last = *n
	}
	return out, lost
}

// changed returns what a field is after a change of it.
func changed(now, from, to string) string {
	if from == to {
		return now
	}
	return to
}

func changedList[T comparable](now, from, to []T) []T {
	if slices.Equal(from, to) {
		return now
	}
	return to
}

// inOthers is what an analyst wrote from a note into others that stay.
type inOthers struct {
	edits []memory.Note // the others without it
	again []uuid.UUID   // of edits: those that their policy describes again
	learn []uuid.UUID   // sources that are learned from again

	unlinks []memory.LinkID // edges that nothing supports any more
}

// writtenInto finds what was written from a note that is deleted. Facts that were never without it are added to those that go.
func (f *finder) writtenInto(ctx context.Context, e *noteDeletion, gone *[]uuid.UUID, edges []memory.Link) (out inOthers, err error) {
	out.edits, out.again, err = f.described(ctx, e)
	if err != nil {
		return out, err
	}
	if e.influence != nil {
		if err := f.unlearned(ctx, e.influence, gone, &out); err != nil {
			return out, err
		}
	}
	for i := range edges {
		x, l := e.influence, &edges[i]
		edge, _ := graph.EdgeOf(l)
		from := func(id uuid.UUID) bool { return !slices.Contains(*gone, id) }
		if x == nil && edge.Valid || len(edge.Sources) == 0 || slices.ContainsFunc(edge.Sources, from) || !from(l.Source) || !from(l.Target) {
			continue
		}
		if out.unlinks = append(out.unlinks, l.LinkID); x != nil {
			x.touched = memory.AppendNew(memory.AppendNew(x.touched, l.Source), l.Target)
		}
	}
	out.edits = slices.DeleteFunc(out.edits, func(n memory.Note) bool { return slices.Contains(*gone, n.ID) })
	return out, nil
}

// learned are the kinds of notes whose text a decision has made of their sources.
var learned = []memory.Kind{memory.KindFact, memory.KindKnowledge, memory.KindNote}

// unlearned finds what was learned from what goes, and is supported by others too. What was never without what goes is added to it, and
// of facts what else they come from is learned again. The others are as they were before.
func (f *finder) unlearned(ctx context.Context, x *influence, gone *[]uuid.UUID, out *inOthers) error {
	var edits []memory.Note
	for known := -1; known != len(*gone); {
		facts, err := f.learnedFrom(ctx, learned, *gone)
		if err != nil {
			return err
		}
		known, edits = len(*gone), nil
		for i := range facts {
			if _, triple := graph.TripleLink(&facts[i]); triple || slices.Contains(*gone, facts[i].ID) {
				continue // triples are deleted with the last of their facts
			}
			before, ok, err := f.before(ctx, &facts[i], *gone)
			if err != nil {
				return err
			}
			if ok {
				edits = append(edits, before)
			} else {
				*gone = append(*gone, facts[i].ID)
			}
			if facts[i].Kind == memory.KindFact && f.reanalyzes(memory.KindFact) {
				out.learnLost(&facts[i], before.Provenance.Sources)
			}
		}
		if *gone, err = f.supported(ctx, *gone); err != nil {
			return err
		}
	}
	out.learn = slices.DeleteFunc(out.learn, func(id uuid.UUID) bool { return slices.Contains(*gone, id) })
	for i := range edits {
		x.touched = memory.AppendNew(x.touched, edits[i].ID)
	}
	f.embed(ctx, edits)
	out.edits = append(out.edits, edits...)
	return nil
}

// learnLost adds the sources of a fact that it has no longer.
func (x *inOthers) learnLost(fact *memory.Note, left []uuid.UUID) {
	for _, id := range fact.Provenance.Sources {
		if !slices.Contains(left, id) {
			x.learn = memory.AppendNew(x.learn, id)
		}
	}
}

// before returns a fact as it was before some of its sources, or as a caller has written it since. ok is false if it never was, or if
// another fact says it now.
func (f *finder) before(ctx context.Context, fact *memory.Note, without []uuid.UUID) (next memory.Note, ok bool, err error) {
	past, err := f.n.store.History(ctx, f.s, f.v, fact.ID, 0, 0)
	if err != nil {
		return next, false, err
	}
	from := func(id uuid.UUID) bool { return slices.Contains(without, id) }
	i := slices.IndexFunc(past, func(h memory.HistoryEntry) bool {
		return !h.Note.Deleted && !slices.ContainsFunc(h.Note.Provenance.Sources, from)
	})
	next = *fact
	for k, h := range past[:max(0, len(past)-1)] {
		if c := h.Changeset.Cause; k != i && (c == memory.CausePatch || c == memory.CauseRestore) && h.Note.Content != past[k+1].Note.Content {
			next.Provenance.Sources = slices.DeleteFunc(slices.Clone(fact.Provenance.Sources), from)
			return next, true, nil
		}
		if k == i {
			break
		}
	}
	if i < 0 {
		next.Provenance.Sources = nil
		return next, false, nil
	}
	was := past[i].Note
	next.Content, next.Key, next.Context, next.Keywords, next.Attributes = was.Content, was.Key, was.Context, was.Keywords, was.Attributes
	next.OccurredAt, next.Analyst, next.Provenance = was.OccurredAt, was.Analyst, was.Provenance
	next.ExpiresAt, next.Vector = was.ExpiresAt, nil
	other, err := f.n.store.NoteByKey(ctx, f.s, f.v, fact.Kind, was.Key)
	if was.Key == "" || fault.Is(err, fault.NotFound) {
		return next, true, nil
	}
	return next, other.ID == fact.ID, err
}

// learnAgain enqueues the work on messages and notes whose facts went with others.
func learnAgain(ctx context.Context, tx memory.Tx, c *memory.Collection, ids []uuid.UUID) error {
	found, err := tx.Notes(ctx, ids, memory.ReadOptions{})
	if err != nil {
		return err
	}
	for i := range found {
		j := memory.Job{Collection: c.ID, Note: found[i].ID, Kind: memory.JobNote, Stage: memory.StagePrepare}
		if found[i].Kind == memory.KindMessage {
			j.Kind = memory.JobExchange
			if j.Payload, err = json.Marshal(memory.ExchangeJob{Messages: []uuid.UUID{found[i].ID}}); err != nil {
				return fault.Wrap(err, fault.Internal, "encode an exchange")
			}
		}
		if _, err := tx.Enqueue(ctx, j); err != nil {
			return err
		}
	}
	return nil
}

// learnedFrom returns the visible notes of some kinds that were derived from notes. Of an erasure, the logs name those that may be.
func (f *finder) learnedFrom(ctx context.Context, kinds []memory.Kind, from []uuid.UUID) ([]memory.Note, error) {
	if f.x == nil {
		return f.list(ctx, memory.NoteQuery{Kinds: kinds, Sources: from})
	}
	ids, err := f.derivedFrom(ctx, from)
	if err != nil {
		return nil, err
	}
	found, err := f.n.store.Notes(ctx, f.s, f.v, ids, memory.ReadOptions{})
	return slices.DeleteFunc(found, func(n memory.Note) bool {
		return !slices.Contains(kinds, n.Kind) || !slices.ContainsFunc(n.Provenance.Sources, func(id uuid.UUID) bool { return slices.Contains(from, id) })
	}), err
}

// derivedIn returns what the first layers of the finder's view have of each note as a source, since the influence began.
func (x *influence) derivedIn(ctx context.Context, f *finder, layers []memory.Layer) (map[uuid.UUID][]uuid.UUID, error) {
	out := map[uuid.UUID][]uuid.UUID{}
	for i, l := range layers {
		t, err := x.read(ctx, f, i)
		if err != nil {
			return nil, err
		}
		for source, of := range t.derived {
			for _, v := range of {
				if v.From <= l.Bound {
					out[source] = append(out[source], v.Note)
				}
			}
		}
	}
	return out, nil
}

// derived returns what any version of the view was derived from a note, also indirectly: the notes that are not visible, and the summaries,
// profiles and sessions that are.
func (f *finder) derived(ctx context.Context, x *influence, id uuid.UUID) (hidden, shown []uuid.UUID, err error) {
	from, err := x.derivedIn(ctx, f, f.v.Layers)
	if err != nil {
		return nil, nil, err
	}
	all := withDerived([]uuid.UUID{id}, from)
	visible, err := f.n.store.Notes(ctx, f.s, f.v, all, memory.ReadOptions{})
	seen := map[uuid.UUID]bool{}
	for i := range visible {
		n := &visible[i]
		if seen[n.ID] = true; slices.Contains(madeAgain, n.Kind) {
			shown = append(shown, n.ID)
		}
	}
	hidden = slices.DeleteFunc(all, func(id uuid.UUID) bool { return seen[id] })
	return hidden, shown, err
}

// last returns the newest version of a note that is not visible; nil: there is none.
func (f *finder) last(ctx context.Context, id uuid.UUID) (*memory.Note, error) {
	past, err := f.history(ctx, id)
	if i := slices.IndexFunc(past, func(h memory.HistoryEntry) bool { return !h.Note.Deleted }); i >= 0 {
		return &past[i].Note, err
	}
	return nil, err
}

// retired returns the edges that may come from what goes. It adds to that the facts that a decision has retired and that nothing else
// supports: they are not visible, but edges and entities come from them.
func (f *finder) retired(ctx context.Context, gone *[]uuid.UUID) ([]memory.Link, error) {
	edges, from, err := f.edges(ctx, *gone)
	if err != nil {
		return nil, err
	}
	shown, err := f.n.store.Notes(ctx, f.s, f.v, slices.Collect(maps.Keys(from)), memory.ReadOptions{})
	for i := range shown {
		delete(from, shown[i].ID)
	}
	was := slices.Clone(*gone)
	for id := range from {
		of, ok, err := f.retiredFrom(ctx, id)
		if err != nil {
			return nil, err
		}
		if !ok || !slices.ContainsFunc(of, func(id uuid.UUID) bool { return slices.Contains(was, id) }) {
			continue
		}
		held, err := f.holds(ctx, id, was)
		if err != nil {
			return nil, err
		}
		if !held {
			*gone = memory.AppendNew(*gone, id)
		}
	}
	return edges, err
}

// edges returns the edges that may come from notes, and what edges and entities come from. Of an erasure the logs name what was written
// since the notes began, and what was derived from them.
func (f *finder) edges(ctx context.Context, gone []uuid.UUID) (edges []memory.Link, from map[uuid.UUID]bool, err error) {
	var entities []memory.Note
	q, since := memory.LinkQuery{Direction: memory.Outgoing, Limit: math.MaxInt32}, map[memory.LinkID]bool{}
	if f.x == nil {
		entities, err = f.list(ctx, memory.NoteQuery{Kinds: []memory.Kind{memory.KindEntity}})
	} else {
		q.Direction = memory.Incoming // an edge leads from the person, who has most, to what is said of them
		entities, since, err = f.touchedEntities(ctx)
	}
	if err != nil {
		return nil, nil, err
	}
	from = map[uuid.UUID]bool{}
	for page := range slices.Chunk(entities, memory.MaxPage) {
		q.Notes = nil
		for i := range page {
			q.Notes = append(q.Notes, page[i].ID)
			for _, id := range page[i].Provenance.Sources {
				from[id] = true
			}
		}
		links, err := f.n.store.Links(ctx, f.s, f.v, q)
		if err != nil {
			return nil, nil, err
		}
		for i := range links {
			if f.x != nil && !since[links[i].LinkID] {
				continue
			}
			e, ok := graph.EdgeOf(&links[i])
			if ok {
				edges = append(edges, links[i])
			}
			for _, id := range e.Sources {
				from[id] = true
			}
		}
	}
	if f.x == nil {
		return edges, from, nil
	}
	derived, err := f.derivedFrom(ctx, gone)
	maps.DeleteFunc(from, func(id uuid.UUID, _ bool) bool { return !slices.Contains(derived, id) })
	return edges, from, err
}

// touchedEntities returns the entities that were written or linked since an influence began, and the links that were written since.
func (f *finder) touchedEntities(ctx context.Context) (out []memory.Note, links map[memory.LinkID]bool, err error) {
	t, err := f.n.store.Touched(ctx, f.s, f.v.Upto(f.x.begin), f.v)
	if err != nil {
		return nil, nil, err
	}
	links = map[memory.LinkID]bool{}
	ids := t.Notes
	for _, l := range t.Links {
		links[l] = true
		ids = append(ids, l.Target)
	}
	slices.SortFunc(ids, memory.CompareIDs)
	for page := range slices.Chunk(slices.Compact(ids), memory.MaxPage) {
		shown, err := f.n.store.Notes(ctx, f.s, f.v, page, memory.ReadOptions{})
		if err != nil {
			return nil, nil, err
		}
		out = append(out, slices.DeleteFunc(shown, func(n memory.Note) bool { return n.Kind != memory.KindEntity })...)
	}
	return out, links, nil
}

// derivedFrom returns what any version of was derived from notes, by the logs of an influence.
func (f *finder) derivedFrom(ctx context.Context, notes []uuid.UUID) (out []uuid.UUID, err error) {
	for i := range f.v.Layers {
		t, err := f.x.read(ctx, f, i)
		if err != nil {
			return nil, err
		}
		for _, source := range notes {
			for _, v := range t.derived[source] {
				out = memory.AppendNew(out, v.Note)
			}
		}
	}
	return out, nil
}

// retiredFrom returns what a fact was derived from that a decision has retired; ok is false for all others.
func (f *finder) retiredFrom(ctx context.Context, id uuid.UUID) (of []uuid.UUID, ok bool, err error) {
	past, err := f.history(ctx, id)
	if err != nil || len(past) < 2 || !past[0].Note.Deleted || past[1].Note.Kind != memory.KindFact {
		return nil, false, err
	}
	cause := past[0].Changeset.Cause
	return past[1].Note.Provenance.Sources, cause == memory.CauseExtract || cause == memory.CauseEvolve, nil
}

// holds reports whether a fact that a decision has retired comes from a visible note that does not go.
func (f *finder) holds(ctx context.Context, id uuid.UUID, gone []uuid.UUID) (bool, error) {
	of, ok, err := f.retiredFrom(ctx, id)
	if err != nil || !ok {
		return false, err
	}
	of = slices.DeleteFunc(slices.Clone(of), func(id uuid.UUID) bool { return slices.Contains(gone, id) })
	left, err := f.n.store.Notes(ctx, f.s, f.v, of, memory.ReadOptions{})
	return len(left) > 0, err
}
