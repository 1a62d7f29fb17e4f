package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// RunRefresh runs a refresh job: a model takes up what was answered without one. The first try enqueues the jobs that
// decide again, in the transaction that lets the refresh job wait for them; later tries report how many have ended.
func (e *Engine) RunRefresh(ctx context.Context, s tenant.Scope, job memory.Job, progress memory.ReportProgress) error {
	v, err := e.open(ctx, s, job.Collection)
	if err != nil {
		return err
	}
	if len(job.Payload) == 0 {
		r := &refresh{e: e, s: s, v: v, job: &job, events: map[uuid.UUID]bool{}}
		return r.start(ctx)
	}
	var p memory.RefreshJob
	if err := json.Unmarshal(job.Payload, &p); err != nil {
		return fault.Wrap(err, fault.Invalid, "the payload of the refresh job cannot be read; a newer version may have made it")
	}
	left, err := e.unendedUpTo(ctx, s, &job, p.Last)
	if err != nil {
		return err
	}
	if err := progress(ctx, memory.Progress{Done: p.Total - min(left, p.Total), Total: p.Total}); err != nil {
		return err
	}
	end := memory.JobEnd{State: memory.JobDone, Stage: memory.StageTask, Result: json.RawMessage(fmt.Sprintf(`{"jobs":%d}`, p.Total))}
	if left > 0 {
		end = memory.JobEnd{State: memory.JobQueued, Stage: memory.StageTask, NotBefore: e.now().Add(adoptPause(e.now().Sub(job.CreatedAt)))}
	}
	return e.store.ReleaseJob(ctx, s, job.ID, job.Lease, end)
}

// unendedUpTo counts the jobs that came after a job, up to the last one, and have not ended. Ids ascend with time.
func (e *Engine) unendedUpTo(ctx context.Context, s tenant.Scope, job *memory.Job, last uuid.UUID) (n int64, err error) {
	for _, state := range []memory.JobState{memory.JobQueued, memory.JobRunning} {
		for j, err := range memory.EachJob(ctx, e.store, s, memory.JobQuery{Collection: job.Collection, State: state, Limit: upkeepPage}) {
			if err != nil {
				return 0, err
			}
			if memory.CompareIDs(j.ID, job.ID) <= 0 {
				break
			}
			if memory.CompareIDs(j.ID, last) <= 0 && j.Shown(e.now()) != memory.JobScheduled {
				n++
			}
		}
	}
	return n, nil
}

// refresh collects what a refresh job enqueues.
type refresh struct {
	e   *Engine
	s   tenant.Scope
	v   memory.View
	job *memory.Job

	events map[uuid.UUID]bool // notes whose event is decided again already
	jobs   []memory.Job
	stale  []memory.Note // summaries, profiles and sessions to be written again
	follow []memory.Follow
}

func (r *refresh) start(ctx context.Context) error {
	pol, err := r.e.policyOf(&r.v.Collection)
	if err != nil {
		return err
	}
	again, _ := pol.(memory.Reanalyzer)
	summaries, _ := pol.(memory.Refresher)
	for n, err := range memory.EachNote(ctx, r.e.store, r.s, r.v, memory.NoteQuery{}) {
		if err != nil {
			return err
		}
		_, queue := memory.SumsUp(n) // it has no analyst where the model could not be reached
		switch {
		case n.Analyst != memory.AnalystHeuristic && (n.Analyst != "" || !queue):
		case again != nil && again.Reanalyzes(n.Kind):
			err = r.decideAgain(ctx, n)
		case summaries != nil && slices.Contains([]memory.Kind{memory.KindSummary, memory.KindProfile, memory.KindSession}, n.Kind):
			err = r.writeAgain(ctx, summaries, n)
		}
		if err != nil {
			return err
		}
	}
	return r.enqueue(ctx)
}

// decideAgain copies the jobs of the events that a note is or comes from.
func (r *refresh) decideAgain(ctx context.Context, n *memory.Note) error {
	from := n.Provenance.Sources
	if len(from) == 0 {
		from = []uuid.UUID{n.ID}
	}
	for _, id := range from {
		if r.events[id] {
			continue
		}
		list, err := r.e.store.ListJobs(ctx, r.s, memory.JobQuery{Notes: []uuid.UUID{id}, Limit: upkeepPage})
		if err != nil {
			return err
		}
		i := slices.IndexFunc(list, func(j memory.Job) bool { return j.Kind == memory.JobNote || j.Kind == memory.JobExchange })
		if i < 0 {
			continue // a message in the middle of an exchange, whose job names the last one
		}
		if j := &list[i]; !j.Ended() || id != n.ID && j.State == memory.JobDone && j.CreatedAt.After(n.CreatedAt) {
			continue // it will be decided by a model, or has been since the fact was written
		}
		r.events[id] = true
		r.jobs = append(r.jobs, memory.Job{
			Kind: list[i].Kind, Stage: memory.StagePrepare, Collection: r.job.Collection, Note: list[i].Note, Payload: list[i].Payload,
		})
	}
	return nil
}

// writeAgain asks the policy for what it does when a source of the note has changed.
func (r *refresh) writeAgain(ctx context.Context, p memory.Refresher, n *memory.Note) error {
	r.stale = append(r.stale, *n)
	sources, err := r.e.store.Notes(ctx, r.s, r.v, n.Provenance.Sources, memory.ReadOptions{})
	if err != nil {
		return err
	}
	for i := range sources {
		r.follow = append(r.follow, p.Refresh(&sources[i], &sources[i], []memory.Note{*n})...)
	}
	return nil
}

// enqueue marks what is stale, enqueues the work, and lets the refresh job wait for it.
func (r *refresh) enqueue(ctx context.Context) error {
	o := memory.WriteOptions{Cause: memory.CauseRefresh, Job: r.job.ID, System: true}
	_, err := r.e.store.Write(ctx, r.s, r.job.Collection, o, func(ctx context.Context, tx memory.Tx) error {
		if err := r.markStale(ctx, tx); err != nil {
			return err
		}
		p := memory.RefreshJob{Last: r.job.ID, Total: int64(len(r.jobs))}
		for _, j := range r.jobs {
			made, err := tx.Enqueue(ctx, j)
			if err != nil {
				return err
			}
			p.Last = made.ID
		}
		if err := memory.EnqueueFollows(ctx, tx, r.job.Collection, r.follow); err != nil {
			return err
		}
		tasks, err := tx.Unended(ctx, memory.JobPolicy)
		if err != nil {
			return err
		}
		flushes, err := tx.Unended(ctx, memory.JobFlush)
		if err != nil {
			return err
		}
		tasks = append(tasks, flushes...)
		for i := range tasks {
			if memory.CompareIDs(tasks[i].ID, r.job.ID) > 0 && tasks[i].Shown(r.e.now()) != memory.JobScheduled {
				p.Total++
			}
			p.Last = slices.MaxFunc([]uuid.UUID{p.Last, tasks[i].ID}, memory.CompareIDs)
		}
		end := memory.JobEnd{State: memory.JobQueued, Stage: memory.StageTask}
		if end.Payload, err = json.Marshal(p); err != nil {
			return fault.Wrap(err, fault.Internal, "encode the payload of the refresh job")
		}
		return tx.EndJob(ctx, r.job.ID, r.job.Lease, end)
	})
	return err
}

// markStale marks the notes that are written again, unless they are marked.
func (r *refresh) markStale(ctx context.Context, tx memory.Tx) error {
	now, err := tx.Notes(ctx, memory.IDs(r.stale), memory.ReadOptions{Vector: true})
	if err != nil {
		return err
	}
	for i := range now {
		if now[i].Provenance.Stale {
			continue
		}
		now[i].Provenance.Stale = true
		if _, err := tx.Put(ctx, now[i]); err != nil {
			return err
		}
	}
	return nil
}
