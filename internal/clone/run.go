package clone

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// copyPayload is the payload of a copy job. The collection of the job is the target.
type copyPayload struct {
	Source    uuid.UUID       `json:"source"`
	Revision  memory.Revision `json:"revision"`
	BatchSize int             `json:"batch_size"`
	Blocks    bool            `json:"blocks,omitempty"` // copy the attached ones, too
}

func (c *Service) copyJob(s tenant.Scope, v memory.View, batch int, blocks bool) (*memory.Job, error) {
	payload, err := json.Marshal(copyPayload{Source: v.Collection.ID, Revision: v.At, BatchSize: batch, Blocks: blocks})
	if err != nil {
		return nil, fault.Wrap(err, fault.Internal, "the payload of the job cannot be encoded")
	}
	return &memory.Job{
		Tenant: s.Tenant(), Kind: memory.JobCopy, Stage: memory.StageTask, State: memory.JobQueued, Payload: payload,
	}, nil
}

// RunCopy runs a copy job in steps of one transaction each. Repeating a step is a
// no-op, so an interrupted job starts again from the beginning. When the source no
// longer exists, RunCopy deletes the incomplete target.
func (c *Service) RunCopy(ctx context.Context, s tenant.Scope, job memory.Job, progress memory.ReportProgress) error {
	var p copyPayload
	if err := json.Unmarshal(job.Payload, &p); err != nil || p.Source == uuid.Nil || p.BatchSize < 1 {
		return fault.New(fault.Invalid, "the payload of the copy job cannot be read; a newer version may have made it")
	}
	v, err := c.store.OpenView(ctx, s, p.Source.String(), memory.At{AsOf: &p.Revision})
	if err != nil {
		return c.abandon(ctx, s, job.Collection, err)
	}
	counts, err := c.store.Counts(ctx, s, v)
	if err != nil {
		return err
	}
	done := memory.Progress{Total: counts.Notes}
	for cursor := ""; ; {
		n, next, err := c.store.CopyRows(ctx, s, v, job.Collection, cursor, p.BatchSize)
		if err != nil {
			return c.abandon(ctx, s, job.Collection, err)
		}
		done.Done += int64(n)
		done.Total = max(done.Total, done.Done)
		if err := progress(ctx, done); err != nil {
			return err
		}
		if next == "" {
			break
		}
		cursor = next
	}
	if !p.Blocks {
		return nil
	}
	return c.copyBlocks(ctx, s, v, job)
}

// abandon deletes the target of a copy when cause means that the source no longer
// exists. For other errors the target remains for the next attempt. It returns cause.
func (c *Service) abandon(ctx context.Context, s tenant.Scope, target uuid.UUID, cause error) error {
	if !fault.Is(cause, fault.NotFound) && !fault.Is(cause, fault.RevisionGone) {
		return cause
	}
	entry := memory.AuditEntry{Action: "collection.delete", Target: target.String(), Detail: map[string]any{"reason": "source gone"}}
	_, err := c.store.DeleteCollection(ctx, s, target, true, entry)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return errors.Join(cause, err)
	}
	c.forget(s.Tenant(), target)
	return cause
}

// RunRemove runs a remove job: it removes the rows of a deleted collection in batches.
func (c *Service) RunRemove(ctx context.Context, s tenant.Scope, job memory.Job, progress memory.ReportProgress) error {
	c.forget(s.Tenant(), job.Collection)
	for step := int64(1); ; step++ {
		gone, err := c.store.RemoveRows(ctx, s, job.Collection, c.cfg.RemoveBatch)
		if fault.Is(err, fault.NotFound) {
			return nil // an earlier attempt completed the removal
		}
		if err != nil || gone {
			return err
		}
		if err := progress(ctx, memory.Progress{Done: step * int64(c.cfg.RemoveBatch)}); err != nil {
			return err
		}
	}
}

// RunFlatten runs a flatten job. Each layer that it copies is a transaction of its own, and an interrupted job finds it done.
func (c *Service) RunFlatten(ctx context.Context, s tenant.Scope, job memory.Job) error {
	err := c.store.FlattenLineage(ctx, s, job.Collection)
	if fault.Is(err, fault.NotFound) {
		return nil // it was deleted
	}
	return err
}

// Expire deletes an expired collection, or an ephemeral one at the end of the process.
// Forks of it are made independent first. A collection that no longer exists is not an
// error. now is the time of the sweep, for the audit row.
func (c *Service) Expire(ctx context.Context, s tenant.Scope, due memory.Due, now time.Time) error {
	entry := memory.AuditEntry{
		Action: "collection.expire", Target: due.Collection.String(), Detail: map[string]any{"sweep": now.UTC().Format(time.RFC3339)},
	}
	_, err := c.store.DeleteCollection(ctx, s, due.Collection, true, entry)
	if fault.Is(err, fault.NotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	c.forget(s.Tenant(), due.Collection)
	return nil
}
