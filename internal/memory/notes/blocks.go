package notes

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"github.com/slipboxhq/slipbox/internal/fault"
	"github.com/slipboxhq/slipbox/internal/memory"
	"github.com/slipboxhq/slipbox/internal/memory/block"
	"github.com/slipboxhq/slipbox/internal/tenant"
)

// Blocks implements the use-cases over the blocks of a collection. A block is found by its label; the
// guard of a request is on its entity tag, which is that of its note.
type Blocks struct{ notes *Service }

// NewBlocks returns the use-cases over the notes of a service.
func NewBlocks(n *Service) *Blocks { return &Blocks{notes: n} }

// BlockWritten is a block after a write.
type BlockWritten struct {
	Block    block.Block
	Note     memory.Note
	Revision memory.Revision // of the write, or the head when nothing changed
	Created  bool
}

// List returns the blocks of a view in the order of prompts, which is that of their ids: at most limit
// (0: all), after an id (notes:read).
func (b *Blocks) List(ctx context.Context, s tenant.Scope, v memory.View, after uuid.UUID, limit int) ([]memory.Note, error) {
	if err := tenant.Check(s, tenant.NotesRead); err != nil {
		return nil, err
	}
	q := memory.NoteQuery{Kinds: []memory.Kind{memory.KindBlock}, After: after, Limit: limit}
	if limit == 0 {
		q.Limit = block.MaxBlocks
	}
	return b.notes.store.ListNotes(ctx, s, v, q)
}

// Get returns the note of a block (notes:read). NotFound when no block has the label.
func (b *Blocks) Get(ctx context.Context, s tenant.Scope, v memory.View, label string) (memory.Note, error) {
	if err := tenant.Check(s, tenant.NotesRead); err != nil {
		return memory.Note{}, err
	}
	return b.find(ctx, s, v, label)
}

// find returns NotFound for a label that no block has or can have.
func (b *Blocks) find(ctx context.Context, s tenant.Scope, v memory.View, label string) (memory.Note, error) {
	if block.CheckLabel(label) != nil {
		return memory.Note{}, fault.Missing("block")
	}
	n, err := b.notes.store.NoteByKey(ctx, s, v, memory.KindBlock, label)
	if fault.Is(err, fault.NotFound) {
		err = fault.Missing("block")
	}
	return n, err
}

// Put creates a block, or changes the given fields of the one with that label.
func (b *Blocks) Put(ctx context.Context, s tenant.Scope, ref, label string, c block.Change, r memory.Request) (BlockWritten, error) {
	if err := block.CheckLabel(label); err != nil {
		return BlockWritten{}, err
	}
	for {
		out, err := b.Edit(ctx, s, ref, label, r, func(old *block.Block) error { return old.Put(c) })
		if !fault.Is(err, fault.NotFound) {
			return out, err
		}
		out, err = b.create(ctx, s, ref, label, c, r)
		if !fault.Is(err, fault.Exists) || ctx.Err() != nil { // else another request has created it meanwhile
			return out, err
		}
	}
}

// create creates a block. Exists when there is one with the label.
func (b *Blocks) create(ctx context.Context, s tenant.Scope, ref, label string, c block.Change, r memory.Request) (BlockWritten, error) {
	n := b.notes
	coll, err := n.resolveWritable(ctx, s, ref)
	if err != nil {
		return BlockWritten{}, err
	}
	if r.Guard != nil {
		return BlockWritten{}, fault.New(fault.Precondition, "there is no block %q, so it has no entity tag", label)
	}
	v, err := n.store.OpenView(ctx, s, coll.ID.String(), memory.At{})
	if err != nil {
		return BlockWritten{}, err
	}
	counts, err := n.store.Counts(ctx, s, v)
	if err != nil {
		return BlockWritten{}, err
	}
	if counts.Kinds[memory.KindBlock] >= block.MaxBlocks {
		return BlockWritten{}, fault.InvalidField("label", "the collection has %d blocks, and no room for another; delete one first", block.MaxBlocks)
	}
	fresh := block.New(label)
	if c.ReadOnly == nil {
		c.ReadOnly = new(false)
	}
	if err := fresh.Put(c); err != nil {
		return BlockWritten{}, err
	}
	note, _ := fresh.Note(nil)
	note.Provenance.Actor = s.Actor()
	if note.ID, err = uuid.NewV7(); err != nil {
		return BlockWritten{}, fault.Wrap(err, fault.Internal, "an id could not be generated")
	}
	if err := n.checkQuota(ctx, s, 1, note.Size()); err != nil {
		return BlockWritten{}, err
	}
	w, _, err := n.edit(ctx, s, &coll, noteEdit{
		cause: memory.CauseAdd, action: "block.create", id: note.ID,
		change: func(_ context.Context, tx memory.Tx, _ *memory.Note) (memory.Note, bool, error) {
			put := note
			put.OccurredAt = tx.Now()
			return put, false, nil
		},
	})
	return written(&w, true), err
}

func written(w *NoteWritten, created bool) BlockWritten {
	return BlockWritten{Block: block.Of(&w.Note), Note: w.Note, Revision: w.Revision, Created: created}
}

// errBlockMoved is returned when the block that a label named was deleted or replaced meanwhile.
var errBlockMoved = fault.New(fault.Conflict, "the block has changed meanwhile; send the request again")

// Edit changes a block by a function, which may run more than once. An edit without an effect writes
// nothing. NotFound when no block has the label.
func (b *Blocks) Edit(ctx context.Context, s tenant.Scope, ref, label string, r memory.Request, change func(*block.Block) error) (BlockWritten, error) {
	return b.rewrite(ctx, s, ref, label, r, blockRewrite{memory.CausePatch, "block.update", func(_ context.Context, _ *memory.Collection, _ memory.Note) (func(memory.Note) (memory.Note, error), error) {
		return func(old memory.Note) (memory.Note, error) {
			next := block.Of(&old)
			if err := change(&next); err != nil {
				return old, err
			}
			note, _ := next.Note(&old)
			return note, nil
		}, nil
	}})
}

// Step undoes the last edit of a block, or redoes the last one that was undone. Conflict when there is
// none, or its version is not kept.
func (b *Blocks) Step(ctx context.Context, s tenant.Scope, ref, label string, step block.Step, r memory.Request) (BlockWritten, error) {
	return b.rewrite(ctx, s, ref, label, r, blockRewrite{memory.CauseRestore, "block." + step.String(), func(ctx context.Context, c *memory.Collection, now memory.Note) (func(memory.Note) (memory.Note, error), error) {
		if is := block.Of(&now); is.CheckWritable() != nil {
			return nil, is.CheckWritable()
		}
		to := step.Target(&now)
		if to == 0 {
			return nil, fault.New(fault.Conflict, "there is nothing to %s in the block %q", step, label)
		}
		then, err := b.notes.versionAt(ctx, s, c, now.ID, to)
		if fault.Is(err, fault.Invalid) {
			return nil, fault.New(fault.Conflict, "there is nothing to %s in the block %q: the collection does not keep that version", step, label)
		}
		if err != nil {
			return nil, err
		}
		return func(old memory.Note) (memory.Note, error) {
			if old.From != now.From {
				return old, errBlockMoved
			}
			return step.Restored(&old, &then), nil
		}, nil
	}})
}

// blockRewrite prepares a change of a block outside of the transaction, from the version that is current
// then.
type blockRewrite struct {
	cause   memory.Cause
	action  string
	prepare func(ctx context.Context, c *memory.Collection, now memory.Note) (func(old memory.Note) (memory.Note, error), error)
}

func (b *Blocks) rewrite(ctx context.Context, s tenant.Scope, ref, label string, r memory.Request, e blockRewrite) (BlockWritten, error) {
	c, err := b.notes.resolveWritable(ctx, s, ref)
	if err != nil {
		return BlockWritten{}, err
	}
	w, err := b.notes.writeNoteOnce(ctx, s, &c, r.Idempotency, func() (NoteWritten, *memory.Idempotency, error) {
		for try := 1; ; try++ {
			out, seen, err := b.tryRewrite(ctx, s, &c, label, r, e)
			if !errors.Is(err, errBlockMoved) || try == moveTries {
				return out, seen, err
			}
		}
	})
	return written(&w, false), err
}

func (b *Blocks) tryRewrite(ctx context.Context, s tenant.Scope, c *memory.Collection, label string, r memory.Request, e blockRewrite) (NoteWritten, *memory.Idempotency, error) {
	v, err := b.notes.store.OpenView(ctx, s, c.ID.String(), memory.At{})
	if err != nil {
		return NoteWritten{}, nil, err
	}
	now, err := b.find(ctx, s, v, label)
	if err != nil {
		return NoteWritten{}, nil, err
	}
	if err := r.Guard.Check("block", now.Version().ETag()); err != nil {
		return NoteWritten{}, nil, err
	}
	change, err := e.prepare(ctx, c, now)
	if err != nil {
		return NoteWritten{}, nil, err
	}
	return b.notes.edit(ctx, s, c, noteEdit{
		cause: e.cause, action: e.action, id: now.ID, request: r,
		change: func(_ context.Context, _ memory.Tx, old *memory.Note) (memory.Note, bool, error) {
			if old == nil || old.Kind != memory.KindBlock || old.Key != label {
				return memory.Note{}, false, errBlockMoved
			}
			next, err := change(*old)
			return next, false, err
		},
	})
}

// Delete deletes a block; Forbidden for a read-only one.
func (b *Blocks) Delete(ctx context.Context, s tenant.Scope, ref, label string, r memory.Request) (memory.Revision, error) {
	c, err := b.notes.resolveWritable(ctx, s, ref)
	if err != nil {
		return 0, err
	}
	v, err := b.notes.store.OpenView(ctx, s, c.ID.String(), memory.At{})
	if err != nil {
		return 0, err
	}
	now, err := b.find(ctx, s, v, label)
	if err != nil {
		return 0, err
	}
	return b.notes.deleteNote(ctx, s, &c, noteDeletion{action: "block.delete", id: now.ID, guard: r.Guard, check: func(old *memory.Note) error {
		is := block.Of(old)
		return is.CheckWritable()
	}})
}
