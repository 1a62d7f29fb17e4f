package storetest

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
)

func changeCases() []testCase {
	return []testCase{
		{"one by one", changesOneByOne},
		{"folded they are every view of a lineage", changesFold},
		{"of much at once", changesOfMuch},
	}
}

// feed reads all changes in pages, and requires that pages of any size say the same.
func (w *world) feed(v memory.View, after memory.Revision) []memory.Change {
	w.t.Helper()
	all := must(w.Changes(w.ctx, w.all, v, after, 0))(w.t)
	var paged []memory.Change
	for at := after; ; {
		page := must(w.Changes(w.ctx, w.all, v, at, 3))(w.t)
		if len(page) == 0 {
			break
		}
		paged = append(paged, page...)
		at = page[len(page)-1].Revision
	}
	w.assertf(fmt.Sprint(paged) == fmt.Sprint(all), "pages after %d say\n%v, all at once\n%v", after, paged, all)
	return all
}

func said(c memory.Change) string {
	var out strings.Builder
	fmt.Fprint(&out, c.Revision, " ", c.Cause)
	for _, n := range c.Notes {
		out.WriteString(" " + string(n.Change))
	}
	for _, l := range c.Links {
		out.WriteString(" link " + string(l.Change))
	}
	return out.String()
}

func changesOneByOne(_ *testing.T, w *world) {
	c := w.collection("c")
	a, b := w.add(c.ID, "a"), w.add(c.ID, "b")
	w.put(c.ID, memory.Note{ID: a.ID, Content: "a2"})
	w.link(c.ID, a.ID, b.ID)
	w.write(c.ID, func(tx memory.Tx) error { // one that comes and goes in a changeset is not a change
		n, err := tx.Put(w.ctx, memory.Note{Content: "short"})
		w.noError(err)
		return tx.Delete(w.ctx, n.ID)
	})
	f := w.mustFork(c.ID, -1, "f")
	w.delete(f.ID, a.ID)
	w.put(f.ID, memory.Note{ID: b.ID, Content: "in the fork"})
	w.put(f.ID, memory.Note{ID: a.ID, Content: "again"})
	w.write(f.ID, func(tx memory.Tx) error {
		_, err := tx.Unlink(w.ctx, memory.LinkID{Source: a.ID, Target: b.ID, Relation: memory.RelatedTo})
		return err
	})
	w.add(c.ID, "later in the base")

	base := []string{"1 add added", "2 add added", "3 add changed", "4 add link added", "5 add"}
	fork := append(slices.Clone(base), "6 add removed", "7 add changed", "8 add added", "9 add link removed")
	for id, want := range map[uuid.UUID][]string{c.ID: append(slices.Clone(base), "6 add added"), f.ID: fork} {
		var got []string
		for _, change := range w.feed(w.view(id), 0) {
			got = append(got, said(change))
		}
		w.assertf(slices.Equal(got, want), "the feed is\n%q, want\n%q", got, want)
	}
	last := w.feed(w.view(f.ID), 8)
	w.assertf(len(last) == 1 && last[0].Collection == f.ID && last[0].Links[0].Source == a.ID && last[0].Links[0].Target == b.ID && !last[0].At.IsZero(), "the last one is %+v", last)
	w.assertf(len(w.feed(w.view(f.ID), 9)) == 0, "there is something beyond the head")
	w.wantFault(errOf(w.Changes(w.ctx, w.all, w.view(f.ID), 10, 0)), fault.Invalid)
	w.assertf(len(w.feed(w.viewAt(f.ID, 7), 5)) == 2, "a view of the past bounds the feed")

	// A fork that is made independent has the same feed; what a copy does not have is gone.
	w.noError(errOf(w.DeleteCollection(w.ctx, w.all, c.ID, true, memory.AuditEntry{})))
	var got []string
	for _, change := range w.feed(w.view(f.ID), 0) {
		got = append(got, said(change))
	}
	w.assertf(slices.Equal(got, fork), "the feed of an independent fork is\n%q, want\n%q", got, fork)
	w.copyOf(w.view(f.ID), "copied", 3)
	copied := must(w.OpenView(w.ctx, w.all, "copied", memory.At{}))(w.t)
	w.wantFault(errOf(w.Changes(w.ctx, w.all, copied, copied.Collection.Floor-1, 0)), fault.RevisionGone)
	w.assertf(len(w.feed(copied, copied.Collection.Floor)) == 0, "a copy has changes that it does not have")
}

// changesFold: the changes up to a revision add up to what a view of that revision shows, in every collection of a
// random tree of forks.
func changesFold(_ *testing.T, w *world) {
	rng := rand.New(rand.NewPCG(7, 35)) //nolint:gosec // reproducible
	trees := []uuid.UUID{w.collection("root").ID}
	var notes []uuid.UUID
	anyNote := func() uuid.UUID { return notes[rng.IntN(len(notes))] }
	for i := range 120 {
		c := trees[rng.IntN(len(trees))]
		if i%20 == 19 {
			if f, err := w.fork(c, memory.Revision(rng.Int64N(int64(w.head(c))+1)), fmt.Sprint("fork", i)); err == nil {
				trees = append(trees, f.ID)
			}
			continue
		}
		_, err := w.tryWrite(c, func(tx memory.Tx) error {
			for range 1 + rng.IntN(3) {
				var err error
				switch n := rng.IntN(6); {
				case n < 2 || len(notes) < 2:
					var made memory.Note
					made, err = tx.Put(w.ctx, memory.Note{Content: fmt.Sprint(i)})
					notes = append(notes, made.ID)
				case n == 2:
					_, err = tx.Put(w.ctx, memory.Note{ID: anyNote(), Content: fmt.Sprint(i)})
				case n == 3:
					err = tx.Delete(w.ctx, anyNote())
				case n == 4:
					_, err = tx.Link(w.ctx, memory.Link{LinkID: memory.LinkID{Source: anyNote(), Target: anyNote(), Relation: memory.RelatedTo}, Confidence: rng.Float64()})
				default:
					_, err = tx.Unlink(w.ctx, memory.LinkID{Source: anyNote(), Target: anyNote(), Relation: memory.RelatedTo})
				}
				if err != nil && !fault.Is(err, fault.NotFound) && !fault.Is(err, fault.Invalid) {
					return err
				}
			}
			return nil
		})
		w.noError(err)
	}
	for _, c := range trees {
		w.fold(c)
	}
}

// fold compares what the changes add up to with the views of a collection.
func (w *world) fold(c uuid.UUID) {
	w.t.Helper()
	notes, links := map[uuid.UUID]bool{}, map[memory.LinkID]bool{}
	for i, change := range w.feed(w.view(c), 0) {
		w.assertf(change.Revision == memory.Revision(i+1), "change %d is of revision %d", i, change.Revision)
		for _, n := range change.Notes {
			w.assertf(notes[n.Note] == (n.Change != memory.ChangeAdded), "at %d the note %s was there: %t, and is %s", change.Revision, n.Note, notes[n.Note], n.Change)
			if notes[n.Note] = true; n.Change == memory.ChangeRemoved {
				delete(notes, n.Note)
			}
		}
		for _, l := range change.Links {
			w.assertf(links[l.LinkID] == (l.Change != memory.ChangeAdded), "at %d the link %v was there: %t, and is %s", change.Revision, l.LinkID, links[l.LinkID], l.Change)
			if links[l.LinkID] = true; l.Change == memory.ChangeRemoved {
				delete(links, l.LinkID)
			}
		}
		v := w.viewAt(c, change.Revision)
		var shown []uuid.UUID
		for _, n := range must(w.ListNotes(w.ctx, w.all, v, memory.NoteQuery{}))(w.t) {
			shown = append(shown, n.ID)
		}
		w.assertf(slices.Equal(slices.SortedFunc(maps.Keys(notes), compareIDs), shown), "at %d the view shows %v, the changes %v", change.Revision, shown, notes)
		linked := 0
		for id := range links {
			if notes[id.Source] && notes[id.Target] {
				linked++
			}
		}
		all := must(w.Links(w.ctx, w.all, v, memory.LinkQuery{Notes: shown, Direction: memory.Outgoing}))(w.t)
		w.assertf(len(all) == linked, "at %d the view shows %d links, the changes %d", change.Revision, len(all), linked)
		for _, l := range all {
			w.assertf(links[l.LinkID], "at %d no change tells of the link %v", change.Revision, l.LinkID)
		}
	}
}

func compareIDs(a, b uuid.UUID) int { return cmp.Compare(a.String(), b.String()) }

// changesOfMuch: a page ends where it is large, but not within a changeset.
func changesOfMuch(_ *testing.T, w *world) {
	const most = 10_000 // notes of a page
	c := w.collection("c")
	w.add(c.ID, "first")
	w.write(c.ID, func(tx memory.Tx) error {
		for range most + 1 {
			if _, err := tx.Put(w.ctx, memory.Note{Content: "x"}); err != nil {
				return err
			}
		}
		return nil
	})
	w.add(c.ID, "last")
	var sizes []int
	for after := memory.Revision(0); ; {
		page := must(w.Changes(w.ctx, w.all, w.view(c.ID), after, 0))(w.t)
		if len(page) == 0 {
			break
		}
		for _, change := range page {
			sizes = append(sizes, len(change.Notes))
		}
		after = page[len(page)-1].Revision
	}
	w.assertf(slices.Equal(sizes, []int{1, most + 1, 1}), "the changes have %v notes", sizes)
}
