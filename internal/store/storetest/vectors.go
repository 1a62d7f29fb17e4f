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

// The embedder that collections are switched to.
const (
	otherEmbedder = "other-2"
	otherDim      = 2
)

func vectorCases() []testCase {
	return []testCase{
		{"AddVectors", addVectors},
		{"AddVectorsRefused", addVectorsRefused},
		{"Switch", switchEmbedder},
		{"SwitchedLineage", switchedLineage},
		{"LateWriter", lateWriter},
		{"UnendedJobs", unendedJobs},
		{"HasTask", hasTask},
	}
}

// otherVector returns a vector of the other embedder for the version n.
func otherVector(n memory.Note) memory.VersionVector {
	return memory.VersionVector{Version: n.Version(), Vector: []float32{0.5, float32(len(n.Content))}, Tokens: tokens(2, len(n.Content))}
}

// reembed switches a collection to the other embedder, as a reembed job does.
func (w *world) reembed(id, job uuid.UUID) {
	w.t.Helper()
	v := w.view(id)
	var all []memory.VersionVector
	for _, n := range must(w.ListNotes(w.ctx, w.all, v, memory.NoteQuery{Lacks: otherEmbedder}))(w.t) {
		all = append(all, otherVector(n))
	}
	w.noError(w.AddVectors(w.ctx, w.all, v, otherEmbedder, all))
	w.switchTo(id, job)
}

func (w *world) switchTo(id, job uuid.UUID) {
	w.t.Helper()
	_, err := w.Write(w.ctx, w.all, id, memory.WriteOptions{Cause: memory.CauseReembed, Job: job}, func(_ context.Context, tx memory.Tx) error {
		return tx.SetEmbedder(w.ctx, otherEmbedder, otherDim, job)
	})
	w.noError(err)
}

// lacking returns the contents of the notes without a vector of the other embedder.
func (w *world) lacking(v memory.View) []string {
	w.t.Helper()
	out := []string{}
	for _, n := range must(w.ListNotes(w.ctx, w.all, v, memory.NoteQuery{Lacks: otherEmbedder}))(w.t) {
		out = append(out, n.Content)
	}
	return out
}

func addVectors(_ *testing.T, w *world) {
	c := w.collection("c")
	a := w.put(c.ID, memory.Note{Content: "a", Vector: []float32{1, 0, 0, 0}})
	hidden := w.put(c.ID, memory.Note{Content: "hidden", Vector: []float32{1, 0, 0, 0}})
	deleted := w.put(c.ID, memory.Note{Content: "deleted", Vector: []float32{1, 0, 0, 0}})
	f := w.mustFork(c.ID, -1, "f")
	own := w.put(f.ID, memory.Note{ID: hidden.ID, Content: "own", Vector: []float32{0, 1, 0, 0}})
	w.delete(f.ID, deleted.ID)
	later := w.add(c.ID, "later")
	v := w.view(f.ID)
	w.assertf(slices.Equal(w.lacking(v), []string{"a", "own"}), "lacking %v", w.lacking(v))
	page := must(w.ListNotes(w.ctx, w.all, v, memory.NoteQuery{Lacks: otherEmbedder, After: a.ID, Limit: 1}))(w.t)
	w.assertf(len(page) == 1 && page[0].ID == own.ID, "a page of notes without the vector: %+v", page)
	heads := []memory.Revision{w.head(c.ID), w.head(f.ID)}
	add := []memory.VersionVector{
		otherVector(a), otherVector(own), otherVector(later), // later is not visible in the fork
		{Version: memory.Version{Layer: f.ID, Note: deleted.ID, From: w.head(f.ID)}, Vector: []float32{1, 1}}, // a tombstone
		{Version: memory.Version{Layer: f.ID, Note: uuid.New(), From: 1}, Vector: []float32{1, 1}},            // does not exist
	}
	w.noError(w.AddVectors(w.ctx, w.all, v, otherEmbedder, add))
	first := otherVector(a)
	first.Vector = []float32{9, 9}
	w.noError(w.AddVectors(w.ctx, w.all, v, otherEmbedder, []memory.VersionVector{first})) // does not replace the first one
	w.assertf(len(w.lacking(v)) == 0, "lacking %v", w.lacking(v))
	w.assertf(slices.Equal(w.lacking(w.view(c.ID)), []string{"hidden", "deleted", "later"}), "in the base %v", w.lacking(w.view(c.ID)))
	w.assertf(slices.Equal([]memory.Revision{w.head(c.ID), w.head(f.ID)}, heads), "adding vectors does not move the head")
	n, odd, err := w.CountVectors(w.ctx, w.all, v, otherEmbedder, otherDim)
	w.assertf(err == nil && n == 2 && odd == 0, "%d and %d vectors, %v", n, odd, err)
	n, odd, err = w.CountVectors(w.ctx, w.all, v, embedder, dim+1)
	w.assertf(err == nil && n == 0 && odd == 2, "%d and %d vectors of other dimensions, %v", n, odd, err)
	got, _ := w.get(v, a.ID)
	w.assertf(got.Embedder == embedder && len(got.Vector) == dim, "before the switch the old vector is read: %+v", got)
	var rows []memory.LogRow
	_, err = w.Log(w.ctx, w.all, v, 1, 0, otherEmbedder, func(r memory.LogRow) error { rows = append(rows, r); return nil })
	w.noError(err)
	want := otherVector(a)
	w.assertf(len(rows) == 4 && slices.Equal(rows[0].Note.Vector, want.Vector) && bytes.Equal(rows[0].Note.Tokens, want.Tokens) && rows[1].Note.Vector == nil,
		"the log of the base in the other embedder: %+v", rows)
}

func addVectorsRefused(_ *testing.T, w *world) {
	c := w.collection("c")
	a := w.put(c.ID, memory.Note{Content: "a", Vector: []float32{1, 0, 0, 0}})
	v := w.view(c.ID)
	for _, bad := range []struct {
		field, embedder string
		vector          []float32
		tokens          []byte
	}{
		{"embedder", "", []float32{1}, nil},
		{"vector", otherEmbedder, nil, nil},
		{"vector", otherEmbedder, []float32{float32(math.NaN())}, nil},
		{"vector", otherEmbedder, []float32{float32(math.Inf(1))}, nil},
		{"tokens", otherEmbedder, []float32{1}, tokens(1, 1)[1:]},
		{"tokens", otherEmbedder, []float32{1}, tokens(257, 1)},
	} {
		x := memory.VersionVector{Version: a.Version(), Vector: bad.vector, Tokens: bad.tokens}
		w.wantInvalid(w.AddVectors(w.ctx, w.all, v, bad.embedder, []memory.VersionVector{otherVector(a), x}), bad.field)
	}
	w.assertf(len(w.lacking(v)) == 1, "a part of a refused call was stored")
	_, err := w.tryWrite(c.ID, func(tx memory.Tx) error { return tx.SetEmbedder(w.ctx, "", 3, uuid.New()) })
	w.wantInvalid(err, "embedder")
	_, err = w.tryWrite(c.ID, func(tx memory.Tx) error { return tx.SetEmbedder(w.ctx, otherEmbedder, 0, uuid.New()) })
	w.wantInvalid(err, "vector")
	w.assertf(w.head(c.ID) == v.At, "a refused switch moved the head")
	f := w.mustFork(c.ID, -1, "f")
	fv := w.view(f.ID)
	w.noError(errOf(w.DeleteCollection(w.ctx, w.all, c.ID, true, memory.AuditEntry{})))
	w.wantFault(w.AddVectors(w.ctx, w.all, fv, otherEmbedder, []memory.VersionVector{otherVector(a)}), fault.Conflict)
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
	w.assertf(r.Embedder == otherEmbedder && r.Dim == otherDim && r.Reembedded == job && r.Head == 3, "switched: %+v", r)
	cs := must(w.Changesets(w.ctx, w.all, w.view(c.ID), 2, 10))(w.t)
	w.assertf(len(cs) == 1 && cs[0].Cause == memory.CauseReembed && cs[0].Job == job, "the switch has a changeset: %+v", cs)
	after := must(w.Counts(w.ctx, w.all, w.view(c.ID)))(w.t)
	w.assertf(fmt.Sprint(after) == fmt.Sprint(before), "counts were %+v and are %+v", before, after)
	got, _ := w.get(w.view(c.ID), a.ID)
	w.assertf(got.Embedder == otherEmbedder && slices.Equal(got.Vector, []float32{0.5, 2}) && bytes.Equal(got.Tokens, tokens(2, 2)) && got.From == 2, "read %+v", got)
	past, _ := w.get(w.viewAt(c.ID, 1), a.ID)
	w.assertf(past.Vector == nil, "a past version has no vector: %+v", past)
	near := must(w.Nearest(w.ctx, w.all, w.view(c.ID), memory.NearestQuery{Vector: []float32{0.5, 2}}))(w.t)
	w.assertf(len(near) == 1 && near[0].Note == a.ID && near[0].Score > 0.999, "near: %+v", near)
	_, err := w.Nearest(w.ctx, w.all, w.view(c.ID), memory.NearestQuery{Vector: []float32{1, 0, 0, 0}})
	w.wantInvalid(err, "vector")
	again := w.put(c.ID, memory.Note{ID: a.ID, Content: "aaa", Vector: []float32{1, 1}, Embedder: otherEmbedder})
	w.assertf(again.Embedder == otherEmbedder, "written after the switch: %+v", again)
	_, err = w.tryWrite(c.ID, func(tx memory.Tx) error {
		w.noError(tx.SetEmbedder(w.ctx, embedder, dim, uuid.New()))
		n, err := tx.Put(w.ctx, memory.Note{Content: "in one", Vector: []float32{1, 0, 0, 0}})
		w.assertf(err == nil && n.Embedder == embedder, "written in the changeset of the switch: %+v, %v", n, err)
		return fault.New(fault.Timeout, "rolled back")
	})
	w.wantFault(err, fault.Timeout)
	w.assertf(must(w.ResolveCollection(w.ctx, w.all, "c"))(w.t).Embedder == otherEmbedder, "a switch that was rolled back")
	w.put(c.ID, memory.Note{Content: "z", Vector: []float32{1, 1}})
}

// switchedLineage: switching a fork changes neither its base nor its forks.
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
		w.assertf(r.Embedder == embedder && r.Reembedded == uuid.Nil && n.Embedder == embedder && len(n.Vector) == dim && bytes.Equal(n.Tokens, a.Tokens), "%s reads %+v", r.Name, n)
	}
	readsOther := func(id uuid.UUID) {
		w.t.Helper()
		v := w.view(id)
		x, _ := w.get(v, a.ID)
		y, _ := w.get(v, b.ID)
		w.assertf(v.Collection.Embedder == otherEmbedder && slices.Equal(x.Vector, otherVector(a).Vector) && bytes.Equal(x.Tokens, otherVector(a).Tokens) && slices.Equal(y.Vector, otherVector(b).Vector),
			"%s reads %+v and %+v", v.Collection.Name, x, y)
	}
	readsOther(f.ID)
	late := w.mustFork(f.ID, -1, "late")
	readsOther(late.ID)
	w.assertf(late.Reembedded == job, "a fork has the embedder of its parent: %+v", late)
	_, err := w.CreateCollection(w.ctx, w.all, memory.NewCollection{Collection: memory.Collection{Name: "x", Parent: f.ID, Embedder: embedder, Dim: dim}})
	w.wantInvalid(err, "embedder")
	v := w.view(f.ID)
	target := must(w.CreateCollection(w.ctx, w.all, memory.NewCollection{
		Collection: memory.Collection{Name: "copy", Policy: "amem", Embedder: otherEmbedder, Dim: otherDim, Reembedded: job},
		CopyJob:    &memory.Job{Kind: memory.JobCopy, Stage: memory.StageTask, Payload: []byte(`{}`)},
	}))(w.t).Collection
	w.assertf(target.Reembedded == uuid.Nil, "a copy is not marked as reembedded: %+v", target)
	_, _, err = w.CopyRows(w.ctx, w.all, v, target.ID, "", 10)
	w.noError(err)
	readsOther(target.ID)
	// Switching the base later changes nothing for its forks.
	w.reembed(c.ID, uuid.New())
	readsOther(f.ID)
	x, _ := w.get(w.view(sibling.ID), a.ID)
	w.assertf(x.Embedder == embedder && len(x.Vector) == dim, "the sibling reads %+v", x)
	w.noError(errOf(w.DeleteCollection(w.ctx, w.all, c.ID, true, memory.AuditEntry{})))
	w.remove(c.ID, 100)
	readsOther(f.ID)
	readsOther(late.ID)
	x, _ = w.get(w.view(sibling.ID), a.ID)
	w.assertf(x.Embedder == embedder && len(x.Vector) == dim, "after it was made independent, the sibling reads %+v", x)
}

// lateWriter: a vector of the old embedder that is written after the switch is dropped,
// and a job that embeds the note is enqueued.
func lateWriter(_ *testing.T, w *world) {
	c := w.collection("c")
	w.switchTo(c.ID, uuid.New())
	n := w.put(c.ID, memory.Note{Content: "late", Vector: []float32{1, 0, 0, 0}, Tokens: tokens(1, 1), Embedder: embedder})
	w.assertf(n.Vector == nil && n.Tokens == nil && n.Embedder == "", "stored %+v", n)
	w.assertf(must(w.Counts(w.ctx, w.all, w.view(c.ID)))(w.t).Pending == 1, "the note is pending")
	jobs, _ := w.claim(c.ID, memory.StagePrepare, 10)
	w.assertf(len(jobs) == 1 && jobs[0].Note == n.ID && jobs[0].Kind == memory.JobNote && string(jobs[0].Payload) == `{"embed_only":true}`, "jobs %+v", jobs)
}

func unendedJobs(_ *testing.T, w *world) {
	c := w.collection("c")
	w.job(c.ID, memory.Job{Kind: memory.JobConsolidate, Stage: memory.StageTask})
	w.job(w.collection("d").ID, memory.Job{Kind: memory.JobReembed, Stage: memory.StageTask})
	first := w.job(c.ID, memory.Job{Kind: memory.JobReembed, Stage: memory.StageTask, Payload: []byte(`{"embedder":"x"}`)})
	w.job(c.ID, memory.Job{Kind: memory.JobReembed, Stage: memory.StageTask, State: memory.JobDone})
	leased, _ := w.claim(c.ID, memory.StageTask, 10)
	w.assertf(len(leased) == 1, "leased %+v", leased)
	w.write(c.ID, func(tx memory.Tx) error {
		second, err := tx.Enqueue(w.ctx, memory.Job{Kind: memory.JobReembed, Stage: memory.StageTask})
		w.noError(err)
		l, err := tx.Unended(w.ctx, memory.JobReembed)
		w.assertf(err == nil && len(l) == 2 && l[0].ID == first.ID && string(l[0].Payload) == `{"embedder":"x"}` && l[1].ID == second.ID, "unended %+v, %v", l, err)
		return nil
	})
}

// hasTask: a task is found while it is queued, by its name and its key.
func hasTask(_ *testing.T, w *world) {
	c, other := w.collection("c"), w.collection("d")
	task := func(payload string) memory.Job {
		return memory.Job{Kind: memory.JobPolicy, Stage: memory.StageTask, Payload: []byte(payload)}
	}
	has := func(collection uuid.UUID, name, key string) (found bool) {
		w.write(collection, func(tx memory.Tx) (err error) {
			found, err = tx.HasTask(w.ctx, name, key)
			return err
		})
		return found
	}
	for _, j := range []memory.Job{task(`{"name":"day","key":"é \"1\"}","args":{"name":"x"}}`), {Kind: memory.JobPolicy, Stage: memory.StageTask}, {Kind: memory.JobFlush, Stage: memory.StageDecide, Payload: []byte(`{"name":"flush"}`)}} {
		w.job(c.ID, j)
	}
	w.job(other.ID, task(`{"name":"all"}`))
	w.assertf(has(c.ID, "day", `é "1"}`) && has(other.ID, "all", ""), "a task that is queued is found")
	for _, of := range [][2]string{{"day", ""}, {"day", "2"}, {"x", ""}, {"all", ""}, {"", ""}, {"flush", ""}} {
		w.assertf(!has(c.ID, of[0], of[1]), "a task that nobody enqueued is found: %q", of)
	}
	w.write(c.ID, func(tx memory.Tx) error {
		_, err := tx.Enqueue(w.ctx, task(`{"name":"new"}`))
		w.noError(err)
		found, err := tx.HasTask(w.ctx, "new", "")
		w.assertf(found, "one that the same transaction enqueued is not found")
		return err
	})
	leased, _ := w.claim(c.ID, memory.StageUpkeep, 10)
	w.assertf(len(leased) > 0 && !has(c.ID, "day", `é "1"}`), "a task that runs is not queued")
}
