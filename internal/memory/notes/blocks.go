package notes

import (
	"context"
	"errors"
	"slices"

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

// List returns the blocks that a view shows, its own and those that are attached now, in the order of prompts,
// which is that of their ids: at most limit (0: all), after an id (notes:read). See block.Attached for the
// attached ones.
func (b *Blocks) List(ctx context.Context, s tenant.Scope, v memory.View, after uuid.UUID, limit int) ([]memory.Note, error) {
	if err := tenant.Check(s, tenant.NotesRead); err != nil {
		return nil, err
	}
	// Only stand-alone blocks have no key.
	q := memory.NoteQuery{Kinds: []memory.Kind{memory.KindBlock}, Keyed: v.Collection.Name != blocksCollection, After: after, Limit: limit}
	if limit == 0 {
		q.Limit = block.MaxBlocks
	}
	out, err := b.notes.store.ListNotes(ctx, s, v, q)
	if err != nil {
		return nil, err
	}
	attached, err := memory.AttachedBlocks(ctx, b.notes.store, s, v.Collection.ID, memory.ReadOptions{})
	if err != nil {
		return nil, err
	}
	for i := range attached {
		if slices.Compare(attached[i].Block[:], after[:]) > 0 {
			out = append(out, block.Attached(&attached[i]))
		}
	}
	slices.SortFunc(out, func(a, b memory.Note) int { return memory.CompareIDs(a.ID, b.ID) })
	return out[:min(len(out), q.Limit)], nil
}

// Get returns the note of a block that a view shows (notes:read). NotFound when no block has the label.
func (b *Blocks) Get(ctx context.Context, s tenant.Scope, v memory.View, label string) (memory.Note, error) {
	if err := tenant.Check(s, tenant.NotesRead); err != nil {
		return memory.Note{}, err
	}
	n, err := b.find(ctx, s, v, label)
	if !fault.Is(err, fault.NotFound) {
		return n, err
	}
	attached, err := memory.AttachedBlocks(ctx, b.notes.store, s, v.Collection.ID, memory.ReadOptions{})
	if err != nil {
		return memory.Note{}, err
	}
	for i := range attached {
		if attached[i].Label == label {
			return block.Attached(&attached[i]), nil
		}
	}
	return memory.Note{}, fault.Missing("block")
}

// find returns the collection's own block; NotFound for a label that none has or can have.
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
	if err := b.checkBlockCount(ctx, s, &coll, "label"); err != nil {
		return BlockWritten{}, err
	}
	note, err := b.first(ctx, s, label, c)
	if err != nil {
		return BlockWritten{}, err
	}
	w, _, err := b.add(ctx, s, &coll, note, memory.Request{})
	return written(&w, true), err
}

// add writes the first version of a block.
func (b *Blocks) add(ctx context.Context, s tenant.Scope, c *memory.Collection, note memory.Note, r memory.Request) (NoteWritten, *memory.Idempotency, error) {
	return b.notes.edit(ctx, s, c, noteEdit{
		cause: memory.CauseAdd, action: "block.create", id: note.ID, request: r,
		change: func(_ context.Context, tx memory.Tx, _ *memory.Note) (memory.Note, bool, error) {
			put := note
			put.OccurredAt = tx.Now()
			return put, false, nil
		},
	})
}

// checkBlockCount returns Invalid with the field when a collection shows as many blocks as it may.
func (b *Blocks) checkBlockCount(ctx context.Context, s tenant.Scope, c *memory.Collection, field string) error {
	v, err := b.notes.store.OpenView(ctx, s, c.ID.String(), memory.At{})
	if err != nil {
		return err
	}
	counts, err := b.notes.store.Counts(ctx, s, v)
	if err != nil {
		return err
	}
	attached, err := b.notes.store.Attachments(ctx, s, memory.AttachmentQuery{Collection: c.ID})
	if err != nil {
		return err
	}
	if counts.Kinds[memory.KindBlock]+int64(len(attached)) >= block.MaxBlocks {
		return fault.InvalidField(field, "the collection has %d blocks, and no room for another; delete or detach one first", block.MaxBlocks)
	}
	return nil
}

// first returns the first version of a block, with an id.
func (b *Blocks) first(ctx context.Context, s tenant.Scope, label string, c block.Change) (memory.Note, error) {
	fresh := block.New(label)
	if c.ReadOnly == nil {
		c.ReadOnly = new(false)
	}
	if err := fresh.Put(c); err != nil {
		return memory.Note{}, err
	}
	note, _ := fresh.Note(nil)
	note.Provenance.Actor = s.Actor()
	var err error
	if note.ID, err = uuid.NewV7(); err != nil {
		return memory.Note{}, fault.Wrap(err, fault.Internal, "an id could not be generated")
	}
	return note, b.notes.checkQuota(ctx, s, 1, note.Size())
}

func written(w *NoteWritten, created bool) BlockWritten {
	return BlockWritten{Block: block.Of(&w.Note), Note: w.Note, Revision: w.Revision, Created: created}
}

// errBlockMoved is returned when the block that a label named was deleted or replaced meanwhile.
var errBlockMoved = fault.New(fault.Conflict, "the block has changed meanwhile; send the request again")

// Edit changes a block that a collection shows by a function, which may run more than once. An edit without an
// effect writes nothing. NotFound when no block has the label, Forbidden when it is attached for reading.
func (b *Blocks) Edit(ctx context.Context, s tenant.Scope, ref, label string, r memory.Request, change func(*block.Block) error) (BlockWritten, error) {
	return b.rewrite(ctx, s, ref, label, r, edited(func(_ context.Context, _ memory.Tx, b *block.Block) error { return change(b) }))
}

// edited is a rewrite by a function.
func edited(change func(ctx context.Context, tx memory.Tx, b *block.Block) error) blockRewrite {
	return blockRewrite{memory.CausePatch, "block.update", func(_ context.Context, _ tenant.Scope, _ *memory.Collection, _ memory.Note) (rewriter, error) {
		return func(ctx context.Context, tx memory.Tx, old memory.Note) (memory.Note, error) {
			next := block.Of(&old)
			if err := change(ctx, tx, &next); err != nil {
				return old, err
			}
			note, _ := next.Note(&old)
			return note, nil
		}, nil
	}}
}

// Step undoes the last edit of a block, or redoes the last one that was undone. Conflict when there is
// none, or its version is not kept.
func (b *Blocks) Step(ctx context.Context, s tenant.Scope, ref, label string, step block.Step, r memory.Request) (BlockWritten, error) {
	return b.rewrite(ctx, s, ref, label, r, b.stepped(step))
}

// stepped is a rewrite that restores a version.
func (b *Blocks) stepped(step block.Step) blockRewrite {
	return blockRewrite{memory.CauseRestore, "block." + step.String(), func(ctx context.Context, s tenant.Scope, c *memory.Collection, now memory.Note) (rewriter, error) {
		is := block.Of(&now)
		if err := is.CheckWritable(); err != nil {
			return nil, err
		}
		to := step.Target(&now)
		if to == 0 {
			return nil, fault.New(fault.Conflict, "there is nothing to %s in the block %q", step, is.Label)
		}
		then, err := b.notes.versionAt(ctx, s, c, now.ID, to)
		if fault.Is(err, fault.Invalid) {
			return nil, fault.New(fault.Conflict, "there is nothing to %s in the block %q: the collection does not keep that version", step, is.Label)
		}
		if err != nil {
			return nil, err
		}
		return func(_ context.Context, _ memory.Tx, old memory.Note) (memory.Note, error) {
			if old.From != now.From {
				return old, errBlockMoved
			}
			return step.Restored(&old, &then), nil
		}, nil
	}}
}

// rewriter returns the next version of a block, within the transaction that writes it.
type rewriter func(ctx context.Context, tx memory.Tx, old memory.Note) (memory.Note, error)

// blockRewrite prepares a change of a block outside of the transaction, from the version that is current
// then.
type blockRewrite struct {
	cause   memory.Cause
	action  string
	prepare func(ctx context.Context, s tenant.Scope, c *memory.Collection, now memory.Note) (rewriter, error)
}

// blockRef finds a block of a collection in a view of it.
type blockRef func(ctx context.Context, v memory.View) (memory.Note, error)

// byLabel finds a block of the collection's own.
func (b *Blocks) byLabel(s tenant.Scope, label string) blockRef {
	return func(ctx context.Context, v memory.View) (memory.Note, error) { return b.find(ctx, s, v, label) }
}

// byID finds a block by the id of its note.
func (b *Blocks) byID(s tenant.Scope, id uuid.UUID) blockRef {
	return func(ctx context.Context, v memory.View) (memory.Note, error) {
		found, err := b.notes.store.Notes(ctx, s, v, []uuid.UUID{id}, memory.ReadOptions{})
		if err == nil && (len(found) == 0 || found[0].Kind != memory.KindBlock) {
			err = fault.Missing("block")
		}
		if err != nil {
			return memory.Note{}, err
		}
		return found[0], nil
	}
}

// rewrite rewrites a block where it is held: in the collection, or in the home of the one that is attached
// under the label. Who attached a block for editing lets the agents of the collection write to its home,
// and nothing else there.
func (b *Blocks) rewrite(ctx context.Context, s tenant.Scope, ref, label string, r memory.Request, e blockRewrite) (BlockWritten, error) {
	c, err := b.notes.resolveWritable(ctx, s, ref)
	if err != nil {
		return BlockWritten{}, err
	}
	a, ok, err := b.attachedAs(ctx, s, &c, label)
	if err != nil {
		return BlockWritten{}, err
	}
	if !ok {
		return b.rewriteIn(ctx, s, &c, b.byLabel(s, label), r, e)
	}
	if a.Mode != memory.AttachRW {
		return BlockWritten{}, fault.New(fault.Forbidden, "the block %q is attached for reading; attach it with the mode rw to change it here", label)
	}
	home, err := b.notes.store.ResolveCollection(ctx, s, a.Home.String())
	if err != nil {
		return BlockWritten{}, err
	}
	out, err := b.rewriteIn(ctx, s, &home, b.byID(s, a.Block), r, e)
	out.Revision = c.Head // of the collection that was asked for: nothing was written to its log
	return out, err
}

// attachedAs returns the attachment of a collection under a label.
func (b *Blocks) attachedAs(ctx context.Context, s tenant.Scope, c *memory.Collection, label string) (memory.Attachment, bool, error) {
	list, err := b.notes.store.Attachments(ctx, s, memory.AttachmentQuery{Collection: c.ID})
	for _, a := range list {
		if a.Label == label {
			return a, true, err
		}
	}
	return memory.Attachment{}, false, err
}

func (b *Blocks) rewriteIn(ctx context.Context, s tenant.Scope, c *memory.Collection, ref blockRef, r memory.Request, e blockRewrite) (BlockWritten, error) {
	w, err := b.notes.writeNoteOnce(ctx, s, c, r.Idempotency, func() (NoteWritten, *memory.Idempotency, error) {
		for try := 1; ; try++ {
			out, seen, err := b.tryRewrite(ctx, s, c, ref, r, e)
			if !errors.Is(err, errBlockMoved) || try == moveTries {
				return out, seen, err
			}
		}
	})
	return written(&w, false), err
}

func (b *Blocks) tryRewrite(ctx context.Context, s tenant.Scope, c *memory.Collection, ref blockRef, r memory.Request, e blockRewrite) (NoteWritten, *memory.Idempotency, error) {
	v, err := b.notes.store.OpenView(ctx, s, c.ID.String(), memory.At{})
	if err != nil {
		return NoteWritten{}, nil, err
	}
	now, err := ref(ctx, v)
	if err != nil {
		return NoteWritten{}, nil, err
	}
	if err := checkGuard(r.Guard, &now); err != nil {
		return NoteWritten{}, nil, err
	}
	change, err := e.prepare(ctx, s, c, now)
	if err != nil {
		return NoteWritten{}, nil, err
	}
	return b.notes.edit(ctx, s, c, noteEdit{
		cause: e.cause, action: e.action, id: now.ID, request: r,
		change: func(ctx context.Context, tx memory.Tx, old *memory.Note) (memory.Note, bool, error) {
			if old == nil || old.Kind != memory.KindBlock || old.Key != now.Key {
				return memory.Note{}, false, errBlockMoved
			}
			next, err := change(ctx, tx, *old)
			return next, false, err
		},
	})
}

// Delete deletes a block of the collection's own; Forbidden for a read-only one, Conflict for one that is
// attached.
func (b *Blocks) Delete(ctx context.Context, s tenant.Scope, ref, label string, r memory.Request) (memory.Revision, error) {
	c, err := b.notes.resolveWritable(ctx, s, ref)
	if err != nil {
		return 0, err
	}
	a, ok, err := b.attachedAs(ctx, s, &c, label)
	if err != nil {
		return 0, err
	}
	if ok {
		return 0, b.stillAttached(ctx, s, a.Block, 0)
	}
	v, err := b.notes.store.OpenView(ctx, s, c.ID.String(), memory.At{})
	if err != nil {
		return 0, err
	}
	now, err := b.find(ctx, s, v, label)
	if err != nil {
		return 0, err
	}
	return b.deleteIn(ctx, s, &c, now.ID, r)
}

// deleteIn deletes a block where it is held.
func (b *Blocks) deleteIn(ctx context.Context, s tenant.Scope, c *memory.Collection, id uuid.UUID, r memory.Request) (memory.Revision, error) {
	shown := 0
	out, err := b.notes.deleteNote(ctx, s, c, noteDeletion{action: "block.delete", id: id, guard: r.Guard, check: func(ctx context.Context, tx memory.Tx, old *memory.Note) error {
		is := block.Of(old)
		if err := is.CheckWritable(); err != nil {
			return err
		}
		list, err := tx.Attached(ctx, id)
		if shown = len(list); err == nil && shown > 0 {
			err = errAttached
		}
		return err
	}})
	if errors.Is(err, errAttached) {
		err = b.stillAttached(ctx, s, id, shown)
	}
	return out.Revision, err
}

// errAttached is returned when a block is attached and must not be.
var errAttached = fault.New(fault.Conflict, "the block is attached")

// stillAttached returns the Conflict for a block that n collections show, or more.
func (b *Blocks) stillAttached(ctx context.Context, s tenant.Scope, id uuid.UUID, n int) error {
	named, err := b.notes.store.Attachments(ctx, s, memory.AttachmentQuery{Blocks: []uuid.UUID{id}})
	if err != nil {
		return err
	}
	return memory.StillAttached(max(n, len(named)), named)
}
