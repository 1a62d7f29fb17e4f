package storetest

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

func queueCases() []testCase {
	return []testCase{
		{"Prepare", claimPrepare},
		{"DueByTenant", dueByTenant},
		{"ReadsByTenant", readsByTenant},
		{"Decide", claimDecide},
		{"BesideTask", besideTask},
		{"Leases", leases},
		{"Losses", losses},
		{"EndJob", endJob},
		{"HoldJob", holdJob},
		{"Lists", listJobs},
		{"Trace", jobTrace},
		{"Time", jobTime},
		{"Backlog", backlog},
		{"Work", countWork},
		{"Upkeep", claimUpkeep},
		{"Awaits", awaits},
		{"LostLeases", lostLeases},
		{"Worked", worked},
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

// countWork: what waits in a collection is counted by stage, with what ended before it; what other collections have is not.
func countWork(_ *testing.T, w *world) {
	c, other := w.collection("c"), w.collection("other")
	now := func() memory.Work { return must(w.Work(w.ctx, w.all, w.view(c.ID)))(w.t) }
	w.assertf(now() == memory.Work{}, "nothing waits: %+v", now())
	for range 20 {
		w.job(c.ID, memory.Job{Kind: memory.JobNote, Stage: memory.StagePrepare})
	}
	w.job(other.ID, memory.Job{Kind: memory.JobNote, Stage: memory.StagePrepare})
	for range 3 {
		w.job(c.ID, memory.Job{Kind: memory.JobNote, Stage: memory.StagePrepare, Payload: memory.EmbedOnly()})
	}
	w.job(c.ID, memory.Job{Kind: memory.JobPolicy, Stage: memory.StageTask})
	w.job(c.ID, memory.Job{Kind: memory.JobPolicy, Stage: memory.StageTask, NotBefore: w.clock.Now().Add(time.Hour)})
	w.job(c.ID, memory.Job{Kind: memory.JobWebhook, Stage: memory.StageSend})
	w.assertf(now() == memory.Work{Description: 20, Vectors: 3, Policy: 1}, "all waits: %+v", now())
	_, known := new(now()).Left(20, w.clock.Now())
	w.assertf(!known, "nothing has ended, so nothing is known of the rate")

	end := func(stage memory.Stage, end memory.JobEnd) time.Time {
		claimed, lease := w.claim(c.ID, stage, 1)
		w.assertf(len(claimed) == 1, "claimed %+v", claimed)
		w.clock.Advance(time.Second)
		w.noError(w.ReleaseJob(w.ctx, w.all, claimed[0].ID, lease, end))
		return w.clock.Now()
	}
	near := func(a, b time.Time) bool { return b.Sub(a).Abs() < time.Millisecond } // the clock of tests moves a little with each look
	for range 15 {
		end(memory.StagePrepare, memory.JobEnd{State: memory.JobQueued, Stage: memory.StageDecide})
	}
	first := end(memory.StageDecide, memory.JobEnd{State: memory.JobDone, Stage: memory.StageDecide})
	var last time.Time
	for range 9 {
		last = end(memory.StageDecide, memory.JobEnd{State: memory.JobDone, Stage: memory.StageDecide})
	}
	got := now()
	w.assertf(near(got.First, first) && near(got.Last, last), "ended from %v to %v, want %v to %v", got.First, got.Last, first, last)
	got.First, got.Last = time.Time{}, time.Time{}
	w.assertf(got == memory.Work{Description: 5, Vectors: 3, Links: 5, Policy: 1, Ended: 10}, "%+v", got)
	w.clock.Advance(time.Second)
	left, known := new(now()).Left(5, w.clock.Now())
	w.assertf(known && left.Round(time.Second) == 5*time.Second, "five jobs take %v (%v) at one in a second", left, known)
	w.clock.Advance(time.Hour)
	_, known = new(now()).Left(5, w.clock.Now())
	w.assertf(!known, "nothing has ended for an hour, so nothing is known")
	end(memory.StageDecide, memory.JobEnd{State: memory.JobDead, Stage: memory.StageDecide, Error: "x"})
	got = now()
	w.assertf(got.Dead == 1 && got.Links == 4 && got.Policy == 2, "%+v", got)
	w.assertf(must(w.Work(w.ctx, w.all, w.view(other.ID)))(w.t) == memory.Work{Description: 1}, "another collection has its own")
}

// backlog: the jobs of all tenants that could be done are counted by stage. Running and ended jobs, and
// those that wait for their time, are not counted.
func backlog(_ *testing.T, w *world) {
	count := func() map[memory.Stage]memory.Backlog {
		all := must(w.Backlog(w.ctx, w.clock.Now()))(w.t)
		out := map[memory.Stage]memory.Backlog{}
		for i, b := range all {
			w.assertf(b.Stage == memory.Stages()[i], "entry %d has the stage %q", i, b.Stage)
			out[b.Stage] = b
		}
		w.assertf(len(all) == len(memory.Stages()) && len(out) == len(all), "stages: %+v", all)
		return out
	}
	for stage, b := range count() {
		w.assertf(b.Waiting == 0 && b.Oldest.IsZero(), "the stage %s is empty: %+v", stage, b)
	}
	c := w.collection("c")
	first := w.job(c.ID, memory.Job{Kind: memory.JobNote, Stage: memory.StagePrepare})
	w.clock.Advance(time.Minute)
	second := w.job(c.ID, memory.Job{Kind: memory.JobNote, Stage: memory.StagePrepare, NotBefore: w.clock.Now().Add(time.Hour)})
	w.job(c.ID, memory.Job{Kind: memory.JobCopy, Stage: memory.StageTask})
	foreign := must(w.CreateCollection(w.ctx, w.foreign, memory.NewCollection{Collection: memory.Collection{Name: "c", Policy: "amem"}}))(w.t).Collection
	_ = must(w.Write(w.ctx, w.foreign, foreign.ID, memory.WriteOptions{}, func(ctx context.Context, tx memory.Tx) error {
		_, err := tx.Enqueue(ctx, memory.Job{Collection: foreign.ID, Kind: memory.JobCopy, Stage: memory.StageTask})
		return err
	}))(w.t)
	queued := func(s tenant.Scope) int64 { return must(w.TenantUsage(w.ctx, s))(w.t).QueuedJobs }
	w.assertf(queued(w.all) == 2 && queued(w.foreign) == 0, "of one tenant, all but tasks are queued: %d, %d", queued(w.all), queued(w.foreign))
	got := count()
	w.assertf(got[memory.StagePrepare].Waiting == 1 && got[memory.StagePrepare].Oldest.Equal(first.CreatedAt), "prepare: %+v", got)
	w.assertf(got[memory.StageDecide].Waiting == 0 && got[memory.StageTask].Waiting == 2, "other stages: %+v", got)
	_, lease := w.claim(c.ID, memory.StagePrepare, 1)
	got = count()
	w.assertf(got[memory.StagePrepare].Waiting == 0 && got[memory.StagePrepare].Oldest.IsZero(), "a running job is not counted: %+v", got)
	w.assertf(queued(w.all) == 2, "a running job is queued for its tenant: %d", queued(w.all))
	w.noError(w.ReleaseJob(w.ctx, w.all, first.ID, lease, memory.JobEnd{State: memory.JobQueued, Stage: memory.StageDecide}))
	got = count()
	w.assertf(got[memory.StageDecide].Waiting == 1 && got[memory.StageDecide].Oldest.Equal(first.CreatedAt), "the job waits in its next stage: %+v", got)
	w.clock.Advance(61 * time.Minute)
	got = count()
	w.assertf(got[memory.StagePrepare].Waiting == 1 && got[memory.StagePrepare].Oldest.Equal(second.NotBefore), "a job waits since it is due: %+v", got)
	_, lease = w.claim(c.ID, memory.StageDecide, 1)
	w.noError(w.ReleaseJob(w.ctx, w.all, first.ID, lease, memory.JobEnd{State: memory.JobDone}))
	w.assertf(queued(w.all) == 1, "a job that ended is not queued: %d", queued(w.all))
}

// dueByTenant: each tenant has its part of what one look lists, however many collections another has.
func dueByTenant(_ *testing.T, w *world) {
	for i := range 12 {
		w.job(w.collection("c"+strconv.Itoa(i)).ID, memory.Job{Kind: memory.JobNote, Stage: memory.StagePrepare})
	}
	foreign := must(w.CreateCollection(w.ctx, w.foreign, memory.NewCollection{Collection: memory.Collection{Name: "c", Policy: "amem"}}))(w.t).Collection
	_ = must(w.Write(w.ctx, w.foreign, foreign.ID, memory.WriteOptions{}, func(ctx context.Context, tx memory.Tx) error {
		_, err := tx.Enqueue(ctx, memory.Job{Collection: foreign.ID, Kind: memory.JobCopy, Stage: memory.StageTask})
		return err
	}))(w.t)
	seen := map[uuid.UUID]bool{}
	for range 8 {
		due := must(w.DueCollections(w.ctx, w.clock.Now(), 2))(w.t)
		w.assertf(len(due) == 2 && due[0].Tenant != due[1].Tenant, "two tenants have work, listed %+v", due)
		for _, d := range due {
			seen[d.Collection] = true
		}
	}
	w.assertf(len(seen) > 2, "the collections of a tenant are chosen at random, listed %d", len(seen)-1)
	all := must(w.DueCollections(w.ctx, w.clock.Now(), 0))(w.t)
	w.assertf(len(all) == 13, "without a limit all are listed: %d", len(all))
}

// readsByTenant holds more reads of a tenant than there are connections; those of another are served.
func readsByTenant(t *testing.T, w *world) {
	c := w.collection("c")
	w.add(c.ID, "a note")
	v := w.view(c.ID)
	foreign := must(w.CreateCollection(w.ctx, w.foreign, memory.NewCollection{Collection: memory.Collection{Name: "c", Policy: "amem"}}))(w.t).Collection
	const reads = 64
	var all sync.WaitGroup
	began, release := make(chan struct{}, reads), make(chan struct{})
	defer all.Wait()
	defer close(release)
	for range reads {
		all.Go(func() {
			_, err := w.Log(w.ctx, w.all, v, 0, 0, v.Collection.Embedder, func(memory.LogRow) error {
				began <- struct{}{}
				<-release
				return nil
			})
			if err != nil {
				t.Errorf("a read that waited: %v", err)
			}
		})
	}
	<-began
	for range 4 {
		got := must(w.OpenView(w.ctx, w.foreign, foreign.ID.String(), memory.At{}))(w.t)
		w.assertf(got.Collection.ID == foreign.ID, "the collection of the other tenant")
	}
}

func claimPrepare(_ *testing.T, w *world) {
	c, d := w.collection("c"), w.collection("d")
	for range 3 {
		w.job(c.ID, memory.Job{Kind: memory.JobNote, Stage: memory.StagePrepare, Payload: []byte(`{"a":1}`)})
	}
	w.assertf(w.job(d.ID, memory.Job{Kind: memory.JobNote, Stage: memory.StagePrepare}).Seq == 1, "Seq is counted per collection")
	later := w.clock.Now().Add(time.Minute)
	w.job(c.ID, memory.Job{Kind: memory.JobNote, Stage: memory.StagePrepare, NotBefore: later})
	w.assertf(w.due(w.clock.Now()) == 2, "two collections have due jobs")
	first, lease := w.claim(c.ID, memory.StagePrepare, 2)
	w.assertf(slices.Equal(seqs(first), []int64{1, 2}) && first[0].State == memory.JobRunning && first[0].Lease == lease && string(first[0].Payload) == `{"a":1}`, "oldest first: %+v", first)
	rest, _ := w.claim(c.ID, memory.StagePrepare, 10)
	w.assertf(slices.Equal(seqs(rest), []int64{3}), "the other due job: %+v", rest)
	none, _ := w.claim(c.ID, memory.StageTask, 10)
	w.assertf(len(none) == 0, "no job of another stage")
	w.assertf(w.due(w.clock.Now()) == 1, "claimed jobs are not due")
	next := must(w.NextDue(w.ctx))(w.t)
	w.assertf(!next.IsZero() && next.Before(later), "next due %s", next)
	w.clock.Advance(2 * time.Minute)
	all, _ := w.claim(c.ID, memory.StagePrepare, 10)
	w.assertf(slices.Equal(seqs(all), []int64{1, 2, 3, 4}) && all[0].Attempts == 0, "jobs with expired leases and jobs that became due: %+v", all)
	w.wantInvalid(errOf(w.ClaimJobs(w.ctx, w.all, c.ID, memory.StagePrepare, uuid.Nil, later, 1)), "lease")
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
	w.assertf(slices.Equal(seqs(a), []int64{1}), "one at a time, the oldest: %+v", a)
	b, _ := decide()
	w.assertf(len(b) == 0, "none while another is leased: %+v", b)
	w.noError(w.ReleaseJob(w.ctx, w.all, a[0].ID, lease, memory.JobEnd{State: memory.JobDone}))
	b, _ = decide()
	w.assertf(len(b) == 0, "none while an older job is in stage prepare: %+v", b)
	w.assertf(w.due(w.clock.Now()) == 1, "the job in stage prepare is due")
	p, lease := w.claim(c.ID, memory.StagePrepare, 10)
	w.assertf(slices.Equal(seqs(p), []int64{2}), "prepare: %+v", p)
	w.assertf(w.due(w.clock.Now()) == 0, "jobs that wait for an older one are not due")
	b, _ = decide()
	w.assertf(len(b) == 0, "none while an older job is leased in stage prepare: %+v", b)
	w.noError(w.ReleaseJob(w.ctx, w.all, p[0].ID, lease, memory.JobEnd{State: memory.JobQueued, Attempts: 1, Error: "timeout", NotBefore: w.clock.Now().Add(time.Second)}))
	b, lease = decide()
	w.assertf(slices.Equal(seqs(b), []int64{3}), "a failed attempt in stage prepare does not block later jobs: %+v", b)
	w.noError(w.ReleaseJob(w.ctx, w.all, b[0].ID, lease, memory.JobEnd{State: memory.JobQueued, Attempts: 1, NotBefore: w.clock.Now().Add(time.Minute)}))
	b, lease = decide()
	w.assertf(slices.Equal(seqs(b), []int64{4}), "nor does a failed attempt in stage decide: %+v", b)
	w.clock.Advance(30 * time.Second)
	p, please := w.claim(c.ID, memory.StagePrepare, 10)
	w.noError(w.ReleaseJob(w.ctx, w.all, p[0].ID, please, memory.JobEnd{State: memory.JobQueued, Stage: memory.StageDecide}))
	w.clock.Advance(time.Minute) // the lease of job 4 expires
	b, _ = decide()
	w.assertf(slices.Equal(seqs(b), []int64{2}), "the oldest due job is first, before a newer one with an expired lease: %+v", b)
	w.wantFault(w.Heartbeat(w.ctx, w.all, jobs[2].ID, lease, w.clock.Now()), fault.Conflict)
}

// besideTask: a consolidation, which may take long, holds back no decide of its collection, older or newer,
// whether it waits or runs, and both write.
func besideTask(_ *testing.T, w *world) {
	c := w.collection("c")
	older := w.put(c.ID, memory.Note{Content: "older"})
	w.job(c.ID, memory.Job{Kind: memory.JobNote, Stage: memory.StageDecide})
	task := w.job(c.ID, memory.Job{Kind: memory.JobConsolidate, Stage: memory.StageTask})
	decideOne := func(when string) {
		w.assertf(w.due(w.clock.Now()) == 1, "the collection is due %s", when)
		jobs, lease := w.claim(c.ID, memory.StageDecide, 1)
		w.assertf(len(jobs) == 1, "a decide is claimed %s: %+v", when, jobs)
		o := memory.WriteOptions{Cause: memory.CauseEvolve, Job: jobs[0].ID}
		_ = must(w.Write(w.ctx, w.all, c.ID, o, func(ctx context.Context, tx memory.Tx) error {
			_, err := tx.Put(ctx, memory.Note{Content: "decided " + when})
			return err
		}))(w.t)
		w.noError(w.ReleaseJob(w.ctx, w.all, jobs[0].ID, lease, memory.JobEnd{State: memory.JobDone}))
	}
	decideOne("while a consolidation waits")
	running, lease := w.claim(c.ID, memory.StageUpkeep, 1)
	w.assertf(len(running) == 1 && running[0].ID == task.ID, "the consolidation runs: %+v", running)
	w.job(c.ID, memory.Job{Kind: memory.JobNote, Stage: memory.StageDecide})
	decideOne("while a consolidation runs")
	older.Vector, older.Embedder = []float32{1, 0, 0, 0}, embedder
	o := memory.WriteOptions{Cause: memory.CauseConsolidate, Job: task.ID, System: true}
	_ = must(w.Write(w.ctx, w.all, c.ID, o, func(ctx context.Context, tx memory.Tx) error {
		_, err := tx.Put(ctx, older)
		return err
	}))(w.t)
	w.job(c.ID, memory.Job{Kind: memory.JobNote, Stage: memory.StageDecide})
	decideOne("after it wrote")
	w.noError(w.ReleaseJob(w.ctx, w.all, task.ID, lease, memory.JobEnd{State: memory.JobDone}))
	w.assertf(len(w.contents(w.view(c.ID))) == 4 && w.due(w.clock.Now()) == 0, "all of them wrote")
}

// claimUpkeep: what a collection does for itself is claimed apart from what callers asked for.
func claimUpkeep(_ *testing.T, w *world) {
	c := w.collection("c")
	for _, kind := range append(memory.UpkeepKinds(), memory.JobImport, memory.JobFile, memory.JobCopy, memory.JobReembed, memory.JobRemove) {
		w.job(c.ID, memory.Job{Kind: kind, Stage: memory.StageTask})
	}
	upkeep := int64(len(memory.UpkeepKinds()))
	asked, _ := w.claim(c.ID, memory.StageTask, 10)
	w.assertf(len(asked) == 5 && asked[0].Seq == upkeep+1 && asked[0].Stage == memory.StageTask, "asked for: %+v", asked)
	own, lease := w.claim(c.ID, memory.StageUpkeep, 10)
	w.assertf(len(own) == int(upkeep) && own[0].Seq == 1 && own[0].Stage == memory.StageTask, "of upkeep: %+v", own)
	w.noError(w.ReleaseJob(w.ctx, w.all, own[0].ID, lease, memory.JobEnd{State: memory.JobQueued}))
	again, _ := w.claim(c.ID, memory.StageUpkeep, 10)
	w.assertf(len(again) == 1 && again[0].ID == own[0].ID, "given back: %+v", again)
}

// awaits: a job that awaits another is due when that ends, however it ends, and not before.
func awaits(_ *testing.T, w *world) {
	c, f := w.collection("c"), w.collection("f")
	wait := func(on uuid.UUID) memory.Job {
		j := w.job(f.ID, memory.Job{Kind: memory.JobAdopt, Stage: memory.StageTask})
		claimed, lease := w.claim(f.ID, memory.StageUpkeep, 1)
		w.assertf(len(claimed) == 1 && claimed[0].ID == j.ID, "claimed %+v", claimed)
		w.write(f.ID, func(tx memory.Tx) error {
			return tx.EndJob(w.ctx, j.ID, lease, memory.JobEnd{
				State: memory.JobQueued, Stage: memory.StageTask, NotBefore: w.clock.Now().Add(time.Hour), Awaits: on,
			})
		})
		return j
	}
	isDue := func(j memory.Job) bool {
		claimed, lease := w.claim(f.ID, memory.StageUpkeep, 10)
		for i := range claimed {
			w.noError(w.ReleaseJob(w.ctx, w.all, claimed[i].ID, lease, memory.JobEnd{State: memory.JobDone}))
		}
		return slices.ContainsFunc(claimed, func(o memory.Job) bool { return o.ID == j.ID })
	}
	for name, end := range map[string]func(j memory.Job, lease uuid.UUID){
		"in its transaction": func(j memory.Job, lease uuid.UUID) {
			w.write(c.ID, func(tx memory.Tx) error { return tx.EndJob(w.ctx, j.ID, lease, memory.JobEnd{State: memory.JobDone}) })
		},
		"given up": func(j memory.Job, lease uuid.UUID) {
			w.noError(w.ReleaseJob(w.ctx, w.all, j.ID, lease, memory.JobEnd{State: memory.JobDead, Error: "x"}))
		},
		"canceled": func(j memory.Job, _ uuid.UUID) { _ = must(w.CancelJob(w.ctx, w.all, j.ID, memory.AuditEntry{}))(w.t) },
	} {
		awaited := w.job(c.ID, memory.Job{Kind: memory.JobNote, Stage: memory.StagePrepare})
		other := w.job(c.ID, memory.Job{Kind: memory.JobNote, Stage: memory.StagePrepare})
		waits := wait(awaited.ID)
		_, lease := w.claim(c.ID, memory.StagePrepare, 10)
		w.noError(w.ReleaseJob(w.ctx, w.all, other.ID, lease, memory.JobEnd{State: memory.JobDone}))
		w.assertf(!isDue(waits), "%s: it is due after the end of another job", name)
		w.noError(w.ReleaseJob(w.ctx, w.all, awaited.ID, lease, memory.JobEnd{State: memory.JobQueued, Stage: memory.StageDecide}))
		w.assertf(!isDue(waits), "%s: it is due after the first stage", name)
		_, lease = w.claim(c.ID, memory.StageDecide, 1)
		end(awaited, lease)
		w.assertf(isDue(waits), "%s: it is not due", name)
		w.assertf(isDue(wait(awaited.ID)), "%s: what awaits a job that has ended is not due", name)
	}
	w.assertf(isDue(wait(uuid.New())), "what awaits a job that is gone is not due")
	late := wait(w.job(c.ID, memory.Job{Kind: memory.JobNote, Stage: memory.StagePrepare}).ID)
	w.clock.Advance(time.Hour)
	w.assertf(isDue(late), "the pause is over, and it is not due")
}

// lostLeases: a job whose lease has ended is shown as one that waits, although no process has taken it up yet.
func lostLeases(_ *testing.T, w *world) {
	c := w.collection("c")
	j := w.job(c.ID, memory.Job{Kind: memory.JobImport, Stage: memory.StageTask})
	w.claim(c.ID, memory.StageTask, 1)
	count := func(state memory.JobState) int {
		return len(must(w.ListJobs(w.ctx, w.all, memory.JobQuery{State: state}))(w.t))
	}
	w.assertf(count(memory.JobRunning) == 1 && count(memory.JobQueued) == 0, "it runs")
	w.clock.Advance(2 * time.Minute)
	got := must(w.Job(w.ctx, w.all, j.ID))(w.t)
	w.assertf(got.Shown(w.clock.Now()) == memory.JobQueued, "shown as %q", got.Shown(w.clock.Now()))
	w.assertf(count(memory.JobRunning) == 0 && count(memory.JobQueued) == 1, "it waits")
	w.assertf(len(must(w.ListJobs(w.ctx, w.all, memory.JobQuery{Unended: true}))(w.t)) == 1, "it has not ended")
}

func leases(_ *testing.T, w *world) {
	c := w.collection("c")
	w.job(c.ID, memory.Job{Kind: memory.JobImport, Stage: memory.StageTask})
	jobs, lease := w.claim(c.ID, memory.StageTask, 1)
	id := jobs[0].ID
	until := w.clock.Now().Add(time.Hour)
	w.noError(w.Heartbeat(w.ctx, w.all, id, lease, until))
	w.clock.Advance(30 * time.Minute)
	none, _ := w.claim(c.ID, memory.StageTask, 1)
	w.assertf(len(none) == 0, "a heartbeat extends the lease")
	w.noError(w.SetProgress(w.ctx, w.all, id, lease, memory.Progress{Done: 3, Total: 9}))
	got := must(w.Job(w.ctx, w.all, id))(w.t)
	w.assertf(*got.Progress == memory.Progress{Done: 3, Total: 9} && got.LeaseUntil.Equal(until.Truncate(time.Microsecond)), "job %+v", got)
	stale := uuid.New()
	for _, l := range []uuid.UUID{stale, uuid.Nil} {
		w.wantFault(w.Heartbeat(w.ctx, w.all, id, l, until), fault.Conflict)
		w.wantFault(w.SetProgress(w.ctx, w.all, id, l, memory.Progress{}), fault.Conflict)
		w.wantFault(w.SetAlone(w.ctx, w.all, id, l, 1), fault.Conflict)
		w.wantFault(w.ReleaseJob(w.ctx, w.all, id, l, memory.JobEnd{State: memory.JobDone}), fault.Conflict)
	}
	w.clock.Advance(time.Hour)
	reclaimed, newLease := w.claim(c.ID, memory.StageTask, 1)
	w.assertf(len(reclaimed) == 1, "a job with an expired lease can be claimed")
	w.wantFault(w.ReleaseJob(w.ctx, w.all, id, lease, memory.JobEnd{State: memory.JobDone}), fault.Conflict)
	n := must(w.VoidLeases(w.ctx))(w.t)
	w.assertf(n == 1 && w.due(w.clock.Now()) == 1, "voided %d", n)
	w.wantFault(w.Heartbeat(w.ctx, w.all, id, newLease, until), fault.Conflict)
	jobs, lease = w.claim(c.ID, memory.StageTask, 1)
	w.noError(w.ReleaseJob(w.ctx, w.all, jobs[0].ID, lease, memory.JobEnd{State: memory.JobDead, Error: "three tries", Attempts: 3, Result: []byte(`{"r":1}`)}))
	got = must(w.Job(w.ctx, w.all, id))(w.t)
	w.assertf(got.State == memory.JobDead && got.Error == "three tries" && got.Attempts == 3 && string(got.Result) == `{"r":1}` && !got.FinishedAt.IsZero() && got.Lease == uuid.Nil, "dead: %+v", got)
	w.wantFault(errOf(w.CancelJob(w.ctx, w.all, id, memory.AuditEntry{})), fault.Conflict)
	w.job(c.ID, memory.Job{Kind: memory.JobNote, Stage: memory.StagePrepare})
	retried := must(w.RetryJob(w.ctx, w.all, id, memory.AuditEntry{Action: "job.retry"}))(w.t)
	w.assertf(retried.State == memory.JobQueued && retried.Seq == 3 && retried.Attempts == 0 && retried.FinishedAt.IsZero(), "a retried job is the last in the queue: %+v", retried)
	w.wantFault(errOf(w.RetryJob(w.ctx, w.all, id, memory.AuditEntry{})), fault.Conflict)
	jobs, lease = w.claim(c.ID, memory.StageTask, 1)
	canceled := must(w.CancelJob(w.ctx, w.all, jobs[0].ID, memory.AuditEntry{Action: "job.cancel"}))(w.t)
	w.assertf(canceled.State == memory.JobCanceled && canceled.Ended(), "canceled: %+v", canceled)
	w.wantFault(w.ReleaseJob(w.ctx, w.all, id, lease, memory.JobEnd{State: memory.JobDone}), fault.Conflict)
	w.assertf(len(must(w.ListAudit(w.ctx, w.all, memory.AuditQuery{Target: id.String()}))(w.t)) == 2, "both actions are audited")
	revived := must(w.RetryJob(w.ctx, w.all, id, memory.AuditEntry{}))(w.t)
	w.assertf(revived.State == memory.JobQueued && revived.FinishedAt.IsZero(), "a canceled job can be retried: %+v", revived)
	w.wantFault(errOf(w.Job(w.ctx, w.all, uuid.New())), fault.NotFound)
}

// losses: lost leases are counted apart from tries, until the job is given back without them. A job that
// waits after one holds up no other.
func losses(_ *testing.T, w *world) {
	c := w.collection("c")
	first := w.job(c.ID, memory.Job{Kind: memory.JobNote, Stage: memory.StageDecide})
	second := w.job(c.ID, memory.Job{Kind: memory.JobNote, Stage: memory.StageDecide})
	for range 2 {
		if jobs, _ := w.claim(c.ID, memory.StageDecide, 1); len(jobs) != 1 || jobs[0].ID != first.ID {
			w.t.Fatalf("claimed %+v", jobs)
		}
		w.clock.Advance(2 * time.Hour)
	}
	jobs, lease := w.claim(c.ID, memory.StageDecide, 1)
	w.assertf(len(jobs) == 1 && jobs[0].Claims == 3 && jobs[0].Losses == 0 && jobs[0].Alone == 0, "claimed for the third time: %+v", jobs)
	w.noError(w.SetAlone(w.ctx, w.all, first.ID, lease, 2))
	got := must(w.Job(w.ctx, w.all, first.ID))(w.t)
	w.assertf(got.Alone == 2 && got.Attempts == 0, "marked: %+v", got)
	w.noError(w.ReleaseJob(w.ctx, w.all, first.ID, lease, memory.JobEnd{
		State: memory.JobQueued, Stage: memory.StageDecide, NotBefore: w.clock.Now().Add(time.Minute), Losses: 2, Alone: 2,
	}))
	got = must(w.Job(w.ctx, w.all, first.ID))(w.t)
	w.assertf(got.Losses == 2 && got.Alone == 2 && got.Claims == 0 && got.Attempts == 0, "waiting after a loss: %+v", got)
	w.assertf(w.due(w.clock.Now()) == 1, "the next job is due")
	jobs, lease = w.claim(c.ID, memory.StageDecide, 1)
	w.assertf(len(jobs) == 1 && jobs[0].ID == second.ID, "a job that waits after a loss is passed: %+v", jobs)
	w.noError(w.ReleaseJob(w.ctx, w.all, second.ID, lease, memory.JobEnd{State: memory.JobDone}))
	w.clock.Advance(time.Minute)
	jobs, lease = w.claim(c.ID, memory.StageDecide, 1)
	w.assertf(len(jobs) == 1 && jobs[0].ID == first.ID && jobs[0].Claims == 1 && jobs[0].Losses == 2 && jobs[0].Alone == 2, "claimed after its pause: %+v", jobs)
	w.noError(w.ReleaseJob(w.ctx, w.all, first.ID, lease, memory.JobEnd{State: memory.JobQueued, Stage: memory.StageDecide, Attempts: 1}))
	got = must(w.Job(w.ctx, w.all, first.ID))(w.t)
	w.assertf(got.Losses == 0 && got.Alone == 0 && got.Attempts == 1, "a try that ended: %+v", got)
	jobs, _ = w.claim(c.ID, memory.StageDecide, 1)
	_ = must(w.CancelJob(w.ctx, w.all, jobs[0].ID, memory.AuditEntry{}))(w.t)
	again := must(w.RetryJob(w.ctx, w.all, jobs[0].ID, memory.AuditEntry{}))(w.t)
	w.assertf(again.Claims == 0 && again.Losses == 0, "a retry counts again: %+v", again)

	// A prepare that waits after a loss does not hold up later decides either.
	p := w.job(c.ID, memory.Job{Kind: memory.JobNote, Stage: memory.StagePrepare})
	_ = must(w.CancelJob(w.ctx, w.all, first.ID, memory.AuditEntry{}))(w.t)
	later := w.job(c.ID, memory.Job{Kind: memory.JobNote, Stage: memory.StageDecide})
	none, _ := w.claim(c.ID, memory.StageDecide, 1)
	w.assertf(len(none) == 0, "an earlier note is not prepared: %+v", none)
	_, lease = w.claim(c.ID, memory.StagePrepare, 1)
	w.noError(w.ReleaseJob(w.ctx, w.all, p.ID, lease, memory.JobEnd{
		State: memory.JobQueued, Stage: memory.StagePrepare, NotBefore: w.clock.Now().Add(time.Minute), Losses: 2,
	}))
	w.assertf(w.due(w.clock.Now()) == 1, "the decide is due")
	jobs, _ = w.claim(c.ID, memory.StageDecide, 1)
	w.assertf(len(jobs) == 1 && jobs[0].ID == later.ID, "claimed %+v", jobs)
}

// worked: the time that a job is held counts, in all its stages and until it is canceled; its waits and leases that were lost do not.
func worked(_ *testing.T, w *world) {
	c := w.collection("c")
	j := w.job(c.ID, memory.Job{Kind: memory.JobNote, Stage: memory.StagePrepare})
	assert := func(want time.Duration, when string) {
		w.t.Helper()
		got := must(w.Job(w.ctx, w.all, j.ID))(w.t)
		w.assertf(got.Worked.Round(100*time.Microsecond) == want, "%s it was worked on for %s, not %s", when, got.Worked, want)
	}
	held := func(stage memory.Stage, d time.Duration, end memory.JobEnd) {
		w.t.Helper()
		w.clock.Advance(time.Minute)
		_, lease := w.claim(c.ID, stage, 1)
		w.clock.Advance(d)
		w.write(c.ID, func(tx memory.Tx) error { return tx.EndJob(w.ctx, j.ID, lease, end) })
	}
	assert(0, "before its turn")
	held(memory.StagePrepare, 1500*time.Microsecond, memory.JobEnd{State: memory.JobQueued, Stage: memory.StageDecide})
	assert(1500*time.Microsecond, "after its first stage")
	w.claim(c.ID, memory.StageDecide, 1)
	w.clock.Advance(2 * time.Hour)
	held(memory.StageDecide, time.Second, memory.JobEnd{State: memory.JobDead, Attempts: 3})
	assert(time.Second+1500*time.Microsecond, "after a lease that was lost, and its end")
	w.clock.Advance(time.Hour)
	_ = must(w.RetryJob(w.ctx, w.all, j.ID, memory.AuditEntry{}))(w.t)
	_, lease := w.claim(c.ID, memory.StageDecide, 1)
	w.clock.Advance(time.Second)
	w.noError(w.ReleaseJob(w.ctx, w.all, j.ID, lease, memory.JobEnd{State: memory.JobQueued, Stage: memory.StageDecide}))
	assert(2*time.Second+1500*time.Microsecond, "after it was given back")
	w.claim(c.ID, memory.StageDecide, 1)
	w.clock.Advance(time.Second)
	_ = must(w.CancelJob(w.ctx, w.all, j.ID, memory.AuditEntry{}))(w.t)
	assert(3*time.Second+1500*time.Microsecond, "when it was canceled")
	_ = must(w.RetryJob(w.ctx, w.all, j.ID, memory.AuditEntry{}))(w.t)
	w.clock.Advance(time.Hour)
	_ = must(w.CancelJob(w.ctx, w.all, j.ID, memory.AuditEntry{}))(w.t)
	assert(3*time.Second+1500*time.Microsecond, "when it was canceled while it waited")
}

// endJob: a job's changes and its end are one transaction, which requires the lease.
func endJob(_ *testing.T, w *world) {
	c := w.collection("c")
	n := w.add(c.ID, "x")
	j := w.job(c.ID, memory.Job{Note: n.ID, Kind: memory.JobNote, Stage: memory.StagePrepare, Payload: []byte(`{"p":1}`)})
	_, lease := w.claim(c.ID, memory.StagePrepare, 1)
	apply := func(lease uuid.UUID, end memory.JobEnd) error {
		return errOf(w.Write(w.ctx, w.all, c.ID, memory.WriteOptions{Job: j.ID, Cause: memory.CauseAnalyze}, func(ctx context.Context, tx memory.Tx) error {
			if _, err := tx.Put(ctx, memory.Note{ID: n.ID, Content: "effect"}); err != nil {
				return err
			}
			return tx.EndJob(ctx, j.ID, lease, end)
		}))
	}
	w.wantFault(apply(uuid.New(), memory.JobEnd{State: memory.JobDone}), fault.Conflict)
	w.assertf(w.head(c.ID) == 1, "nothing is written without the lease")
	w.noError(apply(lease, memory.JobEnd{State: memory.JobQueued, Stage: memory.StageDecide}))
	got := must(w.Job(w.ctx, w.all, j.ID))(w.t)
	w.assertf(got.State == memory.JobQueued && got.Stage == memory.StageDecide && string(got.Payload) == `{"p":1}` && got.Lease == uuid.Nil, "requeued: %+v", got)
	w.wantFault(apply(lease, memory.JobEnd{State: memory.JobDone}), fault.Conflict)
	w.assertf(w.head(c.ID) == 2, "the changes are applied once")
	_, lease = w.claim(c.ID, memory.StageDecide, 1)
	w.noError(apply(lease, memory.JobEnd{State: memory.JobDone, Result: []byte(`{"outcome":"done"}`)}))
	got = must(w.Job(w.ctx, w.all, j.ID))(w.t)
	w.assertf(got.State == memory.JobDone && string(got.Result) == `{"outcome":"done"}` && !got.FinishedAt.IsZero(), "done: %+v", got)
	cs := must(w.Changesets(w.ctx, w.all, w.view(c.ID), 2, 0))(w.t)
	w.assertf(len(cs) == 1 && cs[0].Job == j.ID && cs[0].Cause == memory.CauseAnalyze, "changeset: %+v", cs)
	w.assertf(func() (n int64) {
		w.write(c.ID, func(tx memory.Tx) (err error) {
			if _, err = tx.CountEvolved(w.ctx); err != nil {
				return err
			}
			n, err = tx.CountEvolved(w.ctx)
			return err
		})
		return n
	}() == 2, "evolved notes are counted")
}

func listJobs(_ *testing.T, w *world) {
	c, alices := w.collection("c"), w.collectionOf(w.alice.ID, "private")
	n := w.add(c.ID, "x")
	var jobs []memory.Job
	for range 5 {
		jobs = append(jobs, w.job(c.ID, memory.Job{Note: n.ID, Kind: memory.JobNote, Stage: memory.StagePrepare}))
	}
	own := w.job(alices.ID, memory.Job{Kind: memory.JobNote, Stage: memory.StagePrepare})
	list := func(q memory.JobQuery) (out []uuid.UUID) {
		for _, j := range must(w.ListJobs(w.ctx, w.all, q))(w.t) {
			out = append(out, j.ID)
		}
		return out
	}
	w.assertf(len(list(memory.JobQuery{})) == 6 && list(memory.JobQuery{})[0] == own.ID, "newest first")
	w.assertf(slices.Equal(list(memory.JobQuery{Collection: c.ID, Limit: 2, Before: jobs[4].ID}), []uuid.UUID{jobs[3].ID, jobs[2].ID}), "pages")
	w.assertf(len(list(memory.JobQuery{Notes: []uuid.UUID{n.ID}})) == 5, "by note")
	w.claim(alices.ID, memory.StagePrepare, 1)
	w.assertf(slices.Equal(list(memory.JobQuery{State: memory.JobRunning}), []uuid.UUID{own.ID}), "by state")
	w.assertf(len(must(w.ListJobs(w.ctx, w.bobS, memory.JobQuery{}))(w.t)) == 5, "an agent sees the jobs of shared bases")
	// ahead returns how many jobs are ahead of one, which JobsAhead returns too.
	ahead := func(id uuid.UUID) int {
		w.t.Helper()
		j, n, err := w.JobsAhead(w.ctx, w.all, id)
		w.noError(err)
		w.assertf(j.ID == id, "JobsAhead returns the job")
		return n
	}
	w.assertf(ahead(jobs[3].ID) == 3, "three jobs are ahead")
	later := w.clock.Now().Add(time.Hour)
	scheduled := w.job(c.ID, memory.Job{Kind: memory.JobPolicy, Stage: memory.StageTask, NotBefore: later})
	w.assertf(slices.Equal(list(memory.JobQuery{State: memory.JobScheduled}), []uuid.UUID{scheduled.ID}), "work that is set for later")
	w.assertf(len(list(memory.JobQuery{State: memory.JobQueued})) == 5, "queued jobs are those that wait for their turn")
	task, _ := w.claim(c.ID, memory.StageUpkeep, 1)
	w.assertf(len(task) == 0, "claimed before its time: %+v", task)
	w.clock.Advance(time.Hour)
	w.assertf(len(list(memory.JobQuery{State: memory.JobScheduled})) == 0 && len(list(memory.JobQuery{State: memory.JobQueued})) == 7, "it is due, and a lease has ended")
	task, token := w.claim(c.ID, memory.StageUpkeep, 1)
	w.noError(w.ReleaseJob(w.ctx, w.all, task[0].ID, token, memory.JobEnd{State: memory.JobQueued, Attempts: 1, Error: "x", NotBefore: later.Add(time.Hour)}))
	w.assertf(len(list(memory.JobQuery{State: memory.JobQueued})) == 7, "a job that waits for its next try is queued")
	claimed, lease := w.claim(c.ID, memory.StagePrepare, 1)
	w.noError(w.ReleaseJob(w.ctx, w.all, claimed[0].ID, lease, memory.JobEnd{State: memory.JobDone}))
	w.assertf(ahead(jobs[3].ID) == 2, "ended jobs are not ahead")
	w.wantFault(errOf(w.ListJobs(w.ctx, w.bobS, memory.JobQuery{Collection: alices.ID})), fault.NotFound)
}

// jobTrace: a job keeps the trace that it was enqueued with until its end.
func jobTrace(_ *testing.T, w *world) {
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	c := w.collection("c")
	j := w.job(c.ID, memory.Job{Kind: memory.JobNote, Stage: memory.StagePrepare, Trace: parent})
	w.assertf(j.Trace == parent, "enqueued: %+v", j)
	claimed, lease := w.claim(c.ID, memory.StagePrepare, 1)
	w.assertf(len(claimed) == 1 && claimed[0].Trace == parent, "claimed: %+v", claimed)
	w.noError(w.ReleaseJob(w.ctx, w.all, j.ID, lease, memory.JobEnd{State: memory.JobQueued, Stage: memory.StageDecide}))
	claimed, lease = w.claim(c.ID, memory.StageDecide, 1)
	w.assertf(len(claimed) == 1 && claimed[0].Trace == parent, "claimed for its next stage: %+v", claimed)
	w.noError(w.ReleaseJob(w.ctx, w.all, j.ID, lease, memory.JobEnd{State: memory.JobDead, Error: "x"}))
	again := must(w.RetryJob(w.ctx, w.all, j.ID, memory.AuditEntry{}))(w.t)
	list := must(w.ListJobs(w.ctx, w.all, memory.JobQuery{}))(w.t)
	w.assertf(again.Trace == parent && len(list) == 1 && list[0].Trace == parent, "retried: %+v, %+v", again, list)
	w.assertf(w.job(c.ID, memory.Job{Kind: memory.JobNote, Stage: memory.StagePrepare}).Trace == "", "a job without a trace")
}

// jobTime: a job has the time of the change that enqueued it, to the last digit and also as it is read: by that a fork tells which
// changes of its base a job is of.
func jobTime(_ *testing.T, w *world) {
	c := w.collection("c")
	for range 3 {
		w.clock.Advance(time.Second + 123457*time.Nanosecond)
		var j memory.Job
		var n memory.Note
		w.write(c.ID, func(tx memory.Tx) (err error) {
			if n, err = tx.Put(w.ctx, memory.Note{Content: "said"}); err == nil {
				j, err = tx.Enqueue(w.ctx, memory.Job{Note: n.ID, Kind: memory.JobNote, Stage: memory.StagePrepare})
			}
			return err
		})
		past := must(w.History(w.ctx, w.all, w.view(c.ID), n.ID, 0, 0))(w.t)
		read := must(w.Job(w.ctx, w.all, j.ID))(w.t)
		w.assertf(len(past) == 1 && past[0].Changeset.At.Equal(read.CreatedAt), "the change is of %s, its job of %s", past[0].Changeset.At, read.CreatedAt)
	}
}

// holdJob: a transaction writes only under a lease that its job still has, several times in a row too; not after the
// job was claimed again, given back or canceled.
func holdJob(_ *testing.T, w *world) {
	c := w.collection("c")
	n := w.add(c.ID, "event")
	j := w.job(c.ID, memory.Job{Note: n.ID, Kind: memory.JobStep, Stage: memory.StageDecide})
	put := func(lease uuid.UUID) error {
		return errOf(w.Write(w.ctx, w.all, c.ID, memory.WriteOptions{Job: j.ID, Cause: memory.CauseAdd}, func(ctx context.Context, tx memory.Tx) error {
			if err := tx.HoldJob(ctx, j.ID, lease); err != nil {
				return err
			}
			_, err := tx.Put(ctx, memory.Note{Kind: memory.KindMessage, Content: "turn"})
			return err
		}))
	}
	w.wantFault(put(uuid.New()), fault.Conflict)
	w.wantFault(put(uuid.Nil), fault.Conflict)
	_, lease := w.claim(c.ID, memory.StageDecide, 1)
	w.noError(put(lease))
	w.noError(put(lease))
	w.noError(w.ReleaseJob(w.ctx, w.all, j.ID, lease, memory.JobEnd{State: memory.JobQueued, Stage: memory.StageDecide}))
	w.wantFault(put(lease), fault.Conflict)
	claimed, again := w.claim(c.ID, memory.StageDecide, 1)
	w.assertf(len(claimed) == 1 && claimed[0].ID == j.ID && claimed[0].Note == n.ID && claimed[0].Kind == memory.JobStep, "claimed %+v", claimed)
	w.wantFault(put(lease), fault.Conflict)
	w.noError(put(again))
	must(w.CancelJob(w.ctx, w.all, j.ID, memory.AuditEntry{Action: "job.cancel"}))(w.t)
	w.wantFault(put(again), fault.Conflict)
	w.assertf(w.head(c.ID) == 4, "only what was held is written: %d", w.head(c.ID))
	w.wantFault(errOf(w.Write(w.ctx, w.all, c.ID, memory.WriteOptions{}, func(ctx context.Context, tx memory.Tx) error {
		return tx.HoldJob(ctx, uuid.New(), lease)
	})), fault.NotFound)
}
