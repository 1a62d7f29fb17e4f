package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
)

// applyTx applies a proposal inside a transaction. Each run of the transaction's
// closure has a new one, since a closure may run twice.
type applyTx struct {
	*proposal
	tx memory.Tx

	current        map[uuid.UUID]memory.Note
	changedNotes   map[uuid.UUID]bool
	changedSources map[uuid.UUID]bool           // listed messages that are sources of puts, and were deleted or changed
	changedLinks   map[memory.LinkID]bool       // links whose version has changed
	existingLinks  map[memory.LinkID]bool       // links of a decision about a note that exist already
	written        map[uuid.UUID]memory.Version // versions that this changeset wrote
	deleted        map[uuid.UUID]bool           // by this changeset
	dropped        []refused                    // parts that could not be stored, those of the proposal included
	changed        bool                         // anything but states was changed
	review         *uuid.UUID
}

func (w *applyTx) run(ctx context.Context) error {
	w.changedNotes, w.changedLinks, w.existingLinks = map[uuid.UUID]bool{}, map[memory.LinkID]bool{}, map[memory.LinkID]bool{}
	w.written, w.deleted = map[uuid.UUID]memory.Version{}, map[uuid.UUID]bool{}
	w.dropped = slices.Clone(w.refused)
	if err := w.checkNotes(ctx); err != nil {
		return err
	}
	if err := w.checkSources(ctx); err != nil {
		return err
	}
	if err := w.checkLinks(ctx); err != nil {
		return err
	}
	if len(w.changedNotes)+len(w.changedSources)+len(w.changedLinks) > 0 && !w.last {
		return memory.ErrMoved
	}
	if err := w.checkNewest(ctx); err != nil {
		return err
	}
	if w.decision.Idle {
		under, err := w.tx.Unended(ctx, memory.JobStep)
		if err != nil {
			return err
		}
		if len(under) > 0 {
			if err := memory.EnqueueFollows(ctx, w.tx, w.desk.v.Collection.ID, w.decision.Follow); err != nil {
				return err
			}
			return w.endJob(ctx)
		}
	}
	if err := w.foresee(ctx); err != nil {
		return err
	}
	// Deletes come first, so that their keys can be used again.
	steps := []func(context.Context) error{w.unlink, w.remove, w.putEventNotes, w.putOthers, w.link, w.enqueueFollows, w.openReviews, w.countEvolved, w.endJob}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	w.logTask(ctx)
	return nil
}

// foresee reads what will be replaced, in one go.
func (w *applyTx) foresee(ctx context.Context) error {
	ids := slices.Clone(w.decision.Deletes)
	for _, list := range [][]memory.Note{w.decision.Puts, w.outcomes} {
		for i := range list {
			if w.isNew(&list[i]) {
				w.tx.Fresh(list[i].ID)
			} else {
				ids = append(ids, list[i].ID)
			}
		}
	}
	if len(ids) > upkeepPage {
		return nil // it would take the memory of all their texts
	}
	return w.tx.Foresee(ctx, ids)
}

// checkNotes finds what has changed since it was read: notes of the event, the
// read set, listed notes that the decision changes, and notes recorded as absent.
func (w *applyTx) checkNotes(ctx context.Context) error {
	read := make(map[uuid.UUID]memory.Version, len(w.desk.readSet))
	for id := range w.desk.readSet {
		n := w.desk.readSet[id]
		read[id] = n.Version()
	}
	whole := map[uuid.UUID]bool{} // notes whose content is needed later
	for i := range w.eventNotes {
		read[w.eventNotes[i].ID], whole[w.eventNotes[i].ID] = w.eventNotes[i].Version(), true
	}
	changed := slices.Clone(w.decision.Deletes)
	for i := range w.decision.Puts {
		changed = append(changed, w.decision.Puts[i].ID)
		whole[w.decision.Puts[i].ID] = true
	}
	for _, id := range changed {
		v, listed := w.desk.hasListed(id)
		if _, known := read[id]; listed && !known {
			read[id] = v
		}
	}
	wanted := maps.Clone(read)
	for i := range w.decision.Links { // ends that were only listed must exist, at any version
		for _, id := range []uuid.UUID{w.decision.Links[i].Source, w.decision.Links[i].Target} {
			if n, ok := w.desk.hasListed(id); ok {
				wanted[id] = n
			}
		}
	}

	if err := w.readCurrent(ctx, wanted, whole); err != nil {
		return err
	}
	for id := range wanted {
		v, held := read[id]
		if c, ok := w.current[id]; !ok || held && c.Version() != v {
			w.changedNotes[id] = true
		}
	}
	for _, k := range w.desk.absent {
		found, err := w.tx.NoteByKey(ctx, k.kind, k.key)
		switch {
		case err == nil:
			w.changedNotes[found.ID] = true
		case !fault.Is(err, fault.NotFound):
			return err
		}
	}
	return nil
}

// readCurrent reads notes as they are now, of most their versions alone: where nothing was written since, they are as the decision has
// seen them. It reads a page at a time, since a decision may delete thousands of long notes.
func (w *applyTx) readCurrent(ctx context.Context, seen map[uuid.UUID]memory.Version, whole map[uuid.UUID]bool) error {
	w.current = make(map[uuid.UUID]memory.Note, len(seen))
	ids := sortedIDs(seen)
	if w.isUnmoved() {
		ids = slices.DeleteFunc(ids, func(id uuid.UUID) bool {
			v := seen[id]
			n, read := w.desk.readSet[id]
			switch {
			case !whole[id]:
				w.current[id] = memory.Note{Layer: v.Layer, ID: v.Note, From: v.From}
			case read && n.Version() == v && !w.isEventNote(id): // its first stage may have written it in this transaction
				w.current[id] = n
			default:
				return false
			}
			return true
		})
	}
	for page := range slices.Chunk(ids, upkeepPage) {
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
	return nil
}

// isUnmoved reports that nothing was written to the collection since the decision read it.
func (w *applyTx) isUnmoved() bool { return w.tx.View().At == w.desk.v.At }

// checkNewest repeats the recorded listings of the newest notes, unless nothing was written since they were made: another
// answer is a conflict, except at the last try, which has nothing to leave out for it.
func (w *applyTx) checkNewest(ctx context.Context) error {
	if w.last || w.isUnmoved() {
		return nil
	}
	for i := range w.desk.newest {
		r := &w.desk.newest[i]
		now, err := w.tx.ListNotes(ctx, r.query)
		if err != nil {
			return err
		}
		// A note of the event is checked by itself; its first stage may have written it in this transaction.
		same := slices.EqualFunc(now, r.found, func(n memory.Note, was memory.Version) bool {
			return n.Version() == was || n.ID == was.Note && w.isEventNote(n.ID)
		})
		if !same {
			return errNewer
		}
	}
	return nil
}

// checkLinks repeats the recorded link queries, unless nothing was written since they were made: their results must be the
// same. A session of MemoryOS may have thousands of links.
func (w *applyTx) checkLinks(ctx context.Context) error {
	if err := w.findExisting(ctx); err != nil || w.isUnmoved() {
		return err
	}
	asked := map[memory.Direction][]uuid.UUID{}
	for _, q := range w.desk.linkQueries {
		for _, d := range []memory.Direction{memory.Outgoing, memory.Incoming} {
			if q.direction&d != 0 {
				asked[d] = append(asked[d], q.notes...)
			}
		}
	}
	now := map[memory.LinkID]memory.Link{}
	for _, d := range []memory.Direction{memory.Outgoing, memory.Incoming} {
		links, err := w.readLinks(ctx, asked[d], d)
		if err != nil {
			return err
		}
		for _, l := range links {
			now[l.LinkID] = l
			if was, ok := w.desk.links[l.LinkID]; !ok || was.From != l.From || was.Layer != l.Layer {
				w.changedLinks[l.LinkID] = true
			}
		}
	}
	for id := range w.desk.links {
		if _, ok := now[id]; !ok {
			w.changedLinks[id] = true
		}
	}
	return nil
}

// findExisting finds which links of a decision about a note exist already; other decisions overwrite them.
func (w *applyTx) findExisting(ctx context.Context) error {
	if w.event != memory.EventNote {
		return nil
	}
	var sources []uuid.UUID
	for i := range w.decision.Links {
		sources = append(sources, w.decision.Links[i].Source)
	}
	links, err := w.readLinks(ctx, sources, memory.Outgoing)
	for _, l := range links {
		w.existingLinks[l.LinkID] = true
	}
	return err
}

func (w *applyTx) readLinks(ctx context.Context, ids []uuid.UUID, d memory.Direction) ([]memory.Link, error) {
	slices.SortFunc(ids, memory.CompareIDs)
	ids = slices.Compact(ids)
	if len(ids) == 0 {
		return nil, nil
	}
	return w.tx.Links(ctx, memory.LinkQuery{Notes: ids, Direction: d, Limit: allLinks})
}

func (w *applyTx) putEventNotes(ctx context.Context) error {
	for i := range w.outcomes {
		if err := w.putEventNote(ctx, &w.eventNotes[i], w.outcomes[i]); err != nil {
			return err
		}
	}
	return nil
}

// putEventNote writes a note of the event.
func (w *applyTx) putEventNote(ctx context.Context, was *memory.Note, n memory.Note) error {
	if w.deleted[n.ID] {
		return nil
	}
	if w.changedNotes[n.ID] {
		// The caller's version stays; only its state changes.
		now, ok := w.current[n.ID]
		if !ok || now.State == memory.StateEvolved || now.State == memory.StateInReview || now.Content != was.Content {
			return nil // new content has a job of its own
		}
		n = now
		n.State, n.Error = memory.StateEvolved, ""
		if w.decision.Pending != "" {
			n.State, n.Error = memory.StatePending, w.decision.Pending
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
	w.written[n.ID] = stored.Version()
	if n.State == memory.StateRaw {
		return w.enqueue(ctx, memory.Job{Kind: memory.JobNote, Stage: memory.StagePrepare, Note: n.ID})
	}
	return nil
}

// putOthers writes new and changed notes. A put may use a key that a later put
// frees. A key that another note got meanwhile is a conflict; at the last try
// the put is left out.
func (w *applyTx) putOthers(ctx context.Context) error {
	left := slices.DeleteFunc(slices.Clone(w.decision.Puts), func(p memory.Note) bool {
		return w.changedNotes[p.ID] || w.deleted[p.ID] || w.isNew(&p) && w.sourceChanged(&p)
	})
	for {
		var blocked []memory.Note
		for _, p := range left {
			taken, err := w.keyTaken(ctx, &p)
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
				w.dropped = append(w.dropped, refused{Part: "note", Kind: blocked[i].Kind, Reason: "another note has its key"})
			}
			return nil
		}
	}
}

// sourceChanged reports whether a source of a new note has changed; such a note is not written.
func (w *applyTx) sourceChanged(p *memory.Note) bool {
	for i := range w.eventNotes {
		was := &w.eventNotes[i]
		switch now, ok := w.current[was.ID]; {
		case !w.changedNotes[was.ID]:
		case w.event == memory.EventNote:
			return true
		case (!ok || now.Content != was.Content) && slices.Contains(p.Provenance.Sources, was.ID):
			return true
		}
	}
	return false
}

// keyTaken reports whether another note has the key of a put.
func (w *applyTx) keyTaken(ctx context.Context, p *memory.Note) (bool, error) {
	if now, ok := w.current[p.ID]; p.Key == "" || ok && now.Key == p.Key && now.Kind == p.Kind {
		return false, nil
	}
	found, err := w.tx.NoteByKey(ctx, p.Kind, p.Key)
	if fault.Is(err, fault.NotFound) {
		return false, nil
	}
	return err == nil && found.ID != p.ID, err
}

func (w *applyTx) putOther(ctx context.Context, p memory.Note) error {
	if w.isStale(&p) {
		p.Provenance.Stale = true
	}
	if now, ok := w.current[p.ID]; ok && sameContent(&now, &p) {
		return nil
	}
	fresh := w.isNew(&p)
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
	w.written[stored.ID] = stored.Version()
	if fresh && stored.State == memory.StateRaw {
		return w.enqueue(ctx, memory.Job{Kind: memory.JobNote, Stage: memory.StagePrepare, Note: stored.ID})
	}
	return nil
}

func (w *applyTx) enqueue(ctx context.Context, j memory.Job) error {
	j.Collection = w.desk.v.Collection.ID
	_, err := w.tx.Enqueue(ctx, j)
	return err
}

// link writes the links whose ends are unchanged. A decision about a note does not
// overwrite an existing link that it has not read: a caller may have set it.
func (w *applyTx) link(ctx context.Context) error {
	for _, l := range w.decision.Links {
		_, read := w.desk.links[l.LinkID]
		if w.existingLinks[l.LinkID] && !read && w.event == memory.EventNote {
			continue
		}
		if w.changedLinks[l.LinkID] || !w.canLink(l.Source) || !w.canLink(l.Target) {
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

// canLink reports whether a note exists and is unchanged.
func (w *applyTx) canLink(id uuid.UUID) bool {
	if w.deleted[id] || w.changedNotes[id] {
		return false
	}
	_, put := w.written[id]
	_, here := w.current[id]
	return put || here
}

func (w *applyTx) unlink(ctx context.Context) error {
	for _, id := range w.decision.Unlinks {
		if w.changedNotes[id.Source] || w.changedNotes[id.Target] || w.changedLinks[id] {
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

func (w *applyTx) remove(ctx context.Context) error {
	for _, id := range w.decision.Deletes {
		if w.changedNotes[id] || w.deleted[id] {
			continue
		}
		if err := w.tx.Delete(ctx, id); err != nil {
			return err
		}
		w.deleted[id], w.changed = true, true
	}
	return nil
}

// enqueueFollows enqueues the runs and the tasks of the decision.
func (w *applyTx) enqueueFollows(ctx context.Context) error {
	for _, run := range w.decision.Runs {
		j := memory.Job{Note: run, Kind: memory.JobStep, Stage: memory.StageDecide}
		if _, err := w.tx.Enqueue(ctx, j); err != nil {
			return err
		}
	}
	return memory.EnqueueFollows(ctx, w.tx, w.desk.v.Collection.ID, w.decision.Follow)
}

// openReviews writes a review for the changes that wait for approval, and one for
// the risky changes that were applied.
func (w *applyTx) openReviews(ctx context.Context) error {
	if w.job == nil {
		return nil // the caller sees the outcome
	}
	if p := w.unmovedPart(w.decision.Review); p != nil {
		r, err := w.openReview(ctx, p, memory.ReviewOpen)
		if err != nil {
			return err
		}
		w.review = &r.ID
	}
	if p := w.unmovedPart(w.decision.Applied); p != nil {
		if _, err := w.openReview(ctx, p, memory.ReviewApplied); err != nil {
			return err
		}
	}
	return nil
}

// unmovedPart returns the changes of a proposal whose notes are unchanged; nil: none.
func (w *applyTx) unmovedPart(p *memory.ReviewProposal) *memory.ReviewProposal {
	if p == nil {
		return nil
	}
	left := *p
	left.Changes = slices.DeleteFunc(slices.Clone(p.Changes), func(c memory.ReviewChange) bool { return w.changedNotes[c.Note] })
	if len(left.Changes) == 0 {
		return nil
	}
	return &left
}

func (w *applyTx) openReview(ctx context.Context, p *memory.ReviewProposal, state memory.ReviewState) (memory.Review, error) {
	r := memory.Review{
		Collection: w.job.Collection, Job: w.job.ID, Trigger: w.job.Note, State: state,
		Confidence: p.Confidence, Changes: p.Changes, Reason: p.Reason, Read: w.versions(),
	}
	if state == memory.ReviewApplied {
		r.Revision = w.tx.Revision()
	}
	return w.tx.OpenReview(ctx, r)
}

// versions returns the read set of the decision, after this changeset.
func (w *applyTx) versions() []memory.Version {
	out := make([]memory.Version, 0, len(w.eventNotes)+len(w.desk.readSet))
	for i := range w.eventNotes {
		out = append(out, w.versionAfter(&w.eventNotes[i]))
	}
	for _, id := range sortedIDs(w.desk.readSet) {
		if n := w.desk.readSet[id]; !w.isEventNote(id) && !w.changedNotes[id] {
			out = append(out, w.versionAfter(&n))
		}
	}
	return out
}

func (w *applyTx) versionAfter(n *memory.Note) memory.Version {
	if v, ok := w.written[n.ID]; ok {
		return v
	}
	return n.Version()
}

// countEvolved counts an evolving add, and enqueues a consolidation at every n-th.
func (w *applyTx) countEvolved(ctx context.Context) error {
	if !w.decision.Evolved || !w.changed {
		return nil
	}
	due, err := countEvolved(ctx, w.tx, &w.desk.v.Collection)
	if err != nil || !due {
		return err
	}
	return w.enqueue(ctx, memory.Job{Kind: memory.JobConsolidate, Stage: memory.StageTask, Payload: lastAdds})
}

// countEvolved counts an evolved note, and reports whether a consolidation is due.
func countEvolved(ctx context.Context, tx memory.Tx, c *memory.Collection) (due bool, err error) {
	n, err := tx.CountEvolved(ctx)
	return err == nil && n%commonOf(c).EvoThreshold == 0, err
}

// logTask logs what a task of the policy changed. Outcomes may hold content, so only counts are logged.
func (w *applyTx) logTask(ctx context.Context) {
	if w.event != memory.EventTask {
		return
	}
	d := &w.decision
	w.e.log.DebugContext(ctx, "a task of the policy is applied", "collection", w.desk.v.Collection.ID, "policy", w.desk.v.Collection.Policy, "cause", w.cause(),
		"puts", len(d.Puts), "deletes", len(d.Deletes), "links", len(d.Links), "tasks", len(d.Follow))
}

// endJob ends the job with the outcome and the model use.
func (w *applyTx) endJob(ctx context.Context) error {
	if w.job == nil {
		return nil
	}
	r := jobResult{Evolved: w.decision.Evolved && w.changed, Tries: w.try, Review: w.review, Refused: w.dropped, Calls: w.spent, jobNotes: earlierNotes(w.job)}
	if r.Evolved || w.changed || len(w.written) > 0 {
		r.Revision = w.tx.Revision()
	}
	for _, l := range w.decision.Learned {
		// What was left out, because it changed at every try, was not learned.
		if _, ok := w.written[l.Note]; ok || w.deleted[l.Note] || w.deleted[l.Replaced] {
			r.Learned = append(r.Learned, l)
		}
	}
	for _, id := range sortedIDs(w.desk.readSet) {
		n := w.desk.readSet[id]
		r.Read = append(r.Read, readVersion{Note: n.ID, Layer: n.Layer, From: n.From})
	}
	r.LeftOut = sortedIDs(w.changedNotes)
	if len(w.dropped) > 0 {
		w.e.log.WarnContext(ctx, "parts of a decision could not be stored", "job", w.job.ID, "policy", w.desk.v.Collection.Policy, "parts", len(w.dropped), "first", w.dropped[0].Reason)
	}
	raw, err := result(w.decision.Outcome, r)
	if err != nil {
		return fmt.Errorf("encode the result: %w", err)
	}
	end := memory.JobEnd{State: memory.JobDone, Stage: w.job.Stage, Result: raw, Attempts: w.job.Attempts}
	if w.decision.Pending != "" {
		end = w.e.jobEnd(w.job, fault.New(fault.ModelFailed, "%s", w.decision.Pending))
		end.Result = raw
	}
	return w.tx.EndJob(ctx, w.job.ID, w.job.Lease, end)
}

// sortedIDs returns the keys of a map in order, so that writes are deterministic.
func sortedIDs[V any](m map[uuid.UUID]V) []uuid.UUID {
	return slices.SortedFunc(maps.Keys(m), memory.CompareIDs)
}
