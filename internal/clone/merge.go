package clone

import (
	"context"
	"errors"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/block"
	"github.com/slipboxhq/slipbox/internal/merge"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

const (
	// maxShown is how many notes a dry run may show.
	maxShown = 10_000
	// maxReviewed is how many notes one review may show.
	maxReviewed = 500
	// mergeTries is how often a merge begins again because another one was written meanwhile.
	mergeTries = 100
)

// MergeInput asks for the changes of another collection.
type MergeInput struct {
	From     string
	At       *memory.Revision // of From; nil: its head
	Strategy merge.Strategy   // "": fail
	Notes    []uuid.UUID      // only these, and their links; nil: all
	Select   Select           // only what it selects
	DryRun   bool             // write nothing
	// Review makes a review instead, of all that is not approved immediately.
	Review bool
	// ApproveFrom is the confidence from which on an added note needs no review; nil: none is approved immediately.
	ApproveFrom *float64

	// Background makes a job of the merge. One that touches more than Config.MaxInline notes always is.
	Background bool

	closes   *memory.Review // approve it with the merge
	reason   string
	job      uuid.UUID // that runs the merge; zero: the caller waits for it
	progress memory.ReportProgress
}

// inline reports whether the caller waits for a merge or rollback that touches so many notes.
func (c *Service) inline(background bool, job uuid.UUID, touched int) bool {
	return job != uuid.Nil || !background && touched <= c.cfg.MaxInline
}

// report records the progress of the job that runs a merge, if there is one.
func report(ctx context.Context, progress memory.ReportProgress, done, total int) error {
	if progress == nil {
		return nil
	}
	return progress(ctx, memory.Progress{Done: int64(done), Total: int64(total)})
}

// Select selects notes of the other collection. Its zero value selects all.
type Select struct {
	Kinds         []memory.Kind `json:"kinds,omitempty"`
	MinConfidence float64       `json:"min_confidence,omitempty"` // of the attribute "confidence"; a note without one has none
	MinAge        time.Duration `json:"min_age,omitempty"`
}

func (f *Select) isZero() bool { return len(f.Kinds) == 0 && f.MinConfidence == 0 && f.MinAge == 0 }

func (f *Select) matches(n *memory.Note, now time.Time) bool {
	return (len(f.Kinds) == 0 || slices.Contains(f.Kinds, n.Kind)) &&
		(f.MinConfidence == 0 || confidence(n) >= f.MinConfidence) &&
		(f.MinAge == 0 || !n.CreatedAt.After(now.Add(-f.MinAge)))
}

func confidence(n *memory.Note) float64 {
	c, _ := n.Attributes["confidence"].(float64)
	return c
}

// Merged is the outcome of a merge.
type Merged struct {
	Revision     memory.Revision // of the changeset, or the head when nothing was written
	Notes, Links int             // that the merge changes
	Conflicts    []merge.Conflict
	Review       *memory.Review // what waits for approval; nil: nothing does
	Known        bool           // Review is one that was open already, and that asks for the same
	Replaced     []uuid.UUID    // reviews that were open, whose place Review takes
	Job          *memory.Job    // that merges; nil: it is done
}

// ErrConflicts is the cause of the fault for a merge with conflicts that is to fail on them. The outcome lists them.
var ErrConflicts = fault.New(fault.Conflict, "both sides changed the same fields; choose ours or theirs, or only some notes")

// Merge brings what another collection of the lineage has changed since the fork point, or since the last merge, into a
// collection, as one changeset. It needs notes:write, and base:write on a shared base; a review of a shared base needs
// notes:write.
func (c *Service) Merge(ctx context.Context, s tenant.Scope, ref string, in MergeInput) (Merged, error) {
	if err := tenant.Check(s, tenant.NotesWrite); err != nil {
		return Merged{}, err
	}
	switch in.Strategy {
	case "":
		in.Strategy = merge.Fail
	case merge.Fail, merge.Ours, merge.Theirs:
	default:
		return Merged{}, fault.InvalidField("strategy", "must be fail, ours or theirs")
	}
	for try := 1; ; try++ {
		out, err := c.merge(ctx, s, ref, &in)
		if !errors.Is(err, memory.ErrMoved) || try == mergeTries {
			return out, err
		}
	}
}

func (c *Service) merge(ctx context.Context, s tenant.Scope, ref string, in *MergeInput) (Merged, error) {
	p, err := c.planMerge(ctx, s, ref, in)
	if err != nil {
		return Merged{}, err
	}
	if at, ok, err := c.landed(ctx, s, p.ours, in.job); ok || err != nil {
		return Merged{Revision: at}, err
	}
	if p.later {
		job, err := c.background(ctx, s, &p.ours, memory.JobMerge, mergeJob{p.theirs.Collection.ID, p.theirs.At, in.Strategy, in.Notes, in.Select})
		return Merged{Revision: p.ours.At, Job: job}, err
	}
	if in.DryRun {
		return p.dryRun(ctx)
	}
	if p.ours.Collection.Shared() && (!in.Review || in.ApproveFrom != nil) {
		if err := tenant.Check(s, tenant.BaseWrite); err != nil {
			return Merged{}, err
		}
	}
	if in.Review {
		return p.review(ctx, in)
	}
	return p.write(ctx, in)
}

// mergePlan is what a merge has read of the other side, which does not change while it runs.
type mergePlan struct {
	c            *Service
	s            tenant.Scope
	ours, theirs memory.View
	strategy     merge.Strategy
	ids          []uuid.UUID // of the notes to merge
	links        []memory.LinkID
	later        bool // a job is to do it: nothing else was read
	chosen       bool // only some of what the other side has changed
	base, other  map[uuid.UUID]*memory.Note
	baseLinks    map[memory.LinkID]memory.Link
	otherLinks   map[memory.LinkID]memory.Link
	usage        map[uuid.UUID]memory.Usage
	inherited    map[uuid.UUID]bool // notes that say the same as one of the other side, and that both sides come from
}

func (c *Service) planMerge(ctx context.Context, s tenant.Scope, ref string, in *MergeInput) (*mergePlan, error) {
	p := &mergePlan{c: c, s: s, strategy: in.Strategy}
	var err error
	if p.ours, err = c.store.OpenView(ctx, s, ref, memory.At{}); err != nil {
		return nil, err
	}
	if p.theirs, err = c.store.OpenView(ctx, s, in.From, memory.At{AsOf: in.At}); err != nil {
		return nil, renameField(err, "at")
	}
	if err := checkMergeable(&p.ours.Collection, &p.theirs.Collection); err != nil {
		return nil, err
	}
	base, partial, err := c.mergeBase(ctx, s, &p.ours, &p.theirs)
	if err != nil {
		return nil, err
	}
	touched, err := c.store.Touched(ctx, s, base, p.theirs)
	if err != nil {
		return nil, err
	}
	p.ids, p.links = touched.Notes, touched.Links
	for _, m := range partial {
		p.ids, p.links = append(p.ids, m.wrote.Notes...), append(p.links, m.wrote.Links...)
	}
	slices.SortFunc(p.ids, memory.CompareIDs)
	p.ids = slices.Compact(p.ids)
	slices.SortFunc(p.links, memory.CompareLinkIDs)
	p.links = slices.Compact(p.links)
	if p.later = !in.DryRun && !in.Review && in.closes == nil && !c.inline(in.Background, in.job, len(p.ids)); p.later {
		return p, nil
	}
	if in.DryRun && len(p.ids) > maxShown {
		return nil, fault.InvalidField("dry_run", "the merge changes %d notes; a dry run shows at most %d: compare the collections with a diff", len(p.ids), maxShown)
	}
	if err := report(ctx, in.progress, 0, len(p.ids)); err != nil {
		return nil, err
	}
	if err := p.readBase(ctx, &base, partial); err != nil {
		return nil, err
	}
	p.choose(in)
	if err := p.readInherited(ctx, base); err != nil {
		return nil, err
	}
	if p.usage, err = c.store.Usage(ctx, s, p.theirs, p.ids); err != nil {
		return nil, err
	}
	return p, nil
}

// reads are the views that the plan is made of.
func (p *mergePlan) reads() []memory.View { return []memory.View{p.ours, p.theirs} }

func checkMergeable(ours, theirs *memory.Collection) error {
	switch {
	case ours.ID == theirs.ID:
		return fault.InvalidField("from", "is the collection itself; to return to an earlier revision, use rollback")
	case ours.Policy != theirs.Policy:
		return fault.InvalidField("from", "has the policy %q, and this collection %q: export its notes and import them here", theirs.Policy, ours.Policy)
	case ours.Embedder != theirs.Embedder || ours.Dim != theirs.Dim:
		return fault.InvalidField("from", "has the embedder %q, and this collection %q: reembed one of them with the other's first",
			theirs.Embedder, ours.Embedder)
	}
	return nil
}

// readBase reads both ends of what the other side has changed.
func (p *mergePlan) readBase(ctx context.Context, base *memory.View, partial []partialMerge) (err error) {
	if p.base, err = p.c.notesIn(ctx, p.s, *base, p.ids); err != nil {
		return err
	}
	if p.baseLinks, err = p.c.linksIn(ctx, p.s, *base, p.links); err != nil {
		return err
	}
	for _, m := range partial {
		notes := slices.Concat(m.notes, m.wrote.Notes)
		then, err := p.c.notesIn(ctx, p.s, m.view, notes)
		if err != nil {
			return err
		}
		for _, id := range notes {
			p.base[id] = then[id]
		}
		links, err := p.c.linksIn(ctx, p.s, m.view, m.wrote.Links)
		if err != nil {
			return err
		}
		for _, id := range m.wrote.Links {
			delete(p.baseLinks, id)
		}
		maps.Copy(p.baseLinks, links)
	}
	if p.other, err = p.c.notesIn(ctx, p.s, p.theirs, p.ids); err != nil {
		return err
	}
	p.otherLinks, err = p.c.linksIn(ctx, p.s, p.theirs, p.links)
	return err
}

// choose leaves out what the other side did not change, and what was not asked for.
func (p *mergePlan) choose(in *MergeInput) {
	now := p.c.clock()
	differs := func(id uuid.UUID) bool {
		_, ok := changeOf(id, p.base[id], p.other[id])
		return ok
	}
	p.ids = slices.DeleteFunc(p.ids, func(id uuid.UUID) bool { return !differs(id) })
	if p.chosen = in.Notes != nil || !in.Select.isZero(); !p.chosen {
		return
	}
	keep := map[uuid.UUID]bool{}
	for _, id := range p.ids {
		n := p.other[id]
		if n == nil {
			n = p.base[id]
		}
		if (in.Notes == nil || slices.Contains(in.Notes, id)) && in.Select.matches(n, now) {
			keep[id] = true
		}
	}
	p.ids = slices.DeleteFunc(p.ids, func(id uuid.UUID) bool { return !keep[id] })
	p.links = slices.DeleteFunc(p.links, func(l memory.LinkID) bool { return !keep[l.Source] && !keep[l.Target] })
}

// head reads the side that is written, in a transaction or before it.
type head struct {
	notes func(ids []uuid.UUID) ([]memory.Note, error)
	links func(q memory.LinkQuery) ([]memory.Link, error)
	byKey func(kind memory.Kind, key string) (memory.Note, error)
	list  func(q memory.NoteQuery) ([]memory.Note, error)
}

func (p *mergePlan) headOf(ctx context.Context) head {
	return head{
		notes: func(ids []uuid.UUID) ([]memory.Note, error) {
			return p.c.store.Notes(ctx, p.s, p.ours, ids, memory.ReadOptions{Vector: true})
		},
		links: func(q memory.LinkQuery) ([]memory.Link, error) { return p.c.store.Links(ctx, p.s, p.ours, q) },
		byKey: func(kind memory.Kind, key string) (memory.Note, error) {
			return p.c.store.NoteByKey(ctx, p.s, p.ours, kind, key)
		},
		list: func(q memory.NoteQuery) ([]memory.Note, error) { return p.c.store.ListNotes(ctx, p.s, p.ours, q) },
	}
}

func headOfTx(ctx context.Context, tx memory.Tx) head {
	return head{
		notes: func(ids []uuid.UUID) ([]memory.Note, error) {
			return tx.Notes(ctx, ids, memory.ReadOptions{Vector: true})
		},
		links: func(q memory.LinkQuery) ([]memory.Link, error) { return tx.Links(ctx, q) },
		byKey: func(kind memory.Kind, key string) (memory.Note, error) { return tx.NoteByKey(ctx, kind, key) },
		list:  func(q memory.NoteQuery) ([]memory.Note, error) { return tx.ListNotes(ctx, q) },
	}
}

// decision is what a merge writes.
type decision struct {
	ours      map[uuid.UUID]*memory.Note
	puts      []memory.Note
	deletes   []uuid.UUID
	links     []memory.Link
	unlinks   []memory.LinkID
	conflicts []merge.Conflict
	same      map[uuid.UUID]uuid.UUID    // notes of the other side that this side has under another id
	taken     map[uuid.UUID]*memory.Note // those notes of this side, by the ids of the other
	replaced  map[uuid.UUID]bool         // those of this side whose place such a note takes
}

func (d *decision) isEmpty() bool { return len(d.puts)+len(d.deletes)+len(d.links)+len(d.unlinks) == 0 }

func (p *mergePlan) decide(h head) (*decision, error) {
	d := &decision{same: map[uuid.UUID]uuid.UUID{}, taken: map[uuid.UUID]*memory.Note{}, replaced: map[uuid.UUID]bool{}}
	var err error
	if d.ours, err = readNotes(p.ids, h.notes); err != nil {
		return nil, err
	}
	if err := p.match(h, d); err != nil {
		return nil, err
	}
	for _, id := range p.ids {
		p.decideNote(d, id)
	}
	if err := d.decidePassages(h); err != nil {
		return nil, err
	}
	for i := range d.puts {
		n := &d.puts[i]
		n.Provenance.Sources = d.renamedNotes(n.Provenance.Sources)
		if n.Kind == memory.KindBlock {
			block.Follow(n, d.ours[n.ID])
		}
	}
	return d, p.decideLinks(h, d)
}

func (p *mergePlan) decideNote(d *decision, id uuid.UUID) {
	ours, theirs := d.ours[id], d.renamedNote(p.other[id])
	if taken, ok := d.taken[id]; ok {
		p.decideTaken(d, taken, theirs)
		return
	}
	out, conflicts := merge.Notes(p.base[id], ours, theirs, p.strategy)
	d.conflicts = append(d.conflicts, conflicts...)
	switch out {
	case ours:
	case nil:
		d.deletes = append(d.deletes, id)
	default:
		d.puts = append(d.puts, p.attributed(*out, p.base[id], theirs))
	}
}

// decidePassages decides about passages by their file: those of a file that this side keeps its own of are left out, those that come in
// its place replace this side's, and none comes without its file.
func (d *decision) decidePassages(h head) error {
	comes := map[uuid.UUID]bool{}
	for i := range d.puts {
		comes[d.puts[i].ID] = true
	}
	here := map[uuid.UUID]bool{}
	var err error
	d.puts = slices.DeleteFunc(d.puts, func(n memory.Note) bool {
		file, ok := fileOf(&n)
		if !ok || err != nil {
			return false
		}
		if own, ok := d.same[file]; ok {
			return !d.replaced[own]
		}
		if _, known := here[file]; !known && !comes[file] {
			var found []memory.Note
			found, err = h.notes([]uuid.UUID{file})
			here[file] = len(found) > 0 && !slices.Contains(d.deletes, file)
		}
		return !comes[file] && !here[file]
	})
	cleared := map[uuid.UUID]bool{}
	for i := range d.puts {
		n := &d.puts[i]
		file, _ := fileOf(n)
		own, ok := d.same[file]
		if !ok || err != nil {
			continue
		}
		if !cleared[own] {
			cleared[own] = true
			err = d.deletePassages(h, own)
		}
		n.Key = strings.Replace(n.Key, file.String(), own.String(), 1)
		n.OwnAttributes()[memory.AttrFile] = own.String()
	}
	return err
}

// fileOf returns the file that a note is a passage of.
func fileOf(n *memory.Note) (file uuid.UUID, ok bool) {
	id, _ := n.Attributes[memory.AttrFile].(string)
	file, err := uuid.Parse(id)
	return file, err == nil && n.Kind == memory.KindPassage && slices.Contains(n.Provenance.Sources, file)
}

// deletePassages deletes the passages of a file of this side.
func (d *decision) deletePassages(h head, file uuid.UUID) error {
	list, err := h.list(memory.NoteQuery{Kinds: []memory.Kind{memory.KindPassage}, Sources: []uuid.UUID{file}})
	for i := range list {
		d.ours[list[i].ID] = &list[i]
		d.deletes = append(d.deletes, list[i].ID)
	}
	return err
}

// attributed names the agent whose knowledge a note is now: that of the other side, or one from whom the other side has it. A note
// that says nothing of who wrote it is by the agent of the other side. A rollback leaves what was there.
func (p *mergePlan) attributed(n memory.Note, base, theirs *memory.Note) memory.Note {
	if n.Provenance.Actor == "" {
		n.Provenance.Actor = p.theirs.Collection.AgentName
	}
	if theirs == nil {
		return n
	}
	n.Provenance.Agent = p.theirs.Collection.AgentName
	known := theirs.Provenance.Agent
	if p.ours.Collection.ID == p.theirs.Collection.ID || known != "" && (base == nil || base.Provenance.Agent != known) {
		n.Provenance.Agent = known
	}
	return n
}

func (p *mergePlan) decideLinks(h head, d *decision) error {
	ours, err := readLinks(p.links, h.links)
	if err != nil {
		return err
	}
	for _, id := range p.links {
		base, had := p.baseLinks[id]
		now, has := ours[id]
		then, wanted := p.otherLinks[id]
		switch {
		case had == wanted && (!had || sameLink(&base, &then)), has == wanted && (!has || sameLink(&now, &then)):
			continue // they changed nothing, or it is so already
		case had == has && (!had || sameLink(&base, &now)):
		default:
			d.conflicts = append(d.conflicts, linkConflict(id, linkValue(base, had), linkValue(now, has), linkValue(then, wanted)))
			if p.strategy != merge.Theirs {
				continue
			}
		}
		if wanted {
			then.LinkID = d.renamed(id)
			d.links = append(d.links, then)
		} else {
			d.unlinks = append(d.unlinks, id)
		}
	}
	return nil
}

func linkConflict(id memory.LinkID, base, ours, theirs any) merge.Conflict {
	return merge.Conflict{Note: id.Source, Field: "links." + id.Relation + "." + id.Target.String(), Base: base, Ours: ours, Theirs: theirs}
}

func linkValue(l memory.Link, ok bool) any {
	if !ok {
		return nil
	}
	return map[string]any{"confidence": l.Confidence, "attributes": l.Attributes}
}

func (p *mergePlan) dryRun(ctx context.Context) (Merged, error) {
	d, err := p.decide(p.headOf(ctx))
	if err != nil {
		return Merged{}, err
	}
	return d.merged(p.ours.At), nil
}

func (d *decision) merged(at memory.Revision) Merged {
	return Merged{Revision: at, Notes: len(d.puts) + len(d.deletes), Links: len(d.links) + len(d.unlinks), Conflicts: d.conflicts}
}

// write decides and writes under the lock of the collection, so that no other write comes between.
func (p *mergePlan) write(ctx context.Context, in *MergeInput) (Merged, error) {
	from := p.theirs.Source(&p.ours)
	if p.chosen {
		from.Notes = p.ids
	}
	o := memory.WriteOptions{Cause: memory.CauseMerge, Long: true, Job: in.job, MergedFrom: &from, Reads: p.reads(), Audit: []memory.AuditEntry{{
		Action: "collection.merge", Target: p.ours.Collection.ID.String(),
		Detail: map[string]any{"from": p.theirs.Collection.ID.String(), "revision": int64(from.Revision), "strategy": string(p.strategy)},
	}}}
	var out Merged
	w, err := p.c.store.Write(ctx, p.s, p.ours.Collection.ID, o, func(ctx context.Context, tx memory.Tx) error {
		if err := in.check(ctx, tx); err != nil {
			return err
		}
		d, err := p.decide(headOfTx(ctx, tx))
		if err != nil {
			return err
		}
		if out = d.merged(0); len(d.conflicts) > 0 && p.strategy == merge.Fail {
			return ErrConflicts
		}
		if err := p.checkQuota(ctx, d); err != nil {
			return err
		}
		if err := p.apply(ctx, tx, d); err != nil {
			return err
		}
		return in.close(ctx, tx, p.s, !d.isEmpty())
	})
	if errors.Is(err, ErrConflicts) {
		out.Revision, out.Notes, out.Links = p.ours.At, 0, 0
		return out, err
	}
	if err != nil {
		return Merged{}, err
	}
	out.Revision = w.Revision
	return out, report(ctx, in.progress, len(p.ids), len(p.ids))
}

func (p *mergePlan) checkQuota(ctx context.Context, d *decision) error {
	if p.c.quota == nil {
		return nil
	}
	var added, size int64
	for i := range d.puts {
		if d.ours[d.puts[i].ID] == nil {
			added, size = added+1, size+int64(len(d.puts[i].Content))
		}
	}
	if added == 0 {
		return nil
	}
	return p.c.quota.CheckNotes(ctx, p.s, added, size)
}

// apply writes a decision: links that end first, while both of their notes are there, and new ones last.
func (p *mergePlan) apply(ctx context.Context, tx memory.Tx, d *decision) error {
	if d.isEmpty() {
		return nil
	}
	for _, id := range d.unlinks {
		if _, err := tx.Unlink(ctx, id); err != nil {
			return err
		}
	}
	for _, id := range d.deletes {
		if err := tx.Delete(ctx, id); err != nil {
			return err
		}
	}
	for i := range d.puts {
		if err := p.put(ctx, tx, d, d.puts[i]); err != nil {
			return err
		}
	}
	if err := d.unlinkRevived(ctx, tx); err != nil {
		return err
	}
	for _, l := range d.links {
		l.Layer, l.From = uuid.Nil, 0
		if _, err := tx.Link(ctx, l); err != nil && !fault.Is(err, fault.NotFound) && !fault.Is(err, fault.Invalid) {
			return err // a link of a note that is not here is left out
		}
	}
	if err := p.adopt(ctx, tx, d); err != nil {
		return err
	}
	return p.c.refresh(ctx, tx, d)
}

// unlinkRevived removes the links that come back with a note that was deleted here. Those that the merge brings are linked again.
func (d *decision) unlinkRevived(ctx context.Context, tx memory.Tx) error {
	var added []uuid.UUID
	for i := range d.puts {
		if id := d.puts[i].ID; d.ours[id] == nil {
			added = append(added, id)
		}
	}
	for batch := range slices.Chunk(added, readBatch) {
		links, err := tx.Links(ctx, memory.LinkQuery{Notes: batch, Direction: memory.Both, Limit: allLinks})
		if err != nil {
			return err
		}
		for i := range links {
			if _, err := tx.Unlink(ctx, links[i].LinkID); err != nil {
				return err
			}
		}
	}
	return nil
}

// put writes a note, with the use that it has had, and lets it be embedded when it has no vector.
func (p *mergePlan) put(ctx context.Context, tx memory.Tx, d *decision, n memory.Note) error {
	if d.ours[n.ID] == nil {
		n = n.Outlives(tx.Now()) // it was brought back
	}
	made, err := tx.Put(ctx, n)
	if err != nil {
		return err
	}
	if u, used := p.usage[n.ID]; used && d.ours[n.ID] == nil {
		if err := tx.SetUsage(ctx, n.ID, u); err != nil {
			return err
		}
	}
	if made.Vector != nil || p.adopts(d, &n) {
		return nil
	}
	_, err = tx.Enqueue(ctx, memory.Job{Kind: memory.JobNote, Stage: memory.StagePrepare, Note: n.ID, Payload: memory.EmbedOnly()})
	return err
}

// adopts reports whether a note is new here, and its policy has not finished with it.
func (p *mergePlan) adopts(d *decision, n *memory.Note) bool {
	return d.ours[n.ID] == nil && memory.Decides(p.ours.Collection.Policy) && (n.State == memory.StateRaw || n.State == memory.StatePending)
}

// adopt enqueues the job that finishes notes which came unfinished.
func (p *mergePlan) adopt(ctx context.Context, tx memory.Tx, d *decision) error {
	if !slices.ContainsFunc(d.puts, func(n memory.Note) bool { return p.adopts(d, &n) }) {
		return nil
	}
	_, err := tx.Enqueue(ctx, memory.Job{Kind: memory.JobAdopt, Stage: memory.StageTask})
	return err
}

// refresh marks what is derived from changed notes as stale, and lets the policy make it again.
func (c *Service) refresh(ctx context.Context, tx memory.Tx, d *decision) error {
	v := tx.View()
	if c.policies == nil {
		return nil
	}
	known, _ := c.policies.ByName(v.Collection.Policy)
	policy, ok := known.(memory.Refresher)
	if !ok {
		return nil
	}
	written := map[uuid.UUID]*memory.Note{}
	for i := range d.puts {
		written[d.puts[i].ID] = &d.puts[i]
	}
	for _, id := range d.deletes {
		written[id] = nil
	}
	var ids []uuid.UUID
	for id, is := range written {
		if was := d.ours[id]; (was == nil) != (is == nil) || was != nil && was.Content != is.Content {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	slices.SortFunc(ids, memory.CompareIDs)
	q := memory.NoteQuery{Kinds: []memory.Kind{memory.KindSummary, memory.KindProfile, memory.KindSession}, Sources: ids}
	q.Vector = true
	derived, err := tx.ListNotes(ctx, q)
	if err != nil {
		return err
	}
	var follows []memory.Follow
	for _, id := range ids {
		stale, err := markStale(ctx, tx, id, derived, written)
		if err != nil {
			return err
		}
		follows = append(follows, policy.Refresh(d.ours[id], written[id], stale)...)
	}
	return memory.EnqueueFollows(ctx, tx, v.Collection.ID, follows)
}

// markStale marks the notes that are derived from one as stale, unless the other side made them again itself.
func markStale(ctx context.Context, tx memory.Tx, source uuid.UUID, derived []memory.Note, written map[uuid.UUID]*memory.Note) ([]memory.Note, error) {
	var out []memory.Note
	for i := range derived {
		n := &derived[i]
		if _, merged := written[n.ID]; merged || !slices.Contains(n.Provenance.Sources, source) {
			continue
		}
		if !n.Provenance.Stale {
			n.Provenance.Stale = true
			if _, err := tx.Put(ctx, *n); err != nil {
				return nil, err
			}
		}
		out = append(out, *n)
	}
	return out, nil
}

// partialMerge is a view from which both sides differ in some notes only: after a merge of these, or where merges that wrote them do not
// count.
type partialMerge struct {
	view  memory.View
	notes []uuid.UUID
	wrote memory.Touched // by merges that do not count
}

// mergeBase returns the view from which both sides differ: the later of the fork point and the last merge between them, either
// way. partial is about some notes: what a rollback has taken back, what the other side has taken from this one since that merge, then
// later merges of some notes from the other side, oldest first.
func (c *Service) mergeBase(ctx context.Context, s tenant.Scope, ours, theirs *memory.View) (base memory.View, partial []partialMerge, err error) {
	shared, ok := memory.Shared(ours, theirs)
	if !ok {
		return base, nil, unrelated("from")
	}
	base = ours.Upto(shared.Bound)
	into, err := c.store.Merges(ctx, s, *ours)
	if err != nil {
		return base, nil, err
	}
	back, err := c.store.Merges(ctx, s, *theirs)
	if err != nil {
		return base, nil, err
	}
	last, known, partial := lastMerge(into, theirs, shared.Bound)
	taken, knew, _ := lastMerge(back, ours, shared.Bound)
	var across []partialMerge
	side, other, log := theirs, ours, back // base is of a side, which may have rolled back what it had from the other one
	switch {
	case taken != nil && (last == nil || knew >= last.Revision):
		known = knew
		side, other, log = ours, theirs, into
	case last == nil:
		slices.Reverse(partial)
		return base, partial, nil
	default:
		if across, err = c.taken(ctx, s, theirs, ours, back, shared.Bound, known, theirs.At, ours.Upto); err != nil {
			return base, nil, err
		}
	}
	slices.Reverse(partial)
	undone, err := c.rolledBack(ctx, s, side, other, log, shared.Bound, known)
	return side.Upto(known), slices.Concat(undone, across, partial), err
}

// rolledBack returns what a side has taken back by a rollback after a revision which the other one has, and had taken from that one before
// it, as it was before. Else both sides would seem to have had it, and one to have deleted it.
func (c *Service) rolledBack(ctx context.Context, s tenant.Scope, side, other *memory.View, log []memory.Changeset, after, known memory.Revision) ([]partialMerge, error) {
	to := side.At
	for i := range log {
		if m := &log[i]; m.Revision > known && m.Revision <= to && m.Cause == memory.CauseRollback {
			to = m.MergedFrom.Revision
		}
	}
	return c.taken(ctx, s, side, other, log, after, to, known, func(memory.Revision) memory.View { return side.Upto(to) })
}

// taken returns what the merges from the other side have written to a side since a revision and up to another, oldest first. view is where
// that is read, by the revision of the other side that a merge knew.
func (c *Service) taken(ctx context.Context, s tenant.Scope, side, other *memory.View, log []memory.Changeset, after, since, upto memory.Revision,
	view func(memory.Revision) memory.View,
) (out []partialMerge, err error) {
	for m := range standing(log, upto) {
		if m.Revision <= since {
			break
		}
		at, ok := other.Knew(m.MergedFrom, after)
		if !ok {
			continue
		}
		wrote, err := c.store.Touched(ctx, s, side.Upto(m.Revision-1), side.Upto(m.Revision))
		if err != nil {
			return nil, err
		}
		out = append(out, partialMerge{view: view(at), wrote: wrote})
	}
	slices.Reverse(out)
	return out, nil
}

// standing yields the merges of a log, newest first, that no rollback up to a revision has taken back.
func standing(log []memory.Changeset, at memory.Revision) iter.Seq[*memory.Changeset] {
	return func(yield func(*memory.Changeset) bool) {
		for i := range log {
			switch m := &log[i]; {
			case m.Revision > at:
			case m.Cause == memory.CauseRollback:
				at = m.MergedFrom.Revision
			case !yield(m):
				return
			}
		}
	}
}

// lastMerge finds the merge in a log, newest first, that took the most of the other side's lineage after a revision, up to which one, and
// the merges of some notes since.
func lastMerge(log []memory.Changeset, other *memory.View, after memory.Revision) (last *memory.Changeset, known memory.Revision, partial []partialMerge) {
	known = after
	var later int
	for m := range standing(log, math.MaxInt64) {
		at, ok := other.Knew(m.MergedFrom, after)
		switch {
		case !ok:
		case m.MergedFrom.Notes != nil:
			partial = append(partial, partialMerge{view: other.Upto(at), notes: m.MergedFrom.Notes})
		case last == nil || at > known:
			last, known, later = m, at, len(partial)
		}
	}
	if last != nil {
		partial = partial[:later]
	}
	return last, known, partial
}
