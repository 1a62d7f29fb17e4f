package storetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
)

func removalCases() []testCase {
	return []testCase{
		{"Delete", deleteCollection},
		{"Materialise", materialise},
		{"Expiry", expiry},
	}
}

// remove runs the removal of a deleted collection to its end.
func (w *world) remove(id uuid.UUID, batch int) int {
	w.t.Helper()
	jobs, lease := w.claim(id, memory.StageTask, 10)
	w.isf(len(jobs) == 1 && jobs[0].Kind == memory.JobRemove, "the job that removes: %+v", jobs)
	steps := 0
	for gone := false; !gone; steps++ {
		gone = must(w.RemoveRows(w.ctx, w.all, id, batch))(w.t)
		w.verify()
	}
	w.ok(w.ReleaseJob(w.ctx, w.all, jobs[0].ID, lease, memory.JobEnd{State: memory.JobDone}))
	return steps
}

func deleteCollection(_ *testing.T, w *world) {
	g := private(w)
	other := w.collection("other")
	w.add(other.ID, "stays")
	for i := range 20 {
		w.job(g.collection, memory.Job{Note: w.add(g.collection, fmt.Sprint(i)).ID, Kind: memory.JobNote, Stage: memory.StagePrepare})
	}
	w.refused(second(w.RemoveRows(w.ctx, w.all, g.collection, 10)), fault.Conflict)
	w.ok(w.DeleteCollection(w.ctx, w.all, g.collection, false, memory.AuditEntry{Action: "collection.delete"}))
	for what, err := range map[string]error{
		"resolve": second(w.ResolveCollection(w.ctx, w.all, g.collection.String())),
		"view":    second(w.OpenView(w.ctx, w.all, "private", memory.At{})),
		"write":   second(w.tryWrite(g.collection, func(memory.Tx) error { return nil })),
		"fork":    second(w.fork(g.collection, 0, "x")),
		"delete":  w.DeleteCollection(w.ctx, w.all, g.collection, false, memory.AuditEntry{}),
		"update":  second(w.UpdateCollection(w.ctx, w.all, g.collection, memory.AuditEntry{}, func(*memory.Collection) error { return nil })),
		"review":  second(w.Review(w.ctx, w.all, g.review)),
		"retry":   second(w.RetryJob(w.ctx, w.all, g.job, memory.AuditEntry{})),
		"usage":   w.AddUsage(w.ctx, w.aliceS, g.view, []memory.UsageDelta{{Note: g.note, Accesses: 1}}),
	} {
		if !fault.Is(err, fault.NotFound) {
			w.t.Errorf("%s of a deleting collection: %v", what, err)
		}
	}
	w.refused(w.Heartbeat(w.ctx, w.all, g.job, g.lease, w.clock.Now().Add(time.Hour)), fault.Conflict)
	again := w.collectionOf(w.alice.ID, "private")
	w.isf(again.ID != g.collection, "the name is free")
	w.isf(len(must(w.ListAudit(w.ctx, w.all, memory.AuditQuery{Action: "collection.delete", Target: g.collection.String()}))(w.t)) == 1, "audited")
	steps := w.remove(g.collection, 10)
	w.isf(steps > 4, "removed in batches: %d", steps)
	w.refused(second(w.RemoveRows(w.ctx, w.all, g.collection, 10)), fault.NotFound)
	w.refused(second(w.Job(w.ctx, w.all, g.job)), fault.NotFound)
	due := must(w.DueCollections(w.ctx, w.clock.Now().Add(time.Hour), 10))(w.t)
	w.isf(len(due) == 0, "nothing is left to do: %+v", due)
	w.isf(len(w.contents(w.view(other.ID))) == 1, "others stay")
	u := must(w.ModelUse(w.ctx, w.all, "2000-01-01", "2100-01-01"))(w.t)
	w.isf(len(u) == 1 && u[0].Calls == 1 && u[0].Collection == uuid.Nil, "what was spent stays the tenant's: %+v", u)
}

// materialise: what is read through a fork never changes when its base goes.
func materialise(_ *testing.T, w *world) {
	c := w.collection("c")
	a := w.put(c.ID, memory.Note{Content: "a1", Vector: []float32{1, 0, 0, 0}, Tokens: tokens(1, 1)})
	b := w.add(c.ID, "b1")
	w.link(c.ID, a.ID, b.ID)
	w.put(c.ID, memory.Note{ID: b.ID, Content: "b2"})
	f := w.mustFork(c.ID, -1, "f")
	w.put(f.ID, memory.Note{ID: a.ID, Content: "a in f"})
	w.ok(w.AddUsage(w.ctx, w.all, w.view(c.ID), []memory.UsageDelta{{Note: b.ID, Accesses: 4}}))
	g := w.mustFork(f.ID, -1, "g")
	w.delete(g.ID, b.ID)
	h := w.mustFork(f.ID, 2, "h") // below f's own log
	w.add(c.ID, "never seen by the forks")
	snapshot := func(id uuid.UUID) (out []string) {
		for at := memory.Revision(0); at <= w.head(id); at++ {
			v := w.viewAt(id, at)
			line := fmt.Sprint(at, w.contents(v), len(w.links(v, a.ID)), must(w.Counts(w.ctx, w.all, v))(w.t))
			if n, ok := w.get(v, a.ID); ok {
				line += fmt.Sprint(n.Vector, string(n.Tokens), n.From, len(must(w.History(w.ctx, w.all, v, a.ID, 0, 0))(w.t)))
			}
			out = append(out, line+fmt.Sprint(must(w.Usage(w.ctx, w.all, v, []uuid.UUID{b.ID}))(w.t)))
		}
		return out
	}
	before := [][]string{snapshot(f.ID), snapshot(g.ID), snapshot(h.ID)}
	w.refused(w.DeleteCollection(w.ctx, w.all, c.ID, false, memory.AuditEntry{}), fault.HasForks)
	w.isf(len(w.contents(w.view(c.ID))) == 3, "a refused delete changes nothing")
	w.ok(w.DeleteCollection(w.ctx, w.all, c.ID, true, memory.AuditEntry{}))
	w.remove(c.ID, 100)
	for i, id := range []uuid.UUID{f.ID, g.ID, h.ID} {
		w.isf(slices.Equal(snapshot(id), before[i]), "what is read changed:\n%v\n%v", before[i], snapshot(id))
	}
	w.isf(must(w.ResolveCollection(w.ctx, w.all, "f"))(w.t).Parent == uuid.Nil, "independent")
	hist := must(w.History(w.ctx, w.all, w.view(f.ID), b.ID, 0, 0))(w.t)
	w.isf(len(hist) == 2 && hist[1].Changeset.Actor == "suite" && !hist[1].Changeset.At.IsZero(), "history with its changesets: %+v", hist)
	w.ok(w.DeleteCollection(w.ctx, w.all, f.ID, true, memory.AuditEntry{}))
	w.remove(f.ID, 100)
	w.isf(slices.Equal(snapshot(g.ID), before[1]) && slices.Equal(snapshot(h.ID), before[2]), "and again")
	w.add(g.ID, "lives")
}

func expiry(_ *testing.T, w *world) {
	c := w.collection("c")
	w.add(c.ID, "base")
	at := w.clock.Now().Add(time.Hour)
	fork := func() memory.Collection {
		return must(w.CreateCollection(w.ctx, w.all, memory.NewCollection{Collection: memory.Collection{Name: "f", Parent: c.ID, ParentRevision: 1, ExpiresAt: at, Ephemeral: true}}))(w.t).Collection
	}
	f := fork()
	w.isf(f.ExpiresAt.Equal(at.Truncate(time.Microsecond)), "expires at %s", f.ExpiresAt)
	grandchild := w.mustFork(f.ID, -1, "g")
	due := must(w.ExpiredCollections(w.ctx, w.clock.Now(), 10))(w.t)
	w.isf(len(due) == 0, "not yet: %+v", due)
	w.clock.Advance(2 * time.Hour)
	at = at.Add(4 * time.Hour)
	due = must(w.ExpiredCollections(w.ctx, w.clock.Now(), 10))(w.t)
	w.isf(slices.Equal(due, []memory.Due{{Tenant: w.tenant.ID, Collection: f.ID}}), "expired: %+v", due)
	w.isf(slices.Equal(must(w.EphemeralCollections(w.ctx, 10))(w.t), due), "ephemeral")
	w.refused(second(w.ResolveCollection(w.ctx, w.all, "f")), fault.NotFound)
	w.refused(second(w.tryWrite(f.ID, func(memory.Tx) error { return nil })), fault.NotFound)
	w.isf(len(must(w.ListCollections(w.ctx, w.all, memory.CollectionQuery{}))(w.t)) == 2, "not listed")
	w.isf(slices.Equal(w.contents(w.view(grandchild.ID)), []string{"base"}), "a fork of it still reads")
	w.isf(fork().ID != f.ID, "its name is free")
	w.refused(w.DeleteCollection(w.ctx, w.all, c.ID, false, memory.AuditEntry{}), fault.HasForks)
	w.ok(w.DeleteCollection(w.ctx, w.all, f.ID, true, memory.AuditEntry{}))
	w.isf(len(must(w.ExpiredCollections(w.ctx, w.clock.Now(), 10))(w.t)) == 0, "swept")
	w.remove(f.ID, 100)
	w.isf(slices.Equal(w.contents(w.view(grandchild.ID)), []string{"base"}), "and after it is gone")
}
