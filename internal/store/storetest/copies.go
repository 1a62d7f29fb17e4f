package storetest

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
)

func copyCases() []testCase {
	return []testCase{
		{"Copy", copyResumed},
		{"CopyAdopts", copyAdopts},
		{"CopyEmpty", func(_ *testing.T, w *world) {
			c := w.copyOf(w.view(w.collection("c").ID), "copy", 10)
			w.assertf(c.State == memory.CollectionActive && c.Head == 0, "an empty copy: %+v", c)
		}},
	}
}

// copyTarget creates a collection that is the target of a copy.
func (w *world) copyTarget(name string) memory.CollectionCreated {
	w.t.Helper()
	return w.copyTargetOf(name, "amem")
}

func (w *world) copyTargetOf(name, policy string) memory.CollectionCreated {
	w.t.Helper()
	return must(w.CreateCollection(w.ctx, w.all, memory.NewCollection{
		Collection: memory.Collection{Name: name, Policy: policy, Embedder: embedder, Dim: dim},
		CopyJob:    &memory.Job{Kind: memory.JobCopy, Stage: memory.StageTask, Payload: []byte(`{}`)},
	}))(w.t)
}

func (w *world) copyOf(v memory.View, name string, batch int) memory.Collection {
	w.t.Helper()
	return w.copyInto(w.copyTarget(name).Collection.ID, v, batch)
}

func (w *world) copyInto(id uuid.UUID, v memory.View, batch int) memory.Collection {
	w.t.Helper()
	for cursor := ""; ; {
		_, next, err := w.CopyRows(w.ctx, w.all, v, id, cursor, batch)
		w.noError(err)
		if next == "" {
			return must(w.ResolveCollection(w.ctx, w.all, id.String()))(w.t)
		}
		cursor = next
	}
}

func copyResumed(_ *testing.T, w *world) {
	c := w.collection("c")
	var notes []memory.Note
	for i := range 12 {
		notes = append(notes, w.put(c.ID, memory.Note{Content: fmt.Sprint(i), Key: fmt.Sprint("k", i), Vector: []float32{1, 0, 0, float32(i)}, Tokens: tokens(i, i)}))
	}
	w.link(c.ID, notes[11].ID, notes[0].ID)
	w.link(c.ID, notes[1].ID, notes[2].ID)
	w.delete(c.ID, notes[2].ID)
	f := w.mustFork(c.ID, -1, "f")
	w.put(f.ID, memory.Note{ID: notes[5].ID, Content: "own"})
	w.noError(w.AddUsage(w.ctx, w.all, w.view(c.ID), []memory.UsageDelta{{Note: notes[0].ID, Accesses: 3}}))
	v := w.view(f.ID)
	w.add(f.ID, "after the view was opened")

	made := w.copyTarget("copy")
	target := made.Collection.ID
	w.assertf(made.Collection.State == memory.CollectionCopying && made.Job != nil && made.Job.Collection == target && made.Job.State == memory.JobQueued, "created: %+v", made)
	w.wantFault(errOf(w.tryWrite(target, func(tx memory.Tx) error { return errOf(tx.Put(w.ctx, memory.Note{Content: "x"})) })), fault.Conflict)
	_, err := w.fork(target, 0, "early")
	w.wantFault(err, fault.Conflict)
	cursor, total, steps := "", 0, 0
	for {
		n, next, err := w.CopyRows(w.ctx, w.all, v, target, cursor, 4)
		w.noError(err)
		n2, next2, err := w.CopyRows(w.ctx, w.all, v, target, cursor, 4)
		w.assertf(err == nil && n2 == n && next2 == next, "a repeated step: %d %q, %d %q, %v", n, next, n2, next2, err)
		total += n
		if steps++; next == "" {
			break
		}
		w.assertf(must(w.ResolveCollection(w.ctx, w.all, "copy"))(w.t).State == memory.CollectionCopying, "the copy is not complete yet")
		cursor = next
	}
	w.assertf(total == 11 && steps == 3, "%d notes in %d steps", total, steps)
	got := must(w.ResolveCollection(w.ctx, w.all, "copy"))(w.t)
	w.assertf(got.State == memory.CollectionActive && got.Head == v.At && got.Floor == v.At && got.Parent == uuid.Nil, "done: %+v", got)
	cv := w.view(target)
	w.assertf(slices.Equal(w.contents(cv), w.contents(v)), "the copy has %v, the source %v", w.contents(cv), w.contents(v))
	for _, n := range notes {
		a, ok := w.get(v, n.ID)
		b, ok2 := w.get(cv, n.ID)
		w.assertf(ok == ok2 && a.From == b.From && slices.Equal(a.Vector, b.Vector) && bytes.Equal(a.Tokens, b.Tokens) && a.UpdatedAt.Equal(b.UpdatedAt) && a.Key == b.Key, "the copy has %+v, the source %+v", b, a)
		w.assertf(!ok || b.Layer == target, "copied notes are in the layer of the copy")
	}
	w.assertf(len(w.links(cv, notes[0].ID, notes[1].ID)) == 1, "links %+v", w.links(cv, notes[0].ID, notes[1].ID))
	w.assertf(must(w.Usage(w.ctx, w.all, cv, []uuid.UUID{notes[0].ID}))(w.t)[notes[0].ID].AccessCount == 3, "usage is copied")
	below := v.At - 1
	_, err = w.OpenView(w.ctx, w.all, "copy", memory.At{AsOf: &below})
	w.wantFault(err, fault.RevisionGone)
	_, err = w.fork(target, below, "below")
	w.wantFault(err, fault.RevisionGone)
	w.assertf(len(must(w.History(w.ctx, w.all, cv, notes[0].ID, 0, 0))(w.t)) == 1, "a copy has one version of each note")
	n := w.add(target, "own")
	w.assertf(n.From == v.At+1, "the log continues after the revision of the copied view")
	w.put(target, memory.Note{ID: notes[0].ID, Content: "diverged"})
	_, next, err := w.CopyRows(w.ctx, w.all, v, target, cursor, 4)
	w.assertf(err == nil && next == "", "the last step repeated after a write: %v", err)
	w.assertf(w.contents(w.view(target))[0] == "diverged" && w.contents(w.view(c.ID))[0] == "0", "the copy and its source are isolated")
	w.noError(errOf(w.DeleteCollection(w.ctx, w.all, f.ID, false, memory.AuditEntry{})))
	w.assertf(len(w.contents(w.view(target))) == 12, "a copy is independent of its source")
	lost := w.copyTarget("lost").Collection.ID
	_, _, err = w.CopyRows(w.ctx, w.all, v, lost, "", 4)
	w.wantFault(err, fault.NotFound)
}

// copyAdopts: a copy has a job for raw notes, unless it has no policy and each note has its vector.
func copyAdopts(_ *testing.T, w *world) {
	c := w.collection("c")
	for i := range 3 {
		w.put(c.ID, memory.Note{Content: fmt.Sprint(i), Vector: []float32{1, 0, 0, float32(i)}})
	}
	embedded := w.view(c.ID)
	w.put(c.ID, memory.Note{Content: "without a vector"})
	for name, want := range map[string]struct {
		policy string
		view   memory.View
		jobs   []memory.JobKind
	}{
		"amem":   {"amem", embedded, []memory.JobKind{memory.JobAdopt, memory.JobCopy}},
		"none":   {memory.PolicyNone, embedded, []memory.JobKind{memory.JobCopy}},
		"vector": {memory.PolicyNone, w.view(c.ID), []memory.JobKind{memory.JobAdopt, memory.JobCopy}},
	} {
		made := w.copyInto(w.copyTargetOf(name, want.policy).Collection.ID, want.view, 2)
		var got []memory.JobKind
		for _, j := range must(w.ListJobs(w.ctx, w.all, memory.JobQuery{Collection: made.ID}))(w.t) {
			got = append(got, j.Kind)
		}
		w.assertf(slices.Equal(got, want.jobs), "%s: the copy has the jobs %v", name, got)
	}
}
