package storetest

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
)

func queueCases() []testCase {
	return []testCase{
		{"Prepare", claimPrepare},
		{"Decide", claimDecide},
		{"Leases", leases},
		{"EndJob", endJob},
		{"Lists", listJobs},
		{"Trace", trace},
		{"Backlog", backlog},
	}
}

func seqs(jobs []memory.Job) (out []int64) {
	for _, j := range jobs {
		out = append(out, j.Seq)
	}
	return out
}

func (w *world) due(at time.Time) int {
	w.t.Helper()
	return len(must(w.DueCollections(w.ctx, at, 10))(w.t))
}

// backlog: what waits is counted by stage over all tenants, due or not; what
// runs or has ended is not.
func backlog(_ *testing.T, w *world) {
	count := func() map[memory.Stage]memory.Backlog {
		all := must(w.Backlog(w.ctx))(w.t)
		out := map[memory.Stage]memory.Backlog{}
		for i, b := range all {
			w.isf(b.Stage == memory.Stages()[i], "%d is of stage %q", i, b.Stage)
			out[b.Stage] = b
		}
		w.isf(len(all) == 3 && len(out) == 3, "stages: %+v", all)
		return out
	}
	for stage, b := range count() {
		w.isf(b.Waiting == 0 && b.Oldest.IsZero(), "nothing waits in %s: %+v", stage, b)
	}
	c := w.collection("c")
	first := w.job(c.ID, memory.Job{Kind: memory.JobNote, Stage: memory.StagePrepare})
	w.clock.Advance(time.Minute)
	second := w.job(c.ID, memory.Job{Kind: memory.JobNote, Stage: memory.StagePrepare, NotBefore: w.clock.Now().Add(time.Hour)})
	w.job(c.ID, memory.Job{Kind: memory.JobCopy, Stage: memory.StageTask})
	theirs := must(w.CreateCollection(w.ctx, w.foreign, memory.NewCollection{Collection: memory.Collection{Name: "c", Policy: "amem"}}))(w.t).Collection
	_ = must(w.Write(w.ctx, w.foreign, theirs.ID, memory.WriteOptions{}, func(ctx context.Context, tx memory.Tx) error {
		_, err := tx.Enqueue(ctx, memory.Job{Collection: theirs.ID, Kind: memory.JobCopy, Stage: memory.StageTask})
		return err
	}))(w.t)
	got := count()
	w.isf(got[memory.StagePrepare].Waiting == 2 && got[memory.StagePrepare].Oldest.Equal(first.CreatedAt), "prepare: %+v", got)
	w.isf(got[memory.StageDecide].Waiting == 0 && got[memory.StageTask].Waiting == 2, "the others: %+v", got)
	_, lease := w.claim(c.ID, memory.StagePrepare, 1)
	got = count()
	w.isf(got[memory.StagePrepare].Waiting == 1 && got[memory.StagePrepare].Oldest.Equal(second.CreatedAt), "one runs: %+v", got)
	w.ok(w.ReleaseJob(w.ctx, w.all, first.ID, lease, memory.JobEnd{State: memory.JobQueued, Stage: memory.StageDecide}))
	got = count()
	w.isf(got[memory.StageDecide].Waiting == 1 && got[memory.StageDecide].Oldest.Equal(first.CreatedAt), "it moved on: %+v", got)
}

func claimPrepare(_ *testing.T, w *world) {
	c, d := w.collection("c"), w.collection("d")
	for range 3 {
		w.job(c.ID, memory.Job{Kind: memory.JobNote, Stage: memory.StagePrepare, Payload: []byte(`{"a":1}`)})
	}
	w.isf(w.job(d.ID, memory.Job{Kind: memory.JobNote, Stage: memory.StagePrepare}).Seq == 1, "places count per collection")
	later := w.clock.Now().Add(time.Minute)
	w.job(c.ID, memory.Job{Kind: memory.JobNote, Stage: memory.StagePrepare, NotBefore: later})
	w.isf(w.due(w.clock.Now()) == 2, "two collections have work")
	first, lease := w.claim(c.ID, memory.StagePrepare, 2)
	w.isf(slices.Equal(seqs(first), []int64{1, 2}) && first[0].State == memory.JobRunning && first[0].Lease == lease && string(first[0].Payload) == `{"a":1}`, "oldest first: %+v", first)
	rest, _ := w.claim(c.ID, memory.StagePrepare, 10)
	w.isf(slices.Equal(seqs(rest), []int64{3}), "the rest that is due: %+v", rest)
	none, _ := w.claim(c.ID, memory.StageTask, 10)
	w.isf(len(none) == 0, "by stage")
	w.isf(w.due(w.clock.Now()) == 1, "the claimed are not due")
	next := must(w.NextDue(w.ctx))(w.t)
	w.isf(!next.IsZero() && next.Before(later), "next due %s", next)
	w.clock.Advance(2 * time.Minute)
	all, _ := w.claim(c.ID, memory.StagePrepare, 10)
	w.isf(slices.Equal(seqs(all), []int64{1, 2, 3, 4}) && all[0].Attempts == 0, "expired leases and what has become due: %+v", all)
	w.field(second(w.ClaimJobs(w.ctx, w.all, c.ID, memory.StagePrepare, uuid.Nil, later, 1)), "lease")
}

func claimDecide(_ *testing.T, w *world) {
	c := w.collection("c")
	stages := []memory.Stage{memory.StageDecide, memory.StagePrepare, memory.StageDecide, memory.StageDecide}
	var jobs []memory.Job
	for _, s := range stages {
		jobs = append(jobs, w.job(c.ID, memory.Job{Kind: memory.JobNote, Stage: s}))
	}
	decide := func() ([]memory.Job, uuid.UUID) { return w.claim(c.ID, memory.StageDecide, 10) }
	a, lease := decide()
	w.isf(slices.Equal(seqs(a), []int64{1}), "one at a time, the oldest: %+v", a)
	b, _ := decide()
	w.isf(len(b) == 0, "while one is held none is given: %+v", b)
	w.ok(w.ReleaseJob(w.ctx, w.all, a[0].ID, lease, memory.JobEnd{State: memory.JobDone}))
	b, _ = decide()
	w.isf(len(b) == 0, "an older one is still prepared: %+v", b)
	w.isf(w.due(w.clock.Now()) == 1, "the prepare is due")
	p, lease := w.claim(c.ID, memory.StagePrepare, 10)
	w.isf(slices.Equal(seqs(p), []int64{2}), "prepare: %+v", p)
	w.isf(w.due(w.clock.Now()) == 0, "decides that wait for order are not due")
	b, _ = decide()
	w.isf(len(b) == 0, "held in prepare: %+v", b)
	w.ok(w.ReleaseJob(w.ctx, w.all, p[0].ID, lease, memory.JobEnd{State: memory.JobQueued, Attempts: 1, Error: "timeout", NotBefore: w.clock.Now().Add(time.Second)}))
	b, lease = decide()
	w.isf(slices.Equal(seqs(b), []int64{3}), "a failed try does not block later ones: %+v", b)
	w.ok(w.ReleaseJob(w.ctx, w.all, b[0].ID, lease, memory.JobEnd{State: memory.JobQueued, Attempts: 1, NotBefore: w.clock.Now().Add(time.Minute)}))
	b, lease = decide()
	w.isf(slices.Equal(seqs(b), []int64{4}), "nor does a failed decide: %+v", b)
	w.clock.Advance(30 * time.Second)
	p, please := w.claim(c.ID, memory.StagePrepare, 10)
	w.ok(w.ReleaseJob(w.ctx, w.all, p[0].ID, please, memory.JobEnd{State: memory.JobQueued, Stage: memory.StageDecide}))
	w.clock.Advance(time.Minute) // the lease of 4 is over
	b, _ = decide()
	w.isf(slices.Equal(seqs(b), []int64{2}), "the oldest due, though a younger one's lease ran out: %+v", b)
	w.refused(w.Heartbeat(w.ctx, w.all, jobs[2].ID, lease, w.clock.Now()), fault.Conflict)
}

func leases(_ *testing.T, w *world) {
	c := w.collection("c")
	w.job(c.ID, memory.Job{Kind: memory.JobImport, Stage: memory.StageTask})
	jobs, lease := w.claim(c.ID, memory.StageTask, 1)
	id := jobs[0].ID
	until := w.clock.Now().Add(time.Hour)
	w.ok(w.Heartbeat(w.ctx, w.all, id, lease, until))
	w.clock.Advance(30 * time.Minute)
	none, _ := w.claim(c.ID, memory.StageTask, 1)
	w.isf(len(none) == 0, "a heartbeat prolongs the lease")
	w.ok(w.SetProgress(w.ctx, w.all, id, lease, memory.Progress{Done: 3, Total: 9}))
	got := must(w.Job(w.ctx, w.all, id))(w.t)
	w.isf(*got.Progress == memory.Progress{Done: 3, Total: 9} && got.LeaseUntil.Equal(until.Truncate(time.Microsecond)), "job %+v", got)
	stale := uuid.New()
	for _, l := range []uuid.UUID{stale, uuid.Nil} {
		w.refused(w.Heartbeat(w.ctx, w.all, id, l, until), fault.Conflict)
		w.refused(w.SetProgress(w.ctx, w.all, id, l, memory.Progress{}), fault.Conflict)
		w.refused(w.ReleaseJob(w.ctx, w.all, id, l, memory.JobEnd{State: memory.JobDone}), fault.Conflict)
	}
	w.clock.Advance(time.Hour)
	taken, newLease := w.claim(c.ID, memory.StageTask, 1)
	w.isf(len(taken) == 1, "an expired lease is free")
	w.refused(w.ReleaseJob(w.ctx, w.all, id, lease, memory.JobEnd{State: memory.JobDone}), fault.Conflict)
	n := must(w.VoidLeases(w.ctx))(w.t)
	w.isf(n == 1 && w.due(w.clock.Now()) == 1, "voided %d", n)
	w.refused(w.Heartbeat(w.ctx, w.all, id, newLease, until), fault.Conflict)
	jobs, lease = w.claim(c.ID, memory.StageTask, 1)
	w.ok(w.ReleaseJob(w.ctx, w.all, jobs[0].ID, lease, memory.JobEnd{State: memory.JobDead, Error: "three tries", Attempts: 3, Result: []byte(`{"r":1}`)}))
	got = must(w.Job(w.ctx, w.all, id))(w.t)
	w.isf(got.State == memory.JobDead && got.Error == "three tries" && got.Attempts == 3 && string(got.Result) == `{"r":1}` && !got.FinishedAt.IsZero() && got.Lease == uuid.Nil, "dead: %+v", got)
	w.refused(second(w.CancelJob(w.ctx, w.all, id, memory.AuditEntry{})), fault.Conflict)
	w.job(c.ID, memory.Job{Kind: memory.JobNote, Stage: memory.StagePrepare})
	retried := must(w.RetryJob(w.ctx, w.all, id, memory.AuditEntry{Action: "job.retry"}))(w.t)
	w.isf(retried.State == memory.JobQueued && retried.Seq == 3 && retried.Attempts == 0 && retried.FinishedAt.IsZero(), "to the end of the queue: %+v", retried)
	w.refused(second(w.RetryJob(w.ctx, w.all, id, memory.AuditEntry{})), fault.Conflict)
	jobs, lease = w.claim(c.ID, memory.StageTask, 1)
	canceled := must(w.CancelJob(w.ctx, w.all, jobs[0].ID, memory.AuditEntry{Action: "job.cancel"}))(w.t)
	w.isf(canceled.State == memory.JobCancelled && canceled.Ended(), "canceled: %+v", canceled)
	w.refused(w.ReleaseJob(w.ctx, w.all, id, lease, memory.JobEnd{State: memory.JobDone}), fault.Conflict)
	w.isf(len(must(w.ListAudit(w.ctx, w.all, memory.AuditQuery{Target: id.String()}))(w.t)) == 2, "audited")
	revived := must(w.RetryJob(w.ctx, w.all, id, memory.AuditEntry{}))(w.t)
	w.isf(revived.State == memory.JobQueued && revived.FinishedAt.IsZero(), "canceled, then tried again: %+v", revived)
	w.refused(second(w.Job(w.ctx, w.all, uuid.New())), fault.NotFound)
}

// endJob: a job's effect and its end are one transaction, held by the lease.
func endJob(_ *testing.T, w *world) {
	c := w.collection("c")
	n := w.add(c.ID, "x")
	j := w.job(c.ID, memory.Job{Note: n.ID, Kind: memory.JobNote, Stage: memory.StagePrepare, Payload: []byte(`{"p":1}`)})
	_, lease := w.claim(c.ID, memory.StagePrepare, 1)
	apply := func(lease uuid.UUID, end memory.JobEnd) error {
		return second(w.Write(w.ctx, w.all, c.ID, memory.WriteOptions{Job: j.ID, Cause: memory.CauseAnalyze}, func(ctx context.Context, tx memory.Tx) error {
			if _, err := tx.Put(ctx, memory.Note{ID: n.ID, Content: "effect"}); err != nil {
				return err
			}
			return tx.EndJob(ctx, j.ID, lease, end)
		}))
	}
	w.refused(apply(uuid.New(), memory.JobEnd{State: memory.JobDone}), fault.Conflict)
	w.isf(w.head(c.ID) == 1, "a lost lease applies nothing")
	w.ok(apply(lease, memory.JobEnd{State: memory.JobQueued, Stage: memory.StageDecide}))
	got := must(w.Job(w.ctx, w.all, j.ID))(w.t)
	w.isf(got.State == memory.JobQueued && got.Stage == memory.StageDecide && string(got.Payload) == `{"p":1}` && got.Lease == uuid.Nil, "requeued: %+v", got)
	w.refused(apply(lease, memory.JobEnd{State: memory.JobDone}), fault.Conflict)
	w.isf(w.head(c.ID) == 2, "an effect is applied once")
	_, lease = w.claim(c.ID, memory.StageDecide, 1)
	w.ok(apply(lease, memory.JobEnd{State: memory.JobDone, Result: []byte(`{"outcome":"done"}`)}))
	got = must(w.Job(w.ctx, w.all, j.ID))(w.t)
	w.isf(got.State == memory.JobDone && string(got.Result) == `{"outcome":"done"}` && !got.FinishedAt.IsZero(), "done: %+v", got)
	cs := must(w.Changesets(w.ctx, w.all, w.view(c.ID), 2, 0))(w.t)
	w.isf(len(cs) == 1 && cs[0].Job == j.ID && cs[0].Cause == memory.CauseAnalyze, "changeset: %+v", cs)
	w.isf(func() (n int64) {
		w.write(c.ID, func(tx memory.Tx) (err error) {
			if _, err = tx.CountEvolved(w.ctx); err != nil {
				return err
			}
			n, err = tx.CountEvolved(w.ctx)
			return err
		})
		return n
	}() == 2, "evolved adds are counted")
}

func listJobs(_ *testing.T, w *world) {
	c, mine := w.collection("c"), w.collectionOf(w.alice.ID, "mine")
	n := w.add(c.ID, "x")
	var jobs []memory.Job
	for range 5 {
		jobs = append(jobs, w.job(c.ID, memory.Job{Note: n.ID, Kind: memory.JobNote, Stage: memory.StagePrepare}))
	}
	own := w.job(mine.ID, memory.Job{Kind: memory.JobNote, Stage: memory.StagePrepare})
	list := func(q memory.JobQuery) (out []uuid.UUID) {
		for _, j := range must(w.ListJobs(w.ctx, w.all, q))(w.t) {
			out = append(out, j.ID)
		}
		return out
	}
	w.isf(len(list(memory.JobQuery{})) == 6 && list(memory.JobQuery{})[0] == own.ID, "newest first")
	w.isf(slices.Equal(list(memory.JobQuery{Collection: c.ID, Limit: 2, Before: jobs[4].ID}), []uuid.UUID{jobs[3].ID, jobs[2].ID}), "pages")
	w.isf(len(list(memory.JobQuery{Note: n.ID})) == 5, "by note")
	w.claim(mine.ID, memory.StagePrepare, 1)
	w.isf(slices.Equal(list(memory.JobQuery{State: memory.JobRunning}), []uuid.UUID{own.ID}), "by state")
	w.isf(len(must(w.ListJobs(w.ctx, w.bobS, memory.JobQuery{}))(w.t)) == 5, "an agent sees those of shared bases")
	w.isf(must(w.JobsAhead(w.ctx, w.all, jobs[3].ID))(w.t) == 3, "ahead")
	claimed, lease := w.claim(c.ID, memory.StagePrepare, 1)
	w.ok(w.ReleaseJob(w.ctx, w.all, claimed[0].ID, lease, memory.JobEnd{State: memory.JobDone}))
	w.isf(must(w.JobsAhead(w.ctx, w.all, jobs[3].ID))(w.t) == 2, "ended ones are not ahead")
	w.refused(second(w.ListJobs(w.ctx, w.bobS, memory.JobQuery{Collection: mine.ID})), fault.NotFound)
}

// trace: a job keeps the trace that it was enqueued with, to its end.
func trace(_ *testing.T, w *world) {
	const of = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	c := w.collection("c")
	j := w.job(c.ID, memory.Job{Kind: memory.JobNote, Stage: memory.StagePrepare, Trace: of})
	w.isf(j.Trace == of, "enqueued: %+v", j)
	claimed, lease := w.claim(c.ID, memory.StagePrepare, 1)
	w.isf(len(claimed) == 1 && claimed[0].Trace == of, "claimed: %+v", claimed)
	w.ok(w.ReleaseJob(w.ctx, w.all, j.ID, lease, memory.JobEnd{State: memory.JobQueued, Stage: memory.StageDecide}))
	claimed, lease = w.claim(c.ID, memory.StageDecide, 1)
	w.isf(len(claimed) == 1 && claimed[0].Trace == of, "claimed for its next stage: %+v", claimed)
	w.ok(w.ReleaseJob(w.ctx, w.all, j.ID, lease, memory.JobEnd{State: memory.JobDead, Error: "x"}))
	again := must(w.RetryJob(w.ctx, w.all, j.ID, memory.AuditEntry{}))(w.t)
	list := must(w.ListJobs(w.ctx, w.all, memory.JobQuery{}))(w.t)
	w.isf(again.Trace == of && len(list) == 1 && list[0].Trace == of, "retried: %+v, %+v", again, list)
	w.isf(w.job(c.ID, memory.Job{Kind: memory.JobNote, Stage: memory.StagePrepare}).Trace == "", "none")
}
