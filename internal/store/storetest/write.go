package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/filter"
	"github.com/slipboxhq/slipbox/internal/memory"
)

func writeCases() []testCase {
	return []testCase{
		{"Revisions", revisions},
		{"Changesets", twoChangesets},
		{"OwnWrites", ownWrites},
		{"Rollback", rollback},
		{"ClosureTwice", closureTwice},
		{"Idempotency", idempotency},
		{"VersionCompare", versionCompare},
		{"Canceled", canceledWrite},
		{"Panics", panickingClosure},
		{"Limits", keepsToLimits},
		{"Seed", seededCollection},
	}
}

func revisions(_ *testing.T, w *world) {
	c := w.collection("c")
	written := w.write(c.ID, func(tx memory.Tx) error {
		w.assertf(tx.Revision() == 1 && tx.View().At == 0, "revision %d over %d", tx.Revision(), tx.View().At)
		for _, s := range []string{"a", "b"} {
			if _, err := tx.Put(w.ctx, memory.Note{Content: s}); err != nil {
				return err
			}
		}
		return nil
	})
	w.assertf(written == memory.Written{Revision: 1, Logged: true} && w.head(c.ID) == 1, "one changeset is one revision: %+v", written)
	written = w.write(c.ID, func(tx memory.Tx) error { _, err := tx.Enqueue(w.ctx, memory.Job{Stage: memory.StageTask}); return err })
	w.assertf(written == memory.Written{Revision: 1} && w.head(c.ID) == 1, "a write without changes of notes does not move the head: %+v", written)
	written = w.write(c.ID, func(memory.Tx) error { return nil })
	w.assertf(written == memory.Written{Revision: 1}, "an empty write: %+v", written)
	w.wantFault(errOf(w.tryWrite(uuid.New(), func(memory.Tx) error { return nil })), fault.NotFound)
}

// twoChangesets: one transaction can write two changesets, each with its cause.
func twoChangesets(_ *testing.T, w *world) {
	c := w.collection("c")
	old := w.put(c.ID, memory.Note{Content: "one", Vector: make([]float32, dim)})
	f := w.mustFork(c.ID, -1, "f")
	job, trigger := uuid.New(), old.ID
	for _, id := range []uuid.UUID{c.ID, f.ID} {
		var second memory.Note
		both := func(tx memory.Tx) error {
			w.noError(tx.EndChangeset(w.ctx, memory.CauseMark, job, trigger)) // nothing was logged
			first, err := tx.Put(w.ctx, memory.Note{ID: old.ID, Content: "two", Key: "k"})
			w.noError(err)
			w.noError(tx.EndChangeset(w.ctx, memory.CauseAnalyze, job, trigger))
			w.assertf(first.From == 2 && tx.Revision() == 3, "the first changeset has revision %d, the second %d", first.From, tx.Revision())
			now, err := tx.Notes(w.ctx, []uuid.UUID{old.ID}, memory.ReadOptions{})
			w.assertf(err == nil && len(now) == 1 && now[0].Version() == first.Version(), "the second reads what the first wrote: %+v, %v", now, err)
			first.Content, first.Vector = "three", make([]float32, dim)
			second, err = tx.Put(w.ctx, first)
			return err
		}
		refused := errors.New("refused")
		_, err := w.tryWrite(id, func(tx memory.Tx) error { return errors.Join(both(tx), refused) })
		w.assertf(errors.Is(err, refused) && w.head(id) == 1, "both roll back: %v, head %d", err, w.head(id))
		written := w.write(id, both)
		w.assertf(written == memory.Written{Revision: 3, Logged: true} && w.head(id) == 3 && second.From == 3, "two changesets are two revisions: %+v", written)
		cs := must(w.Changesets(w.ctx, w.all, w.view(id), 1, 0))(w.t)
		w.assertf(len(cs) == 2 && cs[0].Cause == memory.CauseAnalyze && cs[0].Job == job && cs[0].Trigger == trigger && cs[1].Cause == memory.CauseAdd,
			"each has its own cause: %+v", cs)
		for at, content := range map[memory.Revision]string{1: "one", 2: "two", 3: "three"} {
			n, ok := w.get(w.viewAt(id, at), old.ID)
			w.assertf(ok && n.Content == content, "at revision %d: %+v", at, n)
		}
		written = w.write(id, func(tx memory.Tx) error {
			_, err := tx.Put(w.ctx, memory.Note{Content: "another"})
			w.noError(err)
			w.noError(tx.EndChangeset(w.ctx, memory.CauseAnalyze, job, trigger))
			return nil
		})
		w.assertf(written == memory.Written{Revision: 4, Logged: true} && w.head(id) == 4, "the second may be empty: %+v", written)
	}
}

func ownWrites(_ *testing.T, w *world) {
	c := w.collection("c")
	marked := map[string]any{"mark": "x"}
	old := w.put(c.ID, memory.Note{Content: "old", Key: "old", Attributes: marked})
	f := w.mustFork(c.ID, -1, "f")
	given := uuid.New()
	for _, id := range []uuid.UUID{c.ID, f.ID} {
		w.write(id, func(tx memory.Tx) error {
			n, err := tx.Put(w.ctx, memory.Note{Content: "one", Key: "k", Vector: make([]float32, dim), Attributes: marked})
			w.noError(err)
			n.Content, n.Vector = "two", nil
			n, err = tx.Put(w.ctx, n)
			w.noError(err)
			got, err := tx.Notes(w.ctx, []uuid.UUID{old.ID, n.ID}, memory.ReadOptions{Vector: true})
			w.assertf(err == nil && len(got) == 2 && got[1].Content == "two" && got[1].Vector == nil && got[1].From == tx.Revision(), "notes %+v, %v", got, err)
			byKey, err := tx.NoteByKey(w.ctx, memory.KindNote, "k")
			w.assertf(err == nil && byKey.ID == n.ID, "by key %+v, %v", byKey, err)
			newest := memory.NoteQuery{Filter: filter.AttributeIs("mark", "x"), Newest: true, Limit: 1}
			listed, err := tx.ListNotes(w.ctx, newest)
			w.assertf(err == nil && len(listed) == 1 && listed[0].Version() == n.Version(), "listed %+v, %v", listed, err)
			w.noError(tx.Delete(w.ctx, n.ID))
			listed, err = tx.ListNotes(w.ctx, newest)
			w.assertf(err == nil && len(listed) == 1 && listed[0].ID == old.ID, "listed after a deletion %+v, %v", listed, err)
			w.wantFault(tx.Delete(w.ctx, n.ID), fault.NotFound)
			w.wantFault(errOf(tx.NoteByKey(w.ctx, memory.KindNote, "k")), fault.NotFound)
			w.noError(tx.Delete(w.ctx, old.ID))
			_, err = tx.Put(w.ctx, memory.Note{ID: old.ID, Content: "replaced", Key: "old"})
			w.noError(err)
			n, err = tx.Put(w.ctx, memory.Note{ID: given, Content: "given id"})
			w.assertf(err == nil && n.ID == given, "a given id: %+v, %v", n, err)
			return nil
		})
		got := w.contents(w.view(id))
		w.assertf(len(got) == 2 && got[0] == "replaced" || len(got) == 2 && got[1] == "replaced", "after: %v", got)
		w.wantFault(w.deleteErr(id, uuid.New()), fault.NotFound)
	}
}

func (w *world) deleteErr(id, note uuid.UUID) error {
	_, err := w.tryWrite(id, func(tx memory.Tx) error { return tx.Delete(w.ctx, note) })
	return err
}

var errOurs = fault.New(fault.Precondition, "ours")

// rollback: the log, the jobs, the audit and everything else that a closure writes are one
// transaction.
func rollback(_ *testing.T, w *world) {
	c := w.collection("c")
	n := w.add(c.ID, "kept")
	before := must(w.Counts(w.ctx, w.all, w.view(c.ID)))(w.t)
	_, err := w.Write(w.ctx, w.all, c.ID, memory.WriteOptions{
		Audit: []memory.AuditEntry{{Action: "never"}}, Idempotency: &memory.Idempotency{Key: "k"},
	}, func(_ context.Context, tx memory.Tx) error {
		_, err := tx.Put(w.ctx, memory.Note{ID: n.ID, Content: "changed"})
		w.noError(err)
		w.noError(tx.SetUsage(w.ctx, n.ID, memory.Usage{AccessCount: 1}))
		_, err = tx.Enqueue(w.ctx, memory.Job{Note: n.ID, Stage: memory.StagePrepare})
		w.noError(err)
		_, err = tx.OpenReview(w.ctx, memory.Review{Trigger: n.ID})
		w.noError(err)
		_, err = tx.CountEvolved(w.ctx)
		w.noError(err)
		return errOurs
	})
	w.assertf(errors.Is(err, errOurs), "the closure's fault is returned unchanged: %v", err)
	w.assertf(w.head(c.ID) == 1 && w.contents(w.view(c.ID))[0] == "kept", "the log changed")
	w.assertf(len(must(w.ListJobs(w.ctx, w.all, memory.JobQuery{}))(w.t)) == 0, "a job was left")
	w.assertf(len(must(w.ListReviews(w.ctx, w.all, memory.ReviewQuery{}))(w.t)) == 0, "a review was left")
	w.assertf(len(must(w.ListAudit(w.ctx, w.all, memory.AuditQuery{Action: "never"}))(w.t)) == 0, "an audit row was left")
	w.assertf(len(must(w.Usage(w.ctx, w.all, w.view(c.ID), []uuid.UUID{n.ID}))(w.t)) == 0, "usage was left")
	_, seen, err := w.Replayed(w.ctx, w.all, memory.Idempotency{Key: "k"})
	w.assertf(err == nil && !seen, "an idempotency key was left")
	after := must(w.Counts(w.ctx, w.all, w.view(c.ID)))(w.t)
	w.assertf(after.Notes == before.Notes && after.Bytes == before.Bytes, "counts changed: %+v, %+v", before, after)
	w.assertf(must(w.ResolveCollection(w.ctx, w.all, "c"))(w.t).EvolvedAdds == 0, "the count of evolved notes changed")
}

// closureTwice: a closure that runs again after a rollback has the effect of one run.
func closureTwice(_ *testing.T, w *world) {
	c := w.collection("c")
	runs := 0
	fn := func(_ context.Context, tx memory.Tx) error {
		runs++
		n, err := tx.Put(w.ctx, memory.Note{Content: "once", Key: "once"})
		w.noError(err)
		_, err = tx.Enqueue(w.ctx, memory.Job{Note: n.ID, Kind: memory.JobNote, Stage: memory.StagePrepare})
		w.noError(err)
		if runs == 1 {
			return errOurs
		}
		return nil
	}
	o := memory.WriteOptions{Audit: []memory.AuditEntry{{Action: "add"}}, Idempotency: &memory.Idempotency{Key: "k"}}
	w.wantFault(errOf(w.Write(w.ctx, w.all, c.ID, o, fn)), fault.Precondition)
	written := must(w.Write(w.ctx, w.all, c.ID, o, fn))(w.t)
	w.assertf(written.Revision == 1 && runs == 2, "revision %d after %d runs", written.Revision, runs)
	jobs := must(w.ListJobs(w.ctx, w.all, memory.JobQuery{}))(w.t)
	w.assertf(len(jobs) == 1 && jobs[0].Seq == 1, "jobs %+v", jobs)
	w.assertf(len(must(w.ListAudit(w.ctx, w.all, memory.AuditQuery{Action: "add"}))(w.t)) == 1, "audited once")
	w.assertf(len(w.contents(w.view(c.ID))) == 1, "stored once")
}

func idempotency(_ *testing.T, w *world) {
	c := w.collection("c")
	key := memory.Idempotency{Method: "POST", Path: "/v1/x", Key: "k", BodyHash: [32]byte{1}}
	write := func(k memory.Idempotency) (memory.Written, int, error) {
		runs := 0
		out, err := w.Write(w.ctx, w.aliceS, c.ID, memory.WriteOptions{Idempotency: &k}, func(_ context.Context, tx memory.Tx) error {
			runs++
			n, err := tx.Put(w.ctx, memory.Note{Content: "x"})
			tx.Answer(json.RawMessage(`{"id":"` + n.ID.String() + `"}`))
			return err
		})
		return out, runs, err
	}
	first, runs, err := write(key)
	w.assertf(err == nil && runs == 1 && first.Replay == nil, "first: %+v, %v", first, err)
	again, runs, err := write(key)
	w.assertf(err == nil && runs == 0 && again.Replay != nil && len(again.Replay.IDs) > 10 && !again.Logged, "again: %+v, %v", again, err)
	other := key
	other.BodyHash[0]++
	_, runs, err = write(other)
	w.wantFault(err, fault.IdempotencyReuse)
	w.assertf(runs == 0, "the closure ran for another body")
	seen, ok, err := w.Replayed(w.ctx, w.aliceS, key)
	w.assertf(err == nil && ok && string(seen.IDs) == string(again.Replay.IDs) && !seen.At.IsZero(), "replayed: %+v, %v, %v", seen, ok, err)
	_, _, err = w.Replayed(w.ctx, w.aliceS, other)
	w.wantFault(err, fault.IdempotencyReuse)
	for _, k := range []memory.Idempotency{{Method: "PUT", Path: key.Path, Key: "k"}, {Method: "POST", Path: "/v1/y", Key: "k"}, {Method: "POST", Path: key.Path, Key: "K"}} {
		if _, runs, err = write(k); err != nil || runs != 1 {
			w.t.Errorf("%+v is another key: %v", k, err)
		}
	}
	_, ok, err = w.Replayed(w.ctx, w.bobS, key)
	w.assertf(err == nil && !ok, "idempotency keys are per agent")
	w.clock.Advance(memory.IdempotencyTTL + time.Minute)
	_, runs, err = write(other)
	w.assertf(err == nil && runs == 1, "a key expires after 24 hours: %v", err)

	part := memory.Idempotency{Method: "POST", Path: "/v1/z", Key: "part", BodyHash: [32]byte{3}, IDs: json.RawMessage(`{"n":1}`)}
	_, err = w.Write(w.ctx, w.aliceS, c.ID, memory.WriteOptions{}, func(ctx context.Context, tx memory.Tx) error {
		if _, ok, err := tx.Answered(ctx, part); ok || err != nil {
			return fault.New(fault.Conflict, "an answer exists before Remember: %v", err)
		}
		if err := tx.Remember(ctx, part); err != nil {
			return err
		}
		seen, ok, err := tx.Answered(ctx, part)
		w.assertf(err == nil && ok && string(seen.IDs) == `{"n":1}`, "the answer is visible in the same transaction: %+v, %v", seen, err)
		changed := part
		changed.BodyHash[0]++
		_, _, err = tx.Answered(ctx, changed)
		w.wantFault(err, fault.IdempotencyReuse)
		return nil
	})
	seen, ok, again2 := w.Replayed(w.ctx, w.aliceS, part)
	w.assertf(err == nil && again2 == nil && ok && string(seen.IDs) == `{"n":1}`, "the answer of a part of a transaction: %+v, %v, %v", seen, err, again2)

	made := memory.NewCollection{Collection: memory.Collection{Name: "idem"}, Idempotency: &memory.Idempotency{Method: "POST", Path: "/v1/collections", Key: "c"}}
	one := must(w.CreateCollection(w.ctx, w.all, made))(w.t)
	two := must(w.CreateCollection(w.ctx, w.all, made))(w.t)
	w.assertf(one.Replay == nil && two.Replay != nil && len(two.Replay.IDs) > 10, "creating twice: %+v", two)
}

// versionCompare: a comparison of versions inside Write is atomic, as If-Match requires.
func versionCompare(_ *testing.T, w *world) {
	c := w.collection("c")
	n := w.add(c.ID, "one")
	change := func(want memory.Version, content string) error {
		return errOf(w.tryWrite(c.ID, func(tx memory.Tx) error {
			got, err := tx.Notes(w.ctx, []uuid.UUID{n.ID}, memory.ReadOptions{})
			if err != nil {
				return err
			}
			if got[0].Version() != want {
				return fault.Wrap(memory.ErrMoved, fault.Precondition, "changed meanwhile")
			}
			return errOf(tx.Put(w.ctx, memory.Note{ID: n.ID, Content: content}))
		}))
	}
	w.noError(change(n.Version(), "two"))
	err := change(n.Version(), "lost")
	w.wantFault(err, fault.Precondition)
	w.assertf(errors.Is(err, memory.ErrMoved), "the cause is returned: %v", err)
	w.assertf(w.contents(w.view(c.ID))[0] == "two", "no lost update")
}

// canceledWrite: a canceled write leaves nothing behind.
func canceledWrite(_ *testing.T, w *world) {
	c := w.collection("c")
	ctx, cancel := context.WithCancel(w.ctx)
	_, err := w.Write(ctx, w.all, c.ID, memory.WriteOptions{}, func(ctx context.Context, tx memory.Tx) error {
		_, err := tx.Put(ctx, memory.Note{Content: "x"})
		cancel()
		return err
	})
	w.assertf(err != nil, "a canceled write succeeded")
	w.assertf(w.head(c.ID) == 0, "a canceled write was committed")
	w.assertf(errOf(w.OpenView(ctx, w.all, "c", memory.At{})) != nil, "a canceled read succeeded")
	w.add(c.ID, "the store still works")
}

// panickingClosure: a closure that panics is rolled back and releases its locks.
func panickingClosure(_ *testing.T, w *world) {
	c := w.collection("c")
	func() {
		defer func() { w.assertf(recover() == "boom", "the panic reaches the caller") }()
		_, _ = w.tryWrite(c.ID, func(tx memory.Tx) error {
			_, err := tx.Put(w.ctx, memory.Note{Content: "x"})
			w.noError(err)
			panic("boom")
		})
	}()
	w.assertf(w.head(c.ID) == 0, "a part of the changeset was committed")
	w.add(c.ID, "the store still works")
}

// seededCollection: a collection can begin with notes. They are its first changeset, written with it or
// not at all.
func seededCollection(_ *testing.T, w *world) {
	id := must(uuid.NewV7())(w.t)
	in := memory.NewCollection{
		Collection: memory.Collection{Name: "seeded", Policy: "memgpt", Embedder: embedder, Dim: dim}, Audit: memory.AuditEntry{Action: "collection.create"},
		Seed: []memory.Note{{ID: id, Kind: memory.KindBlock, Key: "human", Vector: make([]float32, dim)}, {Kind: memory.KindBlock, Key: "persona"}},
	}
	twice := in
	twice.Name, twice.Seed = "twice", []memory.Note{{Kind: memory.KindBlock, Key: "same"}, {Kind: memory.KindBlock, Key: "same"}}
	w.wantFault(errOf(w.CreateCollection(w.ctx, w.all, twice)), fault.Exists)
	w.wantFault(errOf(w.ResolveCollection(w.ctx, w.all, "twice")), fault.NotFound)

	made := must(w.CreateCollection(w.ctx, w.all, in))(w.t).Collection
	v := w.view(made.ID)
	w.assertf(made.Head == 1 && v.At == 1, "head %d, view at %d", made.Head, v.At)
	n, ok := w.get(v, id)
	w.assertf(ok && n.Key == "human" && n.From == 1 && n.OccurredAt.Equal(n.CreatedAt), "the first note: %+v", n)
	cs := must(w.Changesets(w.ctx, w.all, v, 0, 0))(w.t)
	w.assertf(len(cs) == 1 && cs[0].Cause == memory.CauseAdd, "changesets %+v", cs)
	counts := must(w.Counts(w.ctx, w.all, v))(w.t)
	w.assertf(counts.Notes == 2 && counts.Kinds[memory.KindBlock] == 2 && counts.Pending == 1, "counts %+v", counts)
	jobs := must(w.ListJobs(w.ctx, w.all, memory.JobQuery{Collection: made.ID, Limit: 9}))(w.t)
	w.assertf(len(jobs) == 1 && jobs[0].Note != id && string(jobs[0].Payload) == string(memory.EmbedOnly()), "only the one without a vector has a job: %+v", jobs)
	w.put(made.ID, memory.Note{Content: "next"})
	w.assertf(w.head(made.ID) == 2, "the log continues: %d", w.head(made.ID))

	f := in
	f.Name, f.Parent, f.ParentRevision = "fork", made.ID, 1
	w.wantFault(errOf(w.CreateCollection(w.ctx, w.all, f)), fault.Exists) // of the parent's keys
	f.Name, f.Parent, f.CopyJob = "copy", uuid.Nil, &memory.Job{Kind: memory.JobCopy, Stage: memory.StageTask}
	w.wantFault(errOf(w.CreateCollection(w.ctx, w.all, f)), fault.Internal)
	w.verify()
}
