package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// RunAdopt runs an adopt job: it enqueues a note job for each inherited note of a
// fork or a copy that is raw or pending, and an exchange job for each exchange
// of such messages, all in the transaction that ends the adopt job. It skips
// notes that never had a job (stored as given) and notes that have a job here.
func (e *Engine) RunAdopt(ctx context.Context, s tenant.Scope, job memory.Job) error {
	v, err := e.open(ctx, s, job.Collection)
	if err != nil {
		return err
	}
	a := adoption{e: e, s: s, job: &job, covered: map[uuid.UUID]bool{}}
	var after uuid.UUID
	for {
		list, err := e.store.ListNotes(ctx, s, v, memory.NoteQuery{
			States: []memory.State{memory.StateRaw, memory.StatePending}, After: after, Limit: upkeepPage,
		})
		if err != nil {
			return err
		}
		for i := range list {
			after = list[i].ID
			if err := a.note(ctx, &list[i]); err != nil {
				return err
			}
		}
		if len(list) < upkeepPage {
			break
		}
	}
	if err := a.adoptByMessages(ctx, v); err != nil {
		return err
	}
	end := memory.JobEnd{State: memory.JobDone, Stage: memory.StageTask, Attempts: job.Attempts, Result: json.RawMessage(fmt.Sprintf(`{"adopted":%d}`, len(a.jobs)))}
	o := memory.WriteOptions{Cause: memory.CauseMark, Job: job.ID, System: true}
	_, err = e.store.Write(ctx, s, job.Collection, o, func(ctx context.Context, tx memory.Tx) error {
		for _, j := range a.jobs {
			if _, err := tx.Enqueue(ctx, j); err != nil {
				return err
			}
		}
		return tx.EndJob(ctx, job.ID, job.Lease, end)
	})
	return err
}

// adoption collects the jobs of a fork.
type adoption struct {
	e          *Engine
	s          tenant.Scope
	job        *memory.Job
	jobs       []memory.Job
	covered    map[uuid.UUID]bool // messages whose exchange has a job in the fork
	withoutJob []uuid.UUID        // messages without a job that names them
}

// note finds the jobs that a note had in other collections. The job of an exchange names its last message.
func (a *adoption) note(ctx context.Context, n *memory.Note) error {
	origin, err := a.e.store.ListJobs(ctx, a.s, memory.JobQuery{Note: n.ID, Limit: upkeepPage})
	if err != nil {
		return err
	}
	here := func(kind memory.JobKind) bool {
		return slices.ContainsFunc(origin, func(j memory.Job) bool { return j.Kind == kind && j.Collection == a.job.Collection })
	}
	newest := func(kind memory.JobKind) int {
		return slices.IndexFunc(origin, func(j memory.Job) bool { return j.Kind == kind })
	}
	i, x := newest(memory.JobNote), newest(memory.JobExchange)
	if i >= 0 && !here(memory.JobNote) {
		a.enqueueCopy(&origin[i])
	}
	switch {
	case x >= 0 && !here(memory.JobExchange):
		a.exchange(&origin[x])
	case x < 0 && i < 0 && n.Kind == memory.KindMessage:
		a.withoutJob = append(a.withoutJob, n.ID)
	}
	return nil
}

func (a *adoption) enqueueCopy(origin *memory.Job) {
	a.jobs = append(a.jobs, memory.Job{
		Kind: origin.Kind, Stage: memory.StagePrepare, Collection: a.job.Collection, Note: origin.Note, Payload: origin.Payload,
	})
}

func (a *adoption) exchange(origin *memory.Job) {
	ids, err := notesOf(origin)
	if err != nil || a.covered[ids[len(ids)-1]] {
		return // its payload cannot be read, or the exchange is covered
	}
	for _, id := range ids {
		a.covered[id] = true
	}
	a.enqueueCopy(origin)
}

// adoptByMessages finds the exchanges whose last message is deleted or already
// evolved, among the unsuccessful jobs of the collections in the view's lineage.
func (a *adoption) adoptByMessages(ctx context.Context, v memory.View) error {
	a.withoutJob = slices.DeleteFunc(a.withoutJob, func(id uuid.UUID) bool { return a.covered[id] })
	if len(a.withoutJob) == 0 {
		return nil
	}
	for _, l := range v.Layers {
		for _, state := range []memory.JobState{memory.JobQueued, memory.JobRunning, memory.JobDead, memory.JobFailed} {
			if err := a.adoptJobsOf(ctx, l.Collection, state); err != nil {
				return err
			}
		}
	}
	return nil
}

func (a *adoption) adoptJobsOf(ctx context.Context, collection uuid.UUID, state memory.JobState) error {
	var before uuid.UUID
	for {
		list, err := a.e.store.ListJobs(ctx, a.s, memory.JobQuery{Collection: collection, State: state, Before: before, Limit: upkeepPage})
		if err != nil {
			return err
		}
		for i := range list {
			j := &list[i]
			before = j.ID
			if j.Kind != memory.JobExchange {
				continue
			}
			ids, err := notesOf(j)
			if err != nil || !slices.ContainsFunc(ids, func(id uuid.UUID) bool { return !a.covered[id] && slices.Contains(a.withoutJob, id) }) {
				continue
			}
			if collection != a.job.Collection {
				a.enqueueCopy(j)
			}
			for _, id := range ids {
				a.covered[id] = true
			}
		}
		if len(list) < upkeepPage {
			return nil
		}
	}
}
