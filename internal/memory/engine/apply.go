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

	current  map[uuid.UUID]memory.Note
	moved    map[uuid.UUID]bool
	unsaid   map[uuid.UUID]bool           // listed messages that puts come from and that are gone or read differently
	relinked map[memory.LinkID]bool       // links that moved
	standing map[memory.LinkID]bool       // links that were there, of those that the decision puts
	after    map[uuid.UUID]memory.Version // of what was put
	deleted  map[uuid.UUID]bool           // by this changeset
	lost     []refused                    // with those of before
	changed  bool                         // something beyond states
	review   *uuid.UUID
}

func (w *writing) run(ctx context.Context) error {
	w.moved, w.relinked, w.standing = map[uuid.UUID]bool{}, map[memory.LinkID]bool{}, map[memory.LinkID]bool{}
	w.after, w.deleted = map[uuid.UUID]memory.Version{}, map[uuid.UUID]bool{}
	w.lost = slices.Clone(w.refused)
	if err := w.compare(ctx); err != nil {
		return err
	}
	if err := w.compareSaid(ctx); err != nil {
		return err
	}
	if err := w.compareLinks(ctx); err != nil {
		return err
	}
	if len(w.moved)+len(w.unsaid)+len(w.relinked) > 0 && !w.last {
		return memory.ErrMoved
	}
	// What ends goes first, so that a key that becomes free can be taken.
	steps := []func(context.Context) error{w.unlink, w.remove, w.putOwn, w.putOthers, w.link, w.follow, w.openReviews, w.count, w.end}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// compare finds what moved between reading and now: the notes of the event,
// notes that were read, those that were listed and are changed, and notes that
// were taken for absent.
func (w *writing) compare(ctx context.Context) error {
	read := make(map[uuid.UUID]memory.Version, len(w.desk.read))
	for id := range w.desk.read {
		n := w.desk.read[id]
		read[id] = n.Version()
	}
	whole := map[uuid.UUID]bool{} // whose texts are looked at again
	for i := range w.about {
		read[w.about[i].ID], whole[w.about[i].ID] = w.about[i].Version(), true
	}
	touch := func(id uuid.UUID) {
		if v, ok := w.desk.seen[id]; ok {
			if _, known := read[id]; !known {
				read[id] = v
			}
		}
	}
	for i := range w.dec.Puts {
		touch(w.dec.Puts[i].ID)
		whole[w.dec.Puts[i].ID] = true
	}
	for _, id := range w.dec.Deletes {
		touch(id)
	}
	wanted := maps.Clone(read)
	for i := range w.dec.Links { // ends that were only listed must be there, at whatever version
		for _, id := range []uuid.UUID{w.dec.Links[i].Source, w.dec.Links[i].Target} {
			if n, ok := w.desk.seen[id]; ok {
				wanted[id] = n
			}
		}
	}
	w.current = make(map[uuid.UUID]memory.Note, len(wanted))
	// A page at a time, since a decision may delete thousands of long notes.
	for page := range slices.Chunk(sortedIDs(wanted), upkeepPage) {
		now, err := w.tx.Notes(ctx, page, memory.ReadOptions{Vector: true})
		if err != nil {
			return err
		}
		for i := range now {
			n := now[i]
			if !whole[n.ID] {
				n = memory.Note{Layer: n.Layer, ID: n.ID, From: n.From}
			}
			w.current[n.ID] = n
		}
	}
	for id := range wanted {
		v, held := read[id]
		if c, ok := w.current[id]; !ok || held && c.Version() != v {
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

// compareLinks asks again what was asked of links: those that were read must
// stand as they did, and there must be no others.
func (w *writing) compareLinks(ctx context.Context) error {
	asked := map[memory.Direction][]uuid.UUID{}
	for _, q := range w.desk.linked {
		for _, d := range []memory.Direction{memory.Outgoing, memory.Incoming} {
			if q.direction&d != 0 {
				asked[d] = append(asked[d], q.notes...)
			}
		}
	}
	now := map[memory.LinkID]memory.Link{}
	for _, d := range []memory.Direction{memory.Outgoing, memory.Incoming} {
		links, err := w.linksOf(ctx, asked[d], d)
		if err != nil {
			return err
		}
		for _, l := range links {
			now[l.LinkID] = l
			if was, ok := w.desk.links[l.LinkID]; !ok || was.From != l.From || was.Layer != l.Layer {
				w.relinked[l.LinkID] = true
			}
		}
	}
	for id := range w.desk.links {
		if _, ok := now[id]; !ok {
			w.relinked[id] = true
		}
	}
	var sources []uuid.UUID
	for i := range w.dec.Links {
		sources = append(sources, w.dec.Links[i].Source)
	}
	links, err := w.linksOf(ctx, sources, memory.Outgoing)
	for _, l := range links {
		w.standing[l.LinkID] = true
	}
	return err
}

func (w *writing) linksOf(ctx context.Context, ids []uuid.UUID, d memory.Direction) ([]memory.Link, error) {
	slices.SortFunc(ids, compareIDs)
	ids = slices.Compact(ids)
	if len(ids) == 0 {
		return nil, nil
	}
	return w.tx.Links(ctx, memory.LinkQuery{Notes: ids, Direction: d, Limit: allLinks})
}

func (w *writing) putOwn(ctx context.Context) error {
	for i := range w.owns {
		if err := w.putOne(ctx, &w.about[i], w.owns[i]); err != nil {
			return err
		}
	}
	return nil
}

// putOne puts a note of the event.
func (w *writing) putOne(ctx context.Context, was *memory.Note, n memory.Note) error {
	if w.deleted[n.ID] {
		return nil
	}
	if w.moved[n.ID] {
		// The caller's version stays as it is; it is only no longer waiting.
		now, ok := w.current[n.ID]
		if !ok || now.State == memory.StateEvolved || now.State == memory.StateInReview || now.Content != was.Content {
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

// putOthers puts new and changed notes. A key that a later put sets free can be
// taken; one that another note has got meanwhile is a conflict, and the last
// time the put is left out.
func (w *writing) putOthers(ctx context.Context) error {
	left := slices.DeleteFunc(slices.Clone(w.dec.Puts), func(p memory.Note) bool {
		return w.moved[p.ID] || w.deleted[p.ID] || w.fresh(&p) && w.unfounded(&p)
	})
	for {
		var blocked []memory.Note
		for _, p := range left {
			taken, err := w.taken(ctx, &p)
			if err != nil {
				return err
			}
			if taken {
				blocked = append(blocked, p)
				continue
			}
			if err := w.putOther(ctx, p); err != nil {
				return err
			}
		}
		switch {
		case len(blocked) == 0:
			return nil
		case len(blocked) < len(left):
			left = blocked
		case !w.last:
			return memory.ErrMoved
		default:
			for i := range blocked {
				w.lost = append(w.lost, refused{Part: "note", Kind: blocked[i].Kind, Reason: "another note has its key"})
			}
			return nil
		}
	}
}

// unfounded tells whether what a new note was made of has changed: it is not made.
func (w *writing) unfounded(p *memory.Note) bool {
	for i := range w.about {
		was := &w.about[i]
		switch now, ok := w.current[was.ID]; {
		case !w.moved[was.ID]:
		case w.event == memory.EventNote:
			return true
		case (!ok || now.Content != was.Content) && slices.Contains(p.Provenance.Sources, was.ID):
			return true
		}
	}
	return false
}

// taken tells whether another note has the key of a put.
func (w *writing) taken(ctx context.Context, p *memory.Note) (bool, error) {
	if now, ok := w.current[p.ID]; p.Key == "" || ok && now.Key == p.Key && now.Kind == p.Kind {
		return false, nil
	}
	found, err := w.tx.NoteByKey(ctx, p.Kind, p.Key)
	if fault.Is(err, fault.NotFound) {
		return false, nil
	}
	return err == nil && found.ID != p.ID, err
}

func (w *writing) putOther(ctx context.Context, p memory.Note) error {
	if w.rests(&p) {
		p.Provenance.Stale = true
	}
	if now, ok := w.current[p.ID]; ok && sameContent(&now, &p) {
		return nil
	}
	fresh := w.fresh(&p)
	if fresh {
		p.Provenance.Job, p.Provenance.Actor = nil, ""
		if w.job != nil {
			p.Provenance.Job = &w.job.ID
		}
		if p.OccurredAt.IsZero() {
			p.OccurredAt = w.tx.Now()
		}
	}
	stored, err := w.tx.Put(ctx, p)
	if err != nil {
		return err
	}
	w.changed = true
	w.after[stored.ID] = stored.Version()
	if fresh && stored.State == memory.StateRaw {
		return w.enqueue(ctx, memory.Job{Kind: memory.JobNote, Stage: memory.StagePrepare, Note: stored.ID})
	}
	return nil
}

func (w *writing) enqueue(ctx context.Context, j memory.Job) error {
	j.Collection = w.desk.v.Collection.ID
	_, err := w.tx.Enqueue(ctx, j)
	return err
}

// link puts the links whose ends stand still. A decision about a note leaves a
// link as it is that it has not looked at: it may be there by a caller's hand.
func (w *writing) link(ctx context.Context) error {
	for _, l := range w.dec.Links {
		_, read := w.desk.links[l.LinkID]
		if w.standing[l.LinkID] && !read && w.event == memory.EventNote {
			continue
		}
		if w.relinked[l.LinkID] || !w.stands(l.Source) || !w.stands(l.Target) {
			continue
		}
		changed, err := w.tx.Link(ctx, l)
		if err != nil {
			return err
		}
		w.changed = w.changed || changed
	}
	return nil
}

// stands tells whether a note can be linked: it is there, as it was read.
func (w *writing) stands(id uuid.UUID) bool {
	if w.deleted[id] || w.moved[id] {
		return false
	}
	_, put := w.after[id]
	_, here := w.current[id]
	return put || here
}

func (w *writing) unlink(ctx context.Context) error {
	for _, id := range w.dec.Unlinks {
		if w.moved[id.Source] || w.moved[id.Target] || w.relinked[id] {
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
		if w.moved[id] || w.deleted[id] {
			continue
		}
		if err := w.tx.Delete(ctx, id); err != nil {
			return err
		}
		w.deleted[id], w.changed = true, true
	}
	return nil
}

// follow enqueues what the decision puts off.
func (w *writing) follow(ctx context.Context) error {
	return memory.EnqueueFollows(ctx, w.tx, w.desk.v.Collection.ID, w.dec.Follow)
}

// openReviews writes what waits for a person, and what was done and can be
// looked at later.
func (w *writing) openReviews(ctx context.Context) error {
	if w.job == nil {
		return nil // who asks looks at it now
	}
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
		Collection: w.job.Collection, Job: w.job.ID, Trigger: w.job.Note, State: state,
		Confidence: p.Confidence, Changes: p.Changes, Reason: p.Reason, Read: w.versions(),
	}
	if state == memory.ReviewApplied {
		r.Revision = w.tx.Revision()
	}
	return w.tx.OpenReview(ctx, r)
}

// versions lists what the decision rested on, as it stands after this changeset.
func (w *writing) versions() []memory.Version {
	out := make([]memory.Version, 0, len(w.about)+len(w.desk.read))
	for i := range w.about {
		out = append(out, w.versionAfter(&w.about[i]))
	}
	for _, id := range sortedIDs(w.desk.read) {
		if n := w.desk.read[id]; !w.mine(id) && !w.moved[id] {
			out = append(out, w.versionAfter(&n))
		}
	}
	return out
}

func (w *writing) versionAfter(n *memory.Note) memory.Version {
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

// end ends the job with what was decided and what it cost.
func (w *writing) end(ctx context.Context) error {
	if w.job == nil {
		return nil
	}
	r := jobResult{Evolved: w.dec.Evolved && w.changed, Tries: w.try, Review: w.review, Refused: w.lost, Calls: w.spent}
	if r.Evolved || w.changed || len(w.after) > 0 {
		r.Revision = w.tx.Revision()
	}
	for _, id := range sortedIDs(w.desk.read) {
		n := w.desk.read[id]
		r.Read = append(r.Read, readVersion{Note: n.ID, Layer: n.Layer, From: n.From})
	}
	r.LeftOut = sortedIDs(w.moved)
	if len(w.lost) > 0 {
		w.e.log.WarnContext(ctx, "parts of a decision could not be kept", "job", w.job.ID, "policy", w.desk.v.Collection.Policy, "parts", len(w.lost), "first", w.lost[0].Reason)
	}
	raw, err := result(w.dec.Outcome, r)
	if err != nil {
		return fmt.Errorf("encode the result: %w", err)
	}
	end := memory.JobEnd{State: memory.JobDone, Stage: w.job.Stage, Result: raw, Attempts: w.job.Attempts}
	if w.dec.Pending != "" {
		end = w.e.again(w.job, fault.New(fault.ModelFailed, "%s", w.dec.Pending))
		end.Result = raw
	}
	return w.tx.EndJob(ctx, w.job.ID, w.job.Lease, end)
}

// sortedIDs gives the keys of a map in the order of ids, so that what is
// written does not depend on chance.
func sortedIDs[V any](m map[uuid.UUID]V) []uuid.UUID {
	return slices.SortedFunc(maps.Keys(m), compareIDs)
}

func compareIDs(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) }
