package storetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
)

func forkCases() []testCase {
	return []testCase{
		{"ETags", noSharedETag},
		{"PendingVector", forkWhilePending},
		{"Tombstone", tombstoneHides},
		{"EightLayers", eightLayers},
		{"ForkOfPast", forkOfPast},
		{"Adopt", adopt},
		{"ListsLikeCopy", listsLikeCopy},
	}
}

// noSharedETag: a fork's first own version of a note and the base's next one have the
// same revision but different ETags.
func noSharedETag(_ *testing.T, w *world) {
	c := w.collection("c")
	n := w.add(c.ID, "both")
	f := w.mustFork(c.ID, -1, "f")
	inherited, _ := w.get(w.view(f.ID), n.ID)
	w.assertf(inherited.Version() == n.Version(), "an inherited note has the version of the base")
	base := w.put(c.ID, memory.Note{ID: n.ID, Content: "base"})
	fork := w.put(f.ID, memory.Note{ID: n.ID, Content: "fork"})
	w.assertf(base.From == fork.From && base.Version().ETag() != fork.Version().ETag(), "two contents share %s", base.Version().ETag())
	for id, want := range map[uuid.UUID]string{c.ID: "base", f.ID: "fork"} {
		got, _ := w.get(w.view(id), n.ID)
		w.assertf(got.Content == want && got.Collection == id && got.Layer == id, "each side sees its own: %+v", got)
	}
}

// forkWhilePending: a vector that is added to the base after the fork is not visible in
// the fork.
func forkWhilePending(_ *testing.T, w *world) {
	c := w.collection("c")
	n := w.put(c.ID, memory.Note{Content: "x", State: memory.StatePending})
	f := w.mustFork(c.ID, -1, "f")
	jobs := must(w.ListJobs(w.ctx, w.all, memory.JobQuery{Collection: f.ID}))(w.t)
	w.assertf(len(jobs) == 1 && jobs[0].Kind == memory.JobAdopt && jobs[0].Stage == memory.StageTask, "the fork has a job that adopts pending notes: %+v", jobs)
	n.Vector, n.State = []float32{1, 0, 0, 0}, memory.StateEvolved
	w.put(c.ID, n)
	got, _ := w.get(w.view(f.ID), n.ID)
	w.assertf(got.Vector == nil && got.State == memory.StatePending && must(w.Counts(w.ctx, w.all, w.view(f.ID)))(w.t).Pending == 1, "the note is pending in the fork: %+v", got)
	n.Vector = []float32{0, 1, 0, 0}
	w.put(f.ID, n)
	got, _ = w.get(w.view(f.ID), n.ID)
	base, _ := w.get(w.view(c.ID), n.ID)
	w.assertf(got.Vector[1] == 1 && base.Vector[0] == 1, "each side has its own vector: %v, %v", got.Vector, base.Vector)
}

func tombstoneHides(_ *testing.T, w *world) {
	c := w.collection("c")
	a, b := w.add(c.ID, "a"), w.add(c.ID, "b")
	f := w.mustFork(c.ID, -1, "f")
	w.delete(f.ID, a.ID)
	w.put(c.ID, memory.Note{ID: a.ID, Content: "a2"})
	w.assertf(slices.Equal(w.contents(w.view(f.ID)), []string{"b"}), "hidden in the fork: %v", w.contents(w.view(f.ID)))
	w.assertf(slices.Equal(w.contents(w.view(c.ID)), []string{"a2", "b"}), "visible in the base: %v", w.contents(w.view(c.ID)))
	w.assertf(len(w.contents(w.viewAt(f.ID, f.Head))) == 2, "the fork point still shows it")
	g := w.mustFork(f.ID, -1, "g")
	_, ok := w.get(w.view(g.ID), a.ID)
	w.assertf(!ok, "hidden in the fork's fork")
	w.put(g.ID, memory.Note{ID: a.ID, Content: "own"})
	w.delete(g.ID, b.ID)
	w.assertf(slices.Equal(w.contents(w.view(g.ID)), []string{"own"}), "%v", w.contents(w.view(g.ID)))
	// A version that does not match a filter hides an inherited version that does.
	w.put(f.ID, memory.Note{ID: b.ID, Content: "b", Tags: []string{"fork"}})
	w.put(c.ID, memory.Note{ID: b.ID, Content: "b", Tags: []string{"base"}})
	w.assertf(w.matching(w.view(f.ID), `{"not":{"field":"tags","op":"exists"}}`) == "", "a filter returned a hidden version")
}

func eightLayers(_ *testing.T, w *world) {
	c := w.collection("l1")
	shared, changed, gone := w.add(c.ID, "v1"), w.add(c.ID, "base"), w.add(c.ID, "gone")
	w.link(c.ID, shared.ID, changed.ID)
	const middle = memory.MaxLineage / 2 // changes and deletes what no other layer holds, far from both ends
	ids := []uuid.UUID{c.ID}
	for i := 2; i <= memory.MaxLineage; i++ {
		f := w.mustFork(ids[len(ids)-1], -1, fmt.Sprint("l", i))
		w.put(f.ID, memory.Note{ID: shared.ID, Content: fmt.Sprint("v", i)})
		w.add(f.ID, fmt.Sprint("own", i))
		if i == middle {
			w.put(f.ID, memory.Note{ID: changed.ID, Content: "changed"})
			w.delete(f.ID, gone.ID)
			link := memory.LinkID{Source: shared.ID, Target: changed.ID, Relation: memory.RelatedTo}
			w.write(f.ID, func(tx memory.Tx) error { _, err := tx.Unlink(w.ctx, link); return err })
		}
		ids = append(ids, f.ID)
		w.add(ids[len(ids)-2], "later, not visible in the fork")
	}
	v := w.view(ids[len(ids)-1])
	w.assertf(len(v.Layers) == memory.MaxLineage && v.Layers[0].Collection == ids[len(ids)-1] && v.Layers[7].Collection == c.ID, "layers %+v", v.Layers)
	want := []string{"v8", "changed", "own2", "own3", "own4", "own5", "own6", "own7", "own8"}
	w.assertf(slices.Equal(w.contents(v), want), "%v", w.contents(v))
	w.assertf(len(w.links(v, shared.ID)) == 0 && len(w.links(w.view(c.ID), shared.ID)) == 1, "a link that a layer in between removed")
	var paged []string
	q := memory.NoteQuery{Limit: 3}
	for {
		page := must(w.ListNotes(w.ctx, w.all, v, q))(w.t)
		for _, n := range page {
			paged = append(paged, n.Content)
			q.After = n.ID
		}
		if len(page) < 3 {
			break
		}
	}
	w.assertf(slices.Equal(paged, want), "by pages: %v", paged)
	for at := memory.Revision(1); at <= v.At; at++ {
		past := w.viewAt(v.Collection.ID, at)
		for i, l := range past.Layers {
			w.assertf(l.Bound <= at && (i == 0 || l.Bound <= past.Layers[i-1].Bound), "bounds %+v at %d", past.Layers, at)
		}
		w.assertf(int64(len(w.contents(past))) == must(w.Counts(w.ctx, w.all, past))(w.t).Notes, "counts at %d", at)
	}
	w.assertf(len(must(w.History(w.ctx, w.all, v, shared.ID, 0, 0))(w.t)) == 8, "history through the lineage")
}

func forkOfPast(_ *testing.T, w *world) {
	c := w.collection("c")
	w.add(c.ID, "a")
	w.add(c.ID, "b")
	f := w.mustFork(c.ID, 1, "f")
	w.assertf(f.Head == 1 && f.ParentRevision == 1 && f.Parent == c.ID && f.Embedder == embedder && f.Dim == dim, "fork %+v", f)
	w.assertf(slices.Equal(w.contents(w.view(f.ID)), []string{"a"}), "%v", w.contents(w.view(f.ID)))
	x := w.add(f.ID, "x")
	w.assertf(x.From == 2 && w.head(c.ID) == 2, "the log continues the parent's numbers")
	w.assertf(slices.Equal(w.contents(w.viewAt(f.ID, 0)), []string{}), "before the fork point")
	for _, at := range []memory.Revision{3, 99} {
		_, err := w.fork(c.ID, at, "g")
		w.wantInvalid(err, "at_revision")
	}
	_, err := w.fork(uuid.New(), 0, "g")
	w.wantFault(err, fault.NotFound)
	_, err = w.CreateCollection(w.ctx, w.all, memory.NewCollection{Collection: memory.Collection{Name: "g", Parent: c.ID, Embedder: "other"}})
	w.wantInvalid(err, "embedder")
	g := must(w.CreateCollection(w.ctx, w.all, memory.NewCollection{Collection: memory.Collection{Name: "g", Agent: w.bob.ID, Parent: c.ID, ParentRevision: 2}}))(w.t).Collection
	w.assertf(len(must(w.ListNotes(w.ctx, w.bobS, must(w.OpenView(w.ctx, w.bobS, "g", memory.At{}))(w.t), memory.NoteQuery{}))(w.t)) == 2, "a fork for an agent: %+v", g)
	_, err = w.OpenView(w.ctx, w.aliceS, g.ID.String(), memory.At{})
	w.wantFault(err, fault.NotFound)
}

func adopt(_ *testing.T, w *world) {
	c := w.collection("c")
	n := w.put(c.ID, memory.Note{Content: "x", State: memory.StateEvolved})
	jobs := func(id uuid.UUID) int {
		return len(must(w.ListJobs(w.ctx, w.all, memory.JobQuery{Collection: id}))(w.t))
	}
	w.assertf(jobs(w.mustFork(c.ID, -1, "done").ID) == 0, "all notes are evolved, so there is nothing to adopt")
	w.put(c.ID, memory.Note{Content: "raw"})
	f := w.mustFork(c.ID, -1, "raw")
	w.assertf(jobs(f.ID) == 1, "the fork has a job for a raw note")
	w.assertf(jobs(w.mustFork(c.ID, 1, "past").ID) == 0, "the raw note is not visible at the fork point")
	for _, n := range must(w.ListNotes(w.ctx, w.all, w.view(f.ID), memory.NoteQuery{}))(w.t) {
		n.State = memory.StateEvolved
		w.put(f.ID, n)
	}
	w.assertf(jobs(w.mustFork(f.ID, -1, "hidden").ID) == 0, "the fork's own version hides the raw one")
	w.delete(c.ID, n.ID)
}

// listsLikeCopy: after the same writes, a fork and a copy read the same.
func listsLikeCopy(_ *testing.T, w *world) {
	c := w.collection("c")
	var base []memory.Note
	for i := range 40 {
		base = append(base, w.put(c.ID, memory.Note{Content: fmt.Sprint(i), Tags: []string{fmt.Sprint(i % 3)}, Vector: []float32{float32(i), 1, 0, 0}, Tokens: tokens(1, i), State: memory.StateEvolved}))
	}
	for i := range 20 {
		w.link(c.ID, base[i].ID, base[i+1].ID)
	}
	fork, copied := w.mustFork(c.ID, -1, "fork"), w.copyOf(w.view(c.ID), "copy", 7)
	for _, id := range []uuid.UUID{fork.ID, copied.ID} {
		w.write(id, func(tx memory.Tx) error {
			for i := range 10 {
				w.noError(errOf(tx.Put(w.ctx, memory.Note{ID: base[3*i].ID, Content: fmt.Sprint("changed ", i), Tags: []string{"new"}})))
				w.noError(tx.Delete(w.ctx, base[3*i+1].ID))
			}
			w.noError(errOf(tx.Put(w.ctx, memory.Note{ID: uuid.MustParse("ffffffff-0000-7000-8000-000000000001"), Content: "added", CreatedAt: base[0].CreatedAt})))
			_, err := tx.Link(w.ctx, memory.Link{LinkID: memory.LinkID{Source: base[39].ID, Target: base[0].ID}})
			return err
		})
	}
	flat := func(id uuid.UUID) string {
		v := w.view(id)
		var all []uuid.UUID
		var out strings.Builder
		for _, n := range must(w.ListNotes(w.ctx, w.all, v, memory.NoteQuery{ReadOptions: memory.ReadOptions{Vector: true}}))(w.t) {
			all = append(all, n.ID)
			fmt.Fprintln(&out, n.ID, n.From, n.Content, n.Tags, n.Vector, string(n.Tokens), n.State, n.CreatedAt)
		}
		for _, l := range w.links(v, all...) {
			fmt.Fprintln(&out, l.LinkID, l.From, l.Confidence)
		}
		return out.String() + fmt.Sprintf("%+v %s", must(w.Counts(w.ctx, w.all, v))(w.t), w.matching(v, `{"field":"tags","op":"in","value":["1","new"]}`))
	}
	w.assertf(flat(fork.ID) == flat(copied.ID), "the fork:\n%s\nthe copy:\n%s", flat(fork.ID), flat(copied.ID))
}
