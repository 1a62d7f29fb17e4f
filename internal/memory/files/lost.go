package files

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

const lostReason = "its job was canceled, or the file was copied before it was read: send it again"

// MarkLost makes those of the files of a view failed that wait for a job which their collection does not have: it was canceled, or is
// of the collection that they were copied from.
func (f *Service) MarkLost(ctx context.Context, s tenant.Scope, v memory.View, list ...*File) error {
	waiting := map[uuid.UUID]*File{}
	var ids []uuid.UUID
	for _, file := range list {
		if file.waits() {
			waiting[file.ID], ids = file, append(ids, file.ID)
		}
	}
	lost, err := f.withoutJob(ctx, s, v.Collection.ID, ids)
	if err != nil || len(lost) == 0 {
		return err
	}

	// The job of one may have ended since the view was opened.
	now, err := f.store.OpenView(ctx, s, v.Collection.ID.String(), memory.At{})
	if err != nil {
		return err
	}
	found, err := f.store.Notes(ctx, s, now, lost, memory.ReadOptions{})
	if err != nil {
		return err
	}
	for i := range found {
		if last := Of(&found[i]); last.waits() {
			file := waiting[last.ID]
			file.State, file.Error = Failed, lostReason
		}
	}
	return nil
}

// withoutJob returns those of some files that no job of a collection will read.
func (f *Service) withoutJob(ctx context.Context, s tenant.Scope, collection uuid.UUID, ids []uuid.UUID) ([]uuid.UUID, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	jobs, err := f.jobs(ctx, s, collection, ids...)
	return slices.DeleteFunc(ids, func(id uuid.UUID) bool {
		return slices.ContainsFunc(jobs, func(j memory.Job) bool { return j.Note == id })
	}), err
}

// jobs returns the jobs of a collection that will read some files.
func (f *Service) jobs(ctx context.Context, s tenant.Scope, collection uuid.UUID, ids ...uuid.UUID) ([]memory.Job, error) {
	jobs, err := f.store.ListJobs(ctx, s, memory.JobQuery{Collection: collection, Notes: ids, Unended: true})
	return slices.DeleteFunc(jobs, func(j memory.Job) bool { return j.Kind != memory.JobFile }), err
}

func (f *File) waits() bool { return f.State == Queued || f.State == Running }
