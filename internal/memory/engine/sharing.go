package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// sharing finds what the jobs of a base decided, after a fork was made, about notes
// that the fork inherited unfinished: the same decision holds in the fork when
// everything that it rests on is the same there.
//
// It replays the base's log from the fork's revision on. Changesets of the awaited
// jobs are shared. All others, and all that the fork wrote itself, taint the notes
// that they wrote and linked. A decision that read, changed or linked a tainted note,
// or that would have found one in the fork, is not shared, and taints in turn what it
// wrote. So a note without a taint is equal in both at each revision of the replay.
type sharing struct {
	e    *Engine
	s    tenant.Scope
	job  *memory.Job
	fork memory.View
	base memory.View
	on   bool // false: nothing is shared

	wanted  map[uuid.UUID]bool // inherited and unfinished when the fork was made, as far as the fork has them
	tainted map[uuid.UUID]bool
	closed  bool // something was written whose effect on others is not known

	working  map[uuid.UUID]memory.Job // by id, the base's jobs that decide about inherited notes and have not ended
	busy     map[uuid.UUID]bool       // their notes
	adopting uuid.UUID                // the job of the base that waits for its parent; zero: none

	shared map[uuid.UUID]sharedVersion // the newest shared version of each note
	valid  map[uuid.UUID]bool          // notes whose decision is shared
	links  []memory.Link
}

// sharedVersion is a version in the base's layer.
type sharedVersion struct {
	from memory.Revision
	by   uuid.UUID // the note whose job wrote it
}

// logEntry is a changeset with the notes that it wrote or deleted.
type logEntry struct {
	memory.Changeset

	notes []memory.Note // id, state
	links []memory.Link // that it wrote and that are visible still
}

// share opens a fork's parent, and lists the jobs that it is working on. A policy that works by exchanges is left out: its
// decisions start tasks of the collection, which the fork would not have.
func (e *Engine) share(ctx context.Context, s tenant.Scope, v memory.View, job *memory.Job) (*sharing, error) {
	x := &sharing{
		e: e, s: s, job: job, fork: v, wanted: map[uuid.UUID]bool{}, tainted: map[uuid.UUID]bool{}, working: map[uuid.UUID]memory.Job{}, busy: map[uuid.UUID]bool{},
		shared: map[uuid.UUID]sharedVersion{}, valid: map[uuid.UUID]bool{},
	}
	c := &v.Collection
	pol, err := e.policyOf(c)
	if err != nil || pol.Describe().Exchanges || c.Parent == uuid.Nil || len(v.Layers) < 2 || v.Layers[1].Collection != c.Parent {
		return x, err
	}
	// Before the log, which then has what ends meanwhile: it is read up to the view's revision.
	if err := x.listWorking(ctx, c.Parent); err != nil {
		return x, err
	}
	x.base, err = e.open(ctx, s, c.Parent)
	if fault.Is(err, fault.NotFound) {
		return x, nil // it is being removed
	}
	if err != nil {
		return x, err
	}
	b := &x.base.Collection
	x.on = b.Policy == c.Policy && sameConfig(b.PolicyConfig, c.PolicyConfig) && b.Embedder == c.Embedder && b.Dim == c.Dim
	return x, nil
}

func (x *sharing) listWorking(ctx context.Context, base uuid.UUID) error {
	list, err := x.e.store.ListJobs(ctx, x.s, memory.JobQuery{Collection: base, Unended: true})
	for i := range list {
		switch list[i].Kind { //nolint:exhaustive // the others decide about no inherited note
		case memory.JobNote:
			x.working[list[i].ID], x.busy[list[i].Note] = list[i], true
		case memory.JobAdopt:
			x.working[list[i].ID] = list[i]
			x.adopting = list[i].ID
		}
	}
	return err
}

// last returns the job of the base that ends last, as far as is known now, of those that decide about notes.
func (x *sharing) last(waits []uuid.UUID) (id uuid.UUID) {
	if x.adopting != uuid.Nil {
		return x.adopting
	}
	awaited := make(map[uuid.UUID]bool, len(waits))
	for _, note := range waits {
		awaited[note] = true
	}
	var seq int64
	for _, j := range x.working {
		if j.Seq > seq && awaited[j.Note] {
			id, seq = j.ID, j.Seq
		}
	}
	return id
}

func sameConfig(a, b json.RawMessage) bool {
	if len(a) == 0 || len(b) == 0 {
		return len(a) == len(b)
	}
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}

// replay shares what the base decided since the fork was made.
func (x *sharing) replay(ctx context.Context, unfinished []memory.Note) error {
	if !x.on {
		return nil
	}
	for i := range unfinished {
		x.wanted[unfinished[i].ID] = true
	}
	own, err := x.readLog(ctx, x.fork, 0)
	if err != nil {
		return err
	}
	for i := range own {
		switch l := &own[i]; {
		case l.Job != x.job.ID || l.Cause != memory.CauseAdopt:
			x.taint(l)
		default:
			for k := range l.notes { // shared in an earlier round; a replay decides the same about them again
				x.wanted[l.notes[k].ID] = true
			}
		}
	}
	log, err := x.readLog(ctx, x.base, x.fork.Layers[1].Bound)
	if err != nil {
		return err
	}
	for i := range log {
		if err := x.apply(ctx, &log[i]); err != nil {
			return err
		}
	}
	return nil
}

// readLog reads a collection's own log after a revision.
func (x *sharing) readLog(ctx context.Context, v memory.View, after memory.Revision) ([]logEntry, error) {
	out, err := x.changesets(ctx, v, after)
	if err != nil {
		return nil, err
	}
	at := func(r memory.Revision) *logEntry {
		i, ok := slices.BinarySearchFunc(out, r, func(l logEntry, r memory.Revision) int { return int(l.Revision - r) })
		if !ok {
			return nil
		}
		return &out[i]
	}
	seen := map[uuid.UUID]memory.Note{}
	add := func(r memory.Revision, n memory.Note) {
		if l := at(r); l != nil {
			l.add(n)
		}
	}
	_, err = x.e.store.Log(ctx, x.s, v, 0, after, "", func(row memory.LogRow) error {
		id := row.Note.ID
		seen[id] = memory.Note{ID: id}
		if row.To > after {
			add(row.To, memory.Note{ID: id})
		}
		if row.Note.From > after {
			state := row.Note.State
			if row.Note.Deleted {
				state = ""
			}
			add(row.Note.From, memory.Note{ID: id, State: state})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for ids := range slices.Chunk(sortedIDs(seen), upkeepPage) {
		links, err := x.e.store.Links(ctx, x.s, v, memory.LinkQuery{Notes: ids, Direction: memory.Both, Limit: allLinks})
		if err != nil {
			return nil, err
		}
		for _, link := range links {
			if l := at(link.From); l != nil && link.Layer == v.Collection.ID && !slices.ContainsFunc(l.links, func(o memory.Link) bool { return o.LinkID == link.LinkID }) {
				l.links = append(l.links, link)
			}
		}
	}
	return out, nil
}

// changesets returns the entries of a collection's own log after a revision, without what they wrote.
func (x *sharing) changesets(ctx context.Context, v memory.View, after memory.Revision) ([]logEntry, error) {
	var out []logEntry
	for c, err := range memory.EachChangeset(ctx, x.e.store, x.s, v, after) {
		if err != nil {
			return nil, err
		}
		if c.Revision > v.At {
			break
		}
		out = append(out, logEntry{Changeset: *c})
	}
	return out, nil
}

// add adds a note that the changeset wrote: one without a state was deleted. One that was replaced by it was not.
func (l *logEntry) add(n memory.Note) {
	i := slices.IndexFunc(l.notes, func(m memory.Note) bool { return m.ID == n.ID })
	switch {
	case i < 0:
		l.notes = append(l.notes, n)
	case n.State != "":
		l.notes[i] = n
	}
}

// apply shares a changeset of the base, or taints what it wrote.
func (x *sharing) apply(ctx context.Context, l *logEntry) error {
	switch l.Cause { // all others taint
	case memory.CauseConsolidate: // vectors only
		for i := range l.notes {
			if was, ok := x.shared[l.notes[i].ID]; ok && !x.tainted[l.notes[i].ID] {
				was.from = l.Revision
				x.shared[l.notes[i].ID] = was
			}
		}
		return nil
	case memory.CauseAnalyze, memory.CauseMark, memory.CauseEvolve, memory.CauseAdopt:
	default:
		x.taint(l)
		return nil
	}
	if l.Job == uuid.Nil || x.closed || l.Cause != memory.CauseAdopt && !x.wanted[l.Trigger] || x.touchesTaint(l) {
		x.taint(l)
		return nil
	}
	if l.Cause == memory.CauseEvolve {
		same, err := x.sameNeighborhood(ctx, l)
		if err != nil {
			return err
		}
		if !same {
			x.taint(l)
			return nil
		}
	}
	for i := range l.notes {
		n := &l.notes[i]
		by := l.Trigger
		if l.Cause == memory.CauseAdopt {
			by = n.ID
		}
		x.shared[n.ID] = sharedVersion{from: l.Revision, by: by}
		if n.State == memory.StateRaw || n.State == memory.StatePending {
			x.wanted[n.ID] = true // such as a part of a note that was split
		}
		if n.ID == by && n.State == memory.StateEvolved {
			x.valid[n.ID] = true
		}
	}
	x.links = append(x.links, l.links...)
	return nil
}

// taint marks the notes that a changeset wrote, and those that it linked.
func (x *sharing) taint(l *logEntry) {
	switch l.Cause { // of the others it is not known which notes and links they changed
	case memory.CauseAdd, memory.CausePatch, memory.CauseDelete, memory.CauseImport, memory.CauseAnalyze, memory.CauseMark, memory.CauseEvolve,
		memory.CauseAdopt, memory.CauseConsolidate:
	default:
		x.closed = true
	}
	for i := range l.notes {
		x.tainted[l.notes[i].ID] = true
	}
	for i := range l.links {
		x.tainted[l.links[i].Source], x.tainted[l.links[i].Target] = true, true
	}
	if l.Trigger != uuid.Nil && l.Job != uuid.Nil {
		x.tainted[l.Trigger] = true
	}
}

// touchesTaint reports whether a changeset wrote or linked a tainted note, deleted one, or opened a
// review, which the fork has to open for itself.
func (x *sharing) touchesTaint(l *logEntry) bool {
	return x.tainted[l.Trigger] ||
		slices.ContainsFunc(l.notes, func(n memory.Note) bool {
			return x.tainted[n.ID] || n.State == "" || n.State == memory.StateInReview
		}) ||
		slices.ContainsFunc(l.links, func(k memory.Link) bool { return x.tainted[k.Source] || x.tainted[k.Target] })
}

// sameNeighborhood reports whether the decision of a changeset would read the same in the fork.
func (x *sharing) sameNeighborhood(ctx context.Context, l *logEntry) (bool, error) {
	if len(x.tainted) == 0 {
		return true, nil
	}
	done, err := x.e.store.Job(ctx, x.s, l.Job)
	if fault.Is(err, fault.NotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var r jobResult
	if err := json.Unmarshal(done.Result, &r); err != nil {
		return false, nil //nolint:nilerr // what it read is not known
	}
	ids := make([]uuid.UUID, 0, len(r.Read))
	for _, v := range r.Read {
		if x.tainted[v.Note] {
			return false, nil
		}
		ids = append(ids, v.Note)
	}
	if len(ids) > 0 { // a policy reads the notes that its neighbors are linked to
		links, err := x.e.store.Links(ctx, x.s, x.base, memory.LinkQuery{Notes: ids, Direction: memory.Both, Limit: allLinks})
		if err != nil {
			return false, err
		}
		if slices.ContainsFunc(links, func(k memory.Link) bool { return x.tainted[k.Source] || x.tainted[k.Target] }) {
			return false, nil
		}
	}
	return x.findsNoTaint(ctx, l, len(ids))
}

// findsNoTaint reports whether no tainted note of the fork is among the nearest of the decided note.
func (x *sharing) findsNoTaint(ctx context.Context, l *logEntry, read int) (bool, error) {
	const least = 10 // neighbors that are looked at, where the decision read fewer
	n, ok, err := x.e.readNote(ctx, x.s, x.base, l.Trigger)
	if err != nil || !ok || n.Vector == nil {
		return false, err
	}
	found, err := x.e.nearest.Nearest(ctx, x.s, x.fork, memory.NearestQuery{Vector: n.Vector, Limit: max(read, least) + 1, Filter: neighborFilter(&n)})
	if err != nil {
		return false, err
	}
	return !slices.ContainsFunc(found, func(f memory.Nearest) bool { return x.tainted[f.Note] }), nil
}

// settles reports whether the fork has what the base decided about a note.
func (x *sharing) settles(note uuid.UUID) bool {
	return x.valid[note]
}

// canWait reports whether a note's decision could still be shared.
func (x *sharing) canWait(note uuid.UUID) bool {
	return x.on && !x.closed && !x.tainted[note] && !x.valid[note]
}

// waitsFor reports whether the base will have a decision about a note whose newest job is given.
func (x *sharing) waitsFor(note uuid.UUID, j *memory.Job) bool {
	return x.canWait(note) && (x.adopting != uuid.Nil || j.Collection == x.base.Collection.ID && !j.Ended())
}

// adoptNotes writes the shared versions that the fork does not show, a page at a time. What changed in
// the fork meanwhile is left out.
func (x *sharing) adoptNotes(ctx context.Context) error {
	if !x.on {
		return nil
	}
	for ids := range slices.Chunk(sortedIDs(x.shared), upkeepPage) {
		if err := x.adoptPage(ctx, ids); err != nil {
			return err
		}
	}
	return nil
}

func (x *sharing) adoptPage(ctx context.Context, ids []uuid.UUID) error {
	have, err := x.e.store.Notes(ctx, x.s, x.fork, ids, memory.ReadOptions{Vector: true})
	if err != nil {
		return err
	}
	was := make(map[uuid.UUID]*memory.Note, len(have))
	for i := range have {
		was[have[i].ID] = &have[i]
	}
	want, err := x.versions(ctx, ids)
	if err != nil {
		return err
	}
	puts := slices.DeleteFunc(want, func(n memory.Note) bool {
		had, ok := was[n.ID]
		v := x.shared[n.ID]
		// An unfinished note is shared when its job is done, unless another job wrote it.
		unfinished := (n.State == memory.StateRaw || n.State == memory.StatePending) && v.by == n.ID
		return unfinished || ok && sameContent(had, &n)
	})
	if len(puts) == 0 {
		return nil
	}
	o := memory.WriteOptions{Cause: memory.CauseAdopt, Job: x.job.ID, System: true}
	_, err = x.e.store.Write(ctx, x.s, x.job.Collection, o, func(ctx context.Context, tx memory.Tx) error {
		now, err := tx.Notes(ctx, ids, memory.ReadOptions{})
		if err != nil {
			return err
		}
		current := make(map[uuid.UUID]memory.Version, len(now))
		for i := range now {
			current[now[i].ID] = now[i].Version()
		}
		for _, n := range puts {
			v, visible := current[n.ID]
			if had, ok := was[n.ID]; ok != visible || ok && had.Version() != v {
				continue
			}
			if _, err := tx.Put(ctx, n); err != nil {
				return err
			}
		}
		return nil
	})
	return err
}

// versions reads the shared versions of notes, with their vectors.
func (x *sharing) versions(ctx context.Context, ids []uuid.UUID) ([]memory.Note, error) {
	list, err := x.e.store.Notes(ctx, x.s, x.base, ids, memory.ReadOptions{Vector: true})
	if err != nil {
		return nil, err
	}
	out := list[:0]
	for _, n := range list {
		if from := x.shared[n.ID].from; n.From != from {
			// The base has changed it since, in a way that is not shared.
			then, err := x.e.store.OpenView(ctx, x.s, x.base.Collection.ID.String(), memory.At{AsOf: &from})
			if err != nil {
				return nil, err
			}
			past, ok, err := x.e.readNote(ctx, x.s, then, n.ID)
			if err != nil {
				return nil, err
			}
			if !ok {
				continue
			}
			n = past
		}
		out = append(out, n)
	}
	return out, nil
}

// link writes the shared links whose ends the fork shows.
func (x *sharing) link(ctx context.Context, tx memory.Tx) error {
	for links := range slices.Chunk(x.links, upkeepPage) {
		ends := map[uuid.UUID]bool{}
		for i := range links {
			ends[links[i].Source], ends[links[i].Target] = true, true
		}
		notes, err := tx.Notes(ctx, sortedIDs(ends), memory.ReadOptions{})
		if err != nil {
			return err
		}
		here := make(map[uuid.UUID]bool, len(notes))
		for i := range notes {
			here[notes[i].ID] = true
		}
		for _, l := range links {
			if !here[l.Source] || !here[l.Target] {
				continue
			}
			if _, err := tx.Link(ctx, l); err != nil {
				return err
			}
		}
	}
	return nil
}
