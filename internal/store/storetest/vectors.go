package storetest

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
)

// other is an embedder that collections are switched to.
const (
	other    = "other-2"
	otherDim = 2
)

func vectorCases() []testCase {
	return []testCase{
		{"Further", furtherVectors},
		{"FurtherRefused", furtherRefused},
		{"Switch", switchEmbedder},
		{"SwitchedLineage", switchedLineage},
		{"LateWriter", lateWriter},
		{"Unended", unended},
	}
}

// further makes the vector of a version in the other embedder.
func further(n memory.Note) memory.VersionVector {
	return memory.VersionVector{Version: n.Version(), Vector: []float32{0.5, float32(len(n.Content))}, Tokens: tokens(2, len(n.Content))}
}

// reembed does what a job does that switches a collection.
func (w *world) reembed(id, job uuid.UUID) {
	w.t.Helper()
	v := w.view(id)
	var all []memory.VersionVector
	for _, n := range must(w.ListNotes(w.ctx, w.all, v, memory.NoteQuery{Lacks: other}))(w.t) {
		all = append(all, further(n))
	}
	w.ok(w.AddVectors(w.ctx, w.all, v, other, all))
	w.switchTo(id, job)
}

func (w *world) switchTo(id, job uuid.UUID) {
	w.t.Helper()
	_, err := w.Write(w.ctx, w.all, id, memory.WriteOptions{Cause: memory.CauseReembed, Job: job}, func(_ context.Context, tx memory.Tx) error {
		return tx.SetEmbedder(w.ctx, other, otherDim, job)
	})
	w.ok(err)
}

func (w *world) lacking(v memory.View) []string {
	w.t.Helper()
	out := []string{}
	for _, n := range must(w.ListNotes(w.ctx, w.all, v, memory.NoteQuery{Lacks: other}))(w.t) {
		out = append(out, n.Content)
	}
	return out
}

func furtherVectors(_ *testing.T, w *world) {
	c := w.collection("c")
	a := w.put(c.ID, memory.Note{Content: "a", Vector: []float32{1, 0, 0, 0}})
	hidden := w.put(c.ID, memory.Note{Content: "hidden", Vector: []float32{1, 0, 0, 0}})
	gone := w.put(c.ID, memory.Note{Content: "gone", Vector: []float32{1, 0, 0, 0}})
	f := w.mustFork(c.ID, -1, "f")
	own := w.put(f.ID, memory.Note{ID: hidden.ID, Content: "own", Vector: []float32{0, 1, 0, 0}})
	w.delete(f.ID, gone.ID)
	later := w.add(c.ID, "later")
	v := w.view(f.ID)
	w.isf(slices.Equal(w.lacking(v), []string{"a", "own"}), "lacking %v", w.lacking(v))
	page := must(w.ListNotes(w.ctx, w.all, v, memory.NoteQuery{Lacks: other, After: a.ID, Limit: 1}))(w.t)
	w.isf(len(page) == 1 && page[0].ID == own.ID, "a page of those that lack it: %+v", page)
	heads := []memory.Revision{w.head(c.ID), w.head(f.ID)}
	add := []memory.VersionVector{
		further(a), further(own), further(later), // later lies beyond what the fork sees
		{Version: memory.Version{Layer: f.ID, Note: gone.ID, From: w.head(f.ID)}, Vector: []float32{1, 1}}, // a tombstone
		{Version: memory.Version{Layer: f.ID, Note: uuid.New(), From: 1}, Vector: []float32{1, 1}},         // never was
	}
	w.ok(w.AddVectors(w.ctx, w.all, v, other, add))
	first := further(a)
	first.Vector = []float32{9, 9}
	w.ok(w.AddVectors(w.ctx, w.all, v, other, []memory.VersionVector{first})) // the first one stays
	w.isf(len(w.lacking(v)) == 0, "lacking %v", w.lacking(v))
	w.isf(slices.Equal(w.lacking(w.view(c.ID)), []string{"hidden", "gone", "later"}), "in the base %v", w.lacking(w.view(c.ID)))
	w.isf(slices.Equal([]memory.Revision{w.head(c.ID), w.head(f.ID)}, heads), "further vectors are no changeset")
	n, odd, err := w.CountVectors(w.ctx, w.all, v, other, otherDim)
	w.isf(err == nil && n == 2 && odd == 0, "%d and %d vectors, %v", n, odd, err)
	n, odd, err = w.CountVectors(w.ctx, w.all, v, embedder, dim+1)
	w.isf(err == nil && n == 0 && odd == 2, "%d and %d vectors of other dimensions, %v", n, odd, err)
	got, _ := w.get(v, a.ID)
	w.isf(got.Embedder == embedder && len(got.Vector) == dim, "who did not switch reads what it had: %+v", got)
	var rows []memory.LogRow
	_, err = w.Log(w.ctx, w.all, v, 1, 0, other, func(r memory.LogRow) error { rows = append(rows, r); return nil })
	w.ok(err)
	want := further(a)
	w.isf(len(rows) == 4 && slices.Equal(rows[0].Note.Vector, want.Vector) && bytes.Equal(rows[0].Note.Tokens, want.Tokens) && rows[1].Note.Vector == nil,
		"the log of the base in the other embedder: %+v", rows)
}

func furtherRefused(_ *testing.T, w *world) {
	c := w.collection("c")
	a := w.put(c.ID, memory.Note{Content: "a", Vector: []float32{1, 0, 0, 0}})
	v := w.view(c.ID)
	for _, bad := range []struct {
		field, embedder string
		vector          []float32
		tokens          []byte
	}{
		{"embedder", "", []float32{1}, nil},
		{"vector", other, nil, nil},
		{"vector", other, []float32{float32(math.NaN())}, nil},
		{"vector", other, []float32{float32(math.Inf(1))}, nil},
		{"tokens", other, []float32{1}, tokens(1, 1)[1:]},
		{"tokens", other, []float32{1}, tokens(257, 1)},
	} {
		x := memory.VersionVector{Version: a.Version(), Vector: bad.vector, Tokens: bad.tokens}
		w.field(w.AddVectors(w.ctx, w.all, v, bad.embedder, []memory.VersionVector{further(a), x}), bad.field)
	}
	w.isf(len(w.lacking(v)) == 1, "something of it was kept")
	_, err := w.tryWrite(c.ID, func(tx memory.Tx) error { return tx.SetEmbedder(w.ctx, "", 3, uuid.New()) })
	w.field(err, "embedder")
	_, err = w.tryWrite(c.ID, func(tx memory.Tx) error { return tx.SetEmbedder(w.ctx, other, 0, uuid.New()) })
	w.field(err, "vector")
	w.isf(w.head(c.ID) == v.At, "a refused switch moved the head")
	f := w.mustFork(c.ID, -1, "f")
	fv := w.view(f.ID)
	w.ok(w.DeleteCollection(w.ctx, w.all, c.ID, true, memory.AuditEntry{}))
	w.refused(w.AddVectors(w.ctx, w.all, fv, other, []memory.VersionVector{further(a)}), fault.Conflict)
	w.remove(c.ID, 100)
}

func switchEmbedder(_ *testing.T, w *world) {
	c := w.collection("c")
	a := w.put(c.ID, memory.Note{Content: "a", Vector: []float32{1, 0, 0, 0}})
	w.put(c.ID, memory.Note{ID: a.ID, Content: "aa", Vector: []float32{0, 1, 0, 0}})
	before := must(w.Counts(w.ctx, w.all, w.view(c.ID)))(w.t)
	job := uuid.New()
	w.reembed(c.ID, job)
	r := must(w.ResolveCollection(w.ctx, w.all, "c"))(w.t)
	w.isf(r.Embedder == other && r.Dim == otherDim && r.Reembedded == job && r.Head == 3, "switched: %+v", r)
	cs := must(w.Changesets(w.ctx, w.all, w.view(c.ID), 2, 10))(w.t)
	w.isf(len(cs) == 1 && cs[0].Cause == memory.CauseReembed && cs[0].Job == job, "the switch is a changeset: %+v", cs)
	after := must(w.Counts(w.ctx, w.all, w.view(c.ID)))(w.t)
	w.isf(fmt.Sprint(after) == fmt.Sprint(before), "counts were %+v and are %+v", before, after)
	got, _ := w.get(w.view(c.ID), a.ID)
	w.isf(got.Embedder == other && slices.Equal(got.Vector, []float32{0.5, 2}) && bytes.Equal(got.Tokens, tokens(2, 2)) && got.From == 2, "read %+v", got)
	past, _ := w.get(w.viewAt(c.ID, 1), a.ID)
	w.isf(past.Vector == nil, "a past version is found by words only: %+v", past)
	near := must(w.Nearest(w.ctx, w.all, w.view(c.ID), memory.NearestQuery{Vector: []float32{0.5, 2}}))(w.t)
	w.isf(len(near) == 1 && near[0].Note == a.ID && near[0].Score > 0.999, "near: %+v", near)
	_, err := w.Nearest(w.ctx, w.all, w.view(c.ID), memory.NearestQuery{Vector: []float32{1, 0, 0, 0}})
	w.field(err, "vector")
	again := w.put(c.ID, memory.Note{ID: a.ID, Content: "aaa", Vector: []float32{1, 1}, Embedder: other})
	w.isf(again.Embedder == other, "written after the switch: %+v", again)
	_, err = w.tryWrite(c.ID, func(tx memory.Tx) error {
		w.ok(tx.SetEmbedder(w.ctx, embedder, dim, uuid.New()))
		n, err := tx.Put(w.ctx, memory.Note{Content: "in one", Vector: []float32{1, 0, 0, 0}})
		w.isf(err == nil && n.Embedder == embedder, "within the changeset of a switch: %+v, %v", n, err)
		return fault.New(fault.Timeout, "taken back")
	})
	w.refused(err, fault.Timeout)
	w.isf(must(w.ResolveCollection(w.ctx, w.all, "c"))(w.t).Embedder == other, "a switch that was taken back")
	w.put(c.ID, memory.Note{Content: "z", Vector: []float32{1, 1}})
}

// switchedLineage: base and forks of a switched fork go their own ways.
func switchedLineage(_ *testing.T, w *world) {
	c := w.collection("c")
	a := w.put(c.ID, memory.Note{Content: "a", Vector: []float32{1, 0, 0, 0}, Tokens: tokens(1, 1)})
	f, sibling := w.mustFork(c.ID, -1, "f"), w.mustFork(c.ID, -1, "sibling")
	b := w.put(f.ID, memory.Note{Content: "bb", Vector: []float32{0, 1, 0, 0}})
	early := w.mustFork(f.ID, -1, "early")
	job := uuid.New()
	w.reembed(f.ID, job)
	for _, id := range []uuid.UUID{c.ID, sibling.ID, early.ID} {
		n, _ := w.get(w.view(id), a.ID)
		r := must(w.ResolveCollection(w.ctx, w.all, id.String()))(w.t)
		w.isf(r.Embedder == embedder && r.Reembedded == uuid.Nil && n.Embedder == embedder && len(n.Vector) == dim && bytes.Equal(n.Tokens, a.Tokens), "%s reads %+v", r.Name, n)
	}
	both := func(id uuid.UUID) {
		w.t.Helper()
		v := w.view(id)
		x, _ := w.get(v, a.ID)
		y, _ := w.get(v, b.ID)
		w.isf(v.Collection.Embedder == other && slices.Equal(x.Vector, further(a).Vector) && bytes.Equal(x.Tokens, further(a).Tokens) && slices.Equal(y.Vector, further(b).Vector),
			"%s reads %+v and %+v", v.Collection.Name, x, y)
	}
	both(f.ID)
	late := w.mustFork(f.ID, -1, "late")
	both(late.ID)
	w.isf(late.Reembedded == job, "a fork has its parent's vectors: %+v", late)
	_, err := w.CreateCollection(w.ctx, w.all, memory.NewCollection{Collection: memory.Collection{Name: "x", Parent: f.ID, Embedder: embedder, Dim: dim}})
	w.field(err, "embedder")
	v := w.view(f.ID)
	target := must(w.CreateCollection(w.ctx, w.all, memory.NewCollection{
		Collection: memory.Collection{Name: "copy", Policy: "amem", Embedder: other, Dim: otherDim, Reembedded: job},
		CopyJob:    &memory.Job{Kind: memory.JobCopy, Stage: memory.StageTask, Payload: []byte(`{}`)},
	}))(w.t).Collection
	w.isf(target.Reembedded == uuid.Nil, "a copy's rows are its own: %+v", target)
	_, _, err = w.CopyRows(w.ctx, w.all, v, target.ID, "", 10)
	w.ok(err)
	both(target.ID)
	// The base follows on its own, which changes nothing for those that have switched.
	w.reembed(c.ID, uuid.New())
	both(f.ID)
	x, _ := w.get(w.view(sibling.ID), a.ID)
	w.isf(x.Embedder == embedder && len(x.Vector) == dim, "the sibling reads %+v", x)
	w.ok(w.DeleteCollection(w.ctx, w.all, c.ID, true, memory.AuditEntry{}))
	w.remove(c.ID, 100)
	both(f.ID)
	both(late.ID)
	x, _ = w.get(w.view(sibling.ID), a.ID)
	w.isf(x.Embedder == embedder && len(x.Vector) == dim, "made independent, the sibling reads %+v", x)
}

// lateWriter: who began before the switch writes a note without its vector,
// and a job makes the right one.
func lateWriter(_ *testing.T, w *world) {
	c := w.collection("c")
	w.switchTo(c.ID, uuid.New())
	n := w.put(c.ID, memory.Note{Content: "late", Vector: []float32{1, 0, 0, 0}, Tokens: tokens(1, 1), Embedder: embedder})
	w.isf(n.Vector == nil && n.Tokens == nil && n.Embedder == "", "stored %+v", n)
	w.isf(must(w.Counts(w.ctx, w.all, w.view(c.ID)))(w.t).Pending == 1, "it waits")
	jobs, _ := w.claim(c.ID, memory.StagePrepare, 10)
	w.isf(len(jobs) == 1 && jobs[0].Note == n.ID && jobs[0].Kind == memory.JobNote && string(jobs[0].Payload) == `{"embed_only":true}`, "jobs %+v", jobs)
}

func unended(_ *testing.T, w *world) {
	c := w.collection("c")
	w.job(c.ID, memory.Job{Kind: memory.JobConsolidate, Stage: memory.StageTask})
	w.job(w.collection("d").ID, memory.Job{Kind: memory.JobReembed, Stage: memory.StageTask})
	first := w.job(c.ID, memory.Job{Kind: memory.JobReembed, Stage: memory.StageTask, Payload: []byte(`{"embedder":"x"}`)})
	w.job(c.ID, memory.Job{Kind: memory.JobReembed, Stage: memory.StageTask, State: memory.JobDone})
	held, _ := w.claim(c.ID, memory.StageTask, 10)
	w.isf(len(held) == 2, "held %+v", held)
	w.write(c.ID, func(tx memory.Tx) error {
		second, err := tx.Enqueue(w.ctx, memory.Job{Kind: memory.JobReembed, Stage: memory.StageTask})
		w.ok(err)
		l, err := tx.Unended(w.ctx, memory.JobReembed)
		w.isf(err == nil && len(l) == 2 && l[0].ID == first.ID && string(l[0].Payload) == `{"embedder":"x"}` && l[1].ID == second.ID, "unended %+v, %v", l, err)
		return nil
	})
}
