package clone

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/block"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// attached returns the blocks that are attached to the source now, without those whose label a block has that
// the view shows: a clone of the past shows that one.
func (c *Service) attached(ctx context.Context, s tenant.Scope, v memory.View) ([]memory.AttachedBlock, error) {
	all, err := memory.AttachedBlocks(ctx, c.store, s, v.Collection.ID, memory.ReadOptions{Vector: true})
	if err != nil {
		return nil, err
	}
	var out []memory.AttachedBlock
	for i := range all {
		_, err := c.store.NoteByKey(ctx, s, v, memory.KindBlock, all[i].Label)
		if fault.Is(err, fault.NotFound) {
			out = append(out, all[i])
		} else if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// copied returns blocks of a clone's own that say what attached ones do, with their vectors when the embedder
// is the same.
func (c *Service) copied(ctx context.Context, s tenant.Scope, attached []memory.AttachedBlock, embedder string) ([]memory.Note, error) {
	var out []memory.Note
	var bytes int64
	for i := range attached {
		n := block.Copy(&attached[i])
		var err error
		if n.ID, err = uuid.NewV7(); err != nil {
			return nil, fault.Wrap(err, fault.Internal, "an id could not be generated")
		}
		n.Provenance.Actor = s.Actor()
		if from := &attached[i].Note; from.Embedder == embedder {
			n.EmbedAs(from)
		}
		bytes += n.Size()
		out = append(out, n)
	}
	if c.quota == nil || len(out) == 0 {
		return out, nil
	}
	return out, c.quota.CheckNotes(ctx, s, int64(len(out)), bytes)
}

// copyBlocks adds copies of the blocks that are attached to the source to a copy, which is complete otherwise. A
// label that is taken there by now is left alone, so that a second run adds nothing.
func (c *Service) copyBlocks(ctx context.Context, s tenant.Scope, v memory.View, job memory.Job) error {
	attached, err := c.attached(ctx, s, v)
	if err != nil {
		return err
	}
	notes, err := c.copied(ctx, s, attached, v.Collection.Embedder)
	if err != nil {
		return err
	}
	o := memory.WriteOptions{Cause: memory.CauseAdd, Job: job.ID, System: true}
	_, err = c.store.Write(ctx, s, job.Collection, o, func(ctx context.Context, tx memory.Tx) error {
		for _, n := range notes {
			n.OccurredAt = tx.Now()
			_, err := tx.NoteByKey(ctx, memory.KindBlock, n.Key)
			if err == nil {
				continue
			}
			if !fault.Is(err, fault.NotFound) {
				return err
			}
			stored, err := tx.Put(ctx, n)
			if err != nil {
				return err
			}
			if stored.Vector != nil {
				continue
			}
			if _, err := tx.Enqueue(ctx, memory.Job{
				Collection: job.Collection, Note: stored.ID, Kind: memory.JobNote, Stage: memory.StagePrepare, Payload: memory.EmbedOnly(),
			}); err != nil {
				return err
			}
		}
		return nil
	})
	return err
}

// others returns the folders and tools that are attached to the source: a clone reads the same files and calls the
// same services.
func (c *Service) others(ctx context.Context, s tenant.Scope, source uuid.UUID) ([]memory.Attachment, error) {
	list, err := c.store.Attachments(ctx, s, memory.AttachmentQuery{Collection: source})
	return slices.DeleteFunc(list, func(a memory.Attachment) bool { return a.IsBlock() }), err
}
