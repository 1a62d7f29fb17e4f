package storetest

import (
	"testing"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
)

func linkCases() []testCase {
	return []testCase{
		{"Links", linkChanges},
		{"LinksInForks", linksInForks},
	}
}

func linkChanges(_ *testing.T, w *world) {
	c := w.collection("c")
	a, b, d := w.add(c.ID, "a"), w.add(c.ID, "b"), w.add(c.ID, "d")
	l := memory.Link{LinkID: memory.LinkID{Source: a.ID, Target: b.ID, Relation: "knows"}, Confidence: 0.75, Attributes: map[string]any{"since": 2020.0}}
	put := func(l memory.Link) (changed bool, err error) {
		_, err = w.tryWrite(c.ID, func(tx memory.Tx) error { changed, err = tx.Link(w.ctx, l); return err })
		return changed, err
	}
	w.assertf(must(put(l))(w.t), "a new link is a change")
	head := w.head(c.ID)
	w.assertf(!must(put(l))(w.t) && w.head(c.ID) == head, "an equal link is no change")
	l.Confidence = 1
	w.assertf(must(put(l))(w.t) && w.head(c.ID) == head+1, "another confidence is a change")
	got := w.links(w.view(c.ID), a.ID)
	w.assertf(len(got) == 1 && got[0].LinkID == l.LinkID && got[0].Confidence == 1 && got[0].Attributes["since"] == 2020.0 && got[0].Layer == c.ID && got[0].From == head+1, "links %+v", got)
	w.assertf(got[0].CreatedAt.Before(w.clock.Now()) && !got[0].CreatedAt.IsZero(), "created at %s", got[0].CreatedAt)
	for _, bad := range []uuid.UUID{uuid.New(), uuid.Nil} {
		_, err := put(memory.Link{LinkID: memory.LinkID{Source: a.ID, Target: bad}})
		w.wantFault(err, fault.NotFound)
		_, err = put(memory.Link{LinkID: memory.LinkID{Source: bad, Target: a.ID}})
		w.wantFault(err, fault.NotFound)
	}
	_, err := put(memory.Link{LinkID: memory.LinkID{Source: a.ID, Target: a.ID}})
	w.wantInvalid(err, "target")
	w.link(c.ID, d.ID, a.ID)
	w.link(c.ID, a.ID, d.ID)
	v := w.view(c.ID)
	read := func(q memory.LinkQuery) []memory.Link { return must(w.Links(w.ctx, w.all, v, q))(w.t) }
	w.assertf(len(read(memory.LinkQuery{Notes: []uuid.UUID{a.ID}, Direction: memory.Outgoing})) == 2, "outgoing")
	w.assertf(len(read(memory.LinkQuery{Notes: []uuid.UUID{a.ID}, Direction: memory.Incoming})) == 1, "incoming")
	both := read(memory.LinkQuery{Notes: []uuid.UUID{a.ID, d.ID, b.ID}, Direction: memory.Both})
	w.assertf(len(both) == 3 && both[0].Relation == "knows" && both[1].Target == d.ID && both[2].Source == d.ID, "each link once, ordered by source, relation, target: %+v", both)
	w.assertf(len(read(memory.LinkQuery{Notes: []uuid.UUID{a.ID, d.ID}, Direction: memory.Both, Limit: 2})) == 2, "limited")
	w.assertf(len(read(memory.LinkQuery{Direction: memory.Both})) == 0, "links of no notes")
	w.assertf(must(w.Counts(w.ctx, w.all, v))(w.t).Links == 3, "counted")
	version := must(w.Notes(w.ctx, w.all, v, []uuid.UUID{a.ID}, memory.ReadOptions{}))(w.t)[0].Version()
	w.assertf(version == a.Version(), "links do not change a note's version")
	w.delete(c.ID, a.ID)
	v = w.view(c.ID)
	w.assertf(len(w.links(v, a.ID, b.ID, d.ID)) == 0 && must(w.Counts(w.ctx, w.all, v))(w.t).Links == 0, "links of a deleted note are hidden")
	for _, q := range []memory.LinkQuery{{Direction: memory.Outgoing}, {Direction: memory.Incoming}, {Direction: memory.Both}} {
		q.Notes, q.Hidden = []uuid.UUID{a.ID}, true
		w.assertf(len(read(q)) == []int{0, 2, 1, 3}[q.Direction], "hidden links %d: %+v", q.Direction, read(q))
	}
	_, err = put(l)
	w.wantFault(err, fault.NotFound)
	w.write(c.ID, func(tx memory.Tx) error {
		ok, err := tx.Unlink(w.ctx, l.LinkID)
		w.assertf(!ok, "a hidden link cannot be removed")
		return err
	})
	w.put(c.ID, memory.Note{ID: a.ID, Content: "again"})
	w.assertf(len(w.links(w.view(c.ID), a.ID)) == 3, "the links are visible again with the note")
	w.write(c.ID, func(tx memory.Tx) error {
		ok, err := tx.Unlink(w.ctx, l.LinkID)
		w.assertf(ok && err == nil, "unlink: %v", err)
		ok, err = tx.Unlink(w.ctx, l.LinkID)
		w.assertf(!ok && err == nil, "unlink twice: %v", err)
		_, err = tx.Link(w.ctx, l)
		w.noError(err)
		ok, err = tx.Unlink(w.ctx, l.LinkID)
		w.assertf(ok, "link and unlink in one changeset")
		seen, lerr := tx.Links(w.ctx, memory.LinkQuery{Notes: []uuid.UUID{b.ID}, Direction: memory.Both})
		w.assertf(lerr == nil && len(seen) == 0, "a closure sees the links that it wrote: %v %v", seen, lerr)
		return err
	})
	w.assertf(len(w.links(w.view(c.ID), b.ID)) == 0, "unlinked")
	var e memory.Note
	_, err = w.tryWrite(c.ID, func(tx memory.Tx) (err error) {
		e, err = tx.Put(w.ctx, memory.Note{Content: "e"})
		w.noError(err)
		gone, err := tx.Put(w.ctx, memory.Note{Content: "gone"})
		w.noError(err)
		w.noError(tx.Delete(w.ctx, gone.ID))
		_, err = tx.Link(w.ctx, memory.Link{LinkID: memory.LinkID{Source: e.ID, Target: b.ID, Relation: "knows"}, Confidence: 1})
		return err
	})
	w.assertf(err == nil && len(w.links(w.view(c.ID), e.ID)) == 1, "a note is linked by the changeset that adds it: %v", err)
	_, err = w.tryWrite(c.ID, func(tx memory.Tx) error {
		w.noError(tx.Delete(w.ctx, b.ID))
		_, err := tx.Link(w.ctx, memory.Link{LinkID: memory.LinkID{Source: e.ID, Target: b.ID, Relation: "likes"}, Confidence: 1})
		return err
	})
	w.wantFault(err, fault.NotFound)
}

func linksInForks(_ *testing.T, w *world) {
	c := w.collection("c")
	a, b := w.add(c.ID, "a"), w.add(c.ID, "b")
	w.link(c.ID, a.ID, b.ID)
	f := w.mustFork(c.ID, -1, "f")
	id := memory.LinkID{Source: a.ID, Target: b.ID, Relation: memory.RelatedTo}
	w.assertf(len(w.links(w.view(f.ID), a.ID)) == 1, "a fork inherits links")
	w.write(f.ID, func(tx memory.Tx) error { _, err := tx.Unlink(w.ctx, id); return err })
	w.assertf(len(w.links(w.view(f.ID), a.ID)) == 0 && len(w.links(w.view(c.ID), a.ID)) == 1, "unlinked in the fork only")
	g := w.mustFork(f.ID, -1, "g")
	w.link(g.ID, b.ID, a.ID)
	w.link(g.ID, a.ID, b.ID)
	w.assertf(len(w.links(w.view(g.ID), a.ID)) == 2 && len(w.links(w.view(f.ID), a.ID)) == 0, "a fork of the fork has its own links")
	w.delete(f.ID, b.ID)
	w.assertf(len(w.links(w.view(g.ID), a.ID)) == 2, "a later delete in the fork is not visible in its fork")
	h := w.mustFork(c.ID, -1, "h")
	w.delete(h.ID, b.ID)
	w.assertf(len(w.links(w.view(h.ID), a.ID)) == 0 && len(w.links(w.view(c.ID), a.ID)) == 1, "deleting a note in a fork hides its links there only")
}
