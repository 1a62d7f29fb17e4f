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

// influence is what decisions that read a note have written into others. An erasure follows it through a collection and its forks.
type influence struct {
	changesets map[place]*evolution      // that wrote it, with what is known of their jobs
	since      map[place]memory.Revision // the first version of a note of a layer that has it
	// touched are notes that stay, of which an erasure leaves the current version only: they were described from it, or a decision about
	// them that read it proposed changes.
	touched []uuid.UUID
	stale   []uuid.UUID // of the last collection: summaries, profiles and sessions that are made again
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
	for {
		list, err := f.n.store.ListJobs(ctx, f.s, q)
		if err != nil {
			return nil, err
		}
		for i := range list {
			var e evolution
			if j := &list[i]; wanted(j.ID) && len(j.Result) > 0 && json.Unmarshal(j.Result, &e) == nil {
				out[j.ID] = e
			}
			q.Before = list[i].ID
		}
		if len(list) < q.Limit || slices.Compare(q.Before[:], first[:]) <= 0 {
			return out, nil
		}
	}
}

// wroteInto returns the notes into which a note may have written: those that the decisions about it read.
func (f *finder) wroteInto(ctx context.Context, id uuid.UUID) (out []uuid.UUID, err error) {
	jobs, err := f.jobsOf(ctx, []uuid.UUID{id}, func(uuid.UUID) bool { return true }, uuid.Nil)
	for _, j := range jobs {
		for _, r := range j.Read {
			out = appendNew(out, r.Note)
		}
	}
	return out, err
}

// follow adds what the log of the finder's collection has of the influence of a note.
func (x *influence) follow(ctx context.Context, f *finder, id uuid.UUID) error {
	begin, err := f.begin(ctx, id)
	if err != nil {
		return err
	}
	var evolved []memory.Changeset
	wanted := map[uuid.UUID]bool{}
	first := uuid.Max
	const page = 500
	for after := begin; ; {
		list, err := f.n.store.Changesets(ctx, f.s, f.v, after, page)
		if err != nil {
			return err
		}
		for _, c := range list {
			if after = c.Revision; isEvolution(&c) {
				evolved = append(evolved, c)
				if wanted[c.Job] = true; slices.Compare(c.Job[:], first[:]) < 0 {
					first = c.Job
				}
			}
		}
		if len(list) < page {
			break
		}
	}
	if slices.Compare(id[:], first[:]) > 0 {
		first = id // no older decision has read it
	}
	jobs, err := f.jobsOf(ctx, nil, func(id uuid.UUID) bool { return wanted[id] }, first)
	if err != nil {
		return err
	}
	written := map[memory.Revision][]uuid.UUID{}
	err = f.n.store.LogBegun(ctx, f.s, f.v, begin, []memory.Kind{memory.KindNote, memory.KindMessage}, "", func(r memory.LogRow) error {
		if !r.Note.Deleted {
			written[r.Note.From] = append(written[r.Note.From], r.Note.ID)
		}
		return nil
	})
	if err != nil {
		return err
	}
	decisions := map[memory.Revision]*memory.Changeset{}
	for i := range evolved {
		decisions[evolved[i].Revision] = &evolved[i]
	}
	for _, at := range slices.Sorted(maps.Keys(written)) {
		x.add(f, id, at, decisions[at], jobs, written[at])
	}
	return nil
}

// add adds one changeset of the log, which is a decision or (nil) another.
func (x *influence) add(f *finder, id uuid.UUID, at memory.Revision, by *memory.Changeset, jobs map[uuid.UUID]evolution, written []uuid.UUID) {
	here := f.c.ID
	if by != nil {
		job, known := jobs[by.Job]
		reads := by.Trigger == id
		for _, r := range job.Read {
			since, ok := x.since[place{layer: r.Layer, note: r.Note}]
			reads = reads || r.Note == id || ok && r.From >= since
		}
		// What a job read that is gone is not known. It read what it wrote.
		reads = reads || !known && slices.ContainsFunc(written, func(n uuid.UUID) bool { return x.has(f, n) })
		if reads {
			if !known {
				job.Tags = []string{""}
			}
			x.changesets[place{layer: here, at: at}] = &job
			if job.Review != nil && by.Trigger != id {
				x.touched = appendNew(x.touched, by.Trigger)
			}
		}
	}
	for _, n := range written {
		if p := (place{layer: here, note: n}); n != id && x.since[p] == 0 && (x.changesets[place{layer: here, at: at}] != nil || x.has(f, n)) {
			x.since[p] = at
		}
	}
}

// has reports whether a layer of the view has a version of a note with the influence.
func (x *influence) has(f *finder, note uuid.UUID) bool {
	return slices.ContainsFunc(f.v.Layers, func(l memory.Layer) bool { return x.since[place{layer: l.Collection, note: note}] > 0 })
}

func isEvolution(c *memory.Changeset) bool {
	return c.Cause == memory.CauseEvolve || c.Cause == memory.CauseReview
}

// begin returns the revision before the first version of a note in the finder's collection; 0: it has none.
func (f *finder) begin(ctx context.Context, id uuid.UUID) (memory.Revision, error) {
	past, err := f.n.store.History(ctx, f.s, f.v, id, 0, 0)
	if fault.Is(err, fault.NotFound) {
		return 0, nil
	}
	if err != nil || past[len(past)-1].Note.Layer != f.c.ID {
		return 0, err
	}
	return past[len(past)-1].Note.From - 1, nil
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
			of = appendNew(of, p.note)
		}
	} else if of, err = f.wroteInto(ctx, e.id); err != nil {
		return nil, nil, err
	}
	slices.SortFunc(of, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
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
	then, lost := replay(past, func(h *memory.HistoryEntry) kept {
		var by *evolution
		if x != nil {
			by = x.changesets[place{layer: h.Note.Layer, at: h.Note.From}]
		}
		switch {
		case !isEvolution(&h.Changeset) || by == nil && h.Changeset.Trigger != e.id:
			return all
		case h.Changeset.Trigger != now.ID:
			return none
		case h.Changeset.Cause == memory.CauseEvolve && len(by.Tags) == 0:
			return all // it has only described itself
		}
		again = true
		return undecided
	})
	next = now
	next.Context, next.Keywords, next.Tags = then.Context, then.Keywords, then.Tags
	if again = again && len(next.Tags) == 0 && !slices.Contains(next.Supplied, memory.FieldTags); again {
		next.State, next.Error, next.Analyst = memory.StateRaw, "", ""
	}
	if x != nil && now.State == memory.StateInReview && slices.Contains(x.touched, now.ID) {
		next.State = memory.StateEvolved // its proposals go
	}
	changes = !memory.SameSaid(&now, &next) || now.State != next.State
	if x != nil {
		if lost {
			x.touched = appendNew(x.touched, now.ID)
		}
	}
	return next, changes, again, nil
}

// kept says which changes of a version stay.
type kept int

const (
	all       kept = iota
	undecided      // context and keywords, which are of the note's own text
	none
)

// replay returns a note as it would be without what some of its versions changed, and reports whether they changed something. The
// history is newest first.
func replay(past []memory.HistoryEntry, of func(*memory.HistoryEntry) kept) (out memory.Note, lost bool) {
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
		if stays != all && !slices.Equal(out.Tags, was.Tags) {
			out.Tags, lost = was.Tags, true
		}
		if stays == none && (out.Context != was.Context || !slices.Equal(out.Keywords, was.Keywords)) {
			out.Context, out.Keywords, lost = was.Context, was.Keywords, true
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
			x.touched = appendNew(appendNew(x.touched, l.Source), l.Target)
		}
	}
	if e.influence == nil {
		return out, nil
	}
	kept, err := f.inherited(ctx, e.influence)
	if err != nil {
		return out, err
	}
	for i := range kept {
		if !slices.ContainsFunc(out.edits, isNote(kept[i].ID)) {
			out.edits = append(out.edits, kept[i])
		}
	}
	out.edits = slices.DeleteFunc(out.edits, func(n memory.Note) bool { return slices.Contains(*gone, n.ID) })
	return out, nil
}

// inherited returns the notes of a fork that its base holds and of which it keeps the current version only, so that the fork does not
// lose what it shows.
func (f *finder) inherited(ctx context.Context, x *influence) ([]memory.Note, error) {
	shown, err := f.n.store.Notes(ctx, f.s, f.v, x.touched, memory.ReadOptions{Vector: true})
	return slices.DeleteFunc(shown, func(n memory.Note) bool { return n.Layer == f.c.ID }), err
}

// unlearned finds the facts that others support too. Those that were never without what goes are added to it, and what else they come from
// is learned again. The others are as they were before.
func (f *finder) unlearned(ctx context.Context, x *influence, gone *[]uuid.UUID, out *inOthers) error {
	if !f.reanalyzes(memory.KindFact) {
		return nil
	}
	var edits []memory.Note
	for known := -1; known != len(*gone); {
		facts, err := f.list(ctx, memory.NoteQuery{Kinds: []memory.Kind{memory.KindFact}, Sources: *gone})
		if err != nil {
			return err
		}
		known, edits = len(*gone), nil
		for i := range facts {
			if slices.Contains(*gone, facts[i].ID) {
				continue
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
			out.learnLost(&facts[i], before.Provenance.Sources)
		}
		if *gone, err = f.supported(ctx, *gone); err != nil {
			return err
		}
	}
	out.learn = slices.DeleteFunc(out.learn, func(id uuid.UUID) bool { return slices.Contains(*gone, id) })
	for i := range edits {
		x.touched = appendNew(x.touched, edits[i].ID)
	}
	f.embed(ctx, edits)
	out.edits = append(out.edits, edits...)
	return nil
}

// learnLost adds the sources of a fact that it has no longer.
func (x *inOthers) learnLost(fact *memory.Note, left []uuid.UUID) {
	for _, id := range fact.Provenance.Sources {
		if !slices.Contains(left, id) {
			x.learn = appendNew(x.learn, id)
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

// derived returns what any version of the view was derived from a note, also indirectly: the notes that are not visible, and the summaries,
// profiles and sessions that are.
func (f *finder) derived(ctx context.Context, id uuid.UUID) (hidden, shown []uuid.UUID, err error) {
	from := map[uuid.UUID][]uuid.UUID{}
	for i, l := range f.v.Layers {
		_, err := f.n.store.Log(ctx, f.s, f.v, i, 0, "", func(r memory.LogRow) error {
			for _, source := range r.Note.Provenance.Sources {
				if r.Note.From <= l.Bound {
					from[source] = appendNew(from[source], r.Note.ID)
				}
			}
			return nil
		})
		if err != nil {
			return nil, nil, err
		}
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
	past, err := f.n.store.History(ctx, f.s, f.v, id, 0, 0)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return nil, err
	}
	for i := range past {
		if !past[i].Note.Deleted {
			return &past[i].Note, nil
		}
	}
	return nil, nil //nolint:nilnil // there is none
}

// retired returns the edges of the collection. It adds to what goes the facts that a decision has retired and that nothing else supports:
// they are not visible, but edges and entities come from them.
func (f *finder) retired(ctx context.Context, gone *[]uuid.UUID) ([]memory.Link, error) {
	edges, from, err := f.edges(ctx)
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
			*gone = appendNew(*gone, id)
		}
	}
	return edges, err
}

// edges returns the edges between the entities of the collection, and what edges and entities come from.
func (f *finder) edges(ctx context.Context) (edges []memory.Link, from map[uuid.UUID]bool, err error) {
	entities, err := f.list(ctx, memory.NoteQuery{Kinds: []memory.Kind{memory.KindEntity}})
	if err != nil {
		return nil, nil, err
	}
	from = map[uuid.UUID]bool{}
	for page := range slices.Chunk(entities, memory.MaxPage) {
		ids := make([]uuid.UUID, len(page))
		for i := range page {
			ids[i] = page[i].ID
			for _, id := range page[i].Provenance.Sources {
				from[id] = true
			}
		}
		links, err := f.n.store.Links(ctx, f.s, f.v, memory.LinkQuery{Notes: ids, Direction: memory.Outgoing, Limit: math.MaxInt32})
		if err != nil {
			return nil, nil, err
		}
		for i := range links {
			e, ok := graph.EdgeOf(&links[i])
			if ok {
				edges = append(edges, links[i])
			}
			for _, id := range e.Sources {
				from[id] = true
			}
		}
	}
	return edges, from, nil
}

// retiredFrom returns what a fact was derived from that a decision has retired; ok is false for all others.
func (f *finder) retiredFrom(ctx context.Context, id uuid.UUID) (of []uuid.UUID, ok bool, err error) {
	past, err := f.n.store.History(ctx, f.s, f.v, id, 0, 2)
	if fault.Is(err, fault.NotFound) || err == nil && (len(past) < 2 || !past[0].Note.Deleted || past[1].Note.Kind != memory.KindFact) {
		return nil, false, nil
	}
	if err != nil {
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
