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

// RunAdopt does an adopt job: each note of a fork or a copy that came raw or
// pending gets a note job of its own there, and each exchange that one of its messages belongs to an
// exchange job, all in the transaction that ends the
// adopt job. A note that never had a job (stored as given) is left as it is, and so is one that has a job here.
func (e *Engine) RunAdopt(ctx context.Context, s tenant.Scope, job memory.Job) error {
	v, err := e.open(ctx, s, job.Collection)
	if err != nil {
		return err
	}
	a := adoption{e: e, s: s, job: &job, done: map[uuid.UUID]bool{}}
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
	if err := a.orphans(ctx, v); err != nil {
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

// adoption gathers the jobs of a fork.
type adoption struct {
	e    *Engine
	s    tenant.Scope
	job  *memory.Job
	jobs []memory.Job
	done map[uuid.UUID]bool // messages whose exchange has a job in the fork
	left []uuid.UUID        // messages without a job that names them
}

// note finds the jobs that a note had elsewhere. That of an exchange names its last message.
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
		a.adopt(&origin[i])
	}
	switch {
	case x >= 0 && !here(memory.JobExchange):
		a.exchange(&origin[x])
	case x < 0 && i < 0 && n.Kind == memory.KindMessage:
		a.left = append(a.left, n.ID)
	}
	return nil
}

func (a *adoption) adopt(origin *memory.Job) {
	a.jobs = append(a.jobs, memory.Job{
		Kind: origin.Kind, Stage: memory.StagePrepare, Collection: a.job.Collection, Note: origin.Note, Payload: origin.Payload,
	})
}

func (a *adoption) exchange(origin *memory.Job) {
	ids, err := notesOf(origin)
	if err != nil || a.done[ids[len(ids)-1]] {
		return // nothing could be done with it
	}
	for _, id := range ids {
		a.done[id] = true
	}
	a.adopt(origin)
}

// orphans finds the exchanges of messages whose last one is gone or was done
// with by itself, among the jobs that have not succeeded in the collections
// that the view reads.
func (a *adoption) orphans(ctx context.Context, v memory.View) error {
	a.left = slices.DeleteFunc(a.left, func(id uuid.UUID) bool { return a.done[id] })
	if len(a.left) == 0 {
		return nil
	}
	for _, l := range v.Layers {
		for _, state := range []memory.JobState{memory.JobQueued, memory.JobRunning, memory.JobDead, memory.JobFailed} {
			if err := a.orphansOf(ctx, l.Collection, state); err != nil {
				return err
			}
		}
	}
	return nil
}

func (a *adoption) orphansOf(ctx context.Context, collection uuid.UUID, state memory.JobState) error {
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
			if err != nil || !slices.ContainsFunc(ids, func(id uuid.UUID) bool { return !a.done[id] && slices.Contains(a.left, id) }) {
				continue
			}
			if collection != a.job.Collection {
				a.adopt(j)
			}
			for _, id := range ids {
				a.done[id] = true
			}
		}
		if len(list) < upkeepPage {
			return nil
		}
	}
}
