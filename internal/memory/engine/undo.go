package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Undone is the result of an undo.
type Undone struct {
	Revision memory.Revision // of the inverse changeset; the head when there was nothing to undo
	Restored []uuid.UUID     // notes that were restored
	Unlinked []memory.LinkID
	Stale    []uuid.UUID // notes marked stale, because they were derived from it
}

// Undo appends the inverse of the changeset that a decision or an approved review
// wrote at a revision of the collection's own log. Later changes by callers
// stay. Later evolutions that read what is undone keep their effect, and the
// notes that they changed are marked stale in their provenance.
//
// Only evolutions can be undone, and once (Conflict). It needs notes:write, and
// base:write on a shared base.
func (e *Engine) Undo(ctx context.Context, s tenant.Scope, ref string, rev memory.Revision, reason string) (Undone, error) {
	v, err := e.openForWriting(ctx, s, ref)
	if err != nil {
		return Undone{}, err
	}
	r, found, err := e.reviewAt(ctx, s, &v.Collection, rev)
	switch {
	case err != nil:
		return Undone{}, err
	case !found:
		return e.undo(ctx, s, v, rev, nil, reason)
	}
	return e.undo(ctx, s, v, rev, &r, reason)
}

// reviewAt finds the review that the changeset at a revision applied.
func (e *Engine) reviewAt(ctx context.Context, s tenant.Scope, c *memory.Collection, rev memory.Revision) (r memory.Review, found bool, err error) {
	for _, state := range []memory.ReviewState{memory.ReviewApplied, memory.ReviewApproved} {
		for o, err := range e.eachReview(ctx, s, c.ID, state) {
			if err != nil {
				return r, false, err
			}
			if o.Revision == rev {
				return *o, true, nil
			}
		}
	}
	return r, false, nil
}

// eachReview returns the reviews of a collection that are in a state.
func (e *Engine) eachReview(ctx context.Context, s tenant.Scope, collection uuid.UUID, state memory.ReviewState) iter.Seq2[*memory.Review, error] {
	list := func(q memory.ReviewQuery) ([]memory.Review, error) { return e.store.ListReviews(ctx, s, q) }
	return memory.EachReview(list, memory.ReviewQuery{Collection: collection, State: state, Limit: memory.MaxPage})
}

func (e *Engine) undo(ctx context.Context, s tenant.Scope, v memory.View, rev memory.Revision, r *memory.Review, reason string) (Undone, error) {
	for try := 1; ; try++ {
		out, err := e.undoOnce(ctx, s, v, rev, r, reason)
		if !errors.Is(err, memory.ErrMoved) || try == e.cfg.Conflicts {
			return out, err
		}
		if v, err = e.open(ctx, s, v.Collection.ID); err != nil {
			return Undone{}, err
		}
	}
}

func (e *Engine) undoOnce(ctx context.Context, s tenant.Scope, v memory.View, rev memory.Revision, r *memory.Review, reason string) (Undone, error) {
	p, err := e.planUndo(ctx, s, v, rev)
	if err != nil {
		return Undone{}, err
	}
	audit := memory.AuditEntry{Action: "evolution.undo", Target: v.Collection.ID.String(), Detail: map[string]any{"revision": int64(rev)}}
	if r != nil {
		audit.Detail["review"] = r.ID.String()
	}
	o := memory.WriteOptions{Cause: memory.CauseUndo, Trigger: p.cause.Trigger, Undoes: rev, Audit: []memory.AuditEntry{audit}}
	out := Undone{}
	w, err := e.store.Write(ctx, s, v.Collection.ID, o, func(ctx context.Context, tx memory.Tx) error {
		out = Undone{}
		return p.write(ctx, tx, &out, r, reason, s.Actor())
	})
	if err != nil {
		return Undone{}, err
	}
	out.Revision = w.Revision
	return out, nil
}

// undoPlan holds the changes of an undo, read at one revision of the head.
type undoPlan struct {
	cause   memory.Changeset
	now     map[uuid.UUID]memory.Note // of every note that will be put
	put     []memory.Note             // restored, with vectors
	remove  []uuid.UUID               // created by the changeset and unchanged since
	unlink  []memory.Link             // as they are now
	relink  []memory.Link
	derived []uuid.UUID
}

func (e *Engine) planUndo(ctx context.Context, s tenant.Scope, v memory.View, rev memory.Revision) (*undoPlan, error) {
	cause, later, err := e.changesets(ctx, s, v, rev)
	if err != nil {
		return nil, err
	}
	made, err := e.notesByRevision(ctx, s, v, rev)
	if err != nil {
		return nil, err
	}
	before := rev - 1
	was, err := e.store.OpenView(ctx, s, v.Collection.ID.String(), memory.At{AsOf: &before})
	if err != nil {
		return nil, err
	}
	then, err := e.store.OpenView(ctx, s, v.Collection.ID.String(), memory.At{AsOf: &rev})
	if err != nil {
		return nil, err
	}
	p := &undoPlan{cause: cause, now: map[uuid.UUID]memory.Note{}}
	tainted, err := p.notes(ctx, e, s, [3]memory.View{was, then, v}, made[rev])
	if err != nil {
		return nil, err
	}
	if err := p.links(ctx, e, s, [3]memory.View{was, then, v}, append(slices.Clone(made[rev]), cause.Trigger)); err != nil {
		return nil, err
	}
	if err := p.findDerived(ctx, e, s, v, later, made, tainted); err != nil {
		return nil, err
	}
	return p, nil
}

// changesets finds the changeset of a revision and those after it.
func (e *Engine) changesets(ctx context.Context, s tenant.Scope, v memory.View, rev memory.Revision) (cause memory.Changeset, later []memory.Changeset, err error) {
	if rev < 1 {
		return cause, nil, fault.Missing("changeset")
	}
	for c, err := range memory.EachChangeset(ctx, e.store, s, v, rev-1) {
		switch {
		case err != nil:
			return cause, nil, err
		case c.Revision == rev:
			cause = *c
		case c.Undoes == rev:
			return cause, nil, fault.New(fault.Conflict, "revision %d was undone already, at revision %d", rev, c.Revision)
		default:
			later = append(later, *c)
		}
	}
	if cause.Revision != rev {
		return cause, nil, fault.Missing("changeset")
	}
	if cause.Cause != memory.CauseEvolve && cause.Cause != memory.CauseReview {
		if cause.Cause == memory.CauseMerge {
			return cause, nil, fault.New(fault.Conflict, "revision %d is a merge; a rollback to revision %d takes it back", rev, rev-1)
		}
		return cause, nil, fault.New(fault.Conflict, "revision %d is not an evolution", rev)
	}
	return cause, later, nil
}

// notesByRevision returns the notes that the collection's own log wrote at each revision from rev on.
func (e *Engine) notesByRevision(ctx context.Context, s tenant.Scope, v memory.View, rev memory.Revision) (map[memory.Revision][]uuid.UUID, error) {
	made := map[memory.Revision][]uuid.UUID{}
	_, err := e.store.Log(ctx, s, v, 0, rev-1, v.Collection.Embedder, func(row memory.LogRow) error {
		if row.Note.From >= rev && !slices.Contains(made[row.Note.From], row.Note.ID) {
			made[row.Note.From] = append(made[row.Note.From], row.Note.ID)
		}
		return nil
	})
	return made, err
}

// notes plans the changes of the notes that the changeset wrote, and returns the
// versions whose description it changed.
func (p *undoPlan) notes(ctx context.Context, e *Engine, s tenant.Scope, views [3]memory.View, ids []uuid.UUID) (map[memory.Version]bool, error) {
	var read [3]map[uuid.UUID]*memory.Note
	for i, v := range &views {
		list, err := e.store.Notes(ctx, s, v, ids, memory.ReadOptions{Vector: true})
		if err != nil {
			return nil, err
		}
		read[i] = memory.ByID(list)
	}
	tainted := map[memory.Version]bool{}
	var puts []memory.Note
	var current []memory.Note
	for _, id := range ids {
		was, then, now := read[0][id], read[1][id], read[2][id]
		if then != nil && (was == nil || !sameDescription(was, then)) {
			tainted[withoutLayer(then.Version())] = true
		}
		switch {
		case now == nil || then == nil:
		case was == nil:
			if now.Version() == then.Version() {
				p.remove, p.now[id] = append(p.remove, id), *now
			}
		default:
			n := revertNote(*was, *then, *now)
			if !sameContent(&n, now) {
				p.now[id] = *now
				n.Vector, n.Tokens = nil, nil
				puts, current = append(puts, n), append(current, *now)
				if memory.SameToEmbed(&n, was) {
					current[len(current)-1] = *was // reuse its vector
				}
			}
		}
	}
	if len(puts) == 0 {
		return tainted, nil
	}
	em, err := e.embedderOf(&views[2].Collection)
	if err != nil {
		return nil, err
	}
	targets := make([]*memory.Note, len(puts))
	for i := range puts {
		targets[i] = &puts[i]
	}
	p.put = puts
	_, err = e.revector(ctx, s, em, targets, current)
	return tainted, err
}

func sameDescription(a, b *memory.Note) bool {
	return a.Content == b.Content && a.Context == b.Context && slices.Equal(a.Keywords, b.Keywords) && slices.Equal(a.Tags, b.Tags)
}

// revertNote removes the change from was to then out of now; later changes stay.
func revertNote(was, then, now memory.Note) memory.Note {
	now.Content = revertText(was.Content, then.Content, now.Content)
	now.Context = revertText(was.Context, then.Context, now.Context)
	now.Keywords = revertList(was.Keywords, then.Keywords, now.Keywords)
	now.Tags = revertList(was.Tags, then.Tags, now.Tags)
	now.Category = revertText(was.Category, then.Category, now.Category)
	return now
}

func revertText(was, then, now string) string {
	switch {
	case was == then:
		return now
	case now == then:
		return was
	case then != "" && strings.HasPrefix(now, then):
		return was + now[len(then):] // something was appended since
	default:
		return now
	}
}

func revertList(was, then, now []string) []string {
	switch {
	case slices.Equal(was, then):
		return now
	case slices.Equal(now, then):
		return was
	}
	out := make([]string, 0, len(now))
	for _, t := range now {
		if !slices.Contains(then, t) || slices.Contains(was, t) {
			out = append(out, t)
		}
	}
	for _, t := range was {
		if !slices.Contains(then, t) && !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return out
}

// links plans the changes of the links that the changeset created or ended.
func (p *undoPlan) links(ctx context.Context, e *Engine, s tenant.Scope, views [3]memory.View, ids []uuid.UUID) error {
	var read [3]map[memory.LinkID]memory.Link
	for i, v := range &views {
		list, err := e.store.Links(ctx, s, v, memory.LinkQuery{Notes: ids, Direction: memory.Both})
		if err != nil {
			return err
		}
		read[i] = make(map[memory.LinkID]memory.Link, len(list))
		for _, l := range list {
			read[i][l.LinkID] = l
		}
	}
	order := func(a, b memory.LinkID) int {
		return bytes.Compare(append(append(a.Source[:], a.Target[:]...), a.Relation...), append(append(b.Source[:], b.Target[:]...), b.Relation...))
	}
	for _, id := range slices.SortedFunc(maps.Keys(read[1]), order) {
		then := read[1][id]
		now, there := read[2][id]
		if then.From != p.cause.Revision || then.Layer != p.cause.Collection || !there || now.From != then.From || now.Layer != then.Layer {
			continue
		}
		if was, had := read[0][id]; had {
			p.relink = append(p.relink, was)
		} else {
			p.unlink = append(p.unlink, now)
		}
	}
	for _, id := range slices.SortedFunc(maps.Keys(read[0]), order) {
		_, stayed := read[1][id]
		_, back := read[2][id]
		if !stayed && !back {
			p.relink = append(p.relink, read[0][id])
		}
	}
	return nil
}

// withoutLayer returns the identity of a version within a lineage. The revision
// identifies it there; its layer changes when a fork is made independent.
func withoutLayer(v memory.Version) memory.Version {
	v.Layer = uuid.Nil
	return v
}

// findDerived finds the later evolutions that read what is undone, and those that
// read what these changed in turn.
func (p *undoPlan) findDerived(ctx context.Context, e *Engine, s tenant.Scope, v memory.View, later []memory.Changeset, made map[memory.Revision][]uuid.UUID, tainted map[memory.Version]bool) error {
	if len(tainted) == 0 {
		return nil
	}
	undone := map[memory.Revision]bool{}
	for _, c := range later {
		undone[c.Undoes] = true
	}
	stale := map[uuid.UUID]bool{}
	for _, c := range later {
		if c.Job == uuid.Nil || undone[c.Revision] || c.Cause != memory.CauseEvolve && c.Cause != memory.CauseReview {
			continue
		}
		j, err := e.store.Job(ctx, s, c.Job)
		if fault.Is(err, fault.NotFound) {
			continue
		}
		if err != nil {
			return err
		}
		var r jobResult
		if len(j.Result) == 0 || json.Unmarshal(j.Result, &r) != nil || !r.Evolved && c.Cause != memory.CauseReview {
			continue
		}
		rests := slices.ContainsFunc(r.Read, func(x readVersion) bool {
			return tainted[memory.Version{Note: x.Note, From: x.From}]
		})
		if !rests {
			continue
		}
		for _, id := range made[c.Revision] {
			tainted[memory.Version{Note: id, From: c.Revision}] = true
			stale[id] = true
		}
	}
	ids := sortedIDs(stale)
	list, err := e.store.Notes(ctx, s, v, ids, memory.ReadOptions{Vector: true})
	if err != nil {
		return err
	}
	for _, n := range list {
		p.derived = append(p.derived, n.ID)
		p.now[n.ID] = n
	}
	return nil
}

func (p *undoPlan) write(ctx context.Context, tx memory.Tx, out *Undone, r *memory.Review, reason, actor string) error {
	ids := sortedIDs(p.now)
	now, err := tx.Notes(ctx, ids, memory.ReadOptions{Vector: true})
	if err != nil {
		return err
	}
	current := memory.ByID(now)
	for id, n := range p.now {
		if c := current[id]; c == nil || c.Version() != n.Version() {
			return memory.ErrMoved
		}
	}
	if err := p.writeNotes(ctx, tx, current, out); err != nil {
		return err
	}
	if err := p.writeUnlinks(ctx, tx, out); err != nil {
		return err
	}
	for _, l := range p.relink {
		if _, err := tx.Link(ctx, l); err != nil && !fault.Is(err, fault.NotFound) {
			return err
		}
	}
	if r == nil {
		return nil
	}
	closed := *r
	closed.State, closed.Reason, closed.Actor, closed.ClosedAt = memory.ReviewUndone, firstNonEmpty(reason, r.Reason), actor, tx.Now()
	return tx.UpdateReview(ctx, closed)
}

// writeUnlinks ends the links that are unchanged since the undo was planned; a
// link that was created again since stays.
func (p *undoPlan) writeUnlinks(ctx context.Context, tx memory.Tx, out *Undone) error {
	if len(p.unlink) == 0 {
		return nil
	}
	sources := make([]uuid.UUID, len(p.unlink))
	for i := range p.unlink {
		sources[i] = p.unlink[i].Source
	}
	now, err := tx.Links(ctx, memory.LinkQuery{Notes: sources, Direction: memory.Outgoing})
	if err != nil {
		return err
	}
	for _, l := range p.unlink {
		same := func(n memory.Link) bool { return n.LinkID == l.LinkID && n.From == l.From }
		if !slices.ContainsFunc(now, same) {
			continue
		}
		if ok, err := tx.Unlink(ctx, l.LinkID); err != nil {
			return err
		} else if ok {
			out.Unlinked = append(out.Unlinked, l.LinkID)
		}
	}
	return nil
}

func (p *undoPlan) writeNotes(ctx context.Context, tx memory.Tx, current map[uuid.UUID]*memory.Note, out *Undone) error {
	put := map[uuid.UUID]memory.Note{}
	for _, n := range p.put {
		put[n.ID] = n
		out.Restored = append(out.Restored, n.ID)
	}
	for _, id := range p.derived {
		if slices.Contains(p.remove, id) {
			continue
		}
		n, ok := put[id]
		if !ok {
			n = *current[id]
		}
		if n.Provenance.Stale && !ok {
			continue
		}
		n.Provenance.Stale = true
		put[id] = n
		out.Stale = append(out.Stale, id)
	}
	for _, id := range sortedIDs(put) {
		if _, err := tx.Put(ctx, put[id]); err != nil {
			return err
		}
	}
	for _, id := range p.remove {
		if err := tx.Delete(ctx, id); err != nil {
			return err
		}
		out.Restored = append(out.Restored, id)
	}
	return nil
}
