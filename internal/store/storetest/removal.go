package storetest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/store"
)

func removalCases() []testCase {
	return []testCase{
		{"Erase", eraseNotes},
		{"EraseMoves", eraseMoves},
		{"ErasePast", erasePast},
		{"ErasePastShown", erasePastShown},
		{"Delete", deleteCollection},
		{"LayerStates", layerStates},
		{"Materialize", materializeForks},
		{"Expiry", expiry},
		{"Notes/Expiry", notesExpire},
		{"Notes/ExpiryOfForks", notesExpireInForks},
	}
}

// remove runs the remove job of a deleted collection and returns the number of steps.
func (w *world) remove(id uuid.UUID, batch int) int {
	w.t.Helper()
	jobs, lease := w.claim(id, memory.StageTask, 10)
	w.assertf(len(jobs) == 1 && jobs[0].Kind == memory.JobRemove, "the remove job: %+v", jobs)
	steps := 0
	for gone := false; !gone; steps++ {
		gone = must(w.RemoveRows(w.ctx, w.all, id, batch))(w.t)
		w.verify()
	}
	w.noError(w.ReleaseJob(w.ctx, w.all, jobs[0].ID, lease, memory.JobEnd{State: memory.JobDone}))
	return steps
}

func deleteCollection(_ *testing.T, w *world) {
	g := privateData(w)
	other := w.collection("other")
	w.add(other.ID, "stays")
	for i := range 20 {
		w.job(g.collection, memory.Job{Note: w.add(g.collection, fmt.Sprint(i)).ID, Kind: memory.JobNote, Stage: memory.StagePrepare})
	}
	w.wantFault(errOf(w.RemoveRows(w.ctx, w.all, g.collection, 10)), fault.Conflict)
	removal := must(w.DeleteCollection(w.ctx, w.all, g.collection, false, memory.AuditEntry{Action: "collection.delete"}))(w.t)
	shown := must(w.Job(w.ctx, w.all, removal.ID))(w.t)
	w.assertf(shown.Kind == memory.JobRemove && shown.Collection == g.collection && !shown.Ended(), "the job is %+v", shown)
	for what, err := range map[string]error{
		"resolve": errOf(w.ResolveCollection(w.ctx, w.all, g.collection.String())),
		"view":    errOf(w.OpenView(w.ctx, w.all, "private", memory.At{})),
		"write":   errOf(w.tryWrite(g.collection, func(memory.Tx) error { return nil })),
		"fork":    errOf(w.fork(g.collection, 0, "x")),
		"delete":  errOf(w.DeleteCollection(w.ctx, w.all, g.collection, false, memory.AuditEntry{})),
		"update":  errOf(w.UpdateCollection(w.ctx, w.all, g.collection, memory.AuditEntry{}, func(*memory.Collection) error { return nil })),
		"review":  errOf(w.Review(w.ctx, w.all, g.review)),
		"retry":   errOf(w.RetryJob(w.ctx, w.all, g.job, memory.AuditEntry{})),
		"usage":   w.AddUsage(w.ctx, w.aliceS, g.view, []memory.UsageDelta{{Note: g.note, Accesses: 1}}),
	} {
		if !fault.Is(err, fault.NotFound) {
			w.t.Errorf("%s of a deleting collection: %v", what, err)
		}
	}
	w.wantFault(w.Heartbeat(w.ctx, w.all, g.job, g.lease, w.clock.Now().Add(time.Hour)), fault.Conflict)
	again := w.collectionOf(w.alice.ID, "private")
	w.assertf(again.ID != g.collection, "the name can be used again")
	w.assertf(len(must(w.ListAudit(w.ctx, w.all, memory.AuditQuery{Action: "collection.delete", Target: g.collection.String()}))(w.t)) == 1, "the deletion is audited")
	steps := w.remove(g.collection, 10)
	w.assertf(steps > 4, "removed in batches: %d", steps)
	w.wantFault(errOf(w.RemoveRows(w.ctx, w.all, g.collection, 10)), fault.NotFound)
	w.wantFault(errOf(w.Job(w.ctx, w.all, g.job)), fault.NotFound)
	w.wantFault(errOf(w.Job(w.ctx, w.all, removal.ID)), fault.NotFound)
	due := must(w.DueCollections(w.ctx, w.clock.Now().Add(time.Hour), 10))(w.t)
	left := slices.ContainsFunc(due, func(d memory.Due) bool { return d.Collection == g.collection })
	w.assertf(!left, "no jobs are left: %+v", due)
	w.assertf(len(w.contents(w.view(other.ID))) == 1, "other collections are unchanged")
	u := must(w.ModelUse(w.ctx, w.all, "2000-01-01", "2100-01-01"))(w.t)
	w.assertf(len(u) == 1 && u[0].Calls == 1 && u[0].Collection == uuid.Nil, "the model use remains, without the collection: %+v", u)
}

// layerStates: what copies of logs are checked against, until their collection is deleted; erasing raises the epoch.
func layerStates(_ *testing.T, w *world) {
	c, erased := w.collection("c"), w.collection("erased")
	f := must(w.CreateCollection(w.ctx, w.all, memory.NewCollection{Collection: memory.Collection{Name: "f", Parent: c.ID, ExpiresAt: w.clock.Now().Add(time.Hour)}}))(w.t).Collection
	asked := []uuid.UUID{c.ID, f.ID, uuid.New(), erased.ID, c.ID}
	states := func() map[uuid.UUID]memory.LayerState { return must(w.LayerStates(w.ctx, w.all, asked))(w.t) }
	before := states()
	w.assertf(len(before) == 3 && before[c.ID].Embedder == embedder && before[f.ID].Embedder == embedder, "the states are %+v", before)
	w.assertf(len(must(w.LayerStates(w.ctx, w.all, nil))(w.t)) == 0, "none were asked for")
	n := w.add(erased.ID, "mark")
	w.delete(erased.ID, n.ID)
	w.noError(errOf(w.EraseNotes(w.ctx, w.all, erased.ID, memory.Erasing{Notes: []uuid.UUID{n.ID}}, memory.AuditEntry{Action: "note.erase"})))
	job := uuid.New()
	w.write(c.ID, func(tx memory.Tx) error { return tx.SetEmbedder(w.ctx, "another", dim, job) })
	w.clock.Advance(2 * time.Hour)
	after := states()
	w.assertf(after[erased.ID].EraseEpoch > before[erased.ID].EraseEpoch && after[c.ID].EraseEpoch == before[c.ID].EraseEpoch, "the epochs were %+v and are %+v", before, after)
	w.assertf(after[c.ID].Embedder == "another" && after[c.ID].Reembedded == job, "with other vectors: %+v", after[c.ID])
	_, held := after[f.ID]
	w.assertf(held, "an expired collection is there until it is deleted")
	w.noError(errOf(w.DeleteCollection(w.ctx, w.all, f.ID, false, memory.AuditEntry{})))
	w.assertf(len(states()) == 2, "a collection that is being deleted has a state: %+v", states())
	w.noError(w.DeleteTenant(w.ctx, w.op, w.tenant.ID))
	w.assertf(len(states()) == 0, "a deleted tenant has states: %+v", states())
}

// materializeForks: deleting the base does not change what is read through its forks.
func materializeForks(_ *testing.T, w *world) {
	c := w.collection("c")
	a := w.put(c.ID, memory.Note{Content: "a1", Vector: []float32{1, 0, 0, 0}, Tokens: tokens(1, 1)})
	b := w.add(c.ID, "b1")
	w.link(c.ID, a.ID, b.ID)
	w.put(c.ID, memory.Note{ID: b.ID, Content: "b2"})
	f := w.mustFork(c.ID, -1, "f")
	w.put(f.ID, memory.Note{ID: a.ID, Content: "a in f"})
	w.noError(w.AddUsage(w.ctx, w.all, w.view(c.ID), []memory.UsageDelta{{Note: b.ID, Accesses: 4}}))
	g := w.mustFork(f.ID, -1, "g")
	w.delete(g.ID, b.ID)
	h := w.mustFork(f.ID, 2, "h") // before the first revision of f's own layer
	w.add(c.ID, "not visible in the forks")
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
	w.wantFault(errOf(w.DeleteCollection(w.ctx, w.all, c.ID, false, memory.AuditEntry{})), fault.HasForks)
	w.assertf(len(w.contents(w.view(c.ID))) == 3, "a refused delete changes nothing")
	w.noError(errOf(w.DeleteCollection(w.ctx, w.all, c.ID, true, memory.AuditEntry{})))
	w.remove(c.ID, 100)
	for i, id := range []uuid.UUID{f.ID, g.ID, h.ID} {
		w.assertf(slices.Equal(snapshot(id), before[i]), "reads changed from\n%v\nto\n%v", before[i], snapshot(id))
	}
	w.assertf(must(w.ResolveCollection(w.ctx, w.all, "f"))(w.t).Parent == uuid.Nil, "the fork has no parent")
	hist := must(w.History(w.ctx, w.all, w.view(f.ID), b.ID, 0, 0))(w.t)
	w.assertf(len(hist) == 2 && hist[1].Changeset.Actor == "suite" && !hist[1].Changeset.At.IsZero(), "the history has its changesets: %+v", hist)
	w.noError(errOf(w.DeleteCollection(w.ctx, w.all, f.ID, true, memory.AuditEntry{})))
	w.remove(f.ID, 100)
	w.assertf(slices.Equal(snapshot(g.ID), before[1]) && slices.Equal(snapshot(h.ID), before[2]), "deleting the next base changed reads")
	w.add(g.ID, "still writable")
}

func expiry(_ *testing.T, w *world) {
	c := w.collection("c")
	w.add(c.ID, "base")
	at := w.clock.Now().Add(time.Hour)
	fork := func() memory.Collection {
		return must(w.CreateCollection(w.ctx, w.all, memory.NewCollection{Collection: memory.Collection{Name: "f", Parent: c.ID, ParentRevision: 1, ExpiresAt: at, Ephemeral: true}}))(w.t).Collection
	}
	f := fork()
	w.assertf(f.ExpiresAt.Equal(at.Truncate(time.Microsecond)), "expires at %s", f.ExpiresAt)
	grandchild := w.mustFork(f.ID, -1, "g")
	due := must(w.ExpiredCollections(w.ctx, w.clock.Now(), 10))(w.t)
	w.assertf(len(due) == 0, "nothing is expired yet: %+v", due)
	w.clock.Advance(2 * time.Hour)
	at = at.Add(4 * time.Hour)
	due = must(w.ExpiredCollections(w.ctx, w.clock.Now(), 10))(w.t)
	w.assertf(slices.Equal(due, []memory.Due{{Tenant: w.tenant.ID, Collection: f.ID}}), "expired: %+v", due)
	w.assertf(slices.Equal(must(w.EphemeralCollections(w.ctx, 10))(w.t), due), "ephemeral")
	w.wantFault(errOf(w.ResolveCollection(w.ctx, w.all, "f")), fault.NotFound)
	w.wantFault(errOf(w.tryWrite(f.ID, func(memory.Tx) error { return nil })), fault.NotFound)
	w.assertf(len(must(w.ListCollections(w.ctx, w.all, memory.CollectionQuery{}))(w.t)) == 2, "an expired collection is not listed")
	w.assertf(slices.Equal(w.contents(w.view(grandchild.ID)), []string{"base"}), "a fork of an expired collection can be read")
	w.assertf(fork().ID != f.ID, "the name can be used again")
	w.wantFault(errOf(w.DeleteCollection(w.ctx, w.all, c.ID, false, memory.AuditEntry{})), fault.HasForks)
	w.noError(errOf(w.DeleteCollection(w.ctx, w.all, f.ID, true, memory.AuditEntry{})))
	w.assertf(len(must(w.ExpiredCollections(w.ctx, w.clock.Now(), 10))(w.t)) == 0, "no expired collection is left")
	w.remove(f.ID, 100)
	w.assertf(slices.Equal(w.contents(w.view(grandchild.ID)), []string{"base"}), "the fork can be read after the removal")
}

// expired lists what has expired in a collection, and the collections that may have something.
func (w *world) expired(id uuid.UUID) ([]uuid.UUID, []memory.Due) {
	w.t.Helper()
	return must(w.ExpiredNotes(w.ctx, w.all, w.view(id), w.clock.Now(), 10))(w.t), must(w.ExpiringCollections(w.ctx, w.clock.Now(), 10))(w.t)
}

func notesExpire(_ *testing.T, w *world) {
	c, other := w.collection("c"), w.collection("other")
	soon, late := w.clock.Now().Add(time.Hour), w.clock.Now().Add(3*time.Hour)
	keeps := w.add(c.ID, "stays")
	first := w.put(c.ID, memory.Note{Content: "first", ExpiresAt: soon.In(time.FixedZone("", 3600))})
	second := w.put(c.ID, memory.Note{Content: "second", ExpiresAt: late})
	far := time.Date(9999, 12, 31, 23, 59, 59, 999999000, time.UTC)
	last := w.put(c.ID, memory.Note{Content: "last", ExpiresAt: far})
	w.assertf(first.ExpiresAt.Equal(store.Micros(soon)) && keeps.ExpiresAt.IsZero(), "as written: %s", first.ExpiresAt)
	for _, want := range []memory.Note{keeps, first, second, last} {
		got, _ := w.get(w.view(c.ID), want.ID)
		w.assertf(got.ExpiresAt.Equal(want.ExpiresAt) && got.ExpiresAt.Location() == time.UTC, "read %s, written %s", got.ExpiresAt, want.ExpiresAt)
	}
	next := func() time.Time { return w.view(c.ID).Collection.NextExpiry }
	w.assertf(next().Equal(first.ExpiresAt), "the first one is next: %s", next())
	w.assertf(w.view(other.ID).Collection.NextExpiry.IsZero(), "nothing of another collection expires")
	notes, due := w.expired(c.ID)
	w.assertf(len(notes) == 0 && len(due) == 0, "nothing has expired yet: %v %v", notes, due)

	w.clock.Advance(2 * time.Hour)
	notes, due = w.expired(c.ID)
	w.assertf(slices.Equal(notes, []uuid.UUID{first.ID}) && slices.Equal(due, []memory.Due{{Tenant: w.tenant.ID, Collection: c.ID}}), "expired: %v %v", notes, due)
	before := w.head(c.ID)
	w.add(c.ID, "a write keeps it due")
	w.assertf(next().Equal(first.ExpiresAt), "still due: %s", next())
	w.delete(c.ID, first.ID)
	notes, due = w.expired(c.ID)
	w.assertf(len(notes) == 0 && len(due) == 0 && next().Equal(second.ExpiresAt), "retired: %v %v, next %s", notes, due, next())
	w.assertf(slices.Contains(w.contents(w.viewAt(c.ID, before)), "first"), "the past shows it")
	// A version that was written before expires no longer.
	w.put(c.ID, memory.Note{ID: second.ID, Content: "second, kept"})
	w.clock.Advance(2 * time.Hour)
	notes, due = w.expired(c.ID)
	w.assertf(len(notes) == 0 && len(due) == 1, "NextExpiry may be too early: %v %v", notes, due)
	head := w.head(c.ID)
	w.write(c.ID, func(memory.Tx) error { return nil })
	_, due = w.expired(c.ID)
	w.assertf(len(due) == 0 && w.head(c.ID) == head && next().Equal(far), "a write that logs nothing moves it on: %v, %s", due, next())
	w.delete(c.ID, last.ID)
	w.clock.Advance(100 * time.Hour)
	w.put(c.ID, memory.Note{Content: "new", ExpiresAt: w.clock.Now().Add(time.Minute)})
	w.clock.Advance(time.Hour)
	w.noError(errOf(w.DeleteCollection(w.ctx, w.all, c.ID, true, memory.AuditEntry{})))
	w.assertf(len(must(w.ExpiringCollections(w.ctx, w.clock.Now(), 10))(w.t)) == 0, "a deleted collection is not swept")
}

// notesExpireInForks: a note expires in each fork by itself, also one that its base has retired, and in a copy.
func notesExpireInForks(_ *testing.T, w *world) {
	c := w.collection("c")
	w.add(c.ID, "stays")
	n := w.put(c.ID, memory.Note{Content: "goes", ExpiresAt: w.clock.Now().Add(time.Hour)})
	f := w.mustFork(c.ID, -1, "f")
	g := w.mustFork(f.ID, -1, "g")
	w.put(g.ID, memory.Note{ID: n.ID, Content: "kept in g"})
	before := w.mustFork(c.ID, 1, "before")
	copied := w.copyOf(w.view(c.ID), "copied", 1).ID
	w.assertf(w.view(f.ID).Collection.NextExpiry.Equal(n.ExpiresAt) && w.view(copied).Collection.NextExpiry.Equal(n.ExpiresAt), "a fork and a copy know the time")
	w.assertf(w.view(before.ID).Collection.NextExpiry.IsZero(), "a fork from before it has nothing that expires")
	w.clock.Advance(2 * time.Hour)
	w.delete(c.ID, n.ID)
	late := w.mustFork(c.ID, 2, "late")
	for id, want := range map[uuid.UUID]int{c.ID: 0, f.ID: 1, g.ID: 0, before.ID: 0, copied: 1, late.ID: 1} {
		notes, due := w.expired(id)
		w.assertf(len(notes) == want, "%s: %v", id, notes)
		w.assertf(want == 0 || slices.Contains(due, memory.Due{Tenant: w.tenant.ID, Collection: id}), "due: %v", due)
		if want > 0 {
			w.delete(id, n.ID)
		}
		w.write(id, func(memory.Tx) error { return nil })
		notes, due = w.expired(id)
		w.assertf(len(notes) == 0 && !slices.Contains(due, memory.Due{Tenant: w.tenant.ID, Collection: id}), "%s is done: %v %v", id, notes, due)
	}
	w.assertf(slices.Contains(w.contents(w.view(g.ID)), "kept in g"), "a fork that keeps it has it")
}

// eraseNotes: an erased note is in no version, fork, list, history, log, job or review any more; all others stay.
func eraseNotes(_ *testing.T, w *world) {
	c := w.collection("c")
	a := w.put(c.ID, memory.Note{Content: "mark one", Vector: []float32{1, 0, 0, 0}, Tokens: tokens(1, 1)})
	b := w.put(c.ID, memory.Note{Content: "stays", Vector: []float32{0, 1, 0, 0}, Tokens: tokens(1, 1)})
	w.link(c.ID, b.ID, a.ID)
	w.link(c.ID, a.ID, b.ID)
	w.put(c.ID, memory.Note{ID: a.ID, Content: "mark two"})
	f := w.mustFork(c.ID, -1, "f")
	w.put(f.ID, memory.Note{ID: a.ID, Content: "mark in f"})
	w.link(f.ID, b.ID, a.ID)
	g := w.mustFork(f.ID, -1, "g")
	other := w.mustFork(c.ID, -1, "other") // reads it, and has no version of its own
	of := w.job(c.ID, memory.Job{Note: a.ID, Kind: memory.JobNote, Stage: memory.StagePrepare})
	names := w.job(c.ID, memory.Job{Kind: memory.JobPolicy, Stage: memory.StageTask})
	for _, stage := range []memory.Stage{memory.StagePrepare, memory.StageUpkeep} {
		_, lease := w.claim(c.ID, stage, 1)
		for _, j := range []memory.Job{of, names} {
			if slices.Contains(j.Stage.Lanes(), stage) {
				w.noError(w.ReleaseJob(w.ctx, w.all, j.ID, lease, memory.JobEnd{
					State: memory.JobDone, Stage: j.Stage, Result: fmt.Appendf(nil, `{"kept":%q,"text":"mark"}`, a.ID),
				}))
			}
		}
	}
	w.write(c.ID, func(tx memory.Tx) error {
		_, err := tx.OpenReview(w.ctx, memory.Review{Trigger: b.ID, State: memory.ReviewOpen, Changes: []memory.ReviewChange{{Note: a.ID}}})
		return err
	})
	entry := memory.AuditEntry{Action: "note.erase", Target: a.ID.String()}
	w.wantFault(errOf(w.EraseNotes(w.ctx, w.all, c.ID, memory.Erasing{Notes: []uuid.UUID{a.ID}}, entry)), fault.Conflict)
	w.delete(c.ID, a.ID)
	before := w.view(c.ID)
	out := must(w.EraseNotes(w.ctx, w.all, c.ID, memory.Erasing{Notes: []uuid.UUID{a.ID}}, entry))(w.t)
	w.assertf(out.Versions == 4 && out.Reviews == 1 && out.Jobs == 2, "erased: %+v", out)
	traces := must(w.Traces(w.ctx))(w.t)
	w.assertf(traces != "" && traces != memory.TracesCleared, "traces: %q", traces)
	w.assertf(len(out.Layers) == 4 && out.Layers[0] == c.ID, "layers: %v", out.Layers)
	for _, id := range []uuid.UUID{c.ID, f.ID, g.ID, other.ID} {
		for at := memory.Revision(0); at <= w.head(id); at++ {
			v := w.viewAt(id, at)
			_, here := w.get(v, a.ID)
			w.assertf(!here && !strings.Contains(fmt.Sprint(w.contents(v)), "mark"), "revision %d of %s still shows it", at, id)
			w.assertf(len(w.links(v, a.ID)) == 0, "revision %d of %s still links it", at, id)
		}
		v := w.view(id)
		w.wantFault(errOf(w.History(w.ctx, w.all, v, a.ID, 0, 0)), fault.NotFound)
		got, ok := w.get(v, b.ID)
		w.assertf(ok && got.Content == "stays" && len(got.Vector) == dim, "another note of %s: %+v", id, got)
		counts := must(w.Counts(w.ctx, w.all, v))(w.t)
		w.assertf(counts.Notes == 1 && counts.Links == 0, "counts of %s: %+v", id, counts)
	}
	must(w.Log(w.ctx, w.all, w.view(c.ID), 0, 0, embedder, func(r memory.LogRow) error {
		w.assertf(r.Note.ID != a.ID || r.Note.Deleted && r.Note.Content == "", "the log still has %+v", r)
		return nil
	}))(w.t)
	w.assertf(w.view(c.ID).Layers[0].EraseEpoch > before.Layers[0].EraseEpoch, "the epoch is the same")
	w.wantFault(errOf(w.Job(w.ctx, w.all, of.ID)), fault.NotFound)
	left := must(w.Job(w.ctx, w.all, names.ID))(w.t)
	w.assertf(len(left.Result) == 0, "the job still says %s", left.Result)
	w.clearJobs(c.ID)
	w.assertf(len(must(w.ListAudit(w.ctx, w.all, memory.AuditQuery{Action: "note.erase"}))(w.t)) == 1, "the erasure is audited")
	for revision, change := range must(w.Changes(w.ctx, w.all, w.view(c.ID), 0, 0))(w.t) {
		removed := slices.Contains(change.Notes, memory.NoteChange{Note: a.ID, Change: memory.ChangeRemoved})
		w.assertf(removed == (change.Revision == before.At), "change %d is %+v", revision, change)
	}
	again := must(w.EraseNotes(w.ctx, w.all, c.ID, memory.Erasing{Notes: []uuid.UUID{a.ID}}, entry))(w.t)
	w.assertf(again.Versions == 0, "erased again: %+v", again)
	w.wantFault(errOf(w.EraseNotes(w.ctx, w.bobS, w.collectionOf(w.alice.ID, "alices").ID, memory.Erasing{Notes: []uuid.UUID{a.ID}}, entry)), fault.NotFound)
}

// clearJobs: jobs that ended since a time lose a result that has a text as JSON writes it, and keep one that has not.
func (w *world) clearJobs(collection uuid.UUID) {
	const text = `a "mark"`
	var jobs []memory.Job
	for _, result := range []string{text, "another"} {
		j := w.job(collection, memory.Job{Kind: memory.JobPolicy, Stage: memory.StageTask})
		_, lease := w.claim(collection, memory.StageUpkeep, 1)
		w.noError(w.ReleaseJob(w.ctx, w.all, j.ID, lease, memory.JobEnd{State: memory.JobDone, Stage: j.Stage, Result: fmt.Appendf(nil, `{"text":%q}`, result)}))
		jobs = append(jobs, j)
	}
	for after, since := range []time.Time{w.clock.Now(), jobs[0].CreatedAt} {
		w.write(collection, func(tx memory.Tx) error { return tx.ClearJobs(w.ctx, []string{text}, since) })
		for i, j := range jobs {
			left := must(w.Job(w.ctx, w.all, j.ID))(w.t)
			w.assertf((len(left.Result) == 0) == (after == 1 && i == 0), "job %d says %s", i, left.Result)
		}
	}
}

// eraseMoves: why others moved stays, also when the job was of a note that is erased, and when a text of a message is like one of a reason.
func eraseMoves(_ *testing.T, w *world) {
	c := w.collection("c")
	a, page, session := w.put(c.ID, memory.Note{Content: "mark"}), w.put(c.ID, memory.Note{Content: "page"}), w.put(c.ID, memory.Note{Content: "session"})
	move := func(note uuid.UUID) string {
		return fmt.Sprintf(`{"note":%q,"session":%q,"reason":"opened a session"}`, note, session.ID)
	}
	var jobs []memory.Job
	for _, of := range []uuid.UUID{a.ID, page.ID, uuid.Nil} {
		j := w.job(c.ID, memory.Job{Note: of, Kind: memory.JobNote, Stage: memory.StagePrepare, Payload: fmt.Appendf(nil, `{"messages":[%q]}`, a.ID)})
		_, lease := w.claim(c.ID, memory.StagePrepare, 1)
		result := fmt.Appendf(nil, `{"policy":"p","moves":[%s,%s],"kept":%q,"text":"mark"}`, move(page.ID), move(a.ID), a.ID)
		w.noError(w.ReleaseJob(w.ctx, w.all, j.ID, lease, memory.JobEnd{State: memory.JobDone, Stage: j.Stage, Result: result}))
		jobs = append(jobs, j)
	}
	left := func(i int) (of uuid.UUID, moved []uuid.UUID) {
		j := must(w.Job(w.ctx, w.all, jobs[i].ID))(w.t)
		var out struct {
			Policy string `json:"policy"`
			Moves  []struct {
				Note uuid.UUID `json:"note"`
			} `json:"moves"`
		}
		w.noError(json.Unmarshal(j.Result, &out))
		w.assertf(out.Policy == "p" && !strings.Contains(string(j.Result), "mark"), "job %d says %s", i, j.Result)
		for _, m := range out.Moves {
			moved = append(moved, m.Note)
		}
		return j.Note, moved
	}
	w.write(c.ID, func(tx memory.Tx) error { return tx.ClearJobs(w.ctx, []string{"session"}, time.Time{}) })
	for i := range jobs {
		_, moved := left(i)
		w.assertf(slices.Equal(moved, []uuid.UUID{page.ID, a.ID}), "moves of job %d: %v", i, moved)
	}
	w.delete(c.ID, a.ID)
	for range 2 {
		must(w.EraseNotes(w.ctx, w.all, c.ID, memory.Erasing{Notes: []uuid.UUID{a.ID}, Past: []uuid.UUID{session.ID, page.ID}}, memory.AuditEntry{Action: "note.erase"}))(w.t)
	}
	for i, want := range []uuid.UUID{uuid.Nil, page.ID, uuid.Nil} {
		of, moved := left(i)
		w.assertf(of == want && slices.Equal(moved, []uuid.UUID{page.ID}), "job %d is of %v and has moved %v", i, of, moved)
		j := must(w.Job(w.ctx, w.all, jobs[i].ID))(w.t)
		w.assertf(len(j.Payload) == 0, "job %d holds %s", i, j.Payload)
	}
}

// erasePast: of a note that stays, only what it was before is erased.
func erasePast(_ *testing.T, w *world) {
	c := w.collection("c")
	a := w.put(c.ID, memory.Note{Content: "mark", Vector: []float32{1, 0, 0, 0}, Tokens: tokens(1, 1)})
	w.put(c.ID, memory.Note{ID: a.ID, Content: "now", Vector: []float32{0, 1, 0, 0}, Tokens: tokens(1, 1)})
	b := w.put(c.ID, memory.Note{Content: "linked"})
	w.link(c.ID, b.ID, a.ID)
	linked := w.view(c.ID).At
	for _, of := range []map[string]any{{"says": "mark"}, nil} {
		w.write(c.ID, func(tx memory.Tx) error {
			link := memory.LinkID{Source: b.ID, Target: a.ID, Relation: memory.RelatedTo}
			_, err := tx.Link(w.ctx, memory.Link{LinkID: link, Confidence: 0.7, Attributes: of})
			return err
		})
	}
	then, now := w.mustFork(c.ID, 1, "then"), w.mustFork(c.ID, -1, "now")
	w.write(now.ID, func(tx memory.Tx) error {
		return errOf(tx.Unlink(w.ctx, memory.LinkID{Source: b.ID, Target: a.ID, Relation: memory.RelatedTo}))
	})
	out := must(w.EraseNotes(w.ctx, w.all, c.ID, memory.Erasing{Past: []uuid.UUID{a.ID}}, memory.AuditEntry{Action: "note.erase"}))(w.t)
	w.assertf(out.Versions == 1 && len(out.Layers) == 3, "erased: %+v", out)
	w.assertf(len(w.contents(w.view(then.ID))) == 0, "a fork of before shows %v", w.contents(w.view(then.ID)))
	got, ok := w.get(w.view(c.ID), a.ID)
	w.assertf(ok && got.Content == "now" && got.Vector[1] == 1, "the note is %+v", got)
	past := must(w.History(w.ctx, w.all, w.view(c.ID), a.ID, 0, 0))(w.t)
	w.assertf(len(past) == 1 && len(w.contents(w.viewAt(c.ID, 1))) == 0, "its past is %+v", past)
	links := w.links(w.view(c.ID), a.ID)
	w.assertf(len(links) == 1 && links[0].Confidence == 0.7, "its links are %+v", links)
	for at := linked; at <= linked+1; at++ {
		links := w.links(w.viewAt(c.ID, at), a.ID)
		w.assertf(len(links) == 1 && len(links[0].Attributes) == 0, "a link without words stays, others do not: %+v", links)
	}
}

// erasePastShown: of a note that stays, a fork shows what it showed, or that without the words, however deep the fork is, also when it
// holds a copy of the log. What only the past of the collection shows is gone.
func erasePastShown(_ *testing.T, w *world) {
	c := w.collection("c")
	note := func(id uuid.UUID, content string, at int) memory.Note {
		v := make([]float32, dim)
		v[at] = 1
		return memory.Note{ID: id, Content: content, Vector: v, Tokens: tokens(1, 1)}
	}
	a, first := w.put(c.ID, note(uuid.Nil, "plain", 0)), w.mustFork(c.ID, -1, "first").ID
	told := w.put(c.ID, note(a.ID, "mark, but innocent", 1))
	second := w.chain(c.ID, memory.MaxLineage, memory.MaxLineage)
	gone := w.put(c.ID, note(uuid.Nil, "only mark", 1))
	third, other := w.mustFork(c.ID, -1, "third").ID, w.mustFork(c.ID, -1, "other").ID
	w.put(c.ID, note(gone.ID, "now", 2))
	w.put(c.ID, note(a.ID, "now", 2))
	w.put(other, note(a.ID, "of others", 3))
	of := w.mustFork(other, -1, "of").ID
	w.put(other, note(a.ID, "of others again", 3))
	deep := second[len(second)-1]
	w.noError(w.FlattenLineage(w.ctx, w.all, deep))
	w.assertf(len(w.view(deep).Layers) == 1, "it is not flattened")
	clean := note(a.ID, "innocent", 3)
	clean.From = told.From
	rev := w.head(c.ID)
	must(w.EraseNotes(w.ctx, w.all, c.ID, memory.Erasing{Past: []uuid.UUID{a.ID, gone.ID}, Kept: []memory.Note{a, clean}}, memory.AuditEntry{Action: "note.erase"}))(w.t)
	for id, want := range map[uuid.UUID]string{first: "plain", second[1]: "innocent", deep: "innocent", third: "innocent", c.ID: "now", other: "of others again", of: "of others"} {
		v := w.view(id)
		n, ok := w.get(v, a.ID)
		w.assertf(ok == (want != "") && n.Content == want && (!ok || len(n.Vector) == dim), "%s shows %q, not %q", v.Collection.Name, n.Content, want)
		counts := must(w.Counts(w.ctx, w.all, v))(w.t)
		w.assertf(int(counts.Notes) == len(w.contents(v)), "counts %d of %v", counts.Notes, w.contents(v))
		for i := range v.Layers {
			must(w.Log(w.ctx, w.all, v, i, 0, embedder, func(r memory.LogRow) error {
				w.assertf(!strings.Contains(r.Note.Content, "mark"), "the log of %s still has %+v", v.Collection.Name, r)
				return nil
			}))(w.t)
		}
	}
	_, shown := w.get(w.view(third), gone.ID)
	w.assertf(!shown && !slices.Contains(w.contents(w.viewAt(c.ID, gone.From)), gone.Content) && w.head(c.ID) == rev, "what only the past shows is gone")
	problems := must(w.Verify(w.ctx))(w.t)
	w.assertf(len(problems) == 0, "the store is wrong: %v", problems)
}
