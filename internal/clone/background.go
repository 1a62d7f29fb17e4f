package clone

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/merge"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// mergeJob is the payload of a merge job. The collection of the job is the one that is written.
type mergeJob struct {
	From     uuid.UUID       `json:"from"`
	At       memory.Revision `json:"at"`
	Strategy merge.Strategy  `json:"strategy"`
	Notes    []uuid.UUID     `json:"notes,omitempty"`
	Select   Select          `json:"select,omitzero"`
}

// rollbackJob is the payload of a rollback job.
type rollbackJob struct {
	To memory.Revision `json:"to"`
}

// mergeResult is the result of a merge job, as the answer of a merge has it.
type mergeResult struct {
	Revision memory.Revision `json:"revision"`
	Merged   struct {
		Notes int `json:"notes"`
		Links int `json:"links"`
	} `json:"merged"`
	Conflicts []merge.Conflict `json:"conflicts"`
}

// rollbackResult is the result of a rollback job, as the answer of a rollback has it.
type rollbackResult struct {
	Revision memory.Revision `json:"revision"`
	Changed  int             `json:"changed"`
}

// background enqueues the job of a merge or a rollback, for a scope that may write the collection.
func (c *Service) background(ctx context.Context, s tenant.Scope, v *memory.View, kind memory.JobKind, payload any) (*memory.Job, error) {
	if v.Collection.Shared() {
		if err := tenant.Check(s, tenant.BaseWrite); err != nil {
			return nil, err
		}
	}
	raw, err := json.Marshal(payload)
	if err != nil {
		return nil, fault.Wrap(err, fault.Internal, "the payload of the job cannot be encoded")
	}
	o := memory.WriteOptions{Audit: []memory.AuditEntry{{
		Action: "collection." + string(kind), Target: v.Collection.ID.String(), Detail: map[string]any{"job": true},
	}}}
	var job memory.Job
	_, err = c.store.Write(ctx, s, v.Collection.ID, o, func(ctx context.Context, tx memory.Tx) (err error) {
		job, err = tx.Enqueue(ctx, memory.Job{Kind: kind, Stage: memory.StageTask, Payload: raw, Progress: &memory.Progress{}})
		return err
	})
	return &job, err
}

// RunMerge runs a merge job, and returns how it ends. What was merged before a process died is not merged again.
func (c *Service) RunMerge(ctx context.Context, s tenant.Scope, job memory.Job, progress memory.ReportProgress) (memory.JobEnd, error) {
	var p mergeJob
	if err := json.Unmarshal(job.Payload, &p); err != nil {
		return memory.JobEnd{}, unreadable(err)
	}
	in := MergeInput{From: p.From.String(), At: &p.At, Strategy: p.Strategy, Notes: p.Notes, Select: p.Select, job: job.ID, progress: progress}
	m, err := c.Merge(ctx, s, job.Collection.String(), in)
	r := mergeResult{Revision: m.Revision, Conflicts: append([]merge.Conflict{}, m.Conflicts...)}
	r.Merged.Notes, r.Merged.Links = m.Notes, m.Links
	return ended(r, err)
}

// RunRollback runs a rollback job, and returns how it ends.
func (c *Service) RunRollback(ctx context.Context, s tenant.Scope, job memory.Job, progress memory.ReportProgress) (memory.JobEnd, error) {
	var p rollbackJob
	if err := json.Unmarshal(job.Payload, &p); err != nil {
		return memory.JobEnd{}, unreadable(err)
	}
	r, err := c.Rollback(ctx, s, job.Collection.String(), RollbackInput{To: p.To, job: job.ID, progress: progress})
	return ended(rollbackResult{r.Revision, r.Changed}, err)
}

// landed returns the changeset that a job has written before its process died.
func (c *Service) landed(ctx context.Context, s tenant.Scope, v memory.View, job uuid.UUID) (at memory.Revision, ok bool, err error) {
	if job == uuid.Nil {
		return 0, false, nil
	}
	all, err := c.store.Merges(ctx, s, v)
	for i := range all {
		if all[i].Job == job {
			return all[i].Revision, true, err
		}
	}
	return 0, false, err
}

func unreadable(err error) error {
	return fault.Wrap(err, fault.Invalid, "the payload of the job cannot be read; a newer version may have made it")
}

// ended returns the end of a job. What a retry cannot change fails immediately, with its conflicts.
func ended(result any, cause error) (memory.JobEnd, error) {
	end := memory.JobEnd{State: memory.JobDone, Stage: memory.StageTask}
	f, is := errors.AsType[*fault.Error](cause)
	switch {
	case cause == nil:
	case is && !errors.Is(cause, memory.ErrMoved) &&
		(f.Code == fault.NotFound || f.Code == fault.Invalid || f.Code == fault.Conflict || f.Code == fault.RevisionGone || f.Code == fault.QuotaExceeded):
		end.State, end.Error = memory.JobFailed, f.Message
	default:
		return end, cause
	}
	var err error
	end.Result, err = json.Marshal(result)
	return end, err
}
