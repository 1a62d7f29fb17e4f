package storetest

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
)

func lineageCases() []testCase {
	return []testCase{
		{"Touched", touchedOnly},
		{"TouchedLinks", touchedLinks},
		{"Merges", merges},
		{"Snapshots", snapshots},
		{"RevisionAt", revisionAt},
		{"Flatten", flatten},
		{"FlattenErase", flattenErase},
		{"DeepestFork", deepestFork},
	}
}

// touchedOnly: what is read depends on what differs, not on how much the views share.
func touchedOnly(_ *testing.T, w *world) {
	for _, size := range []int{20, 400} {
		c := w.collection(fmt.Sprint("c", size))
		var base []memory.Note
		w.write(c.ID, func(tx memory.Tx) error {
			for i := range size {
				base = append(base, must(tx.Put(w.ctx, memory.Note{Content: fmt.Sprint(i)}))(w.t))
			}
			return nil
		})
		a, b := w.mustFork(c.ID, -1, fmt.Sprint("a", size)), w.mustFork(c.ID, -1, fmt.Sprint("b", size))
		inA := w.put(a.ID, memory.Note{ID: base[3].ID, Content: "a"}).ID
		w.delete(b.ID, base[5].ID)
		made := w.add(b.ID, "new").ID
		later := w.put(c.ID, memory.Note{ID: base[7].ID, Content: "later"}).ID
		touched := func(x, y memory.View) []uuid.UUID { return must(w.Touched(w.ctx, w.all, x, y))(w.t).Notes }
		sorted := func(ids ...uuid.UUID) []uuid.UUID { return slices.SortedFunc(slices.Values(ids), memory.CompareIDs) }
		got := touched(w.view(a.ID), w.view(b.ID))
		w.assertf(slices.Equal(got, sorted(inA, base[5].ID, made)), "two forks: %v", got)
		got = touched(w.view(c.ID), w.view(a.ID))
		w.assertf(slices.Equal(got, sorted(inA, later)), "a fork and its base: %v", got)
		got = touched(w.viewAt(c.ID, 1), w.view(c.ID))
		w.assertf(slices.Equal(got, sorted(later)), "two revisions: %v", got)
		got = touched(w.viewAt(a.ID, a.Head), w.view(a.ID))
		w.assertf(slices.Equal(got, sorted(inA)), "a fork and its beginning: %v", got)
		w.assertf(len(touched(w.view(a.ID), w.view(a.ID))) == 0, "a view and itself")
	}
	err := errOf(w.Touched(w.ctx, w.all, w.view(w.collection("x").ID), w.view(w.collection("y").ID)))
	w.wantFault(err, fault.Internal)
}

// touchedLinks: a link counts that was written since, or that lost or got an end.
func touchedLinks(_ *testing.T, w *world) {
	c := w.collection("c")
	n := make([]memory.Note, 5)
	for i := range n {
		n[i] = w.add(c.ID, fmt.Sprint(i))
	}
	w.link(c.ID, n[0].ID, n[1].ID)
	w.link(c.ID, n[1].ID, n[2].ID)
	f := w.mustFork(c.ID, -1, "f")
	id := func(from, to int) memory.LinkID {
		return memory.LinkID{Source: n[from].ID, Relation: memory.RelatedTo, Target: n[to].ID}
	}
	w.link(f.ID, n[3].ID, n[4].ID)
	w.delete(f.ID, n[1].ID)
	w.link(c.ID, n[4].ID, n[0].ID)
	got := must(w.Touched(w.ctx, w.all, w.view(c.ID), w.view(f.ID)))(w.t).Links
	want := []memory.LinkID{id(0, 1), id(1, 2), id(3, 4), id(4, 0)}
	slices.SortFunc(want, memory.CompareLinkIDs)
	w.assertf(slices.Equal(got, want), "%v, want %v", got, want)
}

// merges: a changeset keeps where its content is from, through forks and after its base is removed, until it is undone.
func merges(_ *testing.T, w *world) {
	c := w.collection("c")
	w.add(c.ID, "a")
	from := memory.MergedFrom{Collection: uuid.New(), Revision: 7, Notes: []uuid.UUID{uuid.New()}, Through: []memory.Ancestor{{Collection: uuid.New(), Bound: 3}}}
	merge := func(id uuid.UUID, read memory.Revision) (memory.Written, error) {
		o := memory.WriteOptions{Cause: memory.CauseMerge, MergedFrom: &from, Reads: []memory.View{w.viewAt(id, read)}}
		return w.Write(w.ctx, w.all, id, o, func(_ context.Context, tx memory.Tx) error { return errOf(tx.Put(w.ctx, memory.Note{Content: "m"})) })
	}
	at := must(merge(c.ID, 1))(w.t).Revision
	w.wantFault(errOf(merge(c.ID, 1)), fault.Conflict)
	f := w.mustFork(c.ID, -1, "f")
	of := func(id uuid.UUID) []memory.Changeset { return must(w.Merges(w.ctx, w.all, w.view(id)))(w.t) }
	for _, id := range []uuid.UUID{c.ID, f.ID} {
		list := of(id)
		w.assertf(len(list) == 1 && list[0].Revision == at && list[0].Collection == c.ID && list[0].Cause == memory.CauseMerge &&
			reflect.DeepEqual(*list[0].MergedFrom, from), "%+v", list)
	}
	undo := memory.WriteOptions{Cause: memory.CauseUndo, Undoes: at}
	must(w.Write(w.ctx, w.all, c.ID, undo, func(_ context.Context, tx memory.Tx) error { return errOf(tx.Put(w.ctx, memory.Note{Content: "u"})) }))(w.t)
	w.assertf(len(of(c.ID)) == 0 && len(of(f.ID)) == 1, "undone in the base, after the fork: %v, %v", of(c.ID), of(f.ID))
	must(w.DeleteCollection(w.ctx, w.all, c.ID, true, memory.AuditEntry{}))(w.t)
	w.assertf(len(of(f.ID)) == 1 && of(f.ID)[0].Collection == f.ID, "an independent fork keeps it: %v", of(f.ID))
}

// snapshots: names of revisions belong to one collection and go with it.
func snapshots(_ *testing.T, w *world) {
	c := w.collection("c")
	w.add(c.ID, "a")
	w.add(c.ID, "b")
	create := func(name string, at memory.Revision) (memory.Snapshot, error) {
		return w.CreateSnapshot(w.ctx, w.all, memory.Snapshot{Collection: c.ID, Name: name, Revision: at}, memory.AuditEntry{Action: "snapshot.create"})
	}
	made := must(create("first", 1))(w.t)
	must(create("Ä name", 2))(w.t)
	w.wantFault(errOf(create("first", 2)), fault.Exists)
	w.wantInvalid(errOf(create("late", 3)), "revision")
	list := must(w.Snapshots(w.ctx, w.all, c.ID))(w.t)
	w.assertf(len(list) == 2 && list[0].Name == "first" && list[0].Revision == 1 && list[0].CreatedAt.Equal(made.CreatedAt) && list[1].Name == "Ä name", "%+v", list)
	drop := func(name string) error { return w.DeleteSnapshot(w.ctx, w.all, c.ID, name, memory.AuditEntry{}) }
	w.noError(drop("first"))
	w.wantFault(drop("first"), fault.NotFound)
	w.wantFault(drop("x\x00"), fault.NotFound)
	w.assertf(len(must(w.Snapshots(w.ctx, w.all, c.ID))(w.t)) == 1, "one is left")
	must(w.DeleteCollection(w.ctx, w.all, c.ID, false, memory.AuditEntry{}))(w.t)
	w.wantFault(errOf(w.Snapshots(w.ctx, w.all, c.ID)), fault.NotFound)
	for gone := false; !gone; {
		gone = must(w.RemoveRows(w.ctx, w.all, c.ID, 1))(w.t)
	}
}

// revisionAt: a time names the last revision that was written by then, through the lineage.
func revisionAt(_ *testing.T, w *world) {
	c := w.collection("c")
	start := w.clock.Now()
	w.clock.Advance(time.Hour)
	w.add(c.ID, "a")
	between := w.clock.Now()
	w.clock.Advance(time.Hour)
	w.add(c.ID, "b")
	f := w.mustFork(c.ID, -1, "f")
	w.clock.Advance(time.Hour)
	w.add(c.ID, "not in the fork")
	w.add(f.ID, "own")
	at := func(id uuid.UUID, t time.Time) memory.Revision {
		return must(w.RevisionAt(w.ctx, w.all, w.view(id), t))(w.t)
	}
	for i, id := range []uuid.UUID{c.ID, f.ID} {
		w.assertf(at(id, start) == 0 && at(id, between) == 1 && at(id, w.clock.Now()) == 3, "%d: %d, %d, %d", i, at(id, start), at(id, between), at(id, w.clock.Now()))
	}
	w.assertf(at(f.ID, between.Add(90*time.Minute)) == 2, "before the fork's own first changeset")
}

// chain forks a collection so often, with a note of its own in each layer, and more in the largest.
func (w *world) chain(c uuid.UUID, forks, largest int) []uuid.UUID {
	w.t.Helper()
	var ids []uuid.UUID
	for i := range forks + 1 {
		if i > 0 {
			c = w.mustFork(c, -1, fmt.Sprint(c, "-", i)).ID
		}
		w.add(c, fmt.Sprint("own ", i))
		for k := 0; i == largest && k < 20; k++ {
			w.add(c, fmt.Sprint("many ", k))
		}
		ids = append(ids, c)
	}
	return ids
}

// flatten: only the largest layer is not copied, nothing that can be seen changes, and the collections stay related.
func flatten(_ *testing.T, w *world) {
	for _, largest := range []int{0, 4, memory.MaxLineage - 1, memory.MaxLineage} {
		c := w.collection(fmt.Sprint("c", largest))
		first := w.add(c.ID, "first")
		ids := w.chain(c.ID, memory.MaxLineage, largest)
		last := ids[len(ids)-1]
		jobs := must(w.ListJobs(w.ctx, w.all, memory.JobQuery{Collection: last}))(w.t)
		w.assertf(slices.ContainsFunc(jobs, func(j memory.Job) bool { return j.Kind == memory.JobFlatten }), "a deep fork has a job that flattens it: %v", jobs)
		w.put(last, memory.Note{ID: first.ID, Content: "changed"})
		parent := must(w.ResolveCollection(w.ctx, w.all, last.String()))(w.t).Parent
		before := w.picture(last)
		w.noError(w.FlattenLineage(w.ctx, w.all, last))
		v := w.view(last)
		w.assertf(len(v.Layers) <= memory.MaxLineage && slices.ContainsFunc(v.Layers, func(l memory.Layer) bool { return l.Collection == ids[largest] }),
			"the largest is layer %d, left are %+v", largest, v.Layers)
		after := w.picture(last)
		w.assertf(before == after, "before:\n%s\nafter:\n%s", before, after)
		w.assertf(v.Collection.Parent == parent && parent == ids[len(ids)-2], "its parent is %s", v.Collection.Parent)
		forks := must(w.ListCollections(w.ctx, w.all, memory.CollectionQuery{Parent: parent}))(w.t)
		w.assertf(slices.ContainsFunc(forks, func(f memory.Collection) bool { return f.ID == last }), "it is listed as a fork of its parent: %v", forks)
		w.noError(w.FlattenLineage(w.ctx, w.all, last))
		w.verify()
	}
}

// picture shows a collection at each revision, and how it differs from each collection of its lineage.
func (w *world) picture(id uuid.UUID) string {
	w.t.Helper()
	var out strings.Builder
	v := w.view(id)
	for at := memory.Revision(0); at <= v.At; at++ {
		past := w.viewAt(id, at)
		fmt.Fprintln(&out, at, w.contents(past), must(w.Counts(w.ctx, w.all, past))(w.t))
	}
	for _, l := range v.Logs() {
		base := w.view(l.Collection)
		shared, ok := memory.Shared(&base, &v)
		fmt.Fprintln(&out, l, shared, ok, must(w.Touched(w.ctx, w.all, base, v))(w.t))
	}
	fmt.Fprintln(&out, "own adds", must(w.CountChangesets(w.ctx, w.all, v, memory.CauseAdd, time.Time{}, w.clock.Now().Add(time.Hour)))(w.t))
	for _, c := range must(w.Changes(w.ctx, w.all, v, 0, 0))(w.t) {
		fmt.Fprintln(&out, c.Revision, c.Cause, c.Notes, c.Links)
	}
	return out.String()
}

// flattenErase: what a note was is erased from the forks that hold a copy of it, also after the collection between was deleted.
func flattenErase(_ *testing.T, w *world) {
	c := w.collection("c")
	secret := w.add(c.ID, "mark")
	ids := w.chain(c.ID, memory.MaxLineage, memory.MaxLineage)
	middle, last := ids[2], ids[len(ids)-1]
	inMiddle := w.add(middle, "mark in between") // not visible below it
	w.noError(w.FlattenLineage(w.ctx, w.all, last))
	w.assertf(len(w.view(last).Layers) == 1, "the largest holds all")
	w.noError(errOf(w.DeleteCollection(w.ctx, w.all, middle, true, memory.AuditEntry{})))
	w.delete(c.ID, secret.ID)
	out := must(w.EraseNotes(w.ctx, w.all, c.ID, memory.Erasing{Notes: []uuid.UUID{secret.ID}}, memory.AuditEntry{Action: "note.erase"}))(w.t)
	w.assertf(slices.Contains(out.Layers, last), "erased from %v", out.Layers)
	w.wantFault(errOf(w.History(w.ctx, w.all, w.view(last), secret.ID, 0, 0)), fault.NotFound)
	_, seen := w.get(w.view(ids[3]), inMiddle.ID)
	w.assertf(!seen, "written after the fork")
}

// deepestFork: forks of forks are made faster than jobs flatten them.
func deepestFork(_ *testing.T, w *world) {
	c := w.collection("c")
	ids := w.chain(c.ID, memory.DeepestLineage+8, 0)
	v := w.view(ids[len(ids)-1])
	w.assertf(len(v.Layers) <= memory.DeepestLineage+1 && len(w.contents(v)) == len(ids)+20, "%d layers show %v", len(v.Layers), w.contents(v))
}

// compareTouched checks that no difference between two views of the model is missed.
func (m *model) compareTouched(rt *rapid.T) {
	a, b := m.pick(rt), m.pick(rt)
	x, y := m.viewAt(a.id, m.revision(rt, a)), m.viewAt(b.id, m.revision(rt, b))
	shared, related := memory.Shared(&x, &y)
	want := min(x.At, y.At)
	for want >= 0 && (a.at[want] == nil || a.at[want] != b.at[want]) {
		want--
	}
	m.assertf(related == (want >= 0), "%s and %s are related: %v", a.name, b.name, related)
	if !related {
		return
	}
	m.assertf(shared.Bound == want, "%s at %d and %s at %d share a log up to %d, want %d", a.name, x.At, b.name, y.At, shared.Bound, want)
	t := must(m.Touched(m.ctx, m.world.all, x, y))(m.t)
	was, now := a.at[x.At], b.at[y.At]
	for _, id := range m.ids {
		o, had := was.notes[id]
		n, has := now.notes[id]
		if had != has || o != n {
			m.assertf(slices.Contains(t.Notes, id), "%s at %d and %s at %d differ in note %s", a.name, x.At, b.name, y.At, id)
		}
	}
	links, others := was.visible(), now.visible()
	for _, pair := range [][2]map[memory.LinkID]float64{{links, others}, {others, links}} {
		for id, confidence := range pair[0] {
			if other, ok := pair[1][id]; !ok || other != confidence {
				m.assertf(slices.Contains(t.Links, id), "%s at %d and %s at %d differ in link %v", a.name, x.At, b.name, y.At, id)
			}
		}
	}
}
